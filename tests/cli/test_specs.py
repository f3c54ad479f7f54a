#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""llmperf specs: every shipped file, names and aliases, where specifications are looked up."""
import csv
import functools
import io
import json
import re

from llmperf_test import (SPECS, case, close, contains, equal, expect, flatten, folder, main,
                          parse_json, run, run_json, sample, shipped)

KINDS = (("models", "model"), ("hardware", "hardware"))

PART = """name: {name}
peak: {{bf16: {tflops} TFLOP/s}}
memory: 80 GB
bandwidth: 1 TB/s
"""


def put_part(root, name, tflops):
    path = root / "hardware"
    path.mkdir(parents=True, exist_ok=True)
    (path / f"{name}.yaml").write_text(PART.format(name=name, tflops=tflops), encoding="utf-8")
    return root


def tflops(name, env=None, words=(), cwd=None):
    report = run_json(["specs", "show", name, "--kind", "hardware", *words], env=env, cwd=cwd)
    return report["peak_flop_per_s"]["bf16"] / 1e12


@functools.lru_cache(maxsize=None)
def aliases(kind):
    """(alias, name) of every shipped file: `aliases: ["...", ...]` on one line."""
    found = []
    for name in shipped(kind):
        text = (SPECS / kind / f"{name}.yaml").read_text("utf-8")
        line = re.search(r"^aliases: (\[.*\])$", text, re.M)
        expect(line or "aliases" not in text, f"{name}: aliases on one line, in double quotes")
        if line:
            found += [(alias, name) for alias in json.loads(line.group(1))]
    return found


# ---- every shipped file ---------------------------------------------------------------------------------


@case("there are models and hardware")
def _():
    for name in ("llama-2-7b", "llama-3.1-8b", "llama-3.1-70b", "qwen2.5-7b"):
        expect(name in shipped("models"), name)
    for name in ("a100-sxm-80gb h100-sxm h100-pcie h200-sxm b200 l40s rtx-4090 rtx-pro-6000 "
                 "mi300x").split():
        expect(name in shipped("hardware"), name)


@case("every shipped file passes specs check without a warning")
def _():
    for kind, word in KINDS:
        for name in shipped(kind):
            path = SPECS / kind / f"{name}.yaml"
            result = run(["specs", "check", path], code=0)
            contains(result.out, f"{path}: ok, {word} {name}")
            expect("warning:" not in result.out, "warnings", result)


@case("specs check takes as many files as a shell's * gives")
def _():
    for kind, _word in KINDS:
        paths = sorted((SPECS / kind).glob("*.yaml"))
        result = run(["specs", "check", *paths], code=0)
        equal(result.out.count(": ok, "), len(paths), kind)


@case("a file's name is the specification's name, lower case")
def _():
    for kind, word in KINDS:
        for name in sample(shipped(kind), 3):
            expect(re.fullmatch(r"[a-z0-9][a-z0-9.-]*", name), name)
            report = run_json(["specs", "show", name, "--kind", word])
            equal((report.get("model") or report)["name"], name)


@case("shipped hardware says source and confidence")
def _():
    for name in shipped("hardware"):
        report = run_json(["specs", "show", name, "--kind", "hardware"])
        default = report["sources"]["default"]
        expect(default["source"], name)
        for field, origin in report["sources"].items():
            expect(origin["confidence"] in ("read", "mirrored", "derived"), f"{name} {field}")


@case("show --format yaml reads back as the same values")
def _():
    with folder() as here:
        for kind, word in KINDS:
            for name in sample(shipped(kind), 5):
                path = here / f"{name}.yaml"
                run(["specs", "show", name, "--kind", word, "-o", path], code=0)
                again, first = (run(["specs", "show", what, "--kind", word, "--format", "json"],
                                    code=0).out for what in (path, name))
                equal(parse_json(again), parse_json(first), name)
                run(["specs", "check", path], code=0)


