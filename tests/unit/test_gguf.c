/* SPDX-License-Identifier: MIT */
/*
 * GGUF headers: sizes summed by hand, the same counts as the config.json of the same model, and a
 * refusal with its byte for every bad header. Headers are built here, byte by byte.
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gguf.h"
#include "llmperf/llmperf.h"
#include "read.h"
#include "model_object.h"

/* ---- a writer of headers --------------------------------------------------------------------- */

enum {
    F32 = 0,
    F16 = 1,
    Q4_0 = 2,
    Q8_0 = 8,
    Q2_K = 10,
    Q3_K = 11,
    Q4_K = 12,
    Q5_K = 13,
    Q6_K = 14,
    BF16 = 30,
    MXFP4 = 39
};

typedef struct bytes {
    unsigned char *data;
    size_t size, capacity;
} bytes;

typedef struct header {
    bytes keys, tensors;
    uint64_t key_count, tensor_count;
    uint32_t version;
} header;

static void put(bytes *b, const void *data, size_t size)
{
    if (b->size + size > b->capacity) {
        b->capacity = 2 * (b->size + size);
        b->data = realloc(b->data, b->capacity);
        cr_assert(b->data != NULL);
    }
    memcpy(b->data + b->size, data, size);
    b->size += size;
}

static void put_number(bytes *b, uint64_t value, int size)
{
    for (int i = 0; i < size; i++)
        put(b, &(unsigned char){(unsigned char)(value >> (8 * i))}, 1);
}

static void put_text(bytes *b, const char *text, size_t size)
{
    put_number(b, size, 8);
    put(b, text, size);
}

static void key(header *h, const char *name, uint32_t type)
{
    put_text(&h->keys, name, strlen(name));
    put_number(&h->keys, type, 4);
    h->key_count++;
}

static void key_u32(header *h, const char *name, uint32_t value)
{
    key(h, name, GGUF_U32);
    put_number(&h->keys, value, 4);
}

static void key_bool(header *h, const char *name, bool value)
{
    key(h, name, GGUF_BOOL);
    put_number(&h->keys, value, 1);
}

static void key_text(header *h, const char *name, const char *value)
{
    key(h, name, GGUF_STRING);
    put_text(&h->keys, value, strlen(value));
}

static void key_array(header *h, const char *name, uint32_t type, int size, uint64_t count,
                      const int64_t *values)
{
    key(h, name, GGUF_ARRAY);
    put_number(&h->keys, type, 4);
    put_number(&h->keys, count, 8);
    for (uint64_t i = 0; i < count; i++)
        put_number(&h->keys, values ? (uint64_t)values[i] : 0, size);
}

/* `count` empty strings: a tokenizer's list. */
static void key_tokens(header *h, uint64_t count)
{
    key_array(h, "tokenizer.ggml.tokens", GGUF_STRING, 8, count, NULL);
}

static void tensor(header *h, const char *name, uint32_t type, int dims, const int64_t *dim)
{
    put_text(&h->tensors, name, strlen(name));
    put_number(&h->tensors, (uint64_t)dims, 4);
    for (int i = 0; i < dims; i++)
        put_number(&h->tensors, (uint64_t)dim[i], 8);
    put_number(&h->tensors, type, 4);
    put_number(&h->tensors, 32 * h->tensor_count, 8);
    h->tensor_count++;
}

static void tensor1(header *h, const char *name, uint32_t type, int64_t a)
{
    tensor(h, name, type, 1, &a);
}

static void tensor2(header *h, const char *name, uint32_t type, int64_t a, int64_t b)
{
    tensor(h, name, type, 2, (int64_t[]){a, b});
}

static bytes finished(const header *h)
{
    bytes all = {0};
    put(&all, "GGUF", 4);
    put_number(&all, h->version ? h->version : 3, 4);
    put_number(&all, h->tensor_count, 8);
    put_number(&all, h->key_count, 8);
    put(&all, h->keys.data ? h->keys.data : (unsigned char *)"", h->keys.size);
    put(&all, h->tensors.data ? h->tensors.data : (unsigned char *)"", h->tensors.size);
    return all;
}

static void drop(header *h)
{
    free(h->keys.data);
    free(h->tensors.data);
    memset(h, 0, sizeof *h);
}

static llmperf_status read_header(const header *h, llmperf_model *ret_model, llmperf_error *error)
{
    bytes all = finished(h);
    memset(error, 0, sizeof *error);
    llmperf_status status = spec_gguf_load_memory("x.gguf", all.data, all.size, ret_model, error);
    free(all.data);
    return status;
}

static llmperf_model model; /* too large for a stack beside another */
static llmperf_error error;

static void must_read(const header *h)
{
    llmperf_status status = read_header(h, &model, &error);
    cr_assert(status == LLMPERF_OK, "%s", error.text);
}

static void must_refuse_bytes(const bytes *all, llmperf_status want, const char *text)
{
    memset(&error, 0, sizeof error);
    model.hidden = -7;
    llmperf_status status = spec_gguf_load_memory("x.gguf", all->data, all->size, &model, &error);
    cr_expect(status == want && error.status == want, "status %d: %s", status, error.text);
    cr_expect(strstr(error.text, text), "'%s' is not in: %s", text, error.text);
    cr_expect(strstr(error.text, "x.gguf: byte ") == error.text, "%s", error.text);
    cr_expect(strstr(error.text, "allowed") || strstr(error.text, "required") ||
                  strstr(error.text, "known"),
              "%s", error.text);
    cr_expect(model.hidden == -7, "the result was touched");
}

static void must_refuse(const header *h, const char *text)
{
    bytes all = finished(h);
    must_refuse_bytes(&all, LLMPERF_E_SPEC, text);
    free(all.data);
}

/* ---- blocks from a template ------------------------------------------------------------------ */

/* Widths by letter; see width(). */
typedef struct shape {
    int64_t hidden, layers, heads, kv, head_dim, value_dim, ffn, vocab, experts, expert_ffn, shared;
    int64_t q_rank, kv_rank, rope_dim, positions;
} shape;

static int64_t width(const shape *s, char letter)
{
    int64_t q = s->heads * s->head_dim, k = s->kv * s->head_dim, v = s->kv * s->value_dim;
    switch (letter) {
    case 'h':
        return s->hidden;
    case 'q':
        return q;
    case 'k':
        return k;
    case 'v':
        return v;
    case 'w':
        return q + k + v;
    case 'o':
        return s->heads * s->value_dim;
    case 'd':
        return s->head_dim;
    case 'H':
        return s->heads;
    case 'K':
        return s->kv;
    case 'f':
        return s->ffn;
    case 'F':
        return 2 * s->ffn;
    case 'e':
        return s->experts;
    case 'x':
        return s->expert_ffn;
    case 's':
        return s->shared;
    case 'V':
        return s->vocab;
    case 'p':
        return s->positions;
    case 'r':
        return s->q_rank;
    case 'l':
        return s->kv_rank;
    case 'z':
        return s->kv_rank + s->rope_dim;
    case 'n':
        return s->head_dim - s->rope_dim;
    case 'u':
        return s->value_dim;
    case 'b':
        return s->heads * (s->head_dim - s->rope_dim + s->value_dim);
    default:
        cr_assert(false, "no width '%c'", letter);
        return 0;
    }
}

/* "attn_q:hq attn_q.bias:q": names with the letters of their widths; a name without a dot gets
 * ".weight". Vectors are F32, what has more dimensions is of `type`. */
static void tensors(header *h, const shape *s, const char *prefix, const char *template,
                    uint32_t type)
{
    for (const char *at = template; *at;) {
        char name[128];
        int64_t dim[GGUF_DIMS_MAX];
        int dims = 0;
        size_t length = strcspn(at, ":");
        snprintf(name, sizeof name, "%s%.*s%s", prefix, (int)length, at,
                 memchr(at, '.', length) ? "" : ".weight");
        for (at += length + 1; *at && *at != ' '; at++)
            dim[dims++] = width(s, *at);
        tensor(h, name, dims == 1 ? F32 : type, dims, dim);
        at += strspn(at, " ");
    }
}

static void blocks(header *h, const shape *s, int64_t from, int64_t to, const char *template,
                   uint32_t type)
{
    for (int64_t i = from; i < to; i++) {
        char prefix[32];
        snprintf(prefix, sizeof prefix, "blk.%" PRId64 ".", i);
        tensors(h, s, prefix, template, type);
    }
}

static void arch_u32(header *h, const char *arch, const char *suffix, int64_t value)
{
    char name[128];
    snprintf(name, sizeof name, "%s.%s", arch, suffix);
    if (value > 0)
        key_u32(h, name, (uint32_t)value);
}

