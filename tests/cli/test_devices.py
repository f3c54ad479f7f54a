#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The parts that people own: found by the names that drivers and tools print, with peaks that are
dense and of fp32 accumulation. Expected figures are worked by hand beside each row."""
import json
import re

from llmperf_test import SPECS, case, close, equal, expect, main, run, run_json, sample, shipped

# What nvidia-smi -L, rocminfo, Metal, Vulkan, SYCL, lscpu and llama-bench print -> the file.
PRINTED = """
NVIDIA GeForce GTX 1080 Ti                              gtx-1080-ti
NVIDIA GeForce RTX 2060 SUPER                           rtx-2060-super
NVIDIA GeForce RTX 2070                                 rtx-2070
NVIDIA GeForce RTX 2070 SUPER                           rtx-2070-super
NVIDIA GeForce RTX 2080                                 rtx-2080
NVIDIA GeForce RTX 2080 SUPER                           rtx-2080-super
NVIDIA GeForce RTX 2080 Ti                              rtx-2080-ti
NVIDIA TITAN RTX                                        titan-rtx
Quadro RTX 8000                                         quadro-rtx-8000
NVIDIA GeForce RTX 3060                                 rtx-3060-12gb
NVIDIA GeForce RTX 3060 Ti                              rtx-3060-ti
NVIDIA GeForce RTX 3060 Laptop GPU                      rtx-3060-laptop
NVIDIA GeForce RTX 3070                                 rtx-3070
NVIDIA GeForce RTX 3070 Ti                              rtx-3070-ti
NVIDIA GeForce RTX 3080                                 rtx-3080-10gb
NVIDIA GeForce RTX 3080 Ti                              rtx-3080-ti
NVIDIA GeForce RTX 3080 Ti Laptop GPU                   rtx-3080-ti-laptop
NVIDIA GeForce RTX 3090                                 rtx-3090
NVIDIA GeForce RTX 3090 Ti                              rtx-3090-ti
NVIDIA GeForce RTX 4060                                 rtx-4060
NVIDIA GeForce RTX 4060 Ti                              rtx-4060-ti
RTX 4060 Ti 16GB                                        rtx-4060-ti-16gb
NVIDIA GeForce RTX 4060 Laptop GPU                      rtx-4060-laptop
NVIDIA GeForce RTX 4070                                 rtx-4070
NVIDIA GeForce RTX 4070 SUPER                           rtx-4070-super
NVIDIA GeForce RTX 4070 Ti                              rtx-4070-ti
NVIDIA GeForce RTX 4070 Ti SUPER                        rtx-4070-ti-super
NVIDIA GeForce RTX 4080                                 rtx-4080
NVIDIA GeForce RTX 4080 SUPER                           rtx-4080-super
NVIDIA GeForce RTX 4090                                 rtx-4090
NVIDIA GeForce RTX 4090 D                               rtx-4090-d
NVIDIA GeForce RTX 4090 Laptop GPU                      rtx-4090-laptop
NVIDIA GeForce RTX 5050                                 rtx-5050
NVIDIA GeForce RTX 5060                                 rtx-5060
NVIDIA GeForce RTX 5060 Ti                              rtx-5060-ti
RTX 5060 Ti 16GB                                        rtx-5060-ti-16gb
NVIDIA GeForce RTX 5070                                 rtx-5070
NVIDIA GeForce RTX 5070 Ti                              rtx-5070-ti
NVIDIA GeForce RTX 5070 Ti Laptop GPU                   rtx-5070-ti-laptop
NVIDIA GeForce RTX 5080                                 rtx-5080
NVIDIA GeForce RTX 5090                                 rtx-5090
NVIDIA GeForce RTX 5090 Laptop GPU                      rtx-5090-laptop
Tesla P40                                               p40
Tesla P100-PCIE-16GB                                    p100-pcie-16gb
Tesla P100-SXM2-16GB                                    p100-sxm2-16gb
Tesla V100-PCIE-16GB                                    v100-pcie-16gb
Tesla V100-PCIE-32GB                                    v100-pcie-32gb
Tesla V100-SXM2-16GB                                    v100-sxm2-16gb
Tesla V100S-PCIE-32GB                                   v100s-pcie-32gb
Tesla T4                                                t4
NVIDIA RTX A2000 12GB                                   rtx-a2000-12gb
NVIDIA RTX A4000                                        rtx-a4000
NVIDIA RTX A4500                                        rtx-a4500
NVIDIA RTX A5000                                        rtx-a5000
NVIDIA RTX A5500                                        rtx-a5500
NVIDIA RTX A6000                                        rtx-a6000
NVIDIA RTX 2000 Ada Generation                          rtx-2000-ada
NVIDIA RTX 4000 Ada Generation                          rtx-4000-ada
NVIDIA RTX 4000 SFF Ada Generation                      rtx-4000-sff-ada
NVIDIA RTX 4500 Ada Generation                          rtx-4500-ada
NVIDIA RTX 5000 Ada Generation                          rtx-5000-ada
NVIDIA RTX 6000 Ada Generation                          rtx-6000-ada
NVIDIA RTX PRO 4000 Blackwell                           rtx-pro-4000
NVIDIA RTX PRO 4500 Blackwell                           rtx-pro-4500
NVIDIA RTX PRO 5000 Blackwell                           rtx-pro-5000
NVIDIA RTX PRO 6000 Blackwell Server Edition            rtx-pro-6000-server
NVIDIA RTX PRO 6000 Blackwell Workstation Edition       rtx-pro-6000
NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition rtx-pro-6000-max-q
NVIDIA A2                                               a2
NVIDIA A10                                              a10
NVIDIA A10G                                             a10g
NVIDIA A16                                              a16
NVIDIA A30                                              a30
NVIDIA A40                                              a40
NVIDIA A100-PCIE-40GB                                   a100-pcie-40gb
NVIDIA A100-SXM4-40GB                                   a100-sxm-40gb
NVIDIA A100 80GB PCIe                                   a100-pcie-80gb
NVIDIA A100-SXM4-80GB                                   a100-sxm-80gb
NVIDIA A800-SXM4-80GB                                   a800-sxm-80gb
NVIDIA L4                                               l4
NVIDIA L40                                              l40
NVIDIA L40S                                             l40s
NVIDIA H20                                              h20
NVIDIA H100 80GB HBM3                                   h100-sxm
NVIDIA H100 PCIe                                        h100-pcie
NVIDIA H100 NVL                                         h100-nvl
NVIDIA H200                                             h200-sxm
NVIDIA H200 NVL                                         h200-nvl
NVIDIA GH200 480GB                                      gh200-96gb
NVIDIA B200                                             b200
NVIDIA GB200                                            gb200
NVIDIA B300 SXM6 AC                                     b300
NVIDIA GB300                                            gb300
NVIDIA GB10                                             dgx-spark
NVIDIA Thor                                             jetson-agx-thor
Jetson AGX Thor                                         jetson-agx-thor
AMD Instinct MI100                                      mi100
AMD Instinct MI210                                      mi210
AMD Instinct MI300A                                     mi300a
AMD Instinct MI300X                                     mi300x
AMD Instinct MI325X                                     mi325x
AMD Instinct MI355X                                     mi355x
AMD Radeon RX 6800 XT (RADV NAVI21)                     rx-6800-xt
AMD Radeon RX 6900 XT                                   rx-6900-xt
AMD Radeon RX 7800 XT (RADV NAVI32)                     rx-7800-xt
AMD Radeon RX 7900 GRE                                  rx-7900-gre
AMD Radeon RX 7900 XT (RADV NAVI31)                     rx-7900-xt
AMD Radeon RX 7900 XTX (RADV NAVI31)                    rx-7900-xtx
AMD Radeon RX 7900 XTX                                  rx-7900-xtx
AMD Radeon RX 9060 XT (RADV GFX1200)                    rx-9060-xt
AMD Radeon RX 9070 (RADV GFX1201)                       rx-9070
AMD Radeon RX 9070 XT (RADV GFX1201)                    rx-9070-xt
AMD Radeon AI PRO R9700 (RADV GFX1201)                  r9700
AMD Radeon PRO W7900                                    pro-w7900
AMD Radeon PRO W7800                                    pro-w7800-32gb
Radeon 8060S Graphics (RADV GFX1151)                    radeon-8060s
AMD Radeon 8060S (RADV GFX1151)                         radeon-8060s
AMD Radeon(TM) 8060S Graphics                           radeon-8060s
Ryzen AI Max+ 395                                       radeon-8060s
AMD RYZEN AI MAX+ 395 w/ Radeon 8060S                   radeon-8060s
Intel(R) Arc(TM) A750 Graphics                          arc-a750
Intel(R) Arc(tm) A770 Graphics (DG2)                    arc-a770
Intel(R) Arc(TM) B580 Graphics                          arc-b580
Intel(R) Arc(tm) B580 Graphics (BMG G21)                arc-b580
Arc B580                                                arc-b580
Intel(R) Arc(TM) Pro B50 Graphics                       arc-pro-b50
Intel(R) Arc(TM) Pro B60 Graphics                       arc-pro-b60
Intel(R) Data Center GPU Max 1550                       max-1550
Intel(R) Data Center GPU Max 1100                       max-1100
Intel(R) Data Center GPU Flex 170                       flex-170
AMD EPYC 9554 64-Core Processor                         epyc-9554
AMD Ryzen 9 7950X 16-Core Processor                     ryzen-9-7950x
AMD Ryzen Threadripper PRO 7995WX 96-Cores              threadripper-pro-7995wx
Intel(R) Xeon(R) Platinum 8480+                         xeon-8480
Intel(R) Xeon(R) 6980P                                  xeon-6980p
RTX 3080 12GB                                           rtx-3080-12gb
RTX 2060 12GB                                           rtx-2060-12gb
R9700                                                   r9700
"""

# Dense rates in FLOP/s by hand: SMs x clock x FLOP per SM and clock; bandwidth from bus width x rate / 8.
FIGURES = [
    # GeForce: half of the tensor rate with fp32 accumulation: 512 per SM of Turing, Ampere, Ada, Blackwell
    ("rtx-2080", "fp16", 46 * 1.71e9 * 512, 256 * 14e9 / 8),
    ("rtx-3060-ti", "bf16", 38 * 1.665e9 * 512, 256 * 14e9 / 8),
    ("rtx-4060-ti", "bf16", 34 * 2.535e9 * 512, 128 * 18e9 / 8),
    ("rtx-4070-super", "bf16", 56 * 2.475e9 * 512, 192 * 21e9 / 8),
    ("rtx-4090-laptop", "bf16", 76 * 2.04e9 * 512, 256 * 18e9 / 8),
    # fp4: half of the 1,406 AI TOPS with sparsity of the page
    ("rtx-5070-ti", "nvfp4", 1406e12 / 2, 256 * 28e9 / 8),
    ("rtx-5060-ti", "nvfp4", 759e12 / 2, 128 * 28e9 / 8),
    ("rtx-5090-laptop", "nvfp4", 1824e12 / 2, 256 * 28e9 / 8),
    # professional cards: the full rate, half of the sparse figure of the datasheet
    ("rtx-a4000", "fp16", 153.4e12 / 2, 256 * 14e9 / 8),
    ("rtx-a5000", "fp16", 222.2e12 / 2, 384 * 16e9 / 8),
    ("rtx-4500-ada", "fp8", 634e12 / 2, 192 * 18e9 / 8),
    ("rtx-pro-6000-max-q", "nvfp4", 3511e12 / 2, 512 * 28e9 / 8),
    ("p40", "fp32", 3840 * 2 * 1.531e9, 384 * 7.2e9 / 8),
    ("jetson-agx-thor", "fp8", 2070e12 / 4, 256 * 8.533e9 / 8),
    # AMD prints 779 TOPS int8 with sparsity for the RX 9070 XT; fp16 a quarter of it
    ("rx-9070-xt", "fp16", 779e12 / 4, 256 * 20e9 / 8),
    ("rx-7900-xt", "fp16", 84 * 2.4e9 * 512, 320 * 20e9 / 8),
    ("radeon-8060s", "fp16", 40 * 2.9e9 * 512, 256 * 8e9 / 8),
    ("mi300a", "fp8", 1961.2e12, 8192 * 5.2e9 / 8),
    ("arc-b580", "int8", 233e12, 192 * 19e9 / 8),
    ("arc-pro-b60", "int8", 20 * 2.4e9 * 4096, 192 * 19e9 / 8),
    # Apple: no matrix units, 128 lanes of two operations a core
    ("apple-m4-max-32c", "fp32", 32 * 128 * 2 * 1.578e9, 384 * 8.533e9 / 8),
    ("apple-m3-ultra-60c", "fp16", 60 * 128 * 2 * 1.38e9, 1024 * 6.4e9 / 8),
]


def printed():
    return [re.split(r"  +|(?<=Edition) ", line, maxsplit=1) for line in PRINTED.strip().splitlines()]


def family(name):
    """What the notes of a file call its family: the name that tools print for all its members."""
    text = (SPECS / "hardware" / f"{name}.yaml").read_text("utf-8")
    found = re.search(r'^  - "family: ([^"]+)"$', text, re.M)
    return found and found.group(1)


@case("every printed name finds its part")
def _():
    wrong = []
    for name, part in sample(printed()):
        result = run(["specs", "show", name, "--kind", "hardware", "--format", "json"])
        found = json.loads(result.out)["name"] if result.code == 0 else result.err.strip()
        if found != part:
            wrong.append(f"{name}: {found}, not {part}")
    expect(not wrong, "\n".join(wrong))


@case("at least 115 parts, and none is named twice in the table of printed names")
def _():
    expect(len(shipped("hardware")) >= 115, f"{len(shipped('hardware'))} parts")
    names = [name for name, _part in printed()]
    equal(len(names), len(set(names)))


@case("peaks are dense and of fp32 accumulation, bandwidth is bus width times rate")
def _():
    for name, dtype, flop_per_s, bytes_per_s in FIGURES:
        part = run_json(["specs", "show", name, "--kind", "hardware"])
        # files hold four digits, and makers round bandwidth and clocks to three
        close(part["peak_flop_per_s"][dtype], flop_per_s, f"{name} {dtype}", relative=2e-3)
        close(part["mem_bw_bytes_per_s"], bytes_per_s, f"{name} bandwidth", relative=6e-3)


@case("GeForce peaks keep the ratios of their architecture")
def _():
    """fp16 twice tf32, fp8 twice fp16, int8 four times fp16: never an fp16-accumulate or sparse figure."""
    for name in shipped("hardware"):
        if not re.fullmatch(r"rtx-[345]0[5-9]0.*", name):
            continue
        peak = run_json(["specs", "show", name, "--kind", "hardware"])["peak_flop_per_s"]
        close(peak["fp16"], 2 * peak["tf32"], f"{name} fp16", relative=5e-3)
        close(peak["int8"], 4 * peak["fp16"], f"{name} int8", relative=5e-3)
        if "fp8" in peak:
            close(peak["fp8"], 2 * peak["fp16"], f"{name} fp8", relative=5e-3)


@case("a family says one printed name, and its members say it alike")
def _():
    members = {}
    for name in shipped("hardware"):
        hint = family(name)
        if hint:
            expect(re.fullmatch(r".+ \(.+\)", hint), f"{name}: {hint}")
            members.setdefault(re.sub(r" \([^()]*\)$", "", hint), []).append(name)
    for tier in ("M1 Ultra", "M2 Max", "M3 Ultra", "M4 Max", "M4 Pro", "M5", "M5 Max"):
        equal(len(members[f"Apple {tier}"]), 2, tier)
    for chip in ("RTX 3080", "RTX 4060 Ti", "RTX 5060 Ti"):
        equal(len(members[f"NVIDIA GeForce {chip}"]), 2, chip)
    expect(len(members["Orin"]) > 5, members["Orin"])


@case("a misspelt part is its neighbour in spelling, not another generation's")
def _():
    result = run(["specs", "show", "p41", "--kind", "hardware"], code=2)
    expect("'p40'" in result.err, "", result)
    result = run(["specs", "show", "rtx-5060-tii", "--kind", "hardware"], code=2)
    expect("'rtx-5060-ti'" in result.err, "", result)


if __name__ == "__main__":
    main()
