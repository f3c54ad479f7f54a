/* SPDX-License-Identifier: MIT */
/* Explains the model's own numbers: parameters, bytes a token, dimensions. */
#include "explain.h"

#include <math.h>
#include <string.h>

/* One term a class and layer shape: weights, or with `bytes` what they take. */
static void weight_term(explainer *e, const char *name, const char *count, const char *bytes_each,
                        bool bytes)
{
    char text[FORMULA_TEXT_MAX];
    explain_print(text, sizeof text, bytes ? "(%s) %s" : "%s", count, bytes_each);
    explain_add_term(e, name, text, bytes ? LLMPERF_UNIT_BYTES : LLMPERF_UNIT_WEIGHTS);
}

/* A sum of formulas, some of which are there. */
typedef struct text_sum {
    char text[FORMULA_TEXT_MAX];
    size_t used;
} text_sum;

static void add_text(text_sum *sum, bool there, const char *text)
{
    if (!there || sum->used + strlen(text) + 4 >= sizeof sum->text)
        return;
    explain_print(sum->text + sum->used, sizeof sum->text - sum->used, "%s%s",
                  sum->used ? " + " : "", text);
    sum->used += strlen(sum->text + sum->used);
}

static void layer_term(explainer *e, int kind, const char *what, const text_sum *sum,
                       const char *bytes_each, bool bytes)
{
    char name[64], text[FORMULA_TEXT_MAX];
    if (sum->used == 0)
        return;
    explain_set_layer(e, kind, what, name, sizeof name);
    explain_print(text, sizeof text, "layers (%.480s)", sum->text);
    weight_term(e, name, text, bytes_each, bytes);
}

static void mixer_terms(explainer *e, int kind, bool bytes)
{
    const llmperf_layer *layer = &e->c->model->layers[kind];
    const llmperf_attention *a = &layer->attention;
    const llmperf_mla *m = &layer->mla;
    const llmperf_ssm *s = &layer->ssm;
    text_sum attention = {.used = 0}, latent = {.used = 0}, index = {.used = 0}, ssm = {.used = 0};
    add_text(&attention, a->heads > 0 && !a->gate, "h ($N + $own $N_kv) ($d_k + $d_v)");
    add_text(&attention, a->heads > 0 && a->gate, "h (($N + $own $N_kv) ($d_k + $d_v) + $N $d_v)");
    layer_term(e, kind, "attention", &attention, "w", bytes);
    add_text(&latent, m->heads > 0 && m->q_rank > 0, "h r_q + r_q $N (d_n + d_r)");
    add_text(&latent, m->heads > 0 && m->q_rank == 0, "h $N (d_n + d_r)");
    add_text(&latent, m->heads > 0, "h (r_kv + d_r) + r_kv $N (d_n + d_v)");
    add_text(&latent, m->heads > 0, m->gate ? "2 $N d_v h" : "$N d_v h");
    layer_term(e, kind, "latent attention", &latent, "w", bytes);
    bool indexed = layer->index.top_k > 0 && !layer->index.shared && layer->index.heads > 0 &&
                   (a->heads > 0 || m->heads > 0);
    add_text(&index, indexed, "$index_input n_i d_i + h (d_i + n_i)");
    layer_term(e, kind, "indexer", &index, "w", bytes);
    add_text(&ssm, s->kind != LLMPERF_SSM_NONE, "h ($ssm_in) + $inner h");
    add_text(&ssm, s->kind == LLMPERF_SSM_MAMBA, "$inner (r_dt + 2 r_s) + r_dt $inner");
    add_text(&ssm, s->kind == LLMPERF_SSM_KDA, "d_s $inner");
    layer_term(e, kind, "state space", &ssm, "$w_s", bytes);
}

