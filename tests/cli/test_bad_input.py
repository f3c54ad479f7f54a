#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Files with one fault each (tests/data/bad-inputs; NOTES.csv says what is right)."""
import json
import re
import shutil

from llmperf_test import DATA, case, close, contains, equal, expect, folder, main, run, run_json

BAD = DATA / "bad-inputs"
LLAMA_8B, LLAMA_70B = 8030261248, 70553706496


def refused(name, *faults, first_is_cause=True):
    """Exit 3 and one line a fault; each fault is (LINE:COL, parts of its message...)."""
    path = BAD / name
    for command in (["specs", "check", path],
                    ["predict", path, "h100-sxm"] if name.endswith("json")
                    else ["predict", "llama-3.1-8b", path]):
        result = run(command, code=3)
        equal(result.out, "", name)
        lines = result.err.splitlines()
        equal(len(lines), len(faults), f"{name}: one line a fault, all in one run:\n{result.err}")
        for at, *parts in faults:
            mine = [line for line in lines if line.startswith(f"llmperf: {path}:{at}: ")]
            expect(any(all(part in line for part in parts) for line in mine),
                   f"no line at {at} with {parts}", result)
        if first_is_cause:
            expect(lines[0].startswith(f"llmperf: {path}:{faults[0][0]}: "), "the cause first", result)


def model(name):
    return run_json(["specs", "show", BAD / name, "--kind", "model"])["model"]


def part(name):
    return run_json(["specs", "show", BAD / name, "--kind", "hardware"])


# ---- config.json ------------------------------------------------------------------------------------------


@case("01 a bare Infinity in a field that nothing uses is no fault")
def _():
    # 2 V H + layers (2 H n d + 2 H k d + 3 H F + 2 H) + H
    h, layers, kv, d, f, v = 8192, 118, 8, 128, 32768, 131072
    wanted = 2 * v * h + layers * (2 * h * h + 2 * h * kv * d + 3 * h * f + 2 * h) + h
    equal(model("01-bare-infinity.config.json")["params"], wanted)


@case("01 a bare Infinity in a field that is used is refused with its place")
def _():
    text = (BAD / "02-float-object.config.json").read_text("utf-8")
    for word in ("Infinity", "-Infinity", "NaN"):
        with folder() as here:
            path = here / "config.json"
            path.write_text(text.replace('"hidden_size": 4096', f'"hidden_size": {word}'), "utf-8")
            result = run(["specs", "check", path], code=3)
            contains(result.err, f"{path}:6:17: hidden_size is ")
            contains(result.err, "an integer from 1 to ")


@case("02 unknown nested objects are skipped")
def _():
    equal(model("02-float-object.config.json")["params"], LLAMA_8B)


@case("03 dimensions come from text_config, the tie flag from outside it")
def _():
    found = model("03-nested-text-config.json")
    equal((found["params"], found["hidden"], found["tied"]), (LLAMA_8B, 4096, False))


@case("05 numbers in quotes are refused, all of them")
def _():
    refused("05-string-dims.json",
            ("6:17", "hidden_size", 'text "4096"', "integer"),
            ("8:25", "num_attention_heads", 'text "32"', "integer"),
            ("9:23", "num_hidden_layers", 'text "32"', "integer"),
            ("11:16", "vocab_size", 'text "128256"', "integer"))


@case("06 all missing dimensions are named at once, none is guessed")
def _():
    refused("06-missing-dims.json",
            *(("1:1", f"{key} is missing") for key in
              ("hidden_size", "num_attention_heads", "num_hidden_layers", "intermediate_size")))


@case("07 null is absent: a missing FFN width is refused, KV heads default to heads")
def _():
    refused("07-null-fields.json", ("1:1", "intermediate_size is missing or null"))
    text = (BAD / "07-null-fields.json").read_text("utf-8")
    with folder() as here:
        (here / "config.json").write_text(
            text.replace('"intermediate_size": null', '"intermediate_size": 14336'), "utf-8")
        report = run_json(["specs", "show", here / "config.json"])
        equal(report["model"]["kv_heads"], 32)
        expect(any("KV heads" in note or "key_value" in note for note in report["notes"]),
               f"a note: {report['notes']}")