static void dimensions(header *h, const char *arch, const shape *s)
{
    key_text(h, "general.architecture", arch);
    arch_u32(h, arch, "embedding_length", s->hidden);
    arch_u32(h, arch, "block_count", s->layers);
    arch_u32(h, arch, "attention.head_count", s->heads);
    arch_u32(h, arch, "attention.head_count_kv", s->kv);
    arch_u32(h, arch, "attention.key_length", s->head_dim);
    arch_u32(h, arch, "attention.value_length", s->value_dim);
    arch_u32(h, arch, "feed_forward_length", s->ffn);
    arch_u32(h, arch, "expert_count", s->experts);
    arch_u32(h, arch, "expert_used_count", s->experts ? 2 : 0);
    arch_u32(h, arch, "expert_feed_forward_length", s->expert_ffn);
    arch_u32(h, arch, "attention.q_lora_rank", s->q_rank);
    arch_u32(h, arch, "attention.kv_lora_rank", s->kv_rank);
    arch_u32(h, arch, "rope.dimension_count", s->rope_dim);
}

#define LLAMA_ATTENTION "attn_norm:h attn_q:hq attn_k:hk attn_v:hv attn_output:oh ffn_norm:h "
#define LLAMA_FFN "ffn_gate:hf ffn_up:hf ffn_down:fh "
#define LLAMA_BLOCK LLAMA_ATTENTION LLAMA_FFN
#define UNTIED "token_embd:hV output_norm:h output:hV "
#define TIED "token_embd:hV output_norm:h "

/* hidden, layers, heads, kv, head_dim, value_dim, ffn, vocab */
static const shape SMALL = {256, 4, 8, 2, 32, 32, 512, 320};

static header small_llama(uint32_t type)
{
    header h = {0};
    dimensions(&h, "llama", &SMALL);
    tensors(&h, &SMALL, "", UNTIED, type);
    blocks(&h, &SMALL, 0, 4, LLAMA_BLOCK, type);
    return h;
}

/* ---- sizes ----------------------------------------------------------------------------------- */

/* Which layers llama.cpp gives more bits in Q4_K_M: the first and last eighth, every third else. */
static bool more_bits(int64_t i, int64_t layers)
{
    return i < layers / 8 || i >= 7 * layers / 8 || (i - layers / 8) % 3 == 2;
}

/*
 * Q4_K is 144 bytes and Q6_K 210 per 256 weights.
 *   token_embd 128256*4096 = 2,052,096 blocks: Q4_K 295,501,824; output in Q6_K 430,940,160
 *   a layer in Q4_K: q and output 65,536 blocks each 9,437,184; k and v 16,384 blocks each
 *   2,359,296; gate, up, down 229,376 blocks each 33,030,144; two norms in F32 32,768
 *     = 2*9,437,184 + 2*2,359,296 + 3*33,030,144 + 32,768 = 122,716,160
 *   with v (3,440,640) and down (48,168,960) in Q6_K: 138,936,320; 16 layers each way
 *     16 * (122,716,160 + 138,936,320) = 4,186,439,680
 *   last norm 16,384
 * together 4,912,898,048: the 4.92 GB of the published file less its tokenizer.
 */
Test(gguf, llama_3_1_8b_in_q4_k_m)
{
    const shape s = {4096, 32, 32, 8, 128, 128, 14336, 128256};
    header h = {0};
    int more = 0;
    key_text(&h, "general.architecture", "llama");
    key_text(&h, "general.name", "Meta Llama 3.1 8B\033[2J");
    arch_u32(&h, "llama", "embedding_length", 4096);
    arch_u32(&h, "llama", "block_count", 32);
    arch_u32(&h, "llama", "attention.head_count", 32);
    arch_u32(&h, "llama", "attention.head_count_kv", 8);
    arch_u32(&h, "llama", "feed_forward_length", 14336);
    arch_u32(&h, "llama", "context_length", 131072);
    arch_u32(&h, "llama", "vocab_size", 128256);
    key_u32(&h, "general.file_type", 15);
    key_u32(&h, "general.quantization_version", 2);
    key_tokens(&h, 128256);
    tensor1(&h, "rope_freqs.weight", F32, 64); /* constants, no weights */
    tensor2(&h, "token_embd.weight", Q4_K, 4096, 128256);
    tensor1(&h, "output_norm.weight", F32, 4096);
    tensor2(&h, "output.weight", Q6_K, 4096, 128256);
    for (int64_t i = 0; i < 32; i++) {
        uint32_t type = more_bits(i, 32) ? Q6_K : Q4_K;
        blocks(&h, &s, i, i + 1,
               "attn_norm:h ffn_norm:h attn_q:hq attn_k:hk attn_output:oh "
               "ffn_gate:hf ffn_up:hf",
               Q4_K);
        blocks(&h, &s, i, i + 1, "attn_v:hv ffn_down:fh", type);
        more += type == Q6_K;
    }
    cr_assert(more == 16);
    must_read(&h);
    cr_expect(llmperf_model_params(&model).total == 8030261248);
    cr_expect(llmperf_model_weight_bytes(&model, NULL) == 4912898048.0, "%.3f",
              llmperf_model_weight_bytes(&model, NULL));
    cr_expect_str_eq(model.name, "Meta Llama 3.1 8B\\x1b[2J");
    cr_expect_str_eq(model.scheme, "gguf Q4_K_M");
    cr_expect_str_eq(model.architecture, "llama");
    cr_expect(model.layer_kind_count == 2);
    cr_expect(model.layers[0].count == 16 && model.layers[1].count == 16);
    cr_expect(model.max_context == 131072 && model.vocab == 128256 && !model.tied);
    cr_expect(model.dtype == LLMPERF_DTYPE_FP16);
    cr_expect(model.warnings.count == 0, "%s", model.warnings.text[0]);
    /* attention of a layer in Q4_K: 4.5 bits; mlp of one with down in Q6_K: (2*4.5 + 6.5625)/3 */
    cr_expect(model.layers[1].weights[LLMPERF_WEIGHT_ATTENTION].bits == 4.5);
    cr_expect(fabs(model.layers[0].weights[LLMPERF_WEIGHT_MLP].bits - 5.1875) < 1e-12);
    cr_expect(model.weight_bits[LLMPERF_WEIGHT_HEAD] == 6.5625);
    cr_expect(model.weight_bits[LLMPERF_WEIGHT_EMBEDDING] == 4.5);
    cr_expect(model.weight_bits[LLMPERF_WEIGHT_OTHER] == 32);
    cr_expect(model.layers[0].weights[LLMPERF_WEIGHT_MLP].operand == LLMPERF_DTYPE_NONE);
    drop(&h);
}

/* Q4_0 is 18 bytes per 32 weights. Layers: (2*2048^2 + 2*2048*256 + 3*2048*5632) * 22 weights of
 * 4.5 bits = 968,884,224 * 0.5625 = 544,997,376; norms (2*22 + 1) * 2048 * 4 = 368,640; table
 * 32000*2048 in Q4_0 36,864,000; head in Q6_K 256,000 blocks = 53,760,000. */
Test(gguf, tinyllama_in_q4_0)
{
    const shape s = {2048, 22, 32, 4, 64, 64, 5632, 32000};
    header h = {0};
    dimensions(&h, "llama", &s);
    key_u32(&h, "general.file_type", 2);
    tensor2(&h, "token_embd.weight", Q4_0, 2048, 32000);
    tensor2(&h, "output.weight", Q6_K, 2048, 32000);
    tensors(&h, &s, "", "output_norm:h", Q4_0);
    blocks(&h, &s, 0, 22, LLAMA_BLOCK, Q4_0);
    must_read(&h);
    cr_expect(llmperf_model_params(&model).total == 1100048384);
    cr_expect(llmperf_model_weight_bytes(&model, NULL) ==
              544997376.0 + 368640 + 36864000 + 53760000);
    cr_expect(model.layer_kind_count == 1);
    cr_expect(model.weight_dtype[LLMPERF_WEIGHT_MLP] == LLMPERF_DTYPE_Q4_0);
    cr_expect(model.weight_bits[LLMPERF_WEIGHT_MLP] == 4.5);
    cr_expect(model.weight_bits[LLMPERF_WEIGHT_ATTENTION] == 4.5);
    cr_expect(model.weight_dtype[LLMPERF_WEIGHT_HEAD] == LLMPERF_DTYPE_INT8);
    cr_expect(model.layers[0].weights[LLMPERF_WEIGHT_MLP].dtype == LLMPERF_DTYPE_NONE);
    cr_expect_str_eq(model.scheme, "gguf Q4_0");
    cr_expect_str_eq(model.name, "x");
    drop(&h);
}

