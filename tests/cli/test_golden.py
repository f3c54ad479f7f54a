#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Text and pictures as they were when somebody last looked at them: tests/golden/README.md.

Pictures with a calibration follow the shipped fits: they are rewritten, drawn in every run, and
compared by their shape alone.

    test_golden.py --write      rewrites the files (./dev golden)
"""
import difflib
import re
import sys

from llmperf_test import SOURCE, Skip, case, equal, expect, main, run

GOLDEN = SOURCE / "tests" / "golden"
PICTURES = SOURCE / "docs" / "pictures"

# file: (arguments, exit code)
OUTPUTS = {
    "predict-llama-3.1-8b-h100-sxm.txt": ("predict llama-3.1-8b h100-sxm", 0),
    "predict-llama-3.1-8b-h100-sxm-none.txt":
        ("predict llama-3.1-8b h100-sxm --calibration none", 0),
    "predict-qwen2.5-7b-rtx-4090.txt": ("predict qwen2.5-7b rtx-4090 -b 8", 0),
    "predict-llama-3.1-70b-h100-sxm-tp4.txt":
        ("predict llama-3.1-70b h100-sxm --tp 4 -b 64 -s 2048 -g 512 --tpot 30ms --price 2.5/h", 0),
    "predict-llama-3.1-70b-l40s-unfit.txt": ("predict llama-3.1-70b l40s -b 8", 8),
    "layers-llama-3.1-8b-h100-sxm.txt": ("layers llama-3.1-8b h100-sxm --calibration none", 0),
    "layers-llama-3.1-8b-l40s.txt": ("layers llama-3.1-8b l40s -b 16", 0),
    "specs-show-h100-sxm.txt": ("specs show h100-sxm", 0),
    "specs-show-gemma-2-9b.txt": ("specs show gemma-2-9b", 0),
    "plot-roofline-llama-3.1-8b-h100-sxm.txt":
        ("plot roofline llama-3.1-8b h100-sxm -b 1,64 --calibration none", 0),
    "plot-batch-llama-3.1-8b-h100-sxm.txt":
        ("plot batch llama-3.1-8b h100-sxm --calibration none", 0),
    "plot-dense-h100-sxm-ascii.txt":
        ("plot dense h100-sxm --hidden 1024..8192*2 --ascii --width 72 --calibration none", 0),
}

# docs/plot.md shows these
DRAWN = {
    "roofline.svg": "plot roofline llama-3.1-8b h100-sxm -b 1,64 --calibration none",
    "roofline-moe.svg": "plot roofline deepseek-v3 h200-sxm --tp 8 -b 64 --calibration none",
    "batch.svg": "plot batch llama-3.1-8b h100-sxm --tpot 10ms --calibration none",
    "dense.svg": "plot dense h100-sxm --calibration none",
    "attention.svg":
        "plot attention llama-2-7b h100-sxm --attention unfused -s 128,512,2048,8192 "
        "--calibration none",
}
# and these, which follow the shipped calibrations and are not compared
CALIBRATED = {
    "batch-calibrated.svg": "plot batch llama-3.1-70b h100-sxm --tp 4 --tpot 30ms",
    "roofline-calibrated.svg": "plot roofline llama-3.1-70b h100-sxm --tp 4 -b 64 -s 2048",
    "attention-calibrated.svg": "plot attention llama-3.1-8b h100-sxm",
    "residuals.svg":
        "plot residuals h100-sxm --samples tests/data/ops/aic_gemm_h100_sxm_bfloat16.csv,"
        "tests/data/ops/aic_attn_decode_h100_sxm.csv,"
        "tests/data/ops/aic_attn_prefill_h100_sxm.csv",
    "dense-measured.svg":
        "plot dense a100-sxm-80gb --samples tests/data/ops/aic_gemm_curves_a100_sxm.csv",
    "attention-measured.svg":
        "plot attention h100-sxm --samples tests/data/ops/aic_attn_curves_h100_sxm.csv",
}


def output(words, code):
    return f"$ llmperf {words}\n{run(words, code=code).out}"


def declare(name, words, code):
    @case(f"{name}: {words}")
    def _():
        wanted = (GOLDEN / name).read_text("utf-8")
        found = output(words, code)
        diff = "\n".join(difflib.unified_diff(wanted.splitlines(), found.splitlines(),
                                              "golden", "now", lineterm=""))
        expect(found == wanted, f"{diff}\nif the change is right: ./dev golden")


for _name, (_words, _code) in OUTPUTS.items():
    declare(_name, _words, _code)


def picture(words):
    return run(f"{words} --format svg", code=0, cwd=SOURCE).out


def declare_picture(name, words):
    @case(f"docs/pictures/{name}: {words}")
    def _():
        wanted = (PICTURES / name).read_text("utf-8")
        expect(picture(words) == wanted, "the picture is another; look at it, then ./dev golden")


for _name, _words in DRAWN.items():
    declare_picture(_name, _words)


def shape(svg):
    """What a fit does not move: titles, legend and axis titles, without their digits; what is written
    small belongs to points, marks, ticks and notes."""
    texts = re.findall(r'<text(?![^>]*font-size="11")[^>]*>([^<]*)</text>', svg)
    return {re.sub(r"[0-9.]+", "#", text) for text in texts}


def declare_calibrated(name, words):
    @case(f"docs/pictures/{name} still looks like {words}")
    def _():
        if "--samples" in words and run("compare --help").code != 0:
            raise Skip("built without the measuring room")
        wanted, found = shape((PICTURES / name).read_text("utf-8")), shape(picture(words))
        title = {text for text in wanted if " on " in text}
        expect(title <= found, f"{title} {found}")
        expect(len(wanted & found) >= 0.7 * len(wanted), f"{wanted - found}: ./dev golden")


for _name, _words in CALIBRATED.items():
    declare_calibrated(_name, _words)


@case("every golden file is compared")
def _():
    equal(sorted(path.name for path in GOLDEN.glob("*.txt")), sorted(OUTPUTS))
    equal(sorted(path.name for path in PICTURES.glob("*")), sorted([*DRAWN, *CALIBRATED]))


@case("docs/plot.md names the command of every picture")
def _():
    text = " ".join((SOURCE / "docs" / "plot.md").read_text("utf-8").split())
    for name, words in {**DRAWN, **CALIBRATED}.items():
        expect(f"pictures/{name}" in text, name)
        expect(f"llmperf {words}" in text, words)


@case("every command of docs/plot.md runs, but for those that measure")
def _():
    if run("compare --help").code != 0:
        raise Skip("built without the measuring room")
    text = (SOURCE / "docs" / "plot.md").read_text("utf-8")
    commands = re.findall(r"^    llmperf (plot .*)$", text, re.M)
    commands = [c for c in commands if "mine" not in c and "HARDWARE" not in c]
    expect(len(commands) > 8, str(commands))
    for words in commands:
        expect(len(run(words, code=0, cwd=SOURCE).out) > 700, words)  # the smallest chart in text


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        GOLDEN.mkdir(exist_ok=True)
        for _name, (_words, _code) in OUTPUTS.items():
            (GOLDEN / _name).write_text(output(_words, _code), encoding="utf-8")
            print(f"wrote tests/golden/{_name}")
        PICTURES.mkdir(exist_ok=True)
        for _name, _words in {**DRAWN, **CALIBRATED}.items():
            (PICTURES / _name).write_text(picture(_words), encoding="utf-8")
            print(f"wrote docs/pictures/{_name}")
    else:
        main()
