#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Engine profiles from outside: --engine, what it adds, what it says, and fit on runs."""
import csv
import io

from llmperf_test import (case, close, contains, equal, expect, folder, main, run, run_json,
                          sample)

PREDICT = "predict llama-3.1-8b h100-sxm --engine vllm -b 16"


def host_by_hand(report, part, layers=32, batch=16):
    """step + layers x layer + sequences x sequence, from the shipped file's own numbers."""
    return part["step_s"] + layers * part["layer_s"] + batch * part["sequence_s"]


def parameters(profile, hardware):
    """The parameters of one part, read from the YAML text without a YAML library."""
    found, inside = {}, False
    for line in profile.splitlines():
        if line.startswith("  - hardware:"):
            inside = hardware in line
        elif inside and line.startswith("      ") and ": " in line:
            key, value = line.strip().split(": ", 1)
            found.setdefault(key, value)
    return {key: float(value) for key, value in found.items() if key.endswith(("_s", "efficiency"))}


def shipped_profile(name):
    import os
    import pathlib
    return (pathlib.Path(os.environ["LLMPERF_SOURCE"]) / "specs/engine" / f"{name}.yaml").read_text()


@case("the host's share of a step is that of the profile's numbers")
def _():
    report = run_json(PREDICT)
    part = parameters(shipped_profile("vllm"), "h100-sxm")
    step = report["decode"]["time_s"]["value"]
    close(report["decode"]["share"]["host"] * step, host_by_hand(report, part), relative=1e-9)
    close(sum(report["decode"]["share"].values()), 1, relative=1e-9)


@case("a profile's reads through the caches are memory time, not arithmetic")
def _():
    # 28 query heads over 4 KV heads: decode attention reads more than it computes on any GPU
    for part in ("h100-sxm", "a100-sxm-80gb", "l40s"):
        words = f"qwen2.5-7b {part} --engine vllm -b 64"
        core = next(op for phase in run_json(f"layers {words}")["phases"] for op in phase["ops"]
                    if phase["phase"] == "decode" and op["name"] == "attn.core")
        equal((core["bound"], core["compute_s"]), ("memory", 0), part)
        close(core["memory_s"] + core["launch_s"] + core["added_s"], core["time_s"], part)
        crossing = run_json(f"predict {words}")["compute_bound_batch"]
        if crossing["datasheet"]["step"] is None:  # reads that are slower do not mend that
            equal(crossing["calibrated"]["step"], None, part)
        attention = next(line for line in run(f"predict {words}", code=0).out.splitlines()
                         if line.startswith("  attention  "))
        contains(attention, "memory bandwidth")
        contains(run(f"explain attn.core {words}", code=0).out, "bytes / (e_m BW) + flop / (e_c P)")


@case("no interval reaches below what the part's peaks allow")
def _():
    # shipped efficiencies may exceed a datasheet by 5 %, an interval's low end no more than that
    engines = run("specs list engine --names", code=0).out.split()
    for engine in sample(engines, 5) + ["none"]:
        for model, part in (("qwen2.5-14b", "rtx-4090"), ("llama-3.1-70b", "h200-sxm"),
                            ("qwen3-coder-480b-a35b", "mi300x")):
            for phase in ("decode", "prefill"):
                words = (f"sweep {model} {part} -b 1,16,256 -s 512 --phase {phase} "
                         f"--confidence 0.999 --engine {engine}")
                rows = run_json(words)["rows"]
                for row, least in zip(rows, run_json(f"{words} --calibration none "
                                                     "--engine none")["rows"]):
                    expect(row["time_low_s"] >= least["time_s"] / 1.0501,
                           f"{words}: {row['time_low_s']} s below {least['time_s']} s")
                    close(row["tokens_per_s"] * row["time_s"],
                          row["batch"] * (512 if phase == "prefill" else 1))


@case("predict names the profile, its part and kind")
def _():
    report = run_json(PREDICT)
    equal(report["hardware"]["calibration"]["engine"], "vllm")
    equal(report["hardware"]["calibration"]["kind"], "calibrated")
    equal(report["tpot_s"]["kind"], "calibrated")
    contains(run(PREDICT, code=0).out, "vllm profile, calibrated")


@case("a part without runs borrows, wider, and says so")
def _():
    own = run_json(PREDICT)
    lent = run_json("predict llama-3.1-8b l40 --engine vllm -b 16")
    equal(lent["tpot_s"]["kind"], "borrowed")
    width = lambda r: r["tpot_s"]["high"] / r["tpot_s"]["value"]
    expect(width(lent) > 1.1 * width(own), f"{width(lent)} {width(own)}")
    expect(any("no runs of vllm on l40 are known" in n for n in lent["notes"]), lent["notes"])


