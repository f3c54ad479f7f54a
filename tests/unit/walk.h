/* SPDX-License-Identifier: MIT */
/*
 * One sound argument of each type, and wrong ones, for the calls that tests/tools/walk.py makes. Public
 * headers alone, as a program has them. Objects are made anew before every call.
 */
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "llmperf/llmperf.h"
#ifdef WALK_CALIB
#include "llmperf/chart.h"
#include "llmperf/device.h"
#include "llmperf/fit.h"
#include "llmperf/fit_engine.h"
#include "llmperf/join.h"
#include "llmperf/results.h"
#include "llmperf/session.h"
#include "llmperf/validate.h"
#endif
#include "config_object.h"
#include "engine_object.h"

typedef enum expectation { ANY, SOUND, DUE } expectation;

static struct sound {
    FILE *out;
    llmperf_error error;
    size_t size;
    char buffer[LLMPERF_PATH_MAX];
    const char *words[3];
    int64_t counts[4];

    llmperf_spec_paths spec_paths;
    char path[LLMPERF_PATH_MAX], hw_path[LLMPERF_PATH_MAX], calib_path[LLMPERF_PATH_MAX],
        engine_path[LLMPERF_PATH_MAX];
    llmperf_model *model, *made_model;
    llmperf_calib *calib, *made_calib;
    llmperf_engine *engine, *made_engine;
    llmperf_config *config, *made_config;
    llmperf_workspace *workspace, *made_workspace;
    llmperf_sweep_writer *sweep_writer, *made_sweep_writer;
    llmperf_list_writer *list_writer, *made_list_writer;
    const char *made_char;

    llmperf_hw hw;
    llmperf_workload workload;
    llmperf_decoder decoder;
    llmperf_prediction prediction;
    llmperf_op op, ops[LLMPERF_OPS_MAX];
    llmperf_time time, times[LLMPERF_OPS_MAX];
    llmperf_segment segment;
    llmperf_total total;
    llmperf_memory memory;
    llmperf_crossings crossings;
    llmperf_point point;
    llmperf_estimate estimate;
    llmperf_calib_key calib_key;
    llmperf_notes notes;
    llmperf_loaded loaded;
    llmperf_load_options load_options;
    llmperf_text_style text_style;
    llmperf_output output;
    llmperf_run run;
    llmperf_runs runs;
    llmperf_sweep_row sweep_row;
    llmperf_explain_query explain_query;
    llmperf_explanation *explanation, *made_explanation;
    llmperf_compare_row compare_row;
    llmperf_compare_skip compare_skip;
    llmperf_compare_summary compare_summary;
    llmperf_comparison comparison;
    llmperf_curve_item curve_item;
    llmperf_curve *curve;
    llmperf_curves curves;
    llmperf_plot plot;
    llmperf_plot_panel *plot_panel;
    llmperf_plot_series *plot_series;
    llmperf_plot_point plot_point;
    llmperf_plot_mark plot_mark;
    llmperf_plot_style plot_style;
    bool flag;
    int count;
#ifdef WALK_CALIB
    char runs_path[LLMPERF_PATH_MAX], samples_path[LLMPERF_PATH_MAX];
    int32_t index;
    llmperf_samples samples;
    llmperf_sample sample;
    llmperf_sample_filter sample_filter;
    llmperf_samples_options samples_options;
    llmperf_runs_options runs_options;
    llmperf_join_options join_options;
    llmperf_join *join, *made_join;
    llmperf_attention_shape attention_shape;
    llmperf_mixed_shape mixed_shape;
    llmperf_moe_shape moe_shape;
    llmperf_moe_load moe_load;
    llmperf_chart_filter chart_filter;
    llmperf_fits fits;
    llmperf_fit_options fit_options;
    llmperf_fits_naming fits_naming;
    llmperf_fit_score fit_score;
    llmperf_engine_fit_options engine_fit_options;
    llmperf_engine_fit_row engine_fit_row;
#endif
    double number;
} sound;

/* What is read once. */
static llmperf_model *first_model;
static llmperf_calib *first_calib;
static llmperf_engine *first_engine;
static llmperf_hw first_hw;
static char *text_of_model, *text_of_hw, *text_of_calib, *text_of_engine;

