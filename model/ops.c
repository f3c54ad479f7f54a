/* SPDX-License-Identifier: MIT */
/*
 * The operators of one step. Each is counted once here and in the layer files, nowhere else;
 * docs/model.md, "Operators", derives the formulas.
 */
#include <string.h>

#include "internal.h"

llmperf_op *emit_op(emitter *e, llmperf_op_id id, llmperf_op_kind kind, llmperf_op_group group,
                    double repeat)
{
    llmperf_op *op = &e->ops[e->count++];
    memset(op, 0, sizeof *op);
    op->id = (uint8_t)id;
    op->kind = (uint8_t)kind;
    op->group = (uint8_t)group;
    op->launches = 1;
    op->devices = 1;
    op->repeat = repeat;
    return op;
}

llmperf_op *emit_gemm(emitter *e, llmperf_op_id id, llmperf_weight_class weights, double m,
                      double n, double k, double repeat)
{
    llmperf_op *op = emit_op(e, id, LLMPERF_KIND_GEMM, LLMPERF_GROUP_DENSE, repeat);
    op->dtype = e->weights->gemm_dtype[weights];
    op->stored = e->weights->dtype[weights];
    op->m = m;
    op->n = n;
    op->k = k;
    op->flop = 2 * m * n * k;
    op->weight_bytes = n * k * e->weights->bytes_per[weights];
    op->input_bytes = m * k * e->c->act_bytes_per;
    op->output_bytes = m * n * e->c->act_bytes_per;
    op->bytes = op->weight_bytes + op->input_bytes + op->output_bytes;
    return op;
}

llmperf_op *emit_elementwise(emitter *e, llmperf_op_id id, double flop, double values_in,
                             double values_out, double weights, double repeat)
{
    llmperf_op *op = emit_op(e, id, LLMPERF_KIND_ELEMENTWISE, LLMPERF_GROUP_OTHER, repeat);
    op->dtype = e->c->vector_dtype;
    op->flop = flop;
    op->weight_bytes = weights * e->weights->bytes_per[LLMPERF_WEIGHT_OTHER];
    op->input_bytes = values_in * e->c->act_bytes_per;
    op->output_bytes = values_out * e->c->act_bytes_per;
    op->bytes = op->weight_bytes + op->input_bytes + op->output_bytes;
    return op;
}

void emit_norm(emitter *e, llmperf_op_id id, double rows, double width, double repeat)
{
    const llmperf_model *model = e->c->model;
    /* RMS: square, sum, scale, weight; layer norm also subtracts the mean and adds a bias */
    double flop_per_value = model->norm == LLMPERF_NORM_RMS ? 4 : 7;
    double values = rows * width;
    emit_elementwise(e, id, flop_per_value * values, values, values,
                     (double)norm_weights(model, (int64_t)width), repeat);
}

/* The residual stream, read and written by the norm that follows (add and norm are one launch in
 * every engine): the branch that is added is that norm's input. */
void emit_residual(emitter *e, double repeat)
{
    double values = e->tokens * (double)e->c->model->hidden;
    llmperf_op *op = emit_elementwise(e, LLMPERF_OP_RESIDUAL, values, values, values, 0, repeat);
    op->launches = 0;
}

