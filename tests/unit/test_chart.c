/* SPDX-License-Identifier: MIT */
/* Measured operators beside their predictions, as charts choose and draw them. */
#include <criterion/criterion.h>

#include <math.h>
#include <string.h>

#include "llmperf/chart.h"
#include "calib_object.h"
#include "fits.h"

static llmperf_hw hw = {.name = "part", .mem_bytes_per_s = 1e12, .memory_bytes = 80e9};
static llmperf_samples samples;
static llmperf_comparison comparison;
static llmperf_curves curves;
static llmperf_plot plot;

static void read_text(const char *text)
{
    llmperf_error error = {0};
    hw.peak_flop_per_s[LLMPERF_DTYPE_BF16] = 1e14;
    hw.peak_flop_per_s[LLMPERF_DTYPE_FP32] = 1e13;
    cr_assert_eq(llmperf_samples_read_text(&samples, "s.csv", text, strlen(text), NULL, &error),
                 LLMPERF_OK, "%s", error.text);
}

/*
 * m = 1, n = k = 4096 in bf16: 2 n k + 2 (n + k) = 33,570,816 bytes, 33.570816 us at 1 TB/s; its
 * 33.6 MFLOP take 0.34 us. Measured at twice that: 67.141632 us.
 */
static const char GEMMS[] = "gpu,library,dtype,op,m,n,k,time_s\n"
                            "part,a,bf16,gemm,1,4096,4096,67.141632e-6\n"
                            "part,b,bf16,gemm,1,4096,4096,40e-6\n"
                            "other,a,bf16,gemm,1,4096,4096,40e-6\n"
                            "part,a,fp8,gemm,1,4096,4096,40e-6\n"; /* no such peak */

Test(chart, rows_are_those_of_the_part_and_the_library)
{
    static const char *const libraries[] = {"A", NULL};
    const llmperf_chart_filter filter = {.hw = &hw, .words = {.libraries = libraries}};
    llmperf_error error = {0};
    read_text(GEMMS);
    cr_assert_eq(llmperf_chart_rows(&samples, &filter, &comparison, &error), LLMPERF_OK, "%s",
                 error.text);
    cr_assert_eq(comparison.row_count, 1);
    const llmperf_compare_row *row = &comparison.row[0];
    cr_expect_float_eq(row->predicted.value, 33.570816e-6, 1e-12);
    cr_expect_float_eq(row->measured / row->predicted.value, 2, 1e-9);
    cr_expect_float_eq(row->roofline, 33.570816e-6, 1e-12);
    cr_expect_str_eq(row->group, "gemm bf16");
    cr_assert_eq(comparison.notes.count, 1);
    cr_expect(strstr(comparison.notes.text[0],
                     "3 of 4 samples left out: 1 of other devices, 1 of other libraries, 1 that the "
                     "device has no peak or link for"),
              "%s", comparison.notes.text[0]);
    llmperf_comparison_free(&comparison);
    llmperf_samples_free(&samples);
}

Test(chart, the_library_is_the_calibrations_where_there_is_such_a_one)
{
    static llmperf_calib calib;
    const llmperf_chart_filter filter = {.hw = &hw, .calib = &calib};
    calib_init(&calib);
    snprintf(calib.library, sizeof calib.library, "B");
    read_text(GEMMS);
    cr_assert_eq(llmperf_chart_rows(&samples, &filter, &comparison, NULL), LLMPERF_OK);
    cr_assert_eq(comparison.row_count, 1);
    cr_expect_eq(comparison.row[0].measured, 40e-6);
    llmperf_comparison_free(&comparison);
    snprintf(calib.library, sizeof calib.library, "c"); /* none of theirs: all are drawn */
    cr_assert_eq(llmperf_chart_rows(&samples, &filter, &comparison, NULL), LLMPERF_OK);
    cr_expect_eq(comparison.row_count, 2);
    llmperf_comparison_free(&comparison);
    llmperf_samples_free(&samples);
}

Test(chart, nothing_left_says_why)
{
    static const char *const libraries[] = {"none", "neither", NULL};
    const llmperf_chart_filter filter = {.hw = &hw, .words = {.libraries = libraries}};
    llmperf_error error = {0};
    read_text(GEMMS);
    cr_expect_eq(llmperf_chart_rows(&samples, &filter, &comparison, &error), LLMPERF_E_UNSUPPORTED);
    cr_expect(strstr(error.text,
                     "by none, neither to draw; 4 of 4 samples are left out: 1 of other "
                     "devices, 3 of other libraries"),
              "%s", error.text);
    cr_expect_eq(llmperf_chart_dense(&samples, &filter, NULL, 0, &curves, NULL),
                 LLMPERF_E_UNSUPPORTED);
    cr_expect_eq(llmperf_chart_attention(&samples, &filter, NULL, 0, &curves, NULL),
                 LLMPERF_E_UNSUPPORTED);
    llmperf_comparison_free(&comparison);
    llmperf_samples_free(&samples);
}

