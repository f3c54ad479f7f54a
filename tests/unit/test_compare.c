/* SPDX-License-Identifier: MIT */
/* Comparisons: errors of groups by hand, what a page shows, what CSV and JSON hold. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "llmperf/compare.h"

static void check_near(double got, double want)
{
    cr_assert(fabs(got - want) <= 1e-12 * fabs(want) + 1e-15, "%.15g is not %.15g", got, want);
}

static void add(llmperf_comparison *c, const char *group, double measured, double predicted,
                double roofline)
{
    llmperf_compare_row row = {
        .line = 7,
        .metric = "e2e_s",
        .measured = measured,
        .predicted = {predicted, 0.9 * predicted, 1.1 * predicted},
        .kind = LLMPERF_ESTIMATE_CALIBRATED,
        .roofline = roofline,
    };
    snprintf(row.file, sizeof row.file, "f.csv");
    snprintf(row.label, sizeof row.label, "row %d", c->row_count);
    snprintf(row.group, sizeof row.group, "%s", group);
    cr_assert_eq(llmperf_comparison_add(c, &row, NULL), LLMPERF_OK);
}

static char *written(const llmperf_comparison *c, const char *format)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    llmperf_error error = {0};
    cr_assert_eq(llmperf_write_comparison(out, format, c, "title", NULL, &error), LLMPERF_OK, "%s",
                 error.text);
    fclose(out);
    return text;
}

static int count_of(const char *text, const char *word)
{
    int count = 0;
    for (const char *at = text; (at = strstr(at, word)); at += strlen(word))
        count++;
    return count;
}

/*
 * Errors: 10/8 - 1 = 0.25, 9/10 - 1 = -0.1, 20/20 - 1 = 0.
 * Roofline / measured - 1: 4/8 - 1 = -0.5, 8/10 - 1 = -0.2, 10/20 - 1 = -0.5.
 * The factor in the middle of measured / roofline = 2, 1.25, 2 is 2: errors 0, 0.6, 0.
 * Intervals: 9 to 11 misses 8; 8.1 to 9.9 misses 10; 18 to 22 holds 20.
 */
Test(compare, summary_by_hand)
{
    llmperf_comparison c = {0};
    llmperf_compare_summary s;
    add(&c, "a", 8, 10, 4);
    add(&c, "b", 1, 5, 1);
    add(&c, "a", 10, 9, 8);
    add(&c, "a", 20, 20, 10);
    cr_assert_eq(llmperf_compare_summarise(&c, "a", &s, NULL), LLMPERF_OK);
    cr_assert_str_eq(s.group, "a");
    cr_assert_eq(s.n, 3);
    check_near(s.mape_frac, (0.25 + 0.1) / 3);
    check_near(s.bias_frac, (0.25 - 0.1) / 3);
    check_near(s.median_frac, 0.1);
    check_near(s.p90_frac, 0.1 + 0.8 * 0.15); /* 0.9 of the way from first to last: 1.8 steps */
    check_near(s.coverage_frac, 1 / 3.0);
    check_near(s.roofline_mape_frac, 1.2 / 3);
    check_near(s.constant_factor, 2);
    check_near(s.constant_mape_frac, 0.6 / 3);
    cr_assert_eq(llmperf_compare_summarise(&c, NULL, &s, NULL), LLMPERF_OK);
    cr_assert_eq(s.n, 4);
    cr_assert_str_eq(s.group, "all");
    cr_assert_eq(llmperf_compare_summarise(&c, "none", &s, NULL), LLMPERF_OK);
    cr_assert_eq(s.n, 0);
    llmperf_comparison_free(&c);
}

Test(compare, json_has_groups_in_the_order_of_their_rows_and_the_constant)
{
    llmperf_comparison c = {0};
    add(&c, "second to be", 8, 10, 4);
    add(&c, "first to be", 10, 9, 8);
    add(&c, "second to be", 20, 20, 10);
    char *text = written(&c, "json");
    const char *summary = strstr(text, "\"summary\"");
    cr_assert(summary != NULL);
    cr_assert(strstr(summary, "second to be") < strstr(summary, "first to be"));
    cr_assert(strstr(summary, "\"all\"") != NULL);
    /* factor 2 in the group of two (8 / 4 = 20 / 10), 1.25 in the other */
    cr_assert(strstr(text, "\"constant\": 8,") != NULL);
    cr_assert(strstr(text, "\"constant\": 10,") != NULL);
    cr_assert(strstr(text, "\"constant\": 20,") != NULL);
    free(text);
    llmperf_comparison_free(&c);
}

Test(compare, constant_is_that_of_the_own_group)
{
    llmperf_comparison c = {0};
    add(&c, "a", 8, 10, 4);   /* factor 2 */
    add(&c, "b", 30, 10, 10); /* factor 3 */
    char *text = written(&c, "csv");
    const char *header = text, *first = strchr(text, '\n') + 1, *second = strchr(first, '\n') + 1;
    cr_assert(strstr(header, "roofline,constant,error_frac") != NULL);
    cr_assert(strstr(first, ",calibrated,4,8,0.25") != NULL, "%s", first);
    cr_assert(strstr(second, ",calibrated,10,30,") != NULL, "%s", second);
    free(text);
    llmperf_comparison_free(&c);
}

