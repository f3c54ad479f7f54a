#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""llmperf plot: the figures, their numbers, and every way of writing them."""
import csv
import io
import math
import os
import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree

from llmperf_test import (EXE, H100_BF16, H100_BW, SOURCE, Skip, case, close, contains, environment,
                          equal, expect, folder, main, run, run_json)

SVG = "{http://www.w3.org/2000/svg}"

KINDS = [
    "roofline llama-3.1-8b h100-sxm -b 1,64 --calibration none",
    "roofline deepseek-v3 h200-sxm --tp 8",
    "batch llama-3.1-8b h100-sxm --tpot 30ms --calibration none",
    "batch llama-3.1-70b h100-sxm --tp 4",
    "dense h100-sxm --hidden 2048,4096 --calibration none",
    "dense llama-3.1-8b h100-sxm",
    "attention llama-2-7b a100-sxm-80gb --attention unfused",
    "attention llama-3.1-8b h100-sxm -s 512,2048",
]


def svg_of(arguments):
    return ElementTree.fromstring(run(f"plot {arguments} --format svg", code=0).out)


def numbers(element):
    """Every coordinate that an element has, as x and y."""
    for name in ("x", "cx", "y", "cy"):
        if name in element.attrib:
            yield name[-1], float(element.attrib[name])


def panel(plot, name):
    return next(p for p in plot["panels"] if p["name"] == name)


def series(panel_, name):
    return next(s["points"] for s in panel_["series"] if s["name"] == name)


for _arguments in KINDS:
    @case(f"{_arguments}: a picture that is XML, inside its frame")
    def _(arguments=_arguments):
        for size in ("", "--width 480", "--width 1600 --height 900", "--width 300 --height 4"):
            root = svg_of(f"{arguments} {size}")
            equal(root.tag, f"{SVG}svg")
            width, height = float(root.attrib["width"]), float(root.attrib["height"])
            if size.startswith("--width 1600"):
                equal((width, height), (1600.0, 900.0))
            for element in root.iter():
                for axis, value in numbers(element):
                    most = width if axis == "x" else height
                    expect(-1 <= value <= most + 1, f"{element.tag} {element.attrib} outside")
            texts = [t.text for t in root.iter(f"{SVG}text")]
            expect(len(texts) > 10 and all(texts), "texts")

    @case(f"{_arguments}: text within 80 columns, the same in ASCII")
    def _(arguments=_arguments):
        text = run(f"plot {arguments}", code=0).out
        expect(max(map(len, text.splitlines())) <= 80, text)
        expect(re.search("[\u2801-\u28ff]", text), "braille")
        expect("\033" not in text, "no colour into a pipe")
        plain = run(f"plot {arguments} --ascii --width 60", code=0).out
        expect(plain.isascii(), plain)
        expect(max(map(len, plain.splitlines())) <= 60 or "FLOP" in plain, plain)

    @case(f"{_arguments}: CSV and JSON hold the same finite numbers")
    def _(arguments=_arguments):
        plot = run_json(f"plot {arguments}")
        rows = list(csv.DictReader(io.StringIO(run(f"plot {arguments} --format csv", code=0).out)))
        listed = [(p["name"], s["name"], point[p["x"]["field"]], point[p["y"]["field"]])
                  for p in plot["panels"] for s in p["series"] for point in s["points"]]
        found = [(r["panel"], r["series"], float(r["x"]), float(r["y"])) for r in rows
                 if r["series"] != "mark"]
        equal(found, listed)
        expect(all(math.isfinite(v) and v > 0 for row in listed for v in row[2:]))
        marks = [m["text"] for p in plot["panels"] for m in p["marks"]]
        equal([r["label"] for r in rows if r["series"] == "mark"], marks)


@case("without a calibration every operator lies on the roof, at the place that layers says")
def _():
    plot = run_json("plot roofline llama-3.1-8b h100-sxm -b 8 --calibration none")
    layers = run_json("layers llama-3.1-8b h100-sxm -b 8 --calibration none")
    decode = next(p for p in layers["phases"] if p["phase"] == "decode")["ops"]
    points = series(plot["panels"][0], "decode, batch 8")
    expect({"attn.qkv", "attn.core", "mlp.down"} <= {p["label"] for p in points}, str(points))
    for point in points:
        x, y = point["intensity_flop_per_byte"], point["flop_per_s"]
        ops = [o for o in decode if o["name"] == point["label"]]
        close(x, sum(o["flop"] * o["repeat"] for o in ops) /
              sum(o["bytes"] * o["repeat"] for o in ops), point["label"])
        close(y, sum(o["flop"] * o["repeat"] for o in ops) /
              sum(o["time_s"] * o["repeat"] for o in ops), point["label"])
        if len(ops) == 1:
            close(y, min(x * H100_BW, H100_BF16), point["label"])


