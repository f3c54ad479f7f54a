/* SPDX-License-Identifier: MIT */
/* What neither the metadata nor the tensors of a GGUF file say, by architecture. */
#include <stdio.h>
#include <string.h>

#include "gguf_read.h"

enum { CHUNK_LLAMA4 = 8192 }; /* no key says it: llama.cpp's own constant */

/* In alphabetical order. Facts: the loaders of llama.cpp. */
static const gguf_architecture ARCHITECTURES[] = {
    {"arcee", .pattern = GGUF_ALL_LAYERS},
    {"baichuan", .pattern = GGUF_ALL_LAYERS},
    {"bailingmoe", .pattern = GGUF_ALL_LAYERS},
    {"bloom", .no_rope = true, .no_limit = true},
    {"chatglm", .pattern = GGUF_ALL_LAYERS},
    {"codeshell", .pattern = GGUF_ALL_LAYERS},
    {"cohere2", .pattern = 4},
    {"command-r", .pattern = GGUF_ALL_LAYERS},
    {"dbrx", .pattern = GGUF_ALL_LAYERS},
    {"deepseek", .pattern = GGUF_ALL_LAYERS},
    {"deepseek2", .pattern = GGUF_ALL_LAYERS},
    {"dots1", .pattern = GGUF_ALL_LAYERS},
    {"ernie4_5", .pattern = GGUF_ALL_LAYERS},
    {"ernie4_5-moe", .pattern = GGUF_ALL_LAYERS},
    {"exaone", .pattern = GGUF_ALL_LAYERS},
    {"exaone4", .pattern = 4},
    {"falcon", .pattern = GGUF_ALL_LAYERS},
    {"gemma", .pattern = GGUF_ALL_LAYERS},
    {"gemma2", .pattern = 2, .window = 4096},
    {"gemma3", .pattern = 6},
    {"glm4", .pattern = GGUF_ALL_LAYERS},
    {"glm4moe", .pattern = GGUF_ALL_LAYERS},
    {"gpt-oss", .pattern = 2},
    {"gpt2", .no_rope = true},
    {"gptj", .pattern = GGUF_ALL_LAYERS},
    {"gptneox", .pattern = GGUF_ALL_LAYERS},
    {"granite", .pattern = GGUF_ALL_LAYERS},
    {"granitemoe", .pattern = GGUF_ALL_LAYERS},
    {"hunyuan-dense", .pattern = GGUF_ALL_LAYERS},
    {"hunyuan-moe", .pattern = GGUF_ALL_LAYERS},
    {"internlm2", .pattern = GGUF_ALL_LAYERS},
    {"llama", .pattern = GGUF_ALL_LAYERS},
    {"llama4", .pattern = 4, .window = CHUNK_LLAMA4, .chunked = true},
    {"minicpm", .pattern = GGUF_ALL_LAYERS},
    {"minicpm3", .pattern = GGUF_ALL_LAYERS},
    {"mistral", .pattern = GGUF_ALL_LAYERS},
    {"mistral3", .pattern = GGUF_ALL_LAYERS},
    {"mpt", .no_rope = true},
    {"nemotron", .pattern = GGUF_ALL_LAYERS},
    {"olmo", .pattern = GGUF_ALL_LAYERS},
    {"olmo2", .pattern = 4},
    {"olmoe", .pattern = GGUF_ALL_LAYERS},
    {"orion", .pattern = GGUF_ALL_LAYERS},
    {"phi2", .pattern = GGUF_ALL_LAYERS},
    {"phi3", .pattern = GGUF_ALL_LAYERS},
    {"phimoe", .pattern = GGUF_ALL_LAYERS},
    {"qwen", .pattern = GGUF_ALL_LAYERS, .half_ffn = true},
    {"qwen2", .pattern = GGUF_ALL_LAYERS},
    {"qwen2moe", .pattern = GGUF_ALL_LAYERS},
    {"qwen2vl", .pattern = GGUF_ALL_LAYERS},
    {"qwen3", .pattern = GGUF_ALL_LAYERS},
    {"qwen3moe", .pattern = GGUF_ALL_LAYERS},
    {"qwen3vl", .pattern = GGUF_ALL_LAYERS},
    {"qwen3vlmoe", .pattern = GGUF_ALL_LAYERS},
    {"refact", .no_rope = true},
    {"seed_oss", .pattern = GGUF_ALL_LAYERS},
    {"smollm3", .pattern = GGUF_ALL_LAYERS},
    {"stablelm", .pattern = GGUF_ALL_LAYERS},
    {"starcoder", .no_rope = true},
    {"starcoder2", .pattern = GGUF_ALL_LAYERS},
    {"xverse", .pattern = GGUF_ALL_LAYERS},
};

const gguf_architecture *gguf_architecture_of(const char *name)
{
    for (size_t i = 0; i < sizeof ARCHITECTURES / sizeof *ARCHITECTURES; i++)
        if (strcmp(name, ARCHITECTURES[i].name) == 0)
            return &ARCHITECTURES[i];
    return NULL;
}

void gguf_list_architectures(char *buffer, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; i < sizeof ARCHITECTURES / sizeof *ARCHITECTURES && used < size; i++)
        used += (size_t)snprintf(buffer + used, size - used, "%s%s", i ? ", " : "",
                                 ARCHITECTURES[i].name);
}
