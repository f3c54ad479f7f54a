#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every command that README and docs show is run, and what stands below is what it prints.

    test_docs.py --write      rewrites what the pages show (./dev golden)
"""
import csv
import re
import shlex
import shutil
import sys

from llmperf_test import (DATA, SOURCE, SPECS, Failure, case, equal, expect, folder, main,
                          parse_json, run)

PAGES = [SOURCE / "README.md", SOURCE / "specs" / "README.md",
         *sorted((SOURCE / "docs").glob("*.md"))]
INDENT = "    "
PLACEHOLDER = re.compile(r"(^|[\[.|=-])[A-Z]{2,}\b|\.\.\.|\[|\|")

# What readers have: our own files of that kind stand for theirs.
GGUF = SOURCE / "tests" / "fuzz" / "corpus" / "gguf" / "llama-q4_0.gguf"
THEIRS = {
    "config.json": DATA / "configs" / "meta-llama__Meta-Llama-3.1-8B.json",
    "my-gpu.yaml": SPECS / "hardware" / "h100-sxm.yaml",
    "my-engine.yaml": SPECS / "engine" / "vllm.yaml",
    "llama-bench.json": DATA / "bench-formats" / "llama-bench.json",
    "latency.json": DATA / "bench-formats" / "vllm-bench-latency.json",
    "x.gguf": GGUF, "model.gguf": GGUF, "Meta-Llama-3.1-8B-Instruct-Q4_K_M.gguf": GGUF,
}
RUNS = "engine,gpu,model,weight_dtype,tp,batch,input_len,output_len,metric,value,kind\n" + "".join(
    f"my-engine,h100-sxm,{model},bf16,1,{batch},512,128,tpot_ms,{ms},static\n"
    for model, one, each in (("llama-3.1-8b", 7.1, 0.06), ("qwen2.5-7b", 6.7, 0.05))
    for batch in (1, 4, 16, 64) for ms in [one + each * batch])


def reader(here):
    """Makes a folder look like a reader's, with this tree's examples in it."""
    for name, path in THEIRS.items():
        shutil.copy(path, here / name)
    (here / "runs.csv").write_text(RUNS, encoding="utf-8")
    text = (DATA / "ops" / "aic_gemm_h100_sxm_bfloat16.csv").read_text("utf-8")
    rows = [line for line in text.splitlines() if not line.startswith("#")]
    table = csv.DictReader(rows)  # one library's times
    kept = [name for name in table.fieldnames if name not in ("t_trtllm", "t_sglang")]
    with open(here / "samples.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, kept, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(table)
    for name in ("examples", "tests"):
        (here / name).symlink_to(SOURCE / name)


def commands(text):
    """(line number, command) of a page: indented lines, with those that a wide column or a
    backslash continues; what stands behind two blanks is a remark."""
    lines = text.splitlines()
    found = []
    for number, line in enumerate(lines):
        at = line.find("llmperf ")
        if not line.startswith(INDENT) or at < 0 or line.lstrip().startswith("llmperf:") or \
                (line[at - 2:at] not in ("  ", "$ ")):
            continue
        command = re.split(r"\s{2,}|\s+\(", line[at:])[0]
        for more in lines[number + 1:]:
            if not (command.endswith("\\") or re.match(r" {40,}\S", more)):
                break
            command = command.removesuffix("\\").strip() + " " + re.split(r"\s+\(", more.strip())[0]
        found.append((number + 1, command))
    return found


def runnable(command):
    """Words for run(), or None: a form with placeholders, a device that is not here."""
    words = shlex.split(command)[1:]
    if any(PLACEHOLDER.search(word) for word in words) or ", or " in command or "cuda" in words:
        return None
    if words[0] in ("calibrate", "validate"):  # this machine would take minutes
        words += ["--backend", "fake"] + (["--quick"] if words[0] == "calibrate" else [])
        words = [w for w in words if w not in ("hw.yaml",)] if words[0] == "validate" else words
        words += ["fake"] if words[0] == "validate" else []
    return words


@case("every command of README and docs runs")
def _():
    wrong, count = [], 0
    for page in PAGES:
        with folder() as here:
            reader(here)
            for number, command in commands(page.read_text("utf-8")):
                words = runnable(command)
                if words is None:
                    continue
                count += 1
                result = run(words, cwd=here, timeout=300)
                shown_fault = page.read_text("utf-8").splitlines()[number].strip()
                if result.code not in (0, 8) and shown_fault not in result.err:
                    wrong.append(f"{page.name}:{number}: {result}")
    expect(not wrong, "\n".join(wrong))
    expect(count > 40, f"{count} commands found")


# ---- the contract -----------------------------------------------------------------------------------


def keys_of(value, free=()):
    """Names of the members of objects in JSON; those below a key of `free` are data."""
    if isinstance(value, list):
        return set().union(*map(lambda one: keys_of(one, free), value)) if value else set()
    if not isinstance(value, dict):
        return set()
    found = set(value)
    for key, one in value.items():
        if key not in free:
            found |= keys_of(one, free)
    return found


@case("every key of JSON is on the interface page")
def _():
    text, wrong = (SOURCE / "docs" / "interface.md").read_text("utf-8"), []
    with folder() as here:
        reader(here)
        for words in ("predict deepseek-v3 h200-sxm --tp 8 -b 64 --tpot 30ms --price 2.5/h",
                      "predict llama-3.1-70b h100-sxm", "predict gpt2 l40s --engine vllm",
                      "layers deepseek-v3 h200-sxm", "layers jamba-v0.1", "layers gpt2 --symbolic",
                      "sweep llama-3.1-8b h100-sxm -b 1,2", "plot batch llama-3.1-8b h100-sxm",
                      "plot roofline llama-3.1-8b h100-sxm", "explain tpot_s llama-3.1-8b h100-sxm",
                      "explain list", "specs list", "specs show gemma-2-9b", "specs show h100-sxm",
                      "devices --backend fake", "validate smollm2-135m fake --backend fake -b 1",
                      "compare llama-bench.json --model x.gguf --hw rtx-4090 --map x=llama-2-7b"):
            result = run(f"{words} --format json", cwd=here)
            expect(result.code in (0, 8), words, result)
            # keys by dtype, by field, by device
            free = ("peak_flop_per_s", "absent", "sources", "state")
            missing = {key for key in keys_of(parse_json(result.out), free)
                       if not re.search(rf"\b{re.escape(key)}\b", text)}
            wrong += [f"{words}: {sorted(missing)}"] if missing else []
    expect(not wrong, "\n".join(wrong))


# ---- what they show ---------------------------------------------------------------------------------


def shown(text):
    """(command, first line, last line) of what stands below a '    $ llmperf ...'; 0-based, the
    last one not included."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if not line.startswith(f"{INDENT}$ llmperf "):
            continue
        command, first = line.strip()[2:], number + 1
        while command.endswith("\\"):
            command = command.removesuffix("\\").strip() + " " + lines[first].strip()
            first += 1
        last = first
        while last < len(lines) and (not lines[last] or lines[last].startswith(INDENT)) and \
                not lines[last].startswith(f"{INDENT}$ "):
            last += 1
        while last > first and not lines[last - 1]:
            last -= 1
        yield command, first, last