@case("the ridge point is peak / bandwidth, and the roof bends there")
def _():
    (one,) = run_json("plot roofline llama-3.1-8b h100-sxm --calibration none")["panels"]
    (ridge,) = one["marks"]
    close(ridge["value"], H100_BF16 / H100_BW)  # 295.3
    contains(ridge["text"], "295")
    roof = series(one, "roof: peaks of the device")
    close(roof[1]["intensity_flop_per_byte"], ridge["value"])
    close(roof[1]["flop_per_s"], H100_BF16)
    close(roof[0]["flop_per_s"] / roof[0]["intensity_flop_per_byte"], H100_BW)


@case("with a calibration the roof that is reached lies below the datasheet's")
def _():
    (one,) = run_json("plot roofline llama-3.1-8b h100-sxm --calibration h100-sxm-vllm")["panels"]
    reached = series(one, "roof: what the calibration allows linear layers")
    expect(reached[1]["flop_per_s"] < H100_BF16)
    expect(reached[0]["flop_per_s"] / reached[0]["intensity_flop_per_byte"] < H100_BW)
    top = max(p["flop_per_s"] for p in series(one, "prefill"))
    expect(top < H100_BF16, "operators stay below the roof")


@case("the batch figure is the sweep, with predict's limits as marks")
def _():
    arguments = "llama-3.1-8b h100-sxm --calibration h100-sxm-vllm"
    plot = run_json(f"plot batch {arguments} -b 1..256*2 --tpot 20ms")
    rows = run_json(f"sweep {arguments} -b 1..256*2")["rows"]
    predicted = run_json(f"predict {arguments} --tpot 20ms")
    rate, time = panel(plot, "throughput"), panel(plot, "latency")
    for row, a, b in zip(rows, series(rate, "predicted"), series(time, "predicted"), strict=True):
        equal(a["batch"], row["batch"])
        close(a["tokens_per_s"], row["tokens_per_s"])
        for point, of_row in (("time_s", "time_s"), ("time_s_low", "time_low_s"),
                              ("time_s_high", "time_high_s")):
            close(b[point], row[of_row])
        close(a["tokens_per_s_high"], row["batch"] / row["time_low_s"])
    texts = {m["text"]: m for m in time["marks"]}
    wide = panel(run_json(f"plot batch {arguments}"), "latency")
    memory = next(m for m in wide["marks"] if m["text"].startswith("memory full"))
    equal(memory["value"], predicted["memory"]["max_batch"])
    dense = predicted["compute_bound_batch"]
    for basis in ("datasheet", "calibrated"):
        mark = next(m for m in wide["marks"] if m["text"].startswith("linear") and basis in m["text"])
        equal(mark["value"], dense[basis]["dense"]["value"], basis)
    target = next(m for t, m in texts.items() if t.startswith("target"))
    close(target["value"], 0.02)
    contains(target["text"], f"batch {predicted['max_batch_at_tpot']}")


@case("with an engine's profile the figure is the sweep with that profile")
def _():
    words = "llama-3.1-8b h100-sxm --engine vllm -b 1,64"
    plot = run_json(f"plot batch {words}")
    rows = run_json(f"sweep {words}")["rows"]
    for row, point in zip(rows, series(panel(plot, "latency"), "predicted"), strict=True):
        close(point["time_s"], row["time_s"])
    contains(plot["subtitle"], "vllm")


@case("a model that does not fit at all says so in its figure")
def _():
    plot = run_json("plot batch llama-3.1-70b l40s -b 1..16")
    contains(plot["panels"][0]["marks"][0]["text"], "does not fit")
    text = run("plot batch llama-3.1-70b l40s", code=0).out
    contains(text, "does not fit: not even one sequence")


