#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""nvcc with its report kept: compile.py LOG NVCC ARGUMENT...

Runs nvcc so that ptxas tells registers, stack and spills of every kernel; the report goes to LOG,
for a test to read, and everything else that nvcc says to the terminal.
"""
import re
import subprocess
import sys

REPORT = re.compile(r"ptxas info|Function properties|bytes stack frame|^\s*$")


def main():
    log, command = sys.argv[1], sys.argv[2:] + ["-Xptxas=-v"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    with open(log, "w", encoding="utf-8") as file:
        file.write(done.stdout)
    said = [line for line in done.stdout.splitlines() if not REPORT.search(line)]
    if said:
        print("\n".join(said), file=sys.stderr)
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