void emit_collective(emitter *e, llmperf_op_id id, llmperf_collective collective, double bytes,
                     double repeat)
{
    double devices = (double)e->c->workload.tp;
    if (devices <= 1)
        return;
    llmperf_op *op = emit_op(e, id, LLMPERF_KIND_COLLECTIVE, LLMPERF_GROUP_OTHER, repeat);
    op->collective = (uint8_t)collective;
    op->devices = e->c->workload.tp;
    op->link_bytes = llmperf_collective_share(collective, devices) * bytes;
}

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
        if (kind->mixes != mixing || !kind->present(layer))
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
                 llmperf_op *ret_ops)
{
    emitter e = {.c = c, .segments = segments, .segment_count = segment_count, .ops = ret_ops};
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

int llmperf_emit_capacity(const llmperf_config *c)
{
    return c->model->layer_kind_count * LLMPERF_OPS_PER_LAYER_KIND + 16;
}

llmperf_segment llmperf_decode_segment(const llmperf_config *c, int64_t batch, int64_t past)
{
    int64_t query = c->workload.query;
    return (llmperf_segment){
        .sequences = batch, .query = query, .past = past, .logits = batch * query, .decode = true};
}

/* ---- sums ----------------------------------------------------------------------------------------- */

void llmperf_total_add(llmperf_total *sum, const llmperf_op *op, const llmperf_time *time,
                       double times)
{
    double r = op->repeat * times;
    sum->flop += r * op->flop;
    sum->weight_bytes += r * op->weight_bytes;
    sum->input_bytes += r * op->input_bytes;
    sum->output_bytes += r * op->output_bytes;
    sum->kv_read_bytes += r * op->kv_read_bytes;
    sum->kv_write_bytes += r * op->kv_write_bytes;
    sum->bytes += r * op->bytes;
    sum->link_bytes += r * op->link_bytes;
    if (!time)
        return;
    sum->time_s += r * time->time_s;
    sum->bound_s[time->bound] += r * time->time_s;
    if (op->kind == LLMPERF_KIND_COLLECTIVE) {
        sum->link_s += r * time->time_s;
        return;
    }
    sum->compute_s += r * time->compute_s;
    sum->memory_s += r * time->memory_s;
    sum->launch_s += r * time->launch_s;
    sum->group_s[op->group] += r * (time->time_s - time->launch_s);
    sum->group_compute_s[op->group] += r * time->compute_s;
    sum->group_memory_s[op->group] += r * time->memory_s;
}

static int step_add(const llmperf_config *c, const llmperf_segment *segments, int segment_count,
                    double times, llmperf_op *ops, llmperf_time *ret_times, llmperf_total *sum)
{
    int count = llmperf_emit(c, segments, segment_count, ops);
    const double before_s = sum->time_s, launched_s = sum->launch_s;
    for (int i = 0; i < count; i++) {
        llmperf_time one;
        llmperf_time *t = ret_times ? &ret_times[i] : &one;
        if (c->hw) {
            llmperf_time_op(&ops[i], c->hw, c->calib, t, NULL);
            llmperf_total_add(sum, &ops[i], t, times);
        } else {
            if (ret_times)
                memset(t, 0, sizeof *t);
            llmperf_total_add(sum, &ops[i], NULL, times);
        }
    }
    if (c->calib && c->calib->host.engine[0]) {
        double ops_s = (sum->time_s - before_s) / times;
        double host_s = times * host_time(c, segments, segment_count, ops_s,
                                          (sum->launch_s - launched_s) / times);
        sum->host_s += host_s;
        sum->time_s += host_s;
        sum->bound_s[LLMPERF_BOUND_LAUNCH] += host_s;
    }
    return count;
}

int llmperf_step(const llmperf_config *c, const llmperf_segment *segments, int segment_count,
                 llmperf_op *ret_ops, llmperf_time *ret_times, llmperf_total *ret_total)
{
    llmperf_op ops[LLMPERF_OPS_MAX];
    llmperf_total sum = {0};
    int count = step_add(c, segments, segment_count, 1, ret_ops ? ret_ops : ops, ret_times, &sum);
    if (ret_total)
        *ret_total = sum;
    return count;
}

/* ---- prefill in chunks ------------------------------------------------------------------------------ */

static int64_t greatest_common_divisor(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* The segments of the step that takes `tokens` tokens from position `start` of all prompts laid
 * end to end, each bringing `fresh` tokens after `cached` ones. */
static int chunk_segments(int64_t start, int64_t tokens, int64_t fresh, int64_t cached,
                          bool logits_all, llmperf_segment *ret_segments)
{
    int count = 0;
    int64_t offset = start % fresh;
    if (offset > 0) { /* goes on with a prompt that an earlier step began */
        int64_t rest = fresh - offset;
        int64_t query = rest < tokens ? rest : tokens;
        ret_segments[count++] = (llmperf_segment){
            .sequences = 1,
            .query = query,
            .past = cached + offset,
            .logits = logits_all ? query : query == rest,
        };
        tokens -= query;
    }
    if (tokens >= fresh) {
        int64_t whole = tokens / fresh;
        ret_segments[count++] = (llmperf_segment){
            .sequences = whole,
            .query = fresh,
            .past = cached,
            .logits = logits_all ? whole * fresh : whole,
        };
        tokens -= whole * fresh;
    }
    if (tokens > 0)
        ret_segments[count++] = (llmperf_segment){
            .sequences = 1,
            .query = tokens,
            .past = cached,
            .logits = logits_all ? tokens : 0,
        };
    return count;
}

void llmperf_prefill_steps(const llmperf_config *c, int64_t batch, int64_t chunk,
                           llmperf_prefill_visit visit, void *context)
{
    int64_t cached = c->workload.cached;
    int64_t fresh = c->workload.prompt - cached;
    int64_t total = batch * fresh;
    int64_t full_steps = total / chunk;
    /* full steps repeat once chunk and prompt boundaries meet again */
    int64_t period = fresh / greatest_common_divisor(fresh, chunk);
    int64_t distinct = full_steps < period ? full_steps : period;
    llmperf_segment segments[LLMPERF_SEGMENTS_MAX];
    for (int64_t i = 0; i < distinct; i++) {
        int64_t times = full_steps / period + (i < full_steps % period);
        int count =
            chunk_segments(i * chunk, chunk, fresh, cached, c->workload.logits_all, segments);
        visit(segments, count, (double)times, context);
    }
    int64_t rest = total - full_steps * chunk;
    if (rest > 0) {
        int count = chunk_segments(full_steps * chunk, rest, fresh, cached, c->workload.logits_all,
                                   segments);
        visit(segments, count, 1, context);
    }
}

typedef struct prefill_sum {
    const llmperf_config *c;
    llmperf_total total;
    double steps;
} prefill_sum;

static void add_prefill_step(const llmperf_segment *segments, int segment_count, double times,
                             void *context)
{
    prefill_sum *p = context;
    llmperf_op ops[LLMPERF_OPS_MAX];
    step_add(p->c, segments, segment_count, times, ops, NULL, &p->total);
    p->steps += times;
}

double llmperf_prefill_total(const llmperf_config *c, int64_t batch, llmperf_total *ret_total)
{
    prefill_sum p = {.c = c};
    llmperf_prefill_steps(c, batch, c->workload.chunk, add_prefill_step, &p);
    *ret_total = p.total;
    return p.steps;
}
