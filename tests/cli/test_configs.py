#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Real config.json files of dense models: parameters and KV bytes equal formulas worked out here."""
import csv
import json

from llmperf_test import DATA, case, close, equal, expect, main, run_json

CONFIGS = DATA / "configs"


def config(name):
    return json.loads((CONFIGS / f"{name}.json").read_text("utf-8"))


def first(c, *keys, default=None):
    for key in keys:
        if c.get(key) is not None:
            return c[key]
    return default


class Shape:
    """Dimensions under every name that the files use."""

    def __init__(self, c):
        self.h = first(c, "hidden_size", "n_embd", "n_embed")
        self.layers = first(c, "num_hidden_layers", "n_layer")
        self.n = first(c, "num_attention_heads", "n_head")
        self.v = c["vocab_size"]
        self.d = first(c, "head_dim", default=self.h // self.n)
        self.kv = first(c, "num_key_value_heads", "num_kv_heads", default=self.n)
        self.f = first(c, "intermediate_size", "ffn_dim", "n_inner", default=4 * self.h)

    def attention(self):
        """q, k, v and output matrices."""
        return 2 * self.h * self.n * self.d + 2 * self.h * self.kv * self.d

    def qkv_bias(self):
        return (self.n + 2 * self.kv) * self.d


# Each: parameters of one layer, of everything around the layers, and the width of K + V per token
# and layer in values. H hidden, n heads, k KV heads, d head size, I FFN, V vocabulary.


def rms_gated(c, tied, bias=0, norms=2, extra=0):
    """Llama and its kin: RMS norms, gated FFN."""
    s = Shape(c)
    layer = s.attention() + bias * s.qkv_bias() + 3 * s.h * s.f + norms * s.h + extra
    return s.layers * layer + (1 if tied else 2) * s.v * s.h + s.h


def llama(c):
    return rms_gated(c, c.get("tie_word_embeddings", False))


def qwen2(c):  # bias on q, k, v; no key says so
    return rms_gated(c, c.get("tie_word_embeddings", False), bias=1)


def qwen3(c):  # a norm of the head's width on q and on k
    return rms_gated(c, c.get("tie_word_embeddings", False), extra=2 * Shape(c).d)


def gemma(c):
    return rms_gated(c, True)


def gemma2(c):
    return rms_gated(c, True, norms=4)


def olmo2(c):  # norms over all heads of q and k
    s = Shape(c)
    return rms_gated(c, c.get("tie_word_embeddings", False), extra=(s.n + s.kv) * s.d)


def cohere(c):  # one LayerNorm without bias a layer, attention and FFN in parallel, tied
    s = Shape(c)
    return s.layers * (s.attention() + 3 * s.h * s.f + s.h) + s.v * s.h + s.h


def gptj(c):  # 4 H^2 without bias, FFN with, one LayerNorm a layer, untied head with bias
    s = Shape(c)
    layer = 4 * s.h**2 + 2 * s.h * s.f + s.f + s.h + 2 * s.h
    return s.layers * layer + 2 * s.v * s.h + s.v + 2 * s.h


def neox(c):  # biases everywhere, two LayerNorms, untied
    s = Shape(c)
    layer = 4 * s.h**2 + 4 * s.h + 2 * s.h * s.f + s.f + s.h + 4 * s.h
    return s.layers * layer + 2 * s.v * s.h + 2 * s.h


def bloom(c):  # 12 H^2 + 13 H a layer, a norm behind the embedding, tied
    s = Shape(c)
    return s.layers * (12 * s.h**2 + 13 * s.h) + s.v * s.h + 2 * s.h + 2 * s.h


def opt(c):  # learned positions with an offset of two, tied
    s = Shape(c)
    layer = 4 * s.h**2 + 4 * s.h + 2 * s.h * s.f + s.f + s.h + 4 * s.h
    return s.layers * layer + (s.v + c["max_position_embeddings"] + 2) * s.h + 2 * s.h


def falcon40(c):  # two LayerNorms a layer, no biases in the matrices, the head stored apart
    s = Shape(c)
    layer = s.attention() + 2 * s.h * s.f + 4 * s.h
    return s.layers * layer + 2 * s.v * s.h + 2 * s.h


def phi2(c):  # biases everywhere, one LayerNorm a layer, untied head with bias
    s = Shape(c)
    layer = 4 * s.h**2 + 4 * s.h + 2 * s.h * s.f + s.f + s.h + 2 * s.h
    return s.layers * layer + 2 * s.v * s.h + s.v + 2 * s.h


def bigcode(c):  # one KV head, biases everywhere, learned positions, tied
    s = Shape(c)
    s.kv = 1
    layer = (s.attention() + s.qkv_bias() + s.h + 2 * s.h * s.f + s.f + s.h + 4 * s.h)
    return s.layers * layer + (s.v + c["n_positions"]) * s.h + 2 * s.h


def starcoder2(c):  # biases everywhere, LayerNorms, plain FFN, tied unless it says otherwise
    s = Shape(c)
    layer = s.attention() + s.qkv_bias() + s.h + 2 * s.h * s.f + s.f + s.h + 4 * s.h
    return s.layers * layer + (1 if c.get("tie_word_embeddings", True) else 2) * s.v * s.h + 2 * s.h


FORMULAS = {
    "meta-llama__Llama-2-7b-hf": llama, "meta-llama__Llama-2-70b-hf": llama,
    "meta-llama__Meta-Llama-3.1-8B": llama, "meta-llama__Meta-Llama-3.1-70B": llama,
    "meta-llama__Llama-3.2-1B": llama, "mistralai__Mistral-Nemo-Instruct-2407": llama,
    "microsoft__phi-4": llama, "Qwen__Qwen2.5-0.5B": qwen2, "Qwen__Qwen2-7B": qwen2,
    "Qwen__Qwen3-8B": qwen3, "Qwen__Qwen3-0.6B": qwen3, "google__gemma-7b": gemma,
    "google__gemma-2-9b": gemma2, "allenai__OLMo-2-0325-32B": olmo2,
    "CohereForAI__c4ai-command-r-v01": cohere, "EleutherAI__gpt-j-6b": gptj,
    "EleutherAI__gpt-neox-20b": neox, "bigscience__bloom": bloom, "facebook__opt-13b": opt,
    "tiiuae__falcon-40b": falcon40, "microsoft__phi-2": phi2, "bigcode__starcoder": bigcode,
    "bigcode__starcoder2-7b": starcoder2,
}

# Exact published counts: paper or model card.
PUBLISHED = {"meta-llama__Llama-2-7b-hf": 6738415616, "meta-llama__Meta-Llama-3.1-8B": 8030261248,
             "meta-llama__Meta-Llama-3.1-70B": 70553706496, "Qwen__Qwen2-7B": 7615616512,
             "EleutherAI__gpt-neox-20b": 20554567680, "bigscience__bloom": 176247271424}


def model_of(name):
    return run_json(["specs", "show", CONFIGS / f"{name}.json", "--kind", "model"])["model"]


def declare(name, formula):
    @case(f"{name}: parameters and KV bytes")
    def _():
        c, model = config(name), model_of(name)
        equal(model["params"], formula(c), "parameters")
        s = Shape(c)
        kv = 1 if c["model_type"] == "gpt_bigcode" and c["multi_query"] else s.kv
        equal(model["kv_bytes_per_token"], s.layers * 2 * kv * s.d * 2, "KV bytes of a token")
        equal((model["layers"], model["hidden"], model["heads"], model["kv_heads"], model["vocab"]),
              (s.layers, s.h, s.n, kv, s.v), "dimensions")
        if name in PUBLISHED:
            equal(model["params"], PUBLISHED[name], "published parameters")


for _name, _formula in FORMULAS.items():
    declare(_name, _formula)


@case("every file here has a formula, and within 0.5 % of the published count")
def _():
    rows = list(csv.DictReader((CONFIGS / "INDEX.csv").open(encoding="utf-8")))
    equal(sorted(row["file"] for row in rows), sorted(f"{name}.json" for name in FORMULAS))
    equal(sorted(path.name for path in CONFIGS.glob("*.json")), sorted(row["file"] for row in rows))
    for row in rows:
        model = model_of(row["file"][:-len(".json")])
        close(model["params"], 1e9 * float(row["computed_total_B"]), row["file"], 1e-6)
        # published names round: 0.5 % of what is given, or half a unit of its last digit
        published = float(row["published_total_B"])
        digits = len(row["published_total_B"].partition(".")[2].rstrip("0"))
        slack = max(0.005 * published, 0.5 * 10.0**-digits)
        expect(abs(model["params"] / 1e9 - published) <= slack, f"{row['file']}: {model['params']}")
        equal(model["kv_bytes_per_token"], int(row["kv_bytes_per_token_all_layers_16bit"]),
              row["file"])
        equal(model["kv_bytes_per_token_long"],
              int(row["kv_bytes_per_token_long_context_slope_16bit"]), row["file"])


@case("the shipped models agree with the config files")
def _():
    for shipped, name in (("llama-2-7b", "meta-llama__Llama-2-7b-hf"),
                          ("llama-2-70b", "meta-llama__Llama-2-70b-hf"),
                          ("llama-3.1-8b", "meta-llama__Meta-Llama-3.1-8B"),
                          ("llama-3.1-70b", "meta-llama__Meta-Llama-3.1-70B"),
                          ("llama-3.2-1b", "meta-llama__Llama-3.2-1B"),
                          ("qwen3-8b", "Qwen__Qwen3-8B"), ("gemma-2-9b", "google__gemma-2-9b"),
                          ("opt-13b", "facebook__opt-13b"), ("phi-2", "microsoft__phi-2"),
                          ("falcon-40b", "tiiuae__falcon-40b")):
        model, other = run_json(["specs", "show", shipped])["model"], model_of(name)
        for field in ("params", "kv_bytes_per_token", "kv_bytes_per_token_long", "layers", "hidden",
                      "heads", "kv_heads", "head_dim", "ffn", "vocab", "gated", "tied"):
            equal(model[field], other[field], f"{shipped} {field}")


if __name__ == "__main__":
    main()
