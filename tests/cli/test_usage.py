#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Conventions of every command: help, messages, exit codes, options, output files."""
import os
import pty
import re
import shlex
import subprocess

from llmperf_test import (EXE, Failure, Skip, case, contains, environment, equal, expect, folder,
                          main, parse_json, run)

PREDICT = "predict llama-3.1-8b h100-sxm"

WORKLOAD = ("--batch --prompt --generate --context --chunk --weight-dtype --act-dtype --kv-dtype "
            "--attention --logits --tp --pp --ep --dp --memory-utilization --reserve --kv-block "
            "--calibration --format --output --specs --help").split()
# The contract of the interface page, command by command (those that are there yet).
OPTIONS = {
    "predict": WORKLOAD + ["--tpot", "--ttft", "--price", "--confidence"],
    "layers": WORKLOAD + ("--symbolic --split-qkv --hidden --heads --kv-heads --ffn --layers "
                          "--vocab --head-dim --gated --tied").split(),
    "specs": "--format --output --specs --help".split(),
}

# They time this machine, for seconds to minutes: not run from their help.
MEASURING = {"calibrate", "validate"}


def commands():
    """Names that the overview lists."""
    text = run(["--help"], code=0).out
    block = text.split("Commands:\n", 1)[1].split("\n\n", 1)[0]
    return [line.split()[0] for line in block.splitlines() if line.startswith("  ")]


def long_lines(text, most=80):
    return [line for line in text.splitlines() if len(line) > most]


# ---- help ------------------------------------------------------------------------------------------


@case("--version prints name and version")
def _():
    result = run(["--version"], code=0)
    expect(re.fullmatch(r"llmperf \d+\.\d+\.\d+\n", result.out), "form", result)
    equal(result.err, "")


@case("--help lists the commands on stdout")
def _():
    result = run(["--help"], code=0)
    equal(result.err, "")
    for name in OPTIONS:
        contains(result.out, f"\n  {name} ")
    equal(long_lines(result.out), [])
    for other in (["-h"], ["help"]):
        equal(run(other, code=0).out, result.out, str(other))


@case("without arguments the overview goes to stderr, exit 2")
def _():
    result = run([], code=2)
    equal(result.out, "")
    contains(result.err, "Usage: llmperf COMMAND")


@case("--help of each command has usage, examples and 80 columns")
def _():
    for name in commands():
        result = run([name, "--help"], code=0)
        equal(result.err, "", name)
        expect(result.out.startswith(f"Usage: llmperf {name} "), "usage", result)
        contains(result.out, "\nExamples:\n  llmperf ", name)
        equal(long_lines(result.out), [], name)
        equal(run(["help", name], code=0).out, result.out, "help COMMAND")
        equal(run([name, "-h"], code=0).out, result.out, "-h")


@case("help takes one command")
def _():
    for extra in (["predict"], ["--help"], ["a", "b"]):
        result = run(["help", "predict", *extra], code=2)
        equal(result.out, "", "stdout")
        equal(result.err, f"llmperf: '{extra[0]}' is one word too many; 'help COMMAND' is allowed\n", "stderr")


@case("help names every option of the interface")
def _():
    for name, options in OPTIONS.items():
        text = run([name, "--help"], code=0).out
        for option in options:
            expect(re.search(rf"(^|[ ,]){option}( |$)", text, re.M), f"{option} of {name}: {text}")


@case("every option that help shows is taken")
def _():
    for name in commands():
        if name in MEASURING:
            continue
        text = run([name, "--help"], code=0).out
        for option in re.findall(r"^ {2}(?:-\w,| {3}) (--[a-z-]+)", text, re.M):
            result = run([name, option])  # most lack their value: exit 2, but not as unknown
            expect("is not known" not in result.err, f"{name} {option}", result)


def on_the_fake_device(words):
    """An example that measures this machine, on the device that answers from a formula."""
    if words[0] == "calibrate":
        return words + ["--quick"] + ([] if "--backend" in words else ["--backend", "fake"])
    if words[0] == "validate" and "--backend" not in words:
        return [w for w in words if w != "my-cpu.yaml"] + ["fake", "--backend", "fake"]
    return words