@case("numbers of a hardware file arrive exactly")
def _():
    report = run_json("specs show h100-sxm")
    for name, value in (("mem_bw_bytes_per_s", 3.35e12), ("memory_bytes", 80e9),
                        ("memory_usable_bytes", 81559 * 2**20), ("l2_bytes", 50 * 2**20),
                        ("units", 132), ("clock_hz", 1.98e9), ("power_w", 700)):
        equal(report[name], value, name)
    for name, value in (("bf16", 989.4e12), ("fp8", 1978.9e12), ("fp32", 66.9e12)):
        equal(report["peak_flop_per_s"][name], value, name)
    equal(report["link"]["bytes_per_s"], 450e9)


@case("json of hardware has the documented fields")
def _():
    report = run_json("specs show h100-sxm")
    for name in ("llmperf schema name kind source peak_flop_per_s mem_bw_bytes_per_s memory_bytes "
                 "memory_usable_bytes l2_bytes link power_w notes").split():
        expect(name in report, name)
    for name in shipped("hardware"):
        report = run_json(["specs", "show", name, "--kind", "hardware"])
        for path, value in flatten(report).items():
            expect(not isinstance(value, (int, float)) or value >= 0, f"{name} {path}")
        expect(report["peak_flop_per_s"] and report["mem_bw_bytes_per_s"] > 0, name)


# ---- names ----------------------------------------------------------------------------------------------


def lost(kind, word, wanted):
    """Complaints about aliases that do not find their specification."""
    wrong = []
    for alias, name in sample(pair for pair in aliases(kind) if wanted(pair[0])):
        result = run(["specs", "show", alias, "--kind", word, "--format", "json"])
        if result.code != 0:
            wrong.append(f"{alias} ({name}): {result.err.strip()}")
            continue
        report = parse_json(result.out)
        if (report.get("model") or report)["name"] != name:
            wrong.append(f"{alias} finds {(report.get('model') or report)['name']}, not {name}")
    return "\n".join(wrong)


@case("every alias finds its specification")
def _():
    for kind, word in KINDS:
        expect(len(aliases(kind)) > 10, "aliases are there")
        wrong = lost(kind, word, lambda alias: "/" not in alias)
        expect(not wrong, wrong)
    equal(run_json("specs show H100-SXM")["name"], "h100-sxm", "in any case")


@case("a part is found however it is spelt")
def _():
    for spelt, name in [("NVIDIA-H200", "h200-sxm"), ("RTX 3090", "rtx-3090"),
                        ("nvidia geforce rtx 4090", "rtx-4090"), ("RTX_PRO_6000", "rtx-pro-6000"),
                        ("A100 80GB", "a100-sxm-80gb"), ("Tesla V100-SXM2-32GB", "v100-sxm2-32gb"),
                        ("H100NVL", "h100-nvl"), ("AMD Instinct MI300X", "mi300x"),
                        ("gb200_sxm", "gb200"), ("h100_pcie", "h100-pcie")]:
        result = run(["specs", "show", spelt, "--kind", "hardware", "--format", "json"], code=0)
        equal(json.loads(result.out)["name"], name, spelt)
    contains(run("specs show NVIDIA --kind hardware", code=2).err, "no hardware is named 'NVIDIA'")


@case("aliases that are Hugging Face ids (with a slash) find their model")
def _():
    wrong = lost("models", "model", lambda alias: "/" in alias)
    expect(not wrong, wrong)


@case("no alias belongs to two specifications")
def _():
    for kind, _word in KINDS:
        owner = {}
        for alias, name in aliases(kind) + [(name, name) for name in shipped(kind)]:
            key = alias.lower()
            if kind == "hardware":
                key = re.sub(r"[ _-]", "", re.sub(
                    r"(?i)(?<![^ _-])(nvidia|geforce|tesla|amd|radeon|instinct|intel|gpu)(?![^ _-])",
                    "", key))
                expect(key, f"{alias}: more than the maker's name")
            expect(owner.setdefault(key, name) == name, f"{alias}: {owner[key]} and {name}")


