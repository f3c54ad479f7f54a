/* SPDX-License-Identifier: MIT */
/* The table of formats, and what is written through it. Expected texts are written by hand. */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "formats.h"
#include "llmperf/plot.h"
#include "llmperf/report.h"
#include "model_object.h"
#include "engine_object.h"

static char *text;
static size_t size;
static FILE *out;

static void begin(void)
{
    free(text);
    text = NULL;
    out = open_memstream(&text, &size);
    cr_assert(out != NULL);
}

static const char *end(void)
{
    fclose(out);
    return text;
}

/* ---- the table ---- */

typedef struct use_row {
    format_use use;
    char names[64];
} use_row;

Test(formats, names_by_use)
{
    static const use_row rows[] = {{FORMAT_REPORTS, "text json csv md "},
                                   {FORMAT_SPECS, "text json csv md yaml "},
                                   {FORMAT_DEVICES, "text json "},
                                   {FORMAT_CHARTS, "text json csv svg png "}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char all[64] = "";
        for (const char *const *name = format_names(rows[i].use); *name; name++)
            snprintf(all + strlen(all), sizeof all - strlen(all), "%s ", *name);
        cr_expect_str_eq(all, rows[i].names);
    }
}

/* Each is a backend of one interface, or a picture; found by its name and by its suffix. */
Test(formats, rows_are_whole)
{
    for (int use = 0; use < FORMAT_USES; use++)
        for (const char *const *name = format_names((format_use)use); *name; name++) {
            const output_format *f = NULL;
            char path[32];
            cr_assert(format_find(*name, (format_use)use, &f, NULL) == LLMPERF_OK);
            int interfaces = (f->page != NULL) + (f->sink != NULL) + (f->spec != NULL);
            cr_expect(interfaces == 1 || (use == FORMAT_CHARTS && interfaces == 0), "%s", *name);
            snprintf(path, sizeof path, "folder.d/file%s", f->suffix);
            cr_expect(format_of_suffix(path, (format_use)use) == f, "%s", path);
        }
}

Test(formats, no_name_is_text)
{
    const output_format *f = NULL;
    cr_assert(format_find(NULL, FORMAT_REPORTS, &f, NULL) == LLMPERF_OK);
    cr_expect_str_eq(f->name, "text");
}

Test(formats, an_unknown_one_names_what_is_allowed)
{
    const output_format *f = NULL;
    llmperf_error error = {0};
    cr_expect(format_find("yaml", FORMAT_REPORTS, &f, &error) == LLMPERF_E_USAGE && !f);
    cr_expect_str_eq(error.text,
                     "format 'yaml' is not known here; text, json, csv, md are allowed");
    error = (llmperf_error){0};
    cr_expect(format_find("svg", FORMAT_SPECS, &f, &error) == LLMPERF_E_USAGE && !f);
    cr_expect_str_eq(error.text,
                     "format 'svg' is not known here; text, json, csv, md, yaml are allowed");
}

Test(formats, suffixes_in_any_case_and_for_their_use)
{
    cr_expect_str_eq(llmperf_format_of_suffix("a.d/b.json"), "json");
    cr_expect_str_eq(llmperf_format_of_suffix("B.CSV"), "csv");
    cr_expect_str_eq(llmperf_format_of_suffix("b.yaml"), "yaml");
    cr_expect_null(llmperf_format_of_suffix("b.svg")); /* a report is no picture */
    cr_expect_null(llmperf_format_of_suffix("json"));
    cr_expect_null(llmperf_format_of_suffix("a.json/b"));
    cr_expect_null(llmperf_format_of_suffix(NULL));
}

Test(formats, records_are_for_programs)
{
    cr_expect(llmperf_format_is_record("json") && llmperf_format_is_record("csv"));
    cr_expect(!llmperf_format_is_record("text") && !llmperf_format_is_record("md"));
    cr_expect(!llmperf_format_is_record(NULL) && !llmperf_format_is_record("gif"));
}

/* ---- a format of a chart ---- */

typedef struct choice_row {
    char path[24], named[8], chosen[8]; /* "" = not given; chosen "" = refused */
    char why[96];
} choice_row;