/* R = 1e14 / 1e12 = 100; 1/m* = 1/R - 1/n - 1/k = 0.01 - 2/4096: m* = 105.13, so 106 rows. */
Test(chart, dense_curves_pair_what_was_measured_with_what_is_predicted)
{
    const llmperf_chart_filter filter = {.hw = &hw};
    llmperf_error error = {0};
    read_text("gpu,dtype,op,m,n,k,time_s\n"
              "part,bf16,gemm,64,4096,4096,50e-6\npart,bf16,gemm,1,4096,4096,40e-6\n"
              "part,bf16,gemm,16,4096,4096,45e-6\npart,bf16,gemm,1024,4096,4096,400e-6\n"
              "part,bf16,gemm,1,8192,4096,80e-6\npart,bf16,gemm,2,8192,4096,80e-6\n");
    cr_assert_eq(llmperf_chart_dense(&samples, &filter, NULL, 0, &curves, &error), LLMPERF_OK, "%s",
                 error.text);
    cr_assert_eq(curves.count, 2, "8192 x 4096 has too few points");
    const llmperf_curve *predicted = &curves.curve[0], *measured = &curves.curve[1];
    cr_expect(!predicted->measured && measured->measured);
    cr_expect_str_eq(predicted->name, measured->name);
    cr_expect_eq(measured->count, 4);
    cr_expect_eq(predicted->item[0].op.m, 1);
    cr_expect_eq(predicted->item[predicted->count - 1].op.m, 1024);
    for (int i = 1; i < predicted->count; i++)
        cr_expect(predicted->item[i].op.m > predicted->item[i - 1].op.m);
    cr_expect(predicted->has_knee && predicted->knee.batch == 106, "%g", predicted->knee.batch);
    cr_assert_eq(llmperf_plot_dense(&hw, NULL, &curves, &plot, NULL), LLMPERF_OK);
    /* line, markers and the knee, in both panels; the measured point has its own time */
    cr_assert_eq(plot.panel_count, 2);
    cr_assert_eq(plot.panel[1].series_count, 3);
    cr_expect_eq(plot.panel[1].series[1].point[0].y, 50e-6);
    cr_expect_eq(plot.panel[1].series[0].color, plot.panel[1].series[1].color);
    llmperf_plot_free(&plot);
    llmperf_curves_free(&curves);
    llmperf_samples_free(&samples);
}

Test(chart, attention_curves_have_one_layout_and_both_phases)
{
    const llmperf_chart_filter filter = {.hw = &hw};
    llmperf_error error = {0};
    read_text("gpu,dtype,op,batch,seq_q,seq_kv,heads,kv_heads,head_dim,window,time_s\n"
              "part,bf16,attn_decode,1,1,512,32,8,128,0,1e-5\n"
              "part,bf16,attn_decode,2,1,512,32,8,128,0,1e-5\n"
              "part,bf16,attn_decode,4,1,512,32,8,128,0,1e-5\n"
              "part,bf16,attn_decode,8,1,512,32,8,128,0,1e-5\n"
              "part,bf16,attn_decode,8,1,512,32,8,128,64,1e-5\n" /* a window */
              "part,bf16,attn_decode,1,1,512,2,1,64,0,1e-5\n"
              "part,bf16,attn_prefill,1,256,256,32,8,128,0,1e-5\n"
              "part,bf16,attn_prefill,2,256,256,32,8,128,0,1e-5\n"
              "part,bf16,attn_prefill,3,256,256,32,8,128,0,1e-5\n"
              "part,bf16,attn_prefill,4,256,256,32,8,128,0,1e-5\n");
    cr_assert_eq(llmperf_chart_attention(&samples, &filter, NULL, 0, &curves, &error), LLMPERF_OK,
                 "%s", error.text);
    cr_assert_eq(curves.count, 4);
    cr_expect_str_eq(curves.curve[0].name, "s = 256");
    cr_expect(!curves.curve[0].decode && !curves.curve[0].measured);
    cr_expect_str_eq(curves.curve[3].name, "s = 512");
    cr_expect(curves.curve[3].decode && curves.curve[3].measured);
    cr_expect_eq(curves.curve[3].count, 4);
    cr_expect(strstr(curves.shape, "32 heads, 8 KV heads of 128"), "%s", curves.shape);
    cr_assert_eq(llmperf_plot_attention(&hw, NULL, &curves, &plot, NULL), LLMPERF_OK);
    cr_expect_eq(plot.panel_count, 4);
    llmperf_plot_free(&plot);
    llmperf_curves_free(&curves);
    llmperf_samples_free(&samples);
}