def masked(line):
    """A line without its numbers and what they move: the same line of another fit."""
    return re.sub(r"[#\s]+", " ", re.sub(r"[-+]?[\d.,]+", "0", line)).strip()


def follow(template, output, same):
    """The output's lines that a template's lines are, by `same`; '...' passes over any. None: it
    differs."""
    at, found, free = 0, [], False
    for line in template:
        if line == "...":
            found.append(line)
            free = True
            continue
        while free and at < len(output) and same(output[at]) != same(line):
            at += 1
        if at == len(output) or same(output[at]) != same(line):
            return None
        found.append(output[at])
        at += 1
        free = False
    return found if free or at == len(output) else None


def output_of(command, here):
    result = run(shlex.split(command)[1:], cwd=here, timeout=300)
    return (result.out + result.err).splitlines()


def stripped(lines):
    return [line.removeprefix(INDENT) for line in lines]


@case("what README and docs show is what is printed (./dev golden rewrites it)")
def _():
    count = 0
    for page in PAGES:
        text = page.read_text("utf-8")
        with folder() as here:
            reader(here)
            for command, first, last in shown(text):
                output = output_of(command, here)
                template = stripped(text.splitlines()[first:last])
                if not template:
                    continue
                count += 1
                if follow(template, output, str) is None:
                    raise Failure(f"{page.name}:{first + 1}: {command} prints\n" +
                                  "\n".join(output))
    expect(count >= 3, f"{count} outputs found")


