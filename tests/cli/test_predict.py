#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""llmperf predict: the JSON contract field by field, the memory rules, the arithmetic by hand."""
import csv
import io
import re
import shlex

from llmperf_test import (H100_BF16, H100_BW, H100_USABLE, case, close, contains, equal, expect,
                          flatten, main, run, run_json, shipped)

PREDICT = "predict llama-3.1-8b h100-sxm"

# Llama 3.1 8B, from its config.json
H, N, KV, D, F, V, LAYERS = 4096, 32, 8, 128, 14336, 128256, 32
PARAMS = 2 * V * H + LAYERS * (H * (N + 2 * KV) * D + N * D * H + 3 * H * F + 2 * H) + H
WEIGHTS = 2 * PARAMS
KV_TOKEN = LAYERS * 2 * KV * D * 2

# Cases that together take every branch of the report.
WORKLOADS = (
    PREDICT,
    f"{PREDICT} -b 64 -s 2048 -g 512 --tpot 30ms --ttft 500ms --price 2.5/h",
    f"{PREDICT} -b 512 -s 8192",
    f"{PREDICT} --weight-dtype fp8 --kv-dtype fp8 -b 8",
    f"{PREDICT} --weight-dtype int4 --attention unfused --logits all",
    f"{PREDICT} -g 1 --context 0 -s 1",
    "predict llama-3.1-70b h100-sxm",
    "predict llama-3.1-70b h100-sxm --tp 4 -b 64 -s 2048 -g 512 --tpot 30ms",
    "predict llama-3.1-8b rtx-4090 -b 16",
    "predict llama-3.1-8b jetson-orin-nano-8gb",
    "predict gpt2 a100-sxm-80gb -b 3000",
    "predict gemma-2-9b l40s -b 4 -s 6000",
)


# ---- the contract --------------------------------------------------------------------------------------

COUNT, NUMBER, TEXT, BOOL, LIST, OBJECT = "count", "number", "text", "bool", "list", "object"
FIELDS = {
    "llmperf": TEXT, "schema": COUNT, "notes": LIST, "not_modelled": LIST,
    "model.name": TEXT, "model.params": COUNT, "model.mtp_params": COUNT,
    "model.active_params": COUNT, "model.active_params_no_embed": COUNT,
    "model.active_params_no_embed_head": COUNT, "model.weight_bytes": NUMBER,
    "model.kv_bytes_per_token": NUMBER, "model.kv_bytes_per_token_long": NUMBER,
    "model.index_bytes_per_token": NUMBER, "model.state_bytes": NUMBER, "model.layers": COUNT,
    "model.hidden": COUNT, "model.heads": COUNT, "model.kv_heads": COUNT,
    "model.not_counted": (TEXT, None),
    "hardware.name": TEXT, "hardware.calibration": (OBJECT, None), "workload": OBJECT,
    "memory.weight_bytes": NUMBER, "memory.kv_bytes": NUMBER, "memory.state_bytes": NUMBER,
    "memory.activation_bytes": NUMBER, "memory.reserved_bytes": NUMBER,
    "memory.total_bytes": NUMBER, "memory.capacity_bytes": NUMBER, "memory.fits": BOOL,
    "memory.max_batch": COUNT, "memory.max_context_tokens": COUNT,
    "prefill.flop": NUMBER, "prefill.bytes": NUMBER, "prefill.bound": TEXT,
    "decode.flop": NUMBER, "decode.bytes": NUMBER, "decode.bound": TEXT,
    "compute_bound_batch.datasheet.dense": (OBJECT, None),
    "compute_bound_batch.datasheet.step": (OBJECT, None),
    "compute_bound_batch.datasheet.per_op": LIST,
    "compute_bound_batch.calibrated": (OBJECT, None),
    "compute_bound_batch.memory_limit": COUNT,
    "latency_knee_batch": (COUNT, None), "max_batch_at_tpot": (COUNT, None),
    "cost_usd_per_mtok": (NUMBER, None), "energy_wh_per_mtok": (NUMBER, None),
    "cost_with_prefill_usd_per_mtok": (NUMBER, None),
    "energy_with_prefill_wh_per_mtok": (NUMBER, None),
    **{f"decode.share.{name}": NUMBER
       for name in ("dense", "attention", "other", "launch", "link", "host")},
}
TIMES = ("prefill.time_s", "decode.time_s", "ttft_s", "ttft_batch_s", "tpot_s", "e2e_s")
RATES = ("prefill.tokens_per_s", "decode.tokens_per_s", "decode.tokens_per_s_per_seq")