@case("a processor borrows of processors, wider, and never of a GPU")
def _():
    report = run_json("predict llama-3.1-8b epyc-9654 --engine llama.cpp --quant q4_0")
    equal(report["tpot_s"]["kind"], "borrowed")
    note = next(n for n in report["notes"] if "no runs of llama.cpp on epyc-9654" in n)
    contains(note, "the nearest two-core-xeon, the intervals widened by 45 %")
    # q4_0 weights in 4.5 bits at 461 GB/s take 9.5 ms; published runs are within a factor of 4
    expect(9.5e-3 < report["tpot_s"]["value"] < 40e-3, report["tpot_s"])
    gpus = run_json("predict llama-3.1-8b epyc-9654 --engine vllm")  # no processor ran it
    equal(gpus["tpot_s"]["kind"], "borrowed")
    expect(any("or a device of its kind are known: what is typical" in n for n in gpus["notes"]),
           gpus["notes"])
    contains(run("predict llama-3.1-8b epyc-9654 --engine vllm", code=0).out,
             "vllm profile, typical of engines")


@case("an unknown engine ends with 2 and the known ones")
def _():
    result = run("predict llama-3.1-8b h100-sxm --engine vlm", code=2)
    contains(result.err, "no engine profile is named 'vlm'; ")
    for name in ("vllm", "tensorrt-llm", "llama.cpp", "sglang", "hf-transformers"):
        contains(result.err, name)


@case("aliases, case and paths name a profile")
def _():
    names = ("tensorrt-llm", "trtllm", "TensorRT-LLM")
    reports = [run_json(["predict", "llama-3.1-8b", "h100-sxm", "--engine", n]) for n in names]
    for report in reports:
        equal(report["tpot_s"], reports[0]["tpot_s"])
    with folder() as here:
        path = here / "mine.yaml"
        path.write_text(shipped_profile("tensorrt-llm"))
        again = run_json(["predict", "llama-3.1-8b", "h100-sxm", "--engine", path])
        equal(again["tpot_s"], reports[0]["tpot_s"])


@case("--engine none is no engine")
def _():
    plain, none = (run_json(["predict", "llama-3.1-8b", "h100-sxm", *more])
                   for more in ([], ["--engine", "none"]))
    equal(plain["tpot_s"], none["tpot_s"])


@case("kernels of a calibration under the host of a profile")
def _():
    kernels = run_json("predict llama-3.1-8b h100-sxm --calibration h100-sxm-vllm")
    both = run_json("predict llama-3.1-8b h100-sxm --calibration h100-sxm-vllm --engine vllm")
    equal(both["hardware"]["calibration"]["engine"], "vllm")
    expect(both["tpot_s"]["value"] > kernels["tpot_s"]["value"], "the host adds time")
    expect(any("kernels of the calibration" in n for n in both["notes"]), both["notes"])


@case("sweep, explain and predict agree on the step")
def _():
    step = run_json(PREDICT)["tpot_s"]["value"]
    rows = csv.DictReader(io.StringIO(run(
        "sweep llama-3.1-8b h100-sxm --engine vllm --batch 16 --format csv", code=0).out))
    close(float(next(rows)["time_s"]), step, relative=1e-9)
    told = run("explain tpot_s llama-3.1-8b h100-sxm --engine vllm -b 16", code=0).out
    contains(told, "host")
    contains(told, f"{step * 1e3:.3g} ms")


@case("explain shows the host's share and its formula")
def _():
    contains(run("explain tpot llama-3.1-8b h100-sxm -b 16 --engine vllm", code=0).out,
             "per step, layer, sequence")
    share = run("explain decode.share.host llama-3.1-8b h100-sxm --engine vllm", code=0).out
    contains(share, "host of the engine")
    report = run_json("explain tpot_s llama-3.1-8b h100-sxm --engine vllm --format json")
    term = next(t for t in report["terms"] if t["name"] == "host")
    contains(term["formula"], "steps * (step_s + layers * layer_s) + sequences * sequence_s")


@case("explain gives no formula whose numbers do not make the value")
def _():
    # one row of q8_0 pays for more than itself: flop / (e_c P) alone is not its compute time
    short = run("explain mlp.down llama-3.1-8b two-core-xeon --engine llama.cpp --quant q8_0", code=0).out
    contains(short, "depends on shape, format and")
    expect("flop / (e_c P)" not in short, short)
    wide = run("explain mlp.down llama-3.1-8b two-core-xeon --engine llama.cpp --weight-dtype fp32 "
               "--act-dtype fp32", code=0).out
    contains(wide, "flop / (e_c P)")


@case("specs list shows the profiles")
def _():
    listed = run("specs list engine --names", code=0).out.split()
    for name in ("vllm", "tensorrt-llm", "llama.cpp", "lmdeploy"):
        expect(name in listed, name)
    rows = run_json("specs list engine --format json")["engine"]
    expect(all(r["licence"] and r["runs"] > 0 for r in rows), rows)