@case("dense layers: time is flat to the knee, then grows with the work")
def _():
    plot = run_json("plot dense h100-sxm --hidden 4096 --tokens 1,64,346,692 --calibration none")
    points = series(panel(plot, "dense_latency"), "h = 4096")
    times = [p["time_s"] for p in points]
    # below the knee: weights 2 h h bytes over the bandwidth, and a little for activations
    close(times[0], (2 * 4096 * 4096 + 4 * 4096) / H100_BW)
    expect(times[1] < 1.04 * times[0])
    close(times[3], 2 * times[2], "twice the work, twice the time")
    (knee,) = series(panel(plot, "dense_latency"), "compute-bound from here on (b s)")
    equal(knee["label"], "346")  # 1 / (1/295.34 - 2/4096) = 345.1


@case("attention: the time of unfused products grows with the batch, their rate does not")
def _():
    plot = run_json("plot attention llama-2-7b h100-sxm --attention unfused -s 128 -b 1,16 "
                    "--calibration none")
    for phase in ("prefill", "decode"):
        rate = series(panel(plot, f"{phase}_throughput"), "s = 128")
        time = series(panel(plot, f"{phase}_latency"), "s = 128")
        close(rate[1]["flop_per_s"], rate[0]["flop_per_s"], phase)
        close(time[1]["time_s"], 16 * time[0]["time_s"], phase)
    # prefill, 32 heads of 128: 2 b n s s d flop; Q, K and the scores cross memory
    flop, bytes_ = 2 * 32 * 128 * 128 * 128, 2 * 32 * (128 * 128 + 128 * 128 + 128 * 128)
    point = series(panel(plot, "prefill_latency"), "s = 128")[0]
    expect(point["time_s"] >= max(flop / H100_BF16, bytes_ / H100_BW) * (1 - 1e-9))


@case("hostile names of a file stay text in every format")
def _():
    with folder() as here:
        name = 'name: "</text><script>alert(1)</script>&,=1+1"'
        source = run("specs show llama-3.2-1b --format yaml", code=0).out
        text = re.sub(r"^name: .*$", lambda _: name, source, count=1, flags=re.M)
        path = here / "m.yaml"
        path.write_text(text, encoding="utf-8")
        for kind in ("roofline", "batch", "dense", "attention"):
            root = svg_of(f"{kind} {path} h100-sxm")
            expect(not list(root.iter(f"{SVG}script")), "script")
            contains(root.find(f"{SVG}title").text, "<script>")
            contains(run(f"plot {kind} {path} h100-sxm", code=0).out, "<script>")


@case("the same command writes the same bytes, whatever the locale says")
def _():
    words = "plot roofline llama-3.1-8b h100-sxm --format svg"
    first = run(words, code=0).out
    for locale in ("C", "C.UTF-8", "de_DE.UTF-8"):
        equal(run(words, env={"LC_ALL": locale}, code=0).out, first, locale)


@case("where the locale is not UTF-8 text is ASCII")
def _():
    words = "plot batch llama-3.1-8b h100-sxm"
    expect(run(words, env={"LC_ALL": "C"}, code=0).out.isascii())
    expect(run(words, env={"LC_ALL": None, "LC_CTYPE": None, "LANG": None}, code=0).out.isascii())
    expect(not run(words, env={"LC_ALL": None, "LANG": "en_US.utf8"}, code=0).out.isascii())


@case("a suffix picks the format, --format wins")
def _():
    with folder() as here:
        for suffix, begin in ((".svg", "<svg"), (".csv", "panel,"), (".json", "{"),
                              (".txt", "Roofline")):
            path = here / f"x{suffix}"
            run(["plot", "roofline", "gpt2", "l40s", "-o", path], code=0)
            expect(path.read_text("utf-8").startswith(begin), suffix)
        run(["plot", "roofline", "gpt2", "l40s", "-o", here / "x.SVG"], code=0)
        expect((here / "x.SVG").read_text("utf-8").startswith("<svg"))
        run(["plot", "roofline", "gpt2", "l40s", "-o", here / "y.d", "--format", "svg"], code=0)
        result = run(["plot", "roofline", "gpt2", "l40s", "-o", here / "z.pdf"], code=2)
        contains(result.err, "the suffix '.pdf'; .txt, .json, .csv, .svg, .png, or")
        expect(not (here / "z.pdf").exists())
        run(["plot", "roofline", "gpt2", "l40s", "-o", here / "no" / "x.svg"], code=4)
        run(["plot", "roofline", "gpt2", "l40s", "-o", here / "y.txt", "--format", "csv"], code=0)
        expect((here / "y.txt").read_text("utf-8").startswith("panel,"))


