#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Text output as it was when somebody last looked at it: tests/golden/README.md.

    test_golden.py --write      rewrites the files (./dev golden)
"""
import difflib
import sys

from llmperf_test import SOURCE, case, equal, expect, main, run

GOLDEN = SOURCE / "tests" / "golden"

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


@case("every golden file is compared")
def _():
    equal(sorted(path.name for path in GOLDEN.glob("*.txt")), sorted(OUTPUTS))


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        GOLDEN.mkdir(exist_ok=True)
        for _name, (_words, _code) in OUTPUTS.items():
            (GOLDEN / _name).write_text(output(_words, _code), encoding="utf-8")
            print(f"wrote tests/golden/{_name}")
    else:
        main()
