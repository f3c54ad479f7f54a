# SPDX-License-Identifier: MIT
"""calibrate and devices from outside, on the fake device (and what can be asked of any CPU)."""
import csv
import os
import json
import re
import signal
import subprocess

from llmperf_test import (EXE, Skip, case, close, contains, environment, equal, expect, folder, main,
                          run, run_json)

QUICK = ["calibrate", "--backend", "fake", "--quick"]
OTHERS = re.compile(r"openblas|gomp|libomp|iomp|mkl|dnnl|cuda|mpi", re.IGNORECASE)


def rows(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def leftovers(place):
    return [name.name for name in place.iterdir() if ".part-" in name.name]


@case("the program itself links no BLAS, OpenMP, CUDA or MPI")
def _():
    try:
        out = subprocess.run(["ldd", EXE], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise Skip(f"no ldd: {error}") from error
    expect(not OTHERS.search(out), out)


@case("calibrating the fake device finds what it was set to")
def _():
    with folder() as place:
        result = run(QUICK + ["-o", place / "c.yaml", "--samples", place / "s.csv"], code=0)
        found = re.search(r"gemm bf16\s+(\d+) % of peak,\s+(\d+) % of bandwidth", result.out)
        expect(found, "no line on gemm bf16", result)
        close(float(found[1]), 85, "share of the peak", relative=0.03)  # gemm_compute
        close(float(found[2]), 90, "share of the bandwidth", relative=0.03)  # gemm_memory
        # 40 TFLOP/s x 0.85 over 1 TB/s x 0.9 and over the datasheet's own
        ridge = re.search(r"bf16 ridge point: ([\d.]+) FLOP/byte as fitted, ([\d.]+) by the datasheet",
                          result.out)
        expect(ridge, "no ridge point", result)
        close(float(ridge[1]), 34 / 0.9, "ridge", relative=0.05)
        close(float(ridge[2]), 40, "ridge of the datasheet")
        # m* = w n k / (2 n k / R - a (n + k)): 2 * 4096^2 / (2 * 4096^2 / 40 - 2 * 8192) = 40.8
        contains(result.out, "turns compute-bound at batch 39 here, 41 by the datasheet")
        contains(result.out, "next: llmperf predict MODEL fake --calibration")
        expect((place / "c.yaml").read_text(encoding="utf-8").count("gemm") >= 4)
        equal(leftovers(place), [])


@case("equal seeds give equal samples, other seeds others")
def _():
    with folder() as place:
        for name, seed in (("a", 5), ("b", 5), ("c", 6)):
            run(QUICK + ["-o", place / f"{name}.yaml", "--samples", place / f"{name}.csv",
                         "--options", f"seed={seed}"], code=0)
        texts = [(place / f"{name}.csv").read_bytes() for name in "abc"]
        expect(texts[0] == texts[1], "seed 5 twice differs")
        expect(texts[0] != texts[2], "seeds 5 and 6 agree")


@case("a finished samples file is not measured again")
def _():
    with folder() as place:
        args = QUICK + ["-o", place / "c.yaml", "--samples", place / "s.csv"]
        run(args, code=0)
        before = (place / "s.csv").read_bytes()
        again = run(args, code=0)
        count = len(rows(place / "s.csv"))
        contains(again.err, f"{count} of {count} probes are in")
        contains(again.out, f"0 probes measured, {count} from the file")
        expect((place / "s.csv").read_bytes() == before, "the file changed")


@case("where the cache ends is measured, not what it is said to be")
def _():
    with folder() as place:
        # a cache of 64 MiB at 4 TB/s: the largest read that still fits is found at its rate
        result = run(["calibrate", "--backend", "fake", "-o", place / "c.yaml", "--samples",
                      place / "s.csv", "--options", "cache=67108864,cache_bandwidth=4e12,noise=0"],
                     code=0)
        expect(re.search(r"cache \(at .*\) +[34]\.?\d* TB/s", result.out), "no plateau", result)
        reads = {float(row["bytes"]): float(row["bytes"]) / float(row["time_s"])
                 for row in rows(place / "s.csv") if row["op"] == "copy" and row["regime"] == "warm"}
        inside = [rate for size, rate in reads.items() if 16e6 < size <= 67108864]
        beyond = [rate for size, rate in reads.items() if size > 70e6]
        expect(inside and beyond and min(inside) > 1.2 * max(beyond), f"{reads}")


@case("some operators are measured twice, and what differs is said")
def _():
    with folder() as place:
        run(QUICK + ["-o", place / "c.yaml", "--samples", place / "s.csv"], code=0)
        shapes = [tuple(row[key] for key in ("op", "dtype", "m", "n", "k", "batch", "seq_q",
                                             "seq_kv", "heads", "bytes", "regime"))
                  for row in rows(place / "s.csv")]
        twice = [shape for shape in set(shapes) if shapes.count(shape) == 2]
        expect(len(twice) >= 20 and max(map(shapes.count, shapes)) == 2, f"{len(twice)} twice")
        kinds = {(shape[0], shape[1]) for shape in twice}
        expect(("gemm", "bf16") in kinds and ("attn_decode", "bf16") in kinds, f"{kinds}")
        contains((place / "c.yaml").read_text(encoding="utf-8"), "measured twice: ")


@case("samples that contradict each other are no calibration: exit 6, nothing written")
def _():
    with folder() as place:
        samples = place / "s.csv"
        run(QUICK + ["-o", place / "c.yaml", "--samples", samples], code=0)
        lines = samples.read_text(encoding="utf-8").splitlines()
        column = lines[0].split(",").index("time_s")
        for at, line in enumerate(lines[1:], 1):
            cells = line.split(",")
            cells[column] = repr(float(cells[column]) * (1 + 1e4 * (at * 7919 % 10) ** 6))
            lines[at] = ",".join(cells)
        samples.write_text("\n".join(lines) + "\n", encoding="utf-8")
        (place / "c.yaml").unlink()
        failed = run(QUICK + ["-o", place / "c.yaml", "--samples", samples], code=6)
        contains(failed.err, "nothing could be fitted")
        expect(not (place / "c.yaml").exists(), "half a calibration")
        equal(leftovers(place), ["s.csv"] if "s.csv" in leftovers(place) else [])


@case("validate sets the fake's operators and its whole step beside the predictions")
def _():
    with folder() as place:
        run(QUICK + ["-o", place / "c.yaml"], code=0)
        result = run(["validate", "llama-3.2-1b", "fake", "--backend", "fake", "-b", "1,16",
                      "--calibration", place / "c.yaml", "--format", "json"], code=0)
        data = json.loads(result.out)
        whole = [row for row in data["rows"] if row["group"] == "whole step"]
        equal(len(whole), 2)
        for row in whole:
            expect(abs(row["error_frac"]) < 0.1, f"{row['label']}: {row['error_frac']}")
            expect(row["predicted"]["low"] < row["predicted"]["value"] < row["predicted"]["high"])


@case("a device error ends with 7, keeps the samples and writes no calibration")
def _():
    with folder() as place:
        args = QUICK + ["-o", place / "c.yaml", "--samples", place / "s.csv"]
        failed = run(args + ["--options", "fail_at=200"], code=7)
        contains(failed.err, "injected device error at call 200")
        contains(failed.err, "samples are kept in")
        expect(not (place / "c.yaml").exists(), "half a calibration")
        equal(leftovers(place), [])
        kept = rows(place / "s.csv")
        expect(5 < len(kept) and all(float(row["time_s"]) > 0 for row in kept), f"{len(kept)} rows")
        more = run(args, code=0)
        contains(more.err, f"{len(kept)} of ")
        expect((place / "c.yaml").exists())


@case("Ctrl-C ends by the signal, keeps complete rows, and the same command goes on")
def _():
    with folder() as place:
        args = ["calibrate", "--backend", "fake", "-o", str(place / "c.yaml"), "--samples",
                str(place / "s.csv")]
        with subprocess.Popen([EXE] + args, env=environment(), stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True) as process:
            for line in process.stderr:
                if line.startswith("[5/"):
                    process.send_signal(signal.SIGINT)
                    break
            rest = process.stderr.read()
            process.wait(timeout=60)
        equal(process.returncode, -signal.SIGINT)
        contains(rest, "the same command goes on from there")
        expect(not (place / "c.yaml").exists(), "half a calibration")
        equal(leftovers(place), [])
        kept = rows(place / "s.csv")
        expect(len(kept) >= 5 and all(row["time_s"] for row in kept), f"{len(kept)} rows")
        result = run(args, code=0)
        contains(result.err, f"{len(kept)} of ")


@case("what does not fit into memory is passed over and said")
def _():
    with folder() as place:
        result = run(QUICK + ["-o", place / "c.yaml", "--options", "oom_at=40"], code=0)
        contains(result.out, "not possible: ")
        contains(result.out, "out of device memory")


@case("throttled and contended samples are counted in the summary and flagged in the file")
def _():
    with folder() as place:
        result = run(QUICK + ["-o", place / "c.yaml", "--samples", place / "s.csv", "--options",
                              "throttle_at=1,throttle_calls=100000,throttle_factor=1.01"], code=0)
        count = len(rows(place / "s.csv"))
        contains(result.out, f"{count} of {count} samples were throttled")
        expect(all("throttled" in row["flags"] for row in rows(place / "s.csv")))


@case("samples and results behind symbolic links stay behind them")
def _():
    with folder() as place:
        (place / "kept").mkdir()
        for name in ("s.csv", "c.yaml", "hw.yaml"):
            (place / "kept" / name).touch()
            (place / name).symlink_to(f"kept/{name}")
        run(QUICK + ["-o", place / "c.yaml", "--write-hw", place / "hw.yaml", "--samples",
                     place / "s.csv"], code=0)
        for name in ("s.csv", "c.yaml", "hw.yaml"):
            expect((place / name).is_symlink() and (place / "kept" / name).stat().st_size > 100, name)
        equal(sorted(p.name for p in (place / "kept").iterdir()), ["c.yaml", "hw.yaml", "s.csv"])


@case("--write-hw writes a part that reads back and that the calibration is relative to")
def _():
    with folder() as place:
        result = run(QUICK + ["-o", place / "c.yaml", "--write-hw", place / "hw.yaml"], code=0)
        contains(result.out, "hw.yaml --calibration")
        shown = run_json(["specs", "show", "--kind", "hardware", place / "hw.yaml"])
        # the best rate: 85 % of 40 TFLOP/s
        close(shown["peak_flop_per_s"]["bf16"], 34e12, "bf16", relative=0.05)
        contains((place / "hw.yaml").read_text(encoding="utf-8"), "measured on this machine")


@case("samples of another device or library are refused")
def _():
    with folder() as place:
        file = place / "s.csv"
        file.write_text("gpu,library,op,dtype,m,n,k,time_s\nH100,x,gemm,bf16,1,4096,4096,1e-5\n",
                        encoding="utf-8")
        result = run(QUICK + ["-o", place / "c.yaml", "--samples", file], code=2)
        contains(result.err, "holds samples of 'H100'")


@case("what is missing for a backend is named, with exit code 5")
def _():
    with folder() as place:
        result = run(["calibrate", "--backend", "cuda", "-o", place / "c.yaml"])
        if result.code == 0:
            raise Skip("there is a CUDA device here")
        equal(result.code, 5)
        expect("libcuda.so.1" in result.err or "not in this build" in result.err, "", result)
        expect(not (place / "c.yaml").exists())
        # so it is without -o: nobody wants to hear of that first
        equal(run(["calibrate", "--backend", "cuda"]).code, 5)


@case("wrong use is told before anything is measured")
def _():
    with folder() as place:
        to = ["-o", str(place / "c.yaml")]
        contains(run(["calibrate", "--backend", "fake"], code=2).err, "needs -o FILE")
        contains(run(["calibrate", "--backend", "fak"] + to, code=2).err, "did you mean 'fake'")
        contains(run(QUICK + to + ["--device", "3"], code=2).err, "one device, 0; found 3")
        contains(run(QUICK + to + ["--options", "noize=1"], code=2).err, "did you mean 'noise'")
        contains(run(QUICK + to + ["--spec", "h100-sxmm"], code=2).err, "h100-sxm")
        run(QUICK + to + ["--spec", "fake", "--write-hw", place / "x.yaml"], code=2)
        run(QUICK + ["-o", place / "no" / "c.yaml"], code=4)
        # before anything is measured
        for words in (["--write-hw", place / "no" / "hw.yaml"], ["--write-hw", place]):
            told = run(QUICK + to + words, code=4).err.strip().splitlines()
            equal(len(told), 1, str(told))
        run(QUICK + to + ["--samples", place], code=4)
        equal(list(place.iterdir()), [])


@case("devices lists the fake and says what calibrate would do")
def _():
    data = run_json("devices --backend fake")
    equal([d["name"] for d in data["devices"]], ["fake"])
    one = data["devices"][0]
    equal((one["backend"], one["index"], one["spec"]), ("fake", 0, "fake"))
    close(one["state"]["noise_frac"], 0.03, "noise")
    expect(one["calibrate"]["quick_probes"] < one["calibrate"]["probes"])
    expect(one["calibrate"]["quick_time_s"] < 60)
    contains(run("devices --backend fake", code=0).out, "calibrate would measure")


@case("devices tells the processor's cores, caches, memory and load")
def _():
    result = run("devices --backend cpu")
    if result.code == 5:
        raise Skip("no CPU backend in this build")
    data = run_json("devices --backend cpu")
    one = data["devices"][0]
    expect(one["name"] and one["kind"] == "cpu")
    expect(1 <= one["state"]["usable_cores"] <= len(os.sched_getaffinity(0)), str(one))
    expect(one["memory_bytes"] > 0 and isinstance(one["notes"], list))
    expect(one["state"]["load"] >= 0)


@case("devices without a filter says what is not here")
def _():
    result = run("devices", code=0)
    contains(result.out, "fake 0")
    expect("cuda" in result.out)
    contains(run("devices --backend nope", code=2).err, "not known")
    contains(run("devices --options threads=1", code=2).err, "--backend NAME is required")


main()
