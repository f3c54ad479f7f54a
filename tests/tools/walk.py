#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Calls every function of a library with wrong arguments: walk.py INCLUDE OUT.c [LIBRARY]

Each function is called with sound arguments (tests/unit/walk.h has one of each type), then again and again
with one of them wrong: NULL, an enum's value that is none, a count below zero, NaN, a text without an end.
None may fault; what returns a status must say LLMPERF_E_USAGE for what is marked so, and must leave its
results alone. A function that is added is walked without more ado; a type that is new is asked for here.
"""
import pathlib
import re
import sys

import api

# Sound arguments that nothing can be done with here.
NOT_DONE = {"llmperf_read_pairs": "a specification is no flat file",
            "llmperf_join_check": "nothing is joined yet",
            "llmperf_chart_attention": "no sample is of attention",
            "llmperf_chart_dense": "too few samples", "llmperf_chart_rows": "the sample is of a cache",
            "llmperf_chart_residuals": "the sample is of a cache",
            "llmperf_fit": "too few samples", "llmperf_fit_engine": "too few runs"}
# What measures: sound arguments would be a device. Called with every pointer NULL at once.
OF_DEVICES = {"backend.h", "device.h", "measure.h", "session.h", "validate.h"}
SKIPPED = {"llmperf_fail_va": "llmperf_fail() passes on to it"}

# Sound values that are not `&sound.NAME` of the type's name.
SOUND = {
    "FILE *": "sound.out", "bool": "true", "size_t": "sound.size", "double": "2.0",
    "unsigned": "1u", "void *": "NULL", "llmperf_error *": "&sound.error",
    "const int64_t *": "sound.counts", "const char *const *": "sound.words",
    "char *": "sound.buffer", "int": "1", "int64_t": "2",
    "const llmperf_calib_entry *": "llmperf_calib_entry_at(sound.calib, 0)",
    "const llmperf_engine_part *": "llmperf_engine_part_at(sound.engine, 0)",
    "const llmperf_op *": "&sound.op", "llmperf_op *": "sound.ops",
    "llmperf_time *": "sound.times", "bool *": "&sound.flag", "int *": "&sound.count",
    "double *": "&sound.number", "const char **": "&sound.made_char",
    "llmperf_status": "LLMPERF_E_SPEC", "llmperf_pair_visit": "visit_pair",
    "llmperf_prefill_visit": "visit_prefill", "int32_t *": "&sound.index",
    "const double *": "&sound.number", "llmperf_moe_load": "sound.moe_load",
    "const llmperf_fit_options *": "&sound.fit_options", "llmperf_run_visit": "visit_run",
    "llmperf_spec_visit": "visit_spec",
}
# By function and parameter, where the type's sound value will not do.
NAMED = {
    "path": "sound.path", "capacity": "LLMPERF_OPS_MAX", "kind:llmperf_list_specs": '"models"',
    "name:llmperf_find_model": '"gpt2"', "name:llmperf_find_hw": '"h100-sxm"',
    "name:llmperf_find_calib": '"h100-sxm-vllm"', "name:llmperf_find_engine": '"vllm"',
    "name:llmperf_model_quantise": '"fp8"', "name:llmperf_list_begin": '"models"',
    "path:llmperf_hw_load": "sound.hw_path", "path:llmperf_calib_load": "sound.calib_path",
    "path:llmperf_engine_load": "sound.engine_path", "path:llmperf_read_pairs": "sound.hw_path",
    "path:llmperf_output_open": "NULL", "text:llmperf_model_load_text": "MODEL",
    "text:llmperf_hw_load_text": "HARDWARE", "text:llmperf_calib_load_text": "CALIBRATION",
    "text:llmperf_engine_load_text": "PROFILE", "format": '"json"', "format:llmperf_fail": '"%s"',
    "format:llmperf_note": '"%s"', "index": "0", "size:llmperf_model_load_text": "strlen(MODEL)",
    "size:llmperf_hw_load_text": "strlen(HARDWARE)",
    "size:llmperf_calib_load_text": "strlen(CALIBRATION)",
    "size:llmperf_engine_load_text": "strlen(PROFILE)", "name:llmperf_explain_check": '"tpot_s"',
    "value:llmperf_calib_set_param": "0.5", "name:llmperf_load_engine": "sound.engine_path",
    "path:llmperf_join_read": "sound.runs_path", "path:llmperf_runs_read": "sound.runs_path",
    "path:llmperf_results_are_samples": "sound.runs_path",
    "path:llmperf_samples_read": "sound.samples_path", "text:llmperf_runs_read_text": "RUNS",
    "size:llmperf_runs_read_text": "strlen(RUNS)", "text:llmperf_samples_read_text": "SAMPLES",
    "size:llmperf_samples_read_text": "strlen(SAMPLES)", "library": "NULL",
}
# Objects of the library's own: pointers in `sound`.
OBJECTS = {"llmperf_model", "llmperf_calib", "llmperf_engine", "llmperf_config", "llmperf_workspace",
           "llmperf_explanation", "llmperf_sweep_writer", "llmperf_list_writer",
           "llmperf_plot_panel", "llmperf_plot_series", "llmperf_curve", "llmperf_join"}
# Parameters that may be NULL: by name, or by name and function.
MAY_BE_NULL = {"error", "style", "format", "context", "library", "first", "calibrations", "kernels",
               "group",
               "hw:llmperf_config_new", "calib", "workload:llmperf_config_new", "time", "ret_time",
               "ret_times", "ret_ops", "ret_total", "path:llmperf_output_open",
               "path:llmperf_plot_choose_format", "device", "backend", "date", "quant",
               "c:llmperf_write_symbolic", "c:llmperf_model_weight_bytes", "series", "named",
               "c:llmperf_workspace_new", "options:llmperf_runs_read",
               "options:llmperf_runs_read_text", "options:llmperf_samples_read",
               "options:llmperf_samples_read_text", "options:llmperf_results_are_samples",
               "options:llmperf_fit", "name:llmperf_calib_set_origin"}
MUST_HAVE_CALIB = {"llmperf_calib_write", "llmperf_calib_copy", "llmperf_calib_complete",
                   "llmperf_calib_set_param", "llmperf_calib_set_origin"}
ENDS = {"llmperf_model_free": "sound.model", "llmperf_calib_free": "sound.calib",
        "llmperf_engine_free": "sound.engine", "llmperf_config_free": "sound.config",
        "llmperf_workspace_free": "sound.workspace", "llmperf_join_free": "sound.join",
        "llmperf_explanation_free": "sound.explanation",
        "llmperf_sweep_close": "sound.sweep_writer", "llmperf_list_close": "sound.list_writer",
        "llmperf_comparison_free": None, "llmperf_loaded_free": None}


def parameters(signature):
    text = signature[signature.index("(") + 1:signature.rindex(")")]
    if text == "void":
        return []
    found = []
    for item in api.split(text, ","):
        kind, name, bounds = re.fullmatch(r"(.*?)(\w*)((?:\[.*\])?)", item.strip()).groups()
        found.append((kind.strip() + (" *" if bounds else ""), name))
    return found


def bare(kind):
    return kind.replace("const ", "").replace("*", "").strip()


def look_up(table, name, function):
    return table.get(f"{name}:{function}", table.get(name))


def sound(kind, name, function):
    if kind == "...":
        return '"x"'
    own = look_up(NAMED, name, function)
    if own and (kind == "const char *" or kind in ("int", "size_t", "double")):
        return own
    if kind == "const char *":
        return '"text"'
    if kind in SOUND:
        return SOUND[kind]
    stem = bare(kind).replace("llmperf_", "")
    if kind.endswith("**"):
        return f"&sound.made_{stem}"
    if bare(kind) in OBJECTS:
        return f"sound.{stem}"
    if kind.endswith("*"):
        return f"&sound.{stem}"
    return f"sound_{stem}"  # an enum: a macro of walk.h


def wrong(kind, name, function, interface):
    """(expression, whether LLMPERF_E_USAGE is due)"""
    if kind in ("...", "bool", "unsigned", "void *", "llmperf_status", "llmperf_error *"):
        return [("NULL", False)] if kind == "llmperf_error *" else []
    if kind in interface.structs:  # by value
        return []
    if kind in interface.enums:
        return [(f"({kind})99", True), (f"({kind})-1", True)]
    if kind == "double":
        return [("NAN", False), ("INFINITY", False), ("-1.0", False), ("0.0", False)]
    if kind == "int64_t":
        return [("INT64_MIN", False), ("INT64_MAX", False), ("-1", False), ("0", False)]
    if kind == "int":
        return [("-1", name.endswith("count")), ("INT_MIN", name.endswith("count"))] + (
            [("INT_MAX", False)] if name == "index" else [])
    if kind == "size_t":
        return [("0", False)]
    due = not (name in MAY_BE_NULL or f"{name}:{function}" in MAY_BE_NULL or
               ("set_origin" in function and name != "calib"))
    due = due or (name == "calib" and function in MUST_HAVE_CALIB)
    values = [("NULL", due)]
    if kind.startswith("const ") and kind.endswith("*"):
        stem = bare(kind).replace("llmperf_", "")
        values += [(f"&wrong_{stem}[{i}]", strict or f"{stem}:{function}" in ALL_DUE)
                   for i, strict in enumerate(WRONG_STRUCTS.get(stem, []))]
    return values


# Wrong structs of walk.h, by type: is LLMPERF_E_USAGE due?
WRONG_STRUCTS = {"hw": [True, True, True, False, False], "op": [False] * 7, "run": [True] * 4,
                 "workload": [False] * 9, "notes": [True, True], "spec_paths": [True, True],
                 "calib_key": [False], "decoder": [True] * 6, "segment": [False] * 2,
                 "sample": [False] * 2, "attention_shape": [False], "moe_shape": [False],
                 "mixed_shape": [False], "plot_point": [False], "plot_mark": [False], "sweep_row": [False]}
# Where it is due for every wrong struct of a type.
ALL_DUE = {"workload:llmperf_config_new"}


def nothing(kind, interface):
    return f"({kind})99" if kind in interface.enums else "NULL" if kind.endswith(("*", "]")) or \
        kind.endswith("visit") else "0"


def calls(interface, library):
    for function in sorted(interface.functions_of(library)):
        header, signature = interface.functions[function]
        given = parameters(signature)
        if function in SKIPPED or not given:
            continue
        returns = signature[:signature.index(function)].strip()
        if header in OF_DEVICES:
            arguments = ["&sound.error" if kind == "llmperf_error *" else nothing(kind, interface)
                         for kind, _ in given]
            yield function, returns, arguments, True, False
            continue
        arguments = [sound(kind, name, function) for kind, name in given]
        yield function, returns, arguments, False, function not in NOT_DONE
        for at, (kind, name) in enumerate(given):
            for value, due in wrong(kind, name, function, interface):
                changed = arguments[:at] + [value] + arguments[at + 1:]
                yield function, returns, changed, due, False


def main():
    interface = api.Interface(sys.argv[1])
    lines = ['/* Made by tests/tools/walk.py. */', '#include "walk.h"', "", "static void walk(void)", "{"]
    library = sys.argv[3] if len(sys.argv) > 3 else "libllmperf"
    if library != "libllmperf":
        lines.insert(1, "#define WALK_CALIB")
    for function, returns, arguments, due, is_sound in calls(interface, library):
        call = f"{function}({', '.join(arguments)})"
        text = call.replace("\\", "\\\\").replace('"', '\\"')
        lines.append(f'    begin("{text}");')
        if returns == "llmperf_status" and function != "llmperf_fail":
            lines.append(f"    end({call}, {'DUE' if due else 'SOUND' if is_sound else 'ANY'});")
        else:
            lines.append(f"    (void){call};" if returns != "void" else f"    {call};")
        if function in ENDS and ENDS[function] and arguments[0] != "NULL":
            must = "" if returns == "void" else "if (ended()) "
            lines.append(f"    {must}{ENDS[function]} = NULL;")
    lines += ["}", "", "int main(void)", "{", "    walk();", "    return finish();", "}", ""]
    pathlib.Path(sys.argv[2]).write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