Test(compare, nothing_at_all_is_written_too)
{
    llmperf_comparison c = {0};
    static const char *const formats[] = {"text", "json", "csv", "md"};
    for (int i = 0; i < 4; i++) {
        char *text = written(&c, formats[i]);
        cr_assert(i == 2 || strlen(text) > 0);
        free(text);
    }
    llmperf_error error = {0};
    cr_assert_eq(llmperf_write_comparison(stdout, "svg", &c, "", NULL, &error), LLMPERF_E_USAGE);
}

Test(compare, long_tables_are_thinned_at_equal_steps_with_first_and_last)
{
    llmperf_comparison c = {0};
    for (int i = 0; i < 61; i++)
        add(&c, "a", 10, 10, 5);
    char *text = written(&c, "text");
    cr_assert(strstr(text, "row 0 ") != NULL);
    cr_assert(strstr(text, "row 60") != NULL);
    cr_assert_eq(count_of(text, "row "), 40);
    cr_assert(strstr(text, "40 of 61 rows are shown") != NULL);
    free(text);
    c.row_count = 60; /* short enough */
    text = written(&c, "text");
    cr_assert_eq(count_of(text, "row "), 60);
    free(text);
    text = written(&c, "csv");
    cr_assert_eq(count_of(text, "\n"), 61);
    free(text);
    llmperf_comparison_free(&c);
}

Test(compare, reasons_are_counted_in_text_and_listed_in_json)
{
    llmperf_comparison c = {0};
    for (int i = 0; i < 5; i++) {
        llmperf_compare_skip skip = {.line = 2 + i};
        snprintf(skip.file, sizeof skip.file, "f.csv");
        snprintf(skip.label, sizeof skip.label, "label %d", i);
        snprintf(skip.why, sizeof skip.why, i == 3 ? "alone" : "in company");
        cr_assert_eq(llmperf_comparison_skip(&c, &skip, NULL), LLMPERF_OK);
    }
    char *text = written(&c, "text");
    cr_assert(strstr(text, "Skipped 4 rows: in company (f.csv:2, the first).") != NULL, "%s", text);
    cr_assert(strstr(text, "Skipped label 3: alone (f.csv:5).") != NULL, "%s", text);
    free(text);
    text = written(&c, "json");
    cr_assert_eq(count_of(text, "\"why\""), 5);
    free(text);
    llmperf_comparison_free(&c);
}

/* A run's facts are in its row, null where nobody says. */
Test(compare, rows_of_runs_tell_what_was_run)
{
    llmperf_comparison c = {0};
    add(&c, "a", 8, 10, 4);
    c.row[0].has_run = true;
    c.row[0].run = (llmperf_run){.engine = "vllm",
                                 .batch = 8,
                                 .generate = 16,
                                 .has_depth = true,
                                 .kind = LLMPERF_RUN_SERVING,
                                 .rate_per_s = INFINITY};
    char *text = written(&c, "json");
    cr_assert(strstr(text, "\"engine\": \"vllm\"") != NULL);
    cr_assert(strstr(text, "\"gpu\": null") != NULL);
    cr_assert(strstr(text, "\"batch\": 8") != NULL);
    cr_assert(strstr(text, "\"input_len\": 0") != NULL); /* known to be none */
    cr_assert(strstr(text, "\"kind\": \"serving\"") != NULL);
    cr_assert(strstr(text, "\"rate_per_s\": null") != NULL); /* never Infinity */
    free(text);
    llmperf_comparison_free(&c);
}

/* 4 s where the datasheet needs 5; a rate of 12 where it allows 10; within 5 % is the datasheet's own
 * tolerance. */
Test(compare, rows_that_beat_the_datasheet_are_told)
{
    llmperf_comparison c = {0};
    add(&c, "a", 4, 5, 5);
    add(&c, "a", 4.9, 5, 5);
    add(&c, "a", 12, 10, 10);
    snprintf(c.row[2].metric, sizeof c.row[2].metric, "decode_tokens_per_s");
    llmperf_comparison_note_faster(&c);
    cr_assert_eq(c.notes.count, 1);
    cr_assert(strncmp(c.notes.text[0], "2 of 3 rows", 11) == 0, "%s", c.notes.text[0]);
    cr_assert(strstr(c.notes.text[0], "the first f.csv:7;") != NULL);
    c.row_count = 0;
    llmperf_comparison_note_faster(&c);
    cr_assert_eq(c.notes.count, 1);
    llmperf_comparison_free(&c);
}

/* measured / roofline = 1, 4, 2 and 32: the factor is in the middle of 2 and 4, so that one row that is
 * far off does not move it; it is no mean (9.75) and no extreme. */
Test(compare, the_constant_is_the_median)
{
    llmperf_comparison c = {0};
    llmperf_compare_summary s;
    add(&c, "a", 10, 10, 10);
    add(&c, "a", 40, 10, 10);
    add(&c, "a", 20, 10, 10);
    add(&c, "a", 320, 10, 10);
    cr_assert_eq(llmperf_compare_summarise(&c, "a", &s, NULL), LLMPERF_OK);
    check_near(s.constant_factor, 3);
    /* 3 x 10 over each, less 1 */
    check_near(s.constant_mape_frac, (2 + 0.25 + 0.5 + 290 / 320.0) / 4);
    llmperf_comparison_free(&c);
}