@case("specs list shows every shipped name, in every form")
def _():
    for kind in ("models", "hardware", "calibration", "engine"):
        names = list(shipped(kind))
        equal(run(f"specs list {kind} --names", code=0).out.split(), names, kind)
        rows = run_json(f"specs list {kind}")[kind]
        equal([row["name"] for row in rows], names, "json")
        text = run(f"specs list {kind}", code=0).out
        for line in text.splitlines():
            expect(len(line) <= 80, f"80 columns: {line}")
        rows = list(csv.DictReader(io.StringIO(run(f"specs list {kind} --format csv", code=0).out)))
        equal([row["name"] for row in rows], names, "csv")
        markdown = run(f"specs list {kind} --format md", code=0).out
        for name in names:
            contains(text, f"{name} ")
            contains(markdown, f"| {name} ")
    equal(run("specs list --names", code=0).out.split(),
          list(shipped("models")) + list(shipped("hardware")) + list(shipped("calibration") + shipped("engine")))


@case("each shipped calibration predicts on its part, beside its bounds, and names its source")
def _():
    for name in shipped("calibration"):
        text = (SPECS / "calibration" / f"{name}.yaml").read_text()
        contains(text, "# source: github.com/")
        contains(text, "Apache-2.0")
        part = run_json("specs list calibration")["calibration"]
        part = next(row["hardware"] for row in part if row["name"] == name)
        expect(part in shipped("hardware"), f"{name}: {part} is not shipped")
        bound = run_json(f"predict llama-3.1-8b {part} --calibration none")["tpot_s"]["value"]
        record = run_json(f"predict llama-3.1-8b {part} --calibration {name}")
        own = record["tpot_s"]
        expect(own["low"] <= own["value"] <= own["high"], f"{name}: {own}")
        expect(own["low"] >= bound, f"{name}: {own} under the bound {bound}")
        expect(own["value"] <= 2.5 * bound, f"{name}: {own} far over the bound {bound}")
        for line in run(f"predict llama-3.1-8b {part} --calibration {name}", code=0).out.splitlines():
            expect(len(line) <= 80 or line.startswith("  llmperf "), f"80 columns: {line}")
    other = run("predict llama-3.1-8b l40s --calibration h100-sxm-vllm", code=0).out
    contains(" ".join(other.split()), "h100-sxm-vllm was fitted on h100-sxm")


@case("specs show in text says peaks, sources and notes in 80 columns")
def _():
    for name in ("h100-sxm", "b200", "mi300x", "llama-3.1-8b", "gemma-2-9b"):
        text = run(f"specs show {name}", code=0).out
        contains(text, name)
        for line in text.splitlines():
            expect(len(line) <= 80, f"80 columns: {line}")
    contains(run("specs show h100-sxm", code=0).out, "989 TFLOP/s")


@case("text and json agree on confidence")
def _():
    report = run_json("specs show h100-sxm")
    text = re.sub(r"\s+", " ", run("specs show h100-sxm", code=0).out)
    for field, origin in report["sources"].items():
        heading = "Source of the rest: " if field == "default" else f"Source of {field}: "
        contains(text, f"{heading}{origin['source']} ({origin['confidence']})")


@case("specs check goes on after a bad file and exits with its code")
def _():
    with folder() as here:
        (here / "bad.yaml").write_text("name: x\nmemory: 1\n", encoding="utf-8")
        result = run(["specs", "check", "h100-sxm", here / "bad.yaml", "llama-3.1-8b"], code=3)
        contains(result.out, "h100-sxm: ok")
        contains(result.out, "llama-3.1-8b: ok")
        contains(result.err, "bad.yaml:2:9:")


@case("specs check compares parameters with the published number")
def _():
    with folder() as here:
        text = run("specs show llama-3.1-8b --format yaml", code=0).out
        off = re.sub(r"^published_params: .*\n", "", text, flags=re.M)
        (here / "off.yaml").write_text("published_params: 8500000000\n" + off, encoding="utf-8")
        result = run(["specs", "check", here / "off.yaml"], code=3)
        contains(result.err, "8030261248 parameters counted, 8500000000 published")


# ---- where they are looked up -----------------------------------------------------------------------------