@case("-o FILE.png is the picture with --scale pixels a pixel")
def _():
    if os.environ.get("LLMPERF_PNG") != "yes":
        raise Skip("built without librsvg")
    # what libraries keep until the end is not ours
    kept = {"LSAN_OPTIONS": f"suppressions={SOURCE / 'tests' / 'lsan.supp'}:print_suppressions=0"}
    with folder() as here:
        for options, size in (("", (1800, None)), ("--width 500 --height 300", (1000, 600)),
                              ("--width 500 --height 300 --scale 1", (500, 300))):
            path = here / "x.png"
            run(f"plot roofline gpt2 l40s {options} -o {path}", env=kept, code=0)
            data = path.read_bytes()
            equal(data[:8], b"\x89PNG\r\n\x1a\n")
            width, height = (int.from_bytes(data[i:i + 4], "big") for i in (16, 20))
            equal((width, height if size[1] else None), size)
        result = run(f"plot roofline gpt2 l40s --width 8192 --height 8192 --scale 9 -o {path}.png",
                     env=kept, code=2)
        contains(result.err, "at most 100 million")
        equal([p.name for p in here.iterdir()], ["x.png"])


@case("a program without the module says what is missing, and exits 5")
def _():
    with folder() as here:
        shutil.copy(EXE, here / "llmperf")
        (here / "out").mkdir()
        done = subprocess.run([here / "llmperf", "plot", "roofline", "gpt2", "l40s", "-o",
                               here / "out" / "x.png"], env=environment(), capture_output=True,
                              cwd=here, check=False)
        if done.returncode == 0:
            raise Skip("an installed module was found")
        equal(done.returncode, 5)
        message = done.stderr.decode()
        for part in ("llmperf-png.so", "librsvg2-dev", "svg is allowed"):
            contains(message, part)
        equal(list((here / "out").iterdir()), [])
        # and never one from where the user stands
        (here / "llmperf-png.so").write_bytes(b"")
        (here / "png").mkdir()
        done = subprocess.run([here / "llmperf", "plot", "roofline", "gpt2", "l40s", "-o",
                               here / "out" / "x.png"], env=environment({"LLMPERF_MODULES": "."}),
                              capture_output=True, cwd=here, check=False)
        equal(done.returncode, 5)
        contains(done.stderr.decode(), "there is no llmperf-png.so")


def need_calib():
    if run("compare --help").code != 0:
        raise Skip("built without the measuring room")


OPS = SOURCE / "tests" / "data" / "ops"


@case("residuals are measured over predicted, of the samples of the calibration's library")
def _():
    need_calib()
    with folder() as here:
        path = here / "s.csv"
        # 16384 x 16384 in bf16, m = 1: 2 n k + 2 (n + k) bytes, far more than any cache
        bound = (2 * 16384 * 16384 + 4 * 16384) / H100_BW
        path.write_text("gpu,library,dtype,op,m,n,k,time_s\n"
                        f"h100-sxm,x,bf16,gemm,1,16384,16384,{2 * bound!r}\n"
                        f"l40s,x,bf16,gemm,1,16384,16384,{bound!r}\n", "utf-8")
        plot = run_json(["plot", "residuals", "h100-sxm", "--samples", path, "--calibration",
                         "none"])
        (one,) = plot["panels"]
        equal(one["name"], "gemm bf16")
        (point,) = series(one, "inside the interval")
        close(point["measured_per_predicted"], 2)
        close(point["roofline_s"], bound)
        contains(" ".join(plot["notes"]), "1 of 2 samples left out: 1 of other devices")


@case("residuals of public samples: a panel a kind, pictures and text of them")
def _():
    need_calib()
    files = ",".join(str(OPS / f"aic_{kind}_h100_sxm{tail}.csv") for kind, tail in
                     (("gemm", "_bfloat16"), ("attn_decode", ""), ("attn_prefill", "")))
    words = f"residuals h100-sxm --samples {files}"
    plot = run_json(f"plot {words}")
    equal({p["name"] for p in plot["panels"]},
          {"gemm bf16", "attn_decode bf16", "attn_decode bf16, KV fp8", "attn_prefill bf16"})
    points = [p for one in plot["panels"] for s in one["series"] for p in s["points"]]
    expect(all(0.1 < p["measured_per_predicted"] < 10 for p in points))
    drawn = sum(1 for tag in ("circle", "path") for _ in svg_of(words).iter(f"{SVG}{tag}"))
    expect(drawn >= len(points), f"{drawn} of {len(points)}")
    expect(max(map(len, run(f"plot {words}", code=0).out.splitlines())) <= 80)


