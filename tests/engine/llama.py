# SPDX-License-Identifier: MIT
"""llama.cpp by its C interface, and random-weight models for it. Development only.

The library comes with the PyPI package xllamacpp (a module that exports llama.cpp's C functions);
its parameter structs are taken as blocks of bytes whose first fields are checked against the
defaults that llama.h documents, so that a changed layout is noticed, not misread.
"""
import ctypes
import importlib.util
import os
import struct
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import make_gguf  # noqa: E402

# name: layers, hidden, heads, kv_heads, ffn, vocab
SHAPES = {
    "0.1B": (12, 768, 12, 4, 2048, 32000),
    "0.5B": (24, 1280, 20, 4, 3456, 32000),
    "1.1B": (22, 2048, 32, 4, 5632, 32000),
}
BYTES = {"F32": (1, 4), "F16": (1, 2), "Q8_0": (32, 34), "Q4_0": (32, 18)}
ALIGNMENT = 32


# ---- models ---------------------------------------------------------------------------------------

def random_data(numpy, dtype, count, generator):
    """`count` weights of standard deviation 0.02 or so, as the format stores them."""
    values, size = BYTES[dtype]
    if dtype in ("F32", "F16"):
        data = generator.standard_normal(count, dtype=numpy.float32) * numpy.float32(0.02)
        return data.astype(numpy.float16 if dtype == "F16" else numpy.float32).tobytes()
    blocks = count // values
    data = generator.integers(0, 256, size=(blocks, size), dtype=numpy.uint8)
    scale = 0.02 / (73.9 if dtype == "Q8_0" else 4.6)  # standard deviation of the stored integers
    data[:, :2] = numpy.frombuffer(struct.pack("<e", scale), dtype=numpy.uint8)
    return data.tobytes()


def tensors(shape):
    layers, hidden, heads, kv_heads, ffn, vocab = shape
    kv = hidden // heads * kv_heads
    yield "token_embd.weight", hidden, vocab
    yield "output_norm.weight", hidden, 0
    yield "output.weight", hidden, vocab
    for i in range(layers):
        yield f"blk.{i}.attn_norm.weight", hidden, 0
        yield f"blk.{i}.attn_q.weight", hidden, hidden
        yield f"blk.{i}.attn_k.weight", hidden, kv
        yield f"blk.{i}.attn_v.weight", hidden, kv
        yield f"blk.{i}.attn_output.weight", hidden, hidden
        yield f"blk.{i}.ffn_norm.weight", hidden, 0
        yield f"blk.{i}.ffn_gate.weight", hidden, ffn
        yield f"blk.{i}.ffn_up.weight", hidden, ffn
        yield f"blk.{i}.ffn_down.weight", ffn, hidden


