#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Cold start: `llmperf predict llama-3.1-8b h100-sxm` beside /bin/true, process for process.

Medians of 50 interleaved runs each. The target is the difference: within 10 ms.
"""

import os
import statistics
import sys
import time

RUNS = 50
TARGET_S = 0.010


def run_s(path, arguments, environment, devnull):
    """Seconds from spawning a process to its end."""
    actions = [(os.POSIX_SPAWN_DUP2, devnull, 1)]
    start = time.perf_counter()
    pid = os.posix_spawn(path, [path, *arguments], environment, file_actions=actions)
    _, status = os.waitpid(pid, 0)
    elapsed = time.perf_counter() - start
    code = os.waitstatus_to_exitcode(status)
    if code != 0:
        sys.exit(f"{path} {' '.join(arguments)}: exit code {code}")
    return elapsed


def main():
    exe = os.environ["LLMPERF_EXE"]
    environment = dict(os.environ)
    environment["LLMPERF_SPECS"] = os.path.join(os.environ["LLMPERF_SOURCE"], "specs")
    arguments = ["predict", "llama-3.1-8b", "h100-sxm"]
    true = "/bin/true"
    devnull = os.open(os.devnull, os.O_WRONLY)
    ours, nothing = [], []
    for _ in range(3):  # the page cache is warm in every run that counts
        run_s(exe, arguments, environment, devnull)
        run_s(true, [], environment, devnull)
    for _ in range(RUNS):
        ours.append(run_s(exe, arguments, environment, devnull))
        nothing.append(run_s(true, [], environment, devnull))
    median, base = statistics.median(ours), statistics.median(nothing)
    print(f"llmperf predict  {1e3 * median:6.2f} ms (median of {RUNS}; "
          f"least {1e3 * min(ours):.2f})")
    print(f"/bin/true        {1e3 * base:6.2f} ms (least {1e3 * min(nothing):.2f})")
    print(f"difference       {1e3 * (median - base):6.2f} ms, target {1e3 * TARGET_S:.0f} ms; "
          f"{median / base:.2f} x /bin/true")
    return 0 if median - base <= TARGET_S else 1


if __name__ == "__main__":
    sys.exit(main())