/* ---- residuals ------------------------------------------------------------------------------------------ */

static void add_row(const char *group, double measured, double low, double high)
{
    llmperf_compare_row row = {.metric = "time_s",
                               .measured = measured,
                               .predicted = {.value = 1, .low = low, .high = high},
                               .roofline = 0.5};
    snprintf(row.group, sizeof row.group, "%s", group);
    cr_assert_eq(llmperf_comparison_add(&comparison, &row, NULL), LLMPERF_OK);
}

Test(chart, residuals_have_a_panel_for_each_of_the_four_largest_groups)
{
    static const char *const groups[] = {"a", "b", "c", "d", "e", "f"};
    for (int g = 0; g < 6; g++)
        for (int i = 0; i <= g; i++)
            add_row(groups[g], i == 0 ? 2 : 1.1, 0.8, 1.25);
    cr_assert_eq(llmperf_plot_residuals(&comparison, &plot, NULL), LLMPERF_OK);
    cr_assert_eq(plot.panel_count, 4);
    cr_expect_str_eq(plot.panel[0].name, "f");
    cr_expect_str_eq(plot.panel[3].name, "c");
    cr_expect_eq(plot.panel[0].series[0].count, 5, "1.1 lies within 0.8 to 1.25");
    cr_expect_eq(plot.panel[0].series[1].count, 1, "2 does not");
    cr_expect_eq(plot.panel[0].series[1].point[0].y, 2);
    cr_expect(strstr(plot.notes.text[0], "2 smaller groups are not shown"));
    llmperf_plot_free(&plot);
    llmperf_comparison_free(&comparison);
    cr_expect_eq(llmperf_plot_residuals(&comparison, &plot, NULL), LLMPERF_E_UNSUPPORTED);
}

/* Of GEMMS: 2 of library a on the part, one of them fp8; the part has no fp8 peak. */
Test(chart, words_choose_formats_and_operators)
{
    static const char *const fp8[] = {"fp8", NULL}, *const gemm[] = {"gemm", NULL},
                             *const moe[] = {"moe", NULL};
    llmperf_chart_filter filter = {.hw = &hw, .words = {.dtypes = fp8}};
    llmperf_error error = {0};
    read_text(GEMMS);
    cr_expect_eq(llmperf_chart_rows(&samples, &filter, &comparison, &error), LLMPERF_E_UNSUPPORTED);
    cr_expect(strstr(error.text, "2 of other formats or operators"), "%s", error.text);
    llmperf_comparison_free(&comparison);
    filter.words = (llmperf_sample_filter){.kinds = gemm};
    cr_expect_eq(llmperf_chart_rows(&samples, &filter, &comparison, NULL), LLMPERF_OK);
    cr_expect_eq(comparison.row_count, 2);
    llmperf_comparison_free(&comparison);
    filter.words = (llmperf_sample_filter){.kinds = moe};
    cr_expect_eq(llmperf_chart_rows(&samples, &filter, &comparison, NULL), LLMPERF_E_UNSUPPORTED);
    llmperf_comparison_free(&comparison);
    llmperf_samples_free(&samples);
}

Test(chart, a_library_that_is_not_there_is_answered_with_those_that_are)
{
    static const char *const none[] = {"none", NULL};
    const llmperf_chart_filter filter = {.hw = &hw, .words = {.libraries = none}};
    llmperf_error error = {0};
    read_text("gpu,library,dtype,op,m,n,k,time_s\npart,vllm,bf16,gemm,1,4096,4096,67e-6\n"
              "part,sglang,bf16,gemm,1,4096,4096,67e-6\n");
    cr_expect_eq(llmperf_chart_rows(&samples, &filter, &comparison, &error), LLMPERF_E_UNSUPPORTED);
    cr_expect(strstr(error.text, "; the files have vllm, sglang"), "%s", error.text);
    llmperf_comparison_free(&comparison);
    llmperf_samples_free(&samples);
}