#define MODEL text_of_model
#define HARDWARE text_of_hw
#define CALIBRATION text_of_calib
#define PROFILE text_of_engine
#ifdef WALK_CALIB
static const char RUNS[] =
    "engine,gpu,model,weight_dtype,tp,batch,input_len,output_len,metric,value\n"
    "mine,h100-sxm,llama-3.1-8b,bf16,1,4,128,32,tpot_ms,7\n";
static const char SAMPLES[] = "op,dtype,m,n,k,time_s\ngemm,bf16,64,4096,4096,2e-5\n";
#define sound_sample_kind LLMPERF_SAMPLE_GEMM
#endif

#define sound_dtype LLMPERF_DTYPE_BF16
#define sound_op_id LLMPERF_OP_LM_HEAD
#define sound_op_kind LLMPERF_KIND_GEMM
#define sound_op_group LLMPERF_GROUP_DENSE
#define sound_regime LLMPERF_REGIME_NONE
#define sound_collective LLMPERF_COLLECTIVE_ALL_REDUCE
#define sound_bound LLMPERF_BOUND_MEMORY
#define sound_param LLMPERF_PARAM_MEMORY
#define sound_engine_param LLMPERF_ENGINE_WEIGHT
#define sound_hw_field LLMPERF_HW_PEAK
#define sound_confidence LLMPERF_CONFIDENCE_READ
#define sound_estimate_kind LLMPERF_ESTIMATE_BOUND
#define sound_spread_class LLMPERF_SPREAD_DECODE_STEP
#define sound_sweep_phase LLMPERF_SWEEP_DECODE
#define sound_metric LLMPERF_METRIC_E2E
#define sound_unit LLMPERF_UNIT_S
#define sound_origin LLMPERF_ORIGIN_MODEL

enum { WRONG = 9 };
static llmperf_hw wrong_hw[WRONG];
static llmperf_op wrong_op[WRONG];
static llmperf_run wrong_run[WRONG];
static llmperf_workload wrong_workload[WRONG];
static llmperf_notes wrong_notes[WRONG];
static llmperf_spec_paths wrong_spec_paths[2];
static llmperf_calib_key wrong_calib_key[WRONG];
static llmperf_decoder wrong_decoder[WRONG];
static llmperf_segment wrong_segment[WRONG];
static llmperf_plot_point wrong_plot_point[WRONG];
static llmperf_plot_mark wrong_plot_mark[WRONG];
static llmperf_sweep_row wrong_sweep_row[WRONG];
#ifdef WALK_CALIB
static llmperf_sample wrong_sample[2];
static llmperf_attention_shape wrong_attention_shape[1];
static llmperf_mixed_shape wrong_mixed_shape[1];
static llmperf_moe_shape wrong_moe_shape[1];
#endif

/* ---- callbacks ------------------------------------------------------------------------------------ */

static void visit_pair(const char *place, const char *key, const char *value, void *context)
{
    (void)place, (void)key, (void)value, (void)context;
}

static void visit_prefill(const llmperf_segment *segments, int segment_count, double times,
                          void *context)
{
    (void)segments, (void)segment_count, (void)times, (void)context;
}

static void visit_run(const llmperf_run_step *step, void *context)
{
    (void)step, (void)context;
}

static bool visit_spec(const char *name, const char *path, void *context)
{
    (void)name, (void)path, (void)context;
    return true;
}

/* ---- sound values --------------------------------------------------------------------------------- */

static char now[512];
static int calls, faults;
static llmperf_status last;

static void stop(const char *what)
{
    fprintf(stderr, "walk: %s: %s\n", now, what);
    exit(1);
}

static void need(llmperf_status status)
{
    if (status != LLMPERF_OK)
        stop(sound.error.text);
}

/* A signal's handler may write and leave. */
static void crashed(int number)
{
    static const char told[] = "walk: a fault in ";
    ssize_t written = write(STDERR_FILENO, told, sizeof told - 1);
    written += write(STDERR_FILENO, now, strlen(now));
    written += write(STDERR_FILENO, "\n", 1);
    _exit(written > 0 ? 128 + number : 1);
}

