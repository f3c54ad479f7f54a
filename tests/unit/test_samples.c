/* SPDX-License-Identifier: MIT */
/* Samples from CSV: every known header, our own columns, and how bad rows are refused. */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <unistd.h>

#include "llmperf/samples.h"
#include "random_case.h"
#include "config_object.h"
#include "fits.h"
#include "config.h"

static llmperf_error error;

typedef struct told {
    int refused, skipped;
    char last[LLMPERF_TEXT_MAX];
} told;

static void tell(bool refused, const char *text, void *context)
{
    told *t = context;
    if (refused)
        t->refused++;
    else
        t->skipped++;
    snprintf(t->last, sizeof t->last, "%s", text);
}

static llmperf_samples read_text(const char *csv, const char *const *map, told *t)
{
    static told ignored;
    const llmperf_samples_options options = {
        .map = map, .visit = tell, .context = t ? t : &ignored};
    llmperf_samples samples = {0};
    error = (llmperf_error){0};
    llmperf_samples_read_text(&samples, "x.csv", csv, strlen(csv), &options, &error);
    return samples;
}

static llmperf_samples good(const char *csv)
{
    told t = {0};
    llmperf_samples samples = read_text(csv, NULL, &t);
    cr_assert(error.status == LLMPERF_OK, "%s", error.text);
    cr_assert(t.refused + t.skipped == 0, "%s", t.last);
    return samples;
}

/* A row that is refused with this reason, all else being fine. */
static void expect_bad_row(const char *csv, const char *want)
{
    told t = {0};
    llmperf_samples samples = read_text(csv, NULL, &t);
    cr_expect(error.status == LLMPERF_OK, "%s", error.text);
    cr_expect(samples.count == 0 && t.refused == 1 && samples.refused == 1, "not refused: %s", csv);
    cr_expect(strstr(t.last, want) != NULL, "wanted '%s'\n   got '%s'", want, t.last);
    llmperf_samples_free(&samples);
}

static void expect_refused_file(const char *csv, llmperf_status status, const char *want)
{
    llmperf_samples samples = read_text(csv, NULL, NULL);
    cr_expect(error.status == status, "status %d", (int)error.status);
    cr_expect(strstr(error.text, want) != NULL, "wanted '%s'\n   got '%s'", want, error.text);
    llmperf_samples_free(&samples);
}

/* ---- our columns ---- */

/*
 * A chunk of 32 after 64, beside 3 sequences of 100 keys on average, the longest 200; 8 heads on 2 KV
 * heads of 16 and 16 channels.
 *   flop: 2 x 8 x 32 x (32 x 64 + 32 x 33 / 2) = 512 x 2576; 512 x 3 x 100
 *   bytes: q and result 35 x 8 x 16 x 2 each, K and V (96 + 300) x 2 x 32 x 2, new ones 35 x 128
 */
Test(samples, a_prompt_beside_decoding_sequences_by_hand)
{
    llmperf_samples s =
        good("dtype,op,batch,seq_q,seq_kv,n_decode,seq_kv_decode,seq_kv_longest,heads,kv_heads,"
             "head_dim,time_s\n"
             "bf16,attn_mixed,1,32,96,3,100,200,8,2,16,1e-5\n"
             "bf16,attn_mixed,1,32,96,3,100,,8,2,16,1e-5\n"
             "bf16,attn_mixed,1,32,96,,,,8,2,16,1e-5\n");
    const llmperf_op *op = &s.sample[0].op;
    cr_assert(s.count == 3);
    cr_expect(op->regime == LLMPERF_REGIME_MIXED && op->kind == LLMPERF_KIND_ATTENTION);
    cr_expect(op->flop == 512 * (2576 + 300) && op->lone_flop == 512 * 300);
    cr_expect(op->sequences == 1 && op->query_tokens == 32 && op->past_tokens == 64);
    cr_expect(op->lone_sequences == 3 && op->lone_past == 99 && op->longest_keys == 200);
    cr_expect(op->input_bytes == 35 * 256 && op->output_bytes == 35 * 256);
    cr_expect(op->kv_read_bytes == 396 * 128 && op->lone_kv_read_bytes == 300 * 128);
    cr_expect(op->kv_write_bytes == 35 * 128 && op->bytes == 2 * 35 * 256 + (396 + 35) * 128);
    cr_expect(s.sample[1].op.longest_keys == 100); /* all alike, and the prompt's 96 are fewer */
    cr_expect(s.sample[2].op.regime == LLMPERF_REGIME_EXTEND); /* none beside it */
    cr_expect(s.sample[2].op.lone_sequences == 0 && s.sample[2].op.longest_keys == 0);
    llmperf_samples_free(&s);
}