Test(gguf, q8_0_is_8_and_a_half_bits)
{
    header h = small_llama(Q8_0);
    must_read(&h);
    cr_expect(model.weight_dtype[LLMPERF_WEIGHT_ATTENTION] == LLMPERF_DTYPE_Q8_0);
    cr_expect(model.weight_bits[LLMPERF_WEIGHT_ATTENTION] == 8.5);
    cr_expect(model.weight_bits[LLMPERF_WEIGHT_EMBEDDING] == 8.5);
    cr_expect_str_eq(model.scheme, "gguf Q8_0"); /* from the tensors: no file_type */
    drop(&h);
}

Test(gguf, floats_are_no_scheme)
{
    static const struct {
        uint32_t type;
        int dtype, bits;
    } rows[] = {{F32, LLMPERF_DTYPE_FP16, 32},
                {F16, LLMPERF_DTYPE_FP16, 16},
                {BF16, LLMPERF_DTYPE_BF16, 16}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        header h = small_llama(rows[i].type);
        must_read(&h);
        cr_expect_str_eq(model.scheme, "");
        cr_expect(model.dtype == rows[i].dtype);
        cr_expect(model.weight_bits[LLMPERF_WEIGHT_MLP] == rows[i].bits);
        drop(&h);
    }
}

/* Every type: bytes per block as ggml-common.h lays its structs out. */
Test(gguf, block_sizes)
{
    static const struct {
        uint32_t type;
        const char *name;
        int64_t block, bytes;
    } rows[] = {
        {0, "F32", 1, 4},
        {1, "F16", 1, 2},
        {30, "BF16", 1, 2},
        {28, "F64", 1, 8},
        {24, "I8", 1, 1},
        {25, "I16", 1, 2},
        {26, "I32", 1, 4},
        {27, "I64", 1, 8},
        /* fp16 scale (and minimum, and fifth bits), then nibbles or bytes */
        {2, "Q4_0", 32, 2 + 16},
        {3, "Q4_1", 32, 2 + 2 + 16},
        {6, "Q5_0", 32, 2 + 4 + 16},
        {7, "Q5_1", 32, 2 + 2 + 4 + 16},
        {8, "Q8_0", 32, 2 + 32},
        {9, "Q8_1", 32, 4 + 4 + 32},
        /* super-blocks of 256 */
        {10, "Q2_K", 256, 2 + 2 + 16 + 64},
        {11, "Q3_K", 256, 2 + 64 + 32 + 12},
        {12, "Q4_K", 256, 2 + 2 + 128 + 12},
        {13, "Q5_K", 256, 2 + 2 + 128 + 32 + 12},
        {14, "Q6_K", 256, 2 + 128 + 64 + 16},
        {15, "Q8_K", 256, 4 + 256 + 32},
        {16, "IQ2_XXS", 256, 2 + 64},
        {17, "IQ2_XS", 256, 2 + 64 + 8},
        {18, "IQ3_XXS", 256, 2 + 64 + 32},
        {19, "IQ1_S", 256, 2 + 32 + 16},
        {20, "IQ4_NL", 32, 2 + 16},
        {21, "IQ3_S", 256, 2 + 64 + 32 + 8 + 4},
        {22, "IQ2_S", 256, 2 + 64 + 16},
        {23, "IQ4_XS", 256, 2 + 2 + 128 + 4},
        {29, "IQ1_M", 256, 32 + 16 + 8},
        {34, "TQ1_0", 256, 2 + 4 * 13},
        {35, "TQ2_0", 256, 2 + 64},
        {39, "MXFP4", 32, 1 + 16},
        {40, "NVFP4", 64, 4 + 32},
        {41, "Q1_0", 128, 2 + 16},
        {42, "Q2_0", 64, 2 + 16},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const gguf_format *format = gguf_format_of(rows[i].type);
        cr_assert(format != NULL, "%s", rows[i].name);
        cr_expect_str_eq(format->name, rows[i].name);
        cr_expect(format->block == rows[i].block && format->bytes == rows[i].bytes, "%s",
                  rows[i].name);
    }
    static const uint32_t removed[] = {4, 5, 31, 32, 33, 36, 37, 38, 43, UINT32_MAX};
    for (size_t i = 0; i < sizeof removed / sizeof *removed; i++)
        cr_expect(gguf_format_of(removed[i]) == NULL);
}

/* 70 layers, each in formats of its own: one shape, and the bytes stay exact. */
Test(gguf, more_than_64_formats_are_averaged)
{
    static const uint32_t types[] = {Q2_K, Q3_K, Q4_K, Q5_K, Q6_K};
    static const double bytes_of[] = {84, 110, 144, 176, 210};
    shape s = SMALL;
    header h = {0};
    double total = 0;
    s.layers = 70;
    dimensions(&h, "llama", &s);
    tensors(&h, &s, "", UNTIED, Q8_0);
    for (int64_t i = 0; i < 70; i++) {
        int q = (int)(i % 5), k = (int)(i / 5 % 5), up = (int)(i / 25);
        blocks(&h, &s, i, i + 1,
               "attn_norm:h ffn_norm:h attn_v:hv attn_output:oh ffn_gate:hf "
               "ffn_down:fh",
               Q4_K);
        blocks(&h, &s, i, i + 1, "attn_q:hq", types[q]);
        blocks(&h, &s, i, i + 1, "attn_k:hk", types[k]);
        blocks(&h, &s, i, i + 1, "ffn_up:hf", types[up]);
        total += 2 * 256 * 4 + (256 * 64 + 256 * 256 + 2 * 256 * 512) / 256 * 144.0;
        total += 256 * bytes_of[q] + 64 * bytes_of[k] + 512 * bytes_of[up];
    }
    total += 256 * 4 + 2 * 256 * 320 / 32 * 34;
    must_read(&h);
    cr_expect(model.layer_kind_count == 1 && model.layers[0].count == 70);
    cr_expect(model.warnings.count == 1 && strstr(model.warnings.text[0], "more than 64"));
    cr_expect(fabs(llmperf_model_weight_bytes(&model, NULL) - total) < 1e-6 * total);
    drop(&h);
}

/* ---- the same model's config.json ------------------------------------------------------------ */

typedef struct pair {
    const char *arch;
    shape s;
    const char *outside, *block;
    const char *flags; /* further keys: "name=number name=true"; names without the architecture */
    const char *config;
} pair;

#define COMMON                                                                                     \
    "\"hidden_size\": 256, \"num_hidden_layers\": 8, \"num_attention_heads\": 8, "                 \
    "\"num_key_value_heads\": 2, \"intermediate_size\": 512, \"vocab_size\": 320, "                \
    "\"max_position_embeddings\": 2048, \"head_dim\": 32, "
#define UNTIE "\"tie_word_embeddings\": false}"
#define TIE "\"tie_word_embeddings\": true}"
#define EIGHT                                                                                      \
    {                                                                                              \
        256, 8, 8, 2, 32, 32, 512, 320                                                             \
    }
#define MHA                                                                                        \
    {                                                                                              \
        256, 8, 8, 8, 32, 32, 512, 320                                                             \
    }
#define MHA_1024                                                                                   \
    {                                                                                              \
        256, 8, 8, 8, 32, 32, 1024, 320                                                            \
    }
#define QKV_BIASES "attn_q.bias:q attn_k.bias:k attn_v.bias:v "
#define QK_NORMS "attn_q_norm:d attn_k_norm:d "
#define NORM_B(name) name ":h " name ".bias:h "
#define FUSED "attn_qkv:hw attn_output:oh ffn_up:hf ffn_down:fh "
#define FUSED_B "attn_qkv.bias:w attn_output.bias:h ffn_up.bias:f ffn_down.bias:h "
#define EXPERTS "ffn_gate_inp:he ffn_gate_exps:hxe ffn_up_exps:hxe ffn_down_exps:xhe "
#define SHARED "ffn_gate_shexp:hs ffn_up_shexp:hs ffn_down_shexp:sh "