static char *read_text(const char *path)
{
    FILE *file = fopen(path, "r");
    char *text = calloc(1, 1 << 20);
    if (!file || !text || fread(text, 1, (1 << 20) - 1, file) == 0)
        stop(path);
    fclose(file);
    return text;
}

static void put(char *text, size_t size, const char *folder, const char *name)
{
    snprintf(text, size, "%.3000s/%s", folder, name);
}

static void read_once(void)
{
    const char *source = getenv("LLMPERF_SOURCE");
    char *folder = sound.spec_paths.folder[0];
    if (!source)
        stop("LLMPERF_SOURCE is not set");
    sound.spec_paths.count = 1;
    put(folder, LLMPERF_PATH_MAX, source, "specs");
    put(sound.path, sizeof sound.path, folder, "models/llama-3.1-8b.yaml");
    put(sound.hw_path, sizeof sound.hw_path, folder, "hardware/h100-sxm.yaml");
    put(sound.calib_path, sizeof sound.calib_path, folder, "calibration/h100-sxm-vllm.yaml");
    put(sound.engine_path, sizeof sound.engine_path, folder, "engine/vllm.yaml");
    text_of_model = read_text(sound.path);
    text_of_hw = read_text(sound.hw_path);
    text_of_calib = read_text(sound.calib_path);
    text_of_engine = read_text(sound.engine_path);
    need(llmperf_model_load(sound.path, &first_model, &sound.error));
    need(llmperf_hw_load(sound.hw_path, &first_hw, &sound.error));
    need(llmperf_calib_load(sound.calib_path, &first_calib, &sound.error));
    need(llmperf_engine_load(sound.engine_path, &first_engine, &sound.error));
}

#ifdef WALK_CALIB
static void make_measured(void)
{
    sound.join_options = (llmperf_join_options){.paths = &sound.spec_paths};
    need(llmperf_join_new(&sound.join_options, &sound.join, &sound.error));
    need(llmperf_samples_read_text(&sound.samples, "samples", SAMPLES, strlen(SAMPLES), NULL,
                                   &sound.error));
    sound.sample = sound.samples.sample[0];
    sound.attention_shape = (llmperf_attention_shape){.dtype = LLMPERF_DTYPE_BF16,
                                                      .sequences = 1,
                                                      .query_tokens = 1,
                                                      .past_tokens = 9,
                                                      .heads = 8,
                                                      .kv_heads = 8,
                                                      .head_dim = 64};
    sound.mixed_shape =
        (llmperf_mixed_shape){.prompt = sound.attention_shape, .lone_sequences = 2, .lone_past = 5};
    sound.moe_shape = (llmperf_moe_shape){.dtype = LLMPERF_DTYPE_BF16,
                                          .tokens = 8,
                                          .hidden = 64,
                                          .width = 64,
                                          .experts = 8,
                                          .top_k = 2,
                                          .ep = 1};
    sound.chart_filter = (llmperf_chart_filter){.hw = &sound.hw};
    sound.fits_naming = (llmperf_fits_naming){.paths = &sound.spec_paths};
    sound.engine_fit_row = (llmperf_engine_fit_row){.run = &sound.run, .hw = "h100"};
    sound.fit_options = (llmperf_fit_options){.jobs = 1};
    wrong_sample[0] = wrong_sample[1] = sound.sample;
    memset(&wrong_sample[0].op, 0xff, sizeof wrong_sample[0].op);
    wrong_sample[0].kind = 200;
    wrong_sample[1].library = 1 << 30;
    wrong_attention_shape[0].dtype = (llmperf_dtype)99;
    wrong_mixed_shape[0].prompt.kv_dtype = (llmperf_dtype)99;
    wrong_moe_shape[0].weights = (llmperf_dtype)99;
}

static void free_measured(void)
{
    llmperf_join_free(sound.join);
    llmperf_join_free(sound.made_join);
    llmperf_samples_free(&sound.samples);
    llmperf_fits_free(&sound.fits);
    sound.join = sound.made_join = NULL;
}