Test(samples, mixed_launches_that_are_none)
{
    const char *head = "dtype,op,batch,seq_q,seq_kv,n_decode,seq_kv_decode,seq_kv_longest,heads,"
                       "head_dim,time_s\n";
    static const char *const rows[][2] = {
        {"bf16,attn_mixed,1,32,96,3,,,8,16,1e-5\n", "seq_kv_decode is missing"},
        {"bf16,attn_mixed,1,32,96,3,100,99,8,16,1e-5\n", "the longest context is below the mean"},
        {"bf16,attn_mixed,1,32,96,1.5,100,,8,16,1e-5\n", "n_decode is 1.5; a whole number"},
        {"bf16,attn_mixed,1,32,96,3,0.5,,8,16,1e-5\n", "seq_kv_decode is 0.5"},
        {"bf16,attn_mixed,1,32,31,3,100,,8,16,1e-5\n", "seq_kv is below seq_q"},
    };
    char csv[512];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(csv, sizeof csv, "%s%s", head, rows[i][0]);
        expect_bad_row(csv, rows[i][1]);
    }
    told t = {0};
    snprintf(csv, sizeof csv, "%sbf16,attn_mixed,1,1,96,3,100,,8,16,1e-5\n", head);
    llmperf_samples s = read_text(csv, NULL, &t);
    cr_expect(s.count == 0 && t.skipped == 1 && strstr(t.last, "is a decode step") != NULL);
    llmperf_samples_free(&s);
}

Test(samples, a_gemm_counts_as_the_model_counts)
{
    llmperf_samples s = good("gpu,library,dtype,op,m,n,k,time_s,ci_s,reps,regime,flags\n"
                             "h100-sxm,cublas,bf16,gemm,16,4096,1024,1e-5,1e-7,30,cold,\n");
    cr_assert(s.count == 1 && s.rows == 1);
    const llmperf_sample *one = s.sample;
    /* 2 * 16 * 4096 * 1024; weights 4096 * 1024 * 2; in 16 * 1024 * 2; out 16 * 4096 * 2 */
    cr_expect(one->op.flop == 134217728);
    cr_expect(one->op.weight_bytes == 8388608 && one->op.input_bytes == 32768 &&
              one->op.output_bytes == 131072 && one->op.bytes == 8552448);
    cr_expect(one->op.kind == LLMPERF_KIND_GEMM && one->op.dtype == LLMPERF_DTYPE_BF16);
    cr_expect(one->time_s == 1e-5 && one->ci_s == 1e-7 && one->reps == 30);
    cr_expect(one->place == LLMPERF_PLACE_COLD && one->line == 2);
    cr_expect_str_eq(s.name[one->hw], "h100-sxm");
    cr_expect_str_eq(s.name[one->library], "cublas");
    llmperf_samples_free(&s);
}

Test(samples, weight_only_formats_compute_in_16_bit)
{
    llmperf_samples s =
        good("dtype,op,m,n,k,time_us\nint4_wo,gemm,2,64,32,5\nfp8_block,gemm,2,64,32,5\n");
    cr_assert(s.count == 2);
    cr_expect(s.sample[0].op.dtype == LLMPERF_DTYPE_BF16);
    cr_expect(s.sample[0].stored == LLMPERF_DTYPE_INT4);
    cr_expect(s.sample[0].op.weight_bytes == 1024); /* 64 * 32 / 2 */
    cr_expect(s.sample[1].op.dtype == LLMPERF_DTYPE_FP8 && s.sample[1].block == 1);
    cr_expect(s.sample[1].op.output_bytes == 256); /* results leave in 16 bit */
    cr_expect(s.sample[1].time_s == 5e-6);
    llmperf_samples_free(&s);
}

/* The same launch by way of a model's step, without and with a window. */
Test(samples, a_mixed_launch_equals_what_a_model_emits)
{
    static llmperf_model model;
    static llmperf_hw hw;
    static llmperf_calib calib;
    static llmperf_op ops[LLMPERF_OPS_MAX];
    model = llama_like("small", 1, 256, 8, 2, 32, 512, 1000);
    hw = toy_hw();
    calib_init(&calib);
    llmperf_calib_entry entry = calib_ideal(LLMPERF_KIND_ATTENTION);
    cr_assert(calib_set(&calib, LLMPERF_KIND_ATTENTION, LLMPERF_REGIME_MIXED, LLMPERF_DTYPE_BF16,
                        &entry, &error) == LLMPERF_OK);
    for (int window = 0; window <= 128; window += 128) {
        llmperf_config c;
        model.layers[0].attention.window = window;
        cr_assert(config_init(&c, &model, &hw, &calib, &(llmperf_workload){0}, &error) ==
                  LLMPERF_OK);
        const llmperf_segment both[] = {{.sequences = 1, .query = 64, .past = 100},
                                        {.sequences = 5, .query = 1, .past = 300, .decode = true}};
        int count = llmperf_emit(&c, both, 2, LLMPERF_OPS_MAX, ops);
        const llmperf_op *emitted = find_op(ops, count, LLMPERF_OP_ATTN_CORE);
        const llmperf_mixed_shape shape = {.prompt = {.dtype = LLMPERF_DTYPE_BF16,
                                                      .sequences = 1,
                                                      .query_tokens = 64,
                                                      .past_tokens = 100,
                                                      .window = window,
                                                      .heads = 8,
                                                      .kv_heads = 2,
                                                      .head_dim = 32},
                                           .lone_sequences = 5,
                                           .lone_past = 300};
        const llmperf_op sample = llmperf_sample_mixed(&shape);
        cr_assert(emitted && emitted->regime == LLMPERF_REGIME_MIXED);
        cr_expect(memcmp(emitted, &sample, sizeof sample) == 0, "window %d", window);
    }
}