@case("--specs wins over LLMPERF_SPECS, which wins over the user's folder")
def _():
    with folder() as here:
        option, variable = put_part(here / "a", "twin", 1), put_part(here / "b", "twin", 2)
        put_part(here / "data" / "llmperf" / "specs", "twin", 3)
        put_part(here / "home" / ".local" / "share" / "llmperf" / "specs", "twin", 4)
        home = {"LLMPERF_SPECS": None, "HOME": here / "home"}
        data = {"LLMPERF_SPECS": None, "HOME": here / "home", "XDG_DATA_HOME": here / "data"}
        equal(tflops("twin", {"LLMPERF_SPECS": variable}, ["--specs", option]), 1)
        equal(tflops("twin", {**data, "LLMPERF_SPECS": variable}), 2)
        equal(tflops("twin", data), 3)
        equal(tflops("twin", home), 4)


@case("a user's file stands before the shipped one of its name")
def _():
    with folder() as here:
        put_part(here, "h100-sxm", 7)
        equal(tflops("h100-sxm", words=["--specs", here]), 7)
        equal(tflops("h100-sxm"), 989.4)
        # the others are still found behind it
        equal(tflops("a100-sxm-80gb", words=["--specs", here]), 312)


@case("--specs is used by every command")
def _():
    with folder() as here:
        put_part(here, "mine", 100)
        report = run_json(["predict", "llama-3.1-8b", "mine", "--specs", here])
        equal(report["hardware"]["name"], "mine")
        run(["layers", "llama-3.1-8b", "mine", "--specs", here], code=0)
        contains(run(["specs", "list", "hardware", "--names", "--specs", here], code=0).out, "mine")


@case("the current directory is never searched")
def _():
    with folder() as here:
        put_part(here, "local", 5)
        (here / "local.yaml").write_text(PART.format(name="local", tflops=5), encoding="utf-8")
        (here / "h100-sxm.yaml").write_text(PART.format(name="h100-sxm", tflops=5), encoding="utf-8")
        run("specs show local", code=2, cwd=here)
        run("predict llama-3.1-8b local", code=2, cwd=here)
        equal(tflops("h100-sxm", cwd=here), 989.4, "the shipped one")
        equal(tflops("./h100-sxm.yaml", cwd=here), 5, "a path")
        equal(tflops("local.yaml", cwd=here), 5, "a known suffix is a path")


@case("a name cannot climb out of the folders")
def _():
    with folder() as here:
        put_part(here / "specs", "inner", 5)
        (here / "outer.yaml").write_text(PART.format(name="outer", tflops=5), encoding="utf-8")
        for name in ("..", ".", "", "..\\outer"):
            result = run(["specs", "show", name, "--specs", here / "specs"])
            expect(result.code in (2, 3, 4) and not result.out, name, result)


@case("the program finds the shipped files by itself")
def _():
    # from its own place: the tree's specs/, two levels up from the build folder's cli/
    import pathlib
    from llmperf_test import EXE, Skip
    if not (pathlib.Path(EXE).parent / ".." / ".." / "specs" / "hardware").is_dir():
        raise Skip("the build folder is not inside the source tree")
    with folder() as here:
        env = {"LLMPERF_SPECS": None, "HOME": here}
        equal(run_json("specs show h100-sxm", env=env, cwd=here)["name"], "h100-sxm")


# ---- models ----------------------------------------------------------------------------------------------


@case("a folder with a config.json is a model, named by its folder")
def _():
    config = {"model_type": "llama", "hidden_size": 64, "intermediate_size": 128,
              "num_attention_heads": 4, "num_hidden_layers": 2, "num_key_value_heads": 2,
              "vocab_size": 100, "tie_word_embeddings": False, "torch_dtype": "bfloat16"}
    # 2 V H + layers (q, o: 2 H H; k, v: 2 H H/2; 3 H F; 2 norms) + 1 norm
    params = 2 * 100 * 64 + 2 * (3 * 64 * 64 + 3 * 64 * 128 + 2 * 64) + 64
    with folder() as here:
        (here / "tiny").mkdir()
        (here / "tiny" / "config.json").write_text(json.dumps(config), encoding="utf-8")
        for path in (here / "tiny", here / "tiny" / "config.json"):
            model = run_json(["specs", "show", path])["model"]
            equal(model["params"], params)
            contains(model["name"], "tiny")
        close(run_json(["predict", here / "tiny", "h100-sxm"])["model"]["weight_bytes"], 2 * params)


if __name__ == "__main__":
    main()