def at(report, path):
    for name in path.split("."):
        expect(isinstance(report, dict) and name in report, f"no field {path}")
        report = report[name]
    return report


def is_kind(value, kind):
    return {COUNT: type(value) is int and value >= 0,
            NUMBER: type(value) in (int, float) and value >= 0,
            TEXT: isinstance(value, str) and value != "", BOOL: isinstance(value, bool),
            LIST: isinstance(value, list), OBJECT: isinstance(value, dict),
            None: value is None}[kind]


def predict(words):
    """The report, whether it fits or not; both must agree with the exit code."""
    report = run_json(words, code=None)
    equal(run(words).code, 0 if report["memory"]["fits"] else 8, words)
    return report


@case("json has every documented field with its type")
def _():
    for words in WORKLOADS:
        report = predict(words)
        for path, kinds in FIELDS.items():
            kinds = kinds if isinstance(kinds, tuple) else (kinds,)
            value = at(report, path)
            expect(any(is_kind(value, kind) for kind in kinds), f"{words}: {path} is {value!r}")
        for text in report["notes"] + report["not_modelled"]:
            expect(is_kind(text, TEXT), words)
        expect(report["not_modelled"], "something always is left out")


@case("every estimate has value, low, high and kind, low <= value <= high")
def _():
    for words in WORKLOADS:
        for calibration in ("", " --calibration none"):
            report = predict(words + calibration)
            bound = report["hardware"]["calibration"] is None
            expect(bound or not calibration, f"{words}{calibration}: calibrated all the same")
            for path in TIMES + RATES:
                estimate = at(report, path)
                equal(sorted(estimate), ["high", "kind", "low", "value"], path)
                expect(0 < estimate["low"] <= estimate["value"] <= estimate["high"],
                       f"{words} {path}")
                if bound:
                    equal(estimate["kind"], "bound", path)
                    # the value is the roofline: a time's low end, a rate's high end
                    equal(estimate["value"], estimate["high" if path in RATES else "low"], path)
                else:
                    equal(estimate["kind"], report["hardware"]["calibration"]["kind"], path)


@case("targets and prices are null unless asked for")
def _():
    report = predict(PREDICT)
    for name in ("max_batch_at_tpot", "cost_usd_per_mtok"):
        equal(report[name], None, name)
    report = predict(f"{PREDICT} --tpot 30ms --price 2.5/h")
    expect(report["max_batch_at_tpot"] > 0)
    # 2.5 USD an hour over the tokens of an hour, per million
    rate = report["decode"]["tokens_per_s"]["value"]
    close(report["cost_usd_per_mtok"], 2.5 / 3600 / rate * 1e6)


@case("what batching is said to bring follows the calibrated crossing where there is one")
def _():
    # 2,187 by the datasheet, a quarter of that as the engine computes, within memory's reach
    for words in ("predict gpt-oss-120b b200 --engine sglang -b 32", PREDICT,
                  f"{PREDICT} --engine vllm", f"{PREDICT} --calibration none",
                  "predict llama-3.1-70b h100-sxm --tp 4 -b 8"):
        report = predict(words)
        found = report["compute_bound_batch"]
        dense = (found["calibrated"] or found["datasheet"])["dense"]["value"]
        memory = report["memory"]["max_batch"]
        text = " ".join(run(words, code=0).out.split())
        if memory < dense:
            contains(text, f"Memory ends at batch {memory:,}, so the dense layers stay")
        else:
            contains(text, f"Memory holds {memory:,} sequences: up to batch {dense:,} each one more")