/* The same operator by way of a model: flop, bytes and regime agree to the last digit. */
Test(samples, attention_equals_what_a_model_emits)
{
    static const int64_t shapes[][4] = {
        /* sequences, query, past, window */
        {1, 1, 0, 0},      {3, 1, 700, 0},    {2, 64, 0, 0},
        {1, 16, 100, 0},   {4, 1, 900, 128},  {2, 300, 0, 128},
        {1, 32, 500, 128}, {1, 64, 100, 128}, {2, 100, 100, 150},
    };
    static llmperf_model model;
    static llmperf_hw hw;
    static llmperf_op ops[LLMPERF_OPS_MAX];
    llmperf_workload w = {.batch = 1};
    llmperf_config c;
    model = (llmperf_model){.name = "m",
                            .hidden = 512,
                            .vocab = 1000,
                            .embedding_dim = 512,
                            .final_norm = true,
                            .layer_kind_count = 1,
                            .dtype = LLMPERF_DTYPE_BF16};
    for (int i = 0; i < LLMPERF_WEIGHT_COUNT; i++) {
        model.weight_dtype[i] = LLMPERF_DTYPE_BF16;
        model.weight_bits[i] = 16;
    }
    hw = (llmperf_hw){.name = "h", .kind = "gpu", .mem_bytes_per_s = 1e12, .memory_bytes = 8e10};
    hw.peak_flop_per_s[LLMPERF_DTYPE_BF16] = 1e14;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const int64_t *x = shapes[i];
        model.layers[0] = (llmperf_layer){.count = 1,
                                          .norms = 2,
                                          .attention = {.heads = 8,
                                                        .kv_heads = 2,
                                                        .head_dim = 64,
                                                        .value_dim = 64,
                                                        .window = x[3]},
                                          .mlp = {.ffn = 1024, .gated = true}};
        error = (llmperf_error){0};
        cr_assert(config_init(&c, &model, &hw, NULL, &w, &error) == LLMPERF_OK, "%s", error.text);
        llmperf_segment segment = {x[0], x[1], x[2], x[0]};
        int count = llmperf_emit(&c, &segment, 1, LLMPERF_OPS_MAX, ops), at = 0;
        while (at < count && ops[at].id != LLMPERF_OP_ATTN_CORE)
            at++;
        cr_assert(at < count);
        const llmperf_attention_shape shape = {.dtype = LLMPERF_DTYPE_BF16,
                                               .sequences = (double)x[0],
                                               .query_tokens = (double)x[1],
                                               .past_tokens = (double)x[2],
                                               .window = (double)x[3],
                                               .heads = 8,
                                               .kv_heads = 2,
                                               .head_dim = 64};
        llmperf_op mine = llmperf_sample_attention(&shape);
        mine.repeat = ops[at].repeat;
        mine.id = ops[at].id;
        cr_expect(mine.flop == ops[at].flop && mine.bytes == ops[at].bytes &&
                      mine.kv_read_bytes == ops[at].kv_read_bytes &&
                      mine.kv_write_bytes == ops[at].kv_write_bytes &&
                      mine.input_bytes == ops[at].input_bytes && mine.regime == ops[at].regime &&
                      mine.past_tokens == ops[at].past_tokens,
                  "shape %zu: flop %g %g, bytes %g %g, regime %d %d", i, mine.flop, ops[at].flop,
                  mine.bytes, ops[at].bytes, mine.regime, ops[at].regime);
    }
}

Test(samples, quotes_blanks_comments_and_crlf)
{
    llmperf_samples s = good("\xef\xbb\xbf# a comment, with a comma\r\n"
                             "op , \"dtype\",m,n,k,time_us,\"a note, ignored\"\r\n"
                             "# another\r\n"
                             "\r\n"
                             "gemm, bf16 ,1,32,32,2.5,\"said \"\"so\"\", twice\"\r\n");
    cr_assert(s.count == 1);
    cr_expect(s.sample[0].time_s == 2.5e-6 && s.sample[0].line == 5);
    llmperf_samples_free(&s);
}

Test(samples, a_column_of_times_for_each_library)
{
    llmperf_samples s = good("gpu,dtype,op,m,n,k,time_us,t_vllm,t_trtllm,t_mine\n"
                             "X,bf16,gemm,1,32,32,9,2,,4\n");
    cr_assert(s.count == 2);
    cr_expect_str_eq(s.name[s.sample[0].library], "vllm");
    cr_expect_str_eq(s.name[s.sample[1].library], "mine");
    cr_expect(s.sample[0].time_s == 2e-6 && s.sample[1].time_s == 4e-6);
    cr_expect(s.sample[0].copies == 6); /* vLLM's benchmark rotates six sets of weights */
    llmperf_samples_free(&s);
}

Test(samples, columns_are_renamed)
{
    static const char *const map[] = {"kernel_us=time_us", "rows=m", "what=op", NULL};
    llmperf_samples s =
        read_text("what,dtype,rows,n,k,kernel_us\ngemm,bf16,7,32,32,3\n", map, NULL);
    cr_assert(error.status == LLMPERF_OK, "%s", error.text);
    cr_assert(s.count == 1);
    cr_expect(s.sample[0].op.m == 7 && s.sample[0].time_s == 3e-6);
    llmperf_samples_free(&s);
}