@case("examples of each help run")
def _():
    wrong = []
    with folder() as here:
        # what `calibrate` writes in one example is what `validate` and `fit` read in others
        run("calibrate --backend fake --quick -o my-calibration.yaml --samples mine.csv", cwd=here)
        for name in ("gemm", "attention", "train"):
            (here / f"{name}.csv").write_bytes((here / "mine.csv").read_bytes())
        for name in commands():
            text = run([name, "--help"], code=0).out
            examples = text.split("\nExamples:\n", 1)[1].replace("\\\n", " ")
            for line in examples.splitlines():
                if not line.startswith("  llmperf "):
                    continue
                words = on_the_fake_device(shlex.split(line)[1:])
                result = run(words, cwd=here)
                # the reader's own measurements, of other parts and engines: read, and refused
                if name == "fit" and result.code in (2, 4, 6) and "is not known" not in result.err:
                    continue
                # ./config.json, my-gpu.yaml ... are the reader's own files
                own = any(re.search(r"^(\./|my-)", word) for word in words)
                if result.code not in ((0, 4, 8) if own else (0, 8)):
                    wrong.append(str(result))
    expect(not wrong, "\n".join(wrong))


# ---- messages and exit codes ------------------------------------------------------------------------


@case("an unknown command says what was meant, exit 2")
def _():
    result = run(["predct"], code=2)
    equal(result.out, "")
    contains(result.err, "llmperf: command 'predct' is not known, did you mean 'predict'?")
    equal(len(result.err.splitlines()), 1)


@case("an unknown option says what was meant, exit 2")
def _():
    result = run(f"{PREDICT} --bacth 4", code=2)
    equal(result.out, "")
    contains(result.err, "--bacth")
    contains(result.err, "did you mean '--batch'?")


@case("an unknown model says what was meant, exit 2")
def _():
    result = run("predict llama-3.1-8c h100-sxm", code=2)
    contains(result.err, "did you mean 'llama-3.1-8b'?")
    equal(result.out, "")


@case("unknown hardware says what was meant, exit 2")
def _():
    result = run("predict llama-3.1-8b h100-sxn", code=2)
    contains(result.err, "did you mean 'h100-sxm'?")
    equal(result.out, "")


@case("wrong option values name what is allowed, exit 2")
def _():
    for words, parts in (("-b 0", ["--batch", "'0'", "1 to 16777216"]),
                         ("-b -1", ["--batch", "'-1'"]),
                         ("-b 8k", ["--batch", "'8k'"]),
                         ("-b 99999999999999999999", ["--batch"]),
                         ("--tpot 30", ["--tpot", "'30'", "ms"]),
                         ("--reserve 1", ["--reserve", "'1'", "GiB"]),
                         ("--price 2.5", ["--price", "'2.5'", "/h"]),
                         ("--memory-utilization 1.1", ["--memory-utilization", "0.01 to 1"]),
                         ("--memory-utilization nan", ["--memory-utilization"]),
                         ("--attention flash", ["--attention", "fused", "unfused"]),
                         ("--weight-dtype bf61", ["--weight-dtype", "did you mean 'bf16'?"]),
                         ("--format jsn", ["--format", "json"]),
                         ("--prompt", ["--prompt"])):
        result = run(f"{PREDICT} {words}", code=2)
        equal(result.out, "", words)
        for part in parts:
            contains(result.err, part, words)
        for line in result.err.splitlines():
            expect(line.startswith("llmperf: "), "prefix", result)


@case("too few and too many arguments exit 2")
def _():
    for words in ("predict", "predict llama-3.1-8b", f"{PREDICT} extra", "layers", "specs",
                  "specs show", "specs list gpus", "specs frobnicate", "layers a b c"):
        result = run(words, code=2)
        equal(result.out, "", words)
        contains(result.err, "llmperf: ", words)


@case("an illegal --tp lists the legal ones, exit 2")
def _():
    result = run(f"{PREDICT} --tp 3", code=2)
    # 32 heads, 8 KV heads: 1 2 4 8 divide both, 16 and 32 replicate KV heads
    contains(result.err, "1, 2, 4, 8, 16, 32")
    equal(result.out, "")


@case("a bad file exits 3, a missing one 4")
def _():
    with folder() as here:
        (here / "bad.yaml").write_text("name: x\nmemory: 80\n", encoding="utf-8")
        result = run(["predict", "llama-3.1-8b", here / "bad.yaml"], code=3)
        contains(result.err, f"llmperf: {here}/bad.yaml:2:9: memory is ")
        equal(result.out, "")
        result = run(["predict", "llama-3.1-8b", here / "none.yaml"], code=4)
        contains(result.err, "none.yaml")
        equal(result.out, "")
        result = run(["predict", here / "none.json", "h100-sxm"], code=4)
        contains(result.err, "none.json")