@case("dense and attention with --samples pair measured points with predicted lines")
def _():
    need_calib()
    with folder() as here:
        path = here / "s.csv"
        rows = [f"h100-sxm,bf16,gemm,{m},8192,8192,,,,,,{1e-4 + m * 2e-7}" for m in
                (1, 64, 512, 4096)]
        rows += [f"h100-sxm,bf16,attn_decode,,,,{b},1,4096,32,8,{1e-5 * b}" for b in (8, 16, 32, 64)]
        path.write_text("gpu,dtype,op,m,n,k,batch,seq_q,seq_kv,heads,kv_heads,time_s,head_dim\n" +
                        "".join(f"{row},128\n" for row in rows), "utf-8")
        plot = run_json(["plot", "dense", "h100-sxm", "--samples", path])
        both = [s["points"] for s in panel(plot, "dense_latency")["series"]
                if s["name"] == "8192 x 8192, bf16"]
        equal(len(both), 2)
        close(both[1][0]["time_s"], 1e-4 + 2e-7)
        close(both[0][0]["flop"], 2 * 8192 * 8192)
        close(both[0][-1]["flop"], both[1][-1]["flop"])
        plot = run_json(["plot", "attention", "h100-sxm", "--samples", path])
        equal([p["name"] for p in plot["panels"]], ["decode_throughput", "decode_latency"])
        contains(plot["subtitle"], "32 heads, 8 KV heads of 128")


@case("measurements: what is missing or wrong is said, and nothing written")
def _():
    need_calib()
    with folder() as here:
        path, bad = here / "x.svg", here / "bad.csv"
        bad.write_text("gpu,dtype,op,m,n,k,time_s\nl40s,bf16,gemm,1,2,3,1e-6\n", "utf-8")
        for words, code, part in (
                ("residuals h100-sxm", 2, "--samples FILE.csv"),
                ("attention h100-sxm", 2, "--samples FILE.csv"),
                (f"dense gpt2 h100-sxm --samples {bad}", 2, "without MODEL"),
                ("residuals h100-sxm --samples nowhere.csv", 4, "nowhere.csv"),
                (f"residuals h100-sxm --samples {bad}", 5, "1 of other devices")):
            result = run(f"plot {words} -o {path}", code=code)
            contains(result.err, part)
            expect(not path.exists())


@case("--map, --library, --dtype and --op choose samples as fit does")
def _():
    need_calib()
    with folder() as here:
        path = here / "s.csv"
        # 16384 x 16384, m = 1: far more than any cache; the time column has another name
        path.write_text("gpu,library,dtype,op,m,n,k,bytes,devices,kernel_us\n"
                        "h100-sxm,vllm,bf16,gemm,1,16384,16384,,,300\n"
                        "h100-sxm,sglang,bf16,gemm,1,16384,16384,,,310\n"
                        "h100-sxm,vllm,fp8,gemm,1,16384,16384,,,160\n"
                        "h100-sxm,,bf16,gemm,1,16384,16384,,,320\n"
                        "h100-sxm,nccl,bf16,all_reduce,,,,16777216,8,120\n", "utf-8")
        words = ["plot", "residuals", "h100-sxm", "--calibration", "none", "--samples", path,
                 "--map", "kernel_us=time_us"]

        def groups(*more):
            plot = run_json([*words, *more])
            return {p["name"]: sum(len(s["points"]) for s in p["series"]) for p in plot["panels"]}

        equal(groups(), {"gemm bf16": 3, "gemm fp8": 1, "all_reduce": 1})
        equal(groups("--library", "vllm"), {"gemm bf16": 1, "gemm fp8": 1})
        equal(groups("--library", "vllm,-"), {"gemm bf16": 2, "gemm fp8": 1})
        equal(groups("--dtype", "bfloat16", "--op", "gemm"), {"gemm bf16": 3})
        equal(groups("--op", "all_reduce"), {"all_reduce": 1})
        notes = run_json([*words, "--library", "vllm"])["notes"]
        contains(" ".join(notes), "3 of 5 samples left out: 3 of other libraries")
        for more, code, part in (
                (["--library", "trtllm"], 5, "the files have vllm, sglang, nccl"),
                (["--op", "gem"], 2, "did you mean 'gemm'"),
                (["--dtype", "bf17"], 2, "did you mean 'bf16'"),
                (["--map", "kernel_us"], 2, "kernel_us")):
            contains(run([*words, *more], code=code).err, part)
        # without the map the header tells no time
        run(words[:-2], code=3)


