/* SPDX-License-Identifier: MIT */
/*
 * Every number of a prediction against its explanation: the JSON of random and real models is
 * walked leaf by leaf, so a field that is added without an explanation fails here.
 */
#include <criterion/criterion.h>

#include <dirent.h>
#include <stdlib.h>

#include "formula.h"
#include "config.h"
#include "doc.h"
#include "emit.h"
#include "random_case.h"
#include "config_object.h"
#include "read.h"
#include "time_op.h"

/* Everything large. */
static llmperf_model model;
static llmperf_hw hw;
static llmperf_config c;
static llmperf_prediction prediction = LLMPERF_PREDICTION_INIT;
static llmperf_explanation *explanation;
static llmperf_workload asked;
static char what[6000]; /* the case, for messages */

static bool close_to(double got, double want)
{
    return is_near(got, want, 1e-12);
}

static llmperf_status explain(const char *name, llmperf_error *error)
{
    const llmperf_explain_query query = {
        .name = name, .c = &c, .prediction = c.hw ? &prediction : NULL, .asked = &asked};
    llmperf_explanation_free(explanation);
    explanation = NULL;
    return llmperf_explain(&query, &explanation, error);
}

/* ---- one explanation is sound in itself ------------------------------------------------------ */

static double evaluated(const char *numbers)
{
    formula f;
    double value = NAN;
    cr_assert(formula_parse(numbers, NULL, &f) && formula_evaluate(&f, NULL, NULL, &value),
              "'%s': %s; %s", numbers, f.wrong, what);
    return value;
}

/* The numbers that are shown give what the formula gives. */
static void expect_line(const char *name, const llmperf_explain_line *line)
{
    if (!line->numbers[0])
        return;
    cr_expect(line->formula[0], "%s: %s", name, line->name);
    double value = evaluated(line->numbers);
    cr_expect(close_to(value, line->evaluated), "%s, %s: '%s' is %.17g, the formula gave %.17g; %s",
              name, line->name, line->numbers, value, line->evaluated, what);
}

static void expect_sound(const char *name)
{
    const llmperf_explanation *x = explanation;
    const llmperf_explain_line *r = &x->result;
    cr_expect(x->meaning[0] && r->name[0], "%s", name);
    if (!x->exists) {
        cr_expect(x->why[0] && isnan(r->value), "%s: %s", name, what);
        return;
    }
    cr_expect(r->formula[0] || x->rule[0], "%s has neither formula nor rule; %s", name, what);
    expect_line(name, r);
    if (r->formula[0] && x->rounded_up) /* rounding must not lift a whole number */
        cr_expect_eq(r->value, fmax(1, ceil(r->evaluated * (1 - 1e-9))),
                     "%s: %.17g is not %.17g rounded up; %s", name, r->value, r->evaluated, what);
    else if (r->formula[0])
        cr_expect(close_to(r->evaluated, r->value) || (r->evaluated == 0 && r->value == 0),
                  "%s: '%s' is %.17g, the prediction %.17g; %s", name, r->formula, r->evaluated,
                  r->value, what);
    for (int i = 0; i < x->step_count; i++) {
        expect_line(name, &x->steps[i]);
        if (x->steps[i].formula[0])
            cr_expect(close_to(x->steps[i].evaluated, x->steps[i].value),
                      "%s, %s: %.17g, %.17g; %s", name, x->steps[i].name, x->steps[i].evaluated,
                      x->steps[i].value, what);
    }
    double sum = 0;
    for (int i = 0; i < x->term_count; i++) {
        expect_line(name, &x->terms[i]);
        sum += x->terms[i].value;
    }
    cr_expect_eq(x->is_sum, x->term_count > 0, "%s", name);
    if (x->is_sum)
        cr_expect(close_to(sum, r->value), "%s: the terms add up to %.17g of %.17g; %s", name, sum,
                  r->value, what);
    for (int i = 0; i < x->input_count; i++)
        cr_expect(x->inputs[i].symbol[0] && x->inputs[i].meaning[0] && x->inputs[i].source[0],
                  "%s: input %d, '%s'", name, i, x->inputs[i].symbol);
    for (int i = 0; i < x->notes.count; i++)
        cr_expect(!strstr(x->notes.text[i], "bug of llmperf") &&
                      !strstr(x->notes.text[i], "too long"),
                  "%s: %s; %s", name, x->notes.text[i], what);
}