@case("a target is told in the words of what the times are")
def _():
    words = "predict llama-3.1-8b l40s -b 8 -s 8000 --tpot 40ms"
    report = predict(words)
    low, value, high = (report["ttft_s"][key] for key in ("low", "value", "high"))
    for target, told in ((low / 2, "missed, by the whole interval"),
                         ((low + value) / 2, "missed, but the interval reaches below it"),
                         ((value + high) / 2, "met, but the interval reaches beyond it"),
                         (2 * high, "met, by the whole interval")):
        text = run(f"{words} --ttft {target * 1e3:.3f}ms", code=0).out
        contains(text, told)
        expect(" at best" not in text and "at the bound" not in text, text)
    # 2 x 8.03e9 x 8000 flop at 362 TFLOP/s and its weights: above 300 ms, below 3 s
    for target, told in (("300ms", "out of reach, even at the bound"),
                         ("500ms", "met at the bound, not by every engine"),
                         ("5s", "met, also by slow engines")):
        text = run(f"{words} --ttft {target} --calibration none", code=0).out
        contains(text, told)
        contains(text, " at best (")


@case("cost and energy are those of decode, and beside them those of whole requests")
def _():
    words = "predict llama-3.1-70b h100-sxm --tp 4 -b 64 -s 2048 -g 512 --price 2.5/h"
    report = predict(words)
    # four devices of 700 W and 2.5 USD an hour; 64 x 512 tokens; 64 prompts first
    whole = report["prefill"]["time_s"]["value"] + 511 * report["tpot_s"]["value"]
    hours = 4 * whole / 3600 / (64 * 512) * 1e6
    close(report["cost_with_prefill_usd_per_mtok"], 2.5 * hours)
    close(report["energy_with_prefill_wh_per_mtok"], 700 * hours)
    step = 4 * report["tpot_s"]["value"] / 64 / 3600 * 1e6
    close(report["cost_usd_per_mtok"], 2.5 * step)
    close(report["energy_wh_per_mtok"], 700 * step)
    text = " ".join(run(words, code=0).out.split())
    contains(text, f"cost: {2.5 * step:.3g} USD per million output tokens, {2.5 * hours:.3g} with "
                   "prefill")
    for field in ("cost_with_prefill_usd_per_mtok", "energy_with_prefill_wh_per_mtok"):
        contains(run(words.replace("predict", f"explain {field}"), code=0).out, "(g - 1) tpot_s")


@case("crossings are a batch, or null with a reason")
def _():
    for words in WORKLOADS:
        sheet = predict(words)["compute_bound_batch"]["datasheet"]
        for name in ("dense", "step"):
            if sheet[name] is None:
                expect(sheet[f"{name}_why"], f"{words}: {name} without a reason")
            else:
                equal(sheet[f"{name}_why"], None)
                expect(sheet[name]["low"] <= sheet[name]["value"] <= sheet[name]["high"], words)
        expect(sheet["per_op"], "operators")
        for op in sheet["per_op"]:
            expect((op["batch"] is None) == (op["exact"] is None) == bool(op["why"]), f"{op}")
            expect(op["batch"] is None or 0 <= op["batch"] - op["exact"] <= 1, f"rounded up: {op}")


