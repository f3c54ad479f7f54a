#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The programs of examples/, built against the public headers and the shared library."""
import os
import pathlib
import re
import subprocess

from llmperf_test import (SANITIZER, SOURCE, SPECS, Failure, Skip, case, close, contains, environment,
                          equal, expect, folder, main, run_json)

EXAMPLES = pathlib.Path(os.environ.get("LLMPERF_EXAMPLES", SOURCE / "build" / "examples"))


def example(name, *args, code=0):
    path = EXAMPLES / f"example_{name}"
    if not path.exists():
        raise Skip(f"{path.name} is not built")
    done = subprocess.run([path, *map(str, args)], env=environment(), check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != code or SANITIZER.search(done.stderr):
        raise Failure(f"exit code {done.returncode}, {code} expected\n{done.stdout}{done.stderr}")
    return done


@case("predict prints what llmperf predict computes")
def _():
    for model, part in (("llama-3.1-8b", "h100-sxm"), ("gpt2", "a100-sxm-80gb")):
        out = example("predict", SPECS / "models" / f"{model}.yaml",
                      SPECS / "hardware" / f"{part}.yaml").stdout
        report = run_json(f"predict {model} {part} -b 8 -s 2048 --calibration none")
        close(float(re.search(r"TPOT: (\S+) s", out).group(1)), report["tpot_s"]["value"])
        dense = report["compute_bound_batch"]["datasheet"]["dense"]
        if dense:
            contains(out, f"compute-bound at batch {dense['value']}\n")
        else:
            contains(out, "never turn compute-bound")
        contains(out, f"memory holds {report['memory']['max_batch']} sequences\n")


@case("predict takes a config.json")
def _():
    config = SOURCE / "tests" / "data" / "configs" / "meta-llama__Meta-Llama-3.1-8B.json"
    out = example("predict", config, SPECS / "hardware" / "h100-sxm.yaml").stdout
    contains(out, "compute-bound at batch 326")


@case("predict passes messages and codes on")
def _():
    h100 = SPECS / "hardware" / "h100-sxm.yaml"
    equal(example("predict", code=2).stdout, "")
    contains(example("predict", "none.yaml", h100, code=4).stderr, "none.yaml")
    with folder() as here:
        (here / "bad.yaml").write_text("name: x\nmemory: 1\n", encoding="utf-8")
        done = example("predict", SPECS / "models" / "gpt2.yaml", here / "bad.yaml", code=3)
        contains(done.stderr, "bad.yaml:2:9: ")


@case("compute_bound_batch gives the seed's four numbers")
def _():
    out = example("compute_bound_batch").stdout
    equal([int(n) for n in re.findall(r"from batch (\d+)", out)], [166, 346, 184, 438])
    expect("never" not in out, out)


if __name__ == "__main__":
    main()