static const pair PAIRS[] = {
    {"llama", EIGHT, UNTIED, LLAMA_BLOCK, "", "{\"model_type\": \"llama\", " COMMON UNTIE},
    {"llama",
     {256, 8, 8, 2, 32, 32, 512, 320, .experts = 4, .expert_ffn = 0},
     UNTIED,
     LLAMA_ATTENTION "ffn_gate_inp:he ffn_gate_exps:hfe ffn_up_exps:hfe ffn_down_exps:fhe",
     "",
     "{\"model_type\": \"mixtral\", \"num_local_experts\": 4, \"num_experts_per_tok\": 2, " COMMON
         UNTIE},
    {"mistral", EIGHT, UNTIED, LLAMA_BLOCK, "attention.sliding_window=64",
     "{\"model_type\": \"mistral\", \"sliding_window\": 64, " COMMON UNTIE},
    {"granite", EIGHT, TIED, LLAMA_BLOCK, "", "{\"model_type\": \"granite\", " COMMON TIE},
    {"internlm2", EIGHT, UNTIED, LLAMA_BLOCK, "",
     "{\"model_type\": \"internlm2\", \"bias\": false, " COMMON UNTIE},
    {"exaone", EIGHT, UNTIED, LLAMA_BLOCK, "", "{\"model_type\": \"exaone\", " COMMON UNTIE},
    {"minicpm", EIGHT, TIED, LLAMA_BLOCK, "", "{\"model_type\": \"minicpm\", " COMMON TIE},
    {"baichuan", MHA, UNTIED, LLAMA_BLOCK, "",
     "{\"model_type\": \"baichuan\", \"hidden_size\": 256, \"num_hidden_layers\": 8, "
     "\"num_attention_heads\": 8, \"intermediate_size\": 512, \"vocab_size\": 320, " UNTIE},
    {"qwen2", EIGHT, UNTIED, LLAMA_BLOCK QKV_BIASES, "",
     "{\"model_type\": \"qwen2\", " COMMON UNTIE},
    {"qwen3", EIGHT, TIED, LLAMA_BLOCK QK_NORMS, "", "{\"model_type\": \"qwen3\", " COMMON TIE},
    {"qwen2moe",
     {256, 8, 8, 2, 32, 32, 512, 320, 8, 128, 256},
     UNTIED,
     LLAMA_ATTENTION QKV_BIASES EXPERTS SHARED "ffn_gate_inp_shexp:h",
     "expert_shared_feed_forward_length=256",
     "{\"model_type\": \"qwen2_moe\", \"num_experts\": 8, \"num_experts_per_tok\": 2, "
     "\"moe_intermediate_size\": 128, \"shared_expert_intermediate_size\": 256, " COMMON UNTIE},
    {"qwen3moe",
     {256, 8, 8, 2, 32, 32, 512, 320, 8, 128},
     UNTIED,
     LLAMA_ATTENTION QK_NORMS EXPERTS,
     "",
     "{\"model_type\": \"qwen3_moe\", \"num_experts\": 8, \"num_experts_per_tok\": 2, "
     "\"moe_intermediate_size\": 128, " COMMON UNTIE},
    {"gemma", EIGHT, TIED, LLAMA_BLOCK, "", "{\"model_type\": \"gemma\", " COMMON TIE},
    {"gemma2", EIGHT, TIED, LLAMA_BLOCK "post_attention_norm:h post_ffw_norm:h",
     "attention.sliding_window=64 context_length=2048",
     "{\"model_type\": \"gemma2\", \"sliding_window\": 64, " COMMON TIE},
    {"gemma3", EIGHT, TIED, LLAMA_BLOCK QK_NORMS "post_attention_norm:h post_ffw_norm:h",
     "attention.sliding_window=64",
     "{\"model_type\": \"gemma3_text\", \"sliding_window\": 64, " COMMON TIE},
    {"gpt-oss",
     {256, 8, 8, 2, 32, 32, 0, 320, 8, 128},
     UNTIED,
     "attn_norm:h attn_q:hq attn_k:hk attn_v:hv attn_output:oh post_attention_norm:h "
     "attn_sinks:H " QKV_BIASES
     "attn_output.bias:h ffn_gate_inp.bias:e ffn_gate_exps.bias:xe ffn_up_exps.bias:xe "
     "ffn_down_exps.bias:he " EXPERTS,
     "attention.sliding_window=64",
     "{\"model_type\": \"gpt_oss\", \"hidden_size\": 256, \"num_hidden_layers\": 8, "
     "\"num_attention_heads\": 8, \"num_key_value_heads\": 2, \"intermediate_size\": 128, "
     "\"vocab_size\": 320, \"head_dim\": 32, \"sliding_window\": 64, \"num_local_experts\": 8, "
     "\"num_experts_per_tok\": 2, " UNTIE},
    {"phi2", MHA_1024, UNTIED "output_norm.bias:h output.bias:V", NORM_B("attn_norm") FUSED FUSED_B,
     "",
     "{\"model_type\": \"phi\", \"hidden_size\": 256, \"num_hidden_layers\": 8, "
     "\"num_attention_heads\": 8, \"intermediate_size\": 1024, \"vocab_size\": 320, " UNTIE},
    {"phi3", EIGHT, UNTIED,
     "attn_norm:h ffn_norm:h attn_qkv:hw attn_output:oh ffn_up:hF ffn_down:fh", "",
     "{\"model_type\": \"phi3\", " COMMON UNTIE},
    {"gpt2",
     {256, 8, 8, 8, 32, 32, 1024, 320, .positions = 128},
     TIED "output_norm.bias:h position_embd:hp",
     NORM_B("attn_norm") NORM_B("ffn_norm") FUSED FUSED_B,
     "",
     "{\"model_type\": \"gpt2\", \"n_embd\": 256, \"n_layer\": 8, \"n_head\": 8, "
     "\"n_positions\": 128, \"vocab_size\": 320}"},
    {"gptneox", MHA_1024, UNTIED "output_norm.bias:h",
     NORM_B("attn_norm") NORM_B("ffn_norm") FUSED FUSED_B, "use_parallel_residual=true",
     "{\"model_type\": \"gpt_neox\", \"hidden_size\": 256, \"num_hidden_layers\": 8, "
     "\"num_attention_heads\": 8, \"intermediate_size\": 1024, \"vocab_size\": 320, "
     "\"use_parallel_residual\": true, " UNTIE},
    {"falcon",
     {256, 8, 8, 1, 32, 32, 1024, 320},
     TIED "output_norm.bias:h",
     NORM_B("attn_norm") FUSED,
     "",
     "{\"model_type\": \"falcon\", \"hidden_size\": 256, \"num_hidden_layers\": 8, "
     "\"num_attention_heads\": 8, \"multi_query\": true, \"parallel_attn\": true, \"bias\": false, "
     "\"new_decoder_architecture\": false, \"vocab_size\": 320, " TIE},
    {"falcon",
     {256, 8, 8, 2, 32, 32, 1024, 320},
     TIED "output_norm.bias:h",
     NORM_B("attn_norm") NORM_B("attn_norm_2") FUSED,
     "",
     "{\"model_type\": \"falcon\", \"hidden_size\": 256, \"num_hidden_layers\": 8, "
     "\"num_attention_heads\": 8, \"num_kv_heads\": 2, \"bias\": false, "
     "\"new_decoder_architecture\": true, \"vocab_size\": 320, " TIE},
    {"starcoder2", EIGHT, TIED "output_norm.bias:h",
     NORM_B("attn_norm") NORM_B(
         "ffn_norm") "attn_q:hq attn_k:hk attn_v:hv attn_output:oh ffn_up:hf "
                     "ffn_down:fh attn_output.bias:h ffn_up.bias:f ffn_down.bias:h " QKV_BIASES,
     "", "{\"model_type\": \"starcoder2\", \"use_bias\": true, " COMMON TIE},
    {"stablelm", EIGHT, UNTIED "output_norm.bias:h",
     NORM_B("attn_norm")
         NORM_B("ffn_norm") "attn_q:hq attn_k:hk attn_v:hv attn_output:oh " LLAMA_FFN,
     "", "{\"model_type\": \"stablelm\", " COMMON UNTIE},
    {"stablelm", EIGHT, UNTIED "output_norm.bias:h",
     NORM_B("attn_norm") "attn_q:hq attn_k:hk attn_v:hv attn_output:oh attn_q_norm:dH "
                         "attn_k_norm:dK " LLAMA_FFN,
     "use_parallel_residual=true",
     "{\"model_type\": \"stablelm\", \"use_parallel_residual\": true, \"qk_layernorm\": "
     "true, " COMMON UNTIE},
    {"command-r", EIGHT, TIED,
     "attn_norm:h attn_q:hq attn_k:hk attn_v:hv attn_output:oh attn_q_norm:dH "
     "attn_k_norm:dK " LLAMA_FFN,
     "attention.layer_norm_epsilon=0.0",
     "{\"model_type\": \"cohere\", \"use_qk_norm\": true, " COMMON TIE},
    {"olmo2", EIGHT, UNTIED,
     "attn_q:hq attn_k:hk attn_v:hv attn_output:oh attn_q_norm:q attn_k_norm:k "
     "post_attention_norm:h "
     "post_ffw_norm:h " LLAMA_FFN,
     "", "{\"model_type\": \"olmo2\", " COMMON UNTIE},
    {"bloom", MHA_1024, TIED "output_norm.bias:h token_embd_norm:h token_embd_norm.bias:h",
     NORM_B("attn_norm") NORM_B("ffn_norm") FUSED FUSED_B, "",
     "{\"model_type\": \"bloom\", \"hidden_size\": 256, \"n_layer\": 8, \"n_head\": 8, "
     "\"vocab_size\": 320}"},
    {"mpt", MHA_1024, TIED, "attn_norm:h ffn_norm:h " FUSED,
     "attention.layer_norm_epsilon=0.0 attention.max_alibi_bias=8.0",
     "{\"model_type\": \"mpt\", \"d_model\": 256, \"n_layers\": 8, \"n_heads\": 8, "
     "\"max_seq_len\": 2048, \"vocab_size\": 320, \"expansion_ratio\": 4, \"no_bias\": true, "
     "\"attn_config\": {\"alibi\": true}}"},
    {"glm4", EIGHT, UNTIED,
     "attn_norm:h ffn_norm:h post_attention_norm:h post_ffw_norm:h attn_q:hq attn_k:hk attn_v:hv "
     "attn_output:oh ffn_up:hF ffn_down:fh " QKV_BIASES,
     "", "{\"model_type\": \"glm4\", \"attention_bias\": true, " COMMON UNTIE},
    {"nemotron", EIGHT, UNTIED "output_norm.bias:h",
     NORM_B("attn_norm")
         NORM_B("ffn_norm") "attn_q:hq attn_k:hk attn_v:hv attn_output:oh ffn_up:hf "
                            "ffn_down:fh",
     "", "{\"model_type\": \"nemotron\", " COMMON UNTIE},
    {"deepseek2",
     {256, 8, 8, 0, 48, 32, 512, 320, 8, 128, 256, .q_rank = 96, .kv_rank = 64, .rope_dim = 16},
     UNTIED,
     "attn_norm:h ffn_norm:h attn_q_a:hr attn_q_a_norm:r attn_q_b:rq attn_kv_a_mqa:hz "
     "attn_kv_a_norm:l attn_kv_b:lb attn_output:oh exp_probs_b.bias:e " EXPERTS SHARED,
     "expert_shared_count=2",
     "{\"model_type\": \"deepseek_v3\", \"q_lora_rank\": 96, \"kv_lora_rank\": 64, "
     "\"qk_nope_head_dim\": 32, \"qk_rope_head_dim\": 16, \"v_head_dim\": 32, "
     "\"n_routed_experts\": 8, \"num_experts_per_tok\": 2, \"n_shared_experts\": 2, "
     "\"moe_intermediate_size\": 128, " COMMON UNTIE},
};