Test(samples, written_samples_read_back)
{
    llmperf_samples s = good(
        "gpu,library,version,dtype,kv_dtype,op,m,n,k,batch,seq_q,seq_kv,window,heads,kv_heads,"
        "head_dim,devices,bytes,copies,time_s,ci_s,reps,regime,clock_hz,power_w,flags,"
        "stream_bytes_per_s\n"
        "h,l,1.2,bf16,,gemm,3,96,48,,,,,,,,,,6,1.25e-6,1e-9,100,cold,1.5e9,300,contended timeout "
        "slow_memory,5.5e10\n"
        "h,l,1.2,int8_wo,,gemm,3,96,48,,,,,,,,,,,1.25e-6,,,,,,,\n"
        "h,\"a, b\",,fp8_block,,gemm,3,96,48,,,,,,,,,,,1.25e-6,,,,,,,\n"
        "h,l,,bf16,fp8,attn_decode,,,,4,1,301,128,8,2,64,,,,7e-6,,,warm,,,,\n"
        "h,l,,fp16,,attn_prefill,,,,4,200,200,,8,2,64,,,,7e-6,,,,,,,\n"
        "h,nccl,,,,all_reduce,,,,,,,,,,,4,1048576,,3e-5,,,,,,,\n"
        "h,l,,bf16,,elementwise,16,4096,,,,,,,,,,,,3e-6,,,,,,,\n"
        "h,l,,bf16,,attn_mixed,,,,2,16,316,,8,2,64,,,,7e-6,,,,,,,\n"
        "h,,,,,copy,,,,,,,,,,,,536870912,,3e-4,,,cold,,,,\n"
        "h,,,,,launch,,,,,,,,,,,,,,5e-6,,,,,,,\n");
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    cr_assert(llmperf_samples_write(out, &s, &error) == LLMPERF_OK);
    fclose(out);
    llmperf_samples again = good(text);
    cr_assert(again.count == s.count);
    for (int64_t i = 0; i < s.count; i++) {
        llmperf_sample a = s.sample[i], b = again.sample[i];
        cr_expect_str_eq(s.name[a.library], again.name[b.library]);
        cr_expect_str_eq(s.name[a.version], again.name[b.version]);
        cr_expect(a.op.flop == b.op.flop && a.bytes == b.bytes && a.op.regime == b.op.regime);
        cr_expect(a.op.bytes == b.op.bytes && a.op.link_bytes == b.op.link_bytes &&
                  a.op.m == b.op.m && a.op.k == b.op.k && a.op.kv_read_bytes == b.op.kv_read_bytes);
        cr_expect(a.kind == b.kind && a.stored == b.stored && a.block == b.block &&
                  a.place == b.place && a.flags == b.flags && a.window == b.window &&
                  a.copies == b.copies);
        cr_expect(a.time_s == b.time_s && a.ci_s == b.ci_s && a.reps == b.reps &&
                  a.clock_hz == b.clock_hz && a.power_w == b.power_w &&
                  a.stream_bytes_per_s == b.stream_bytes_per_s);
    }
    cr_expect(again.sample[0].stream_bytes_per_s == 5.5e10 &&
              again.sample[0].flags & LLMPERF_SAMPLE_SLOW_MEMORY);
    free(text);
    llmperf_samples_free(&again);
    llmperf_samples_free(&s);
}

/* ---- what others publish ---- */

static llmperf_samples extract(const char *name, told *t)
{
    char path[1024];
    const char *source = getenv("LLMPERF_SOURCE");
    llmperf_samples samples = {0};
    const llmperf_samples_options options = {.visit = tell, .context = t};
    snprintf(path, sizeof path, "%s/tests/data/ops/%s.csv", source ? source : ".", name);
    error = (llmperf_error){0};
    cr_assert(llmperf_samples_read(&samples, path, &options, &error) == LLMPERF_OK, "%s",
              error.text);
    return samples;
}

static int count_kind(const llmperf_samples *s, llmperf_sample_kind kind)
{
    int count = 0;
    for (int64_t i = 0; i < s->count; i++)
        count += s->sample[i].kind == kind;
    return count;
}

Test(samples, written_mixed_launches_read_back)
{
    llmperf_samples s =
        good("dtype,kv_dtype,op,batch,seq_q,seq_kv,n_decode,seq_kv_decode,seq_kv_longest,window,"
             "heads,kv_heads,head_dim,time_s\n"
             "bf16,,attn_mixed,1,32,96,3,100.25,200,,8,2,16,1e-5\n"
             "bf16,fp8,attn_mixed,1,32,32,3,100,,64,8,2,16,1e-5\n");
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    cr_assert(llmperf_samples_write(out, &s, &error) == LLMPERF_OK);
    fclose(out);
    llmperf_samples again = good(text);
    cr_assert(again.count == 2);
    for (int i = 0; i < 2; i++)
        cr_expect(memcmp(&s.sample[i].op, &again.sample[i].op, sizeof s.sample[i].op) == 0 &&
                  s.sample[i].kind == again.sample[i].kind);
    free(text);
    llmperf_samples_free(&again);
    llmperf_samples_free(&s);
}

