/* SPDX-License-Identifier: MIT */
/* Models and configs as programs hold them: made, copied, asked and ended by the library. */
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "entry.h"
#include "read.h"
#include "config_object.h"

static llmperf_status out_of_memory(llmperf_error *error)
{
    return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
}

/* ---- model ---------------------------------------------------------------------------------------- */

llmperf_status llmperf_model_load(const char *path, llmperf_model **ret_model, llmperf_error *error)
{
    NEEDS(path && ret_model, error);
    llmperf_model *model = malloc(sizeof *model);
    llmperf_status status = model ? model_load(path, model, error) : out_of_memory(error);
    if (status == LLMPERF_OK)
        *ret_model = model;
    else
        free(model);
    return status;
}

llmperf_status llmperf_model_load_text(const char *name, const char *text, size_t size,
                                       llmperf_model **ret_model, llmperf_error *error)
{
    NEEDS(name && text && ret_model, error);
    llmperf_model *model = malloc(sizeof *model);
    llmperf_status status =
        model ? model_load_text(name, text, size, model, error) : out_of_memory(error);
    if (status == LLMPERF_OK)
        *ret_model = model;
    else
        free(model);
    return status;
}

llmperf_status llmperf_model_copy(const llmperf_model *model, llmperf_model **ret_model,
                                  llmperf_error *error)
{
    NEEDS(model && ret_model, error);
    llmperf_model *copy = malloc(sizeof *copy);
    if (!copy)
        return out_of_memory(error);
    *copy = *model;
    *ret_model = copy;
    return LLMPERF_OK;
}

void llmperf_model_free(llmperf_model *model)
{
    free(model);
}

const char *llmperf_model_name(const llmperf_model *model)
{
    return model ? model->name : "";
}

const char *llmperf_model_architecture(const llmperf_model *model)
{
    return model ? model->architecture : "";
}

const char *llmperf_model_source(const llmperf_model *model)
{
    return model ? model->source : "";
}

const llmperf_notes *llmperf_model_notes(const llmperf_model *model)
{
    return model ? &model->notes : NULL;
}

const llmperf_notes *llmperf_model_warnings(const llmperf_model *model)
{
    return model ? &model->warnings : NULL;
}

int64_t llmperf_model_max_context(const llmperf_model *model)
{
    return model ? model->max_context : 0;
}

llmperf_dtype llmperf_model_dtype(const llmperf_model *model)
{
    return model ? (llmperf_dtype)model->dtype : LLMPERF_DTYPE_NONE;
}

/* ---- a plain decoder by its dimensions ------------------------------------------------------------ */

static void fill_decoder(const llmperf_decoder *d, llmperf_model *model)
{
    int64_t head_dim = d->head_dim ? d->head_dim : d->heads > 0 ? d->hidden / d->heads : 0;
    memset(model, 0, sizeof *model);
    snprintf(model->architecture, sizeof model->architecture, "ad hoc");
    model->hidden = model->embedding_dim = d->hidden;
    model->vocab = d->vocab;
    model->max_context = d->max_context;
    model->tied = d->tied;
    model->final_norm = true;
    model->layer_kind_count = 1;
    const llmperf_dtype dtype = d->dtype ? d->dtype : LLMPERF_DTYPE_BF16;
    llmperf_layer *layer = &model->layers[0];
    layer->count = d->layers;
    layer->norms = 2;
    layer->attention = (llmperf_attention){.heads = d->heads,
                                           .kv_heads = d->kv_heads ? d->kv_heads : d->heads,
                                           .head_dim = head_dim,
                                           .value_dim = head_dim,
                                           .rope = true};
    if (d->experts > 0)
        layer->moe = (llmperf_moe){
            .experts = d->experts, .active = d->active, .ffn = d->expert_ffn, .gated = !d->ungated};
    else
        layer->mlp = (llmperf_mlp){.ffn = d->ffn, .gated = !d->ungated};
    snprintf(model->name, sizeof model->name, "%s", d->name && d->name[0] ? d->name : "custom");
    model->dtype = (uint8_t)dtype;
    spec_uniform_weights(model, dtype);
}