static void further_keys(header *h, const char *arch, const char *flags)
{
    while (*flags) {
        char name[128];
        size_t length = strcspn(flags, "=");
        snprintf(name, sizeof name, "%s.%.*s", arch, (int)length, flags);
        flags += length + 1;
        length = strcspn(flags, " ");
        if (flags[0] == 't') {
            key_bool(h, name, true);
        } else if (memchr(flags, '.', length)) {
            float value = strtof(flags, NULL);
            uint32_t bits;
            memcpy(&bits, &value, sizeof bits);
            key(h, name, GGUF_F32);
            put_number(&h->keys, bits, 4);
        } else {
            key_u32(h, name, (uint32_t)strtoul(flags, NULL, 10));
        }
        flags += length + strspn(flags + length, " ");
    }
}

static header pair_header(const pair *p, uint32_t type)
{
    header h = {0};
    dimensions(&h, p->arch, &p->s);
    further_keys(&h, p->arch, p->flags);
    key_tokens(&h, (uint64_t)p->s.vocab);
    tensors(&h, &p->s, "", p->outside, type);
    blocks(&h, &p->s, 0, p->s.layers, p->block, type);
    return h;
}

Test(gguf, counts_as_the_config_of_the_same_model)
{
    static llmperf_model config;
    for (size_t i = 0; i < sizeof PAIRS / sizeof *PAIRS; i++) {
        const pair *p = &PAIRS[i];
        header h = pair_header(p, F16);
        memset(&error, 0, sizeof error);
        llmperf_status status =
            model_load_text("x/config.json", p->config, strlen(p->config), &config, &error);
        cr_assert(status == LLMPERF_OK, "%s: %s", p->arch, error.text);
        must_read(&h);
        llmperf_params own = llmperf_model_params(&model), want = llmperf_model_params(&config);
        for (int c = 0; c < LLMPERF_WEIGHT_COUNT; c++)
            cr_expect(own.by_class[c] == want.by_class[c],
                      "%s (row %zu), %s: %" PRId64 ", by its config %" PRId64, p->arch, i,
                      spec_weight_word(c), own.by_class[c], want.by_class[c]);
        cr_expect(own.active == want.active, "%s", p->arch);
        cr_expect(llmperf_kv_bytes_per_token(&model, 2) == llmperf_kv_bytes_per_token(&config, 2));
        cr_expect(llmperf_kv_bytes_per_token_long(&model, 2) ==
                      llmperf_kv_bytes_per_token_long(&config, 2),
                  "%s (row %zu)", p->arch, i);
        cr_expect(model.warnings.count == 0, "%s (row %zu): %s", p->arch, i,
                  model.warnings.text[0]);
        cr_expect(model.tied == config.tied && model.norm == config.norm, "%s", p->arch);
        cr_expect(model.layers[0].parallel == config.layers[0].parallel, "%s (row %zu)", p->arch,
                  i);
        cr_expect(model.layers[0].attention.rope == config.layers[0].attention.rope, "%s", p->arch);
        cr_expect(model.layers[0].norms == config.layers[0].norms, "%s", p->arch);
        cr_expect(llmperf_model_layers(&model) == llmperf_model_layers(&config));
        drop(&h);
    }
}

/* Latent files: key_length is the latent's, *_mla the head's, kv_b comes in two. */
Test(gguf, deepseek2_with_absorbed_matrices)
{
    shape s = {256, 4, 8, 0, 48, 32, 512, 320, .kv_rank = 64, .rope_dim = 16};
    header h = {0};
    key_text(&h, "general.architecture", "deepseek2");
    arch_u32(&h, "deepseek2", "embedding_length", 256);
    arch_u32(&h, "deepseek2", "block_count", 4);
    arch_u32(&h, "deepseek2", "attention.head_count", 8);
    arch_u32(&h, "deepseek2", "attention.head_count_kv", 1);
    arch_u32(&h, "deepseek2", "attention.kv_lora_rank", 64);
    arch_u32(&h, "deepseek2", "attention.key_length", 80);
    arch_u32(&h, "deepseek2", "attention.value_length", 64);
    arch_u32(&h, "deepseek2", "attention.key_length_mla", 48);
    arch_u32(&h, "deepseek2", "attention.value_length_mla", 32);
    arch_u32(&h, "deepseek2", "rope.dimension_count", 16);
    arch_u32(&h, "deepseek2", "feed_forward_length", 512);
    tensors(&h, &s, "", UNTIED, F16);
    blocks(&h, &s, 0, 4,
           "attn_norm:h ffn_norm:h attn_q:hq attn_kv_a_mqa:hz attn_kv_a_norm:l "
           "attn_k_b:nlH attn_v_b:luH attn_output:oh " LLAMA_FFN,
           F16);
    must_read(&h);
    const llmperf_mla *m = &model.layers[0].mla;
    cr_expect(m->heads == 8 && m->kv_rank == 64 && m->nope_dim == 32 && m->rope_dim == 16 &&
              m->value_dim == 32 && m->q_rank == 0);
    cr_expect(model.warnings.count == 0, "%s", model.warnings.text[0]);
    /* one latent of 64 and 16 rotated values a layer */
    cr_expect(llmperf_kv_bytes_per_token(&model, 2) == 4 * 80 * 2);
    drop(&h);
}

Test(gguf, experts_of_2023_stand_one_by_one)
{
    shape s = SMALL;
    header h = {0};
    s.experts = 3;
    dimensions(&h, "llama", &s);
    tensors(&h, &s, "", UNTIED, Q4_0);
    blocks(&h, &s, 0, 4,
           LLAMA_ATTENTION
           "ffn_gate_inp:he ffn_gate.0.weight:hf ffn_gate.1.weight:hf "
           "ffn_gate.2.weight:hf ffn_up.0.weight:hf ffn_up.1.weight:hf ffn_up.2.weight:hf "
           "ffn_down.0.weight:fh ffn_down.1.weight:fh ffn_down.2.weight:fh",
           Q4_0);
    must_read(&h);
    cr_expect(model.layers[0].moe.experts == 3 && model.layers[0].moe.ffn == 512);
    cr_expect(llmperf_model_params(&model).by_class[LLMPERF_WEIGHT_EXPERTS] == 4 * 9 * 256 * 512);
    cr_expect(model.weight_bits[LLMPERF_WEIGHT_EXPERTS] == 4.5);
    cr_expect(model.warnings.count == 0, "%s", model.warnings.text[0]);
    drop(&h);
}