Test(samples, aiconfigurator_products)
{
    told t = {0};
    llmperf_samples s = extract("aic_gemm_h100_sxm_bfloat16", &t);
    cr_expect(t.refused == 0, "%s", t.last);
    cr_expect(count_kind(&s, LLMPERF_SAMPLE_GEMM) == s.count && s.count > 2 * s.rows);
    /* the first row: m 1, n 32, k 256 in 2.754 us by vLLM */
    cr_expect(s.sample[0].op.n == 32 && s.sample[0].op.k == 256);
    cr_expect(s.sample[0].time_s == 2.754e-6);
    cr_expect_str_eq(s.name[s.sample[0].hw], "H100-SXM5-80GB");
    llmperf_samples_free(&s);
    s = extract("aic_gemm_h100_sxm_fp8_block", &t);
    cr_expect(t.refused == 0 && s.sample[0].block == 1);
    llmperf_samples_free(&s);
    s = extract("aic_gemm_a100_sxm_int4_wo", &t);
    cr_expect(t.refused == 0 && s.sample[0].stored == LLMPERF_DTYPE_INT4 && s.count == s.rows);
    llmperf_samples_free(&s);
}

Test(samples, aiconfigurator_attention)
{
    told t = {0};
    llmperf_samples s = extract("aic_attn_decode_h100_sxm", &t);
    cr_expect(t.refused == 0 && count_kind(&s, LLMPERF_SAMPLE_ATTN_DECODE) == s.count);
    cr_expect(s.sample[0].op.regime == LLMPERF_REGIME_DECODE);
    llmperf_samples_free(&s);
    s = extract("aic_attn_prefill_h100_sxm", &t);
    cr_expect(t.refused == 0 && s.count > 0);
    /* a prompt of one token is a decode step over an empty cache */
    for (int64_t i = 0; i < s.count; i++)
        cr_expect((s.sample[i].op.query_tokens == 1) ==
                  (s.sample[i].op.regime == LLMPERF_REGIME_DECODE));
    llmperf_samples_free(&s);
}

Test(samples, collectives)
{
    told t = {0};
    llmperf_samples s = extract("aic_comm", &t);
    cr_expect(t.refused == 0, "%s", t.last);
    cr_expect(count_kind(&s, LLMPERF_SAMPLE_ALL_REDUCE) > 0);
    cr_expect(count_kind(&s, LLMPERF_SAMPLE_REDUCE_SCATTER) > 0);
    cr_expect(count_kind(&s, LLMPERF_SAMPLE_ALL_TO_ALL) > 0);
    cr_expect(s.count == s.rows);
    for (int64_t i = 0; i < s.count; i++) {
        const llmperf_op *op = &s.sample[i].op;
        double rounds = s.sample[i].kind == LLMPERF_SAMPLE_ALL_REDUCE ? 2 : 1;
        double n = (double)op->devices;
        cr_expect(op->link_bytes == rounds * (n - 1) / n * s.sample[i].bytes);
        cr_expect_str_eq(llmperf_collective_name((llmperf_collective)op->collective),
                         llmperf_sample_kind_name((llmperf_sample_kind)s.sample[i].kind));
    }
    llmperf_samples_free(&s);
    s = extract("vidur_network", &t);
    cr_expect(t.refused == 0 && s.count > 0 && s.skipped > 0);
    cr_expect(count_kind(&s, LLMPERF_SAMPLE_SEND_RECV) > 0);
    for (int64_t i = 0; i < s.count; i++) /* sent whole, from one to the other */
        cr_expect(s.sample[i].kind != LLMPERF_SAMPLE_SEND_RECV ||
                  s.sample[i].op.link_bytes == s.sample[i].bytes);
    llmperf_samples_free(&s);
}

Test(samples, layers_by_name)
{
    told t = {0};
    llmperf_samples s = extract("vidur_compute", &t);
    cr_expect(t.refused == 0, "%s", t.last);
    cr_expect(s.count == s.rows);
    llmperf_samples_free(&s);
    s = extract("llmservingsim_layers", &t);
    cr_expect(t.refused == 0, "%s", t.last);
    cr_expect(count_kind(&s, LLMPERF_SAMPLE_GEMM) > 0);
    cr_expect(s.count + s.skipped == s.rows && s.skipped < s.rows / 2);
    llmperf_samples_free(&s);
    s = extract("llmservingsim_attn_mixed", &t);
    cr_expect(t.refused == 0 && s.count == s.rows, "%s", t.last);
    cr_expect(count_kind(&s, LLMPERF_SAMPLE_ATTN_MIXED) > 0);
    llmperf_samples_free(&s);
    s = extract("llmservingsim_v0_attn_chunked", &t);
    cr_expect(t.refused == 0 && s.count == s.rows, "%s", t.last);
    llmperf_samples_free(&s);
}

/*
 * Three times a row: all sequences at the mean, all at the longest, and as they are. Without a prompt the
 * third is no operator of a model. 4 sequences, one of them of 1024 cached tokens, the others of 256:
 * (1024 + 3 x 256) / 4 = 448.
 */
