#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Calibrates this machine, predicts a small llama, and times it in a real engine: one sitting.

    tests/engine/run.py [--llmperf EXE] [--shapes 0.1B,0.5B] [--dtypes F32,F16,Q8_0,Q4_0]
                        [--batches 1,2,4,8] [--prompt 128] [--generate 16] [--seconds 5]
                        [--engine llama.cpp] [--fastest] [--keep] [--prepare]
                        [--out FOLDER]

Development only. The engine is llama.cpp, from the PyPI package xllamacpp (pip install xllamacpp
numpy); the models have random weights and are written here. Ends with code 77 where the engine is
missing. Prints measured beside predicted: by the engine's profile on this processor's measured
bandwidth and peak, and by the operators of other libraries that the calibration timed; leaves an
end-to-end CSV for `llmperf compare` and `llmperf fit`.
"""
import argparse
import csv
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import time

import llama

COLUMNS = ("source engine engine_version gpu gpu_count tp pp ep model weight_dtype act_dtype "
           "kv_dtype batch_or_concurrency input_len output_len metric value kind notes").split()
LLMPERF_DTYPES = {"F32": "fp32", "F16": "fp16", "Q8_0": "q8_0", "Q4_0": "q4_0"}


def arguments():
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--llmperf", default=os.path.join(root, "build-release/cli/llmperf"))
    parser.add_argument("--shapes", default="0.1B,0.5B")
    parser.add_argument("--dtypes", default="F32,F16,Q8_0,Q4_0")
    parser.add_argument("--batches", default="1,2,4,8")
    parser.add_argument("--prompt", type=int, default=128)
    parser.add_argument("--generate", type=int, default=16)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--seconds", type=float, default=5, help="for a point, more or less")
    parser.add_argument("--engine", default="llama.cpp", help="the profile to predict with")
    parser.add_argument("--keep", action="store_true", help="an earlier calibration in the folder")
    parser.add_argument("--fastest", action="store_true",
                        help="of the repetitions, not their median: a machine with company")
    parser.add_argument("--prepare", action="store_true", help="write the models, no more")
    parser.add_argument("--out", default="engine-out")
    return parser.parse_args()


def jiffies():
    """Idle and steal time of the machine, for how quiet it was."""
    with open("/proc/stat", encoding="ascii") as stat:
        fields = [int(x) for x in stat.readline().split()[1:]]
    return sum(fields), fields[3] + fields[4], fields[7]


def calibrate(a):
    hw, calibration = os.path.join(a.out, "hw.yaml"), os.path.join(a.out, "calibration.yaml")
    if a.keep and os.path.exists(hw) and os.path.exists(calibration):
        return hw, calibration
    subprocess.run([a.llmperf, "calibrate", "--backend", "cpu", "--quick", "--write-hw", hw,
                    "-o", calibration, "--samples", os.path.join(a.out, "samples.csv")],
                   check=True)
    return hw, calibration


def predict(a, model, hw, by, batch):
    """Decode step and prefill of the batch, by ("--engine", NAME) or ("--calibration", FILE)."""
    command = [a.llmperf, "predict", model, hw, *by, "-b", str(batch), "-s", str(a.prompt), "-g",
               str(a.generate), "--chunk", "512", "--act-dtype", "fp32", "--kv-dtype", "fp16",
               "--format", "json"]
    answer = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    return answer["decode"]["time_s"], answer["prefill"]["time_s"]


def measure(a, engine, batch):
    """Median (or fastest) seconds of a decode step, and of the prefill of all prompts."""
    decode, prefill = [], []
    begun = time.monotonic()
    while len(prefill) < 5 and (len(prefill) < 2 or time.monotonic() - begun < a.seconds):
        engine.clear()
        done, seconds = 0, 0.0
        while done < a.prompt:
            count = min(a.prompt - done, engine.most // batch)
            seconds += engine.step(batch, done, count, done + count == a.prompt)
            done += count
        prefill.append(seconds)
        decode += [engine.step(batch, a.prompt + i, 1, True) for i in range(a.generate)]
    of = min if a.fastest else statistics.median
    return of(decode), of(prefill)


def row(a, model, dtype, batch, metric, value):
    name = LLMPERF_DTYPES[dtype]
    return dict(zip(COLUMNS, ("this machine", "llama.cpp", "", "cpu", 1, 1, 1, 1, model, name,
                              "fp32", "fp16", batch, a.prompt, a.generate, metric, value, "static",
                              f"{a.threads} threads")))


def model_path(a, shape, dtype):
    path = os.path.abspath(os.path.join(a.out, f"{shape}-{dtype}.gguf"))
    if not os.path.exists(path):
        llama.write_model(path, shape, dtype)
    return path


FORM = "{:6} {:5} {:>5} {:8} {:>10} {:>10} {:>21} {:>8} {:>10}"


def one_model(a, hw, calibration, shape, dtype, errors):
    """Measures and predicts every batch of a model; returns its rows."""
    path, rows = model_path(a, shape, dtype), []
    batches = [int(x) for x in a.batches.split(",")]
    engine = llama.Engine(path, a.threads, max(batches), -(-(a.prompt + a.generate) // 256) * 256)
    for batch in batches:
        measured = measure(a, engine, batch)
        profile = predict(a, path, hw, ("--engine", a.engine), batch)
        operators = predict(a, path, hw, ("--calibration", calibration), batch)
        for phase, m, p, o in zip(("decode", "prefill"), measured, profile, operators):
            inside = p["low"] <= m <= p["high"]
            errors[phase].append((p["value"] / m - 1, o["value"] / m - 1, inside))
            print(FORM.format(shape, dtype, batch, phase, f"{m * 1e3:.2f} ms",
                              f"{p['value'] * 1e3:.2f} ms",
                              f"{p['low'] * 1e3:.2f} - {p['high'] * 1e3:.2f}",
                              f"{(p['value'] / m - 1) * 100:+.0f} %",
                              f"{(o['value'] / m - 1) * 100:+.0f} %"), flush=True)
        rows.append(row(a, path, dtype, batch, "decode_tok_s", batch / measured[0]))
        rows.append(row(a, path, dtype, batch, "prefill_tok_s", batch * a.prompt / measured[1]))
    engine.close()
    return rows


def summary(errors):
    for phase, values in errors.items():
        mine, operators, inside = zip(*values)
        print(f"{phase}: median error {100 * statistics.median(map(abs, mine)):.0f} %, bias "
              f"{100 * statistics.median(mine):+.0f} %, {100 * sum(inside) / len(inside):.0f} % of "
              f"{len(values)} within the interval; by operators "
              f"{100 * statistics.median(map(abs, operators)):.0f} %, bias "
              f"{100 * statistics.median(operators):+.0f} %")


def main():
    a = arguments()
    for package in ("xllamacpp", "numpy"):
        if not importlib.util.find_spec(package):
            print(f"skipped: the Python package {package} is missing (pip install xllamacpp numpy)")
            return 77
    os.makedirs(a.out, exist_ok=True)
    models = [(s, d) for s in a.shapes.split(",") for d in a.dtypes.split(",")]
    for shape, dtype in models:
        model_path(a, shape, dtype)
    if a.prepare:
        return 0
    before = jiffies()
    hw, calibration = calibrate(a)
    print("of the repetitions the fastest" if a.fastest else "medians of the repetitions")
    rows, errors = [], {"decode": [], "prefill": []}
    print(FORM.format("model", "dtype", "batch", "phase", "measured", "profile", "90 % interval",
                      "error", "operators"))
    for shape, dtype in models:
        rows += one_model(a, hw, calibration, shape, dtype, errors)
    with open(os.path.join(a.out, "runs.csv"), "w", newline="", encoding="utf-8") as out:
        writer = csv.DictWriter(out, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)
    after = jiffies()
    total = max(1, after[0] - before[0])
    summary(errors)
    print(f"meanwhile the machine was idle for {100 * (after[1] - before[1]) / total:.0f} % and "
          f"lost {100 * (after[2] - before[2]) / total:.1f} % to its host")
    return 0


if __name__ == "__main__":
    sys.exit(main())