REFERENCE = re.compile(r'docs/(\w+)\.md, "([^"]+)"')


def headings(page):
    """Headings of a page without their numbers, and the words that open a paragraph in bold."""
    text = page.read_text("utf-8")
    found = [re.sub(r"^#+\s*(\d+\.\s*)?", "", line) for line in text.splitlines()
             if line.startswith("#")]
    found += [re.sub(r"\.$", "", words) for words in re.findall(r"\*\*([^*]+)\*\*", text)]
    return [words.strip().lower() for words in found]


def broken_references(text, pages):
    """References of a source file to a section of a page that no page has."""
    text = re.sub(r"\n\s*(\*|#|//)\s?", " ", text)  # comments go on over lines
    return [f'{page}.md, "{section}"' for page, section in REFERENCE.findall(text)
            if not any(words.startswith(section.lower()) for words in pages.get(page, []))]


ROOMS = ("include", "model", "bench", "calib", "cli", "kernels", "png")
OWN_FILE = re.compile(rf"(?<![\w/.-])(?:{'|'.join(ROOMS)}|tests)/[\w./*-]+\.(?:[ch]|cu|py|build)\b")


def sources():
    files = [path for room in ROOMS for path in sorted((SOURCE / room).rglob("*.[ch]"))]
    expect(len(files) > 100, f"{len(files)} files found")
    return files


def lost_files(text):
    """Files of ours that a text names and the tree has not; X stands for any name."""
    return [name for name in OWN_FILE.findall(text)
            if not any(SOURCE.glob(re.sub(r"(?<![A-Z])X(?![A-Z])", "*", name)))]


@case("every file that a page or a comment names exists")
def _():
    equal(lost_files("see model/lost.c, model/op/layer_X.c, cli/cmd_*.c"), ["model/lost.c"])
    pages = [SOURCE / "CONTRIBUTING.md", SOURCE / "DATA-LICENSES.md",
             SOURCE / "specs" / "models-notes.md", *PAGES]
    faults = [f"{path.relative_to(SOURCE)}: {name}" for path in pages + sources()
              for name in lost_files(path.read_text("utf-8"))]
    expect(not faults, "\n".join(faults))


@case("every section that a comment names exists")
def _():
    pages = {page.stem: headings(page) for page in (SOURCE / "docs").glob("*.md")}
    expect(broken_references('see docs/model.md, "Nowhere".', pages) != [], "the test sees nothing")
    files = sources()
    faults = [f"{path.relative_to(SOURCE)}: {reference}" for path in files
              for reference in broken_references(path.read_text("utf-8"), pages)]
    expect(not faults, "\n".join(faults))


def write():
    """Puts today's output in the place of each; the lines that are shown stay the same ones."""
    for page in PAGES:
        lines = page.read_text("utf-8").splitlines()
        with folder() as here:
            reader(here)
            for command, first, last in list(shown(page.read_text("utf-8"))):
                output = output_of(command, here)
                found = follow(stripped(lines[first:last]), output, masked)
                if first < last and found is None:
                    sys.exit(f"{page}:{first + 1}: '{command}' prints other lines: by hand\n" +
                             "\n".join(output))
                lines[first:last] = [(INDENT + line).rstrip() for line in found or []]
        page.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        write()
    else:
        main()