Test(samples, batches_of_unequal_length)
{
    told t = {0};
    llmperf_samples s = read_text(
        "gpu,dtype,model,tp,regime,n,nb,ratio,skew,pc,kp,kvs,kv_big,kv_mean,t_mean_us,t_max_us,"
        "t_skew_us,alpha\n"
        "RTX4090,bf16,Llama-3.1-8B,1,mixed,4,1,0.25,4.0,32,4096,256,1024,448,465,527,452,-0.2\n"
        "RTX4090,bf16,Llama-3.1-8B,1,pure,4,1,0.25,4.0,0,0,256,1024,448,65,77,69,-0.2\n",
        NULL, &t);
    cr_assert(s.count == 5 && t.refused == 0 && t.skipped == 1, "%s", t.last);
    cr_expect(strstr(t.last, "x.csv:3: unequal lengths in a decode step") != NULL, "%s", t.last);
    static const double past[] = {448, 1024, 448}, longest[] = {4128, 4128, 4128},
                        us[] = {465, 527, 452};
    for (int i = 0; i < 3; i++) {
        const llmperf_op *op = &s.sample[i].op;
        cr_expect(op->regime == LLMPERF_REGIME_MIXED && op->query_tokens == 32 &&
                  op->past_tokens == 4096 && op->lone_sequences == 4);
        cr_expect(op->lone_past == past[i] && op->longest_keys == longest[i]);
        cr_expect(s.sample[i].longest_past == (i == 0 ? 448 : 1024));
        cr_expect(is_near(s.sample[i].time_s, us[i] * 1e-6, 1e-15));
        cr_expect_str_eq(s.name[s.sample[i].library], "vllm");
    }
    cr_expect(s.sample[3].op.regime == LLMPERF_REGIME_DECODE && s.sample[3].op.past_tokens == 448);
    cr_expect(s.sample[4].op.past_tokens == 1024 && is_near(s.sample[4].time_s, 77e-6, 1e-15));
    llmperf_samples_free(&s);
    s = extract("llmservingsim_attn_skew_4090", &t);
    cr_expect(t.refused == 0 && count_kind(&s, LLMPERF_SAMPLE_ATTN_MIXED) > 0);
    cr_expect(s.count == 3 * s.rows - s.skipped, "%s", t.last);
    llmperf_samples_free(&s);
}

Test(samples, what_is_no_operator_is_said)
{
    static const char *const names[] = {"infersim_grouped_gemm", "splitwise_iter"};
    static const char *const why[] = {"grouped product", "whole iteration"};
    for (int i = 0; i < 2; i++) {
        told t = {0};
        llmperf_samples s = extract(names[i], &t);
        cr_expect(s.count == 0 && s.skipped == s.rows && t.refused == 0);
        cr_expect(strstr(t.last, why[i]) != NULL, "%s", t.last);
        llmperf_samples_free(&s);
    }
}

/* ---- layers of experts ---- */

#define MOE "dtype,op,tokens,k,n,experts,top_k,ep,skew,gated,time_us\n"

Test(samples, a_layer_of_experts_by_hand)
{
    told t = {0};
    /* 64 tokens to 2 of 8 experts each: 128 rows, 16 for each of the 8; h 4096, f 1024 */
    llmperf_samples s = read_text(MOE "bf16,moe,64,4096,1024,8,2,1,,,100\n"
                                      "bf16,moe,64,4096,1024,8,2,4,,no,100\n",
                                  NULL, &t);
    cr_assert(s.count == 2 && t.refused == 0, "%s", t.last);
    const llmperf_op *op = &s.sample[0].op;
    cr_expect(llmperf_op_is_experts(op) && op->kind == LLMPERF_KIND_GEMM && op->launches == 2);
    cr_expect(op->m == 16 && op->n == 3 * 1024 && op->k == 4096);
    cr_expect(op->flop == 2.0 * 128 * 3 * 1024 * 4096);
    cr_expect(op->weight_bytes == 8.0 * 3 * 1024 * 4096 * 2);
    cr_expect(op->input_bytes == 128.0 * (4096 + 1024) * 2);
    cr_expect(op->output_bytes == 128.0 * (2 * 1024 + 4096) * 2);
    /* over 4 devices 32 rows for 2 experts, without a gate; inputs stay those of all tokens */
    op = &s.sample[1].op;
    cr_expect(op->m == 16 && op->n == 2 * 1024);
    cr_expect(op->weight_bytes == 2.0 * 2 * 1024 * 4096 * 2);
    cr_expect(op->input_bytes == 128.0 * (4096 + 1024) * 2);
    cr_expect(op->output_bytes == 32.0 * (1024 + 4096) * 2);
    llmperf_samples_free(&s);
}

/* What a model emits for the same layer adds up to the sample. */
Test(samples, a_layer_of_experts_is_what_a_model_emits)
{
    const llmperf_moe_shape shape = {.dtype = LLMPERF_DTYPE_BF16,
                                     .tokens = 4096,
                                     .hidden = 2048,
                                     .width = 768,
                                     .experts = 128,
                                     .top_k = 8,
                                     .ep = 1};
    llmperf_op layer = llmperf_sample_moe(&shape, llmperf_moe_load_of(&shape));
    double rows = 4096.0 * 8, h = 2048, f = 768;
    /* gate_up: 2 f x h, in h, out 2 f; down: h x f, in f, out h (docs/model.md, MoE) */
    cr_expect(layer.flop == 2 * rows * (2 * f * h + h * f));
    cr_expect(layer.weight_bytes == 128 * (2 * f * h + h * f) * 2);
    cr_expect(layer.input_bytes == rows * (h + f) * 2);
    cr_expect(layer.output_bytes == rows * (2 * f + h) * 2);
}

