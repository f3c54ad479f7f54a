# SPDX-License-Identifier: MIT
"""fit from outside: what collectives that change their way with size, versions that disagree, and prompts
beside decoding sequences give."""
import re

from llmperf_test import case, close, contains, expect, folder, main, run, run_json

LINK = 450e9  # of an H100, bytes/s
SIZES = [256 * 2 ** i for i in range(23)]


def seconds(devices, size, launch):
    """Reads all peers at once, or reduces in two phases; beyond 8 MB another library takes over."""
    ring = 2 * (devices - 1) / devices * size / (0.7 * LINK)
    way = min(ring * devices / 2, ring + 6e-6)
    return launch + 1e-7 * (devices - 1) + way + 6e-5 / (1 + (8e6 / size) ** 4)


def write(path, devices, versions):
    with open(path, "w", encoding="utf-8") as file:
        file.write("gpu,library,version,op,devices,bytes,time_s\n")
        for version, launch in versions:
            for n in devices:
                for size in SIZES:
                    file.write(f"h100-sxm,mine,{version},all_reduce,{n},{size},{seconds(n, size, launch)}\n")


OLD_AND_NEW = (("1.9.0", 9e-6), ("1.10.0", 3e-6))


@case("an all-reduce is fitted with its ways, and predicts group sizes between")
def _():
    with folder() as place:
        write(place / "train.csv", (2, 8), (("1.0", 3e-6),))
        write(place / "dev.csv", (4,), (("1.0", 3e-6),))
        out = run(["fit", place / "train.csv", "--hw", "h100-sxm", "--test", place / "dev.csv",
                   "-o", place / "c.yaml", "--parameters"], code=0).out
        error = re.search(r"^  test +23 +([\d.]+)", out, re.M)
        expect(error and float(error[1]) < 2, out)
        for name, truth in (("link_efficiency", 0.7), ("second_phase_s", 6e-6), ("bulk_s", 6e-5),
                            ("bulk_bytes", 8e6), ("bulk_sharpness", 3)):
            found = re.search(rf"^    {name} +([-+.e\d]+)", out, re.M)
            expect(found, f"no {name} in {out}")
            close(float(found[1]), truth, name, relative=0.05)
        # batch x 8192 x 2 bytes: at 64 one phase takes 10.0 us and two 11.0, at 128 two are shorter
        for batch, part in ((64, "devices link_bytes / (2 e_link link_bytes_per_s)"), (128, "second_phase_s")):
            model = ["llama-3.1-70b", "h100-sxm", "--tp", "4", "-b", str(batch), "--calibration",
                     place / "c.yaml"]
            ops = run_json(["layers", *model, "--format", "json"])["phases"][1]["ops"]
            reduce = next(op for op in ops if op["name"] == "comm.mlp")
            close(reduce["time_s"], seconds(4, batch * 8192 * 2, 3e-6), "comm.mlp", relative=0.02)
            text = " ".join(run(["explain", "comm.mlp", *model], code=0).out.split())
            contains(text, part)
            contains(text, "bulk_s / (1 + (bulk_bytes / buffer_bytes)^q)")


@case("the newest version stands where versions disagree, and is scored on its own rows")
def _():
    with folder() as place:
        write(place / "train.csv", (2, 8), OLD_AND_NEW)
        write(place / "dev.csv", (4,), OLD_AND_NEW)
        out = run(["fit", place / "train.csv", "--hw", "h100-sxm", "--test", place / "dev.csv",
                   "-o", place / "c.yaml"], code=0).out
        contains(out, "version 1.10.0, the newest of 2 that disagree")
        error = re.search(r"^  test +23 +([\d.]+)", out, re.M)
        expect(error and float(error[1]) < 2, out)
        contains((place / "c.yaml").read_text(encoding="utf-8"), 'version: "1.10.0"')