Test(gguf, experts_in_mxfp4)
{
    shape s = {256, 2, 8, 2, 32, 32, 512, 320, 8, 128};
    header h = {0};
    dimensions(&h, "qwen3moe", &s);
    key_u32(&h, "general.file_type", 38);
    tensors(&h, &s, "", UNTIED, Q8_0);
    blocks(&h, &s, 0, 2, LLAMA_ATTENTION QK_NORMS, Q8_0);
    blocks(&h, &s, 0, 2, "ffn_gate_inp:he", F32);
    blocks(&h, &s, 0, 2, "ffn_gate_exps:hxe ffn_up_exps:hxe ffn_down_exps:xhe", MXFP4);
    must_read(&h);
    cr_expect(model.weight_dtype[LLMPERF_WEIGHT_EXPERTS] == LLMPERF_DTYPE_MXFP4);
    cr_expect(model.weight_bits[LLMPERF_WEIGHT_EXPERTS] == 4.25);
    cr_expect(model.weight_dtype[LLMPERF_WEIGHT_ROUTER] == LLMPERF_DTYPE_FP32);
    cr_expect_str_eq(model.scheme, "gguf MXFP4");
    drop(&h);
}

Test(gguf, numbers_may_come_for_each_layer)
{
    shape wide = {256, 2, 16, 4, 32, 32, 768, 320}, narrow = {256, 2, 8, 2, 32, 32, 512, 320};
    header h = {0};
    key_text(&h, "general.architecture", "openelm");
    arch_u32(&h, "openelm", "embedding_length", 256);
    arch_u32(&h, "openelm", "block_count", 2);
    arch_u32(&h, "openelm", "attention.key_length", 32);
    key_array(&h, "openelm.attention.head_count", GGUF_I32, 4, 2, (int64_t[]){8, 16});
    key_array(&h, "openelm.attention.head_count_kv", GGUF_I32, 4, 2, (int64_t[]){2, 4});
    key_array(&h, "openelm.feed_forward_length", GGUF_I32, 4, 2, (int64_t[]){512, 768});
    tensors(&h, &narrow, "", TIED, F16);
    blocks(&h, &narrow, 0, 1, LLAMA_BLOCK QK_NORMS, F16);
    blocks(&h, &wide, 1, 2, LLAMA_BLOCK QK_NORMS, F16);
    must_read(&h);
    cr_expect(model.layer_kind_count == 2);
    cr_expect(model.layers[1].attention.heads == 16 && model.layers[1].mlp.ffn == 768);
    /* openelm has no row: it is read by its tensors, and that is said */
    cr_expect(model.warnings.count == 1 &&
              strstr(model.warnings.text[0], "'openelm' is not known"));
    drop(&h);
}

Test(gguf, windows_by_an_array_of_booleans)
{
    header h = {0};
    dimensions(&h, "somebody", &SMALL);
    arch_u32(&h, "somebody", "attention.sliding_window", 128);
    key_array(&h, "somebody.attention.sliding_window_pattern", GGUF_BOOL, 1, 4,
              (int64_t[]){1, 1, 1, 0});
    tensors(&h, &SMALL, "", UNTIED, F16);
    blocks(&h, &SMALL, 0, 4, LLAMA_BLOCK, F16);
    must_read(&h);
    cr_expect(model.layer_kind_count == 2 && model.layers[0].count == 3);
    cr_expect(model.layers[0].attention.window == 128 && model.layers[1].attention.window == 0);
    drop(&h);
}

Test(gguf, blocks_that_predict_further_are_apart)
{
    shape s = {256, 4, 8, 2, 32, 32, 512, 320};
    header h = {0};
    dimensions(&h, "glm4moe", &s);
    tensors(&h, &s, "", UNTIED, F16);
    blocks(&h, &s, 0, 4, LLAMA_BLOCK, F16);
    tensor2(&h, "blk.3.nextn.eh_proj.weight", F16, 512, 256);
    must_read(&h);
    cr_expect(llmperf_model_layers(&model) == 3);
    /* a layer: 256 * (256 + 64 + 64 + 256) + 3 * 256 * 512 + 512, and the projection */
    cr_expect(model.mtp_params == 256 * 640 + 3 * 256 * 512 + 512 + 512 * 256);
    cr_expect_str_eq(model.not_counted, "1 multi-token-prediction layer");
    cr_expect(model.warnings.count == 0, "%s", model.warnings.text[0]);
    drop(&h);
}

Test(gguf, scales_are_bytes_but_no_weights)
{
    header h = small_llama(Q8_0);
    tensor1(&h, "blk.0.ffn_up.scale", F32, 1);
    must_read(&h);
    cr_expect(model.warnings.count == 0, "%s", model.warnings.text[0]);
    cr_expect(model.layer_kind_count == 2);
    cr_expect(model.layers[0].weights[LLMPERF_WEIGHT_MLP].bits > 8.5);
    drop(&h);
}

/* Found by fuzzing: such a model was read, written as YAML, and refused when that was read. */
Test(gguf, scales_larger_than_their_weights_are_refused)
{
    header h = small_llama(Q8_0);
    tensor2(&h, "blk.1.ffn_up.scale", F32, 1 << 20, 4);
    must_refuse(&h, "block 1: 393216 mlp weights hold 17195008 bytes with their scales");
    drop(&h);
    h = small_llama(Q8_0);
    tensor2(&h, "output.scale", F32, 1 << 20, 4);
    must_refuse(&h, "81920 head weights hold ");
    drop(&h);
}

Test(gguf, strangers_outside_the_blocks_are_named)
{
    header h = small_llama(F16);
    tensor2(&h, "mm.0.weight", F16, 256, 10);
    must_read(&h);
    cr_expect(strstr(model.not_counted, "2560 weights of tensors such as mm.0.weight"));
    cr_expect(model.warnings.count == 1);
    drop(&h);
}

/* ---- predictions ----------------------------------------------------------------------------- */

static void save(const header *h, const char *path)
{
    bytes all = finished(h);
    FILE *out = fopen(path, "wb");
    cr_assert(out != NULL);
    cr_assert(fwrite(all.data, 1, all.size, out) == all.size);
    cr_assert(fclose(out) == 0);
    free(all.data);
}

static char folder[] = "/tmp/llmperf-gguf-XXXXXX";

static void make_folder(void)
{
    cr_assert(mkdtemp(folder) != NULL);
}

static void remove_folder(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    cr_expect(system(command) == 0);
}

TestSuite(gguf_files, .init = make_folder, .fini = remove_folder);

/* A file of 100 GB: all but the header is a hole. */
Test(gguf_files, only_the_header_is_read)
{
    char path[256];
    header h = small_llama(Q8_0);
    snprintf(path, sizeof path, "%s/large.gguf", folder);
    save(&h, path);
    cr_assert(truncate(path, 100000000000) == 0);
    memset(&error, 0, sizeof error);
    cr_assert(model_load(path, &model, &error) == LLMPERF_OK, "%s", error.text);
    cr_expect_str_eq(model.name, "large");
    drop(&h);
}

Test(gguf_files, predict_works_end_to_end)
{
    const char *exe = getenv("LLMPERF_EXE"), *source = getenv("LLMPERF_SOURCE");
    char path[256], command[2048], output[65536];
    header h = small_llama(Q4_0);
    cr_assert(exe != NULL && source != NULL);
    key_text(&h, "general.name", "$(small) <llama>");
    snprintf(path, sizeof path, "%s/no-suffix", folder); /* known by its first bytes */
    save(&h, path);
    snprintf(command, sizeof command, "'%s' predict '%s' '%s/specs/hardware/h100-sxm.yaml' 2>&1",
             exe, path, source);
    FILE *in = popen(command, "r");
    cr_assert(in != NULL);
    size_t size = fread(output, 1, sizeof output - 1, in);
    output[size] = '\0';
    cr_expect(pclose(in) == 0, "%s", output);
    cr_expect(strstr(output, "$(small) <llama>"), "%s", output);
    cr_expect(strstr(output, "gguf Q4_0"), "%s", output);
    drop(&h);
}

static void split_keys(header *h, int number, int count, int tensors_in_all)
{
    key(h, "split.no", GGUF_U16);
    put_number(&h->keys, (uint64_t)number, 2);
    key(h, "split.count", GGUF_U16);
    put_number(&h->keys, (uint64_t)count, 2);
    key(h, "split.tensors.count", GGUF_I32);
    put_number(&h->keys, (uint64_t)tensors_in_all, 4);
}

