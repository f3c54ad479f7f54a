#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the CPU backend measures beside plain loops, in the same minute.

Runs the reference (STREAM's loops, cblas_sgemm) and the backend by turns, ROUNDS times, and prints the
medians and how far they are apart: within 5 % on a quiet machine. Nothing is asserted: these are
speeds, and a neighbour changes them.

usage: bench_cpu.py REFERENCE CHECK [ROUNDS]
"""
import os
import statistics
import subprocess
import sys

BYTES = 268435456


def rates(command, env):
    """name -> rate, and the names measured in company."""
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    if done.returncode == 5:
        print(done.stderr.strip())
        sys.exit(77)
    if done.returncode != 0:
        sys.exit(f"{command[0]}: exit code {done.returncode}: {done.stderr.strip()}")
    found, contended = {}, set()
    for line in done.stdout.splitlines():
        word = line.split()
        if line.startswith("#"):
            print(line)
            continue
        found[word[0]] = float(word[1])
        if word[2:]:
            contended.add(word[0])
    return found, contended


def core_of(check, env):
    """The core type that the backend chose, for the reference to use as well."""
    done = subprocess.run([check, "fp32=openblas,onednn=none"], env=env, capture_output=True,
                          text=True, check=False)
    first = done.stdout.splitlines()[0] if done.stdout else ""
    return first.split("OpenBLAS ")[1].split()[0] if "OpenBLAS " in first else ""


def steal_and_busy():
    with open("/proc/stat", encoding="ascii") as stat:
        ticks = [int(x) for x in stat.readline().split()[1:9]]
    return ticks


def main():
    reference, check = sys.argv[1:3]
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    plain = dict(os.environ, OMP_PROC_BIND="true", OMP_PLACES="cores")
    core = core_of(check, os.environ)
    if core:
        plain["OPENBLAS_CORETYPE"] = core
    before = steal_and_busy()
    theirs, ours, company = {}, {}, set()
    for _ in range(rounds):
        found, _ = rates([reference, str(BYTES)], plain)
        for name, rate in found.items():
            theirs.setdefault(name, []).append(rate)
        found, contended = rates([check, "fp32=openblas"], os.environ)
        company |= contended
        for name, rate in found.items():
            ours.setdefault(name, []).append(rate)
    ticks = [b - a for a, b in zip(before, steal_and_busy())]
    print(f"{'':14} {'plain loop':>12} {'backend':>12} {'apart':>8}   of {rounds} rounds, medians")
    for name, values in theirs.items():
        unit, scale = ("GFLOP/s", 1e9) if name.startswith("gemm") else ("GB/s", 1e9)
        a, b = statistics.median(values), statistics.median(ours[name])
        print(f"{name:14} {a / scale:12.2f} {b / scale:12.2f} {100 * (b / a - 1):+7.1f} %"
              f"   {unit}{'  (in company)' if name in company else ''}")
    print(f"whole step / sum of its operators: {statistics.median(ours['step-over-sum']):.3f}")
    load = open("/proc/loadavg", encoding="ascii").read().split()[0]
    print(f"load {load}; the hypervisor took {100 * ticks[7] / max(1, sum(ticks)):.1f} % meanwhile")


if __name__ == "__main__":
    main()
