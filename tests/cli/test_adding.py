#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""docs/architecture.md, "Tables" and "How to add a thing": every file that they name is there, and a layer
kind, an output format, a command, a result reader and an engine profile are each added to a copy of the
tree in the files that the table names, and in no other; the program built from it knows all five."""
import functools
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

from llmperf_test import (SANITIZED, SOURCE, SPECS, Skip, case, close, contains, environment, equal,
                          expect, main, parse_json)

DOC = SOURCE / "docs" / "architecture.md"


# ---- the tables ---------------------------------------------------------------------------------------------


def rows_of(heading):
    """{first cell: [files named in each further cell]} of the table below a heading."""
    text = DOC.read_text(encoding="utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in text.splitlines() if line.startswith("|")]
    expect(len(lines) > 2 and set(lines[1]) <= set("|- "), f"no table below '{heading}'")
    rows = {}
    for line in lines[2:]:
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        expect(cells[0] and cells[0] not in rows, f"{heading}: {cells[0]!r} stands there twice")
        rows[cells[0]] = [re.findall(r"`([^`]*[/.][^`]*)`", cell) for cell in cells[1:]]
    return rows


def paths(cells):
    """What of these has the form of a path below the tree: a folder or a suffix of ours."""
    return [p for cell in cells for p in cell if re.fullmatch(r"[\w/.-]+\.(c|h|md|yaml|build)", p)]


@case("every file that the tables name is there")
def _():
    for heading in ("Tables", "How to add a thing"):
        for what, cells in rows_of(heading).items():
            for path in paths(cells):
                found = list(SOURCE.glob(path.replace("_X.", "_*.").replace("/X.", "/*.")))
                expect(found, f"{what}: {path} is not in the tree")


@case("every table that the first one names is in its file")
def _():
    text = DOC.read_text(encoding="utf-8")
    found = re.findall(r"`([A-Z_]+)` in `([^`]+)`", text)
    expect(len(found) >= 10, f"{len(found)} tables")
    for name, path in found:
        expect(re.search(rf"\b{name}\b", (SOURCE / path).read_text(encoding="utf-8")),
               f"{name} is not in {path}")


@case("the folders of CONTRIBUTING are there and see what the walls let through")
def _():
    spec = importlib.util.spec_from_file_location("rooms", SOURCE / "tests" / "tools" / "rooms.py")
    walls = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(walls)
    text = (SOURCE / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = re.findall(r"(?m)^\| `([\w/*]+)/` \|[^|]*\| ?(.*)\|$", text)
    headers = {}
    for folder, sees in rows:
        expect(list(SOURCE.glob(folder)), f"{folder} is no folder")
        if sees.startswith("`"):
            headers[folder.split("/")[0]] = set(re.findall(r"`(\w+\.h)`", sees))
    equal(headers, walls.BESIDE_HEADERS)
    equal(len(rows), 9)


# ---- one of each --------------------------------------------------------------------------------------------

# A causal convolution between two projections: h -> width, `kernel` taps a channel, width -> h.
KIND = r"""/* SPDX-License-Identifier: MIT */
#include "emit.h"
#include "rows.h"

enum { WIDTH, KERNEL }; /* places in llmperf_layer.own */

static void emit_toy(emitter *e, const llmperf_layer *layer)
{
    double h = (double)e->c->model->hidden, t = e->tokens, repeat = (double)layer->count;
    double width = (double)ceil_div(layer->own[WIDTH], e->c->workload.tp);
    double taps = (double)layer->own[KERNEL];
    emit_gemm(e, LLMPERF_OP_SSM_IN, LLMPERF_WEIGHT_SSM, t, width, h, repeat);
    emit_elementwise(e, LLMPERF_OP_SSM_CONV, 2 * taps * t * width, t * width, t * width,
                     taps * width, repeat);
    emit_gemm(e, LLMPERF_OP_SSM_OUT, LLMPERF_WEIGHT_SSM, t, h, width, repeat);
}

static void count_toy(const llmperf_model *model, const llmperf_layer *layer, int64_t tp,
                      weight_count *sum)
{
    int64_t width = ceil_div(layer->own[WIDTH], tp);
    sum->by_class[LLMPERF_WEIGHT_SSM] += layer->count * 2 * model->hidden * width;
    sum->by_class[LLMPERF_WEIGHT_OTHER] += layer->count * width * layer->own[KERNEL];
}