static void write_files(void)
{
    const char *folder = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
    snprintf(sound.runs_path, sizeof sound.runs_path, "%.3000s/walk-%ld.csv", folder,
             (long)getpid());
    snprintf(sound.samples_path, sizeof sound.samples_path, "%.3000s/walk-samples-%ld.csv", folder,
             (long)getpid());
    const char *const paths[] = {sound.runs_path, sound.samples_path}, *texts[] = {RUNS, SAMPLES};
    for (int i = 0; i < 2; i++) {
        FILE *file = fopen(paths[i], "w");
        if (!file || fputs(texts[i], file) < 0 || fclose(file) != 0)
            stop(paths[i]);
    }
}
#endif

static void make_objects(void)
{
    static const char *const axes[] = {"batch", NULL};
    need(llmperf_model_copy(first_model, &sound.model, &sound.error));
    need(llmperf_calib_copy(first_calib, &sound.calib, &sound.error));
    need(llmperf_engine_copy(first_engine, &sound.engine, &sound.error));
    need(
        llmperf_config_new(sound.model, &sound.hw, sound.calib, NULL, &sound.config, &sound.error));
    need(llmperf_workspace_new(sound.config, 4, &sound.workspace, &sound.error));
    need(llmperf_sweep_open(sound.out, "json", sound.model, NULL, LLMPERF_SWEEP_DECODE, axes, 1, 1,
                            NULL, &sound.sweep_writer, &sound.error));
    need(llmperf_list_open(sound.out, "json", &sound.list_writer, &sound.error));
    sound.plot_panel = llmperf_plot_add_panel(&sound.plot, "panel", "Panel");
    sound.plot_series = llmperf_plot_add_series(sound.plot_panel, "series", LLMPERF_DRAW_LINE);
    sound.curve = llmperf_curves_add(&sound.curves, "curve");
    need(llmperf_comparison_add(&sound.comparison, &sound.compare_row, &sound.error));
}

static void make_values(void)
{
    sound.hw = first_hw;
    sound.size = sizeof sound.buffer;
    sound.words[0] = "batch";
    sound.words[1] = "prompt";
    for (int i = 0; i < 4; i++)
        sound.counts[i] = 1 << i;
    sound.workload = (llmperf_workload)LLMPERF_WORKLOAD_INIT;
    sound.decoder = (llmperf_decoder){.size = sizeof(llmperf_decoder),
                                      .layers = 2,
                                      .hidden = 64,
                                      .heads = 4,
                                      .ffn = 128,
                                      .vocab = 1000};
    sound.prediction = (llmperf_prediction)LLMPERF_PREDICTION_INIT;
    sound.op = (llmperf_op){.id = LLMPERF_OP_LM_HEAD,
                            .kind = LLMPERF_KIND_GEMM,
                            .dtype = LLMPERF_DTYPE_BF16,
                            .launches = 1,
                            .devices = 1,
                            .repeat = 1,
                            .m = 8,
                            .n = 64,
                            .k = 64,
                            .flop = 65536,
                            .weight_bytes = 8192,
                            .bytes = 8192};
    sound.segment =
        (llmperf_segment){.sequences = 1, .query = 1, .past = 10, .logits = 1, .decode = true};
    sound.calib_key = (llmperf_calib_key){.kind = LLMPERF_KIND_GEMM, .dtype = LLMPERF_DTYPE_BF16};
    sound.load_options = (llmperf_load_options){.paths = &sound.spec_paths, .model = "gpt2"};
    sound.run = (llmperf_run){.kind = LLMPERF_RUN_STATIC,
                              .metric = LLMPERF_METRIC_E2E,
                              .batch = 1,
                              .prompt = 100,
                              .generate = 10,
                              .value = 1,
                              .tp = 1,
                              .shape = {2, 64, 4, 4, 128, 1000}};
    sound.sweep_row = (llmperf_sweep_row){.hw = "h100", .batch = 1, .prompt = 1, .tp = 1};
    sound.curve_item = (llmperf_curve_item){.op = sound.op, .batch = 1, .time_s = 1e-6};
    sound.compare_row = (llmperf_compare_row){.measured = 1, .predicted = {1, 1, 1}, .roofline = 1};
    sound.plot_point = (llmperf_plot_point){.x = 1, .y = 1, .low = 1, .high = 1};
    sound.plot_mark = (llmperf_plot_mark){.value = 1, .low = 1, .high = 1};
}