static void expect_value(const char *name, double want)
{
    llmperf_error error = {0};
    llmperf_status status = explain(name, &error);
    cr_assert(status == LLMPERF_OK, "%s: %.200s; %s", name, error.text, what);
    cr_assert(explanation->exists, "%s: %s; %s", name, explanation->why, what);
    cr_assert(close_to(explanation->result.value, want),
              "%s is explained as %.17g, predicted %.17g; %s", name, explanation->result.value,
              want, what);
    expect_sound(name);
}

/* ---- the JSON of a prediction, leaf by leaf -------------------------------------------------- */

/* Facts that are listed, not predicted; words; and what is written for programs alone. */
static bool is_exempt(const char *path)
{
    static const char *const starts[] = {"schema", "model.layer_plan", "notes", "not_modelled",
                                         "hardware."};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (strncmp(path, starts[i], strlen(starts[i])) == 0)
            return true;
    return false;
}

static int leaves; /* numbers that were compared */

static void walk(const char *path, doc_node *node);

/* compute_bound_batch.*.per_op: [{name, n, k, batch, exact}] */
static void walk_operators(const char *path, doc_node *list)
{
    char names[LLMPERF_CROSSINGS_MAX][64];
    int count = 0;
    for (doc_node *item = list->first; item; item = item->next) {
        int which = 1;
        snprintf(names[count], sizeof names[0], "%s", doc_get(item, "name")->text);
        for (int i = 0; i < count; i++)
            which += strcmp(names[i], names[count]) == 0;
        static const char *const keys[] = {"n", "k", "batch", "exact"};
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
            char full[256];
            snprintf(full, sizeof full, "%.120s.%.60s:%d.%s", path, names[count], which, keys[i]);
            walk(full, doc_get(item, keys[i]));
        }
        count++;
    }
}

static void walk(const char *path, doc_node *node)
{
    double value;
    llmperf_error error = {0};
    if (is_exempt(path))
        return;
    if (node->kind == DOC_MAP) {
        for (doc_node *child = node->first; child; child = child->next) {
            char below[256];
            snprintf(below, sizeof below, "%s%s%s", path, path[0] ? "." : "", child->key);
            walk(below, child);
        }
    } else if (node->kind == DOC_SEQ) {
        size_t length = strlen(path);
        cr_assert(length > 7 && strcmp(path + length - 7, ".per_op") == 0, "list %s", path);
        walk_operators(path, node);
    } else if (doc_is_null(node)) {
        /* a number that is not there, or a word that is not: the number says why */
        if (explain(path, &error) == LLMPERF_OK)
            cr_expect(!explanation->exists && explanation->why[0], "%s is null; %s", path, what);
    } else if (!node->quoted && llmperf_parse_double(node->text, &value)) {
        expect_value(path, value);
        leaves++;
    }
}

static void expect_prediction(void)
{
    char *text = NULL;
    size_t size = 0;
    doc *document;
    llmperf_error error = {0};
    FILE *out = open_memstream(&text, &size);
    cr_assert(out);
    cr_assert_eq(llmperf_predict(&c, &prediction, &error), LLMPERF_OK, "%s", error.text);
    cr_assert_eq(llmperf_write_prediction(out, "json", &prediction, NULL, &error), LLMPERF_OK);
    fclose(out);
    cr_assert_eq(doc_load_text("prediction.json", text, size, &document, &error), LLMPERF_OK, "%s",
                 error.text);
    walk("", doc_root(document));
    doc_free(document);
    free(text);
    /* and every row of the table, also those that this prediction leaves out */
    for (int i = 0; i < llmperf_explain_field_count(); i++) {
        llmperf_explain_field field = llmperf_explain_field_at(i);
        if (strchr(field.path, '*'))
            continue;
        cr_assert_eq(explain(field.path, &error), LLMPERF_OK, "%s: %.200s", field.path, error.text);
        cr_expect_str_eq(explanation->result.name, field.path);
        cr_expect_eq(explanation->result.unit, field.unit, "%s", field.path);
        expect_sound(field.path);
    }
}

/* Operators too: each launch takes the engine's time, and all of a name add up to its term of a
 * step; every formula gives its step's value. */