static void ffn_terms(explainer *e, int kind, bool bytes)
{
    const llmperf_layer *layer = &e->c->model->layers[kind];
    const llmperf_moe *m = &layer->moe;
    bool moe = m->experts > 0;
    text_sum mlp = {.used = 0}, experts = {.used = 0}, shared = {.used = 0}, router = {.used = 0};
    add_text(&mlp, layer->mlp.ffn > 0, layer->mlp.gated ? "3 h $F" : "2 h $F");
    layer_term(e, kind, "FFN", &mlp, "$w_f", bytes);
    add_text(&experts, moe, m->gated ? "3 E $width_x $F_x" : "2 E $width_x $F_x");
    layer_term(e, kind, "experts", &experts, "$w_x", bytes);
    add_text(&shared, moe && m->shared_ffn > 0, m->gated ? "3 h $F_s" : "2 h $F_s");
    add_text(&shared, moe && m->latent > 0, "2 h l_x");
    add_text(&shared, moe && m->shared_gate, "h");
    layer_term(e, kind, "shared experts", &shared, "$w_y", bytes);
    add_text(&router, moe, "h E");
    layer_term(e, kind, "router", &router, "$w_r", bytes);
}

/* Norms, biases and what else is a vector. */
static void vector_terms(explainer *e, int kind, bool bytes)
{
    const llmperf_layer *layer = &e->c->model->layers[kind];
    const llmperf_attention *a = &layer->attention;
    const llmperf_mla *m = &layer->mla;
    const llmperf_ssm *s = &layer->ssm;
    const llmperf_moe *x = &layer->moe;
    bool attends = a->heads > 0, ssm = s->kind != LLMPERF_SSM_NONE, moe = x->experts > 0;
    bool indexed = layer->index.top_k > 0 && !layer->index.shared && layer->index.heads > 0 &&
                   (attends || m->heads > 0);
    char norms[64];
    text_sum sum = {.used = 0}, more = {.used = 0};
    explain_print(norms, sizeof norms, "%lld $norm_weights h", (long long)layer->norms);
    add_text(&sum, layer->norms > 0, norms);
    add_text(&sum, attends && a->qkv_bias, "$N $d_k + $own $N_kv ($d_k + $d_v)");
    add_text(&sum, attends && a->out_bias, "h");
    add_text(&sum, attends && a->sinks, "$N");
    add_text(&sum, attends && a->qk_norm == LLMPERF_QK_NORM_HEAD, "2 $d_k");
    add_text(&sum,
             attends && a->qk_norm != LLMPERF_QK_NORM_NONE && a->qk_norm != LLMPERF_QK_NORM_HEAD,
             "($N + $own $N_kv) $d_k");
    add_text(&sum, m->heads > 0, m->q_rank > 0 ? "r_q + r_kv" : "r_kv");
    add_text(&sum, indexed, "2 d_i");
    add_text(&sum, layer->mlp.ffn > 0 && layer->mlp.up_bias, layer->mlp.gated ? "2 $F" : "$F");
    add_text(&sum, layer->mlp.ffn > 0 && layer->mlp.down_bias, "h");
    add_text(&sum, moe && x->router_bias, "E");
    add_text(&sum, moe && x->expert_bias,
             x->gated ? "E (2 $F_x + $width_x)" : "E ($F_x + $width_x)");
    layer_term(e, kind, "norms and biases", &sum, "$w_n", bytes);

    add_text(&more, ssm, s->conv_bias ? "$ssm_conv (k_s + 1)" : "$ssm_conv k_s");
    add_text(&more, ssm && s->proj_bias, "$ssm_in + h");
    add_text(&more, s->kind == LLMPERF_SSM_MAMBA, "2 $inner + $inner r_s");
    add_text(&more, s->kind == LLMPERF_SSM_MAMBA && s->bc_norm, "r_dt + 2 r_s");
    add_text(&more, s->kind == LLMPERF_SSM_MAMBA2, "3 $N_s + $inner");
    add_text(&more, s->kind == LLMPERF_SSM_DELTA, "2 $N_s + d_s");
    add_text(&more, s->kind == LLMPERF_SSM_KDA, "$N_s + $inner + d_s");
    add_text(&more, s->kind == LLMPERF_SSM_LINEAR, "$inner");
    layer_term(e, kind, "convolution, decay, norms", &more, "$w_n", bytes);
}

