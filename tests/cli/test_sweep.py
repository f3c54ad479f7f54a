#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""llmperf sweep: each point is what predict says of it, in every format; ranges and axes."""
import csv
import io

from llmperf_test import case, close, contains, equal, expect, main, run, run_json

# option of both commands -> what it adds
SHARED = ("", "--cached 100", "--quant awq", "--quant fp8 --kv-dtype fp8", "--act-dtype fp16",
          "--chunk 256", "--query 4", "--attention unfused", "--logits all", "--split-qkv",
          "--memory-utilization 0.5 --reserve 2GiB", "--kv-block 64", "--confidence 0.5",
          "--calibration none", "--engine vllm", "-g 17")


def same(row, report, phase, what):
    """A row beside predict's report of the same workload."""
    time = report[phase]["time_s"]
    close(row["time_s"], time["value"], what)
    close(row["time_low_s"], time["low"], what)
    close(row["time_high_s"], time["high"], what)
    close(row["tokens_per_s"], report[phase]["tokens_per_s"]["value"], what)
    close(row["total_bytes"], report["memory"]["total_bytes"], what)
    equal((row["fits"], row["bound"]), (report["memory"]["fits"], report[phase]["bound"]), what)


@case("every point is what predict says of it, whatever the options")
def _():
    for options in SHARED:
        words = f"qwen2.5-7b h100-sxm -s 700 {options}"
        for phase in ("decode", "prefill"):
            for row in run_json(f"sweep {words} -b 1,48 --phase {phase}")["rows"]:
                report = run_json(f"predict {words} -b {row['batch']}")
                same(row, report, phase, f"{words} {phase}")
                if phase == "decode":
                    equal(row["kind"], report["tpot_s"]["kind"], words)


@case("a calibration that knows less than half of a step makes it a bound, as in predict")
def _():
    kinds = set()
    for model in ("llama-3.1-8b", "mamba-2.8b", "jamba-v0.1", "nemotron-3-nano"):
        for part in ("h100-sxm", "b200", "mi300x"):
            row = run_json(f"sweep {model} {part} -b 1")["rows"][0]
            report = run_json(f"predict {model} {part}", code=None)
            equal(row["kind"], report["tpot_s"]["kind"], model)
            kinds.add(row["kind"])
    expect({"calibrated", "borrowed", "bound"} <= kinds, str(kinds))


@case("the axes are crossed: parts, schemes, formats, degrees, prompts, contexts, batches")
def _():
    report = run_json("sweep llama-3.1-8b h100-sxm,l40s --quant none,awq --kv-dtype bf16,fp8 "
                      "--tp 1,2 -s 100,200 --context 50,60 -b 1..4*2")
    equal(report["axes"], ["hardware", "quant", "kv_dtype", "tp", "prompt", "context", "batch"])
    points = {(r["hardware"], r["quant"], r["kv_dtype"], r["tp"], r["prompt"], r["context"],
               r["batch"]) for r in report["rows"]}
    equal(len(report["rows"]), 2 * 2 * 2 * 2 * 2 * 2 * 3)
    equal(len(points), len(report["rows"]))
    # awq: 4 bits and its scales in place of 16, embedding and head apart
    by_quant = {r["quant"]: r for r in report["rows"] if r["kv_dtype"] == "bf16" and r["tp"] == 1}
    equal((by_quant["none"]["weight_dtype"], by_quant["awq"]["weight_dtype"]), ("bf16", "int4"))
    expect(by_quant["awq"]["time_s"] < by_quant["none"]["time_s"], "awq streams less")


@case("csv has the rows of json, text their numbers")
def _():
    words = "sweep llama-3.1-8b h100-sxm,rtx-4090 --quant none,awq -b 1,512 -s 3000"
    rows = run_json(words)["rows"]
    table = list(csv.DictReader(io.StringIO(run(f"{words} --format csv", code=0).out)))
    equal(len(table), len(rows))
    for found, row in zip(table, rows):
        equal(list(found), list(row))
        for key, value in row.items():
            wanted = {True: "true", False: "false", None: ""}.get(value, value) \
                if isinstance(value, (bool, type(None))) else value
            if isinstance(wanted, (int, float)):
                close(float(found[key]), wanted, key)
            else:
                equal(found[key], wanted, key)
    lines = [line.split() for line in run(words, code=0).out.splitlines()
             if line.startswith(("  h100", "  rtx"))]
    equal(len(lines), len(rows))
    for line, row in zip(lines, rows):
        scheme = row["quant"] if row["quant"] != "none" else row["weight_dtype"]
        equal(line[:4], [row["hardware"], scheme, row["kv_dtype"], str(row["tp"])])
        equal("NO FIT" in " ".join(line), not row["fits"])
        number = {"s": 1, "ms": 1e3, "us": 1e6}[line[8]]
        close(float(line[7].replace(",", "")), row["time_s"] * number, relative=6e-3)


@case("threads change no number")
def _():
    words = "sweep qwen2.5-7b l40s -b 1..600 --format csv"
    equal(run(f"{words} -j 1", code=0).out, run(f"{words} -j 7", code=0).out)


@case("what is illegal is left out and said; all of it exits 2")
def _():
    report = run_json("sweep llama-3.1-8b h100-sxm --tp 1..3 -b 1")
    equal([r["tp"] for r in report["rows"]], [1, 2])
    contains(" ".join(report["notes"]), "tp is 3")
    run("sweep llama-3.1-8b h100-sxm --tp 3 -b 1", code=2)
    contains(run("sweep llama-3.1-8b h100-sxm --quant awq,what -b 1", code=2).err, "what")
    contains(run("sweep llama-3.1-8b h100-sxm --cached 500 -s 100,2000", code=2).err,
             "prompt is 100, of which 500 are cached")
    run("sweep llama-3.1-8b h100-sxm --cached 500 -s 600,2000 -b 1", code=0)


@case("steps without end are refused at once, by every command")
def _():
    # 2^29 tokens one by one: hours
    for words in ("sweep llama-3.1-8b h100-sxm --phase prefill -b 1",
                  "layers llama-3.1-8b h100-sxm", "predict llama-3.1-8b h100-sxm",
                  "plot roofline llama-3.1-8b h100-sxm", "explain ttft_s llama-3.1-8b h100-sxm"):
        result = run(f"{words} -s 536870912 --chunk 1", code=2, timeout=20)
        contains(result.err, "chunk 1 makes 536870912 steps", words)
    # what nobody asked for is not blamed
    contains(run("predict llama-3.1-8b h100-sxm -s 1073741824", code=2).err,
             "context, prompt + generate / 2, is")


if __name__ == "__main__":
    main()