static void expect_operators(void)
{
    static llmperf_op ops[LLMPERF_OPS_MAX];
    llmperf_segment segment = llmperf_decode_segment(&c, c.workload.batch, c.workload.context);
    int count = llmperf_emit(&c, &segment, 1, LLMPERF_OPS_MAX, ops);
    double total[LLMPERF_OP_COUNT] = {0};
    for (int i = 0; i < count; i++)
        total[ops[i].id] += ops[i].repeat * time_op(&ops[i], c.hw, c.calib, NULL, NULL);
    for (int i = 0; i < LLMPERF_OP_COUNT; i++) {
        const char *name = llmperf_op_name((llmperf_op_id)i);
        double sum = 0;
        for (int which = 1; total[i] > 0; which++) {
            char one[64];
            snprintf(one, sizeof one, "%s:%d", name, which);
            if (explain(one, NULL) != LLMPERF_OK)
                break;
            expect_sound(one);
            const llmperf_explain_line *last = &explanation->steps[explanation->step_count - 1];
            cr_assert_str_eq(last->name, "all launches");
            sum += last->value;
        }
        cr_expect(close_to(sum, total[i]), "%s: launches of %.17g s, the engine's %.17g; %s", name,
                  sum, total[i], what);
    }
}

static void set_targets(rng *r)
{
    if (rng_chance(r, 0.5))
        asked.tpot_s = rng_log(r, 1e-4, 1);
    if (rng_chance(r, 0.5))
        asked.price_usd_per_h = rng_log(r, 0.1, 10);
}

Test(explain, agrees_with_every_number_of_random_predictions)
{
    static llmperf_calib calib;
    leaves = 0;
    for (uint64_t seed = 1; seed <= CASES(150); seed++) {
        rng r = {seed};
        llmperf_error error = {0};
        random_model(&r, &model);
        random_hw(&r, &hw);
        random_workload(&r, &model, &asked);
        set_targets(&r);
        bool calibrated = rng_chance(&r, 0.3);
        if (calibrated)
            random_calib(&r, 1, rng_chance(&r, 0.5), &calib);
        llmperf_status status =
            config_init(&c, &model, &hw, calibrated ? &calib : NULL, &asked, &error);
        if (status == LLMPERF_E_UNSUPPORTED) /* no peak for these formats */
            continue;
        cr_assert_eq(status, LLMPERF_OK, "seed %" PRIu64 ": %s", seed, error.text);
        snprintf(what, sizeof what, "seed %" PRIu64 "%s: %s", seed,
                 calibrated ? ", calibrated" : "", describe_case(&c));
        expect_prediction();
        expect_operators();
    }
    cr_log_info("%d numbers", leaves);
    cr_expect(leaves > CASES(100) * 70);
}

/* Real configs of every architecture: experts, latents, indexers, states, windows, quantised. */
Test(explain, agrees_with_every_number_of_real_models)
{
    const char *source = getenv("LLMPERF_SOURCE");
    char folder[4096];
    int loaded = 0;
    cr_assert(source, "LLMPERF_SOURCE is not set");
    snprintf(folder, sizeof folder, "%s/tests/data/configs/architectures", source);
    DIR *dir = opendir(folder);
    if (!dir) {
        cr_skip("%s is not there", folder);
        return;
    }
    rng r = {7};
    for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
        char path[8192];
        llmperf_error error = {0};
        const char *dot = strrchr(entry->d_name, '.');
        if (!dot || strcmp(dot, ".json") != 0 || rng_chance(&r, 1 - CASES(100) / 100.0))
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (model_load(path, &model, &error) != LLMPERF_OK)
            continue;
        hw = h100();
        hw.peak_flop_per_s[LLMPERF_DTYPE_FP32] = 66.9e12;
        asked = (llmperf_workload){.batch = rng_int(&r, 1, 100),
                                   .prompt = rng_int(&r, 1, 9000),
                                   .moe_skew = rng_chance(&r, 0.2) ? 0.5 : 0,
                                   .unfused = rng_chance(&r, 0.2),
                                   .query = rng_chance(&r, 0.3) ? 4 : 0,
                                   .tp = rng_chance(&r, 0.5) ? 4 : 0};
        set_targets(&r);
        if (!tp_is_legal(&model, asked.tp ? asked.tp : 1))
            asked.tp = 0;
        cr_assert_eq(config_init(&c, &model, &hw, NULL, &asked, &error), LLMPERF_OK, "%s: %s", path,
                     error.text);
        snprintf(what, sizeof what, "%s b %lld s %lld tp %lld", entry->d_name,
                 (long long)asked.batch, (long long)asked.prompt, (long long)asked.tp);
        expect_prediction();
        expect_operators();
        loaded++;
    }
    closedir(dir);
    cr_log_info("%d models", loaded);
    cr_expect(loaded >= CASES(40));
}

