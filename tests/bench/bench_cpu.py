#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the CPU backend measures beside plain loops, within the same seconds.

Asks the reference (STREAM's loops, calls of cblas) and the backend by turns for each of the streams and
products, ROUNDS times, and prints the medians, how far they are apart, and the least and most of each
turn: within 5 % on a quiet machine. Nothing is asserted: these are speeds, and a neighbour changes them.

usage: bench_cpu.py REFERENCE CHECK [ROUNDS]
"""
import os
import statistics
import subprocess
import sys

BYTES = 268435456
NAMES = ("read", "copy", "triad", "gemm-1", "gemm-8", "gemm-64", "gemm-512")


class Asked:
    """A program that answers each name with a rate."""

    def __init__(self, command, env):
        self.command = command
        self.process = subprocess.Popen(command, env=env, text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)

    def line(self):
        text = self.process.stdout.readline()
        if not text:
            code = self.process.wait()
            sys.exit(77 if code == 5 else f"{self.command[0]}: ended with {code}")
        return text

    def rate(self, name):
        self.process.stdin.write(name + "\n")
        self.process.stdin.flush()
        word = self.line().split()
        return float(word[1]), len(word) > 2

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def ticks():
    with open("/proc/stat", encoding="ascii") as stat:
        return [int(x) for x in stat.readline().split()[1:9]]


def main():
    reference, check = sys.argv[1:3]
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    ours = Asked([check, "fp32=openblas"], os.environ)
    title = ours.line().strip("# \n")
    plain = dict(os.environ, OMP_PROC_BIND="true", OMP_PLACES="cores")
    if "OpenBLAS " in title:  # the core type that the backend chose
        plain["OPENBLAS_CORETYPE"] = title.split("OpenBLAS ")[1].split()[0]
    theirs = Asked([reference, str(BYTES)], plain)
    before = ticks()
    print(title)
    print(f"{'':10} {'plain loop':>11} {'backend':>11} {'apart':>8}   apart in each of {rounds} turns")
    for name in NAMES:
        pairs, company = [], 0
        for _ in range(rounds):
            a, _ = theirs.rate(name)
            b, contended = ours.rate(name)
            pairs.append((a, b))
            company += contended
        a, b = (statistics.median(side) for side in zip(*pairs))
        apart = sorted(100 * (y / x - 1) for x, y in pairs)
        unit = "GFLOP/s" if name.startswith("gemm") else "GB/s"
        print(f"{name:10} {a / 1e9:11.2f} {b / 1e9:11.2f} {statistics.median(apart):+7.1f} %"
              f"   {apart[0]:+.1f} to {apart[-1]:+.1f} %, {unit}"
              f"{f', {company} in company' if company else ''}")
    step = statistics.median(ours.rate("step-over-sum")[0] for _ in range(3))
    print(f"a whole step / the sum of its operators: {step:.3f}")
    spent = [y - x for x, y in zip(before, ticks())]
    load = open("/proc/loadavg", encoding="ascii").read().split()[0]
    print(f"load {load}; the hypervisor took {100 * spent[7] / max(1, sum(spent)):.1f} % meanwhile")
    ours.close()
    theirs.close()


if __name__ == "__main__":
    main()