Test(formats, a_chart_is_what_is_named_or_what_its_file_says)
{
    static const choice_row rows[] = {
        {"", "", "text", ""},
        {"", "csv", "csv", ""},
        {"a.svg", "", "svg", ""},
        {"a.SVG", "", "svg", ""},
        {"a.txt", "json", "json", ""}, /* no picture: the option wins */
        {"a.svg", "svg", "svg", ""},
        {"a.svg", "csv", "", "'a.svg' has the suffix of svg, and --format asks for csv"},
        {"a.pdf", "svg", "svg", ""},
        {"a.pdf", "", "", "suffix '.pdf'; .txt, .json, .csv, .svg, .png, or --format"},
        {"a.d/b", "", "text", ""},
        {"v1.2", "", "text", ""}, /* a number is no suffix */
        {".pdf", "", "text", ""}, /* nor is a name */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const choice_row *r = &rows[i];
        const char *chosen = NULL;
        llmperf_error error = {0};
        llmperf_status status = llmperf_plot_choose_format(
            r->path[0] ? r->path : NULL, r->named[0] ? r->named : NULL, &chosen, &error);
        if (r->chosen[0])
            cr_expect(status == LLMPERF_OK && chosen && strcmp(chosen, r->chosen) == 0,
                      "row %zu: %s", i, chosen ? chosen : error.text);
        else
            cr_expect(status == LLMPERF_E_USAGE && !chosen && strstr(error.text, r->why),
                      "row %zu: %s", i, error.text);
    }
}

/* ---- whatever writes fields, writes them in another format ---- */

static void put_bare(FILE *file, const char *value)
{
    fputs(value, file);
}

Test(formats, a_table_of_another_separator)
{
    static const sink_format tabs = {.separator = '\t', .cell = put_bare};
    sink s;
    begin();
    sink_open(&s, out, &tabs);
    for (int row = 0; row < 2; row++) {
        sink_begin_row(&s);
        sink_begin_object(&s, NULL);
        sink_text(&s, "name", row ? "b" : "a, and");
        sink_begin_object(&s, "time_s");
        sink_number(&s, "value", 0.5 + row);
        sink_null(&s, "low");
        sink_end_object(&s);
        sink_end_object(&s);
        sink_end_row(&s);
    }
    sink_new_header(&s);
    sink_begin_row(&s);
    sink_bool(&s, "fits", true);
    sink_end_row(&s);
    cr_expect(sink_close(&s, NULL) == LLMPERF_OK);
    cr_expect_str_eq(end(), "name\ttime_s.value\ttime_s.low\n"
                            "a, and\t0.5\t\n"
                            "b\t1.5\t\n"
                            "fits\n"
                            "true\n");
}

/* ---- lists ---- */

static const char *listed(const char *format)
{
    static llmperf_hw hw = {.name = "one", .memory_bytes = 8e9, .mem_bytes_per_s = 1e11};
    static llmperf_engine engine = {.name = "four\x1b,", .licence = "public domain, all rights"};
    llmperf_list_writer *w = NULL;
    begin();
    cr_assert(llmperf_list_open(out, format, &w, NULL) == LLMPERF_OK);
    llmperf_list_begin(w, "hardware");
    llmperf_list_hw(w, &hw);
    llmperf_list_hw(w, &hw);
    llmperf_list_begin(w, "calibration");
    llmperf_list_begin(w, "engine");
    llmperf_list_engine(w, &engine);
    cr_expect(llmperf_list_close(w, NULL) == LLMPERF_OK);
    return end();
}

Test(formats, lists_are_tables_in_csv)
{
    cr_expect_str_eq(listed("csv"),
                     "name,memory_bytes,mem_bw_bytes_per_s,bf16_flop_per_s,confidence\n"
                     "one,8000000000,100000000000,,none\n"
                     "one,8000000000,100000000000,,none\n"
                     "name,parts,runs,unseen_error_frac,licence\n"
                     "\"four\\x1b,\",,,,\"public domain, all rights\"\n");
}