@case("09 KV heads that do not divide heads are refused")
def _():
    refused("09-kv-not-dividing-heads.json", ("10:25", "12", "40", "divisor"))


@case("12 an unknown torch_dtype names the nearest")
def _():
    refused("12-unknown-dtype.json", ("13:17", "torch_dtype", "'bf61'", "did you mean 'bf16'?"))


@case("12 the spellings of torch are taken")
def _():
    text = (BAD / "12-unknown-dtype.json").read_text("utf-8")
    for word, name in (("torch.bfloat16", "bf16"), ("bfloat16", "bf16"), ("float16", "fp16"),
                       ("torch.float16", "fp16"), ("half", "fp16"), ("float32", "bf16")):
        with folder() as here:
            (here / "config.json").write_text(text.replace("bf61", word), "utf-8")
            report = run_json(["specs", "show", here / "config.json"])
            equal(report["model"]["dtype"], name, word)
            equal(report["model"]["weight_bytes"], 2 * LLAMA_8B, word)
            if word == "float32":
                expect(any("float32" in note for note in report["notes"]), "bf16, with a note")


@case("15 a truncated file is refused at its end")
def _():
    refused("15-truncated.json", ("4:17", "end of input"))


@case("17 a web page instead of a file is recognised")
def _():
    refused("17-html-instead.json", ("1:1", "HTML"))


@case("18 a byte-order mark and CRLF change nothing")
def _():
    equal(model("18-bom-crlf.json")["params"], LLAMA_8B)


@case("20 without its second file a checkpoint is what the first says")
def _():
    found = model("20-quant-in-second-file.json")
    equal((found["params"], found["weight_bytes"]), (LLAMA_70B, 2 * LLAMA_70B))


@case("20 hf_quant_config.json beside config.json is read, or said to be there")
def _():
    with folder() as here:
        shutil.copy(BAD / "20-quant-in-second-file.json", here / "config.json")
        (here / "hf_quant_config.json").write_text(json.dumps(
            {"producer": {"name": "modelopt", "version": "0.23.0"},
             "quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8",
                              "exclude_modules": ["lm_head"]}}), "utf-8")
        report = run_json(["specs", "show", here])
        told = any("hf_quant_config.json" in note for note in report["notes"])
        # fp8 but for embedding and head (2 x 128256 x 8192 in 16 bit) and norms
        read = report["model"]["weight_bytes"] < 75e9
        expect(told or read, f"{report['model']['weight_bytes']}, notes {report['notes']}")


# ---- hardware -----------------------------------------------------------------------------------------------


@case("30 a sparse peak under a known name is accepted with a warning")
def _():
    result = run(["specs", "check", BAD / "30-sparse-tflops.yaml"], code=0)
    contains(result.out, "warning:")
    contains(result.out, "1979 TFLOP/s")
    contains(result.out, "sparse")
    # the warning also reaches who predicts with it
    report = run_json(["predict", "llama-3.1-8b", BAD / "30-sparse-tflops.yaml"])
    expect(any("sparse" in note for note in report["notes"]), f"notes: {report['notes']}")


@case("31 half a peak is accepted; the shipped A100 has 312")
def _():
    equal(part("31-a100-halved.yaml")["peak_flop_per_s"]["bf16"], 156e12)
    equal(run_json("specs show a100-sxm-80gb")["peak_flop_per_s"]["bf16"], 312e12)


@case("32 bits are bits, with a warning")
def _():
    found = part("32-bits-vs-bytes.yaml")
    close(found["mem_bw_bytes_per_s"], 418.75e9)
    close(found["link"]["bytes_per_s"], 112.5e9)
    result = run(["specs", "check", BAD / "32-bits-vs-bytes.yaml"], code=0)
    contains(result.out, "warning:")
    contains(result.out, "bits")


@case("33 GB and GiB differ")
def _():
    equal(part("33-gb-vs-gib.yaml")["memory_bytes"], 80 * 2**30)
    equal(part("44-bom-crlf.yaml")["memory_bytes"], 80 * 10**9)