/* What model_check() does not refuse: layers without a part, and heads that do not divide. */
static llmperf_status check_decoder(const llmperf_decoder *d, llmperf_error *error)
{
    const int64_t required[] = {d->layers, d->hidden, d->heads, d->vocab,
                                d->experts > 0 ? d->expert_ffn : d->ffn};
    for (size_t i = 0; i < sizeof required / sizeof *required; i++)
        if (required[i] < 1)
            return llmperf_fail(error, LLMPERF_E_USAGE,
                                "a decoder needs layers, hidden, heads, vocab and ffn (or experts, "
                                "active and expert_ffn) above zero");
    if (!d->head_dim && d->hidden % d->heads != 0)
        return llmperf_fail(error, LLMPERF_E_USAGE,
                            "%lld heads do not divide hidden size %lld; give head_dim",
                            (long long)d->heads, (long long)d->hidden);
    if (d->max_context < 0 || d->experts < 0)
        return llmperf_fail(error, LLMPERF_E_USAGE, "max_context and experts must not be negative");
    return LLMPERF_OK;
}

llmperf_status llmperf_model_new(const llmperf_decoder *decoder, llmperf_model **ret_model,
                                 llmperf_error *error)
{
    NEEDS(decoder && ret_model && IS_SIZED(decoder), error);
    NEEDS(IS_BELOW(decoder->dtype, LLMPERF_DTYPE_COUNT), error);
    llmperf_status status = check_decoder(decoder, error);
    if (status != LLMPERF_OK)
        return status;
    llmperf_model *model = malloc(sizeof *model);
    if (!model)
        return out_of_memory(error);
    fill_decoder(decoder, model);
    status = model_check(model, error);
    if (status == LLMPERF_OK) {
        *ret_model = model;
        return LLMPERF_OK;
    }
    free(model);
    if (error) /* the values are the caller's, not a file's */
        error->status = LLMPERF_E_USAGE;
    return LLMPERF_E_USAGE;
}

/* ---- config --------------------------------------------------------------------------------------- */

llmperf_status llmperf_config_new(const llmperf_model *model, const llmperf_hw *hw,
                                  const llmperf_calib *calib, const llmperf_workload *workload,
                                  llmperf_config **ret_config, llmperf_error *error)
{
    static const llmperf_workload DEFAULTS = LLMPERF_WORKLOAD_INIT;
    NEEDS(model && ret_config, error);
    NEEDS(!hw || IS_SIZED(hw), error);
    NEEDS(!workload || IS_SIZED(workload), error);
    llmperf_config *c = malloc(sizeof *c);
    llmperf_status status =
        c ? config_init(c, model, hw, calib, workload ? workload : &DEFAULTS, error)
          : out_of_memory(error);
    if (status == LLMPERF_OK)
        *ret_config = c;
    else
        free(c);
    return status;
}

llmperf_status llmperf_config_copy(const llmperf_config *c, llmperf_config **ret_config,
                                   llmperf_error *error)
{
    NEEDS(c && ret_config, error);
    llmperf_config *copy = malloc(sizeof *copy);
    if (!copy)
        return out_of_memory(error);
    *copy = *c;
    *ret_config = copy;
    return LLMPERF_OK;
}

void llmperf_config_assign(llmperf_config *c, const llmperf_config *from)
{
    if (c && from && c != from)
        *c = *from;
}

void llmperf_config_free(llmperf_config *c)
{
    free(c);
}

const llmperf_model *llmperf_config_model(const llmperf_config *c)
{
    return c ? c->model : NULL;
}

const llmperf_hw *llmperf_config_hw(const llmperf_config *c)
{
    return c ? c->hw : NULL;
}

const llmperf_calib *llmperf_config_calib(const llmperf_config *c)
{
    return c ? c->calib : NULL;
}

const llmperf_workload *llmperf_config_workload(const llmperf_config *c)
{
    return c ? &c->workload : NULL;
}

const llmperf_notes *llmperf_config_notes(const llmperf_config *c)
{
    return c ? &c->notes : NULL;
}