static void layer_weight_terms(explainer *e, int kind, bool bytes)
{
    mixer_terms(e, kind, bytes);
    ffn_terms(e, kind, bytes);
    vector_terms(e, kind, bytes);
    e->scope.layer = &e->c->model->layers[0];
}

void explain_weight_terms(explainer *e, bool bytes)
{
    const llmperf_model *model = e->c->model;
    e->scope.outside = true;
    weight_term(e, "token embeddings", "$V $e", "$w_e", bytes);
    if (model->position_embeddings > 0)
        weight_term(e, "position embeddings", "positions h", "$w_e", bytes);
    if (model->embedding_dim != model->hidden)
        weight_term(e, "embedding projections", "2 e h", "$w_e", bytes);
    e->scope.outside = false;
    for (int i = 0; i < model->layer_kind_count; i++)
        layer_weight_terms(e, i, bytes);
    e->scope.outside = true;
    int norms = model->final_norm + model->embedding_norm;
    if (norms > 0)
        weight_term(e, norms == 2 ? "embedding and final norm" : "final norm",
                    norms == 2 ? "2 $norm_weights h" : "$norm_weights h", "$w_n", bytes);
    if (!model->tied)
        weight_term(e, "LM head", "$V $e", "$w_h", bytes);
    if (model->head_bias)
        weight_term(e, "LM head bias", "$V", "$w_n", bytes);
    e->scope.outside = false;
}

/* The formulas of the model as a whole: one device. */
static void take_whole(explainer *e)
{
    e->whole = *e->c;
    e->whole.workload.tp = 1;
    e->scope.c = &e->whole;
}

static void explain_params(explainer *e)
{
    take_whole(e);
    explain_weight_terms(e, false);
    explain_close_sum(e, (double)llmperf_model_params(e->c->model).total, "sum over the weights");
}

static void name_params(explainer *e, bool active)
{
    llmperf_params params = llmperf_model_params(e->c->model);
    if (active)
        explain_name_field(e, "active", (double)params.active, LLMPERF_UNIT_WEIGHTS,
                           "active parameters", "model.active_params");
    else
        explain_name_field(e, "params", (double)params.total, LLMPERF_UNIT_WEIGHTS, "parameters",
                           "model.params");
}

static void explain_active(explainer *e)
{
    const llmperf_model *model = e->c->model;
    double idle = 0;
    take_whole(e);
    name_params(e, false);
    for (int i = 0; i < model->layer_kind_count; i++) {
        const llmperf_moe *m = &model->layers[i].moe;
        char name[64];
        if (m->experts == 0)
            continue;
        explain_set_layer(e, i, "idle experts", name, sizeof name);
        const char *text = m->expert_bias
                               ? m->gated ? "layers (E - K) (3 $width_x f_x + 2 f_x + $width_x)"
                                          : "layers (E - K) (2 $width_x f_x + f_x + $width_x)"
                           : m->gated ? "3 layers (E - K) $width_x f_x"
                                      : "2 layers (E - K) $width_x f_x";
        idle += explain_add_step(e, name, text, LLMPERF_UNIT_WEIGHTS, NAN)->value;
    }
    double value = (double)llmperf_model_params(model).active;
    if (idle == 0) {
        llmperf_note(&e->x->notes, "a token passes every weight of this model");
        explain_result(e, "params", value);
        return;
    }
    explain_name_value(e, "idle", idle, LLMPERF_UNIT_WEIGHTS, "experts that a token does not pass");
    explain_result(e, "params - idle", value);
}