@case("35 zero, negative, nan and inf are refused, all four")
def _():
    refused("35-zero-negative-nan.yaml",
            ("2:9", "memory", "'0 GB'", "above zero"),
            ("3:12", "bandwidth", "'-3350 GB/s'", "above zero"),
            ("5:9", "bf16", "'.nan'"),
            ("6:8", "fp8", "'.inf'"), first_is_cause=False)


@case("36 a tab in the indentation is refused at its line")
def _():
    refused("36-tabs.yaml", ("3:1", "tab", "spaces"))


@case("40 a misspelt key comes first, with the key that was meant")
def _():
    refused("40-typo-key.yaml",
            ("3:1", "'bandwith' is not known", "did you mean 'bandwidth'?"),
            ("1:1", "bandwidth is missing"))


@case("41 numbers with an exponent are numbers")
def _():
    found = part("41-sci-notation.yaml")
    equal((found["memory_bytes"], found["mem_bw_bytes_per_s"]), (80e9, 3.35e12))
    equal(found["peak_flop_per_s"]["bf16"], 989e12)


@case("43 a decimal comma is refused in every locale, a point accepted")
def _():
    refused("43-locale-decimal.yaml", ("3:12", "'3,35 TB/s'", "comma"))
    for locale in ("C", "de_DE.UTF-8", "fr_FR.UTF-8"):
        result = run(["specs", "check", BAD / "43-locale-decimal.yaml"], env={"LC_ALL": locale},
                     code=3)
        contains(result.err, "comma", locale)


@case("44 a byte-order mark and CRLF change nothing")
def _():
    with folder() as here:
        plain = (BAD / "44-bom-crlf.yaml").read_bytes()
        expect(plain.startswith(b"\xef\xbb\xbf") and b"\r\n" in plain, "the fault is kept")
        (here / "plain.yaml").write_bytes(plain[3:].replace(b"\r\n", b"\n"))
        equal(part("44-bom-crlf.yaml"), run_json(["specs", "show", here / "plain.yaml"]))
        expect("\r" not in run(["specs", "show", BAD / "44-bom-crlf.yaml"], code=0).out)


@case("45 NO is a name, and `sparsity: no` means dense")
def _():
    equal(part("45-yes-no-norway.yaml")["name"], "NO")
    equal(run(["specs", "check", BAD / "45-yes-no-norway.yaml"], code=0).err, "")


# ---- workloads: tried through options ----------------------------------------------------------------------


@case("48 more devices than KV heads: the cache is replicated, with a note")
def _():
    # 32 heads, 4 KV heads over 8 devices: one KV head on each, not half a one
    words = ("layers --hidden 2048 --heads 32 --kv-heads 4 --head-dim 128 --ffn 6144 --layers 48 "
             "--vocab 151936 h100-sxm")

    def kv_read(tp):
        ops = run_json(f"{words} --tp {tp}")["phases"][1]["ops"]
        return next(op for op in ops if op["name"] == "attn.core")["kv_read_bytes"]
    equal(kv_read(4) * 4, kv_read(1))
    equal(kv_read(8), kv_read(4))
    notes = run_json(f"{words} --tp 8")["notes"]
    expect(any("4 KV heads" in note and "held by 2 devices" in note for note in notes), f"a note: {notes}")


@case("50 a context beyond the trained one is computed, with a note")
def _():
    words = "predict llama-2-7b a100-sxm-80gb -s 32000 -g 1000"
    report = run_json(words)
    expect(any("4096" in note.replace(",", "") for note in report["notes"]), f"{report['notes']}")
    expect("4,096" in run(words, code=0).out or "4096" in run(words, code=0).out, "said in text")


# ---- what else people hand over -----------------------------------------------------------------------------


