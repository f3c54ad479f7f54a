#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The programs of examples/, built against the public headers and the shared library."""
import csv
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

from llmperf_test import (EXE, SANITIZED, SANITIZER, SOURCE, SPECS, Failure, Skip, case, close,
                          contains, environment, equal, expect, folder, main, run_json)

BUILD = pathlib.Path(os.environ.get("LLMPERF_BUILD", SOURCE / "build"))

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


@case("sweep gives the program's numbers, on one thread as on three")
def _():
    one = example("sweep", "llama-3.1-8b", "h100-sxm", 1).stdout
    equal(example("sweep", "llama-3.1-8b", "h100-sxm", 3).stdout, one)
    contains(one.splitlines()[0], "h100-sxm: calibrated (")
    rows = list(csv.DictReader(one.splitlines()[1:]))
    wanted = run_json("sweep llama-3.1-8b h100-sxm --batch 1..256*2")["rows"]
    equal([int(row["batch"]) for row in rows], [row["batch"] for row in wanted])
    for row, want in zip(rows, wanted):
        equal(float(row["time_s"]), want["time_s"])
        equal(float(row["tokens_per_s"]), want["tokens_per_s"])
        equal((row["bound"], row["fits"]), (want["bound"], str(want["fits"]).lower()))
    contains(example("sweep", "llama-3.1-9b", "h100-sxm", code=2).stderr, "llama-3.1-8b")


@case("explain gives a formula whose numbers come to the value")
def _():
    out = example("explain", "memory.kv_bytes", "llama-3.1-8b", "h100-sxm").stdout
    lines = [line[4:] for line in out.splitlines() if line.startswith("  = ")]
    # 16 sequences of 1024 + 256 tokens, 32 layers, K and V of 8 heads of 128 channels in 2 bytes
    close(float(lines[0].split()[0]), 16 * 1280 * 32 * 2 * 8 * 128 * 2)
    contains(out, "layers = 32: ")
    equal(len(lines), 3, out)
    contains(example("explain", "tpots", "llama-3.1-8b", "h100-sxm", code=2).stderr, "tpot")


@case("custom_device comes to what its dimensions give by hand")
def _():
    out = example("custom_device").stdout
    hidden, ffn, vocab, layers, kv = 2048, 8192, 32000, 24, 4 * 128
    per_layer = 2 * hidden * hidden + 2 * hidden * kv + 3 * hidden * ffn + 2 * hidden
    total = 2 * vocab * hidden + layers * per_layer + hidden
    contains(out, f"parameters: {total}\n")
    moved = 2 * (8192 * 2048 + 64 * 2048 + 64 * 8192)  # memory-bound: 2 m n k / 200e12 is 11 us
    close(float(re.search(r"GEMM.*: (\S+) s", out).group(1)), moved / 1e12)
    tpot = [float(number) for number in re.findall(r"TPOT (\S+) s", out)]
    # a token streams every weight but the embedding, and K and V of 1024 + 128 tokens; activations,
    # norms and the embedding's row are under 0.3 % beside them
    floor = (2 * (total - vocab * hidden) + 1152 * layers * 2 * kv * 2) / 1e12
    expect(floor < tpot[0] < 1.003 * floor, f"{tpot[0]} beside {floor}")
    expect(0.997 * tpot[0] / 0.7 < tpot[1] < tpot[0] / 0.7, f"{tpot[1]}: norms are not slower")
    close(tpot[2], tpot[0] / 2)


@case("compare gives the program's rows")
def _():
    runs = SOURCE / "examples" / "data" / "llama.cpp-cpu-1.1B.csv"
    out = example("compare", runs, "two-core-xeon").stdout
    rows = [line.rsplit(",", 2)[1:] for line in out.splitlines()[:-1]]
    wanted = run_json(f"compare {runs} --hw two-core-xeon")
    equal([[float(a), float(b)] for a, b in rows],
          [[row["measured"], row["predicted"]["value"]] for row in wanted["rows"]])
    contains(out, f"{len(wanted['rows'])} rows, {len(wanted['skipped'])} skipped; ")
    contains(example("compare", "none.csv", "two-core-xeon", code=4).stderr, "none.csv")


@case("notebook.py reads the JSON with the standard library alone")
def _():
    program = SOURCE / "examples" / "notebook.py"
    env = {**environment(), "LLMPERF_EXE": EXE, "PYTHONNOUSERSITE": "1"}
    # -S: no pandas and no matplotlib, even where they are installed
    done = subprocess.run([sys.executable, "-S", program, "llama-3.1-8b", "h100-sxm"], env=env,
                          capture_output=True, text=True, check=False)
    equal((done.returncode, done.stderr), (0, ""))
    report = run_json("predict llama-3.1-8b h100-sxm -b 8")
    contains(done.stdout, f"{1e3 * report['tpot_s']['value']:.3f} ms a token")
    contains(done.stdout, f"room for {report['memory']['max_batch']} sequences")
    rows = run_json("sweep llama-3.1-8b h100-sxm --batch 1..256*2")["rows"]
    table = [line for line in done.stdout.splitlines() if line.endswith(("memory", "compute"))]
    equal([int(line.split()[0]) for line in table], [row["batch"] for row in rows])
    fast = [row["tokens_per_s"] for row in rows if row["fits"] and row["time_s"] <= 0.05]
    contains(done.stdout, f"{max(fast):.1f} tokens/s\n")
    done = subprocess.run([sys.executable, "-S", program, "no-model", "h100-sxm"], env=env,
                          capture_output=True, text=True, check=False)
    equal(done.returncode, 1)
    contains(done.stderr, "no model is named 'no-model'")


@case("the program in README compiles and prints what stands below it")
def _():
    text = (SOURCE / "README.md").read_text(encoding="utf-8")
    block = re.search(r"^    #include <stdio\.h>\n.*?^    }\n(?=\nprints `)", text, re.S | re.M)
    wanted = re.search(r"^prints `(.*?)`", text, re.M).group(1)
    library = BUILD / "model"
    compiler = shlex.split(os.environ.get("CC", "cc"))
    if SANITIZED or shutil.which(compiler[0]) is None or not (library / "libllmperf.so").exists():
        raise Skip("no compiler, no shared library, or one with sanitizers in it")
    with folder() as here:
        (here / "program.c").write_text(block.group(0), encoding="utf-8")
        subprocess.run([*compiler, "-std=c11", "-Wall", "-Wextra", "-Werror", "-I",
                        SOURCE / "include", here / "program.c", "-L", library, "-lllmperf", "-o",
                        here / "program"], check=True)
        done = subprocess.run([here / "program"], cwd=SOURCE, check=True, capture_output=True,
                              text=True, env={**environment(), "LD_LIBRARY_PATH": str(library)})
        equal(done.stdout, wanted + "\n")


@case("compute_bound_batch gives the seed's four numbers")
def _():
    out = example("compute_bound_batch").stdout
    equal([int(n) for n in re.findall(r"from batch (\d+)", out)], [166, 346, 184, 438])
    expect("never" not in out, out)


if __name__ == "__main__":
    main()
