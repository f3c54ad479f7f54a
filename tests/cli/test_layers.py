#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""llmperf layers: every operator's arithmetic, and what the seed article derives from it.

All expected numbers are worked out here from dimensions, never taken from the tool's output.
"""
import csv
import io
import math

from llmperf_test import (A100_BF16, A100_BW, H100_BF16, H100_BW, case, close, contains, equal,
                          expect, flatten, main, run, run_json)

LLAMA_8B = ("--hidden 4096 --heads 32 --kv-heads 8 --ffn 14336 --layers 32 --vocab 128256 "
            "--gated yes --tied no")
# h 4096, n 32, d 128, f = 4h, no gate: the plain block of the seed
NONE = "--calibration none"
PLAIN = "--hidden 4096 --heads 32 --ffn 16384 --gated no --layers 3 --vocab 32000"
# the K projection of this one is 8192 x 1024
LLAMA_70B = "--hidden 8192 --heads 64 --kv-heads 8 --ffn 28672 --layers 80 --vocab 128256"

CLASSES = ("weight_bytes", "input_bytes", "output_bytes", "kv_read_bytes", "kv_write_bytes")
SUMMED = ("flop", "bytes") + CLASSES
NUMBERS = SUMMED + ("repeat", "intensity_flop_per_byte")
TIMES = ("time_s", "compute_s", "memory_s", "serial_s", "work_s", "launch_s", "link_s")
KINDS = {"gemm", "attention", "elementwise", "gather", "scan", "collective"}
GROUPS = {"dense", "attention", "other"}
REGIMES = {"prefill", "extend", "decode", None}
BOUNDS = {"compute", "memory", "latency", "launch", "link", None}


def phases(args):
    report = run_json(f"layers {args}")
    return report, {p["phase"]: p for p in report["phases"]}


def ops(args, phase="decode"):
    """{name: op} of one phase; names occur once in a model of one layer shape."""
    found = {}
    for op in phases(args)[1][phase]["ops"]:
        if op["name"] not in ("norm", "residual", "rope"):
            expect(op["name"] not in found, f"{op['name']} twice")
        found[op["name"]] = op
    return found


def dense(found):
    return {name: op for name, op in found.items() if op["group"] == "dense"}


# ---- the contract of one operator ----------------------------------------------------------------------


@case("json has every documented field, with and without hardware")
def _():
    for words, timed in ((f"{LLAMA_8B} -b 4", False), ("llama-3.1-8b h100-sxm -b 4", True),
                         ("llama-3.1-8b h100-sxm --tp 4 --attention unfused", True)):
        report, by_phase = phases(words)
        equal(type(report["llmperf"]), str)
        equal(report["schema"], 1)
        for name in ("notes", "not_modelled"):
            expect(isinstance(report[name], list), name)
        for name in ("params", "weight_bytes", "kv_bytes_per_token", "layers", "hidden"):
            expect(report["model"][name] > 0, name)
        equal(report["hardware"] is not None, timed, "hardware")
        equal(sorted(by_phase), ["decode", "prefill"])
        for phase in by_phase.values():
            for op in phase["ops"]:
                for name in NUMBERS:
                    if name == "intensity_flop_per_byte" and op["bytes"] == 0:
                        equal(op[name], None, f"{op['name']}, which moves nothing in memory")
                        continue
                    expect(isinstance(op[name], (int, float)) and op[name] >= 0,
                           f"{op['name']} {name}")
                for name in ("m", "n", "k"):
                    expect((op[name] is None) == (op["kind"] != "gemm"), f"{op['name']} {name}")
                expect(op["kind"] in KINDS and op["group"] in GROUPS, f"{op}")
                expect(op["regime"] in REGIMES and op["bound"] in BOUNDS, f"{op}")
                expect((op["dtype"] is None) == (op["kind"] == "collective"), f"{op}")
                for name in TIMES:
                    expect((op[name] is not None) == timed, f"{op['name']} {name}")
            expect((phase["total"]["time_s"] is not None) == timed, "total time")


@case("a gemm's flop is 2 m n k and its bytes n k w + m k a + m n a")
def _():
    for words in (f"{LLAMA_8B} -b 7 -s 33", f"{PLAIN} -b 3 -s 5 --split-qkv",
                  f"{LLAMA_70B} h100-sxm --tp 8 -b 5", f"{LLAMA_8B} -b 2 --logits all"):
        for phase in phases(words)[1].values():
            for op in phase["ops"]:
                if op["kind"] != "gemm":
                    continue
                m, n, k = op["m"], op["n"], op["k"]
                close(op["flop"], 2 * m * n * k, op["name"])
                close(op["weight_bytes"], 2 * n * k, op["name"])
                close(op["input_bytes"], 2 * m * k, op["name"])
                close(op["output_bytes"], 2 * m * n, op["name"])


@case("bytes is the sum of its classes, and totals the sum over operators")
def _():
    for words in (f"{LLAMA_8B} -b 7 -s 33", "llama-3.1-8b h100-sxm --tp 2 -b 9",
                  f"{PLAIN} -b 3 --attention unfused", f"{LLAMA_8B} -s 100 --chunk 64"):
        for phase in phases(words)[1].values():
            for op in phase["ops"]:
                close(op["bytes"], sum(op[name] for name in CLASSES), op["name"])
                if op["bytes"]:
                    close(op["intensity_flop_per_byte"], op["flop"] / op["bytes"], op["name"])
            for name in SUMMED:
                total = sum(op["repeat"] * op[name] for op in phase["ops"])
                close(phase["total"][name], total, f"{words}: total {name}")


@case("an ideal time is the larger of compute and memory, and names its bound")
def _():
    for phase in phases("llama-3.1-8b h100-sxm -b 200 -s 300 --calibration none")[1].values():
        total = 0
        for op in phase["ops"]:
            close(op["memory_s"], op["bytes"] / H100_BW, op["name"])
            if op["dtype"] == "bf16":
                close(op["compute_s"], op["flop"] / H100_BF16, op["name"])
            close(op["time_s"], max(op["compute_s"], op["memory_s"]), op["name"])
            larger = "compute" if op["compute_s"] > op["memory_s"] else "memory"
            equal(op["bound"], larger, op["name"])
            total += op["repeat"] * op["time_s"]
        close(phase["total"]["time_s"], total, "total time")


@case("shapes of a llama block are those of its config")
def _():
    h, n, kv, d, f, v, b, s = 4096, 32, 8, 128, 14336, 128256, 3, 40
    wanted = {"attn.qkv": ((n + 2 * kv) * d, h, 32), "attn.out": (h, n * d, 32),
              "mlp.gate_up": (2 * f, h, 32), "mlp.down": (h, f, 32), "lm_head": (v, h, 1)}
    for phase, tokens in (("prefill", b * s), ("decode", b)):
        found = dense(ops(f"{LLAMA_8B} -b {b} -s {s}", phase))
        equal(sorted(found), sorted(wanted))
        for name, (rows, depth, repeat) in wanted.items():
            op = found[name]
            equal((op["m"], op["n"], op["k"], op["repeat"]),
                  (b if name == "lm_head" else tokens, rows, depth, repeat), name)


@case("attention and embedding follow their formulas")
def _():
    h, n, kv, d, b, s, context = 4096, 32, 8, 128, 3, 40, 77
    words = f"{LLAMA_8B} -b {b} -s {s} --context {context}"
    core = ops(words, "prefill")["attn.core"]
    close(core["flop"], 4 * n * d * b * s * (s + 1) / 2, "causal pairs")
    equal((core["input_bytes"], core["output_bytes"]), (2 * b * s * n * d,) * 2, "q and result")
    equal((core["kv_read_bytes"], core["kv_write_bytes"]), (2 * b * s * 2 * kv * d,) * 2, "K, V")
    core = ops(words, "decode")["attn.core"]
    close(core["flop"], 4 * n * d * b * (context + 1), "decode attends context + 1")
    equal(core["kv_read_bytes"], 2 * b * (context + 1) * 2 * kv * d)
    equal(core["kv_write_bytes"], 2 * b * 2 * kv * d)
    embed = ops(words, "prefill")["embed"]
    equal((embed["weight_bytes"], embed["output_bytes"], embed["flop"]),
          (2 * b * s * h, 2 * b * s * h, 0))


@case("unfused attention is two batched products and a softmax, scores in memory")
def _():
    n, d, b, s = 32, 128, 2, 24
    found = ops(f"{PLAIN} -b {b} -s {s} --attention unfused", "prefill")
    scores, softmax, values = (found[f"attn.{x}"] for x in ("scores", "softmax", "values"))
    expect("attn.core" not in found)
    for op in (scores, values):
        close(op["flop"], 2 * b * n * s * s * d, "no causal saving")
    equal(scores["input_bytes"], 2 * b * n * 2 * s * d)
    equal(scores["output_bytes"], 2 * b * n * s * s)
    equal(scores["kv_write_bytes"], 2 * b * s * 2 * n * d)
    equal(softmax["bytes"], 2 * b * n * s * s * 2)
    equal(values["input_bytes"], 2 * b * n * (s * s + s * d))
    equal(values["output_bytes"], 2 * b * n * s * d)


@case("--tp divides columns, rows and KV heads")
def _():
    tp, b = 4, 3
    found = ops(f"{LLAMA_8B} h100-sxm --tp {tp} -b {b}")
    shapes = {name: (op["n"], op["k"]) for name, op in dense(found).items()}
    equal(shapes, {"attn.qkv": (6144 // tp, 4096), "attn.out": (4096, 4096 // tp),
                   "mlp.gate_up": (28672 // tp, 4096), "mlp.down": (4096, 14336 // tp),
                   "lm_head": (math.ceil(128256 / tp), 4096)})
    one = ops(f"{LLAMA_8B} -b {b}")["attn.core"]
    equal(found["attn.core"]["kv_read_bytes"] * tp, one["kv_read_bytes"])
    expect(any(name.startswith("comm.") for name in found), "collectives")
    expect(not any(name.startswith("comm.") for name in ops(f"{LLAMA_8B} h100-sxm")), "tp 1")


@case("--chunk splits prefill without losing flop of attention")
def _():
    whole = phases(f"{LLAMA_8B} -s 100")[1]["prefill"]
    parts = phases(f"{LLAMA_8B} -s 100 --chunk 30")[1]["prefill"]
    expect(parts["total"]["weight_bytes"] > whole["total"]["weight_bytes"], "weights read again")

    def core(phase):
        return sum(op["repeat"] * op["flop"] for op in phase["ops"] if op["kind"] == "attention")
    close(core(parts), core(whole), "pairs")


@case("ad hoc dimensions equal the shipped model")
def _():
    for words in ("-b 3 -s 50", "h100-sxm --tp 2 -b 8", "--attention unfused --kv-dtype fp8"):
        shipped, adhoc = (run_json(f"layers {model} {words}") for model in ("llama-3.1-8b", LLAMA_8B))
        equal(shipped["phases"], adhoc["phases"], words)
        equal(shipped["model"]["params"], 8030261248)
        equal(adhoc["model"]["params"], 8030261248)


@case("weight formats change bytes and the arithmetic as documented")
def _():
    plain, int4 = ops(f"{LLAMA_8B} -b 2"), ops(f"{LLAMA_8B} h100-sxm -b 2 --weight-dtype int4")
    for name in ("attn.qkv", "mlp.down"):
        equal(int4[name]["weight_bytes"] * 4, plain[name]["weight_bytes"], name)
        equal(int4[name]["input_bytes"], plain[name]["input_bytes"], name)
        equal(int4[name]["dtype"], "bf16", "int4 weights with bf16 activations")
    equal(int4["lm_head"]["weight_bytes"], plain["lm_head"]["weight_bytes"], "keeps the file's")
    fp8 = ops(f"{LLAMA_8B} h100-sxm -b 2 --weight-dtype fp8 --act-dtype fp8")
    equal(fp8["attn.qkv"]["dtype"], "fp8")
    kv8 = ops(f"{LLAMA_8B} -b 2 --kv-dtype fp8")
    equal(kv8["attn.core"]["kv_read_bytes"] * 2, plain["attn.core"]["kv_read_bytes"])


# ---- the seed ------------------------------------------------------------------------------------------


@case("dense intensity at 16 bit is 1 / (1/m + 1/n + 1/k)")
def _():
    for words in (f"{LLAMA_8B} -b 5 -s 7", f"{PLAIN} -b 64 -s 300", f"{LLAMA_70B} --split-qkv"):
        for phase in phases(words)[1].values():
            for op in phase["ops"]:
                if op["group"] == "dense":
                    wanted = 1 / (1 / op["m"] + 1 / op["n"] + 1 / op["k"])
                    close(op["intensity_flop_per_byte"], wanted, op["name"])


@case("prefill's dense layers see b x s only: batch and length are symmetric")
def _():
    shapes = [dense(ops(f"{PLAIN} --logits all -b {b} -s {s}", "prefill"))
              for b, s in ((1, 512), (512, 1), (16, 32), (32, 16))]
    for other in shapes[1:]:
        equal(other, shapes[0])


@case("decode's dense intensity grows with batch and is close to it while b << h")
def _():
    last = 0
    for batch in (1, 2, 8, 32, 128):
        for op in dense(ops(f"{PLAIN} -b {batch}")).values():
            expect(0.9 * batch < op["intensity_flop_per_byte"] < batch, f"{op['name']} at {batch}")
        intensity = ops(f"{PLAIN} -b {batch}")["mlp.up"]["intensity_flop_per_byte"]
        expect(intensity > last)
        last = intensity


@case("attention's intensity does not depend on batch")
def _():
    for extra in ("", "--attention unfused"):
        for phase in ("prefill", "decode"):
            one = ops(f"{LLAMA_8B} -s 256 {extra} -b 1", phase)
            for batch in (2, 16, 512):
                many = ops(f"{LLAMA_8B} -s 256 {extra} -b {batch}", phase)
                for name, op in one.items():
                    if op["kind"] == "attention":
                        close(many[name]["intensity_flop_per_byte"],
                              op["intensity_flop_per_byte"], f"{name} at {batch}")


@case("decode attention reads about n / n_kv flop per byte fused, 1 unfused")
def _():
    fused = ops(f"{LLAMA_8B} --context 100000")["attn.core"]["intensity_flop_per_byte"]
    close(fused, 32 / 8, "GQA 32:8", 0.001)
    for name in ("attn.scores", "attn.values"):
        op = ops(f"{PLAIN} --context 100000 --attention unfused")[name]
        close(op["intensity_flop_per_byte"], 1, name, 0.02)


@case("a plain block holds 3 h^2 weights in QKV and 9 h^2 in output and FFN")
def _():
    h = 4096
    found = ops(PLAIN)
    weights = {name: op["n"] * op["k"] for name, op in found.items() if op["group"] == "dense"}
    equal(weights["attn.qkv"], 3 * h * h)
    equal(weights["attn.out"] + weights["mlp.up"] + weights["mlp.down"], 9 * h * h)


@case("4096 x 4096 turns compute-bound at batch 166 on an A100 and 346 on an H100")
def _():
    for part, peak, bandwidth, batch in (("a100-sxm-80gb", A100_BF16, A100_BW, 166),
                                         ("h100-sxm", H100_BF16, H100_BW, 346)):
        # 1 / m* = BW / P - 1/n - 1/k
        equal(math.ceil(1 / (bandwidth / peak - 2 / 4096)), batch, "by hand")
        equal(ops(f"{PLAIN} {part} -b {batch - 1} {NONE}")["attn.out"]["bound"], "memory", part)
        equal(ops(f"{PLAIN} {part} -b {batch} {NONE}")["attn.out"]["bound"], "compute", part)


@case("the K projection of a 70B, 8192 x 1024, at 184 and 438")
def _():
    for part, peak, bandwidth, batch in (("a100-sxm-80gb", A100_BF16, A100_BW, 184),
                                         ("h100-sxm", H100_BF16, H100_BW, 438)):
        equal(math.ceil(1 / (bandwidth / peak - 1 / 8192 - 1 / 1024)), batch, "by hand")
        for model in (LLAMA_70B, "llama-3.1-70b"):
            for at, bound in ((batch - 1, "memory"), (batch, "compute")):
                op = ops(f"{model} {part} --split-qkv -b {at} {NONE}")["attn.k"]
                equal((op["n"], op["k"]), (1024, 8192))
                equal(op["bound"], bound, f"{model} on {part} at {at}")


# ---- consequences that hold exactly ------------------------------------------------------------------


@case("prefill of one token equals decode with an empty cache")
def _():
    report = phases(f"{LLAMA_8B} h100-sxm -b 6 -s 1 --context 0")[1]
    for name in ("flop", "bytes", "time_s"):
        close(report["prefill"]["total"][name], report["decode"]["total"][name], name)


@case("MQA <= GQA <= MHA in KV bytes, fused <= unfused in bytes")
def _():
    last = 0
    for kv_heads in (1, 8, 32):
        words = f"--hidden 4096 --heads 32 --kv-heads {kv_heads} --ffn 8192 --layers 2 --vocab 1000"
        total = phases(words)[1]["decode"]["total"]["kv_read_bytes"]
        expect(total > last, f"{kv_heads} KV heads")
        last = total
        for phase in ("prefill", "decode"):
            fused = phases(words)[1][phase]["total"]["bytes"]
            unfused = phases(f"{words} --attention unfused")[1][phase]["total"]["bytes"]
            expect(fused <= unfused, f"{phase} with {kv_heads} KV heads")


# ---- the other forms ----------------------------------------------------------------------------------


@case("csv has a row an operator, with the numbers of the json")
def _():
    words = "layers llama-3.1-8b h100-sxm -b 4"
    rows = list(csv.DictReader(io.StringIO(run(f"{words} --format csv", code=0).out)))
    wanted = [(p["phase"], op) for p in run_json(words)["phases"] for op in p["ops"]]
    rows = [row for row in rows if row["name"] != "total"]
    equal(len(rows), len(wanted))
    for row, (phase, op) in zip(rows, wanted):
        equal((row["phase"], row["name"]), (phase, op["name"]))
        for name, value in flatten(op).items():
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                close(float(row[name]), value, f"{op['name']} {name}")
            else:
                equal(row[name], value or "", f"{op['name']} {name}")


@case("text and md name every operator; text keeps to 80 columns")
def _():
    words = "layers llama-3.1-8b h100-sxm -b 4 -s 2048"
    text, markdown = (run(f"{words} --format {form}", code=0).out for form in ("text", "md"))
    for op in run_json(words)["phases"][0]["ops"]:
        contains(text, op["name"])
        contains(markdown, f"| {op['name']} ")
    equal([line for line in text.splitlines() if len(line) > 80], [])


@case("ad hoc models ask for what is missing, all at once, exit 2")
def _():
    result = run("layers --hidden 4096 --layers 2", code=2)
    for name in ("--heads", "--ffn", "--vocab"):
        contains(result.err, name)
    for words in ("layers --hidden 4097 --heads 32 --ffn 8 --layers 1 --vocab 9",
                  "layers --hidden 4096 --heads 32 --kv-heads 5 --ffn 8 --layers 1 --vocab 9",
                  f"layers llama-3.1-8b {PLAIN} h100-sxm"):
        equal(run(words, code=2).out, "", words)


if __name__ == "__main__":
    main()