static void explain_mtp(explainer *e)
{
    explain_result(e, "mtp_params", (double)e->c->model->mtp_params);
    llmperf_note(&e->x->notes, "MTP layers are not part of the count");
}

static void explain_active_no_embed(explainer *e)
{
    const llmperf_model *model = e->c->model;
    bool narrow = model->embedding_dim != model->hidden;
    int64_t table = model->vocab * model->embedding_dim;
    double active = (double)llmperf_model_params(model).active;
    take_whole(e);
    name_params(e, true);
    llmperf_note(&e->x->notes, model->tied
                                   ? "the tied table works as the LM head, so it stays in"
                                   : "the token table is left out; learned positions stay in");
    explain_result(e,
                   model->tied ? "active"
                   : narrow    ? "active - V e"
                               : "active - V h",
                   active - (model->tied ? 0 : (double)table));
}

static void explain_active_no_embed_head(explainer *e)
{
    const llmperf_model *model = e->c->model;
    bool narrow = model->embedding_dim != model->hidden;
    llmperf_params params = llmperf_model_params(model);
    int64_t table = model->vocab * model->embedding_dim;
    int64_t head = model->tied ? 0 : params.by_class[LLMPERF_WEIGHT_HEAD];
    take_whole(e);
    name_params(e, true);
    const char *text = model->tied ? narrow ? "active - V e" : "active - V h"
                       : narrow    ? "active - 2 V e"
                                   : "active - 2 V h";
    explain_result(e, text, (double)(params.active - table - head));
}

static void explain_model_weight_bytes(explainer *e)
{
    take_whole(e);
    explain_weight_terms(e, true);
    explain_close_sum(e, llmperf_model_weight_bytes(e->c->model, e->c),
                      "sum over the weights, each at the bytes of its class");
}

const char *explain_kv_text(const llmperf_layer *layer)
{
    if (layer->mla.heads > 0)
        return "layers (r_kv + d_r) c";
    if (layer->attention.heads > 0 && !layer->attention.shares_kv)
        return "layers $N_kv ($d_k + $d_v) c";
    return NULL;
}

const char *explain_kept_text(const llmperf_layer *layer)
{
    return layer->attention.chunk > 0 ? "C" : layer->attention.window > 0 ? "W" : NULL;
}

bool explain_keeps_index(const llmperf_layer *layer)
{
    return layer->index.top_k > 0 && !layer->index.shared && layer->index.dim > 0 &&
           (layer->attention.heads > 0 || layer->mla.heads > 0);
}

void explain_close_sum_or_zero(explainer *e, double value, const char *rule, const char *why_zero)
{
    if (e->x->term_count > 0) {
        explain_close_sum(e, value, rule);
        return;
    }
    explain_result(e, "0", value);
    llmperf_note(&e->x->notes, "%s", why_zero);
}

static void kv_per_token(explainer *e, bool beyond_windows)
{
    const llmperf_model *model = e->c->model;
    take_whole(e);
    for (int i = 0; i < model->layer_kind_count; i++) {
        const llmperf_layer *layer = &model->layers[i];
        char name[64];
        if (!explain_kv_text(layer) || (beyond_windows && explain_kept_text(layer)))
            continue;
        explain_set_layer(e, i, "K and V", name, sizeof name);
        explain_add_term(e, name, explain_kv_text(layer), LLMPERF_UNIT_BYTES);
    }
    double value = beyond_windows ? llmperf_kv_bytes_per_token_long(model, e->c->kv_bytes_per)
                                  : llmperf_kv_bytes_per_token(model, e->c->kv_bytes_per);
    explain_close_sum_or_zero(e, value, "sum over the layer shapes",
                              beyond_windows ? "no layer's cache goes on growing"
                                             : "no layer keeps K and V");
}