Test(samples, skewed_loads_fill_the_busiest_device)
{
    llmperf_moe_shape s = {.tokens = 256, .experts = 128, .top_k = 8, .ep = 1, .skew = 1.2};
    llmperf_moe_load one = llmperf_moe_load_of(&s);
    cr_expect(fabs(one.rows - 2048) < 1 && one.active > 64 && one.active <= 128, "%g", one.active);
    s.ep = 8;
    llmperf_moe_load eighth = llmperf_moe_load_of(&s);
    cr_expect(eighth.rows > 2048 / 8 && eighth.rows < 2048 && eighth.active <= 16);
    s.tokens = 1; /* eight rows for 128 experts */
    s.ep = 1;
    cr_expect(llmperf_moe_load_of(&s).active <= 8);
    llmperf_moe_load again = llmperf_moe_load_of(&s);
    cr_expect(again.rows == llmperf_moe_load_of(&s).rows);
}

/* No device has more rows than the busiest: on average they have the whole over the group. */
Test(samples, the_busiest_device_has_no_less_than_the_mean)
{
    int cases = 0;
    for (double tokens = 16; tokens <= 4096; tokens *= 4)
        for (double ep = 2; ep <= 32; ep *= 2)
            for (double skew = 0.4; skew < 2; skew += 0.4) {
                const llmperf_moe_shape s = {
                    .tokens = tokens, .experts = 64, .top_k = 4, .ep = ep, .skew = skew};
                llmperf_moe_load load = llmperf_moe_load_of(&s);
                double mean = tokens * 4 / ep;
                cr_expect(load.rows >= mean * (1 - 1e-12) && load.rows <= tokens * 4,
                          "%g tokens on %g devices, skew %g: %g rows, %g on average", tokens, ep,
                          skew, load.rows, mean);
                cr_expect(load.active >= 1 && load.active <= 64 / ep);
                cases++;
            }
    cr_expect(cases == 100);
}

/* A product is asked for by the format that it computes in or the one that its weights are stored in. */
Test(samples, a_filter_knows_both_formats)
{
    static const struct {
        const char *word;
        bool product, plain;
    } ROWS[] = {{"bf16", true, true}, {"INT4", true, false}, {"fp8", false, false}};
    llmperf_samples s = good("dtype,op,m,n,k,time_us\nint4_wo,gemm,8,256,256,9\n"
                             "bf16,gemm,8,256,256,9\n");
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        const char *const words[] = {ROWS[i].word, NULL};
        const llmperf_sample_filter filter = {.dtypes = words};
        cr_expect(llmperf_sample_matches(&s, &s.sample[0], &filter) == ROWS[i].product, "%s",
                  ROWS[i].word);
        cr_expect(llmperf_sample_matches(&s, &s.sample[1], &filter) == ROWS[i].plain, "%s",
                  ROWS[i].word);
    }
    llmperf_samples_free(&s);
}

Test(samples, collected_layers_of_experts)
{
    told t = {0};
    llmperf_samples s = extract("aic_moe", &t);
    cr_expect(t.refused == 0 && s.count == s.rows && s.count > 0, "%s", t.last);
    cr_expect(count_kind(&s, LLMPERF_SAMPLE_MOE) == s.count);
    llmperf_samples_free(&s);
    expect_bad_row(MOE "bf16,moe,64,4096,1024,8,9,1,,,100\n", "9 of 8 experts");
    expect_bad_row(MOE "bf16,moe,64,4096,1024,8,2,3,,,100\n", "3 devices for 8 experts");
    expect_bad_row(MOE "bf16,moe,64,4096,1024,8,2,1,,maybe,100\n", "gated is 'maybe'");
    expect_bad_row(MOE "bf16,moe,64,4096,1024,99999,2,1,,,100\n", "4096");
    expect_bad_row("dtype,distribution,tokens,hidden,inter,topk,experts,time_us\n"
                   "bf16,zipf,1,64,64,1,8,5\n",
                   "distribution 'zipf'");
}

/* ---- refusals ---- */

#define GEMM "dtype,op,m,n,k,time_us\n"

Test(samples, bad_rows_are_named)
{
    expect_bad_row(GEMM "bf16,gemm,1,32,32,0\n", "x.csv:2: time_us is 0; a time above zero");
    expect_bad_row(GEMM "bf16,gemm,1,32,32,-3\n", "time above zero");
    expect_bad_row(GEMM "bf16,gemm,1,32,32,nan\n", "time above zero");
    expect_bad_row(GEMM "bf16,gemm,1,32,32,inf\n", "time above zero");
    expect_bad_row(GEMM "bf16,gemm,1,32,32,\n", "time above zero");
    expect_bad_row(GEMM "bf16,gemm,1,32,32,1e300\n", "time above zero");
    expect_bad_row(GEMM "bf16,gemm,0,32,32,1\n", "m is 0");
    expect_bad_row(GEMM "bf16,gemm,-1,32,32,1\n", "m is -1");
    expect_bad_row(GEMM "bf16,gemm,1,,32,1\n", "n is missing; gemm needs it");
    expect_bad_row(GEMM "bf16,gemm,1,32.5,32,1\n", "n is 32.5; a whole number");
    expect_bad_row(GEMM "bf16,gemm,1,1e99,32,1\n", "n is 1e99; 1 to 1e+15 is allowed");
    expect_bad_row(GEMM "bf16,gemm,1,0x20,32,1\n", "n is '0x20'; a number");
    expect_bad_row(GEMM "bf17,gemm,1,32,32,1\n", "dtype 'bf17' is not known");
    expect_bad_row(GEMM ",gemm,1,32,32,1\n", "dtype is missing");
    expect_bad_row(GEMM "bf16,gem,1,32,32,1\n", "op 'gem' is not known");
    expect_bad_row(GEMM "bf16,gemm,1,32,32\n", "5 cells; 6 are allowed, as the header has");
    expect_bad_row(GEMM "bf16,gemm,1,32,32,1,2\n", "7 cells");
    expect_bad_row(GEMM "bf16,\"gemm,1,32,32,1\n", "open quote");
    expect_bad_row(GEMM "bf16,\x1b[2Jgemm,1,32,32,1\n", "\\x1b[2J");
    expect_bad_row("op,devices,bytes,time_us\nall_reduce,1,1024,5\n", "devices is 1; 2 to");
    expect_bad_row("op,devices,bytes,time_us\nall_reduce,4,,5\n", "bytes is missing");
    expect_bad_row("dtype,op,batch,seq_q,seq_kv,heads,head_dim,time_us\n"
                   "bf16,attn_prefill,1,64,32,8,64,5\n",
                   "seq_kv is below seq_q");
    expect_bad_row("dtype,op,batch,seq_q,seq_kv,heads,head_dim,time_us\n"
                   "bf16,attn_decode,1,1,,8,64,5\n",
                   "seq_kv is missing");
    expect_bad_row("dtype,op,m,n,k,time_us,regime\nbf16,gemm,1,32,32,5,tepid\n",
                   "regime is 'tepid'");
    expect_bad_row("dtype,op,m,n,k,time_us,flags\nbf16,gemm,1,32,32,5,contended odd\n",
                   "flag 'odd' is not known");
    expect_bad_row("dtype,op,m,n,k,time_us,ci_s\nbf16,gemm,1,32,32,5,-1\n", "ci_s is -1");
}

