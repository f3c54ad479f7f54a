#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""An outside reference on a real device: PyTorch beside what llmperf measured.

outside.py SAMPLES.csv            bf16 product of 8192 cubed and a copy by a kernel, within 3 %
outside.py --narrow SAMPLES.csv   fp8 and int8 products, within 10 % (other epilogues)
"""
import csv
import sys
import time

import torch

SIDE = 8192
SETTLE_S = 3.0


def median_s(work, repeats=30):
    """Median seconds of one call, by events, after the clocks have settled under this load."""
    begun = time.monotonic()
    while time.monotonic() - begun < SETTLE_S:
        for _ in range(10):
            work()
        torch.cuda.synchronize()
    times = []
    for _ in range(repeats):
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        first.record()
        work()
        last.record()
        times.append((first, last))
    torch.cuda.synchronize()
    return sorted(a.elapsed_time(b) * 1e-3 for a, b in times)[repeats // 2]


def uniform(*shape):
    return torch.rand(*shape, device="cuda") * 2 - 1


def product(dtype):
    """Seconds of (side x side) times its transposed weights in a format; None: not to be had."""
    flop = 2.0 * SIDE**3
    if dtype == "bf16":
        a, w = (uniform(SIDE, SIDE).to(torch.bfloat16) for _ in range(2))
        return flop / median_s(lambda: torch.matmul(a, w.t()))
    if dtype == "fp8":
        a, w = (uniform(SIDE, SIDE).to(torch.float8_e4m3fn) for _ in range(2))
        one = torch.ones((), device="cuda")
        return flop / median_s(lambda: torch._scaled_mm(  # pylint: disable=protected-access
            a, w.t(), one, one, out_dtype=torch.bfloat16, use_fast_accum=True))
    a, w = (torch.randint(-127, 128, (SIDE, SIDE), device="cuda", dtype=torch.int8)
            for _ in range(2))
    return flop / median_s(lambda: torch._int_mm(a, w.t()))  # pylint: disable=protected-access


def copies():
    """Bytes per second of a copy by a kernel, read and written."""
    values = 2**30 // 4
    a, b = uniform(values), torch.empty(values, device="cuda")
    return {"torch.neg": 8.0 * values / median_s(lambda: torch.neg(a, out=b)),
            "torch.copy_": 8.0 * values / median_s(lambda: b.copy_(a))}


def ours(rows, dtype, library="cublaslt"):
    """Our FLOP/s of the same product."""
    for row in rows:
        if (row["op"] == "gemm" and row["dtype"] == dtype and row["library"] == library and
                all(float(row[c]) == SIDE for c in "mnk")):
            return 2.0 * SIDE**3 / float(row["time_s"])
    return None


def our_copy(rows):
    """Our largest stream that reads and writes: the copy moves twice the read's bytes."""
    cold = sorted({float(r["bytes"]) for r in rows if r["op"] == "copy" and r["regime"] == "cold"})
    best = [r for r in rows if r["op"] == "copy" and r["regime"] == "cold" and
            float(r["bytes"]) == cold[1]]
    return max(float(r["bytes"]) / float(r["time_s"]) for r in best)


def compare(what, mine, theirs, unit, within):
    """One line; True: near enough."""
    if not mine or not theirs:
        print(f"{what}: not measured on both sides")
        return True
    ratio = mine / theirs
    good = abs(ratio - 1) <= within
    print(f"{what}: llmperf {mine / 1e12:.4g} T{unit}, outside {theirs / 1e12:.4g} T{unit}, ratio "
          f"{ratio:.3f}{'' if good else f' (more than {within:.0%} apart)'}")
    return good


def main():
    """Exit code 1: too far apart."""
    narrow = "--narrow" in sys.argv
    with open(sys.argv[-1], encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    print(f"PyTorch {torch.__version__} on {torch.cuda.get_device_name()}")
    good = True
    if narrow:
        for dtype in ("fp8", "int8"):
            try:
                theirs = product(dtype)
            except (RuntimeError, ValueError) as error:
                print(f"{dtype}: PyTorch has no such product: {str(error).splitlines()[0]}")
                continue
            good &= compare(f"{dtype} {SIDE} cubed", ours(rows, dtype), theirs, "FLOP/s", 0.10)
    else:
        theirs = product("bf16")
        good &= compare(f"bf16 {SIDE} cubed", ours(rows, "bf16"), theirs, "FLOP/s", 0.03)
        compare(f"bf16 {SIDE} cubed, best", ours(rows, "bf16", "cublaslt-best"), theirs, "FLOP/s",
                0.03)
        found = copies()
        for name, rate in found.items():
            compare(f"copy beside {name}", our_copy(rows), rate, "B/s", 0.03)
        good &= compare("copy beside the faster", our_copy(rows), max(found.values()), "B/s", 0.03)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
