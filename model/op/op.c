/* SPDX-License-Identifier: MIT */
/* Names of what an operator can be. */
#include <string.h>

#include "llmperf/predict.h"
#include "entry.h"

static const char *const OP_NAMES[LLMPERF_OP_COUNT] = {
    [LLMPERF_OP_EMBED] = "embed",
    [LLMPERF_OP_EMBED_PROJECT] = "embed.project",
    [LLMPERF_OP_NORM] = "norm",
    [LLMPERF_OP_ATTN_QKV] = "attn.qkv",
    [LLMPERF_OP_ATTN_Q] = "attn.q",
    [LLMPERF_OP_ATTN_K] = "attn.k",
    [LLMPERF_OP_ATTN_V] = "attn.v",
    [LLMPERF_OP_ATTN_Q_A] = "attn.q_a",
    [LLMPERF_OP_ATTN_Q_B] = "attn.q_b",
    [LLMPERF_OP_ATTN_KV_A] = "attn.kv_a",
    [LLMPERF_OP_ATTN_KV_B] = "attn.kv_b",
    [LLMPERF_OP_ATTN_K_ABSORB] = "attn.k_absorb",
    [LLMPERF_OP_ATTN_V_ABSORB] = "attn.v_absorb",
    [LLMPERF_OP_ATTN_GATE] = "attn.gate",
    [LLMPERF_OP_INDEX_Q] = "attn.index_q",
    [LLMPERF_OP_INDEX_K] = "attn.index_k",
    [LLMPERF_OP_INDEX_CORE] = "attn.index",
    [LLMPERF_OP_ROPE] = "rope",
    [LLMPERF_OP_ATTN_CORE] = "attn.core",
    [LLMPERF_OP_ATTN_SCORES] = "attn.scores",
    [LLMPERF_OP_ATTN_SOFTMAX] = "attn.softmax",
    [LLMPERF_OP_ATTN_VALUES] = "attn.values",
    [LLMPERF_OP_ATTN_OUT] = "attn.out",
    [LLMPERF_OP_SSM_IN] = "ssm.in",
    [LLMPERF_OP_SSM_CONV] = "ssm.conv",
    [LLMPERF_OP_SSM_DT] = "ssm.dt",
    [LLMPERF_OP_SSM_SCAN] = "ssm.scan",
    [LLMPERF_OP_SSM_GATE] = "ssm.gate",
    [LLMPERF_OP_SSM_OUT] = "ssm.out",
    [LLMPERF_OP_RESIDUAL] = "residual",
    [LLMPERF_OP_MLP_GATE_UP] = "mlp.gate_up",
    [LLMPERF_OP_MLP_UP] = "mlp.up",
    [LLMPERF_OP_MLP_ACT] = "mlp.act",
    [LLMPERF_OP_MLP_DOWN] = "mlp.down",
    [LLMPERF_OP_MOE_ROUTER] = "moe.router",
    [LLMPERF_OP_MOE_LATENT_DOWN] = "moe.latent_down",
    [LLMPERF_OP_MOE_LATENT_UP] = "moe.latent_up",
    [LLMPERF_OP_MOE_GATE_UP] = "moe.experts.gate_up",
    [LLMPERF_OP_MOE_UP] = "moe.experts.up",
    [LLMPERF_OP_MOE_ACT] = "moe.experts.act",
    [LLMPERF_OP_MOE_DOWN] = "moe.experts.down",
    [LLMPERF_OP_MOE_SHARED_GATE_UP] = "moe.shared.gate_up",
    [LLMPERF_OP_MOE_SHARED_UP] = "moe.shared.up",
    [LLMPERF_OP_MOE_SHARED_ACT] = "moe.shared.act",
    [LLMPERF_OP_MOE_SHARED_DOWN] = "moe.shared.down",
    [LLMPERF_OP_HEAD_PROJECT] = "lm_head.project",
    [LLMPERF_OP_LM_HEAD] = "lm_head",
    [LLMPERF_OP_COMM_EMBED] = "comm.embed",
    [LLMPERF_OP_COMM_ATTN] = "comm.attn",
    [LLMPERF_OP_COMM_MLP] = "comm.mlp",
    [LLMPERF_OP_COMM_LOGITS] = "comm.logits",
};

static const char *const KIND_NAMES[LLMPERF_KIND_COUNT] = {
    "gemm", "attention", "elementwise", "gather", "scan", "collective",
};

static const char *const GROUP_NAMES[LLMPERF_GROUP_COUNT] = {"dense", "attention", "other"};

static const char *const REGIME_NAMES[LLMPERF_REGIME_COUNT] = {NULL, "prefill", "extend", "decode",
                                                               "mixed"};

static const char *const BOUND_NAMES[LLMPERF_BOUND_COUNT] = {
    "compute", "memory", "latency", "launch", "link",
};

static const char *const COLLECTIVE_NAMES[LLMPERF_COLLECTIVE_COUNT] = {
    NULL, "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "send_recv",
};