@case("dense and attention say what of the measurements they leave out")
def _():
    need_calib()
    with folder() as here:
        path = here / "s.csv"
        rows = [f"h100-sxm,bf16,{m},{n},{n},{1e-4}" for n in (8192, 9216, 10240, 11264, 12288, 13312)
                for m in (1, 8, 64, 512)]
        path.write_text("gpu,dtype,m,n,k,time_s,op\n" + "".join(f"{r},gemm\n" for r in rows) +
                        "l40s,bf16,1,4096,4096,1e-4,gemm\n", "utf-8")
        notes = " ".join(run_json(["plot", "dense", "h100-sxm", "--samples", path])["notes"])
        contains(notes, "1 of 25 samples left out: 1 of other devices")
        contains(notes, "5 of 6 weight matrices are drawn; --hidden chooses")
        plot = run_json(["plot", "dense", "h100-sxm", "--samples", path, "--hidden", "9216,13312"])
        names = {s["name"] for s in plot["panels"][0]["series"]}
        expect({"9216 x 9216, bf16", "13312 x 13312, bf16"} <= names and len(names) == 3, str(names))
        result = run(["plot", "dense", "h100-sxm", "--samples", path, "--hidden", "4097"], code=5)
        contains(result.err, "no GEMM of a --hidden size")


@case("attention --samples --attention unfused draws products of queries and keys")
def _():
    need_calib()
    with folder() as here:
        path = here / "s.csv"
        rows = [f"h100-sxm,bf16,attn_scores,{b},1024,1024,32,32,128,cold,{1e-4 * b}\n"
                for b in (1, 2, 4, 8)]
        path.write_text("gpu,dtype,op,batch,seq_q,seq_kv,heads,kv_heads,head_dim,regime,time_s\n" +
                        "".join(rows), "utf-8")
        words = ["plot", "attention", "h100-sxm", "--samples", path]
        plot = run_json([*words, "--attention", "unfused", "--calibration", "none"])
        contains(plot["title"], "Product of queries and keys")
        equal([p["name"] for p in plot["panels"]], ["prefill_throughput", "prefill_latency"])
        predicted, measured = (s["points"] for s in plot["panels"][1]["series"])
        close(measured[1]["time_s"], 2e-4)
        # roofline: 2 b n s s d flop; Q and K of b n s d, scores of b n s s values of 2 bytes
        flop, bytes_ = 2 * 32 * 1024**2 * 128, 2 * 32 * (2 * 1024 * 128 + 1024**2)
        close(predicted[0]["time_s"], max(flop / H100_BF16, bytes_ / H100_BW))
        contains(run(words, code=5).err, "no attention at three or more batches")


@case("one batch, one length, one size: a picture and text of each")
def _():
    for words in ("batch llama-3.1-8b h100-sxm -b 1", "batch gpt2 l40s -b 7 --calibration none",
                  "attention gpt2 l40s -s 5 -b 3", "dense l40s --hidden 512 --tokens 3"):
        root = svg_of(words)
        for element in root.iter():
            for axis, value in numbers(element):
                most = float(root.attrib["width" if axis == "x" else "height"])
                expect(-1 <= value <= most + 1, f"{words}: {element.attrib}")
        expect(len(list(root.iter(f"{SVG}circle"))) >= 2, words)
        run(f"plot {words}", code=0)
        run(f"plot {words} --ascii", code=0)


@case("a model with 13 dense operators: every curve looks different, every knee has its colour")
def _():
    root = svg_of("dense deepseek-v3 h200-sxm --tp 8 --calibration none")
    lines = [(p.attrib["stroke"], p.attrib.get("stroke-dasharray", "")) for p in
             root.iter(f"{SVG}path") if p.attrib.get("stroke-width") == "2" and
             p.attrib.get("fill") == "none"]
    half = len(lines) // 2  # two panels
    equal(len(set(lines[:half])), half)
    text = run("plot dense deepseek-v3 h200-sxm --tp 8 --ascii", code=0).out
    keys = re.findall(r"^  (\S) \S+, \d+ x \d+$", text.split("Linear layer: time")[0], re.M)
    equal(len(set(keys)), len(keys), "keys in ASCII")
    equal(len(keys), half)