/* ---- by hand --------------------------------------------------------------------------------- */

/* Llama 3.1 8B on an H100, 64 sequences of 2048 + 512 tokens: the example of docs/model.md. */
static void take_example(void)
{
    llmperf_error error = {0};
    model = llama_like("llama", 32, 4096, 32, 8, 128, 14336, 128256);
    snprintf(model.source, sizeof model.source, "config.json");
    hw = h100();
    hw.provenance[LLMPERF_HW_DEFAULT].confidence = LLMPERF_CONFIDENCE_MIRRORED;
    snprintf(hw.provenance[LLMPERF_HW_DEFAULT].source, LLMPERF_TEXT_MAX, "a table");
    hw.provenance[LLMPERF_HW_BANDWIDTH].confidence = LLMPERF_CONFIDENCE_READ;
    snprintf(hw.provenance[LLMPERF_HW_BANDWIDTH].source, LLMPERF_TEXT_MAX, "a datasheet");
    asked = (llmperf_workload){.batch = 64, .prompt = 2048, .generate = 512};
    cr_assert_eq(config_init(&c, &model, &hw, NULL, &asked, &error), LLMPERF_OK, "%s", error.text);
    cr_assert_eq(llmperf_predict(&c, &prediction, &error), LLMPERF_OK);
    snprintf(what, sizeof what, "the example");
}

static const llmperf_explain_input *input(const char *symbol)
{
    for (int i = 0; i < explanation->input_count; i++)
        if (strcmp(explanation->inputs[i].symbol, symbol) == 0)
            return &explanation->inputs[i];
    cr_assert_fail("%s has no input %s", explanation->result.name, symbol);
    return NULL;
}

Test(explain, writes_the_kv_cache_as_on_paper)
{
    take_example();
    /* 2560 tokens are 160 blocks of 16; 2 * 64 * 2560 * 32 * 8 * 128 * 2 */
    expect_value("memory.kv_bytes", 21474836480.0);
    cr_expect_str_eq(explanation->result.formula,
                     "2 b block ceil((s + g) / block) layers n_kv d c");
    cr_expect_str_eq(explanation->result.numbers,
                     "2 * 64 * 16 * ceil((2048 + 512) / 16) * 32 * 8 * 128 * 2");
    cr_expect_eq(explanation->result.unit, LLMPERF_UNIT_BYTES);
    cr_expect_eq(input("b")->origin, LLMPERF_ORIGIN_OPTION);
    cr_expect_str_eq(input("b")->source, "--batch");
    cr_expect_eq(input("block")->origin, LLMPERF_ORIGIN_DEFAULT);
    cr_expect_eq(input("n_kv")->origin, LLMPERF_ORIGIN_MODEL);
    cr_expect_str_eq(input("n_kv")->source, "llama: config.json");
    cr_expect_eq(input("n_kv")->value, 8);
}

Test(explain, names_the_source_and_confidence_of_hardware)
{
    take_example();
    /* 1/m* = 1/295.343 - 2/4096: 345.112 */
    expect_value("compute_bound_batch.attn.out", 346);
    cr_expect(explanation->rounded_up);
    cr_expect(is_near(explanation->result.evaluated, 345.11, 1e-4));
    cr_expect_eq(input("BW")->origin, LLMPERF_ORIGIN_HARDWARE);
    cr_expect_eq(input("BW")->confidence, LLMPERF_CONFIDENCE_READ);
    cr_expect_str_eq(input("BW")->source, "h100: a datasheet");
    cr_expect_eq(input("P")->confidence, LLMPERF_CONFIDENCE_MIRRORED);
    cr_expect_str_eq(input("P")->meaning, "bf16 peak, dense");
}

