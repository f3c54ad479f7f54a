#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""docs/accuracy.md from a folder of public measurements: accuracy.py LLMPERF DIR RUNS WORK.

Every figure is the program's own: `llmperf fit --test` for operators (fitted on DIR/ops/train, scored on
DIR/ops/dev) and `llmperf fit --residuals` for whole engines (RUNS: the usable rows, one CSV a source). This
script only arranges them. WORK is a folder for what the runs write."""
import csv
import math
import pathlib
import re
import statistics
import subprocess
import sys

PARTS = (("h100-sxm", "h100_sxm"), ("a100-sxm-80gb", "a100_sxm"), ("l40s", "l40s"))
CPU = "two-core-xeon"  # of engine-cpu: neighbours and repetitions spread more than on a server's GPU
DECODE, WHOLE, PROMPT = ("decode", "whole request", "prompt")
KINDS = {"decode_tokens_per_s": DECODE, "tpot_s": DECODE, "e2e_s": WHOLE,
         "output_tokens_per_s": WHOLE, "total_tokens_per_s": WHOLE, "ttft_s": PROMPT,
         "prefill_tokens_per_s": PROMPT}
# Why a group misses, where it was found out.
REASONS = {
    ("vllm", "a100-pcie-80gb"): "one model over PCIe; the fit puts 90 us on every collective",
    ("vllm", "rtx-4090"): "two rows, one of each model",
    ("vllm", "mi300x"): "no other CDNA3 part: NVIDIA's parts and typical engines lend",
    ("vllm", "b200"): "a 4-bit mixture of experts (kimi-k2.5); its kin served dense fp8 and fp8 experts",
    ("vllm", "h200-sxm"): "two models, one dense and one of experts, each predicted from the other",
    ("hf-transformers", "h20"): "eager, and the H20's rows reach a third of the bandwidth with any engine",
    ("hf-transformers", "rtx-4090"): "prompts in eager mode; its kin are A100, H20 and Jetson",
    ("sglang", "h20"): "the H20's rows reach a third of the bandwidth with any engine",
    ("sglang", "h200-sxm"): "its only kin are the H20's rows, which lend nothing",
    ("llama.cpp", "a100-sxm-80gb"): "a rented host whose prompts its publisher calls slow; decode "
                                    "reaches half of the bandwidth",
    ("llama.cpp", "rtx-4090"): "prompts pass the fp32-accumulate peak of the datasheet (fp16 accumulation)",
    ("tensorrt-llm", "rtx-4090"): "five prompts under int4 weights; its kin have fp16 and fp8 alone",
    ("tensorrt-llm", "gb200"): "six rows at 144 - 448 clients; what they queue for the rows do not tell",
    ("tensorrt-llm", "h200-sxm"): "the only other served part is GB200, six odd rows",
    ("exllamav2", "rtx-4090"): "four rows; prompts are of one model alone",
    ("autoawq-gemv", "rtx-4090"): "prompts reach a sixth of the peak, through a matrix-vector kernel",
    ("gpt-fast", "mi250x-gcd"): "two rows; its kin is an A100",
    ("mlc-llm", "a100-pcie-80gb"): "one model, over PCIe alone",
    ("mlc-llm", "rtx-4090"): "five rows, one of each model",
    ("llama.cpp", "rtx-3080-10gb"): "eight rows of one model",
}


def run(words):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"accuracy: {' '.join(map(str, words))}: {done.stderr.strip()}")
    return done.stdout


def table(headings, rows):
    lines = ["| " + " | ".join(headings) + " |",
             "|" + "|".join("---" if i == 0 else "---:" for i in range(len(headings))) + "|"]
    return lines + ["| " + " | ".join(row) + " |" for row in rows] + [""]


# ---- operators ------------------------------------------------------------------------------------------


# A name of any length, then the number of samples, errors in % and "-" where there is none.
FIT_LINE = re.compile(r"^(.+?)\s+(\d+(?:\s+(?:-?\d+\.\d+|-)){7,8})$")


def operator_rows(text):
    """(name, columns of the test line or of the fit where there is none, fitted columns or the reason)."""
    rows = []
    for line in text.splitlines()[1:]:
        found = FIT_LINE.match(line)
        if found and found[1].strip() == "test":
            rows[-1] = (rows[-1][0], found[2].split(), rows[-1][2])
        elif found and not line.startswith(" "):
            rows.append((found[1], found[2].split(), found[2].split()))
        elif not line.startswith(" ") and " no fit: " in line:
            rows.append((line.split(" no fit: ")[0].strip(), None, line.split(" no fit: ")[-1]))
    return rows


def operators(llmperf, data):
    lines = ["## Operators", "",
             "Fitted on one half of the shapes (`ops/train`), scored on the other (`ops/dev`), each library,",
             "format and kind apart; operands that a cache held are left out on both sides. Mean, median, P90 and",
             "bias of |predicted / measured - 1| in %; `in 90 %` of the intervals; mean errors of the roofline and",
             "of two constant efficiencies. Two stacks timing one part differ by 4 - 8 %. Collectives of versions that",
             "disagree: the newest, on its own rows (docs/calibration.md has the others).", ""]
    for part, word in PARTS:
        train, dev = ([p for pattern in (f"aic_gemm_{word}_*", f"aic_attn_*_{word}.csv*", "aic_comm.csv*",
                                         "aic_moe.csv*")
                       for p in sorted((data / "ops" / half).glob(pattern))]
                      for half in ("train", "dev"))
        if not train or not dev:
            continue
        text = run([llmperf, "fit", *train, "--hw", part, "--test", ",".join(map(str, dev))])
        rows = []
        for name, columns, fitted in operator_rows(text):
            if columns is None:
                rows.append([name] + ["-"] * 7 + [f"no fit: {fitted}"])
            elif len(columns) >= 9:
                rows.append([name, *columns[:5], columns[8], columns[6], columns[7]])
            else:
                rows.append([name + " (no test rows: of the fit)", *columns[:5], "-", *columns[6:8]])
        lines += [f"### {part}", ""] + table(
            ["", "samples", "mean", "median", "P90", "bias", "in 90 %", "roofline", "constant"], rows)
    return lines


# ---- engines ------------------------------------------------------------------------------------------------


def error(row, field):
    return float(row[field]) / float(row["measured_s"]) - 1


def percent(values):
    return f"{100 * statistics.median(map(abs, values)):.1f}" if values else "-"


def quantile(values, share):
    values = sorted(values)
    at = share * (len(values) - 1)
    low = int(at)
    return values[low] + (at - low) * (values[min(low + 1, len(values) - 1)] - values[low])


def constant(rows):
    """Median error of the roofline times the factor that suits the group best."""
    ratios = [float(r["measured_s"]) / float(r["roofline_s"]) for r in rows]
    factor = statistics.median(ratios)
    return [factor / ratio - 1 for ratio in ratios]


def covered(rows):
    inside = [abs(math.log(float(r["unseen_s"]) / float(r["measured_s"]))) <=
              1.645 * float(r["residual"]) for r in rows]
    return f"{100 * sum(inside) / len(inside):.0f}" if inside else "-"


def engine_row(name, rows):
    unseen = [r for r in rows if r["unseen_s"]]
    errors = [error(r, "unseen_s") for r in unseen]
    by_part = [error(r, "unseen_part_s") for r in rows if r["unseen_part_s"]]
    return [name, str(len(rows)), str(len({r["model"] for r in rows})),
            percent([error(r, "fitted_s") for r in rows]), percent(errors),
            f"{100 * statistics.fmean(map(abs, errors)):.1f}" if errors else "-",
            f"{100 * quantile([abs(e) for e in errors], 0.9):.1f}" if errors else "-",
            f"{100 * statistics.median(errors):+.1f}" if errors else "-", covered(unseen),
            percent(by_part), percent([error(r, "roofline_s") for r in rows]),
            percent(constant(rows))]


HEADINGS = ["", "rows", "models", "fit", "unseen", "mean", "P90", "bias", "in 90 %", "by kin",
            "roofline", "constant"]


def read_rows(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def fit_profiles(llmperf, profiles, runs, work):
    """Residuals of every shipped profile, fitted anew."""
    rows = []
    for profile in sorted(profiles.glob("*.yaml")):
        text = profile.read_text(encoding="utf-8")
        aliases = re.search(r"^aliases: \[(.*)\]$", text, re.M)
        names = [profile.stem] + (re.findall(r'"([^"]*)"', aliases[1]) if aliases else [])
        files = [p for p in sorted(runs.glob("*.csv"))
                 if any(f",{name}," in p.read_text(encoding="utf-8") for name in names)]
        out = work / f"{profile.stem}.csv"
        run([llmperf, "fit", *files, "--engine", profile.stem, "--alias", ",".join(names),
             "--residuals", out])
        for row in read_rows(out):
            row["engine"] = profile.stem
            rows.append(row)
    return rows


def grouped(rows, key):
    groups = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return dict(sorted(groups.items()))


def reasons(rows):
    lines = []
    for (engine, part, kind), group in grouped(
            rows, lambda r: (r["engine"], r["hardware"], r["kind"])).items():
        unseen = [error(r, "unseen_s") for r in group if r["unseen_s"]]
        lent = [error(r, "unseen_part_s") for r in group if r["unseen_part_s"]]
        values = unseen or lent
        if not values or statistics.median(map(abs, values)) <= 0.15:
            continue
        what = "models never seen" if unseen else "the part never seen"
        lines.append(f"* {engine} on {part}{', served' if kind == 'serving' else ''}: {percent(values)} % "
                     f"({what}, {len(group)} rows): "
                     f"{REASONS.get((engine, part), 'not found out: few rows, unlike the others')}.")
    return lines


def targets(rows):
    """The three figures that the profiles are judged by, over all groups together."""
    static = [r for r in rows if r["kind"] == "static" and r["hardware"] != CPU]
    served = [r for r in rows if r["kind"] == "serving"]
    out = []
    for what, chosen in (("static decode", [r for r in static if KINDS[r["metric"]] == DECODE]),
                         ("whole static requests", [r for r in static if KINDS[r["metric"]] == WHOLE]),
                         ("prompts and first tokens, concurrency 1",
                          [r for r in static if KINDS[r["metric"]] == PROMPT and r["batch"] == "1"]),
                         ("prompts and first tokens, larger batches",
                          [r for r in static if KINDS[r["metric"]] == PROMPT and r["batch"] != "1"]),
                         ("served, time per token", [r for r in served if r["metric"] == "tpot_s"]),
                         ("served, first token", [r for r in served if r["metric"] == "ttft_s"])):
        if chosen:
            out.append(engine_row(what, chosen))
    return out


def engines(rows):
    lines = ["## Whole engines", "",
             "Every shipped profile, fitted anew from the public rows that are fit for it (docs/engines.md says",
             "which are left out). Medians of |predicted / measured - 1| in %, but for `mean`, `P90` and `bias`",
             "(signed): `fit` on the rows it was fitted to; `unseen`, mean, P90, bias and `in 90 %` (of the",
             "intervals) on models that were left out of the whole fit, each in turn; `by kin` with the part left",
             "out: from the engine's other parts alone; the roofline; the roofline times one factor per group. `-`:",
             "there is no other model, or no other part.", "", "### All groups together", ""]
    lines += table(HEADINGS, targets(rows))
    lines += ["### By engine and part", ""]
    lines += table(HEADINGS, [
        engine_row(f"{engine}, {part}{', served' if kind == 'serving' else ''}", group)
        for (engine, part, kind), group in grouped(
            rows, lambda r: (r["engine"], r["hardware"], r["kind"])).items()])
    lines += ["### By engine and what was measured", ""]
    lines += table(HEADINGS, [
        engine_row(f"{engine}, {kind}: {what}", group)
        for (engine, kind, what), group in grouped(
            rows, lambda r: (r["engine"], r["kind"], KINDS[r["metric"]])).items()])
    lines += ["### Groups beyond 15 %, and why", ""] + reasons(rows) + [""]
    return lines


def processor(rows, runs):
    """llama.cpp on CPU by what its rows tell: format, batch, cached tokens."""
    rows = [r for r in rows if r["hardware"] == CPU]
    if not rows:
        return []
    with open(runs / "llamacpp-cpu.csv", encoding="utf-8", newline="") as file:
        lines = list(csv.reader(file))
    header = next(line for line in lines if "test" in line)
    for row in rows:
        row.update({f"run_{k}": v for k, v in zip(header, lines[int(row["line"]) - 1])})
    decode = [r for r in rows if KINDS[r["metric"]] == DECODE]
    groups = [("all", rows)]
    groups += list(grouped(rows, lambda r: KINDS[r["metric"]]).items())
    groups += [(f"model {k}", v) for k, v in grouped(rows, lambda r: r["model"]).items()]
    groups += [(f"{KINDS[k[0]]}, {k[1]}", v) for k, v in grouped(
        rows, lambda r: (r["metric"], r["run_dtype"])).items()]
    groups += [(f"decode, batch {k}", v) for k, v in grouped(
        decode, lambda r: int(r["batch"])).items()]
    groups += [(f"decode, {k} tokens cached", v) for k, v in grouped(
        decode, lambda r: int(r["run_depth"])).items()]
    return ["## llama.cpp on a processor", "",
            "Two threads of a 2-core machine, three random-weight models, five formats, batch 1 - 64, up to 2048",
            "tokens cached; repetitions spread by 13 % (median). Models left out as above. Not among the rows:",
            "runs with `-fa 0` (another kernel of attention) and on one thread.", ""] + table(
                HEADINGS, [engine_row(what, group) for what, group in groups])


def main():
    llmperf, data, runs, work = (pathlib.Path(a) for a in sys.argv[1:5])
    work.mkdir(parents=True, exist_ok=True)
    profiles = pathlib.Path(__file__).resolve().parents[2] / "specs" / "engine"
    lines = ["# How accurate", "",
             "Written by `./dev accuracy DIR` from a folder of public measurements; nothing here is picked. Sources",
             "and licences: DATA-LICENSES.md. Reading of the columns stands above each table; all errors in %.", ""]
    rows = fit_profiles(llmperf, profiles, runs, work)
    lines += engines(rows)
    lines += processor(rows, runs)
    lines += operators(llmperf, data)
    print("\n".join(lines).rstrip())


if __name__ == "__main__":
    main()