@case("over a host bus a size that was not measured has a wider interval than those that were")
def _():
    with folder() as place:
        with open(place / "s.csv", "w", encoding="utf-8") as file:
            file.write("gpu,library,op,devices,bytes,time_s\n")
            for n in (2, 8):
                for size in SIZES:
                    link = 2 * (n - 1) / n * size / (0.6 * 31.5e9) * (1 + 1.5 * (n - 2))
                    file.write(f"l40s,mine,all_reduce,{n},{size},{5e-6 + 2e-6 * (n - 1) + link}\n")
        out = run(["fit", place / "s.csv", "--hw", "l40s", "-o", place / "c.yaml"], code=0).out
        contains(out, "all_reduce on 2 devices, mine")
        contains(out, "all_reduce on 8 devices, mine")
        spread = {}
        for tp in (4, 8):
            ttft = run_json(["predict", "llama-3.1-70b", "l40s", "--tp", str(tp), "-b", "1", "--weight-dtype",
                             "int4", "--calibration", place / "c.yaml", "--format", "json"])["decode"]["time_s"]
            spread[tp] = ttft["high"] / ttft["low"]
        expect(spread[4] > spread[8], spread)


def mixed_seconds(q, past, n, keys, longest):
    """32 heads on 8 KV heads of 128 channels on an L40S: no context is split, a tile has 64 rows."""
    peak, bandwidth, units, l2 = 362.05e12, 864e9, 142, 96 * 2 ** 20
    row = 2 * 32 * 256  # flop of a query and key, all heads
    prompt, decode = row * (q * past + q * (q + 1) / 2), row * n * keys
    compute = (prompt + decode + 63 * (prompt / q + decode)) / (0.6 * peak)
    cache = n * keys * 8 * 256 * 2
    moved = (q + past + q + n) * 8 * 256 * 2 + cache + 2 * (q + n) * 32 * 128 * 2
    memory = (moved + 3 * max(0, cache - 8 * l2)) / (0.8 * bandwidth)
    chain = 100 * longest * 512 * units / peak
    blocks = 32 / units * (2e-6 * (n + 1) + 3e-7 * n * q / 64)
    return 6e-6 + (compute ** 2 + memory ** 2 + chain ** 2) ** 0.5 + blocks


@case("a prompt beside decoding sequences is one launch with a fit of its own")
def _():
    with folder() as place:
        with open(place / "s.csv", "w", encoding="utf-8") as file:
            file.write("gpu,library,dtype,op,batch,seq_q,seq_kv,n_decode,seq_kv_decode,seq_kv_longest,"
                       "heads,kv_heads,head_dim,time_s\n")
            for q in (16, 64, 256, 1024):
                for past in (0, 1000, 8000):
                    for n in (1, 4, 16, 64, 128):
                        for keys in (32, 512, 4096, 16384):
                            for longest in (keys, 4 * keys):
                                time = mixed_seconds(q, past, n, keys, max(longest, q + past))
                                file.write(f"l40s,mine,bf16,attn_mixed,1,{q},{q + past},{n},{keys},{longest},"
                                           f"32,8,128,{time}\n")
        out = run(["fit", place / "s.csv", "--hw", "l40s", "-o", place / "c.yaml", "--parameters"],
                  code=0).out
        contains(out, "attention mixed bf16, mine")
        for name, truth in (("compute_efficiency", 0.6), ("memory_efficiency", 0.8), ("launch_s", 6e-6),
                            ("tile_rows", 63), ("unsplit_rows", 100), ("query_item_s", 2e-6),
                            ("idle_block_s", 3e-7), ("norm", 2)):
            found = re.search(rf"^    {name} +([-+.e\d]+)", out, re.M)
            expect(found, f"no {name} in {out}")
            close(float(found[1]), truth, name, relative=0.05)
        contains((place / "c.yaml").read_text(encoding="utf-8"), "regime: mixed")
        report = run_json(["compare", place / "s.csv", "--hw", "l40s", "--calibration", place / "c.yaml",
                           "--format", "json"])
        expect(report["summary"][-1]["mape_frac"] < 0.01, report["summary"])
        # a row with a fault is named, the others are fitted
        with open(place / "s.csv", "a", encoding="utf-8") as file:
            file.write("l40s,mine,bf16,attn_mixed,1,16,16,4,100,50,32,8,128,1e-5\n")
        told = run(["fit", place / "s.csv", "--hw", "l40s", "--op", "attn_mixed"], code=0)
        contains(told.err, "s.csv:482: the longest context is below the mean")