static void explain_index_per_token(explainer *e)
{
    const llmperf_model *model = e->c->model;
    take_whole(e);
    for (int i = 0; i < model->layer_kind_count; i++) {
        char name[64];
        if (!explain_keeps_index(&model->layers[i]))
            continue;
        explain_set_layer(e, i, "index keys of one byte", name, sizeof name);
        explain_add_term(e, name, "layers d_i", LLMPERF_UNIT_BYTES);
    }
    explain_close_sum_or_zero(e, llmperf_index_bytes_per_token(model), "sum over the layer shapes",
                              "no layer has an indexer");
}

/* States of four bytes and the tails of the convolution of two. */
static void state_terms(explainer *e, const char *sequences)
{
    const llmperf_model *model = e->c->model;
    for (int i = 0; i < model->layer_kind_count; i++) {
        char name[64], text[160];
        if (model->layers[i].ssm.kind == LLMPERF_SSM_NONE)
            continue;
        explain_set_layer(e, i, "states", name, sizeof name);
        bool conv = model->layers[i].ssm.conv > 0;
        explain_print(text, sizeof text, "%slayers (4 $inner r_s%s)", sequences,
                      conv ? " + 2 $ssm_conv (k_s - 1)" : "");
        explain_add_term(e, name, text, LLMPERF_UNIT_BYTES);
    }
}

static const char NO_STATE[] = "no layer has a recurrent state";

static void explain_model_state(explainer *e)
{
    take_whole(e);
    state_terms(e, "");
    explain_close_sum_or_zero(e, llmperf_state_bytes_per_sequence(e->c->model),
                              "sum over the layer shapes", NO_STATE);
}

void explain_state(explainer *e)
{
    state_terms(e, "b ");
    explain_close_sum_or_zero(e, llmperf_state_bytes(e->c, e->c->workload.batch),
                              "sum over the layer shapes", NO_STATE);
}

static void explain_kv_per_token(explainer *e)
{
    kv_per_token(e, false);
}

static void explain_kv_per_token_long(explainer *e)
{
    kv_per_token(e, true);
}

static void explain_layers(explainer *e)
{
    for (int i = 0; i < e->c->model->layer_kind_count; i++) {
        char name[64];
        explain_set_layer(e, i, "layers", name, sizeof name);
        explain_add_term(e, name, "layers", LLMPERF_UNIT_COUNT);
    }
    explain_close_sum(e, (double)llmperf_model_layers(e->c->model), "sum over the layer shapes");
}

void explain_fact(explainer *e, const char *symbol)
{
    double value = 0;
    explain_look_up(symbol, &value, e);
    explain_result(e, symbol, value);
}

static void explain_hidden(explainer *e)
{
    explain_fact(e, "h");
}

static void explain_vocab(explainer *e)
{
    explain_fact(e, "V");
}

/* A fact of the first layer shape that has the part. */
static void shape_fact(explainer *e, int kind, const char *text, double value)
{
    const llmperf_model *model = e->c->model;
    if (kind == model->layer_kind_count) {
        explain_result(e, "0", value);
        llmperf_note(&e->x->notes, "no layer has that part");
        return;
    }
    e->scope.layer = &model->layers[kind];
    explain_result(e, text, value);
    if (model->layer_kind_count > 1)
        llmperf_note(&e->x->notes, "of the first of %d layer shapes that has any",
                     model->layer_kind_count);
}

/* The first layer shape with attention of any kind; the number of shapes when there is none. */
static int first_attention(const llmperf_model *model)
{
    int kind = 0;
    while (kind < model->layer_kind_count && !model->layers[kind].attention.heads &&
           !model->layers[kind].mla.heads)
        kind++;
    return kind;
}

static void attention_fact(explainer *e, const char *text, const char *latent_text)
{
    int kind = first_attention(e->c->model);
    const llmperf_model *model = e->c->model;
    bool latent = kind < model->layer_kind_count && model->layers[kind].attention.heads == 0;
    if (kind < model->layer_kind_count)
        e->scope.layer = &model->layers[kind];
    formula f;
    double value = 0;
    text = latent ? latent_text : text;
    if (kind < model->layer_kind_count && formula_parse(text, NULL, &f))
        formula_evaluate(&f, explain_look_up, e, &value);
    shape_fact(e, kind, text, value);
}