static double toy_state_bytes(const llmperf_layer *layer, int64_t tp)
{
    return 2 * (double)(ceil_div(layer->own[WIDTH], tp) * (layer->own[KERNEL] - 1));
}

static double toy_widest(const llmperf_layer *layer)
{
    return (double)layer->own[WIDTH];
}

static bool toy_splits(const llmperf_layer *layer, int64_t tp)
{
    return layer->own[WIDTH] % tp == 0;
}

static const layer_field TOY_FIELDS[] = {
    {OWN_FIELD("width", WIDTH, 1, 4096), .required = true},
    {OWN_FIELD("kernel", KERNEL, 2, 64), .absent = 3},
    {0},
};

static const symbol TOY_SYMBOLS[] = {
    FACT("d_c", "channels of the mixer", own[WIDTH]),
    FACT("k_c", "taps of the mixer", own[KERNEL]),
    {0},
};

static const macro TOY_MACROS[] = {{"$C", "shared ? ceil(d_c / tp) | d_c"}, {0}};

static const op_row TOY_OPS[] = {
    {.id = LLMPERF_OP_SSM_IN, .m = "$T", .n = "$C", .k = "h", .w = "$w_s"},
    {MOVES(SSM_CONV, "2 k_c $T $C", "k_c $C $w_n", "$T $C a", "$T $C a",
           "2 k_c / (k_c $w_n / ($T) + 2 a)")},
    {.id = LLMPERF_OP_SSM_OUT, .m = "$T", .n = "h", .k = "$C", .w = "$w_s"},
    {0},
};

static const term_row TOY_TERMS[] = {
    {SUM_WEIGHTS, IN_LAYERS, "mixer", "2 h $C", "$w_s"},
    {SUM_WEIGHTS, IN_LAYERS, "mixer's taps", "k_c $C", "$w_n"},
    {SUM_STATE, IN_LAYERS, "tails of the mixer", "$sequences layers 2 $C (k_c - 1)", NULL},
    {0},
};

static const layer_rows TOY_ROWS = {"d_c", TOY_SYMBOLS, NULL, TOY_MACROS, TOY_OPS, TOY_TERMS};

const layer_kind LAYER_TOY = {
    .name = "conv_mixer",
    .fields = TOY_FIELDS,
    .mixes = true,
    .emit = emit_toy,
    .count_weights = count_toy,
    .state_bytes = toy_state_bytes,
    .widest = toy_widest,
    .widest_formula = "d_c",
    .splits = toy_splits,
    .rows = &TOY_ROWS,
};
"""

FORMAT = r"""/* SPDX-License-Identifier: MIT */
#include "formats.h"

static void bar_text(FILE *out, const char *raw)
{
    char text[256];
    fputs(llmperf_escape(raw, text, sizeof text), out);
}

const sink_format bars_sink = {.separator = '|', .cell = bar_text};
"""

COMMAND = r"""/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "commands.h"
#include "common.h"

typedef struct words_arguments {
    bool loud;
} words_arguments;

static const option OPTIONS[] = {
    OPTION_ROW(words_arguments, loud, FLAG, "loud", 0, NULL, "with an exclamation mark"),
    OPTION_END,
};

static int run(int argc, char **argv)
{
    words_arguments arguments = {false};
    option_result result = {0};
    llmperf_error error = {0};
    llmperf_status status = common_parse(&COMMAND_WORDS, argc, argv, &arguments, &result, &error);
    if (status == LLMPERF_OK && result.help)
        option_print_help(stdout, &COMMAND_WORDS);
    else if (status == LLMPERF_OK)
        printf("%d words%s\n", result.positional_count, arguments.loud ? "!" : "");
    return common_report(status, &error);
}

const option_command COMMAND_WORDS = {
    .name = "words",
    .synopsis = "[WORD]...",
    .summary = "counts its words",
    .about = "Counts its words.",
    .examples = "llmperf words a b",
    .options = OPTIONS,
    .max_positionals = 9,
    .run = run,
};
"""

READER = r"""/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "record.h"

static bool is_toy(const json_t *object)
{
    return json_object_get(object, "toy_seconds_per_token") != NULL;
}

static llmperf_status read_toy(record *rec)
{
    llmperf_run run = results_run(rec->r, rec->line);
    record_text(json_object_get(rec->object, "net"), run.model, sizeof run.model);
    run.batch = record_count(rec, "at_once");
    run.prompt = record_fact(rec, "in");
    run.generate = record_fact(rec, "out");
    return record_metric(rec, &run, LLMPERF_METRIC_TPOT,
                         json_object_get(rec->object, "toy_seconds_per_token"),
                         "toy_seconds_per_token", 1);
}