Test(explain, splits_the_parameters_by_what_they_are_for)
{
    take_example();
    expect_value("params", 8030261248.0);
    /* embedding, 32 (4096 * 6144 + 4096 * 4096), 32 * 3 * 4096 * 14336, norms, last norm, head */
    const double want[] = {525336576, 1342177280, 5637144576, 262144, 4096, 525336576};
    cr_assert_eq(explanation->term_count, 6);
    for (int i = 0; i < 6; i++)
        cr_expect_eq(explanation->terms[i].value, want[i], "%s", explanation->terms[i].name);
    cr_expect_str_eq(explanation->terms[2].formula, "3 layers h f");
}

Test(explain, orders_the_terms_of_a_step_by_time)
{
    take_example();
    expect_value("tpot_s", prediction.tpot_s.value);
    for (int i = 1; i < explanation->term_count; i++)
        cr_expect(explanation->terms[i - 1].value >= explanation->terms[i].value);
    cr_expect_str_eq(explanation->terms[0].formula, "launches time_s");
    cr_expect(strncmp(explanation->terms[0].numbers, "32 * ", 5) == 0);
}

Test(explain, marks_what_was_assumed)
{
    take_example();
    hw.memory_usable_bytes = 0;
    hw.link.latency_assumed = true;
    asked.tp = 2;
    cr_assert_eq(config_init(&c, &model, &hw, NULL, &asked, NULL), LLMPERF_OK);
    cr_assert_eq(llmperf_predict(&c, &prediction, NULL), LLMPERF_OK);
    expect_value("capacity", 80e9);
    cr_expect(input("memory")->assumed);
    /* 2 (1/2) 64 * 4096 * 2 bytes over 450 GB/s, and 3 us */
    expect_value("comm.mlp", 3e-6 + 524288 / 450e9);
    cr_expect(input("latency")->assumed);
    cr_expect(!input("link_bytes_per_s")->assumed);
}

Test(explain, takes_short_names_where_only_one_fits)
{
    static const struct {
        char given[48], full[64];
    } names[] = {
        {"kv_bytes", "memory.kv_bytes"},
        {"tpot", "tpot_s"},
        {"tpot_s.high", "tpot_s.high"},
        {"ttft", "ttft_s"},
        {"e2e", "e2e_s"},
        {"share.dense", "decode.share.dense"},
        {"cost", "cost_usd_per_mtok"},
        {"knee", "latency_knee_batch"},
        {"decode.tokens_per_s", "decode.tokens_per_s"},
        {"compute_bound_batch", "compute_bound_batch.datasheet.dense"},
        {"compute_bound_batch.dense", "compute_bound_batch.datasheet.dense"},
        {"compute_bound_batch.dense.exact", "compute_bound_batch.datasheet.dense.exact"},
        {"compute_bound_batch.attn.out", "compute_bound_batch.datasheet.attn.out"},
        {"attn.out", "attn.out"},
    };
    take_example();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        llmperf_error error = {0};
        cr_assert_eq(explain(names[i].given, &error), LLMPERF_OK, "%s: %.200s", names[i].given,
                     error.text);
        cr_expect_str_eq(explanation->result.name, names[i].full, "%s became %s", names[i].given,
                         explanation->result.name);
    }
}