static void make_wrong(void)
{
    for (int i = 0; i < WRONG; i++) {
        wrong_hw[i] = sound.hw;
        wrong_op[i] = sound.op;
        wrong_run[i] = sound.run;
        wrong_workload[i] = sound.workload;
        wrong_notes[i] = sound.notes;
        wrong_decoder[i] = sound.decoder;
        wrong_segment[i] = sound.segment;
        wrong_sweep_row[i] = sound.sweep_row;
    }
    memset(wrong_hw[0].name, 'x', sizeof wrong_hw[0].name);
    wrong_hw[1].alias_count = 9999;
    wrong_hw[2].notes.count = -1;
    wrong_hw[3].peak_flop_per_s[LLMPERF_DTYPE_BF16] = NAN;
    memset(&wrong_hw[4], 0, sizeof wrong_hw[4]);
    memset(&wrong_op[0], 0xff, 8);
    wrong_op[1].kind = 200;
    wrong_op[2].dtype = 99;
    wrong_op[3] = (llmperf_op){.kind = LLMPERF_KIND_COLLECTIVE, .devices = 0};
    wrong_op[4] = (llmperf_op){.kind = LLMPERF_KIND_ATTENTION, .regime = LLMPERF_REGIME_MIXED};
    wrong_op[5].flop = wrong_op[5].bytes = NAN;
    wrong_op[6].group = 77;
    wrong_run[0].metric = (llmperf_metric)99;
    wrong_run[1].kind = (llmperf_run_kind)99;
    memset(wrong_run[2].model, 'x', sizeof wrong_run[2].model);
    memset(wrong_run[3].kv_dtype, 'x', sizeof wrong_run[3].kv_dtype);
    wrong_workload[0].size = 0;
    wrong_workload[1].weight_dtype = (llmperf_dtype)99;
    wrong_workload[2].prompt = INT64_MAX;
    wrong_workload[3].prompt = INT64_MIN;
    wrong_workload[4].moe_skew = NAN;
    wrong_workload[5].tpot_s = INFINITY;
    wrong_workload[6].batch = -1;
    wrong_workload[7].chunk = INT64_MAX;
    wrong_workload[8].kv_block = INT64_MIN;
    wrong_notes[0].count = -5;
    wrong_notes[1].count = 1;
    memset(wrong_notes[1].text[0], 'x', sizeof wrong_notes[1].text[0]);
    wrong_spec_paths[0].count = 99;
    wrong_spec_paths[1].count = 1;
    memset(wrong_spec_paths[1].folder[0], 'x', LLMPERF_PATH_MAX);
    memset(&wrong_calib_key[0], 0xff, sizeof wrong_calib_key[0]);
    wrong_decoder[0].size = 8;
    wrong_decoder[1].dtype = (llmperf_dtype)99;
    wrong_decoder[2].heads = 0;
    wrong_decoder[3].hidden = INT64_MAX;
    wrong_decoder[4].layers = INT64_MIN;
    wrong_decoder[5].kv_heads = 3;
    wrong_segment[0] = (llmperf_segment){INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, false};
    wrong_segment[1] = (llmperf_segment){-1, -1, -1, -1, true};
    wrong_plot_point[0] = (llmperf_plot_point){.x = NAN, .y = INFINITY, .color = 255};
    wrong_plot_mark[0] = (llmperf_plot_mark){.value = -INFINITY, .color = 255};
    wrong_sweep_row[0].weight_dtype = (llmperf_dtype)99;
    wrong_sweep_row[0].point.bound = 99;
}