Test(gguf_files, the_parts_of_a_split_model_are_found)
{
    char first[256], second[256];
    header a = {0}, b = {0};
    dimensions(&a, "llama", &SMALL);
    split_keys(&a, 0, 2, 3 + 4 * 9);
    split_keys(&b, 1, 2, 3 + 4 * 9);
    tensors(&a, &SMALL, "", UNTIED, F16);
    blocks(&a, &SMALL, 0, 1, LLAMA_BLOCK, F16);
    blocks(&b, &SMALL, 1, 4, LLAMA_BLOCK, F16);
    snprintf(first, sizeof first, "%s/m-00001-of-00002.gguf", folder);
    snprintf(second, sizeof second, "%s/m-00002-of-00002.gguf", folder);
    save(&a, first);
    memset(&error, 0, sizeof error);
    cr_expect(model_load(first, &model, &error) == LLMPERF_E_IO);
    cr_expect(strstr(error.text, "m-00002-of-00002.gguf: byte 0: part 2 of the 2"), "%s",
              error.text);

    save(&b, second);
    const char *const either[] = {first, second};
    for (int i = 0; i < 2; i++) {
        memset(&error, 0, sizeof error);
        cr_assert(model_load(either[i], &model, &error) == LLMPERF_OK, "%s", error.text);
        cr_expect(llmperf_model_layers(&model) == 4);
        cr_expect(model.warnings.count == 0, "%s", model.warnings.text[0]);
    }

    /* the same tensor in both parts */
    blocks(&b, &SMALL, 0, 1, "attn_norm:h", F16);
    save(&b, second);
    memset(&error, 0, sizeof error);
    cr_expect(model_load(first, &model, &error) == LLMPERF_E_SPEC);
    cr_expect(strstr(error.text, "split.tensors.count is 39, but the parts hold 40"), "%s",
              error.text);

    /* a name without the number */
    snprintf(second, sizeof second, "%s/other.gguf", folder);
    save(&a, second);
    memset(&error, 0, sizeof error);
    cr_expect(model_load(second, &model, &error) == LLMPERF_E_SPEC);
    cr_expect(strstr(error.text, "'-00001-of-00002.gguf' is allowed"), "%s", error.text);
    drop(&a);
    drop(&b);
}

Test(gguf_files, what_is_no_file_is_refused)
{
    char path[256];
    memset(&error, 0, sizeof error);
    snprintf(path, sizeof path, "%s/missing.gguf", folder);
    cr_expect(model_load(path, &model, &error) == LLMPERF_E_IO);
    cr_assert(mkfifo(path, 0600) == 0);
    cr_expect(model_load(path, &model, &error) == LLMPERF_E_IO);
    cr_expect(strstr(error.text, "no regular file"), "%s", error.text);
}

/* ---- refusals -------------------------------------------------------------------------------- */

Test(gguf, bad_magic_and_version)
{
    header h = small_llama(F16);
    bytes all = finished(&h);
    memcpy(all.data, "GGML", 4);
    must_refuse_bytes(&all, LLMPERF_E_SPEC, "byte 0: the file begins with the bytes 47 47 4d 4c");
    memcpy(all.data, "GGUF", 4);
    memcpy(all.data + 4, "\1\0\0\0", 4);
    must_refuse_bytes(&all, LLMPERF_E_SPEC, "byte 4: GGUF version 1; 2 and 3 are allowed");
    memcpy(all.data + 4, "\4\0\0\0", 4);
    must_refuse_bytes(&all, LLMPERF_E_SPEC, "byte 4: GGUF version 4");
    memcpy(all.data + 4, "\0\0\0\3", 4);
    must_refuse_bytes(&all, LLMPERF_E_UNSUPPORTED, "byte 4: a big-endian file (version 3");
    free(all.data);
    h.version = 2;
    must_read(&h);
    drop(&h);
}

Test(gguf, every_truncation_is_refused)
{
    header h = small_llama(F16);
    key_array(&h, "nested", GGUF_STRING, 8, 3, NULL);
    bytes all = finished(&h);
    for (size_t size = 0; size < all.size; size += size < 400 || size + 400 > all.size ? 1 : 37) {
        bytes cut = {malloc(size > 0 ? size : 1), size, size};
        memcpy(cut.data, all.data, size);
        memset(&error, 0, sizeof error);
        cr_expect(spec_gguf_load_memory("x.gguf", cut.data, size, &model, &error) == LLMPERF_E_SPEC,
                  "%zu bytes", size);
        free(cut.data);
    }
    must_refuse_bytes(&(bytes){all.data, 3, 0}, LLMPERF_E_SPEC, "byte 0: the magic of 4 bytes");
    free(all.data);
    drop(&h);
}

Test(gguf, counts_beyond_the_file)
{
    header h = small_llama(F16);
    bytes all = finished(&h);
    bytes bad = all;
    memset(all.data + 8, 0xff, 8);
    must_refuse_bytes(&bad, LLMPERF_E_SPEC,
                      "byte 8: the number of tensors is 18446744073709551615");
    free(all.data);
    all = finished(&h);
    memset(all.data + 16, 0x7f, 8);
    must_refuse_bytes(&all, LLMPERF_E_SPEC, "byte 16: the number of keys is ");
    free(all.data);
    drop(&h);
}

static header with_key(void (*add)(header *h))
{
    header h = {0};
    add(&h);
    return h;
}

static void long_string(header *h)
{
    key(h, "a", GGUF_STRING);
    put_number(&h->keys, 1000, 8);
    put(&h->keys, "abc", 3);
}

static void huge_string(header *h)
{
    key(h, "a", GGUF_STRING);
    put_number(&h->keys, UINT64_MAX, 8);
}

static void huge_array(header *h)
{
    key(h, "a", GGUF_ARRAY);
    put_number(&h->keys, GGUF_U64, 4);
    put_number(&h->keys, (uint64_t)1 << 61, 8); /* times 8 is 0 */
}

static void deep_array(header *h)
{
    key(h, "a", GGUF_ARRAY);
    for (int i = 0; i < 64; i++) {
        put_number(&h->keys, GGUF_ARRAY, 4);
        put_number(&h->keys, 1, 8);
    }
    put_number(&h->keys, GGUF_U8, 4);
    put_number(&h->keys, 0, 8);
}

static void bad_type(header *h)
{
    key(h, "a", 13);
    put_number(&h->keys, 0, 8);
}

static void bad_item_type(header *h)
{
    key(h, "a", GGUF_ARRAY);
    put_number(&h->keys, 99, 4);
    put_number(&h->keys, 0, 8);
}

static void bad_bool(header *h)
{
    key(h, "a", GGUF_BOOL);
    put_number(&h->keys, 2, 1);
}

static void nul_in_key(header *h)
{
    put_text(&h->keys, "a\0b", 3);
    put_number(&h->keys, GGUF_U8, 4);
    put_number(&h->keys, 0, 1);
    h->key_count++;
}

static void empty_key(header *h)
{
    put_text(&h->keys, "", 0);
    put_number(&h->keys, GGUF_U8, 4);
    put_number(&h->keys, 0, 8);
    h->key_count++;
}

static void same_keys(header *h)
{
    key_u32(h, "twice", 1);
    key_u32(h, "twice", 1);
}

static void bad_alignment(header *h)
{
    key_u32(h, "general.alignment", 33);
}

static void no_architecture(header *h)
{
    key_u32(h, "general.alignment", 64);
}

static void nul_in_architecture(header *h)
{
    key(h, "general.architecture", GGUF_STRING);
    put_text(&h->keys, "llama\0x", 7);
}

static void number_as_architecture(header *h)
{
    key_u32(h, "general.architecture", 5);
}

static void no_tensors(header *h)
{
    key_text(h, "general.architecture", "llama");
}