def decode_seconds(b, keys, heads, kv_heads, head):
    """A walk of one block over its keys, a merge beyond 128 of them, grouped heads put in order; kernels
    of heads of 64 stream at half the bandwidth of an L40S."""
    moved = (keys + 1) * b * kv_heads * 2 * head * 2 + 2 * b * heads * head * 2
    memory = moved / ((0.8 if head > 64 else 0.4) * 864e9)
    launch = 8e-6 + (3e-6 if keys > 128 else 0) + (4e-6 if b > 1 and kv_heads > 1 else 0)
    walk = 2e-5 * keys / 1024
    return launch + (memory ** 4 + walk ** 4) ** 0.25


@case("decode attention is fitted as its kernels run, by head size where they differ")
def _():
    with folder() as place:
        with open(place / "s.csv", "w", encoding="utf-8") as file:
            file.write("gpu,library,dtype,op,batch,seq_q,seq_kv,heads,kv_heads,head_dim,regime,time_s\n")
            for head in (64, 128):
                for heads, kv_heads in ((8, 1), (16, 2), (32, 8), (40, 8), (48, 4)):
                    for b in (1, 2, 4, 16, 64, 256):
                        for keys in (16, 64, 128, 256, 1024, 4096, 16384):
                            time = decode_seconds(b, keys, heads, kv_heads, head)
                            file.write(f"l40s,mine,bf16,attn_decode,{b},1,{keys},{heads},{kv_heads},"
                                       f"{head},cold,{time}\n")
        out = run(["fit", place / "s.csv", "--hw", "l40s", "-o", place / "c.yaml", "--parameters"],
                  code=0).out
        narrow, wide = out.split("heads to 128, mine")
        contains(narrow, "attention decode bf16, heads to 64, mine")
        for part, efficiency in ((narrow, 0.4), (wide, 0.8)):
            for name, truth in (("memory_efficiency", efficiency), ("launch_s", 8e-6), ("serial_s", 2e-5),
                                ("merge_s", 3e-6), ("regroup_s", 4e-6)):
                found = re.search(rf"^    {name} +([-+.e\d]+)", part, re.M)
                expect(found, f"no {name} in {out}")
                close(float(found[1]), truth, name, relative=0.02)
        yaml = (place / "c.yaml").read_text(encoding="utf-8")
        contains(yaml, "head_size: to_64")
        # llama-3.1-8b: 32 heads on 8 of 128; 4 sequences, 1001 keys each
        ops = run_json(["layers", "llama-3.1-8b", "l40s", "-b", "4", "--context", "1000", "--calibration",
                        place / "c.yaml", "--format", "json"])["phases"][1]["ops"]
        core = next(op for op in ops if op["name"] == "attn.core")
        close(core["time_s"], decode_seconds(4, 1001, 32, 8, 128), "attn.core", relative=0.01)
        (place / "bad.yaml").write_text(yaml.replace("to_64", "to_65"), encoding="utf-8")
        told = run(["predict", "llama-3.1-8b", "l40s", "--calibration", place / "bad.yaml"], code=3)
        contains(told.err, "did you mean 'to_64'")


@case("any number of threads writes the same calibration; 0 and 17 are refused")
def _():
    with folder() as place:
        write(place / "train.csv", (2, 4, 8), OLD_AND_NEW)
        made = []
        for jobs in ("1", "2", "16"):
            run(["fit", place / "train.csv", "--hw", "h100-sxm", "--jobs", jobs, "-o", place / "c.yaml"], code=0)
            made.append((place / "c.yaml").read_bytes())
        expect(made[0] == made[1] == made[2], "calibrations differ by the number of threads")
        for jobs in ("0", "17", "-1", "many"):
            out = run(["fit", place / "train.csv", "--hw", "h100-sxm", "--jobs", jobs], code=2)
            contains(out.err, "--jobs")
            expect(out.err.count("\n") == 1, out.err)


main()