@case("no number of any shipped part or format is NaN, infinite or negative")
def _():
    for part in shipped("hardware"):
        result = run(f"predict llama-3.1-8b {part} -b 32 --format json")
        if result.code == 5:  # no peak that holds bf16
            continue
        expect(result.code in (0, 8), "exit code", result)
        report = run_json(f"predict llama-3.1-8b {part} -b 32", code=result.code)  # strict reader
        for path, value in flatten(report).items():
            expect(not isinstance(value, (int, float)) or value >= 0, f"{part}: {path} = {value}")
    for words in WORKLOADS:
        for form in ("text", "csv", "md"):
            text = run(f"{words} --format {form}").out
            expect(not re.search(r"\b(nan|inf|infinity)\b", text, re.I), f"{words} {form}: {text}")


# ---- llama-3.1-8b on one H100, by hand ------------------------------------------------------------------


@case("parameters, weights and KV bytes are 8,030,261,248, 16.06 GB and 131,072 B a token")
def _():
    equal(PARAMS, 8030261248, "by hand")
    model = predict(PREDICT)["model"]
    equal(model["params"], PARAMS)
    equal(model["active_params"], PARAMS)
    equal(model["active_params_no_embed"], PARAMS - V * H)
    equal(model["active_params_no_embed_head"], PARAMS - 2 * V * H)
    equal(model["weight_bytes"], WEIGHTS)
    equal(KV_TOKEN, 131072, "by hand")
    equal(model["kv_bytes_per_token"], KV_TOKEN)
    equal(model["kv_bytes_per_token_long"], KV_TOKEN)
    text = run(PREDICT, code=0).out
    contains(text, "16.1 GB")


def activation(tokens, sequences):
    return tokens * (2 * H + max(2 * F, (N + 2 * KV) * D)) * 2 + sequences * V * 4