const json_format TOY = {.name = "toy", .matches = is_toy, .read = read_toy};
"""

# Typical shares, written by hand; what a profile must say is in docs/engines.md.
PROFILE = """schema: 1
name: "toy-engine"
source: "made up for a test"
licence: "MIT"
"""


class Addition:
    """New files, {file: text}, and rows: {file: (the line that one is put behind, the row)}."""

    def __init__(self, new, rows, needs_calib=False):
        self.new, self.rows, self.needs_calib = new, rows, needs_calib


def profile():
    """A shipped profile under another name: the smallest there is, without its digest of rows."""
    smallest = min((SPECS / "engine").glob("*.yaml"), key=lambda p: p.stat().st_size)
    lines = smallest.read_text(encoding="utf-8").splitlines()
    lines = [line for line in lines if not line.startswith(("#", "digest:"))]
    return re.sub(r'(?m)^name: .*', 'name: "toy-engine"', "\n".join(lines)) + "\n"


def additions():
    slash = " " * 4
    return {
        "layer kind": Addition(
            {"model/op/layer_toy.c": KIND},
            {"model/op/layers.c": (r"ROW\(LAYER_SSM\).*\\", slash + "ROW(LAYER_TOY) \\"),
             "model/meson.build": (r"    'op/layer_ssm\.c',", "    'op/layer_toy.c',")}),
        "output format": Addition(
            {"model/report/sink_bars.c": FORMAT},
            {"model/report/formats.h": (r"ROW\(csv,.*\\",
                                        slash + 'ROW(bars, ".bars", sink, 1, 1, 0, 0) \\'),
             "model/meson.build": (r"    'report/sink_csv\.c',", "    'report/sink_bars.c',")}),
        "command": Addition(
            {"cli/cmd_words.c": COMMAND},
            {"cli/commands.h": (r"ROW\(PREDICT\).*\\", slash + "ROW(WORDS) \\"),
             "cli/meson.build": (r"cli_commands = .*", "cli_commands += 'words'")}),
        "result reader": Addition(
            {"bench/read_toy.c": READER},
            {"bench/readers.c": (r"#define JSON_READERS.*\\", slash + "R(TOY) \\"),
             "bench/meson.build": (r"    'read_sglang\.c',", "    'read_toy.c',")},
            needs_calib=True),
        "engine profile": Addition({"specs/engine/toy-engine.yaml": profile()}, {}),
    }


def apply(tree, addition):
    for path, text in addition.new.items():
        expect(not (tree / path).exists(), f"{path} is there already")
        (tree / path).write_text(text, encoding="utf-8")
    for path, (behind, row) in addition.rows.items():
        text = (tree / path).read_text(encoding="utf-8")
        changed, count = re.subn(f"(?m)^(.*{behind})$", lambda m: m.group(1) + "\n" + row, text)
        equal(count, 1, f"{path}: lines like {behind}")
        (tree / path).write_text(changed, encoding="utf-8")


def named(what):
    """(patterns of new files, places of rows) that the table names."""
    rows = rows_of("How to add a thing")
    expect(what in rows, f"'{what}' is in no row of the table")
    return paths([rows[what][0]]), sorted(paths([rows[what][1]]))


@case("one of each is added in the files that the table names and in no other")
def _():
    for what, addition in additions().items():
        new, places = named(what)
        equal(places, sorted(addition.rows), what)
        equal(len(new), len(addition.new), what)
        for pattern, path in zip(new, addition.new):
            expect(re.fullmatch(re.escape(pattern).replace("X", r"[\w-]+"), path),
                   f"{what}: {path} is not of the form {pattern}")


# ---- the program with all five -------------------------------------------------------------------------------


def copy_tree(tree):
    """What the build reads: the sources, without tests, pictures and results."""
    for name in ("bench", "calib", "cli", "examples", "include", "kernels", "model", "png", "specs"):
        shutil.copytree(SOURCE / name, tree / name)
    for name in ("meson.build", "meson_options.txt"):
        shutil.copy(SOURCE / name, tree / name)


class Scratch:
    """A copy of the tree with all additions, built."""

    def __init__(self, folder):
        self.tree = pathlib.Path(folder)
        copy_tree(self.tree)
        self.calib = os.environ.get("LLMPERF_CALIB", "yes") == "yes"
        for addition in additions().values():
            if self.calib or not addition.needs_calib:
                apply(self.tree, addition)
        self.exe = self.tree / "build" / "cli" / "llmperf"
        self.tool("meson", "setup", "build", "--buildtype=plain", "-Dc_args=-O0", "-Dtests=false",
                  "-Dcuda=disabled", "-Dpng=disabled", "-Dwerror=true",
                  f"-Dcalib={'enabled' if self.calib else 'disabled'}")
        self.tool("ninja", "-C", "build", "cli/llmperf")

    def tool(self, *words):
        done = subprocess.run(words, cwd=self.tree, capture_output=True, text=True, check=False)
        expect(done.returncode == 0, f"{' '.join(words)}\n{done.stdout[-3000:]}{done.stderr[-2000:]}")

    def run(self, *words, code=0):
        env = environment({"LLMPERF_SPECS": self.tree / "specs"})
        done = subprocess.run([str(self.exe), *map(str, words)], env=env, cwd=self.tree,
                              capture_output=True, text=True, check=False, timeout=60)
        equal(done.returncode, code, f"{words}\n{done.stderr[:2000]}")
        return done.stdout + done.stderr

    def json(self, *words):
        return parse_json(self.run(*words, "--format", "json"))

    def file(self, name, text):
        (self.tree / name).write_text(text, encoding="utf-8")
        return "./" + name


_folders = []


@functools.lru_cache(maxsize=None)
def scratch():
    if SANITIZED:
        raise Skip("the plain build shows it")
    if not shutil.which("meson") or not shutil.which("ninja"):
        raise Skip("meson and ninja build the copy")
    folder = tempfile.TemporaryDirectory(prefix="llmperf-adding-")
    _folders.append(folder)
    return Scratch(folder.name)


# h = 8, V = 10, bf16; two layers of the new kind beside an FFN
MODEL = """name: toy
dtype: bf16
hidden: 8
vocab: 10
layers:
  - count: 2
    conv_mixer: {width: 24%s}
    mlp: {ffn: 16}