/*
 * Unfused: batch 2, 32 heads of 128, 256 queries and keys, bf16: 2 x 128 x 64 x 256 x 256 flop;
 * Q and K 64 x 512 x 128 values, scores 64 x 256 x 256, 2 bytes each.
 */
Test(chart, products_of_queries_and_keys_are_curves_of_their_own)
{
    const llmperf_chart_filter filter = {.hw = &hw, .unfused = true}, fused = {.hw = &hw};
    llmperf_error error = {0};
    read_text("gpu,dtype,op,batch,seq_q,seq_kv,heads,kv_heads,head_dim,regime,time_s\n"
              "part,bf16,attn_scores,1,256,256,32,32,128,cold,1e-5\n"
              "part,bf16,attn_scores,2,256,256,32,32,128,cold,2e-5\n"
              "part,bf16,attn_scores,4,256,256,32,32,128,cold,4e-5\n"
              "part,bf16,attn_scores,8,256,256,32,32,128,cold,8e-5\n"
              "part,bf16,attn_scores,8,1,256,32,32,128,cold,8e-5\n");
    cr_expect_eq(llmperf_chart_attention(&samples, &fused, NULL, 0, &curves, NULL),
                 LLMPERF_E_UNSUPPORTED);
    llmperf_curves_free(&curves);
    cr_assert_eq(llmperf_chart_attention(&samples, &filter, NULL, 0, &curves, &error), LLMPERF_OK,
                 "%s", error.text);
    cr_assert_eq(curves.count, 2, "decode has too few points");
    const llmperf_curve *predicted = &curves.curve[0], *measured = &curves.curve[1];
    cr_expect(!predicted->decode && !measured->decode && measured->measured);
    cr_expect_eq(measured->item[1].op.flop, 2.0 * 128 * 64 * 256 * 256);
    cr_expect_eq(measured->item[1].op.bytes, 2.0 * (64 * 512 * 128 + 64 * 256 * 256));
    for (int i = 0; i < predicted->count; i++)
        if (predicted->item[i].batch == 2) {
            cr_expect_eq(predicted->item[i].op.flop, measured->item[1].op.flop);
            cr_expect_eq(predicted->item[i].op.bytes, measured->item[1].op.bytes);
        }
    llmperf_curves_free(&curves);
    llmperf_samples_free(&samples);
}

/* A layer of experts is no weight matrix, and is not drawn as one. */
Test(chart, experts_are_no_dense_layers)
{
    const llmperf_chart_filter filter = {.hw = &hw};
    read_text("gpu,dtype,op,tokens,n,k,experts,top_k,time_s\n"
              "part,bf16,moe,1,4096,4096,8,2,1e-3\npart,bf16,moe,2,4096,4096,8,2,1e-3\n"
              "part,bf16,moe,4,4096,4096,8,2,1e-3\npart,bf16,moe,8,4096,4096,8,2,1e-3\n");
    cr_assert_eq(samples.count, 4);
    cr_expect_eq(llmperf_chart_dense(&samples, &filter, NULL, 0, &curves, NULL),
                 LLMPERF_E_UNSUPPORTED);
    llmperf_curves_free(&curves);
    llmperf_samples_free(&samples);
}

/* As in GEMMS, 33.570816 us at full speed; a stream of half the calibration's speed beside it: twice. */
Test(chart, memory_is_taken_as_it_was_beside_the_sample)
{
    static llmperf_calib calib;
    const llmperf_chart_filter filter = {.hw = &hw, .calib = &calib};
    calib_init(&calib);
    calib.stream_bytes_per_s = 9e11;
    read_text("gpu,dtype,op,m,n,k,stream_bytes_per_s,time_s\n"
              "part,bf16,gemm,1,4096,4096,4.5e11,67e-6\npart,bf16,gemm,1,4096,4096,,34e-6\n");
    cr_assert_eq(llmperf_chart_rows(&samples, &filter, &comparison, NULL), LLMPERF_OK);
    cr_assert_eq(comparison.row_count, 2);
    cr_expect_float_eq(comparison.row[0].predicted.value, 2 * 33.570816e-6, 1e-12);
    cr_expect_float_eq(comparison.row[1].predicted.value, 33.570816e-6, 1e-12);
    cr_expect_float_eq(comparison.row[0].roofline, 33.570816e-6, 1e-12);
    llmperf_comparison_free(&comparison);
    llmperf_samples_free(&samples);
}
