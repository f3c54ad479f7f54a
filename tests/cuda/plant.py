#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Kernels with a fault planted, which the tests must find.

    plant.py FOLDER FAULT shim_kernels.c OUTPUT.c   the kernels of FOLDER with that fault in
                                                    place of the file's #include "kernels.cu"
    plant.py --list     faults, and the word with which the names of the failing cases begin

A fault replaces one passage that must be there exactly once, so that a list out of step with the
kernels stops the build.
"""
import pathlib
import sys

FAULTS = {
    # name: (file, passage, what becomes of it, failing cases)
    "read-no-barrier": (
        "kernels.cu",
        "        room[threadIdx.x / 32] = sum;\n    block_sync();\n",
        "        room[threadIdx.x / 32] = sum;\n",
        "stream read"),
    "read-thread-leaves": (
        "kernels.cu",
        "    SHARED(uint32_t, room, WARPS);\n",
        "    SHARED(uint32_t, room, WARPS);\n    if (threadIdx.x == 77)\n        return;\n",
        "stream read"),
    "copy-drops-the-end": (
        "kernels.cu",
        "                    load16(word_of(a.a, i + (uint64_t)j * THREADS)));\n}\n",
        "                    load16(word_of(a.a, i)));\n}\n",
        "stream copy"),
    "triad-sign": (
        "kernels.cu",
        "word_float(a.w[i]) + scale * word_float(b.w[i])",
        "word_float(a.w[i]) - scale * word_float(b.w[i])",
        "stream triad"),
    "fill-one-seed": (
        "kernels.cu",
        "second = kernel_random(seed, 2 * i + 1)",
        "second = kernel_random(seed, 2 * i)",
        "fill"),
    "sum-no-second-barrier": (
        "kernels.cu",
        "        room[threadIdx.x / 32] = value;\n    block_sync();\n    value = 0;\n",
        "        room[threadIdx.x / 32] = value;\n    value = 0;\n",
        ("norm", "softmax")),
    "sum-no-first-barrier": (
        "kernels.cu",
        " value += lane_xor(value, mask);\n    block_sync();\n",
        " value += lane_xor(value, mask);\n",
        ("norm", "softmax")),
    "norm-mean-of-words": (
        "kernels.cu",
        "block_sum(sum, room), a->columns);\n    UNROLL",
        "block_sum(sum, room), words);\n    UNROLL",
        "norm"),
    "softmax-no-rescale": (
        "kernels.cu",
        "    *sum *= exp2_difference(*largest, next);\n",
        "",
        "softmax"),
    "gather-wrong-row": (
        "kernels.cu",
        "kernel_random(a.seed, row) % a.table_rows",
        "kernel_random(a.seed, row + 1) % a.table_rows",
        "gather"),
    "check-column-of-row": (
        "kernels.cu",
        "value_at(a.b, column * a.k + k, a.format)",
        "value_at(a.b, row * a.k + k, a.format)",
        "gemm_check"),
    "decode-no-barrier-after-q": (
        "decode.h",
        "    NAMED(decode_stage)(a, &at, room, format);\n    block_sync();\n",
        "    NAMED(decode_stage)(a, &at, room, format);\n",
        "decode"),
    "decode-no-barrier-after-slice": (
        "decode.h",
        "format);\n        block_sync();\n    }\n",
        "format);\n    }\n",
        "decode"),
    "decode-no-barrier-in-agree": (
        "decode.h",
        "    }\n    block_sync();\n    if (thread < DECODE_ROWS) {\n",
        "    }\n    if (thread < DECODE_ROWS) {\n",
        "decode"),
    "decode-no-rescale": (
        "decode.h",
        "o[i][j] *= shrink[j / 2];",
        "o[i][j] *= 1;",
        "decode"),
    "decode-mask-off-by-one": (
        "decode.h",
        "2 * t + i % 2 >= end)",
        "2 * t + i % 2 > end)",
        "decode"),
    "decode-wrong-kv-head": (
        "decode.h",
        "at->first_head = kv_head * group + pass;",
        "at->first_head = kv_head * group;",
        "decode"),
    "decode-split-overlaps": (
        "decode.h",
        "at->begin = at->split * part;",
        "at->begin = at->split * part - (at->split ? 1 : 0);",
        "decode"),
    "merge-forgets-weights": (
        "decode.h",
        "sum += max_sum[2 * split + 1] * factor;",
        "sum += max_sum[2 * split + 1];",
        "decode"),
    "merge-wrong-stride": (
        "decode.h",
        "a.partial[(head * a.splits + split) * HEAD + threadIdx.x]",
        "a.partial[(split * a.splits + head) * HEAD + threadIdx.x]",
        "decode"),
    "prefill-no-barrier": (
        "prefill.h",
        "        block_sync(); /* this tile is there, and nobody reads the one before any more */\n",
        "",
        "prefill"),
    "prefill-no-barrier-between-passes": (
        "prefill.h",
        "            block_sync(); /* nobody reads this pass's queries any more */\n",
        "            continue;\n",
        "prefill"),
    "prefill-no-wait": (
        "prefill.h",
        "        copy_wait(0);\n        block_sync(); /* this tile",
        "        copy_wait(1);\n        block_sync(); /* this tile",
        "prefill"),
    "prefill-one-buffer": (
        "prefill.h",
        "first / PREFILL_KEYS % 2 *",
        "first / PREFILL_KEYS % 1 *",
        "prefill"),
    "prefill-mask-off-by-one": (
        "prefill.h",
        "> limit + 8 * (i / 2))",
        ">= limit + 8 * (i / 2))",
        "prefill"),
    "prefill-float-mask": (
        "prefill.h",
        "(seen - key - half + 1) / 2",
        "(seen - key - half + 3) / 2",
        "prefill fp32"),
    "prefill-no-rescale": (
        "prefill.h",
        "sum[half] = sum[half] * shrink[half] + more;",
        "sum[half] = sum[half] + more;",
        "prefill"),
    "prefill-past-forgotten": (
        "prefill.h",
        "at->keys = a->past + first + at->rows;",
        "at->keys = first + at->rows;",
        "prefill"),
}


def main():
    if sys.argv[1:] == ["--list"]:
        for name, (_, _, _, word) in FAULTS.items():
            print(name, word if isinstance(word, str) else ",".join(word), sep="\t")
        return
    folder, fault, frame, target = sys.argv[1:]
    name, passage, instead, _ = FAULTS[fault]
    texts = {}
    for file in ("kernels.cu", "decode.h", "prefill.h"):
        texts[file] = pathlib.Path(folder, file).read_text(encoding="utf-8")
    found = texts[name].count(passage)
    if found != 1:
        sys.exit(f"plant.py: {fault}: {found} times in {name}, not once: {passage!r}")
    texts[name] = texts[name].replace(passage, instead)
    text = texts["kernels.cu"]
    for file in ("decode.h", "prefill.h"):
        text = text.replace(f'#include "{file}"\n', texts[file])
    frame = pathlib.Path(frame).read_text(encoding="utf-8")
    pathlib.Path(target).write_text(frame.replace('#include "kernels.cu"\n', text),
                                    encoding="utf-8")


if __name__ == "__main__":
    main()
