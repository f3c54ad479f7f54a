#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes small GGUF headers: metadata and tensor infos, no data.

    make_gguf.py PRESET FILE [--version N] [--big-endian] [--cut BYTES] [--parts N]
    make_gguf.py --list
    make_gguf.py --corpus FOLDER     the fuzz corpus, tests/fuzz/corpus/gguf

The widths of the presets are small, but for llama-3.1-8b-q4_k_m. With --parts, FILE must end in
.gguf and gets -00001-of-0000N before it.
"""
import argparse
import os
import struct
import sys

TYPES = {"F32": 0, "F16": 1, "Q4_0": 2, "Q4_1": 3, "Q5_0": 6, "Q8_0": 8, "Q2_K": 10, "Q3_K": 11,
         "Q4_K": 12, "Q5_K": 13, "Q6_K": 14, "IQ4_XS": 23, "BF16": 30, "MXFP4": 39, "NVFP4": 40}
SCALARS = {"u8": (0, "B"), "i8": (1, "b"), "u16": (2, "H"), "i16": (3, "h"), "u32": (4, "I"),
           "i32": (5, "i"), "f32": (6, "f"), "bool": (7, "B"), "u64": (10, "Q"), "i64": (11, "q"),
           "f64": (12, "d")}


class Header:
    def __init__(self, order="<"):
        self.order = order
        self.keys = []
        self.tensors = []

    def pack(self, form, value):
        return struct.pack(self.order + form, value)

    def text(self, text):
        data = text.encode() if isinstance(text, str) else text
        return self.pack("Q", len(data)) + data

    def key(self, name, kind, value):
        """kind: "u32", "str", "str[]", "u32[]" ...; also "u8[][]" for arrays of arrays."""
        number, data = self.value(kind, value)
        self.keys.append(self.text(name) + self.pack("I", number) + data)

    def value(self, kind, value):
        if kind.endswith("[]"):
            items = [self.value(kind[:-2], item) for item in value]
            item_type = items[0][0] if items else self.type_of(kind[:-2])
            return 9, self.pack("I", item_type) + self.pack("Q", len(items)) + b"".join(
                data for _, data in items)
        if kind == "str":
            return 8, self.text(value)
        number, form = SCALARS[kind]
        return number, self.pack(form, value)

    @staticmethod
    def type_of(kind):
        return 9 if kind.endswith("[]") else 8 if kind == "str" else SCALARS[kind][0]

    def tensor(self, name, kind, *dims):
        info = self.text(name) + self.pack("I", len(dims))
        info += b"".join(self.pack("Q", dim) for dim in dims)
        self.tensors.append(info + self.pack("I", TYPES[kind]))

    def bytes(self, version=3):
        infos = b"".join(info + self.pack("Q", 32 * i) for i, info in enumerate(self.tensors))
        return (b"GGUF" + self.pack("I", version) + self.pack("Q", len(self.tensors)) +
                self.pack("Q", len(self.keys)) + b"".join(self.keys) + infos)


def dims_of(arch, widths):
    """Metadata of an architecture: rows for Header.key."""
    names = {"hidden": "embedding_length", "layers": "block_count", "heads": "attention.head_count",
             "kv": "attention.head_count_kv", "head_dim": "attention.key_length",
             "value_dim": "attention.value_length", "ffn": "feed_forward_length",
             "experts": "expert_count", "active": "expert_used_count",
             "expert_ffn": "expert_feed_forward_length", "context": "context_length",
             "window": "attention.sliding_window", "kv_rank": "attention.kv_lora_rank",
             "q_rank": "attention.q_lora_rank", "rope": "rope.dimension_count"}
    rows = [("general.architecture", "str", arch)]
    return rows + [(f"{arch}.{names[k]}", "u32", v) for k, v in widths.items() if k in names]


def attention(w, kind, value_kind=None):
    q, k, v = w["heads"] * w["head_dim"], w["kv"] * w["head_dim"], w["kv"] * w["head_dim"]
    return [("attn_norm", "F32", w["hidden"]), ("attn_q", kind, w["hidden"], q),
            ("attn_k", kind, w["hidden"], k), ("attn_v", value_kind or kind, w["hidden"], v),
            ("attn_output", kind, q, w["hidden"]), ("ffn_norm", "F32", w["hidden"])]


def ffn(w, kind, down_kind=None):
    return [("ffn_gate", kind, w["hidden"], w["ffn"]), ("ffn_up", kind, w["hidden"], w["ffn"]),
            ("ffn_down", down_kind or kind, w["ffn"], w["hidden"])]


def experts(w, kind):
    x = w.get("expert_ffn", w["ffn"])
    return [("ffn_gate_inp", "F32", w["hidden"], w["experts"]),
            ("ffn_gate_exps", kind, w["hidden"], x, w["experts"]),
            ("ffn_up_exps", kind, w["hidden"], x, w["experts"]),
            ("ffn_down_exps", kind, x, w["hidden"], w["experts"])]


def model(arch, widths, block, kind, head=None, file_type=None, name=None, tokens=True, more=()):
    """block(i) lists the tensors of block i; head None = tied."""
    h, keys, tensors = Header(), dims_of(arch, widths), []
    if name:
        keys.append(("general.name", "str", name))
    if file_type is not None:
        keys += [("general.file_type", "u32", file_type),
                 ("general.quantization_version", "u32", 2)]
    keys += more
    if tokens:
        keys.append(("tokenizer.ggml.tokens", "str[]", [""] * widths["vocab"]))
    tensors.append(("token_embd.weight", kind, widths["hidden"], widths["vocab"]))
    tensors.append(("output_norm.weight", "F32", widths["hidden"]))
    if head:
        tensors.append(("output.weight", head, widths["hidden"], widths["vocab"]))
    for i in range(widths["layers"]):
        for part, *rest in block(i):
            tensors.append((f"blk.{i}.{part}" + ("" if "." in part else ".weight"), *rest))
    for row in keys:
        h.key(*row)
    for row in tensors:
        h.tensor(*row)
    return h


SMALL = {"hidden": 256, "layers": 2, "heads": 8, "kv": 2, "head_dim": 32, "ffn": 512, "vocab": 64}


def llama(kind, **more):
    return model("llama", SMALL, lambda i: attention(SMALL, kind) + ffn(SMALL, kind), kind, kind,
                 **more)


def llama_8b():
    w = {"hidden": 4096, "layers": 32, "heads": 32, "kv": 8, "head_dim": 128, "ffn": 14336,
         "vocab": 128256, "context": 131072}

    def block(i):
        kind = "Q6_K" if i < 4 or i >= 28 or (i - 4) % 3 == 2 else "Q4_K"
        return attention(w, "Q4_K", kind) + ffn(w, "Q4_K", kind)

    return model("llama", w, block, "Q4_K", "Q6_K", 15, "Meta Llama 3.1 8B")


def mixtral():
    w = dict(SMALL, experts=4, active=2)
    return model("llama", w, lambda i: attention(w, "Q4_0") + experts(w, "Q4_0"), "Q4_0", "Q6_K", 2)


def gemma2():
    w = dict(SMALL, window=64)
    norms = [("post_attention_norm", "F32", 256), ("post_ffw_norm", "F32", 256)]
    return model("gemma2", w, lambda i: attention(w, "F16") + ffn(w, "F16") + norms, "F16")


def deepseek2():
    w = {"hidden": 256, "layers": 2, "heads": 4, "head_dim": 48, "value_dim": 32, "ffn": 512,
         "vocab": 64, "kv_rank": 64, "rope": 16, "experts": 4, "active": 2, "expert_ffn": 64}
    mla = [("attn_norm", "F32", 256), ("ffn_norm", "F32", 256), ("attn_q", "Q8_0", 256, 4 * 48),
           ("attn_kv_a_mqa", "Q8_0", 256, 80), ("attn_kv_a_norm", "F32", 64),
           ("attn_kv_b", "Q8_0", 64, 4 * 64), ("attn_output", "Q8_0", 128, 256)]
    shared = [("ffn_gate_shexp", "Q8_0", 256, 64), ("ffn_up_shexp", "Q8_0", 256, 64),
              ("ffn_down_shexp", "Q8_0", 64, 256), ("exp_probs_b.bias", "F32", 4)]
    return model("deepseek2", w, lambda i: mla + (experts(w, "Q8_0") + shared if i else
                                                  ffn(w, "Q8_0")), "Q8_0", "Q8_0", 7)


def gpt2():
    fused = [("attn_norm", "F32", 64), ("attn_norm.bias", "F32", 64), ("attn_qkv", "F16", 64, 192),
             ("attn_qkv.bias", "F32", 192), ("attn_output", "F16", 64, 64),
             ("attn_output.bias", "F32", 64), ("ffn_norm", "F32", 64), ("ffn_norm.bias", "F32", 64),
             ("ffn_up", "F16", 64, 256), ("ffn_up.bias", "F32", 256), ("ffn_down", "F16", 256, 64),
             ("ffn_down.bias", "F32", 64)]
    w = {"hidden": 64, "layers": 1, "heads": 4, "ffn": 256, "vocab": 32}
    h = model("gpt2", w, lambda i: fused, "F16", tokens=False)
    h.tensor("position_embd.weight", "F32", 64, 16)
    h.tensor("output_norm.bias", "F32", 64)
    return h


def stranger():
    """An architecture without a row, with numbers for each layer and windows by an array."""
    h = model("somebody", {"hidden": 256, "layers": 2, "vocab": 64, "head_dim": 32, "window": 16},
              lambda i: attention(SMALL, "F16") + ffn(SMALL, "F16"), "F16", "F16", tokens=False)
    h.key("somebody.attention.head_count", "i32[]", [8, 8])
    h.key("somebody.attention.head_count_kv", "i32[]", [2, 2])
    h.key("somebody.feed_forward_length", "u32[]", [512, 512])
    h.key("somebody.attention.sliding_window_pattern", "bool[]", [1, 0])
    return h


def nested():
    h = llama("Q8_0", tokens=False)
    h.key("nested", "str[][]", [["a", "bc"], [], ["d"]])
    h.key("real", "f64", 1.5)
    h.key("signed", "i64", -1)
    return h


def deep():
    h = Header()
    h.key("deep", "u8[][][][][][]", [[[[[[1]]]]]])
    return h


def strangers():
    h = llama("F16", tokens=False)
    h.tensor("v.patch_embd.weight", "F16", 64, 64)
    h.tensor("blk.1.nextn.eh_proj.weight", "F16", 512, 256)
    h.tensor("blk.0.ffn_up.scale", "F32", 1)
    return h


PRESETS = {
    "llama-3.1-8b-q4_k_m": llama_8b,
    "llama-q4_0": lambda: llama("Q4_0", file_type=2, name="small llama"),
    "llama-q8_0": lambda: llama("Q8_0", file_type=7),
    "llama-bf16": lambda: llama("BF16", file_type=32, tokens=False),
    "mixtral": mixtral,
    "gemma2": gemma2,
    "deepseek2": deepseek2,
    "gpt2": gpt2,
    "stranger": stranger,
    "nested": nested,
    "deep": deep,
    "strangers": strangers,
}


def corpus(folder):
    """At most 15 files below 4 KiB: good ones of each kind, then what must be refused."""
    files = {name: PRESETS[name]().bytes() for name in PRESETS if name != "llama-3.1-8b-q4_k_m"}
    good = files["llama-bf16"]
    files["version-2"] = PRESETS["llama-q4_0"]().bytes(2)
    files["cut"] = good[:-100]
    files["counts"] = good[:8] + b"\xff" * 16 + good[24:]
    split = llama("Q8_0", tokens=False)
    split.key("split.no", "u16", 0)
    split.key("split.count", "u16", 3)
    files["split"] = split.bytes()
    assert len(files) <= 15, len(files)
    for name, data in files.items():
        assert len(data) < 4096, (name, len(data))
        with open(os.path.join(folder, name + ".gguf"), "wb") as out:
            out.write(data)


def write_parts(header, path, count):
    stem = path[:-len(".gguf")]
    share = -(-len(header.tensors) // count)
    for i in range(count):
        part = Header()
        part.keys = list(header.keys) if i == 0 else []
        part.key("split.no", "u16", i)
        part.key("split.count", "u16", count)
        part.key("split.tensors.count", "i32", len(header.tensors))
        part.tensors = header.tensors[i * share:(i + 1) * share]
        with open(f"{stem}-{i + 1:05}-of-{count:05}.gguf", "wb") as out:
            out.write(part.bytes())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("preset", nargs="?", choices=sorted(PRESETS))
    parser.add_argument("file", nargs="?")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--corpus", metavar="FOLDER")
    parser.add_argument("--version", type=int, default=3)
    parser.add_argument("--big-endian", action="store_true")
    parser.add_argument("--cut", type=int, metavar="BYTES")
    parser.add_argument("--parts", type=int, default=1)
    options = parser.parse_args()
    if options.list:
        print("\n".join(sorted(PRESETS)))
        return 0
    if options.corpus:
        corpus(options.corpus)
        return 0
    if not options.preset or not options.file:
        parser.error("a preset and a file are needed")
    header = PRESETS[options.preset]()
    if options.parts > 1:
        if not options.file.endswith(".gguf"):
            parser.error("with --parts the file must end in .gguf")
        write_parts(header, options.file, options.parts)
        return 0
    data = header.bytes(options.version)
    if options.big_endian: # the counts alone: enough to be refused by name
        data = b"GGUF" + struct.pack(">IQQ", options.version, len(header.tensors),
                                     len(header.keys)) + data[24:]
    with open(options.file, "wb") as out:
        out.write(data[:options.cut])
    return 0


if __name__ == "__main__":
    sys.exit(main())
