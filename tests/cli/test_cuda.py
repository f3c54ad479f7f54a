# SPDX-License-Identifier: MIT
"""calibrate, devices and validate on the CUDA backend, without a GPU: on the make-believe machine of
tests/cuda/fake, whose rates, costs and faults are settings (docs/testing.md).

LLMPERF_FAKE_CUDA is the folder of its libraries. LLMPERF_EVERY=1 tries every allocation and every
call where a few are tried otherwise.
"""
import contextlib
import csv
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess

from llmperf_test import (EXE, SANITIZED, Skip, case, close, contains, environment, equal, expect,
                          folder, main, parse_json, run)

FAKES = os.environ.get("LLMPERF_FAKE_CUDA", "")
EVERY = "LLMPERF_EVERY" in os.environ

# What the machine sustains when nothing else is said (tests/cuda/fake/settings.c).
BANDWIDTH, PCIE, LAUNCH, GRAPH, LAUNCH_HOST = 4.2e12, 55e9, 2e-6, 1.2e-6, 1.5e-6
ROUND_TRIP = LAUNCH_HOST + 3e-6 + LAUNCH  # call, start, interval; the end is noticed within 0.2 us
RATE = {"fp32": 52e12, "tf32": 400e12, "fp16": 800e12, "bf16": 790e12, "fp8": 1500e12,
        "int8": 1450e12}
FIRST = 0.94  # share of the rate that the algorithm the library puts first reaches
ONE_FORMAT = "fp32=0,tf32=0,fp16=0,fp8=0,int8=0"

QUICK = ["calibrate", "--backend", "cuda", "--quick"]


# ---- the machine ----------------------------------------------------------------------------------

def counters(place):
    """The sums of all processes' reports: 64-bit numbers, then their names."""
    found = {}
    for file in place.iterdir():
        data = file.read_bytes()
        names = data[data.find(b"live_contexts"):].decode().split()
        if file.name == "misuse" or not names:
            continue
        for name, value in zip(names, struct.unpack(f"{len(names)}q", data[:8 * len(names)])):
            found[name] = found.get(name, 0) + value
    return found


def machine(place, settings="", fail="", libraries=None):
    """Environment of a program on the make-believe machine, whose report goes to `place`."""
    if not FAKES or not pathlib.Path(FAKES, "libcuda.so.1").exists():
        raise Skip("this build has no CUDA backend")
    if SANITIZED:  # instrumented kernels on the shim are slow
        settings = f"real=2000,{settings}".rstrip(",")
    return {"LD_LIBRARY_PATH": libraries or FAKES, "LD_PRELOAD": f"{FAKES}/libfakeclock.so",
            "FAKE_CUDA": settings, "FAKE_CUDA_FAIL": fail, "FAKE_CUDA_REPORT": place,
            "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"}


def check_report(place, may_hang=False):
    """No interface was misused, everything was given back, nothing still ran."""
    found = counters(place)
    misuse = place / "misuse"
    expect(not misuse.exists(), misuse.read_text() if misuse.exists() else "")
    equal(found.get("misuse", 0), 0, "misuse")
    if found.get("hung", 0) and may_hang:
        return found
    equal({k: v for k, v in found.items() if (k.startswith("live_") or k == "unfinished") and v}, {},
          "left behind")
    return found


def on(args, settings="", fail="", code=0, libraries=None, may_hang=False):
    """Runs llmperf on the machine; returns result and report."""
    with folder() as place:
        result = run(args, env=machine(place, settings, fail, libraries), code=code)
        try:
            return result, check_report(place, may_hang)
        except Exception:
            print(f"# {result}".replace("\n", "\n# "))
            raise