Test(explain, refuses_unknown_and_ambiguous_names)
{
    llmperf_error error = {0};
    take_example();
    cr_expect_eq(explain("tpoy_s", &error), LLMPERF_E_USAGE);
    cr_expect(strstr(error.text, "did you mean 'tpot_s'?"), "%.200s", error.text);
    cr_expect(strstr(error.text, "memory.kv_bytes"), "the known ones are listed");
    cr_expect(strstr(error.text, "attn.qkv"));
    error = (llmperf_error){0};
    cr_expect_eq(explain("weight_bytes", &error), LLMPERF_E_USAGE);
    cr_expect_str_eq(error.text,
                     "'weight_bytes' is ambiguous: model.weight_bytes, memory.weight_bytes");
    static const char *const wrong[] = {"",
                                        "attn.scores",
                                        "attn.qkv:9",
                                        "attn.qkv:x",
                                        "memory",
                                        "tpot_s.exact",
                                        "kv_bytes.low",
                                        ".",
                                        "attn.out.",
                                        "compute_bound_batch.norm",
                                        "compute_bound_batch.datasheet.per_op.*"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        cr_expect_eq(explain(wrong[i], NULL), LLMPERF_E_USAGE, "%s", wrong[i]);
    char longer[300];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    cr_expect_eq(explain(longer, NULL), LLMPERF_E_USAGE);
}

Test(explain, counts_without_hardware)
{
    llmperf_error error = {0};
    take_example();
    cr_assert_eq(config_init(&c, &model, NULL, NULL, &asked, NULL), LLMPERF_OK);
    expect_value("model.kv_bytes_per_token", 131072); /* 2 * 32 * 8 * 128 * 2 */
    expect_value("attn.qkv", 2.0 * 64 * 6144 * 4096); /* flop */
    cr_expect_eq(explanation->result.unit, LLMPERF_UNIT_FLOP);
    cr_expect_eq(explain("tpot_s", &error), LLMPERF_E_USAGE);
    cr_expect_str_eq(error.text, "'tpot_s' needs HARDWARE behind the model");
}

Test(explain, shows_the_operators_of_prefill_when_asked)
{
    take_example();
    llmperf_explain_query query = {
        .name = "lm_head", .c = &c, .prediction = &prediction, .asked = &asked, .prefill = true};
    cr_assert_eq(llmperf_explain(&query, &explanation, NULL), LLMPERF_OK);
    cr_expect_str_eq(explanation->steps[0].formula, "b"); /* the last token of each prompt */
    llmperf_explanation_free(explanation);
    query.name = "attn.qkv";
    cr_assert_eq(llmperf_explain(&query, &explanation, NULL), LLMPERF_OK);
    cr_expect_str_eq(explanation->steps[0].formula, "b s");
    cr_expect_eq(explanation->steps[0].value, 131072);
}

/* ---- the writers ----------------------------------------------------------------------------- */

static char *written(const char *format, bool list)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    cr_assert(out);
    llmperf_status status = list ? llmperf_write_explain_list(out, format, NULL, NULL)
                                 : llmperf_write_explanation(out, format, explanation, NULL, NULL);
    cr_assert_eq(status, LLMPERF_OK);
    fclose(out);
    return text;
}

Test(explain, text_stays_within_80_columns)
{
    static const char *const names[] = {"tpot_s",
                                        "memory.kv_bytes",
                                        "attn.core",
                                        "model.params",
                                        "compute_bound_batch.dense",
                                        "memory.activation_bytes",
                                        "batching.attention_takes_frac"};
    take_example();
    for (size_t i = 0; i <= sizeof names / sizeof *names; i++) {
        bool list = i == sizeof names / sizeof *names;
        if (!list)
            cr_assert_eq(explain(names[i], NULL), LLMPERF_OK);
        char *text = written("text", list);
        for (const char *line = text; *line;) {
            size_t length = strcspn(line, "\n");
            cr_expect(length <= 80, "%s: '%.*s'", list ? "list" : names[i], (int)length, line);
            line += length + (line[length] == '\n');
        }
        free(text);
    }
}

Test(explain, json_is_json_and_says_the_same)
{
    doc *document;
    take_example();
    cr_assert_eq(explain("memory.kv_bytes", NULL), LLMPERF_OK);
    char *text = written("json", false);
    cr_assert_eq(doc_load_text("explain.json", text, strlen(text), &document, NULL), LLMPERF_OK);
    doc_node *root = doc_root(document);
    cr_expect_str_eq(doc_get(root, "value")->text, "21474836480");
    cr_expect_str_eq(doc_get(root, "unit")->text, "bytes");
    cr_expect_str_eq(doc_get(root, "formula")->text,
                     "2 * b * block * ceil((s + g) / block) * layers * n_kv * d * c");
    cr_expect_eq((int)doc_get(root, "inputs")->count, explanation->input_count);
    doc_free(document);
    free(text);
    text = written("json", true);
    cr_assert_eq(doc_load_text("list.json", text, strlen(text), &document, NULL), LLMPERF_OK);
    doc_free(document);
    free(text);
    text = written("csv", false);
    cr_expect(strncmp(text,
                      "part,name,formula,numbers,value,unit,meaning,origin,source,confidence,"
                      "assumed\nresult,memory.kv_bytes,",
                      100) == 0);
    free(text);
    free(written("md", false));
    free(written("md", true));
    free(written("csv", true));
    cr_expect_eq(llmperf_write_explanation(stdout, "xml", explanation, NULL, NULL),
                 LLMPERF_E_USAGE);
}