Test(formats, lists_are_arrays_in_json)
{
    char want[1024];
    static const char one[] = "    {\n"
                              "      \"name\": \"one\",\n"
                              "      \"memory_bytes\": 8000000000,\n"
                              "      \"mem_bw_bytes_per_s\": 100000000000,\n"
                              "      \"bf16_flop_per_s\": null,\n"
                              "      \"confidence\": \"none\"\n"
                              "    }";
    snprintf(want, sizeof want,
             "{\n  \"llmperf\": \"%s\",\n  \"schema\": %d,\n  \"hardware\": [\n%s,\n%s\n  ],\n"
             "  \"calibration\": [],\n  \"engine\": [\n    {\n      \"name\": \"four\\u001b,\",\n"
             "      \"parts\": null,\n      \"runs\": null,\n      \"unseen_error_frac\": null,\n"
             "      \"licence\": \"public domain, all rights\"\n    }\n  ],\n"
             "  \"notes\": [],\n  \"not_modelled\": []\n}\n",
             llmperf_version(), LLMPERF_JSON_SCHEMA, one, one);
    cr_expect_str_eq(listed("json"), want);
}

Test(formats, lists_are_lines_in_text_and_a_table_in_markdown)
{
    cr_expect_str_eq(listed("text"), "hardware                     memory    bandwidth      bf16  "
                                     "confidence\n"
                                     "one                         8.00 GB     100 GB/s         -  "
                                     "none\n"
                                     "one                         8.00 GB     100 GB/s         -  "
                                     "none\n"
                                     "engine                        parts         runs    unseen  "
                                     "licence\n"
                                     "four\\x1b,                         0            0         -"
                                     "  public domain, al...\n");
    cr_expect_str_eq(listed("md"), "| hardware | memory | bandwidth | bf16 | confidence |\n"
                                   "| --- | --- | --- | --- | --- |\n"
                                   "| one | 8.00 GB | 100 GB/s | - | none |\n"
                                   "| one | 8.00 GB | 100 GB/s | - | none |\n"
                                   "| engine | parts | runs | unseen | licence |\n"
                                   "| --- | --- | --- | --- | --- |\n"
                                   "| four\\x1b, | 0 | 0 | - | public domain, al... |\n");
}

/* ---- sweeps ---- */

static const char *swept(const char *format, int rows)
{
    static llmperf_model model = {.name = "m"};
    static const char *const axes[] = {"batch", NULL};
    const llmperf_sweep_row row = {.hw = "h",
                                   .weight_dtype = LLMPERF_DTYPE_BF16,
                                   .kv_dtype = LLMPERF_DTYPE_FP8,
                                   .tp = 1,
                                   .prompt = 2,
                                   .context = 3,
                                   .batch = 4,
                                   .point = {.time_s = {.value = 0.5, .low = 0.25, .high = 1},
                                             .tokens_per_s = {.value = 8},
                                             .intensity_flop_per_byte = 16,
                                             .total_bytes = 32,
                                             .fits = true}};
    llmperf_sweep_writer *w = NULL;
    llmperf_notes skipped = {0};
    llmperf_note(&skipped, "one is left out");
    begin();
    cr_assert(llmperf_sweep_open(out, format, &model, NULL, LLMPERF_SWEEP_DECODE, axes, 3, rows,
                                 NULL, &w, NULL) == LLMPERF_OK);
    for (int i = 0; i < rows; i++)
        llmperf_sweep_row_write(w, &row);
    cr_expect(llmperf_sweep_close(w, &skipped, NULL) == LLMPERF_OK);
    return end();
}

Test(formats, a_sweep_streams_rows)
{
    static const char *const row = "h,bf16,fp8,1,2,3,4,0.5,0.25,1,8,16,32,compute,true,,bound,\n";
    char want[512];
    snprintf(want, sizeof want,
             "hardware,weight_dtype,kv_dtype,tp,prompt,context,batch,time_s,time_low_s,time_high_s,"
             "tokens_per_s,intensity_flop_per_byte,total_bytes,bound,fits,calibration,kind,quant\n"
             "%s%s",
             row, row);
    cr_expect_str_eq(swept("csv", 2), want);
    const char *json = swept("json", 1);
    cr_expect(strstr(json, "  \"axes\": [\n    \"batch\"\n  ],\n  \"rows\": [\n    {\n      "
                           "\"hardware\": \"h\",\n"));
    cr_expect(strstr(json, "\"quant\": null\n    }\n  ],\n  \"notes\": [\n    \"one is left out\"\n"
                           "  ],\n  \"not_modelled\": [\n"));
    cr_expect(strstr(swept("json", 0), "  \"rows\": [],\n"));
    cr_expect(strstr(swept("md", 2), "\n2 of 3 points shown; --format csv or json has all.\n"));
}