@case("a broken profile ends with 3 and every fault")
def _():
    with folder() as here:
        path = here / "bad.yaml"
        path.write_text("schema: 1\nname: a\nparts:\n  - hardware: x\n"
                        "    parameters: {weight_efficiency: 3, layer_z: 1}\n")
        result = run(["predict", "llama-3.1-8b", "h100-sxm", "--engine", path], code=3)
        contains(result.err, "bad.yaml:5:37: weight_efficiency is integer 3")
        contains(result.err, "parameter 'layer_z' is not known; did you mean 'layer_s'?")


# ---- fit ------------------------------------------------------------------------------------------------

HEADER = ("engine,engine_version,gpu,gpu_count,tp,pp,ep,model,weight_dtype,act_dtype,kv_dtype,"
          "batch_or_concurrency,input_len,output_len,metric,value,kind\n")


def made_runs(engine, seed_profile):
    """End-to-end rows whose values the program itself predicts under a known profile."""
    lines = [HEADER]
    for model in ("llama-2-7b", "llama-3.1-8b", "qwen2.5-7b"):
        for batch in (1, 8, 64):
            report = run_json(["predict", model, "a100-sxm-80gb", "--engine", seed_profile, "-b",
                               batch, "-s", 512, "-g", 256, "--weight-dtype", "fp16",
                               "--act-dtype", "fp16"])
            rate = report["decode"]["tokens_per_s"]["value"]
            lines.append(f"{engine},1.0,A100-SXM-80,1,1,1,1,{model},fp16,fp16,fp16,{batch},512,256,"
                         f"decode_tok_s,{rate!r},static\n")
    return "".join(lines)


@case("fit makes a profile of runs that predicts them again")
def _():
    with folder() as here:
        runs, profile = here / "runs.csv", here / "mine.yaml"
        runs.write_text(made_runs("mine", "tensorrt-llm"))
        told = run(["fit", runs, "-o", profile, "--source", "made here", "--licence", "MIT"],
                   code=0).out
        contains(told, "a100-sxm-80gb")
        text = profile.read_text()
        contains(text, 'name: "mine"')
        contains(text, 'source: "made here"')
        for model, batch in (("llama-2-7b", 8), ("llama-2-13b", 8)):
            ask = ["predict", model, "a100-sxm-80gb", "-b", batch, "-s", 512, "-g", 256,
                   "--weight-dtype", "fp16", "--act-dtype", "fp16", "--engine"]
            close(run_json([*ask, profile])["tpot_s"]["value"],
                  run_json([*ask, "tensorrt-llm"])["tpot_s"]["value"], relative=0.05)


@case("--residuals writes each row with what fits without its model or part say")
def _():
    with folder() as here:
        runs, rows = here / "runs.csv", here / "rows.csv"
        runs.write_text(made_runs("mine", "tensorrt-llm"))
        run(["fit", runs, "--residuals", rows], code=0)
        told = list(csv.DictReader(rows.read_text().splitlines()))
        equal(len(told), 9)
        for i, row in enumerate(told):
            equal((row["file"], int(row["line"]), row["engine"], row["hardware"], row["kind"]),
                  ("runs.csv", i + 2, "mine", "a100-sxm-80gb", "static"))
            close(float(row["fitted_s"]), float(row["measured_s"]), relative=0.1)
            expect(float(row["measured_s"]) > float(row["roofline_s"]), row)
            expect(row["unseen_s"] and not row["unseen_part_s"], row)
        run(["fit", runs, "--residuals", here / "no" / "rows.csv"], code=4)
        # a fit that fails leaves the file of the last one as it was
        before = rows.read_bytes()
        run(["fit", runs, "--engine", "nobodys", "--residuals", rows], code=6)
        equal(rows.read_bytes(), before)
        equal(sorted(p.name for p in here.iterdir()), ["rows.csv", "runs.csv"])


@case("fit on runs of two engines asks for one; nothing is written")
def _():
    with folder() as here:
        runs, profile = here / "runs.csv", here / "mine.yaml"
        text = made_runs("mine", "vllm")
        runs.write_text(text + text.splitlines()[1].replace("mine,", "yours,", 1) + "\n")
        result = run(["fit", runs, "-o", profile], code=2)
        contains(result.err, "the runs are of several engines, mine and yours; --engine NAME")
        expect(not profile.exists(), "written")
        run(["fit", runs, "--engine", "mine", "--quick", "-o", profile], code=0)
        expect(profile.exists(), "not written")


@case("fit without a usable run ends with 6 and says why rows were left out")
def _():
    with folder() as here:
        runs = here / "runs.csv"
        runs.write_text(HEADER + "mine,1.0,NoSuchPart,1,1,1,1,llama-2-7b,fp16,fp16,fp16,8,512,256,"
                                 "decode_tok_s,100,static\n")
        result = run(["fit", runs], code=6)
        contains(result.err, "no usable run of mine")
        contains(result.err, "no hardware is named 'NoSuchPart'")


if __name__ == "__main__":
    main()