static void free_objects(void)
{
#ifdef WALK_CALIB
    free_measured();
#endif
    const llmperf_notes none = {0};
    if (sound.sweep_writer)
        llmperf_sweep_close(sound.sweep_writer, &none, NULL);
    if (sound.made_sweep_writer)
        llmperf_sweep_close(sound.made_sweep_writer, &none, NULL);
    if (sound.list_writer)
        llmperf_list_close(sound.list_writer, NULL);
    if (sound.made_list_writer)
        llmperf_list_close(sound.made_list_writer, NULL);
    llmperf_config_free(sound.config);
    llmperf_config_free(sound.made_config);
    llmperf_workspace_free(sound.workspace);
    llmperf_workspace_free(sound.made_workspace);
    llmperf_explanation_free(sound.explanation);
    llmperf_explanation_free(sound.made_explanation);
    llmperf_model_free(sound.model);
    llmperf_model_free(sound.made_model);
    llmperf_calib_free(sound.calib);
    llmperf_calib_free(sound.made_calib);
    llmperf_engine_free(sound.engine);
    llmperf_engine_free(sound.made_engine);
    llmperf_loaded_free(&sound.loaded);
    llmperf_runs_free(&sound.runs);
    llmperf_comparison_free(&sound.comparison);
    llmperf_plot_free(&sound.plot);
    llmperf_curves_free(&sound.curves);
    sound.model = sound.made_model = NULL;
    sound.calib = sound.made_calib = NULL;
    sound.engine = sound.made_engine = NULL;
    sound.config = sound.made_config = NULL;
    sound.workspace = sound.made_workspace = NULL;
    sound.explanation = sound.made_explanation = NULL;
    sound.sweep_writer = sound.made_sweep_writer = NULL;
    sound.list_writer = sound.made_list_writer = NULL;
}

/* What comes before each call, and what is looked at behind one that tells a status. */
static void begin(const char *call)
{
    if (!sound.out) {
        const int caught[] = {SIGSEGV, SIGABRT, SIGFPE, SIGBUS};
        for (int i = 0; i < 4; i++)
            signal(caught[i], crashed);
        sound.out = fopen("/dev/null", "w");
        read_once();
#ifdef WALK_CALIB
        write_files();
#endif
    }
    free_objects();
    sound.error = (llmperf_error){0};
    make_values();
    make_objects();
    make_wrong();
#ifdef WALK_CALIB
    make_measured();
#endif
    sound.output = (llmperf_output){.file = sound.out};
    sound.explain_query = (llmperf_explain_query){.name = "memory.weight_bytes",
                                                  .c = sound.config,
                                                  .prediction = &sound.prediction,
                                                  .asked = &sound.workload};
    if (strstr(call, "prediction(") || strstr(call, "expla"))
        need(llmperf_predict(sound.config, &sound.prediction, &sound.error));
    if (strstr(call, "explanation"))
        need(llmperf_explain(&sound.explain_query, &sound.explanation, &sound.error));
    if (strstr(call, "llmperf_load_"))
        sound.load_options.model = NULL;
    sound.error = (llmperf_error){0};
    snprintf(now, sizeof now, "%s", call);
    calls++;
}

static void end(llmperf_status status, expectation wanted)
{
    last = status;
    bool wrong = (wanted == DUE && status != LLMPERF_E_USAGE) ||
                 (wanted == SOUND && status != LLMPERF_OK) ||
                 (status != LLMPERF_OK && sound.error.faults == 0 && !strstr(now, "NULL)"));
    bool made = sound.made_model || sound.made_calib || sound.made_engine || sound.made_config ||
                sound.made_workspace || sound.made_explanation || sound.made_sweep_writer ||
                sound.made_list_writer;
    if (!wrong && !(status != LLMPERF_OK && made))
        return;
    faults++;
    fprintf(stderr, "walk: %s gives status %d%s: %s\n", now, (int)status,
            made ? " and a result" : "", sound.error.text);
}

/* Has the call before ended its object? */
static inline bool ended(void)
{
    return last == LLMPERF_OK;
}

static int finish(void)
{
    free_objects();
    llmperf_model_free(first_model);
    llmperf_calib_free(first_calib);
    llmperf_engine_free(first_engine);
    free(text_of_model);
    free(text_of_hw);
    free(text_of_calib);
    free(text_of_engine);
#ifdef WALK_CALIB
    unlink(sound.runs_path);
    unlink(sound.samples_path);
#endif
    printf("%d calls, %d faults\n", calls, faults);
    return faults > 0;
}