@case("what a part or this version cannot do exits 5")
def _():
    result = run(f"{PREDICT} --pp 2", code=5)
    contains(result.err, "--pp")
    with folder() as here:
        (here / "int8.yaml").write_text("name: only-int8\npeak: {int8: 100 TOP/s}\n"
                                        "memory: 80 GB\nbandwidth: 1 TB/s\n", encoding="utf-8")
        result = run(["predict", "llama-3.1-8b", here / "int8.yaml"], code=5)
        contains(result.err, "only-int8")
        equal(result.out, "")
        (here / "alone.yaml").write_text("name: alone\npeak: {bf16: 100 TFLOP/s}\n"
                                         "memory: 80 GB\nbandwidth: 1 TB/s\n", encoding="utf-8")
        result = run(["predict", "llama-3.1-8b", here / "alone.yaml", "--tp", "2"], code=5)
        contains(result.err, "link")


@case("what does not fit exits 8 with the full report")
def _():
    result = run(f"{PREDICT} -b 512 -s 8192", code=8)
    for part in ("DOES NOT FIT", "TPOT", "What would fit:"):
        contains(result.out, part)
    contains(result.err, "does not fit")
    equal(len(result.err.splitlines()), 1)


@case("control bytes in names are escaped in messages")
def _():
    result = run(["predict", "llama\x1b[31m\x07", "h100-sxm"], code=2)
    expect(not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", result.err), "escaped", result)
    contains(result.err, "\\x1b")


@case("success writes nothing to stderr")
def _():
    for words in (PREDICT, f"{PREDICT} --format json", "layers llama-3.1-8b h100-sxm",
                  "layers llama-3.1-8b", "specs list", "specs show h100-sxm",
                  "specs check h100-sxm"):
        result = run(words, code=0)
        equal(result.err, "", words)
        expect(result.out.endswith("\n"), words)


@case("a reader that leaves early ends it quietly")
def _():
    command = f"'{EXE}' specs list --format json | head -c 10 >/dev/null; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], env=environment(), check=False,
                          stderr=subprocess.PIPE)
    equal(done.stderr, b"")
    expect(done.returncode in (0, 141), f"exit code {done.returncode}")


# ---- options -----------------------------------------------------------------------------------------


@case("options stand anywhere and in every form")
def _():
    wanted = run("predict -b 4 -s 512 llama-3.1-8b h100-sxm --format json", code=0).out
    for words in ("predict llama-3.1-8b h100-sxm --batch 4 --prompt 512 --format json",
                  "predict llama-3.1-8b --batch=4 h100-sxm --prompt=512 --format=json",
                  "predict -b4 -s512 --format json llama-3.1-8b h100-sxm",
                  "predict --format json --batch 4 --prompt 512 -- llama-3.1-8b h100-sxm",
                  "predict -b 7 -s 512 llama-3.1-8b h100-sxm --format json -b 4"):
        equal(run(words, code=0).out, wanted, words)


# ---- output files -------------------------------------------------------------------------------------


def names(path):
    return sorted(os.listdir(path))


@case("-o writes what stdout would get and nothing to stdout")
def _():
    with folder() as here:
        for suffix, form in (("json", "json"), ("csv", "csv"), ("md", "md"), ("txt", "text")):
            path = here / f"out.{suffix}"
            result = run(f"{PREDICT} -o {path}", code=0)
            equal(result.out, "", suffix)
            equal(result.err, "", suffix)
            equal(path.read_text("utf-8"), run(f"{PREDICT} --format {form}", code=0).out, suffix)
        run(f"{PREDICT} --format json -o {here}/wins.csv", code=0)
        parse_json((here / "wins.csv").read_text("utf-8"))
        equal(names(here), ["out.csv", "out.json", "out.md", "out.txt", "wins.csv"])


@case("-o yaml by suffix where a specification is shown")
def _():
    with folder() as here:
        run(f"specs show h100-sxm -o {here}/h.yaml", code=0)
        equal((here / "h.yaml").read_text("utf-8"),
              run("specs show h100-sxm --format yaml", code=0).out)


@case("-o replaces a file as a whole, by rename")
def _():
    with folder() as here:
        path = here / "out.json"
        path.write_text("old\n" * 10000, encoding="utf-8")
        os.link(path, here / "second-name")
        run(f"{PREDICT} -o {path}", code=0)
        parse_json(path.read_text("utf-8"))
        # the old file still is whole under its other name: it was not written over
        equal((here / "second-name").read_text("utf-8"), "old\n" * 10000)
        equal(names(here), ["out.json", "second-name"])


