#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""llmperf compare: result files of engines beside predictions.

Predictions must be those of `predict` for the same workload; errors, groups and skips are worked out
here from the files.
"""
import csv
import gzip
import io
import json
import shutil
import statistics

from llmperf_test import (DATA, SOURCE, case, close, contains, equal, expect, folder, main, run,
                          run_json)

FORMATS = DATA / "bench-formats"
ONE_BATCH = FORMATS / "sglang-bench_one_batch.jsonl"
FACTS = "--model llama-3.1-8b --hw h100-sxm"
HEADER = ("source,engine,engine_version,gpu,gpu_count,tp,pp,ep,model,weight_dtype,act_dtype,kv_dtype,"
          "batch_or_concurrency,input_len,output_len,metric,value,kind,notes")


def table(*rows):
    return "\n".join((HEADER,) + rows) + "\n"


def row(metric="tpot_ms", value="10", model="llama-3.1-8b", gpu="H100-SXM-80", engine="vllm",
        batch=8, prompt=1024, generate=128, kind="static", tp=1, dtype="bf16", pp=1):
    return (f"doc,{engine},0.9,{gpu},{tp},{tp},{pp},1,{model},{dtype},{dtype},{dtype},{batch},"
            f"{prompt},{generate},{metric},{value},{kind},")


def compare(words, text=None, name="rows.csv", code=0):
    """The JSON of `compare`, over a file of this text unless `words` names files."""
    if text is None:
        return run_json(f"compare {words}", code=code)
    with folder() as path:
        (path / name).write_text(text)
        return run_json(["compare", str(path / name)] + words.split(), code=code)


def refused(text, words="", code=3, name="rows.csv"):
    """The one line that a file is refused with."""
    with folder() as path:
        file = path / name
        if isinstance(text, bytes):
            file.write_bytes(text)
        else:
            file.write_text(text)
        result = run(["compare", str(file)] + words.split(), code=code)
        equal(result.out, "", "standard output")
        lines = result.err.strip().split("\n")
        equal(len(lines), 1, f"lines of {result.err}")
        return lines[0].replace(str(file), "FILE")


# ---- names ---------------------------------------------------------------------------------------------


@case("a file without end is given up")
def _():
    for words in ("compare /dev/zero", "fit /dev/zero --hw h100-sxm",
                  "plot residuals h100-sxm --samples /dev/zero"):
        result = run(words, code=4, timeout=60)
        contains(result.err, "'/dev/zero': 256 MiB without the end of a line", words)


@case("an option may be the very path that a file names")
def _():
    # engines write the folder that they were started with; as our user's word it may be opened
    with folder() as here:
        shutil.copy(DATA / "configs" / "meta-llama__Meta-Llama-3.1-8B.json", here / "config.json")
        shutil.copy(SOURCE / "specs" / "hardware" / "h100-sxm.yaml", here / "gpu.yaml")
        for word, path, name in (("--model", str(here), {"model": str(here)}),
                                 ("--hw", str(here / "gpu.yaml"), {"gpu": str(here / "gpu.yaml")})):
            text = table(row(**name))
            line = refused(text, code=2)
            contains(line, word)
            rows = compare(f"{word} {path}", text)["rows"]
            equal(len(rows), 1, word)
            wanted = run_json("predict llama-3.1-8b h100-sxm -b 8 -s 1024 -g 128 --engine vllm")
            close(rows[0]["predicted"]["value"], wanted["tpot_s"]["value"], word)


# ---- predictions --------------------------------------------------------------------------------------


@case("rows are what predict says of the same workload")
def _():
    report = compare(f"{ONE_BATCH} {FACTS} --engine none")
    rows = report["rows"]
    equal(len(rows), 9)
    equal(report["skipped"], [])
    for batch, at in ((1, 0), (8, 3), (32, 6)):
        words = f"predict llama-3.1-8b h100-sxm -b {batch} -s 1024 -g 64"
        bound = run_json(f"{words} --calibration none")
        # the kernels of the engine: those of SGLang
        there = run_json(f"{words} --calibration h100-sxm-sglang")
        for which, key in ((0, "ttft_batch_s"), (1, "tpot_s")):
            one = rows[at + which]
            for end in ("value", "low", "high"):
                close(one["predicted"][end], there[key][end], f"batch {batch} {key} {end}")
            close(one["roofline"], bound[key]["value"], f"batch {batch} {key} roofline")
            equal(one["predicted"]["kind"], "calibrated")
        close(rows[at + 2]["predicted"]["value"],
              there["ttft_batch_s"]["value"] + 63 * there["tpot_s"]["value"], "e2e")
    line = json.loads(ONE_BATCH.read_text().split("\n")[1])
    equal((rows[4]["file"], rows[4]["line"], rows[4]["metric"]), (ONE_BATCH.name, 2, "tpot_s"))
    close(rows[4]["measured"], line["median_decode_latency"])
    close(rows[4]["error_frac"], rows[4]["predicted"]["value"] / rows[4]["measured"] - 1)


@case("rates are tokens over the same times")
def _():
    report = compare("--calibration none", table(
        row("decode_tok_s", 700), row("prefill_tok_s", 9000), row("total_output_tok_s", 500)))
    bound = run_json("predict llama-3.1-8b h100-sxm -b 8 -s 1024 -g 128 --calibration none")
    decode, prefill, output = (r["predicted"] for r in report["rows"])
    close(decode["value"], 8 / bound["tpot_s"]["value"])
    close(prefill["value"], 8 * 1024 / bound["ttft_batch_s"]["value"])
    close(output["value"], 8 * 128 / (bound["ttft_batch_s"]["value"] +
                                      127 * bound["tpot_s"]["value"]))
    for one in (decode, prefill, output):
        equal(one["kind"], "bound")
        close(one["high"], one["value"], "a rate's bound is its high end")


@case("a row is timed by its engine's profile, or by the kernels of its engine")
def _():
    text = table(row(engine="vllm"), row(engine="tensorrt-llm"))
    words = "predict llama-3.1-8b h100-sxm -b 8 -s 1024 -g 128"
    for options, of in (("", "--engine {}"), ("--engine none", "--calibration h100-sxm-{}"),
                        ("--calibration h100-sxm-sglang", "--calibration h100-sxm-sglang"),
                        ("--calibration none", "--calibration none")):
        report = compare(options, text)
        for one, engine in zip(report["rows"], ("vllm", "tensorrt-llm")):
            name = engine if "--engine" in of else engine.replace("tensorrt-llm", "trtllm")
            there = run_json(f"{words} {of.format(name)}")["tpot_s"]
            for end in ("value", "low", "high"):
                close(one["predicted"][end], there[end], f"{options} {engine}")
            equal(one["predicted"]["kind"], there["kind"])


@case("served requests: TPOT carries the prompts of the others")
def _():
    words = "predict llama-3.1-8b h100-sxm -s 1024 -g 128 --calibration none"
    report = compare("--calibration none", table(
        row("tpot_ms", 10, kind="serving"), row("ttft_ms", 100, kind="serving"),
        row("e2e_latency_ms", 2000, kind="serving")))
    step = run_json(f"{words} -b 8")["tpot_s"]["value"]
    prompt = run_json(words)["ttft_s"]["value"]
    tpot, ttft, whole = (r["predicted"]["value"] for r in report["rows"])
    # 8 clients, 128 tokens each: every step carries 8/128 of a prompt; ten rounds, in the first of
    # which a prompt waits for half of the seven others
    close(tpot, step + 8 / 128 * prompt)
    close(ttft, prompt * (1 + 7 * 0.05) + step / 2)
    close(whole, ttft + 127 * tpot)


@case("everything at once: as many sequences as memory, the engine's default and the offer allow")
def _():
    def offline(words="", **more):
        return compare(words, table(row("total_output_tok_s", "9000", kind="offline_max", batch="",
                                        **more)))
    def served(batch, **more):
        # tokens/s = C g / E2E, E2E = TTFT + (g - 1) TPOT
        g = more.get("generate", 128)
        ttft, tpot = (compare("", table(row(metric, "10", kind="serving", batch=batch, **more)))
                      ["rows"][0]["predicted"]["value"] for metric in ("ttft_ms", "tpot_ms"))
        return batch * g / (ttft + (g - 1) * tpot)
    one = offline()["rows"][0]
    contains(one["label"], " c 256 ")
    equal(one["batch"], None, "what the file says")
    close(one["predicted"]["value"], served(256))
    report = offline("-b 32")
    contains(report["rows"][0]["label"], " c 32 ")
    contains("\n".join(report["notes"]), "at most --batch")
    # memory: 70B in 16 bit does not fit on one 80 GB part; on four it holds fewer than the default
    alone = compare("", table(row(), row("total_output_tok_s", "900", kind="offline_max", batch="",
                                         model="llama-3.1-70b")))
    contains(alone["skipped"][0]["why"], "not even one sequence fits into memory")
    four = offline(model="llama-3.1-70b", tp=4, prompt=8192, generate=1024)["rows"][0]
    most = run_json("predict llama-3.1-70b h100-sxm --tp 4 -b 1 -s 8192 -g 1024")["memory"]["max_batch"]
    expect(0 < most < 256, most)
    contains(four["label"], f" c {most} ")
    # times of single requests are not told apart in such a run
    why = compare("", table(row(), row("tpot_ms", kind="offline_max", batch="")))["skipped"][0]["why"]
    contains(why, "the rate of whole requests is predicted")


@case("served requests: prompts ride in decode steps where such launches were timed")
def _():
    words = "predict llama-3.1-8b rtx-pro-6000 -s 1024 -g 128"
    report = compare("--engine none", table(
        row("tpot_ms", 10, gpu="rtx-pro-6000", kind="serving"),
        row("ttft_ms", 100, gpu="rtx-pro-6000", kind="serving"),
        row("e2e_latency_ms", 2000, gpu="rtx-pro-6000", kind="serving")))
    step = run_json(f"{words} -b 8")["tpot_s"]["value"]
    prompt = run_json(words)["ttft_s"]["value"]
    tpot, ttft, whole = (r["predicted"]["value"] for r in report["rows"])
    # 8 of 128 decode steps hold a prompt: they read their weights anyway, so that they take less than the
    # two apart, and more than the prompt alone
    both = (tpot - 120 / 128 * step) * 128 / 8
    expect(prompt < both < prompt + step, f"{both} beside {prompt} and {step}")
    close(ttft, both + 7 * 0.05 * prompt + step / 2)
    close(whole, ttft + 127 * tpot)


@case("an engine that has no profile is timed by operators, a profile's file times every engine")
def _():
    words = "predict llama-3.1-8b h100-sxm -b 8 -s 1024 -g 128"
    text = table(row(engine="home-made"))
    close(compare("", text)["rows"][0]["predicted"]["value"], run_json(words)["tpot_s"]["value"])
    profile = SOURCE / "specs" / "engine" / "sglang.yaml"
    report = compare(f"--engine {profile}", text)
    close(report["rows"][0]["predicted"]["value"],
          run_json(f"{words} --engine sglang")["tpot_s"]["value"])
    equal(report["rows"][0]["engine"], "home-made")
    # a file names an engine, it never opens one
    with folder() as path:
        shutil.copy(profile, path / "e.yaml")
        report = compare("", table(row(engine=path / "e.yaml")))
        close(report["rows"][0]["predicted"]["value"], run_json(words)["tpot_s"]["value"])


@case("formats that rows name are those of the model")
def _():
    report = compare("--calibration none", table(row(dtype="fp8"), row(dtype="bf16")))
    fp8 = run_json("predict llama-3.1-8b h100-sxm -b 8 -s 1024 -g 128 --quant fp8 --kv-dtype fp8 "
                   "--calibration none")
    bf16 = run_json("predict llama-3.1-8b h100-sxm -b 8 -s 1024 -g 128 --calibration none")
    close(report["rows"][0]["roofline"], fp8["tpot_s"]["value"])
    close(report["rows"][1]["roofline"], bf16["tpot_s"]["value"])


@case("rows that tell a model by its dimensions need no name that is known")
def _():
    text = ("tool,model,layers,hidden,heads,kv_heads,ffn,vocab,dtype,test,batch,n_prompt,n_gen,depth,"
            "avg_tok_s\nllama-bench,unheard-of,24,1280,20,4,3456,32000,f16,tg,1,0,16,2048,20\n")
    report = compare("--hw xeon-8480 --calibration none", text)
    # 24 x (2 x 1280^2 + 2 x 1280 x 256 + 3 x 1280 x 3456) weights, the head, at 2 bytes; decode is
    # bound by memory: within a tenth of weights / bandwidth (cache and norms are the rest)
    weights = 24 * (2 * 1280**2 + 2 * 1280 * 256 + 3 * 1280 * 3456) + 1280 * 32000
    bandwidth = run_json("specs show xeon-8480")["mem_bw_bytes_per_s"]
    rate = bandwidth / (2 * weights)
    value = report["rows"][0]["predicted"]["value"]
    expect(0.85 * rate < value < rate, f"{value} beside {rate}")


@case("a profile of one model's runs predicts another's, on the shipped rows of llama.cpp")
def _():
    data = SOURCE / "examples" / "data"
    hw = "--hw two-core-xeon"
    run(["specs", "check", SOURCE / "specs/hardware/two-core-xeon.yaml"], code=0)
    with folder() as path:
        run(f"fit {data}/llama.cpp-cpu-0.5B.csv {hw} --engine llama.cpp -o {path}/engine.yaml --quick",
            code=0)
        report = compare(f"{data}/llama.cpp-cpu-1.1B.csv {hw} --engine {path}/engine.yaml")
    equal((len(report["rows"]), report["skipped"]), (39, []))
    every = report["summary"][-1]
    # a model that the fit has not seen; the datasheet alone is off by more than a factor
    expect(every["median_frac"] <= 0.15, every)
    expect(every["median_frac"] < every["constant_mape_frac"] < every["roofline_mape_frac"], every)
    expect(every["roofline_mape_frac"] > 1, every)


@case("the shipped profile says what llama.cpp does on a processor, by format and batch")
def _():
    data = SOURCE / "examples" / "data"
    report = compare(f"{data}/llama.cpp-cpu-0.5B.csv {data}/llama.cpp-cpu-1.1B.csv "
                     "--hw two-core-xeon --group-by dtype")
    groups = {g["group"]: g for g in report["summary"]}
    for name in ("f32", "f16", "q8_0", "q4_0"):
        expect(groups[name]["median_frac"] <= 0.15, groups[name])
        expect(groups[name]["coverage_frac"] >= 0.8, groups[name])
    equal({r["predicted"]["kind"] for r in report["rows"]}, {"calibrated"})


@case("a run on half of a processor's threads has half of its peaks and bandwidth")
def _():
    head = ("tool,model,layers,hidden,heads,kv_heads,ffn,vocab,dtype,threads,test,batch,n_prompt,"
            "n_gen,depth,median_tok_s\n")
    text = head + "".join(f"llama-bench,small,24,1280,20,4,3456,32000,f16,{threads},tg,1,0,16,0,20\n"
                          for threads in (1, 2, 4))
    bound = [r["predicted"]["value"] for r in
             compare("--hw two-core-xeon --calibration none", text)["rows"]]
    close(bound[1], 2 * bound[0])
    close(bound[2], bound[1])  # more threads than units: all of it
    rows = compare("--hw two-core-xeon", text)["rows"]
    # the host's microseconds alone do not double
    expect(1.95 < rows[1]["predicted"]["value"] / rows[0]["predicted"]["value"] < 2, rows)
    with folder() as path:
        (path / "rows.csv").write_text(text)
        told = run(f"fit {path}/rows.csv --hw two-core-xeon --engine llama.cpp --quick", code=0)
    contains(told.err, "1 row left out")
    contains(told.err, "a part of the processor (1 threads)")


# ---- groups and errors --------------------------------------------------------------------------------


@case("errors by group are those of the rows")
def _():
    report = compare(f"{ONE_BATCH} {FACTS} --group-by metric")
    for metric in ("ttft_s", "tpot_s", "e2e_s"):
        mine = [r for r in report["rows"] if r["group"] == metric]
        errors = [r["predicted"]["value"] / r["measured"] - 1 for r in mine]
        found = next(s for s in report["summary"] if s["group"] == metric)
        equal(found["n"], 3)
        close(found["mape_frac"], statistics.fmean(map(abs, errors)))
        close(found["median_frac"], statistics.median(map(abs, errors)))
        close(found["bias_frac"], statistics.fmean(errors))
        close(found["coverage_frac"], sum(
            r["predicted"]["low"] <= r["measured"] <= r["predicted"]["high"] for r in mine) / 3)
        close(found["roofline_mape_frac"], statistics.fmean(
            abs(r["roofline"] / r["measured"] - 1) for r in mine))
        # one factor that fits the group in the middle, in hindsight
        factor = statistics.median(r["measured"] / r["roofline"] for r in mine)
        close(found["constant_mape_frac"], statistics.fmean(
            abs(factor * r["roofline"] / r["measured"] - 1) for r in mine))
        for one in mine:
            close(one["constant"], factor * one["roofline"])
    equal(report["summary"][-1]["group"], "all")
    equal(report["summary"][-1]["n"], 9)


@case("groups are made of the words asked for")
def _():
    text = table(row(), row(engine="sglang", batch=4))
    names = [r["group"] for r in compare("", text)["rows"]]
    equal(names, ["vllm, H100-SXM-80, tpot_s", "sglang, H100-SXM-80, tpot_s"])
    names = [r["group"] for r in compare("--group-by model,batch,tp,dtype,version,input,output",
                                         text)["rows"]]
    equal(names[1], "llama-3.1-8b, batch 4, tp 1, bf16, 0.9, input 1024, output 128")
    contains(run("compare x --group-by colour", code=2).err, "--group-by")


# ---- facts that are missing ---------------------------------------------------------------------------


@case("a file that lacks facts is asked for them by option")
def _():
    with folder() as path:
        for words, options in (("", "--model, --hw, --batch, --prompt, --generate"),
                               (FACTS + " -b 8", "--prompt, --generate")):
            result = run(f"compare {FORMATS}/vllm-bench-latency.json -o {path}/out.json {words}",
                         code=2)
            equal(result.out, "")
            equal(result.err.count("\n"), 1)
            contains(result.err, f"vllm-bench-latency.json does not say everything that a "
                                 f"prediction needs; give {options}")
            equal(list(path.iterdir()), [], "nothing half-written")
    report = compare(f"{FORMATS}/vllm-bench-latency.json {FACTS} -b 8 -s 1024 -g 128")
    close(report["rows"][0]["measured"], 1.2874)
    equal(report["rows"][0]["batch"], 8)


@case("rows that lack a fact are skipped with the reason, others stand")
def _():
    report = compare("", table(row(), row(batch=""), row(prompt="", generate=""),
                               row(model="my-own-llm"), row(value="fast"), row(pp=2)))
    equal(len(report["rows"]), 1)
    whys = {s["line"]: s["why"] for s in report["skipped"]}
    equal(sorted(whys), [3, 4, 5, 6, 7])
    contains(whys[3], "--batch")
    contains(whys[4], "--prompt, --generate")
    contains(whys[5], "'my-own-llm' is not known; --model, or --map 'my-own-llm=...'")
    contains(whys[6], "value is 'fast'")
    contains(whys[7], "pipeline")
    report = compare("-b 4 --prompt 100 --generate 10", table(row(batch=""), row(prompt="", generate="")))
    equal([(r["batch"], r["input_len"], r["output_len"]) for r in report["rows"]],
          [(4, 1024, 128), (8, 100, 10)])


@case("what a file says is not overruled by options")
def _():
    report = compare("--model qwen2.5-7b --hw l40s -b 2 -s 77 -g 5", table(row()))
    one = report["rows"][0]
    equal((one["model"], one["gpu"], one["batch"], one["input_len"]),
          ("llama-3.1-8b", "H100-SXM-80", 8, 1024))
    plain = compare("", table(row()))
    close(one["predicted"]["value"], plain["rows"][0]["predicted"]["value"])
    # and it is said
    equal([n for n in report["notes"] if "overruled" in n],
          ["no row needs --model, --hw, --batch, --prompt, --generate: what a file says is not "
           "overruled (--map THEIR=OURS gives its names another meaning)"])
    expect(not any("overruled" in n for n in plain["notes"]), plain["notes"])
    # an option that some rows need is used by them alone
    report = compare("-b 2", table(row(), row(batch="")))
    equal([r["batch"] for r in report["rows"]], [8, 2])
    expect(not any("overruled" in n for n in report["notes"]), report["notes"])


@case("a name that is not known is taken for the option's, and it is said")
def _():
    text = table(row(), row(gpu="lab one"), row(model="our-8b", gpu="lab two"))
    report = compare("--model llama-3.1-8b --hw l40s", text)
    equal([r["gpu"] for r in report["rows"]], ["H100-SXM-80", "lab one", "lab two"])
    first, second, third = (r["predicted"]["value"] for r in report["rows"])
    close(second, third)
    expect(second > 2 * first, "an L40S streams at a quarter of an H100's rate")
    notes = "\n".join(report["notes"])
    contains(notes, "2 of 3 rows name a part that is not known here, the first 'lab one': they are "
                    "taken for --hw l40s")
    contains(notes, "1 of 3 rows name a model that is not known here, the first 'our-8b'")
    # a name that is missing is no unknown name
    report = compare("--hw l40s", table(row(gpu="")))
    expect(not any("not known here" in n for n in report["notes"]), report["notes"])


@case("names are mapped, those of files never opened as paths")
def _():
    text = table(row(model="our-8b", gpu="lab one"))
    line = refused(text, code=2)
    contains(line, "--model, --hw (or --map THEIR=OURS for names)")
    with folder() as path:
        (path / "r.csv").write_text(text)
        report = run_json(["compare", f"{path}/r.csv", "--map",
                           "our-8b=llama-3.1-8b,lab one=h100-sxm"])
        equal(len(report["rows"]), 1)
        # a rule may name a file; a name in a result file may not
        model = SOURCE / "specs" / "models" / "llama-3.1-8b.yaml"
        report = run_json(["compare", f"{path}/r.csv", "--map",
                           f"our-8b={model},lab one=h100-sxm"])
        equal(len(report["rows"]), 1)
        (path / "r.csv").write_text(table(row(model=model)))
        run(["compare", f"{path}/r.csv"], code=2)
        contains(run(["compare", f"{path}/r.csv", "--map", "our-8b"], code=2).err, "THEIR=OURS")
        (path / "r.csv").write_text(text)
        contains(run(["compare", f"{path}/r.csv", "--map", "our-8b=llamma"], code=2).err,
                 "no model is named 'llamma'")


@case("where nothing can be predicted the report is written, and exit code 5 says why")
def _():
    with folder() as path:
        (path / "r.csv").write_text(table(row(pp=2)))
        result = run(f"compare {path}/r.csv", code=5)
        contains(result.out, "Skipped")
        contains(result.err, "no row can be predicted: pipeline")


@case("options may come from a workload file")
def _():
    with folder() as path:
        (path / "w.yaml").write_text("model: llama-3.1-8b\nhardware: h100-sxm\nbatch: 8\n"
                                     "prompt: 1024\ngenerate: 128\n")
        report = run_json(f"compare {FORMATS}/vllm-bench-latency.json --workload {path}/w.yaml")
        equal((report["rows"][0]["model"], report["rows"][0]["batch"]), ("llama-3.1-8b", 8))


# ---- formats ------------------------------------------------------------------------------------------


@case("every format of the benchmarks is read")
def _():
    names = sorted(p.name for p in FORMATS.iterdir() if p.suffix != ".md")
    equal(len(names), 13)
    for name in names:
        result = run(f"compare {FORMATS / name} {FACTS} -b 8 -s 512 -g 64 --format json")
        expect(result.code in (0, 5), name, result)
        report = json.loads(result.out)
        expect(report["rows"] or report["skipped"], f"{name}: nothing in it")


@case("the median of requests is taken where it is asked for")
def _():
    words = f"{FORMATS}/llama-bench.json {FACTS}"
    close(compare(words)["rows"][0]["measured"], 170.724410)
    close(compare(f"{words} --statistic median")["rows"][0]["measured"], 171.357)


@case("compressed files are read as they are")
def _():
    with folder() as path:
        with gzip.open(path / "r.csv.gz", "wt") as out:
            out.write(table(row()))
        result = run(f"compare {path}/r.csv.gz --format json")
        if result.code == 5:
            contains(result.err, "zlib")
        else:
            equal(json.loads(result.out)["rows"][0]["file"], "r.csv.gz")


@case("samples of operators are compared too")
def _():
    file = next((DATA / "ops").glob("*gemm*.csv*"))
    report = compare(f"{file} --hw h100-sxm")
    expect(len(report["rows"]) > 10, "rows")
    for one in report["rows"]:
        equal(one["metric"], "time_s")
        expect(one["roofline"] > 0 and one["predicted"]["value"] >= one["roofline"] / 1.06, one)


@case("csv is end-to-end rows again, to the same numbers")
def _():
    text = table(row(), row("decode_tok_s", 700, tp=2), row("ttft_ms", 35, generate=1))
    with folder() as path:
        (path / "a.csv").write_text(text)
        run(f"compare {path}/a.csv -o {path}/b.csv")
        run(f"compare {path}/b.csv -o {path}/c.csv")
        first, second = (list(csv.DictReader(io.StringIO((path / n).read_text())))
                         for n in ("b.csv", "c.csv"))
        equal(len(first), 3)
        for a, b in zip(first, second):
            for key in a:
                if key not in ("file", "line"):
                    equal(b[key], a[key], key)
        for key in ("engine", "engine_version", "gpu", "model", "weight_dtype", "batch", "input_len",
                    "output_len", "metric", "measured", "kind", "predicted.value"):
            expect(first[0][key], f"{key} is empty")


@case("long tables are thinned for people, and complete for programs")
def _():
    text = table(*(row(value=10 + i) for i in range(500)))
    with folder() as path:
        (path / "r.csv").write_text(text)
        page = run(f"compare {path}/r.csv").out
        contains(page, "of 500 rows are shown")
        expect(len(page.split("\n")) < 70, "lines")
        equal(len(run(f"compare {path}/r.csv --format csv").out.strip().split("\n")), 501)
        contains(run(f"compare {path}/r.csv --format md").out, "| ")
    equal(len(compare("", text)["rows"]), 500)


# ---- damage -------------------------------------------------------------------------------------------


@case("garbled files are refused in one line that names the place")
def _():
    whole = (FORMATS / "trtllm-bench-report.json").read_text()
    for text, place in (("", "FILE: empty"),
                        ("<!DOCTYPE html>\n<html></html>\n", "FILE:1: this is HTML"),
                        ("what,ever\n1,2\n", "FILE:1: no known result file"),
                        ("{\"surprise\": 1}", "FILE:1: an object with 'surprise' of no known"),
                        (whole[:1000], "FILE:"),
                        (whole.replace("18231.0,", "18231.0"), "FILE:36:"),
                        ("[" * 50000, "FILE:1:2: '['"),
                        ('{"a": ' + "[" * 50000, "FILE:1:"),
                        ('{"avg_ts": 1e400, "n_prompt": 1, "n_gen": 0}', "FILE:1:"),
                        (b'{"avg_ts": "\xff\xfe", "n_prompt": 1, "n_gen": 0}', "FILE:1:"),
                        (b"\x00\x01\x02\x03", "FILE:1:"),
                        (table(row(value="x")), "FILE:2: value is 'x'"),
                        ('{"avg_ts": 1, "avg_ts": 2}', "FILE:1:22: duplicate object key"),
                        ('{"avg_ts": yes}', "FILE:1:14: invalid token near 'yes'; JSON is allowed"),
                        (HEADER + "\n", "FILE: no measurement")):
        line = refused(text)
        expect(line.startswith(f"llmperf: {place}"), f"{line!r} does not begin with {place!r}")
        contains(line, "allowed")
    contains(run("compare /nonexistent.json", code=4).err, "cannot open '/nonexistent.json'")
    contains(run(f"compare {DATA}", code=4).err, "cannot read")


@case("a broken archive is a file error")
def _():
    with folder() as path:
        (path / "r.csv.gz").write_bytes(gzip.compress(table(*[row()] * 500).encode())[:-30])
        result = run(f"compare {path}/r.csv.gz")
        expect(result.code in (4, 5), "code", result)
        equal(result.out, "")
        equal(result.err.count("\n"), 1)


@case("bytes of a file do no harm on a terminal or in a spreadsheet")
def _():
    text = table(row(model="=cmd()", engine="\x1b[2Jvllm"))
    with folder() as path:
        (path / "r.csv").write_text(text)
        words = ["compare", f"{path}/r.csv", "--model", "llama-3.1-8b"]
        page = run(words)
        expect("\x1b" not in page.out + page.err, "an escape sequence")
        cells = run(words + ["--format", "csv"]).out
        expect(",=cmd" not in cells, "a formula")


if __name__ == "__main__":
    main()