@case("memory follows the rules of the interface")
def _():
    for batch, prompt, generate in ((1, 1024, 256), (64, 2048, 512), (3, 1000, 7)):
        memory = predict(f"{PREDICT} -b {batch} -s {prompt} -g {generate}")["memory"]
        length = -(-(prompt + generate) // 16) * 16  # whole blocks of 16 tokens
        equal(memory["weight_bytes"], WEIGHTS)
        equal(memory["kv_bytes"], batch * length * KV_TOKEN)
        equal(memory["state_bytes"], 0)
        tokens = min(batch * prompt, 8192)
        close(memory["activation_bytes"],
              max(activation(tokens, -(-tokens // prompt)), activation(batch, batch)),
              f"b {batch} s {prompt}", 0.02)
        equal(memory["capacity_bytes"], H100_USABLE)
        close(memory["reserved_bytes"], 0.1 * H100_USABLE + 2**30)
    close(predict(PREDICT)["memory"]["activation_bytes"], activation(1024, 1), "the default")


@case("total is the sum of its parts and decides what fits")
def _():
    for words in WORKLOADS:
        memory = predict(words)["memory"]
        parts = ("weight_bytes", "kv_bytes", "state_bytes", "activation_bytes", "reserved_bytes")
        close(memory["total_bytes"], sum(memory[name] for name in parts), words)
        equal(memory["fits"], memory["total_bytes"] <= memory["capacity_bytes"], words)


@case("max_batch is the largest that fits")
def _():
    for words in (PREDICT, f"{PREDICT} -s 8192", "predict llama-3.1-70b h100-sxm --tp 4",
                  f"{PREDICT} --kv-dtype fp8", f"{PREDICT} -s 5000 -g 3000 --kv-block 1"):
        most = predict(words)["memory"]["max_batch"]
        expect(most > 0, words)
        run(f"{words} -b {most}", code=0)
        run(f"{words} -b {most + 1}", code=8)
    equal(predict("predict llama-3.1-70b h100-sxm")["memory"]["max_batch"], 0, "not even one")


@case("max_context_tokens is the longest that fits")
def _():
    for words, generate in ((PREDICT, 256), (f"{PREDICT} -b 16", 256)):
        most = predict(words)["memory"]["max_context_tokens"]
        run(f"{words} -g {generate} -s {most - generate}", code=0)
        run(f"{words} -g {generate} -s {most - generate + 16}", code=8)


@case("TPOT is the sum over operators of max(flop / P, bytes / BW)")
def _():
    for batch, context in ((1, 1152), (64, 4000), (350, 1000)):
        words = f"llama-3.1-8b h100-sxm -b {batch} --context {context} --calibration none"
        decode = {p["phase"]: p for p in run_json(f"layers {words}")["phases"]}["decode"]
        peak = {"bf16": H100_BF16, "fp32": 66.9e12}
        step = sum(op["repeat"] * max(op["flop"] / peak[op["dtype"]], op["bytes"] / H100_BW)
                   for op in decode["ops"])
        report = run_json(f"predict {words}", code=None)
        close(report["tpot_s"]["value"], step, words)
        close(report["decode"]["time_s"]["value"], step, words)
        close(report["decode"]["flop"], sum(o["repeat"] * o["flop"] for o in decode["ops"]), words)
        close(report["decode"]["bytes"], sum(o["repeat"] * o["bytes"] for o in decode["ops"]), words)
        for group in ("dense", "attention", "other"):
            part = sum(op["repeat"] * max(op["flop"] / peak[op["dtype"]], op["bytes"] / H100_BW)
                       for op in decode["ops"] if op["group"] == group)
            close(report["decode"]["share"][group], part / step, f"{words} {group}")


@case("a batch-1 step streams the weights once, but for the embedding table")
def _():
    report = predict(f"{PREDICT} --context 0")
    streamed = WEIGHTS - 2 * V * H  # one row of the embedding is read instead
    expect(streamed < report["decode"]["bytes"] < 1.001 * streamed, report["decode"]["bytes"])
    expect(report["tpot_s"]["value"] > streamed / H100_BW)


@case("TTFT, end to end and rates follow their definitions")
def _():
    for batch, prompt, generate in ((1, 1024, 256), (64, 2048, 512), (8, 3000, 2), (4, 100, 1)):
        words = f"{PREDICT} -b {batch} -s {prompt} -g {generate}"
        report = predict(words)
        value = {path: at(report, path)["value"] for path in TIMES + RATES}
        close(value["decode.tokens_per_s"], batch / value["tpot_s"], words)
        close(value["decode.tokens_per_s_per_seq"], 1 / value["tpot_s"], words)
        close(value["prefill.tokens_per_s"], batch * prompt / value["prefill.time_s"], words)
        close(value["ttft_batch_s"], value["prefill.time_s"], "all prompts")
        if generate > 1:
            close(value["tpot_s"], (value["e2e_s"] - value["ttft_s"]) / (generate - 1),
                  f"{words}: tpot = (e2e - ttft) / (g - 1)")
        # one prompt on an idle server
        close(value["ttft_s"], predict(f"{PREDICT} -s {prompt}")["ttft_s"]["value"], "one prompt")
        equal(report["workload"]["context_tokens"], prompt + generate // 2, "mean context")


@case("shares of a decode step sum to 1")
def _():
    for words in WORKLOADS:
        share = predict(words)["decode"]["share"]
        close(sum(share.values()), 1, words)
        expect(all(0 <= part <= 1 for part in share.values()), f"{words}: {share}")
        equal(share["link"] > 0, "--tp " in words, "link time only with tp")


@case("per-operator crossings are the closed form")
def _():
    for op in predict(PREDICT)["compute_bound_batch"]["datasheet"]["per_op"]:
        exact = 1 / (H100_BW / H100_BF16 - 1 / op["n"] - 1 / op["k"])
        close(op["exact"], exact, op["name"])


@case("the dense crossing is where summed compute reaches summed memory")
def _():
    batch = predict(PREDICT)["compute_bound_batch"]["datasheet"]["dense"]["value"]

    def balance(size):
        phases = run_json(f"layers llama-3.1-8b h100-sxm -b {size}")["phases"]
        dense = [op for op in phases[1]["ops"] if op["group"] == "dense"]
        return (sum(op["repeat"] * op["flop"] for op in dense) / H100_BF16 -
                sum(op["repeat"] * op["bytes"] for op in dense) / H100_BW)
    expect(balance(batch) >= 0 > balance(batch - 1), f"{batch}")


@case("latency_knee_batch is where TPOT has risen by a tenth")
def _():
    knee = predict(PREDICT)["latency_knee_batch"]
    first = predict(PREDICT)["tpot_s"]["value"]
    expect(predict(f"{PREDICT} -b {knee}")["tpot_s"]["value"] >= 1.1 * first, "at the knee")
    expect(predict(f"{PREDICT} -b {knee - 1}")["tpot_s"]["value"] < 1.1 * first, "before it")


@case("max_batch_at_tpot is the largest that meets the target")
def _():
    most = predict(f"{PREDICT} --tpot 8ms")["max_batch_at_tpot"]
    expect(predict(f"{PREDICT} -b {most}")["tpot_s"]["value"] <= 0.008, f"{most}")
    expect(predict(f"{PREDICT} -b {most + 1}")["tpot_s"]["value"] > 0.008, f"{most + 1}")
    equal(predict(f"{PREDICT} --tpot 1us")["max_batch_at_tpot"], 0, "out of reach")


# ---- proposals -------------------------------------------------------------------------------------------


def commands(text, heading):
    """The command lines below a heading, without their comments."""
    block = text.split(f"\n{heading}\n", 1)[1].split("\n\n", 1)[0]
    return [shlex.split(line, comments=True)[1:] for line in block.splitlines()
            if line.startswith("  llmperf ")]


@case("what does not fit names ways that do fit")
def _():
    for words in (f"{PREDICT} -b 512 -s 8192", "predict llama-3.1-70b h100-sxm",
                  "predict llama-3.1-8b rtx-4090 -b 64 -s 4096", "predict llama-3.1-70b l40s -b 8",
                  f"{PREDICT} -b 2000"):
        result = run(words, code=8)
        proposed = commands(result.out, "What would fit:")
        expect(proposed, "proposals", result)
        for line in proposed:
            run(line, code=0)


@case("ways out of a checkpoint of mixed formats keep its formats")
def _():
    # int4 or mxfp4 experts beside 16-bit attention: all weights in the experts' format would be less
    for words, tp in (("predict kimi-k2.5 rtx-4070-ti -s 17 -g 2", None),
                      ("predict nemotron-3-ultra h20 -b 64 -s 1000 -g 512 --quant mxfp4", 8),
                      ("predict gpt-oss-120b l40s", None)):
        result = run(words, code=8)
        for line in commands(result.out, "What would fit:"):
            run(line, code=0)
        if tp:
            equal(run_json(words, code=8)["would_fit"]["tp"], tp)
            # by hand: with --tp 4 it is 107.7 GB of 102.6 on each device
            run(f"{words} --tp {tp // 2}", code=8)


@case("next: proposes no batch beyond the TPOT target")
def _():
    words = "predict llama-3.1-70b h100-sxm --tp 4 -b 64 -s 2048 -g 512 --engine vllm"
    for target in ("15ms", "30ms", "1s"):
        report = predict(f"{words} --tpot {target}")
        most, memory = report["max_batch_at_tpot"], report["memory"]["max_batch"]
        lines = [line for line in run(f"{words} --tpot {target}", code=0).out.splitlines()
                 if re.search(r" -b \d+   # all that", line)]
        told = [int(re.search(r"-b (\d+) ", line).group(1)) for line in lines]
        equal(told, [most] if most > 0 else [], target)
        if most > 0:
            contains(lines[0], "memory holds" if most == memory else "the TPOT target allows")


@case("next: tells the batch that an fp8 KV cache would hold")
def _():
    for words in (PREDICT, "predict gpt-oss-20b h100-sxm", "predict kimi-k2.5 b200 --tp 8",
                  "predict llama-3.1-70b h100-sxm --tp 4 --quant awq"):
        line = next(line for line in run(words).out.splitlines() if "--kv-dtype fp8" in line)
        told = int(line.rsplit("# batch ", 1)[1].replace(",", ""))
        equal(run_json(f"{words} --kv-dtype fp8")["memory"]["max_batch"], told, words)


@case("next: proposes commands that run")
def _():
    for words in (PREDICT, f"{PREDICT} -b 64 --tpot 30ms", "predict llama-3.1-70b h100-sxm --tp 4",
                  "predict gpt2 a100-sxm-80gb"):
        result = run(words, code=0)
        proposed = commands(result.out, "next:")
        expect(proposed, "proposals", result)
        for line in proposed:
            run(line, code=0)


# ---- forms ----------------------------------------------------------------------------------------------


@case("text lines keep to 80 columns but for commands")
def _():
    for words in WORKLOADS:
        for line in run(words).out.splitlines():
            expect(len(line) <= 80 or line.startswith("  llmperf "), f"{words}: {line}")
            expect(line == line.rstrip(), f"trailing blanks: {words}: {line!r}")


@case("csv holds the numbers of the json, one column a field")
def _():
    for words in WORKLOADS:
        rows = list(csv.reader(io.StringIO(run(f"{words} --format csv").out)))
        equal(len(rows), 2, words)
        equal(len(rows[0]), len(set(rows[0])), "a column twice")
        row = dict(zip(*rows))
        for path, value in flatten(predict(words)).items():
            if path not in row:
                # lists for a person, and what csv has no cell for
                expect(path.startswith(("notes", "not_modelled", "llmperf", "schema",
                                        "model.layer_plan")) or value is None, f"no column {path}")
            elif isinstance(value, bool) or isinstance(value, str) or value is None:
                wanted = {True: "true", False: "false", None: ""}.get(value, value)
                equal(row[path].lstrip("'"), wanted, path)
            else:
                close(float(row[path]), value, path)


@case("md is the same report with tables")
def _():
    for words in WORKLOADS:
        text = run(f"{words} --format md").out
        expect(text.startswith("# "), words)
        contains(text, "|---", words)
        contains(text, "TPOT", words)
        for line in text.splitlines():
            expect(line == line.rstrip(), f"trailing blanks: {line!r}")


@case("a part without a calibration borrows its kin's, in cycles of its own clock, and says so")
def _():
    # l4 turns at 2.04 GHz, the L40S that it borrows from at 2.52; the H200 as fast as the H100
    for part, lender, ratio, words in (("l4", "l40s", 2.52 / 2.04, "as cycles of its clock (x 1.24)"),
                                       ("h200-sxm", "h100-sxm", 1, "kept")):
        out = run_json(f"predict llama-3.1-8b {part}")
        calibration = out["hardware"]["calibration"]
        equal((calibration["kind"], calibration["hardware"]), ("borrowed", lender), part)
        close(calibration["time_scale"], ratio, part)
        contains(" ".join(out["notes"]), f"{lender}-vllm was fitted on {lender}")
        contains(" ".join(out["notes"]), f"its launch times {words}")
        contains(run(f"predict llama-3.1-8b {part}", code=0).out, f"borrowed ({lender}-vllm)")
    own = run_json("predict llama-3.1-8b l40s")["hardware"]["calibration"]
    equal((own["kind"], own["time_scale"]), ("calibrated", 1))


@case("deterministic: the same bytes twice, in any locale")
def _():
    words = f"{PREDICT} -b 64"
    for form in ("text", "json", "csv", "md"):
        first = run(f"{words} --format {form}", code=0).out
        for locale in ("C", "de_DE.UTF-8", "tr_TR.UTF-8"):
            other = run(f"{words} --format {form}", env={"LC_ALL": locale}, code=0).out
            equal(other, first, f"{form} in {locale}")


if __name__ == "__main__":
    main()