def write_model(path, shape_name, dtype):
    """A complete GGUF of a llama with random weights and no tokenizer."""
    import numpy
    shape = SHAPES[shape_name]
    layers, hidden, heads, kv_heads, ffn, vocab = shape
    header = make_gguf.Header()
    for name, kind, value in (
            ("general.architecture", "str", "llama"), ("general.name", "str", shape_name),
            ("general.alignment", "u32", ALIGNMENT), ("llama.block_count", "u32", layers),
            ("llama.context_length", "u32", 8192), ("llama.embedding_length", "u32", hidden),
            ("llama.feed_forward_length", "u32", ffn), ("llama.attention.head_count", "u32", heads),
            ("llama.attention.head_count_kv", "u32", kv_heads), ("llama.vocab_size", "u32", vocab),
            ("llama.rope.dimension_count", "u32", hidden // heads),
            ("llama.attention.layer_norm_rms_epsilon", "f32", 1e-5),
            ("tokenizer.ggml.model", "str", "no_vocab")):
        header.key(name, kind, value)
    infos, offset, order = [], 0, []
    for name, inner, outer in tensors(shape):
        kind = dtype if outer else "F32"
        values, size = BYTES[kind]
        count = inner * max(outer, 1)
        dims = (inner, outer) if outer else (inner,)
        info = header.text(name) + struct.pack("<I", len(dims))
        info += b"".join(struct.pack("<Q", dim) for dim in dims)
        infos.append(info + struct.pack("<IQ", make_gguf.TYPES[kind], offset))
        order.append((kind, count))
        offset += -(-count * size // values // ALIGNMENT) * ALIGNMENT
    generator = numpy.random.default_rng(1)
    aside = path + ".part"
    with open(aside, "wb") as out:
        out.write(b"GGUF" + struct.pack("<IQQ", 3, len(infos), len(header.keys)))
        out.write(b"".join(header.keys) + b"".join(infos))
        out.write(b"\0" * (-out.tell() % ALIGNMENT))
        for kind, count in order:
            out.write(random_data(numpy, kind, count, generator))
            out.write(b"\0" * (-out.tell() % ALIGNMENT))
    os.replace(aside, path)


# ---- the engine -----------------------------------------------------------------------------------

class Params(ctypes.Structure):
    """A parameter struct of llama.h as bytes: larger than any version's, passed in memory."""
    _fields_ = [("word", ctypes.c_uint32 * 256)]


class Batch(ctypes.Structure):
    _fields_ = [("n_tokens", ctypes.c_int32), ("token", ctypes.POINTER(ctypes.c_int32)),
                ("embd", ctypes.c_void_p), ("pos", ctypes.POINTER(ctypes.c_int32)),
                ("n_seq_id", ctypes.POINTER(ctypes.c_int32)),
                ("seq_id", ctypes.POINTER(ctypes.POINTER(ctypes.c_int32))),
                ("logits", ctypes.POINTER(ctypes.c_int8))]


class Engine:
    """One model in llama.cpp on `threads` threads, with room for `sequences` x `tokens`."""

    def __init__(self, path, threads, sequences, tokens):
        package = importlib.util.find_spec("xllamacpp")
        if not package:
            raise ImportError("the Python package xllamacpp is missing (pip install xllamacpp)")
        folder = os.path.dirname(package.origin)
        names = [name for name in os.listdir(folder) if ".so" in name]
        lib = self.lib = ctypes.CDLL(os.path.join(folder, names[0]))
        for name in ("llama_model_default_params", "llama_context_default_params"):
            getattr(lib, name).restype = Params
        lib.llama_model_load_from_file.argtypes = [ctypes.c_char_p, Params]
        lib.llama_model_load_from_file.restype = ctypes.c_void_p
        lib.llama_init_from_model.argtypes = [ctypes.c_void_p, Params]
        lib.llama_init_from_model.restype = ctypes.c_void_p
        lib.llama_batch_init.argtypes = [ctypes.c_int32] * 3
        lib.llama_batch_init.restype = Batch
        lib.llama_decode.argtypes = [ctypes.c_void_p, Batch]
        lib.llama_get_memory.argtypes = [ctypes.c_void_p]
        lib.llama_get_memory.restype = ctypes.c_void_p
        lib.llama_memory_clear.argtypes = [ctypes.c_void_p, ctypes.c_bool]
        lib.llama_synchronize.argtypes = [ctypes.c_void_p]
        silent = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)
        self.silent = silent(lambda level, text, data: None)
        lib.llama_log_set(self.silent, None)
        lib.llama_backend_init()
        self.model = lib.llama_model_load_from_file(path.encode(), lib.llama_model_default_params())
        if not self.model:
            raise RuntimeError(f"llama.cpp does not load {path}")
        params = lib.llama_context_default_params()
        # n_ctx, n_batch, n_ubatch, n_seq_max of llama.h
        if list(params.word[:4]) != [512, 2048, 512, 1]:
            raise RuntimeError("this llama.cpp lays its context parameters out in another way: "
                               f"{list(params.word[:8])}")
        at = next(i for i in range(4, 8) if params.word[i] == params.word[i + 1] == 4)
        params.word[0], params.word[3] = sequences * tokens, sequences
        params.word[at] = params.word[at + 1] = threads
        self.context = lib.llama_init_from_model(self.model, params)
        if not self.context:
            raise RuntimeError("llama.cpp makes no context")
        self.most = 2048
        self.batch = lib.llama_batch_init(self.most, 0, 1)

    def step(self, sequences, first, count, logits):
        """Decodes `count` tokens of each sequence from position `first` on; returns seconds."""
        b, n = self.batch, 0
        for s in range(sequences):
            for i in range(count):
                b.token[n], b.pos[n], b.n_seq_id[n] = (7 * n + 13 * first + 1) % 32000, first + i, 1
                b.seq_id[n][0] = s
                b.logits[n] = 1 if logits and i == count - 1 else 0
                n += 1
        b.n_tokens = n
        begun = time.perf_counter()
        if self.lib.llama_decode(self.context, b) != 0:
            raise RuntimeError("llama_decode fails")
        self.lib.llama_synchronize(self.context)
        return time.perf_counter() - begun

    def clear(self):
        self.lib.llama_memory_clear(self.lib.llama_get_memory(self.context), True)

    def close(self):
        self.lib.llama_free.argtypes = [ctypes.c_void_p]
        self.lib.llama_model_free.argtypes = [ctypes.c_void_p]
        self.lib.llama_batch_free.argtypes = [Batch]
        self.lib.llama_batch_free(self.batch)
        self.lib.llama_free(self.context)
        self.lib.llama_model_free(self.model)