@case("keys twice, missing commas, comments and other shapes are refused with their place")
def _():
    for text, place in (('{"model_type":"llama","model_type":"llama"}', "1:23"),
                        ('{"a": 1\n "b": 2}', "2:2"), ('{"a": 1} {"b": 2}', "1:10"), ("", "1:1"),
                        ("[1, 2]", "1:1"), ("{'a': 1}", "1:2"), ('{"a": 1,}', "1:9")):
        with folder() as here:
            path = here / "config.json"
            path.write_text(text, "utf-8")
            result = run(["specs", "check", path], code=3)
            contains(result.err, f"llmperf: {path}:{place}: ", text)


@case("bytes of no encoding, NUL and deep nesting are refused, quickly")
def _():
    for data in (b"\xff\xfe\x00\x00", b"name: \x00", b"name: a\x1b[31m\nmemory: 80",
                 b"[" * 100000, b"{\"a\":" * 100000, b"a: " + b"x" * 1000000 + b": b"):
        for name in ("config.json", "part.yaml"):
            with folder() as here:
                (here / name).write_bytes(data)
                result = run(["specs", "check", here / name], code=3, timeout=20)
                expect(not any(c < " " and c != "\n" or c == "\x7f" for c in result.err), "escaped",
                       result)


@case("control bytes of a file's texts never reach text, csv or md")
def _():
    part_text = ('name: "a\\eb"\nvendor: "c\\ed"\nsource: "e\\ef"\nnotes: ["g\\eh"]\n'
                 'peak: {bf16: 9 TFLOP/s}\nmemory: 60 GB\nbandwidth: 8 TB/s\n')
    model_text = run("specs show gpt2 --format yaml", code=0).out
    model_text = re.sub(r"^source: .*$", r'source: "a\\eb"', model_text, flags=re.M)
    model_text = re.sub(r"^name: .*$", r'name: "c\\ed"', model_text, flags=re.M)
    model_text = model_text.replace("dtype: fp16", "dtype: bf16")
    with folder() as here:
        (here / "part.yaml").write_text(part_text, "utf-8")
        (here / "model.yaml").write_text(model_text, "utf-8")
        for words in (["specs", "show", here / "part.yaml"], ["specs", "show", here / "model.yaml"],
                      ["specs", "check", here / "part.yaml", here / "model.yaml"],
                      ["predict", here / "model.yaml", here / "part.yaml"],
                      ["layers", here / "model.yaml", here / "part.yaml"]):
            for form in (("text",) if "check" in words else ("text", "csv", "md", "json")):
                result = run(words + ["--format", form], code=0)
                expect("\x1b" not in result.out + result.err, f"an ESC in {form} of {words[:2]}")


@case("an empty name is refused")
def _():
    for text in ('name: ""\npeak: {bf16: 9 TFLOP/s}\nmemory: 60 GB\nbandwidth: 8 TB/s\n',
                 re.sub(r"^name: .*$", 'name: ""', run("specs show gpt2 --format yaml").out,
                        flags=re.M)):
        with folder() as here:
            (here / "spec.yaml").write_text(text, "utf-8")
            result = run(["specs", "check", here / "spec.yaml"], code=3)
            contains(result.err, "spec.yaml:1:7: name is ")


@case("a bare number where a unit belongs is refused with an example")
def _():
    with folder() as here:
        path = here / "part.yaml"
        path.write_text("name: x\nmemory: 80\nbandwidth: 3350\npeak: {bf16: 989}\n", "utf-8")
        result = run(["specs", "check", path], code=3)
        for line in (f"{path}:2:9: memory is ", f"{path}:3:12: bandwidth is ",
                     f"{path}:4:14: bf16 is "):
            contains(result.err, line)
        for unit in ("80 GB", "TB/s", "TFLOP/s"):
            contains(result.err, unit)


@case("folders, devices and unreadable files exit 4")
def _():
    with folder() as here:
        (here / "empty").mkdir()
        result = run(["predict", "llama-3.1-8b", here / "empty"])
        expect(result.code in (3, 4) and result.err.startswith("llmperf: "), "a folder", result)
        result = run(["predict", here / "empty", "h100-sxm"], code=4)
        contains(result.err, "config.json")
        run(["predict", f"{here}/none/config.json", "h100-sxm"], code=4)


if __name__ == "__main__":
    main()