static const char *const PARAM_NAMES[LLMPERF_PARAM_COUNT] = {
    "compute_efficiency",
    "memory_efficiency",
    "launch_s",
    "serial_s",
    "work_item_s",
    "norm",
    "link_efficiency",
    "hop_s",
    "fill_depth",
    "score_channels",
    "tile_padding",
    "settle",
    "input_passes",
    "loop_s",
    "head_s",
    "tall_tiles",
    "query_item_s",
    "unpack",
    "step_s",
    "second_phase_s",
    "bus_crowd",
    "bulk_s",
    "bulk_bytes",
    "bulk_sharpness",
    "short_rows",
    "tile_rows",
    "unsplit_rows",
    "group_reads",
    "idle_block_s",
    "group_rows",
    "head_item_s",
    "first_items_s",
    "merge_s",
    "regroup_s",
    "feed",
};

const char *llmperf_collective_name(llmperf_collective collective)
{
    return (unsigned)collective < LLMPERF_COLLECTIVE_COUNT ? COLLECTIVE_NAMES[collective] : NULL;
}

double llmperf_collective_share(llmperf_collective collective, double devices)
{
    if (!IS_BELOW(collective, LLMPERF_COLLECTIVE_COUNT) || collective == LLMPERF_COLLECTIVE_NONE ||
        !(devices >= 1))
        return 0;
    if (collective == LLMPERF_COLLECTIVE_SEND_RECV)
        return 1;
    double rounds = collective == LLMPERF_COLLECTIVE_ALL_REDUCE ? 2 : 1;
    return rounds * (devices - 1) / devices;
}

bool llmperf_op_is_experts(const llmperf_op *op)
{
    if (!op)
        return false;
    return op->id == LLMPERF_OP_MOE_GATE_UP || op->id == LLMPERF_OP_MOE_UP ||
           op->id == LLMPERF_OP_MOE_DOWN;
}

/* A part of a mixed launch: `share` of what is counted per query token, flop and cache reads its own. */
static llmperf_op part_of(const llmperf_op *op, double share, double flop, double kv_read_bytes)
{
    llmperf_op part = *op;
    part.flop = flop;
    part.kv_read_bytes = kv_read_bytes;
    part.input_bytes *= share;
    part.output_bytes *= share;
    part.kv_write_bytes *= share;
    part.bytes = part.input_bytes + part.output_bytes + part.kv_read_bytes + part.kv_write_bytes;
    part.lone_sequences = part.lone_past = part.lone_flop = part.lone_kv_read_bytes = 0;
    part.longest_keys = 0;
    return part;
}

llmperf_op llmperf_op_prompt(const llmperf_op *op)
{
    if (!op)
        return (llmperf_op){0};
    double tokens = op->sequences * op->query_tokens;
    llmperf_op part = part_of(op, tokens / (tokens + op->lone_sequences), op->flop - op->lone_flop,
                              op->kv_read_bytes - op->lone_kv_read_bytes);
    part.regime = op->past_tokens > 0 ? LLMPERF_REGIME_EXTEND : LLMPERF_REGIME_PREFILL;
    return part;
}

llmperf_op llmperf_op_lone(const llmperf_op *op)
{
    if (!op)
        return (llmperf_op){0};
    double tokens = op->sequences * op->query_tokens + op->lone_sequences;
    llmperf_op part =
        part_of(op, op->lone_sequences / tokens, op->lone_flop, op->lone_kv_read_bytes);
    part.regime = LLMPERF_REGIME_DECODE;
    part.sequences = op->lone_sequences;
    part.query_tokens = 1;
    part.past_tokens = op->lone_past;
    return part;
}

const char *llmperf_op_name(llmperf_op_id id)
{
    return (unsigned)id < LLMPERF_OP_COUNT ? OP_NAMES[id] : "?";
}

llmperf_op_id llmperf_op_parse(const char *name)
{
    if (!name)
        return LLMPERF_OP_COUNT;
    for (int i = 0; i < LLMPERF_OP_COUNT; i++)
        if (strcmp(name, OP_NAMES[i]) == 0)
            return (llmperf_op_id)i;
    return LLMPERF_OP_COUNT;
}

const char *llmperf_kind_name(llmperf_op_kind kind)
{
    return (unsigned)kind < LLMPERF_KIND_COUNT ? KIND_NAMES[kind] : "?";
}

const char *llmperf_group_name(llmperf_op_group group)
{
    return (unsigned)group < LLMPERF_GROUP_COUNT ? GROUP_NAMES[group] : "?";
}

const char *llmperf_regime_name(llmperf_regime regime)
{
    return (unsigned)regime < LLMPERF_REGIME_COUNT ? REGIME_NAMES[regime] : NULL;
}

const char *llmperf_bound_name(llmperf_bound bound)
{
    return (unsigned)bound < LLMPERF_BOUND_COUNT ? BOUND_NAMES[bound] : "?";
}

const char *llmperf_param_name(llmperf_param param)
{
    return (unsigned)param < LLMPERF_PARAM_COUNT ? PARAM_NAMES[param] : "?";
}

bool llmperf_param_is_time(llmperf_param param)
{
    const char *name = llmperf_param_name(param);
    size_t length = strlen(name);
    return length > 2 && strcmp(name + length - 2, "_s") == 0;
}

llmperf_param llmperf_param_parse(const char *name)
{
    if (!name)
        return LLMPERF_PARAM_COUNT;
    for (int i = 0; i < LLMPERF_PARAM_COUNT; i++)
        if (strcmp(name, PARAM_NAMES[i]) == 0)
            return (llmperf_param)i;
    return LLMPERF_PARAM_COUNT;
}