Test(gguf, bad_metadata)
{
    static const struct {
        void (*add)(header *h);
        const char *text;
    } rows[] = {
        {long_string, "byte 37: the length of a string is 1000, but the rest of the file has room "
                      "for 3"},
        {huge_string, "byte 37: the length of a string is 18446744073709551615"},
        {huge_array, "byte 41: the number of items of an array is 2305843009213693952"},
        {deep_array, "arrays nested more than 4 deep"},
        {bad_type, "byte 33: value type 13; 0 to 12 are allowed"},
        {bad_item_type, "byte 37: value type 99"},
        {bad_bool, "byte 37: a bool of value 2"},
        {nul_in_key, "byte 33: a key holds the byte 0x00"},
        {empty_key, "byte 24: a key of 0 bytes; 1 to 65535 are allowed"},
        {same_keys, "byte 45: the key 'twice' is there twice, first at byte 24"},
        {bad_alignment, "general.alignment is 33; a power of two"},
        {no_architecture, "general.architecture is missing or empty"},
        {nul_in_architecture, "general.architecture holds a NUL byte"},
        {number_as_architecture, "general.architecture is of type u32; a string is allowed"},
        {no_tensors, "no tensors"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        header h = with_key(rows[i].add);
        must_refuse(&h, rows[i].text);
        drop(&h);
    }
}

Test(gguf, nested_arrays_are_passed_over)
{
    header h = small_llama(F16);
    key(&h, "nested", GGUF_ARRAY);
    put_number(&h.keys, GGUF_ARRAY, 4);
    put_number(&h.keys, 2, 8);
    put_number(&h.keys, GGUF_STRING, 4);
    put_number(&h.keys, 1, 8);
    put_text(&h.keys, "one", 3);
    put_number(&h.keys, GGUF_F64, 4);
    put_number(&h.keys, 2, 8);
    put_number(&h.keys, 0, 8);
    put_number(&h.keys, 0, 8);
    must_read(&h);
    drop(&h);
}

/* One tensor after a good model; where it begins is the file's size before. */
static void must_refuse_tensor(const char *name, size_t name_size, int dims, const uint64_t *dim,
                               uint32_t type, uint64_t offset, const char *text)
{
    header h = small_llama(F16);
    put_text(&h.tensors, name, name_size);
    put_number(&h.tensors, (uint64_t)dims, 4);
    for (int i = 0; i < dims && dim; i++)
        put_number(&h.tensors, dim[i], 8);
    put_number(&h.tensors, type, 4);
    put_number(&h.tensors, offset, 8);
    h.tensor_count++;
    must_refuse(&h, text);
    drop(&h);
}

#define DIMS(...)                                                                                  \
    sizeof((uint64_t[]){__VA_ARGS__}) / 8, (uint64_t[])                                            \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

Test(gguf, bad_tensors)
{
    must_refuse_tensor("x", 1, 0, NULL, F32, 0, "tensor 'x' has 0 dimensions; 1 to 4 are allowed");
    must_refuse_tensor("x", 1, 5, (uint64_t[]){1, 1, 1, 1, 1}, F32, 0, "has 5 dimensions");
    must_refuse_tensor("x", 1, INT32_MAX, NULL, F32, 0, "has 2147483647 dimensions");
    must_refuse_tensor("x", 1, DIMS(4, (uint64_t)-3), F32, 0, "dimension 2 of tensor 'x' is -3");
    must_refuse_tensor("x", 1, DIMS(0), F32, 0, "dimension 1 of tensor 'x' is 0");
    must_refuse_tensor("x", 1, DIMS(1u << 31, 1u << 31, 4), F32, 0, "more than 2^53 elements");
    must_refuse_tensor("x", 1, DIMS(4), 31, 0, "ggml type 31, which is not known");
    must_refuse_tensor("x", 1, DIMS(4), 1000, 0, "ggml type 1000");
    must_refuse_tensor("x", 1, DIMS(40), Q4_0, 0, "rows of 40, but Q4_0 holds blocks of 32");
    must_refuse_tensor("x", 1, DIMS(4), F32, 33, "the offset of tensor 'x' is 33");
    must_refuse_tensor("x\0y", 3, DIMS(4), F32, 0, "a tensor's name holds the byte 0x00");
    must_refuse_tensor("x\033", 2, DIMS(4), F32, 0, "a tensor's name holds the byte 0x1b");
    must_refuse_tensor("", 0, DIMS(4), F32, 0, "a tensor's name of 0 bytes");
    must_refuse_tensor("blk.0.attn_q.weight", 19, DIMS(256, 256), F16, 0,
                       "the tensor 'blk.0.attn_q.weight' is there twice, first at byte ");
    must_refuse_tensor("blk.4.attn_q.weight", 19, DIMS(256, 256), F16, 0,
                       "is of a block beyond llama.block_count 4");
    must_refuse_tensor("blk..attn_q.weight", 18, DIMS(256, 256), F16, 0, "names no block");
    must_refuse_tensor("blk.99999999999999999999.a", 26, DIMS(256), F16, 0, "names no block");
    must_refuse_tensor("big", 3, DIMS(1u << 31, 1u << 22), F32, 0, "more than 2^53 weights in all");
}

Test(gguf, unknown_blocks_are_refused_by_name)
{
    header h = small_llama(F16);
    tensor1(&h, "blk.0.ssm_a.weight", F32, 16);
    bytes all = finished(&h);
    must_refuse_bytes(&all, LLMPERF_E_UNSUPPORTED, "blk.0.ssm_a.weight is not counted");
    free(all.data);
    drop(&h);
    dimensions(&h, "mamba", &SMALL);
    tensors(&h, &SMALL, "", UNTIED, F16);
    blocks(&h, &SMALL, 0, 4, "ssm_in:hf", F16);
    all = finished(&h);
    must_refuse_bytes(&all, LLMPERF_E_UNSUPPORTED, "the architecture 'mamba' is not counted");
    free(all.data);
    drop(&h);
    key_text(&h, "general.type", "adapter");
    all = finished(&h);
    must_refuse_bytes(&all, LLMPERF_E_UNSUPPORTED, "of type 'adapter'");
    free(all.data);
    drop(&h);
    dimensions(&h, "bert", &SMALL);
    key_bool(&h, "bert.attention.causal", false);
    tensors(&h, &SMALL, "", UNTIED, F16);
    all = finished(&h);
    must_refuse_bytes(&all, LLMPERF_E_UNSUPPORTED, "not causal");
    free(all.data);
    drop(&h);
}

/* Metadata and tensors each say a dimension: both are named when they differ. */
Test(gguf, disagreement_names_both)
{
    static const struct {
        const char *change; /* field of the metadata */
        const char *text[2];
    } rows[] = {
        {"hidden", {"token_embd.weight is 256 x 320", "llama.embedding_length"}},
        {"heads", {"blk.0.attn_q.weight is 256 x 256", "llama.attention.head_count makes"}},
        {"kv", {"blk.0.attn_k.weight is 256 x 64", "llama.attention.head_count_kv makes"}},
        {"head_dim", {"blk.0.attn_q.weight is 256 x 256", "makes dimension 2 of it 512"}},
        {"ffn", {"blk.0.ffn_up.weight is 256 x 512", "llama.feed_forward_length makes"}},
        {"vocab", {"token_embd.weight has 320 rows", "tokenizer.ggml.tokens has 321 items"}},
        {"layers", {"is missing", "blk.4.attn_"}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        shape said = SMALL;
        header h = {0};
        const char *change = rows[i].change;
        said.hidden *= strcmp(change, "hidden") == 0 ? 2 : 1;
        said.heads *= strcmp(change, "heads") == 0 ? 2 : 1;
        said.kv *= strcmp(change, "kv") == 0 ? 2 : 1;
        said.head_dim *= strcmp(change, "head_dim") == 0 ? 2 : 1;
        said.ffn *= strcmp(change, "ffn") == 0 ? 3 : 1;
        said.layers += strcmp(change, "layers") == 0;
        dimensions(&h, "llama", &said);
        key_tokens(&h, 320 + (strcmp(change, "vocab") == 0));
        tensors(&h, &SMALL, "", UNTIED, F16);
        blocks(&h, &SMALL, 0, 4, LLAMA_BLOCK, F16);
        must_refuse(&h, rows[i].text[0]);
        must_refuse(&h, rows[i].text[1]);
        drop(&h);
    }
}

Test(gguf, missing_metadata_is_named)
{
    static const char *const keys[] = {"embedding_length", "block_count", "attention.head_count",
                                       "feed_forward_length"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        shape said = SMALL;
        char text[128];
        header h = {0};
        said.hidden = i == 0 ? 0 : said.hidden;
        said.layers = i == 1 ? 0 : said.layers;
        said.heads = i == 2 ? 0 : said.heads;
        said.ffn = i == 3 ? 0 : said.ffn;
        dimensions(&h, "llama", &said);
        tensors(&h, &SMALL, "", UNTIED, F16);
        blocks(&h, &SMALL, 0, 4, LLAMA_BLOCK, F16);
        snprintf(text, sizeof text, "llama.%s is missing", keys[i]);
        must_refuse(&h, text);
        drop(&h);
    }
}

Test(gguf, values_out_of_range)
{
    header h = small_llama(F16);
    arch_u32(&h, "llama", "attention.value_length_x", 1); /* an unknown key is no fault */
    must_read(&h);
    drop(&h);
    shape said = SMALL;
    said.layers = 1000;
    dimensions(&h, "llama", &said);
    tensors(&h, &SMALL, "", UNTIED, F16);
    must_refuse(&h, "llama.block_count is 1000, but the file holds 3 tensors");
    drop(&h);
    said.layers = 100000;
    dimensions(&h, "llama", &said);
    tensors(&h, &SMALL, "", UNTIED, F16);
    must_refuse(&h, "llama.block_count is 100000; 1 to 4096 are allowed");
    drop(&h);
}