@case("-o over a symbolic link replaces what it leads to, not the link")
def _():
    with folder() as here:
        (here / "real").mkdir()
        (here / "real" / "out.json").write_text("old", encoding="utf-8")
        (here / "link.json").symlink_to("real/out.json")
        run(f"{PREDICT} -o {here}/link.json", code=0)
        expect((here / "link.json").is_symlink(), "the link is gone")
        parse_json((here / "real" / "out.json").read_text("utf-8"))
        equal(names(here / "real"), ["out.json"])
        long = "x/" * 2100 + "out.json"
        contains(run(f"{PREDICT} -o {here}/{long}", code=4).err, "cannot")
        equal(names(here), ["link.json", "real"])


@case("-o keeps the report of what does not fit")
def _():
    with folder() as here:
        run(f"{PREDICT} -b 512 -s 8192 -o {here}/out.json", code=8)
        equal(parse_json((here / "out.json").read_text("utf-8"))["memory"]["fits"], False)


@case("a failing command leaves -o as it was")
def _():
    with folder() as here:
        path = here / "out.json"
        path.write_text("old", encoding="utf-8")
        for words in (f"predict no-such-model h100-sxm -o {path}",
                      f"predict llama-3.1-8b no-such-part -o {path}",
                      f"{PREDICT} --tp 3 -o {path}", f"specs show no-such-name -o {path}",
                      f"specs check no-such-name -o {path}", f"layers no-such-model -o {path}"):
            run(words, code=2)
            equal(path.read_text("utf-8"), "old", words)
            equal(names(here), ["out.json"], words)


@case("-o into a missing folder or onto a folder exits 4")
def _():
    with folder() as here:
        for path in (here / "none" / "out.json", here):
            result = run(["predict", "llama-3.1-8b", "h100-sxm", "-o", path], code=4)
            equal(result.out, "")
            contains(result.err, str(path))
        equal(names(here), [])


@case("a full device exits 4, to a file or to stdout")
def _():
    if not os.path.exists("/dev/full"):
        raise Skip("no /dev/full here")
    for words in (PREDICT, "specs list --format json", "layers llama-3.1-8b h100-sxm",
                  "specs show h100-sxm"):
        result = run(f"{words} -o /dev/full", code=4)
        contains(result.err, "No space left", words)
        expect(os.path.exists("/dev/full"), "the device is still there")
        with open("/dev/full", "wb") as full:
            result = run(words, code=4, stdout=full)
        contains(result.err, "No space left", words)


@case("--version and --help notice a full stdout")
def _():
    if not os.path.exists("/dev/full"):
        raise Skip("no /dev/full here")
    for words in (["--version"], ["--help"], ["predict", "--help"], ["--generate", "bash"],
                  ["--generate", "man", "predict"]):
        with open("/dev/full", "wb") as full:
            run(words, code=4, stdout=full)


# ---- terminals ----------------------------------------------------------------------------------------


def on_terminal(words, env=None):
    """stdout of a command that believes to write to a terminal."""
    leader, follower = pty.openpty()
    process = subprocess.Popen([EXE] + words.split(), stdin=subprocess.DEVNULL, stdout=follower,
                               stderr=subprocess.PIPE, env=environment({"TERM": "xterm", **(env or {})}))
    os.close(follower)
    parts = []
    while True:
        try:
            part = os.read(leader, 65536)
        except OSError:
            break
        if not part:
            break
        parts.append(part)
    os.close(leader)
    process.stderr.close()
    if process.wait() != 0:
        raise Failure(f"exit code {process.returncode}")
    return b"".join(parts)


@case("colour only on a terminal, and never with NO_COLOR")
def _():
    expect(b"\x1b[" in on_terminal(PREDICT), "emphasis on a terminal")
    expect(b"\x1b[" not in on_terminal(PREDICT, {"NO_COLOR": "1"}), "NO_COLOR")
    expect(b"\x1b[" not in on_terminal(f"{PREDICT} --format json"), "JSON")
    expect("\x1b" not in run(PREDICT, code=0).out, "a pipe")


# ---- shells --------------------------------------------------------------------------------------------


@case("--generate prints completions and man pages that tools accept")
def _():
    for shell in ("bash", "zsh"):
        text = run(["--generate", shell], code=0).out
        contains(text, "--memory-utilization", shell)
    done = subprocess.run(["bash", "-n"], input=run(["--generate", "bash"], code=0).out.encode(),
                          stderr=subprocess.PIPE, check=False)
    equal(done.returncode, 0, done.stderr.decode())
    for words in (["man"], ["man", "predict"]):
        text = run(["--generate"] + words, code=0).out
        contains(text, ".TH ", str(words))
        contains(text, ".SH ", str(words))


if __name__ == "__main__":
    main()