@case("the dense layers lie under the roof that the calibration allows them")
def _():
    for words in ("llama-3.1-70b h100-sxm --tp 4 -b 1,64", "mixtral-8x7b a100-sxm-80gb --tp 2 -b 16"):
        (one,) = run_json(f"plot roofline {words}")["panels"]
        start, corner, _ = series(one, "roof: what the calibration allows linear layers")
        bandwidth = start["flop_per_s"] / start["intensity_flop_per_byte"]
        for s in one["series"]:
            for p in s["points"]:
                if not p.get("label", "").startswith(("attn.q", "attn.out", "mlp.", "moe.experts.g",
                                                      "moe.experts.d")) or "act" in p["label"]:
                    continue
                roof = min(corner["flop_per_s"], bandwidth * p["intensity_flop_per_byte"])
                expect(p["flop_per_s"] <= roof * (1 + 1e-9), f"{s['name']}: {p}")


FAULTS = [
    ("plot", 2, "takes roofline|batch|"),
    ("plot rooflin llama-3.1-8b h100-sxm", 2, "did you mean 'roofline'"),
    ("plot roofline llama-3.1-8b", 2, "'plot roofline' takes MODEL HARDWARE"),
    ("plot roofline llama-3.1-8b h100-sxm -b 1..9", 2, "1 to 4"),
    ("plot batch llama-3.1-8b h100-sxm -s 1,2", 2, "'plot batch' takes one"),
    ("plot batch llama-3.1-8b h100-sxm -b 1..5000", 2, "takes at most 1024"),
    ("plot batch llama-3.1-8b h100-sxm -b 0", 2, "--batch"),
    ("plot batch nosuch-model h100-sxm", 2, "nosuch-model"),
    ("plot dense h100-sxm --hidden 4096 --weight-dtype nosuch", 2, "--weight-dtype"),
    ("plot batch llama-3.1-8b h100-sxm --format gif", 2, "gif"),
    ("plot batch llama-3.1-8b h100-sxm --width 1", 2, "--width"),
    ("plot batch llama-3.1-8b h100-sxm --hidden 4096", 2, "belongs to 'plot dense HARDWARE'"),
    ("plot dense llama-3.1-8b h100-sxm --hidden 4096", 2, "belongs to 'plot dense HARDWARE'"),
    ("plot batch llama-3.1-8b h100-sxm --tokens 4", 2, "belongs to 'plot dense'"),
    ("plot roofline llama-3.1-8b h100-sxm --samples x.csv", 2, "belongs to 'plot dense'"),
    ("plot dense h100-sxm --library vllm", 2, "belongs to measurements (--samples)"),
    ("plot dense h100-sxm --map a=b", 2, "belongs to measurements (--samples)"),
    ("plot dense h100-sxm --hidden 65537", 2, "1 to 65536"),
    ("plot dense h100-sxm --format png", 2, "has the suffix of svg, and --format asks for png"),
    ("plot dense h100-sxm --format csv", 2, "has the suffix of svg"),
    ("plot batch llama-3.1-8b h100-sxm --tp 3", 2, "tp"),
    ("plot roofline llama-3.1-8b h100-sxm -s 100000000 --chunk 1", 2, "chunk"),
]

for _words, _code, _part in FAULTS:
    @case(f"{_words}: exit {_code}, one message, no file")
    def _(words=_words, code=_code, part=_part):
        with folder() as here:
            path = here / "x.svg"
            result = run(f"{words} -o {path}", code=code)
            contains(result.err, part)
            equal(result.out, "")
            equal(list(here.iterdir()), [])


@case("a workload file names model and hardware behind the kind")
def _():
    with folder() as here:
        path = here / "w.yaml"
        path.write_text("model: llama-3.1-8b\nhardware: h100-sxm\nbatch: 1..64*2\n", "utf-8")
        given = run(["plot", "batch", "--workload", path, "--format", "csv"], code=0).out
        equal(given, run("plot batch llama-3.1-8b h100-sxm -b 1..64*2 --format csv", code=0).out)


@case("help names every kind")
def _():
    text = run("plot --help", code=0).out
    for kind in ("roofline MODEL", "batch MODEL", "dense [MODEL]", "attention MODEL",
                 "residuals HARDWARE"):
        contains(text, kind)


if __name__ == "__main__":
    main()