def rows(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def best(samples, dtype, library):
    """The largest rate of a format's products."""
    return max((2 * float(r["m"]) * float(r["n"]) * float(r["k"]) / float(r["time_s"])
                for r in samples if r["op"] in ("gemm", "gemv") and r["dtype"] == dtype and
                r["library"] == library), default=0)


def streams(samples):
    """Rates of the cold streams, by the sample's bytes."""
    return [float(r["bytes"]) / float(r["time_s"]) for r in samples
            if r["op"] in ("copy", "memory") and "cold" in r["regime"]]


def one_line(result, *parts):
    """An error is told in one line, that says all of this."""
    lines = [line for line in result.err.splitlines() if line.startswith("llmperf: ") and
             "samples are kept" not in line and "already" not in line]
    equal(len(lines), 1, f"lines of an error in {result.err!r}")
    for part in parts:
        contains(lines[0], part)


@contextlib.contextmanager
def nearly_done():
    """A folder with s.csv, in which a few probes of every kind are missing: a run measures those."""
    with folder() as place:
        on(QUICK + ["-o", place / "c.yaml", "--samples", place / "s.csv"], ONE_FORMAT)
        lines = (place / "s.csv").read_text(encoding="utf-8").splitlines(keepends=True)
        kinds, kept = {}, [lines[0]]
        for line, row in zip(lines[1:], csv.DictReader(lines)):
            kind = (row["op"], row["library"], row["regime"])
            kinds[kind] = kinds.get(kind, 0) + 1
            if kinds[kind] != 2 and row["op"] not in ("launch",):
                kept.append(line)
        (place / "s.csv").write_text("".join(kept), encoding="utf-8")
        shutil.copy(place / "s.csv", place / "start.csv")
        (place / "c.yaml").unlink()
        yield place


def again(place, fail="", settings="", code=None, may_hang=False):
    """The run that measures what is missing in nearly_done()."""
    shutil.copy(place / "start.csv", place / "s.csv")
    (place / "c.yaml").unlink(missing_ok=True)
    return on(QUICK + ["-o", place / "c.yaml", "--samples", place / "s.csv"],
              f"{ONE_FORMAT},{settings}".rstrip(","), fail, code, may_hang=may_hang)


def some(count, tries):
    """1 ... count, or `tries` of them spread evenly."""
    if EVERY or count <= tries:
        return range(1, count + 1)
    tries = max(2, tries // 4) if SANITIZED else tries
    return sorted({1 + (count - 1) * i // (tries - 1) for i in range(tries)})


# ---- what is found ----------------------------------------------------------------------------------

@case("the program links nothing of CUDA")
def _():
    try:
        out = subprocess.run(["readelf", "-d", EXE], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise Skip(f"no readelf: {error}") from error
    needed = re.findall(r"NEEDED.*\[(.*)\]", out)
    expect(needed and not re.search(r"cuda|nvidia|cublas|nccl|cudart", " ".join(needed), re.I),
           f"needs {needed}")


@case("without a driver: exit code 5, one line that names what is missing")
def _():
    # the test's own libraries must not be found by the loader
    result = run(["calibrate", "--backend", "cuda", "-o", "/dev/null"], env={"LD_LIBRARY_PATH": None})
    if result.code != 5 and "samples" not in result.err:
        raise Skip("there is a CUDA device here")
    equal(result.code, 5)
    equal(len(result.err.splitlines()), 1)
    expect("libcuda.so.1" in result.err or "not in this build" in result.err, "", result)


@case("devices lists the GPUs with their state, datasheet and what calibrate would do")
def _():
    result, _ = on(["devices", "--backend", "cuda", "--format", "json"], "devices=2")
    two = parse_json(result.out)["devices"]
    equal([d["index"] for d in two], [0, 1])
    one = two[0]
    equal((one["name"], one["spec"], one["kind"]), ("NVIDIA H200", "h200-sxm", "gpu"))
    equal((one["units"], one["memory_bytes"], one["cache_bytes"]), (132, 150e9, 50e6))
    state = one["state"]
    equal((state["ecc"], state["mig"], state["capability"]), ("on", "off", "9.0"))
    equal((state["power_cap_w"], state["clock_most_hz"], state["other_processes"]), (700, 1980e6, 0))
    expect(state["uuid"] != two[1]["state"]["uuid"], "two devices with one UUID")
    expect(0 < one["calibrate"]["quick_time_s"] <= 60 and one["calibrate"]["time_s"] <= 180)
    text, _ = on(["devices", "--backend", "cuda"])
    contains(text.out, "datasheet: h200-sxm")


@case("a slice of a part, a low power cap and other processes are said")
def _():
    result, _ = on(["devices", "--backend", "cuda"], "mig=1,power=400,others=2,sms=16,memory=18e9")
    for part in ("MIG", "16 units", "power cap is 400 W"):
        contains(result.out, part)
    # those of the whole part may work in other slices
    expect("other process" not in result.out, "company in other slices", result)
    result, _ = on(["devices", "--backend", "cuda"], "others=2")
    contains(result.out, "2 other processes")


def check_rates(samples, settings, formats):
    for dtype in formats:
        rate = settings.get(dtype) or RATE[dtype]
        close(best(samples, dtype, "cublaslt-best"), rate, f"{dtype}, fastest", relative=0.03)
        close(best(samples, dtype, "cublaslt"), rate * FIRST, f"{dtype}, first", relative=0.03)
    for found in streams(samples):
        close(found, settings.get("bandwidth", BANDWIDTH), "stream", relative=0.03)


@case("a quick run finds what the machine was set to, within 3 %")
def _():
    with folder() as place:
        result, report = on(QUICK + ["-o", place / "c.yaml", "--samples", place / "s.csv",
                                     "--write-hw", place / "hw.yaml"])
        samples = rows(place / "s.csv")
        expect(len(samples) > 150, f"{len(samples)} samples")
        check_rates(samples, {}, RATE)
        for op, seconds in (("launch", LAUNCH), ("launch_graph", GRAPH), ("launch_host", LAUNCH_HOST),
                            ("round_trip", ROUND_TRIP)):
            found = [float(r["time_s"]) for r in samples if r["op"] == op]
            equal(len(found), 1, op)
            close(found[0], seconds, op, relative=0.03)
        for op in ("h2d", "d2h"):
            found = [float(r["bytes"]) / float(r["time_s"]) for r in samples if r["op"] == op]
            close(found[0], PCIE, op, relative=0.03)
        # a buffer within the cache is read faster than memory, a larger one is not
        warm = {float(r["bytes"]): float(r["bytes"]) / float(r["time_s"]) for r in samples
                if r["op"] == "copy" and "warm" in r["regime"]}
        expect(max(v for k, v in warm.items() if k < 50e6) > 1.4 * BANDWIDTH, str(warm))
        expect(max(v for k, v in warm.items() if k > 60e6) < 1.03 * BANDWIDTH, str(warm))
        fits = {m[0]: m[1:] for m in re.findall(
            r"  gemm (\w+) +(\d+) % of peak, +(\d+) % of bandwidth.*mean error ([\d.]+) %", result.out)}
        for dtype in RATE:  # of what --write-hw wrote; the roof is sharp, and fitted as one
            peak, bandwidth, error = map(float, fits[dtype])
            close(peak, 100, f"fit of {dtype}", relative=0.03)
            close(bandwidth, 100, f"fit of {dtype}, bandwidth", relative=0.03)
            expect(error < 1, f"fit of {dtype}: {error} % off")
        contains(result.out, "next: llmperf predict MODEL")
        contains((place / "hw.yaml").read_text(encoding="utf-8"), "measured on this machine")
        expect(report["products"] > 1000 and report["values_checked"] > 10000, str(report))
        expect(report["elapsed_ms"] < 60e3, f"{report['elapsed_ms']} ms of the machine's time")


@case("another machine: an A100, found as it was set, without formats that it has not")
def _():
    settings = {"bf16": 255e12, "fp16": 250e12, "tf32": 120e12, "fp32": 18e12, "int8": 480e12,
                "bandwidth": 1.78e12}
    text = ",".join(f"{k}={v}" for k, v in settings.items())
    with folder() as place:
        result, _ = on(QUICK + ["-o", place / "c.yaml", "--samples", place / "s.csv"],
                       "name=NVIDIA A100-SXM4-80GB,capability=8.0,sms=108,memory=85e9,l2=40e6,"
                       f"clock=1410e6,l2_bandwidth=4e12,{text}")
        check_rates(rows(place / "s.csv"), settings, [k for k in settings if k in RATE])
        contains(result.out, "compute capability 8.0; 8.9 is needed")
        contains(result.out, "a100")


@case("a B200: nvfp4 with its block scales; what the library has not is one line for all its shapes")
def _():
    settings = {"nvfp4": 6e15, "fp8": 3.2e15, "bf16": 1.6e15, "fp16": 1.6e15, "bandwidth": 6.9e12}
    with folder() as place:
        result, _ = on(QUICK + ["-o", place / "c.yaml", "--samples", place / "s.csv"],
                       "name=NVIDIA B200,capability=10.0,sms=148,memory=190e9,l2=126e6,fp4=6e15,"
                       "fp8=3.2e15,bf16=1.6e15,fp16=1.6e15,fp32=0,tf32=0,int8=0,bandwidth=6.9e12,"
                       "l2_bandwidth=14e12")
        check_rates(rows(place / "s.csv"), settings, ("nvfp4", "fp8", "bf16", "fp16"))
        contains(result.out, "b200")
        lines = [line for line in result.out.splitlines() if "not possible" in line]
        equal(len(lines), 2, "the count, and one reason")
        contains(lines[1], "more)")


@case("a device that is closed to computing: one line, exit code 7")
def _():
    result, _ = on(QUICK + ["-o", "/dev/null"], "compute_mode=2", code=7)
    one_line(result, "DEVICE_UNAVAILABLE")


@case("a full run on a noisy machine with outliers still finds the peaks")
def _():
    with folder() as place:
        _, report = on(["calibrate", "--backend", "cuda", "-o", place / "c.yaml", "--samples",
                        place / "s.csv"],
                       "noise=0.03,outliers=0.03,fp32=0,tf32=0,fp16=0,int8=0,checked=8,algorithms=4")
        samples = rows(place / "s.csv")
        check_rates(samples, {}, ("bf16", "fp8"))
        shapes = {(r["n"], r["k"]) for r in samples if r["op"] == "gemm"}
        expect(len(shapes) >= 8 and len(samples) > 400, f"{len(samples)} samples, {shapes}")
        expect(report["peak_bytes"] < 0.6 * 150e9, str(report))
        expect(report["elapsed_ms"] < 180e3, f"{report['elapsed_ms']} ms of the machine's time")


@case("a finished file is not measured again; what is missing is measured alone")
def _():
    with nearly_done() as place:
        result, first = again(place, code=0)
        contains(result.err, "probes are in")
        before = (place / "s.csv").read_bytes()
        result, second = on(QUICK + ["-o", place / "c.yaml", "--samples", place / "s.csv"], ONE_FORMAT)
        expect(second["launches"] <= first["launches"])
        expect((place / "s.csv").read_bytes() == before, "the file changed")


@case("validate times a model's operators beside their predictions")
def _():
    result, _ = on(["validate", "llama-3.2-1b", "--backend", "cuda", "-b", "1,8", "--format", "json"],
                   "noise=0")
    measured = {row["label"]: row["measured"] for row in parse_json(result.out)["rows"]}
    # hand arithmetic: the LM head reads 2048 x 128256 bf16 weights; + t0 1 us and 1.2 us in a graph
    found = [v for k, v in measured.items() if k.startswith("decode b 1 ") and "lm" in k.lower()]
    close(found[0], 2 * 2048 * 128256 / BANDWIDTH + 2.2e-6, "LM head", relative=0.01)
    # nothing overlaps on this machine: a step is the sum of its launches
    close(measured["decode b 1 whole step"], measured["decode b 1 sum of operators"], "step",
          relative=0.01)
    text, _ = on(["validate", "llama-3.2-1b", "--backend", "cuda", "-b", "1", "--phase", "both"])
    contains(text.out, "NVIDIA H200")


@case("validate says what one product or one kernel here cannot stand for")
def _():
    options = ["--backend", "cuda", "-b", "4", "--time-limit", "20ms", "--options", "settle=0",
               "--calibration", "none", "--format", "json"]
    for words, names, why in (
            # 32 experts are 32 products, and MLA's absorbed heads one each
            (["qwen3-30b-a3b"], {"moe.experts.gate_up", "moe.experts.down"}, "one product at a time"),
            (["deepseek-v2-lite"], {"moe.experts.gate_up", "moe.experts.down", "attn.k_absorb",
                                    "attn.v_absorb"}, "one product at a time"),
            # 16-bit kernels read twice the bytes of an 8-bit cache
            (["qwen2.5-0.5b", "--kv-dtype", "fp8"], {"attn.core"}, "KV cache"),
            (["qwen2.5-0.5b", "--act-dtype", "fp32", "--weight-dtype", "fp32", "--kv-dtype", "bf16"],
             {"attn.core"}, "KV cache"),
            (["mistral-7b-v0.1", "-s", "8000"], {"attn.core"}, "window"),
            (["qwen2.5-0.5b", "--weight-dtype", "int4", "--act-dtype", "fp8"],
             {"attn.qkv", "attn.out", "mlp.gate_up", "mlp.down"}, "narrower")):
        result, _ = on(["validate"] + words + options, "noise=0")
        report = parse_json(result.out)
        skipped = {row["label"].split()[-1]: row["why"] for row in report["skipped"]}
        for name in names:
            contains(skipped.get(name, "measured"), why, f"{words} {name}")
        contains(skipped.get("step", "measured"), "cannot be run", f"{words} whole step")
        # what is left agrees with the machine, whose operators are the roofline's
        for row in report["rows"]:
            if row["group"] == "gemm" and not row["label"].startswith("sum"):
                expect(row["measured"] > 0.7 * row["roofline"], f"{words}: {row}")


# ---- wrong numbers ----------------------------------------------------------------------------------

@case("unfused attention runs as batched products, scores and values beside a softmax pass")
def _():
    result, _ = on(["validate", "llama-2-7b", "--backend", "cuda", "-b", "2", "-s", "128", "-g", "2",
                    "--attention", "unfused", "--time-limit", "50ms", "--options", "settle=0"])
    for part in ("attn.scores", "attn.softmax", "attn.values", "whole step"):
        contains(result.out, part)
    expect("attn.core" not in result.out, "fused", result)


@case("a device is chosen by its number or the beginning of its UUID")
def _():
    listed, _ = on(["devices", "--backend", "cuda", "--format", "json"], "devices=3")
    uuids = [d["state"]["uuid"] for d in parse_json(listed.out)["devices"]]
    validate = ["validate", "llama-3.2-1b", "--backend", "cuda", "-b", "1", "--time-limit", "20ms",
                "--options", "settle=0", "--device"]
    on(validate + [uuids[2]], "devices=3")
    on(validate + ["2"], "devices=3")
    result, _ = on(validate + ["3"], "devices=3", code=2)
    one_line(result, "devices 0 to 2; found 3")
    result, _ = on(validate + ["GPU-ffffffff"], "devices=3", code=2)
    one_line(result, "no device 'GPU-ffffffff'", "3 devices are here")
    result, _ = on(validate + ["first"], "devices=3", code=2)
    one_line(result, "takes a number or a UUID", "'first'")


@case("a fast algorithm that computes wrong is not used, and said")
def _():
    with folder() as place:
        for wrong in (0, 1):
            samples = place / f"{wrong}.csv"
            result, _ = on(QUICK + ["-o", place / "c.yaml", "--samples", samples],
                           f"{ONE_FORMAT},wrong_algorithm={wrong}")
            contains(result.out, "of cuBLASLt rejected")
            contains(result.out, "is right")
            found = best(rows(samples), "bf16", "cublaslt-best")
            # the third algorithm reaches 97 %
            expect(found < 1.03 * RATE["bf16"], f"{found:.4g}: the wrong one was timed")
            close(found, RATE["bf16"] * (1 if wrong == 0 else 0.97), "fastest right", relative=0.03)


@case("a format whose every algorithm computes wrong is left out")
def _():
    with folder() as place:
        result, _ = on(QUICK + ["-o", place / "c.yaml", "--samples", place / "s.csv"],
                       "wrong_type=4,fp32=0,tf32=0,fp16=0,int8=0")
        contains(result.out, "no algorithm of cuBLASLt computes")
        equal([r for r in rows(place / "s.csv") if r["dtype"] == "fp8"], [])
        close(best(rows(place / "s.csv"), "bf16", "cublaslt-best"), RATE["bf16"], relative=0.03)


# ---- nothing to measure with ---------------------------------------------------------------------------

@case("each way of having no driver is told in one line, with exit code 5")
def _():
    with folder() as place:
        to = ["calibrate", "--backend", "cuda", "-o", place / "c.yaml"]
        for settings, fail, part in (("devices=0", "", "no NVIDIA device"),
                                     ("", "cuInit=100", "no NVIDIA device"),
                                     ("", "cuInit=34", "stub"),
                                     ("", "cuInit=35", "too old"),
                                     ("", "cuInit=36", "too old"),
                                     ("", "cuInit=803", "different versions"),
                                     ("", "cuInit=999", "cuInit")):
            result, _ = on(to, settings, fail, code=None)
            expect(result.code == 5 if fail != "cuInit=999" else result.code in (5, 7), fail, result)
            one_line(result, part)
        one_line(on(to + ["--device", "3"], "devices=2", code=2)[0], "0 to 1", "3")
        equal(list(place.iterdir()), [])


def without(place, library, symbol=None):
    """A folder of the libraries less one, or less one function of it."""
    for name in ("libcuda.so.1", "libnvidia-ml.so.1", "libcublasLt.so.13", "libnccl.so.2"):
        if name != library:
            (place / name).unlink(missing_ok=True)
            (place / name).symlink_to(f"{FAKES}/{name}")
        elif symbol:  # its name in the table of strings: it is then found no more
            data = pathlib.Path(FAKES, name).read_bytes()
            old = b"\0" + symbol.encode() + b"\0"
            expect(old in data, f"{name} has no {symbol}")
            (place / name).unlink(missing_ok=True)
            (place / name).write_bytes(data.replace(old, b"\0X" + old[2:]))
    return str(place)


def functions(list_name):
    """Names of one list of kernels/cuda/api.h."""
    header = pathlib.Path(os.environ["LLMPERF_SOURCE"], "kernels", "cuda", "api.h")
    text = header.read_text(encoding="utf-8").split(f"#define {list_name}(X)")[1]
    names = re.findall(r"X\((\w+),", text.split("\n\n")[0])
    expect(len(names) > 10, str(names))
    return names


@case("a driver that lacks a function is too old: each in turn")
def _():
    machine("x")
    with folder() as place:
        for name in functions("CUDA_DRIVER_FUNCTIONS"):
            libraries = without(place, "libcuda.so.1", name)
            result, _ = on(["devices", "--backend", "cuda"], code=5, libraries=libraries)
            contains(result.err + result.out, name)


@case("a cuBLASLt that lacks a function leaves products out: each in turn")
def _():
    machine("x")
    with folder() as place:
        names = functions("CUDA_LT_FUNCTIONS")
        for name in names if EVERY else names[::4] + ["cublasLtGetVersion"]:
            libraries = without(place, "libcublasLt.so.13", name)
            result, _ = on(["devices", "--backend", "cuda"], libraries=libraries)
            contains(result.out, f"cuBLASLt has no {name}")


@case("NVML is optional: as a whole, each function of it, and each refused")
def _():
    machine("x")
    with folder() as place:
        names = functions("CUDA_NVML_FUNCTIONS")
        result, _ = on(["devices", "--backend", "cuda"], libraries=without(place, "libnvidia-ml.so.1"))
        contains(result.out, "NVML is not here")
        for name in names if EVERY else names[::3]:
            on(["devices", "--backend", "cuda"], libraries=without(place, "libnvidia-ml.so.1", name))
        for name in names:
            for code in (3, 4):
                if name != "nvmlShutdown":
                    on(["devices", "--backend", "cuda"], fail=f"{name}={code}")
    with nearly_done() as place:
        result, _ = again(place, fail=",".join(f"{n}=4" for n in names if n[:10] == "nvmlDevice"),
                          code=0)
        contains(result.out, "NVML")
        again(place, fail="nvmlDeviceGetPowerUsage=4,nvmlDeviceGetClockInfo=3", code=0)


@case("nothing that cuBLASLt supports: memory and attention are measured all the same")
def _():
    with folder() as place:
        result, _ = on(QUICK + ["-o", place / "c.yaml", "--samples", place / "s.csv"],
                       fail="cublasLtMatmulAlgoGetHeuristic=15")
        contains(result.out, "not supported")
        ops = {r["op"] for r in rows(place / "s.csv")}
        expect("attn_decode" in ops and "copy" in ops and "gemm" not in ops, str(ops))


@case("a small or nearly full device is measured as far as its memory goes")
def _():
    with folder() as place:
        for settings in ("memory=6e9", "used=147e9"):
            _, report = on(QUICK + ["-o", place / "c.yaml", "--samples", place / "s.csv"],
                           f"{ONE_FORMAT},{settings}")
            expect(report["peak_bytes"] < 6e9, str(report))
            (place / "s.csv").unlink()


# ---- faults while it runs -------------------------------------------------------------------------------

CLEAN = (0, 5, 7, 9)  # done, not possible here, device error, out of memory


@case("no memory at any allocation: a clean message or a probe left out, and nothing left behind")
def _():
    with nearly_done() as place:
        _, report = again(place, code=0)
        outcomes = {}
        for n in some(report["allocating"], 24):
            result, found = again(place, fail=f"alloc=2@{n}")
            expect(result.code in CLEAN, f"allocation {n}", result)
            equal(found["injected"], 1, f"allocation {n}")
            if result.code != 0:
                one_line(result, "memory")
                expect(not (place / "c.yaml").exists(), "half a calibration")
            outcomes[result.code] = outcomes.get(result.code, 0) + 1
        expect(outcomes.get(0, 0) > 0 and len(outcomes) > 1, str(outcomes))
        result, _ = again(place, fail="alloc=2@20+")
        expect(result.code in CLEAN, "", result)


@case("a launch that fails, an ECC error, an illegal address: exit code 7, samples kept")
def _():
    with nearly_done() as place:
        _, report = again(place, code=0)
        for code, name in ((719, "LAUNCH_FAILED"), (214, "ECC_UNCORRECTABLE"),
                           (700, "ILLEGAL_ADDRESS")):
            for n in some(report["launches"], 3):
                result, _ = again(place, fail=f"cuLaunchKernel={code}@{n}", code=7)
                one_line(result, name)
                expect(not (place / "c.yaml").exists(), "half a calibration")
                expect(len(rows(place / "s.csv")) >= len(rows(place / "start.csv")), "samples lost")
            result, _ = again(place, settings=f"fault_at={report['launches'] // 3},fault_code={code}",
                              code=7)
            one_line(result, name)


@case("any call that fails: a clean end, and nothing left behind")
def _():
    with nearly_done() as place:
        _, report = again(place, code=0)
        # start-up call by call: what failed half-way must not be taken for done by the next probe
        for n in range(1, 60, 5 if SANITIZED else 2):
            result, _ = again(place, fail=f"driver=800@{n}")
            expect(result.code in CLEAN, f"code 800 at call {n}", result)
        for code in (1, 2, 214, 719, 800, 999):
            for n in some(min(report["driver_calls"], 3000), 6):
                result, _ = again(place, fail=f"driver={code}@{n}")
                expect(result.code in CLEAN, f"code {code} at call {n}", result)
        for code in (3, 7, 14, 15):
            for n in some(60, 4):
                result, _ = again(place, fail=f"lt={code}@{n}")
                expect(result.code in CLEAN, f"cuBLASLt {code} at call {n}", result)


@case("a kernel that never ends: exit code 7 at once by the machine's clock, and said")
def _():
    with nearly_done() as place:
        _, report = again(place, code=0)
        for n in some(report["launches"], 4):
            result, found = again(place, settings=f"hang_at={n}", code=7, may_hang=True)
            equal(found["hung"], 1)
            one_line(result, "did not end within 30 s")


@case("heat for a moment is waited out; heat for good is flagged and does not stop the run")
def _():
    with folder() as place:
        on(QUICK + ["-o", place / "c.yaml", "--samples", place / "s.csv"],
           f"{ONE_FORMAT},throttle_from=4,throttle_for=0.05,throttle_factor=1.5")
        check_rates(rows(place / "s.csv"), {}, ["bf16"])
        (place / "s.csv").unlink()
        result, _ = on(QUICK + ["-o", place / "c.yaml", "--samples", place / "s.csv"],
                       f"{ONE_FORMAT},throttle_from=0,throttle_for=1e9,throttle_factor=1.3")
        contains(result.out, "throttled")
        samples = rows(place / "s.csv")
        timed = [r for r in samples if r["op"] == "gemm"]
        expect(all("throttled" in r["flags"] for r in timed), str(timed[0]))
        close(best(samples, "bf16", "cublaslt-best"), RATE["bf16"] / 1.3, relative=0.03)


@case("another process on the device is flagged")
def _():
    with nearly_done() as place:
        again(place, settings="others=1", code=0)
        new = rows(place / "s.csv")[len(rows(place / "start.csv")):]
        expect(new and all("contended" in r["flags"] for r in new), str(new[:1]))


@case("a cold device reads more until it settles; that is waited for and said")
def _():
    with folder() as place:
        result, _ = on(QUICK + ["-o", place / "c.yaml", "--samples", place / "s.csv"],
                       f"{ONE_FORMAT},cold=0.06,settle=0.5")
        contains(result.out, "measured settled")
        check_rates(rows(place / "s.csv"), {}, ["bf16"])


@case("Ctrl-C: complete rows, no calibration, the device idle and given back, then it goes on")
def _():
    with folder() as place, folder() as reports:
        args = QUICK + ["-o", place / "c.yaml", "--samples", place / "s.csv"]
        with subprocess.Popen([EXE] + [str(a) for a in args], stdout=subprocess.DEVNULL,
                              env=environment(machine(reports, ONE_FORMAT)), stderr=subprocess.PIPE,
                              text=True) as process:
            for line in process.stderr:
                if line.startswith("[20/"):
                    process.send_signal(signal.SIGINT)
                    break
            rest = process.stderr.read()
            process.wait(timeout=60)
        equal(process.returncode, -signal.SIGINT)
        contains(rest, "the same command goes on from there")
        check_report(reports)
        equal(sorted(f.name for f in place.iterdir()), ["s.csv"])
        kept = rows(place / "s.csv")
        expect(20 <= len(kept) and all(float(r["time_s"]) > 0 for r in kept), f"{len(kept)} rows")
        result, _ = on(args, ONE_FORMAT)
        contains(result.err, f"{len(kept)} of ")


# ---- several devices -----------------------------------------------------------------------------------

ALL = ["--devices", "all"]


@case("collectives between four devices are found as the link was set")
def _():
    with folder() as place:
        on(QUICK + ALL + ["-o", place / "c.yaml", "--samples", place / "s.csv"],
           f"{ONE_FORMAT},devices=4,nvlink=300e9")
        samples = [r for r in rows(place / "s.csv") if r["library"] == "nccl"]
        largest = {r["op"]: r for r in samples}  # sizes rise
        for op, moved in (("all_reduce", 2 * 3 / 4), ("all_gather", 3 / 4), ("reduce_scatter", 3 / 4),
                          ("send_recv", 1)):
            row = largest[op]
            equal(row["devices"], "4")
            close(moved * float(row["bytes"]) / float(row["time_s"]), 300e9, op, relative=0.03)


@case("collectives that hang are stopped by the watch")
def _():
    with nearly_done() as place:
        shutil.copy(place / "start.csv", place / "s.csv")
        result, _ = on(QUICK + ALL + ["-o", place / "c.yaml", "--samples", place / "s.csv",
                                      "--options", "timeout=1"],
                       f"{ONE_FORMAT},devices=2,nccl_hang=5", code=None, may_hang=True)
        expect(result.code in (0, 7), "", result)
        contains(result.err + result.out, "did not end within 1 s")


@case("no NCCL, or one device: said")
def _():
    machine("x")
    with nearly_done() as place, folder() as libraries:
        args = QUICK + ALL + ["-o", place / "c.yaml", "--samples", place / "s.csv"]
        for settings, missing, part in (("devices=2", "libnccl.so.2", "NCCL"),
                                        ("devices=1", None, "two devices")):
            shutil.copy(place / "start.csv", place / "s.csv")
            result, _ = on(args, f"{ONE_FORMAT},{settings}", code=None,
                           libraries=without(libraries, missing, missing and "ncclAllReduce"))
            expect(result.code in (0, 5), "", result)
            contains(result.err + result.out, part)


main()
