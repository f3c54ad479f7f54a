/* SPDX-License-Identifier: MIT */
/* Formats of the weights of a GGUF file, by class. */
#include <string.h>

#include "gguf_read.h"
#include "read.h"
#include "model_object.h"

/* The format of a class, from its tensors. A mixture is named by its bits: llama.cpp unpacks all
 * of these to the activations' 16 bit. */
static llmperf_weight_format format_of(const gguf_sum *sum, uint8_t activations)
{
    llmperf_weight_format format = {0};
    if (sum->elements == 0)
        return format;
    format.bits = 8.0 * (double)sum->bytes / (double)sum->elements;
    switch (sum->mixed ? UINT32_MAX : sum->type) {
    case GGML_F64:
        format.dtype = LLMPERF_DTYPE_FP64;
        return format;
    case GGML_F32:
        format.dtype = LLMPERF_DTYPE_FP32;
        return format;
    case GGML_F16:
        format.dtype = LLMPERF_DTYPE_FP16;
        return format;
    case GGML_BF16:
        format.dtype = LLMPERF_DTYPE_BF16;
        return format;
    case GGML_Q8_0:
        format.dtype = LLMPERF_DTYPE_Q8_0;
        return format;
    case GGML_Q4_0:
        format.dtype = LLMPERF_DTYPE_Q4_0;
        return format;
    case GGML_MXFP4:
        format.dtype = LLMPERF_DTYPE_MXFP4;
        return format;
    case GGML_NVFP4:
        format.dtype = LLMPERF_DTYPE_NVFP4;
        return format;
    default:
        break;
    }
    if (format.bits <= 4.9)
        format.dtype = LLMPERF_DTYPE_INT4;
    else if (format.bits <= 8.6)
        format.dtype = LLMPERF_DTYPE_INT8;
    else
        format.dtype = format.bits <= 24 ? activations : LLMPERF_DTYPE_FP32;
    return format;
}

void gguf_set_formats(const gguf_reader *r, const gguf_sum *sums, llmperf_weight_format *formats)
{
    memset(formats, 0, LLMPERF_WEIGHT_COUNT * sizeof *formats);
    for (int i = 0; i < LLMPERF_WEIGHT_COUNT; i++)
        formats[i] = format_of(&sums[i], r->model->dtype);
    /* norms and biases enter no product: their arithmetic is the vectors', whatever holds them */
    if (formats[LLMPERF_WEIGHT_OTHER].dtype)
        formats[LLMPERF_WEIGHT_OTHER].dtype = r->model->dtype;
}

static void set_outside(llmperf_model *model, int weight_class, const llmperf_weight_format *format)
{
    model->weight_dtype[weight_class] = format->dtype;
    model->weight_operand[weight_class] = format->operand;
    model->weight_bits[weight_class] = format->bits;
}

static bool same_format(const llmperf_weight_format *a, const llmperf_weight_format *b)
{
    return a->dtype == b->dtype && a->operand == b->operand && a->bits == b->bits;
}

/* A class that all layers hold alike is said once, for the model. */
static void lift_formats(llmperf_model *model, int weight_class)
{
    llmperf_weight_format common = {0};
    if (weight_class == LLMPERF_WEIGHT_OTHER)
        common = (llmperf_weight_format){.dtype = model->weight_dtype[weight_class],
                                         .operand = model->weight_operand[weight_class],
                                         .bits = model->weight_bits[weight_class]};
    for (int i = 0; i < model->layer_kind_count; i++) {
        const llmperf_weight_format *own = &model->layers[i].weights[weight_class];
        if (own->dtype && common.dtype && !same_format(own, &common))
            return;
        if (own->dtype)
            common = *own;
    }
    if (!common.dtype)
        return;
    set_outside(model, weight_class, &common);
    for (int i = 0; i < model->layer_kind_count; i++)
        memset(&model->layers[i].weights[weight_class], 0, sizeof(llmperf_weight_format));
}

void gguf_read_formats(gguf_reader *r)
{
    llmperf_model *m = r->model;
    llmperf_weight_format formats[LLMPERF_WEIGHT_COUNT];
    spec_uniform_weights(m, (llmperf_dtype)m->dtype);
    gguf_set_formats(r, r->outside, formats);
    for (int i = 0; i < LLMPERF_WEIGHT_COUNT; i++)
        if (formats[i].dtype)
            set_outside(m, i, &formats[i]);
    if (m->tied && formats[LLMPERF_WEIGHT_EMBEDDING].dtype)
        set_outside(m, LLMPERF_WEIGHT_HEAD, &formats[LLMPERF_WEIGHT_EMBEDDING]);
    for (int i = LLMPERF_WEIGHT_ATTENTION; i < LLMPERF_WEIGHT_COUNT; i++)
        lift_formats(m, i);
}