static void explain_heads(explainer *e)
{
    attention_fact(e, "n", "n");
}

static void explain_kv_heads(explainer *e)
{
    attention_fact(e, "n_kv", "n");
}

static void explain_head_dim(explainer *e)
{
    attention_fact(e, "d", "d_n + d_r");
}

static void explain_ffn(explainer *e)
{
    const llmperf_model *model = e->c->model;
    int kind = 0;
    while (kind < model->layer_kind_count && !model->layers[kind].mlp.ffn)
        kind++;
    shape_fact(e, kind, "f",
               kind < model->layer_kind_count ? (double)model->layers[kind].mlp.ffn : 0);
}

bool explain_find_experts(explainer *e)
{
    const llmperf_model *model = e->c->model;
    for (int i = 0; i < model->layer_kind_count; i++)
        if (model->layers[i].moe.experts > 0) {
            e->scope.layer = &model->layers[i];
            return true;
        }
    explain_none(e, "no layer has experts");
    return false;
}

static void explain_experts(explainer *e)
{
    if (explain_find_experts(e))
        explain_fact(e, "E");
}

static void explain_active_experts(explainer *e)
{
    if (explain_find_experts(e))
        explain_fact(e, "K");
}

static void explain_max_context(explainer *e)
{
    if (e->c->model->max_context > 0)
        explain_fact(e, "max_context");
    else
        explain_none(e, "the model's file does not say it");
}

static const field_row ROWS[] = {
    MODEL_ROW("params", "parameters, without MTP layers", WEIGHTS, explain_params),
    MODEL_ROW("mtp_params", "parameters of MTP layers", WEIGHTS, explain_mtp),
    MODEL_ROW("active_params", "parameters that a token passes", WEIGHTS, explain_active),
    MODEL_ROW("active_params_no_embed", "active parameters without the token table", WEIGHTS,
              explain_active_no_embed),
    MODEL_ROW("active_params_no_embed_head", "active parameters without embedding and LM head",
              WEIGHTS, explain_active_no_embed_head),
    MODEL_ROW("weight_bytes", "all weights of the model", BYTES, explain_model_weight_bytes),
    MODEL_ROW("kv_bytes_per_token", "KV cache of one more token, below every window", BYTES,
              explain_kv_per_token),
    MODEL_ROW("kv_bytes_per_token_long", "KV cache of one more token, beyond all windows", BYTES,
              explain_kv_per_token_long),
    MODEL_ROW("index_bytes_per_token", "index keys of sparse attention, one more token", BYTES,
              explain_index_per_token),
    MODEL_ROW("state_bytes", "recurrent state of a sequence", BYTES, explain_model_state),
    MODEL_ROW("layers", "layers of all shapes", COUNT, explain_layers),
    MODEL_ROW("hidden", "hidden size h", COUNT, explain_hidden),
    MODEL_ROW("heads", "attention heads n", COUNT, explain_heads),
    MODEL_ROW("kv_heads", "KV heads n_kv", COUNT, explain_kv_heads),
    MODEL_ROW("head_dim", "head size d", COUNT, explain_head_dim),
    MODEL_ROW("ffn", "FFN width f", COUNT, explain_ffn),
    MODEL_ROW("experts", "experts E", COUNT, explain_experts),
    MODEL_ROW("active_experts", "experts K that a token passes", COUNT, explain_active_experts),
    MODEL_ROW("vocab", "vocabulary V", COUNT, explain_vocab),
    MODEL_ROW("max_context", "trained context", TOKENS, explain_max_context),
};

const field_group EXPLAIN_MODEL = {ROWS, sizeof ROWS / sizeof *ROWS};