"""


@case("a layer kind of one file is read, counted, checked and written")
def _():
    s = scratch()
    model = s.file("toy.yaml", MODEL % "")
    shown = s.json("specs", "show", model)["model"]
    # each layer: projections 2 x 8 x 24, three taps a channel 3 x 24, FFN 3 x 8 x 16, two norms of 8;
    # table and head 10 x 8 each, the last norm 8
    equal(shown["params"], 2 * (384 + 72 + 384 + 16) + 2 * 80 + 8)
    equal(shown["layer_plan"][0]["conv_mixer"], {"width": 24, "kernel": 3})
    equal(shown["state_bytes"], 2 * 2 * 24 * 2, "two tokens of 24 channels in two layers, 16 bit")
    written = s.run("specs", "show", model, "--format", "yaml")
    contains(written, "conv_mixer: {width: 24}\n", "what is absent is not written")
    equal(s.run("specs", "show", s.file("again.yaml", written), "--format", "yaml"), written)
    wide = s.file("wide.yaml", MODEL % ", kernel: 4")
    contains(s.run("specs", "show", wide, "--format", "yaml"), "conv_mixer: {width: 24, kernel: 4}\n")
    contains(s.run("specs", "show", model), "conv_mixer, width 24")


@case("a layer kind of one file is emitted, split, timed and summed")
def _():
    s = scratch()
    model = s.file("toy.yaml", MODEL % "")
    words = [model, "h100-sxm", "-b", "2", "-s", "4", "-g", "2"]
    decode = [p for p in s.json("layers", *words)["phases"] if p["phase"] == "decode"][0]
    ops = {op["name"]: op for op in decode["ops"]}
    equal([ops["ssm.in"][k] for k in "mnk"], [2, 24, 8])
    equal([ops["ssm.out"][k] for k in "mnk"], [2, 8, 24])
    equal(ops["ssm.conv"]["flop"], 2 * 3 * 2 * 24)
    equal(ops["ssm.in"]["repeat"], 2)
    expect(ops["ssm.in"]["time_s"] > 0, ops["ssm.in"])
    split = [p for p in s.json("layers", *words, "--tp", "4")["phases"] if p["phase"] == "decode"][0]
    equal({op["name"]: op["n"] for op in split["ops"]}["ssm.in"], 6)
    predicted = s.json("predict", *words)
    expect(predicted["tpot_s"]["value"] > 0, "a time")
    # the largest step, a prefill of 8 tokens that ends 2 prompts: (2 h + widest) values of 2 bytes a token,
    # logits of 10 x 4 bytes; the FFN's gate and up, 32 values, are wider than the 24 of the new kind
    close(predicted["memory"]["activation_bytes"], 8 * (16 + 32) * 2 + 2 * 10 * 4)
    narrow = s.file("narrow.yaml", (MODEL % "").replace("ffn: 16", "ffn: 4"))
    close(s.json("predict", narrow, *words[1:])["memory"]["activation_bytes"],
          8 * (16 + 24) * 2 + 2 * 10 * 4)


@case("a layer kind of one file is explained in its own symbols")
def _():
    s = scratch()
    model = s.file("toy.yaml", MODEL % "")
    symbolic = {op["name"]: op for phase in s.json("layers", model, "--symbolic")["phases"]
                for op in phase["ops"]}
    equal([symbolic["ssm.in"][k] for k in "mnk"], ["b", "d_c", "h"])
    equal(symbolic["ssm.conv"]["flop"], "2 * k_c * b * d_c")
    told = s.run("explain", "memory.state_bytes", model, "h100-sxm", "-b", "2")
    contains(told, "384 B\n", "two sequences, two layers, two bytes of 24 channels of two tokens")
    contains(told, "channels of the mixer")
    contains(s.run("explain", "model.params", model, "h100-sxm"), "mixer's taps")
    contains(s.run("explain", "memory.activation_bytes",
                   s.file("narrow.yaml", (MODEL % "").replace("ffn: 16", "ffn: 4")), "h100-sxm"), "d_c")


@case("faults of a layer kind of one file are told as those of any other")
def _():
    s = scratch()
    contains(s.run("specs", "show", s.file("a.yaml", MODEL % ", kernel: 1"), code=3),
             "a.yaml:7:37: kernel is integer 1; an integer from 2 to 64 is allowed")
    contains(s.run("specs", "show", s.file("b.yaml", MODEL % ", kernal: 4"), code=3),
             "key 'kernal' is not known; did you mean 'kernel'?")
    contains(s.run("specs", "show", s.file("c.yaml", (MODEL % "").replace("width: 24", "")), code=3),
             "width is missing; it is required")
    contains(s.run("predict", s.file("d.yaml", MODEL % ""), "h100-sxm", "--tp", "5", code=2),
             "1, 2, 3, 4, 6, 8, 12, 24 is allowed")


@case("an output format of one file is offered, told by its suffix and written")
def _():
    s = scratch()
    words = ["sweep", s.file("toy.yaml", MODEL % ""), "h100-sxm", "--batch", "1,2"]
    bars, csv = s.run(*words, "--format", "bars"), s.run(*words, "--format", "csv")
    equal(bars, csv.replace(",", "|"))
    expect(bars.count("\n") == 3, bars)
    s.run(*words, "-o", "out.bars")
    equal((s.tree / "out.bars").read_text(), bars)
    contains(s.run("predict", "--help"), "bars")
    contains(s.run(*words, "--format", "no", code=2), "bars")


@case("a command of one file is listed, helped, completed and run")
def _():
    s = scratch()
    contains(s.run("--help"), "counts its words")
    contains(s.run("words", "--help"), "llmperf words a b")
    equal(s.run("words", "a", "b", "--loud"), "2 words!\n")
    contains(s.run("--generate", "bash"), "--loud")
    contains(s.run("wrods", code=2), "did you mean 'words'?")


@case("a result reader of one file takes the files that are its own")
def _():
    s = scratch()
    if not s.calib:
        raise Skip("this build reads no results")
    result = s.file("toy.json", json.dumps({"toy_seconds_per_token": 0.002, "net": "llama-3.1-8b",
                                            "at_once": 4, "in": 100, "out": 50}))
    rows = s.json("compare", result, "--hw", "h100-sxm")["rows"]
    equal([(r["model"], r["batch"], r["measured"]) for r in rows], [("llama-3.1-8b", 4, 0.002)])


@case("an engine profile of one file is listed and used")
def _():
    s = scratch()
    contains(s.run("specs", "list", "engine"), "toy-engine")
    with_it = s.json("predict", "llama-3.1-8b", "h100-sxm", "--engine", "toy-engine")
    without = s.json("predict", "llama-3.1-8b", "h100-sxm", "--calibration", "none")
    expect(with_it["tpot_s"]["value"] > without["tpot_s"]["value"], "host time and shares of peaks")
    contains(json.dumps(with_it), "toy-engine")


if __name__ == "__main__":
    main()
