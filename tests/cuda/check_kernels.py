#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What nvcc made of the kernels: check_kernels.py NVCC FOLDER LOG ARCHITECTURE...

From ptxas's report LOG of the build: every kernel for every architecture, without a spill or a
stack frame. From the PTX: 16-byte loads where memory streams, enough of them one after another,
tensor cores and asynchronous copies in attention. Where the toolkit has cuobjdump, the same loads
in the machine code. Speaks TAP; 77 without nvcc.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

LOAD16 = r"ld\.global\.nc\.L1::no_allocate\.v4\.u32"
WANTED = {
    # kernel: (what, pattern, at least so many)
    "kernel_read": [("16-byte loads", LOAD16, 8)],
    "kernel_write": [("16-byte stores", r"st\.global\.v4\.u32", 8)],
    "kernel_copy": [("16-byte loads", LOAD16, 8), ("16-byte stores", r"st\.global\.v4\.u32", 8)],
    "kernel_triad": [("16-byte loads", LOAD16, 8)],
    "kernel_elementwise": [("16-byte loads", LOAD16, 8)],
    "kernel_gather": [("16-byte loads", LOAD16, 4)],
}
for size in (64, 128, 256):
    WANTED[f"kernel_decode_{size}"] = [
        ("16-byte loads", LOAD16, 16), ("tensor cores", r"mma\.sync\.aligned\.m16n8k16", 16)]
    WANTED[f"kernel_prefill_{size}"] = [
        ("tensor cores", r"mma\.sync\.aligned\.m16n8k16", 32), ("ldmatrix", r"ldmatrix\.sync", 16),
        ("asynchronous copies", r"cp\.async\.cg\.shared\.global", 4)]

cases = []


def case(name, fault):
    """One line of TAP: right where `fault` is empty."""
    cases.append(not fault)
    print(f"{'not ok' if fault else 'ok'} {len(cases)} - {name}")
    if fault:
        print(f"# {fault}")


def kernels_of(folder):
    """The names of the list CUDA_KERNELS in kernels.h."""
    text = pathlib.Path(folder, "kernels.h").read_text(encoding="utf-8")
    return re.findall(r"^ +X\((\w+), ", text[text.index("#define CUDA_KERNELS"):], re.M)


def check_report(log, kernels, architectures):
    """Registers, stack and spills as ptxas tells them, kernel by kernel."""
    found = {}
    pattern = (r"Compiling entry function '(\w+)' for 'sm_(\d+)'.*?"
               r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads.*?"
               r"Used (\d+) registers")
    text = pathlib.Path(log).read_text(encoding="utf-8")
    for kernel, architecture, *numbers in re.findall(pattern, text, re.S):
        found[kernel, architecture] = [int(number) for number in numbers]
    for architecture in architectures:
        for kernel in kernels:
            numbers = found.get((kernel, architecture))
            fault = "not in the report" if not numbers else ""
            if numbers and any(numbers[:3]):
                fault = "stack {}, spill stores {}, spill loads {} bytes".format(*numbers[:3])
            case(f"sm_{architecture} {kernel}: no spill, no stack frame", fault)


def check_ptx(text):
    """Instructions that the design stands on."""
    bodies = dict(re.findall(r"\.entry (\w+)\((.*?\n)\}", text, re.S))
    for kernel, wanted in WANTED.items():
        for what, pattern, least in wanted:
            count = len(re.findall(pattern, bodies.get(kernel, "")))
            case(f"PTX {kernel}: {what}", f"{count}, at least {least}" if count < least else "")


def check_machine_code(cuobjdump, cubin):
    """16-byte loads in what the device runs."""
    text = subprocess.run([cuobjdump, "-sass", cubin], capture_output=True, text=True,
                          check=True).stdout
    bodies = dict(re.findall(r"Function : (\w+)\n(.*?)(?=Function :|\Z)", text, re.S))
    for kernel in ("kernel_read", "kernel_copy", "kernel_decode_128"):
        count = len(re.findall(r"LDG\.E\.\S*128", bodies.get(kernel, "")))
        case(f"SASS {kernel}: LDG.E.128", f"{count} of them" if count < 8 else "")


def main():
    nvcc, folder, log, *architectures = sys.argv[1:]
    if not shutil.which(nvcc):
        print("1..0 # SKIP there is no nvcc")
        sys.exit(77)
    check_report(log, kernels_of(folder), architectures)
    with tempfile.TemporaryDirectory() as temporary:
        source = os.path.join(folder, "kernels.cu")
        ptx = os.path.join(temporary, "kernels.ptx")
        subprocess.run([nvcc, "-std=c++17", "-ptx", "-arch=compute_80", "-o", ptx, source],
                       check=True)
        check_ptx(pathlib.Path(ptx).read_text(encoding="utf-8"))
        cuobjdump = shutil.which("cuobjdump", path=os.path.dirname(nvcc) + ":" +
                                 os.environ.get("PATH", ""))
        if cuobjdump:
            cubin = os.path.join(temporary, "kernels.cubin")
            subprocess.run([nvcc, "-std=c++17", "-cubin", "-arch=sm_80", "-o", cubin, source],
                           check=True)
            check_machine_code(cuobjdump, cubin)
    print(f"1..{len(cases)}")
    sys.exit(0 if all(cases) else 1)


if __name__ == "__main__":
    main()