Test(samples, a_bad_row_leaves_the_others)
{
    told t = {0};
    llmperf_samples s =
        read_text(GEMM "bf16,gemm,1,32,32,1\nbf16,gemm,x,32,32,1\nbf16,gemm,2,32,32,1\n", NULL, &t);
    cr_expect(s.count == 2 && s.refused == 1 && s.rows == 3);
    cr_expect(strstr(t.last, "x.csv:3: m is 'x'") != NULL, "%s", t.last);
    llmperf_samples_free(&s);
}

Test(samples, files_without_a_use)
{
    expect_refused_file("", LLMPERF_E_SPEC, "x.csv: no header");
    expect_refused_file("# only a comment\n", LLMPERF_E_SPEC, "no header");
    expect_refused_file("dtype,op,m,n,k\nbf16,gemm,1,2,3\n", LLMPERF_E_SPEC, "no column of times");
    expect_refused_file("dtype,m,n,k,time_us\nbf16,1,2,3,4\n", LLMPERF_E_SPEC, "no column 'op'");
    expect_refused_file("op,m,m,time_us\n", LLMPERF_E_SPEC, "two columns stand for m");
    expect_refused_file("op,\"m,time_us\n", LLMPERF_E_SPEC, "open quote");
}

Test(samples, bad_maps)
{
    static const char *const rules[] = {"time_us", "=m", "a=tiem_us"};
    static const char *const want[] = {"their=ours is allowed", "their=ours is allowed",
                                       "did you mean 'time_us'?"};
    for (int i = 0; i < 3; i++) {
        const char *const map[] = {rules[i], NULL};
        llmperf_samples s = read_text(GEMM, map, NULL);
        cr_expect(error.status == LLMPERF_E_USAGE && strstr(error.text, want[i]), "%s", error.text);
        llmperf_samples_free(&s);
    }
}

Test(samples, long_lines_and_nul_bytes)
{
    size_t size = 200000;
    char *text = malloc(size);
    told t = {0};
    int used = snprintf(text, size, "%s", GEMM);
    memset(text + used, 'x', 100000);
    size_t at = (size_t)used + 100000;
    at += (size_t)snprintf(text + at, size - at, "\nbf16,gemm,1,32,32,1\nbf16,gemm,1,32,32,?\n");
    *strchr(text + at - 4, '?') = '\0';
    const llmperf_samples_options options = {.visit = tell, .context = &t};
    llmperf_samples s = {0};
    cr_assert(llmperf_samples_read_text(&s, "x.csv", text, at, &options, &error) == LLMPERF_OK);
    cr_expect(s.count == 1 && t.refused == 2 && strstr(t.last, "NUL byte"), "%s", t.last);
    llmperf_samples_free(&s);
    memset(text, 'x', size);
    error = (llmperf_error){0};
    cr_expect(llmperf_samples_read_text(&s, "x.csv", text, size, NULL, &error) == LLMPERF_E_SPEC);
    cr_expect(strstr(error.text, "64 KiB") != NULL, "%s", error.text);
    llmperf_samples_free(&s);
    free(text);
}

Test(samples, a_missing_file_is_said)
{
    llmperf_samples s = {0};
    error = (llmperf_error){0};
    cr_expect(llmperf_samples_read(&s, "/nowhere/x.csv", NULL, &error) == LLMPERF_E_IO);
    cr_expect(strstr(error.text, "cannot open '/nowhere/x.csv'") != NULL, "%s", error.text);
    llmperf_samples_free(&s);
    error = (llmperf_error){0};
    cr_expect(llmperf_samples_read(&s, "/", NULL, &error) == LLMPERF_E_IO, "%s", error.text);
    llmperf_samples_free(&s);
}
