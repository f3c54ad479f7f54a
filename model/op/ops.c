/* SPDX-License-Identifier: MIT */
/*
 * The operators of one step. Each is counted once here and in the layer files, nowhere else;
 * docs/model.md, "Operators", derives the formulas.
 */
#include "emit.h"
#include "config_object.h"

static void emit_embedding(emitter *e)
{
    const llmperf_config *c = e->c;
    const llmperf_model *model = c->model;
    double width = (double)model->embedding_dim, h = (double)model->hidden, t = e->tokens;
    double w = e->weights->bytes_per[LLMPERF_WEIGHT_EMBEDDING];
    llmperf_op *op = emit_op(e, LLMPERF_OP_EMBED, LLMPERF_KIND_GATHER, LLMPERF_GROUP_OTHER, 1);
    op->dtype = c->vector_dtype;
    op->weight_bytes = t * width * w;
    if (model->position_embeddings > 0) {
        op->input_bytes = t * h * w; /* a second gather, added on the way */
        op->flop = t * h;
    }
    op->output_bytes = t * width * c->act_bytes_per;
    op->bytes = op->weight_bytes + op->input_bytes + op->output_bytes;
    emit_collective(e, LLMPERF_OP_COMM_EMBED, LLMPERF_COLLECTIVE_ALL_REDUCE,
                    t * width * c->act_bytes_per, 1);
    if (model->embedding_dim != model->hidden)
        emit_gemm(e, LLMPERF_OP_EMBED_PROJECT, LLMPERF_WEIGHT_EMBEDDING, t, h, width, 1);
    if (model->embedding_norm)
        emit_norm(e, LLMPERF_OP_NORM, t, h, 1);
}

/* Runs the layer's parts that mix tokens, or those that do not; false when it has none. */
static bool emit_parts(emitter *e, const llmperf_layer *layer, bool mixing, bool really)
{
    bool any = false;
    for (int k = 0; k < LAYER_KIND_COUNT; k++) {
        const layer_kind *kind = LAYER_KINDS[k];
        if (!kind->emit || kind->mixes != mixing || !kind_in(kind, layer))
            continue;
        any = true;
        if (really)
            kind->emit(e, layer);
    }
    return any;
}

static void emit_layer(emitter *e, const llmperf_layer *layer)
{
    double h = (double)e->c->model->hidden, repeat = (double)layer->count;
    double reduced = e->tokens * h * e->c->act_bytes_per;
    int64_t half = layer->norms / 2; /* whole norms: of three, two stand before */
    double before = (double)(layer->norms - half), after = (double)half;
    bool has_ffn = emit_parts(e, layer, false, false);

    if (before > 0)
        emit_norm(e, LLMPERF_OP_NORM, e->tokens, h, repeat * before);
    bool has_mixer = emit_parts(e, layer, true, true);
    if (has_mixer && !(layer->parallel && has_ffn)) {
        emit_collective(e, LLMPERF_OP_COMM_ATTN, LLMPERF_COLLECTIVE_ALL_REDUCE, reduced, repeat);
        emit_residual(e, repeat);
    }
    if (after > 0)
        emit_norm(e, LLMPERF_OP_NORM, e->tokens, h, repeat * after);
    if (!has_ffn)
        return;
    emit_parts(e, layer, false, true);
    /* a parallel block adds both branches before its one all-reduce */
    emit_collective(e, LLMPERF_OP_COMM_MLP, LLMPERF_COLLECTIVE_ALL_REDUCE, reduced, repeat);
    emit_residual(e, repeat);
}

static void emit_head(emitter *e)
{
    const llmperf_config *c = e->c;
    const llmperf_model *model = c->model;
    double rows = 0;
    for (int i = 0; i < e->segment_count; i++)
        rows += (double)e->segments[i].logits;
    double h = (double)model->hidden, width = (double)model->embedding_dim;
    if (model->final_norm)
        emit_norm(e, LLMPERF_OP_NORM, e->tokens, h, 1);
    if (rows == 0) /* a chunk that ends no prompt needs no logits */
        return;
    llmperf_weight_class weights = model->tied ? LLMPERF_WEIGHT_EMBEDDING : LLMPERF_WEIGHT_HEAD;
    if (model->embedding_dim != model->hidden)
        emit_gemm(e, LLMPERF_OP_HEAD_PROJECT, LLMPERF_WEIGHT_EMBEDDING, rows, width, h, 1);
    emit_gemm(e, LLMPERF_OP_LM_HEAD, weights, rows, (double)ceil_div(model->vocab, c->workload.tp),
              width, 1);
    emit_collective(e, LLMPERF_OP_COMM_LOGITS, LLMPERF_COLLECTIVE_ALL_GATHER,
                    rows * (double)model->vocab * c->act_bytes_per, 1);
}

int llmperf_emit(const llmperf_config *c, const llmperf_segment *segments, int segment_count,
                 int capacity, llmperf_op *ret_ops)
{
    if (!c || segment_count < 1 || !segments || capacity < 0 || (capacity > 0 && !ret_ops))
        return 0;
    emitter e = {.c = c,
                 .segments = segments,
                 .segment_count = segment_count,
                 .ops = ret_ops,
                 .capacity = capacity};
    for (int i = 0; i < segment_count; i++) {
        e.sequences += (double)segments[i].sequences;
        e.tokens += (double)segments[i].sequences * (double)segments[i].query;
    }
    e.weights = &c->outside;
    emit_embedding(&e);
    for (int i = 0; i < c->model->layer_kind_count; i++) {
        e.weights = &c->layer[i];
        emit_layer(&e, &c->model->layers[i]);
    }
    e.weights = &c->outside;
    emit_head(&e);
    return e.count;
}

int llmperf_emit_capacity(const llmperf_config *c, int segments)
{
    const int most = 1 << 16; /* as llmperf_workspace_new() */
    segments = segments < most ? segments : most;
    int kinds = c ? c->model->layer_kind_count : LLMPERF_LAYER_KINDS_MAX;
    int more = segments > LLMPERF_SEGMENTS_MAX ? segments - LLMPERF_SEGMENTS_MAX : 0;
    return kinds * (LLMPERF_OPS_PER_LAYER_KIND + more * LLMPERF_OPS_PER_SEGMENT) + 16;
}

llmperf_segment llmperf_decode_segment(const llmperf_config *c, int64_t batch, int64_t past)
{
    if (!c || batch < 0 || past < 0 || batch > INT32_MAX)
        return (llmperf_segment){0};
    int64_t query = c->workload.query;
    return (llmperf_segment){
        .sequences = batch, .query = query, .past = past, .logits = batch * query, .decode = true};
}
