/* SPDX-License-Identifier: MIT */
/* llmperf sweep MODEL HARDWARE[,HARDWARE...]: the cross product of axes, spread over threads. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "common.h"

enum {
    HW_MAX = 64,
    DTYPES_MAX = 16,
    QUANTS_MAX = 16,
    WORD_MAX = 64,
    JOBS_MAX = 256,
    BLOCK = 4096, /* points computed before they are written, in order */
    TEXT_ROWS = 40,
};

static const int64_t POINTS_MAX = (int64_t)1 << 32;

typedef struct sweep_arguments {
    common_arguments common;
    const char *batch, *prompt, *context, *tp;   /* ranges */
    const char *weight_dtype, *kv_dtype, *quant; /* words */
    int phase;
    int64_t jobs;
} sweep_arguments;

static const char *const PHASES[] = {"decode", "prefill", NULL};

#define AXIS(field, name, letter, text, most, by_default)                                          \
    OPTION_ROW(sweep_arguments, field, RANGE, name, letter, "RANGE", text, .min = 1, .max = most,  \
               .default_text = by_default, .group = "Axes")

static const option OPTIONS[] = {
    AXIS(batch, "batch", 'b', "sequences together: 1..512, 1..512*2, 8..64+8, 1,7,9", 16777216,
         "1..256*2"),
    AXIS(prompt, "prompt", 's', "prompt tokens of each", 1073741824, "1024"),
    OPTION_ROW(sweep_arguments, context, RANGE, "context", 0, "RANGE",
               "tokens cached when a decode step starts", .min = 0, .max = 1073741824,
               .default_text = "prompt + generate/2", .group = "Axes"),
    AXIS(tp, "tp", 0, "tensor-parallel degrees; illegal ones are left out", 65536, "1"),
    OPTION_ROW(sweep_arguments, weight_dtype, WORDS, "weight-dtype", 0, "DTYPES",
               "formats of dense weights: bf16,fp8,int4", .default_text = "the file's",
               .group = "Axes"),
    OPTION_ROW(sweep_arguments, kv_dtype, WORDS, "kv-dtype", 0, "DTYPES", "formats of the KV cache",
               .default_text = "as activations", .group = "Axes"),
    OPTION_ROW(sweep_arguments, quant, WORDS, "quant", 0, "NAMES",
               "schemes: fp8 fp8-block int8 awq gptq nf4 mxfp4 nvfp4 q8_0 q4_0 none",
               .default_text = "the checkpoint's", .group = "Axes"),
    OPTION_ROW(sweep_arguments, phase, CHOICE, "phase", 0, "PHASE",
               "what is timed: a decode step, or the prefill of all prompts", .choices = PHASES,
               .default_text = "decode", .group = "Workload"),
    COMMON_STEP_ROWS(sweep_arguments),
    COMMON_ACT_ROW(sweep_arguments),
    COMMON_FORM_ROWS(sweep_arguments),
    COMMON_MEMORY_ROWS(sweep_arguments),
    COMMON_TIMING_ROWS(sweep_arguments),
    COMMON_CONFIDENCE_ROW(sweep_arguments, "Deployment"),
    OPTION_ROW(sweep_arguments, jobs, INT64, "jobs", 'j', "N", "threads", .min = 1, .max = JOBS_MAX,
               .default_text = "the cores", .group = "Output"),
    COMMON_OUTPUT_ROWS(sweep_arguments),
    OPTION_END,
};

/* Values of an axis, expanded. */
typedef struct axis {
    int64_t count;
    int64_t *value;
} axis;

typedef struct sweep {
    llmperf_spec_paths paths;
    llmperf_load_options loading; /* as the options say; borrows paths */
    /* the model, once for each scheme; the checkpoint's own where none is asked for */
    const llmperf_model *models[QUANTS_MAX];
    int quant_count;                  /* at least 1 */
    char quant[QUANTS_MAX][WORD_MAX]; /* "" = the checkpoint's own */
    int hw_count;
    const llmperf_hw *hw[HW_MAX];
    const llmperf_calib *calib[HW_MAX]; /* of each part; NULL = none */
    int loaded_count;
    llmperf_loaded *loaded;     /* what owns these */
    int weight_count, kv_count; /* at least 1; NONE = the default */
    llmperf_dtype weight[DTYPES_MAX], kv[DTYPES_MAX];
    axis tp, prompt, context, batch;
    llmperf_workload workload; /* what the axes do not say */
    llmperf_sweep_phase phase;
    int64_t points;
    /* a case for each legal (hardware, scheme, weights, KV, tp), in that order */
    llmperf_config **cases;
    int64_t case_count;
    llmperf_config *moved[JOBS_MAX]; /* of each thread: its case at a point */
} sweep;

static void free_sweep(sweep *s)
{
    for (int i = 0; i < s->loaded_count; i++)
        llmperf_loaded_free(&s->loaded[i]);
    free(s->loaded);
    free(s->tp.value);
    free(s->prompt.value);
    free(s->context.value);
    free(s->batch.value);
    for (int64_t i = 0; i < s->case_count; i++)
        llmperf_config_free(s->cases[i]);
    free(s->cases);
    for (int i = 0; i < JOBS_MAX; i++)
        llmperf_config_free(s->moved[i]);
}

static llmperf_status expand(const char *text, int64_t min, int64_t max, axis *ret_axis,
                             llmperf_error *error)
{
    option_range *range = malloc(sizeof *range);
    if (!range)
        return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    llmperf_status status = option_parse_range(text, min, max, range, error);
    if (status == LLMPERF_OK) {
        option_range_cursor cursor = {0};
        ret_axis->value = malloc((size_t)range->point_count * sizeof *ret_axis->value);
        if (!ret_axis->value)
            status = llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
        for (int64_t v; ret_axis->value && option_range_next(range, &cursor, &v);)
            ret_axis->value[ret_axis->count++] = v;
    }
    free(range);
    return status;
}

/* The next word of a list as a string of its own; one that is too long is cut and so unknown. */
static bool next_word(const char **rest, char *buffer, size_t size)
{
    const char *word;
    size_t length;
    if (!option_words_next(rest, &word, &length))
        return false;
    length = length < size ? length : size - 1;
    memcpy(buffer, word, length);
    buffer[length] = '\0';
    return true;
}

static llmperf_status read_dtypes(const char *name, const char *words, llmperf_dtype *ret_dtypes,
                                  int *ret_count, llmperf_error *error)
{
    char word[WORD_MAX];
    const char *rest = words;
    *ret_count = 0;
    if (!words) {
        ret_dtypes[(*ret_count)++] = LLMPERF_DTYPE_NONE;
        return LLMPERF_OK;
    }
    while (next_word(&rest, word, sizeof word)) {
        llmperf_dtype dtype = llmperf_dtype_parse(word);
        if (dtype == LLMPERF_DTYPE_NONE || *ret_count == DTYPES_MAX)
            return llmperf_fail(error, LLMPERF_E_USAGE,
                                "option '--%s' takes up to %d dtypes such as bf16,fp8,int4; found "
                                "'%s'",
                                name, DTYPES_MAX, word);
        ret_dtypes[(*ret_count)++] = dtype;
    }
    return LLMPERF_OK;
}

/* Loads one model or part, untimed, and keeps it. */
static llmperf_status keep_loaded(sweep *s, const llmperf_load_options *options,
                                  llmperf_loaded **ret_loaded, llmperf_error *error)
{
    llmperf_load_options untimed = *options;
    untimed.calibration = "none";
    untimed.engine = NULL;
    llmperf_status status = llmperf_load(&untimed, &s->loaded[s->loaded_count], error);
    if (status == LLMPERF_OK)
        *ret_loaded = &s->loaded[s->loaded_count++];
    return status;
}

/* The model as its file has it, or once for each scheme. */
static llmperf_status load_models(const sweep_arguments *a, const char *name, sweep *s,
                                  llmperf_error *error)
{
    const char *rest = a->quant;
    llmperf_status status = LLMPERF_OK;
    while (status == LLMPERF_OK && (a->quant ? next_word(&rest, s->quant[s->quant_count], WORD_MAX)
                                             : s->quant_count == 0)) {
        llmperf_loaded *one;
        llmperf_load_options options = s->loading;
        options.model = name;
        options.quant = a->quant ? s->quant[s->quant_count] : NULL;
        status = keep_loaded(s, &options, &one, error);
        if (status == LLMPERF_OK)
            s->models[s->quant_count++] = one->model;
        if (status == LLMPERF_OK && rest && s->quant_count == QUANTS_MAX)
            return llmperf_fail(error, LLMPERF_E_USAGE, "option '--quant' takes at most %d schemes",
                                QUANTS_MAX);
    }
    return status;
}

static llmperf_status load_parts(const char *names, sweep *s, llmperf_error *error)
{
    char name[LLMPERF_PATH_MAX];
    const char *rest = names;
    while (next_word(&rest, name, sizeof name)) {
        if (s->hw_count == HW_MAX)
            return llmperf_fail(error, LLMPERF_E_USAGE,
                                "more than %d devices; at most %d are allowed", HW_MAX, HW_MAX);
        llmperf_loaded *one;
        llmperf_load_options options = s->loading;
        options.hw = name;
        llmperf_status status = keep_loaded(s, &options, &one, error);
        if (status != LLMPERF_OK)
            return status;
        s->hw[s->hw_count++] = one->hw;
    }
    return s->hw_count > 0 ? LLMPERF_OK
                           : llmperf_fail(error, LLMPERF_E_USAGE,
                                          "no hardware is named; at least "
                                          "one name is required");
}

/* Each part's own, or the asked one for all of them; where they differ, a line says which is whose. */
static llmperf_status load_calibrations(sweep *s, llmperf_notes *notes, llmperf_error *error)
{
    bool none = true, lent = false;
    for (int i = 0; i < s->hw_count; i++) {
        llmperf_loaded *part = &s->loaded[s->quant_count + i];
        llmperf_status status = llmperf_load_calib(&s->loading, part->hw, &part->calib, error);
        if (status != LLMPERF_OK)
            return status;
        s->calib[i] = part->calib;
        none &= !part->calib;
        lent |= llmperf_calib_borrowed(part->calib) > 0;
    }
    if (none || (s->hw_count == 1 && !lent))
        return LLMPERF_OK;
    for (int i = 0; i < s->hw_count; i++)
        llmperf_note_times(notes, s->hw[i], s->calib[i]);
    return LLMPERF_OK;
}

/* Resolves each combination of the outer axes; an illegal one is left out and said. */
static llmperf_status make_cases(sweep *s, llmperf_notes *skipped, llmperf_error *error)
{
    llmperf_error first = {0}, one;
    int64_t combinations =
        (int64_t)s->hw_count * s->quant_count * s->weight_count * s->kv_count * s->tp.count;
    s->cases = calloc((size_t)combinations, sizeof *s->cases);
    if (!s->cases)
        return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    for (int64_t i = 0; i < combinations; i++) {
        int64_t rest = i;
        llmperf_workload w = s->workload;
        w.tp = s->tp.value[rest % s->tp.count];
        rest /= s->tp.count;
        w.kv_dtype = s->kv[rest % s->kv_count];
        rest /= s->kv_count;
        w.weight_dtype = s->weight[rest % s->weight_count];
        rest /= s->weight_count;
        const llmperf_model *model = s->models[rest % s->quant_count];
        int64_t at = rest / s->quant_count;
        const llmperf_hw *hw = s->hw[at];
        const llmperf_calib *calib = s->calib[at];
        memset(&one, 0, sizeof one);
        llmperf_status status =
            llmperf_config_new(model, hw, calib, &w, &s->cases[s->case_count], &one);
        if (status == LLMPERF_OK) {
            s->case_count++;
            continue;
        }
        llmperf_note(skipped, "left out on %s: %s", hw->name, one.text);
        if (first.faults == 0)
            first = one;
    }
    if (s->case_count == 0) {
        *error = first;
        return first.status;
    }
    return LLMPERF_OK;
}

/* ---- evaluation ------------------------------------------------------------------------------------ */

/* Points in a row whose results are written together. */
typedef struct block {
    int64_t from, to;
    _Atomic int64_t next;    /* to be computed */
    llmperf_sweep_row *rows; /* rows[i - from] */
} block;

/* One thread's part in it. */
typedef struct job {
    const sweep *s;
    int64_t stride;
    llmperf_config *moved;
    llmperf_workspace *workspace;
    block *block;
} job;

static void evaluate(const job *j, int64_t index, llmperf_sweep_row *ret_row)
{
    const sweep *s = j->s;
    llmperf_config *c = j->moved;
    int64_t rest = index;
    int64_t batch = s->batch.value[rest % s->batch.count];
    rest /= s->batch.count;
    int64_t contexts = s->context.count ? s->context.count : 1;
    int64_t at = rest % contexts;
    rest /= contexts;
    int64_t prompt = s->prompt.value[rest % s->prompt.count];
    llmperf_config_assign(c, s->cases[rest / s->prompt.count]);
    const llmperf_workload *w = llmperf_config_workload(c);
    int64_t context =
        s->context.count ? s->context.value[at] : llmperf_mean_context(prompt, w->generate);
    llmperf_config_move(c, batch, prompt, context);
    int scheme = 0;
    while (s->models[scheme] != llmperf_config_model(c))
        scheme++;
    const char *quant = s->quant[scheme];
    ret_row->hw = llmperf_config_hw(c)->name;
    ret_row->quant = quant[0] ? quant : NULL;
    ret_row->weight_dtype = w->weight_dtype;
    ret_row->kv_dtype = w->kv_dtype;
    ret_row->tp = w->tp;
    ret_row->prompt = prompt;
    ret_row->context = context;
    ret_row->batch = batch;
    const llmperf_calib *calib = llmperf_config_calib(c);
    ret_row->calibration = calib ? llmperf_calib_name(calib) : NULL;
    llmperf_point_of(c, s->phase, j->workspace, &ret_row->point);
}

/* Takes points of the block, a handful at a time, until none is left. */
static void *work(void *argument)
{
    enum { HANDFUL = 64 };
    job *j = argument;
    for (;;) {
        int64_t from = atomic_fetch_add(&j->block->next, HANDFUL);
        int64_t to = from + HANDFUL < j->block->to ? from + HANDFUL : j->block->to;
        if (from >= to)
            return NULL;
        for (int64_t i = from; i < to; i++)
            evaluate(j, i * j->stride, &j->block->rows[i - j->block->from]);
    }
}

/* Computes a block on `jobs` threads, of which this one is the last to come: it writes the block before
 * meanwhile (count 0 = there is none). */
static void evaluate_block(job *jobs_of, int jobs, block *next, llmperf_sweep_writer *writer,
                           const llmperf_sweep_row *written, int64_t count)
{
    pthread_t thread[JOBS_MAX];
    bool started[JOBS_MAX] = {false};
    for (int i = 0; i < jobs; i++) {
        jobs_of[i].block = next;
        started[i] = i > 0 && next->from < next->to &&
                     pthread_create(&thread[i], NULL, work, &jobs_of[i]) == 0;
    }
    for (int64_t i = 0; i < count; i++)
        llmperf_sweep_row_write(writer, &written[i]);
    work(&jobs_of[0]);
    for (int i = 1; i < jobs; i++)
        if (started[i]) /* else the others did its share */
            pthread_join(thread[i], NULL);
}

/* Each name once, with commas; NULL = none. */
static const char *calibration_names(const sweep *s, char *buffer, size_t size)
{
    size_t used = 0;
    buffer[0] = '\0';
    for (int i = 0; i < s->hw_count; i++) {
        bool seen = !s->calib[i];
        for (int k = 0; k < i && !seen; k++)
            seen = s->calib[k] &&
                   strcmp(llmperf_calib_name(s->calib[k]), llmperf_calib_name(s->calib[i])) == 0;
        if (!seen && used < size)
            used += (size_t)snprintf(buffer + used, size - used, "%s%s", used ? ", " : "",
                                     llmperf_calib_name(s->calib[i]));
    }
    return used > 0 ? buffer : NULL;
}

static llmperf_status write_all(sweep *s, const sweep_arguments *a, common_output *output,
                                const llmperf_notes *skipped, llmperf_error *error)
{
    const char *axes[9];
    int axis_count = 0;
    const struct {
        const char *name;
        int64_t count;
    } all[] = {
        {"hardware", s->hw_count},     {"quant", s->quant_count}, {"weight_dtype", s->weight_count},
        {"kv_dtype", s->kv_count},     {"tp", s->tp.count},       {"prompt", s->prompt.count},
        {"context", s->context.count}, {"batch", s->batch.count}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].count > 1)
            axes[axis_count++] = all[i].name;
    axes[axis_count] = NULL;

    /* a person reads some forty rows; a script all of them */
    bool record = llmperf_format_is_record(output->format);
    int64_t stride = record ? 1 : (s->points + TEXT_ROWS - 1) / TEXT_ROWS;
    int64_t shown = (s->points + stride - 1) / stride;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int jobs = a->jobs ? (int)a->jobs : cores > 0 && cores < JOBS_MAX ? (int)cores : 1;
    if (shown < 512) /* threads would cost more than they bring */
        jobs = 1;

    const llmperf_text_style style = {.color = output->terminal && !getenv("NO_COLOR")};
    char names[LLMPERF_TEXT_MAX];
    const char *calibrations = calibration_names(s, names, sizeof names);
    llmperf_sweep_writer *writer = NULL;
    llmperf_sweep_row *rows = malloc(2 * BLOCK * sizeof *rows); /* one computed, one written */
    if (!rows)
        return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    job jobs_of[JOBS_MAX] = {{0}};
    llmperf_status status = LLMPERF_OK;
    for (int i = 0; i < jobs && status == LLMPERF_OK; i++) {
        jobs_of[i] = (job){.s = s, .stride = stride};
        status = llmperf_workspace_new(NULL, LLMPERF_SEGMENTS_MAX, &jobs_of[i].workspace, error);
        if (status == LLMPERF_OK)
            status = llmperf_config_copy(s->cases[0], &s->moved[i], error);
        jobs_of[i].moved = s->moved[i];
    }
    if (status == LLMPERF_OK)
        status = llmperf_sweep_open(output->file, output->format, s->models[0], calibrations,
                                    s->phase, axes, s->points, shown, &style, &writer, error);
    int64_t ready = 0; /* computed, to be written */
    for (int64_t from = 0; status == LLMPERF_OK && from < shown && !ferror(output->file);) {
        int64_t to = from + BLOCK < shown ? from + BLOCK : shown;
        int half = (int)(from / BLOCK % 2);
        block next = {.from = from, .to = to, .next = from, .rows = rows + half * BLOCK};
        evaluate_block(jobs_of, jobs, &next, writer, rows + (1 - half) * BLOCK, ready);
        ready = to - from;
        from = to;
        if (from == shown) { /* the last one has nothing beside it */
            block none = {0};
            evaluate_block(jobs_of, 1, &none, writer, next.rows, ready);
        }
    }
    for (int i = 0; i < jobs; i++)
        llmperf_workspace_free(jobs_of[i].workspace);
    free(rows);
    return status == LLMPERF_OK ? llmperf_sweep_close(writer, skipped, error) : status;
}

static llmperf_status prepare(const sweep_arguments *a, const option_result *result, sweep *s,
                              llmperf_notes *skipped, llmperf_error *error)
{
    llmperf_status status = common_workload(&a->common, &s->workload, error);
    common_load_options(&a->common, &s->paths, &s->loading);
    s->loaded = calloc(QUANTS_MAX + HW_MAX, sizeof *s->loaded);
    if (status == LLMPERF_OK && !s->loaded)
        status = llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    if (status == LLMPERF_OK)
        status = load_models(a, result->positional[0], s, error);
    if (status == LLMPERF_OK)
        status = load_parts(result->positional[1], s, error);
    if (status == LLMPERF_OK)
        status = load_calibrations(s, skipped, error);
    if (status == LLMPERF_OK)
        status = read_dtypes("weight-dtype", a->weight_dtype, s->weight, &s->weight_count, error);
    if (status == LLMPERF_OK)
        status = read_dtypes("kv-dtype", a->kv_dtype, s->kv, &s->kv_count, error);
    if (status == LLMPERF_OK)
        status = expand(a->batch ? a->batch : "1..256*2", 1, 16777216, &s->batch, error);
    if (status == LLMPERF_OK)
        status = expand(a->prompt ? a->prompt : "1024", 1, 1073741824, &s->prompt, error);
    if (status == LLMPERF_OK)
        status = expand(a->tp ? a->tp : "1", 1, 65536, &s->tp, error);
    if (status == LLMPERF_OK && a->context)
        status = expand(a->context, 0, 1073741824, &s->context, error);
    if (status != LLMPERF_OK)
        return status;
    /* what holds for the longest prompt holds for all, but that each is longer than what is cached */
    for (int64_t i = 0; i < s->prompt.count; i++) {
        int64_t prompt = s->prompt.value[i];
        s->workload.prompt = prompt > s->workload.prompt ? prompt : s->workload.prompt;
        if (prompt <= s->workload.cached)
            return llmperf_fail(error, LLMPERF_E_USAGE,
                                "prompt is %lld, of which %lld are cached; longer prompts are "
                                "allowed",
                                (long long)prompt, (long long)s->workload.cached);
    }
    s->phase = a->phase == 1 ? LLMPERF_SWEEP_PREFILL : LLMPERF_SWEEP_DECODE;
    status = make_cases(s, skipped, error); /* of the longest prompt */
    if (status == LLMPERF_OK && s->phase == LLMPERF_SWEEP_PREFILL)
        status = llmperf_config_check_steps(s->cases[0], error);
    if (status != LLMPERF_OK)
        return status;
    const int64_t counts[] = {s->case_count, s->prompt.count,
                              s->context.count ? s->context.count : 1, s->batch.count};
    s->points = 1;
    for (size_t i = 0; i < sizeof counts / sizeof *counts && s->points > 0; i++) {
        if (counts[i] > POINTS_MAX / s->points)
            return llmperf_fail(error, LLMPERF_E_USAGE,
                                "the axes span more than %lld points; fewer are allowed",
                                (long long)POINTS_MAX);
        s->points *= counts[i];
    }
    return LLMPERF_OK;
}

static int run(int argc, char **argv)
{
    sweep_arguments arguments = {.common = COMMON_DEFAULTS};
    option_result result = {0};
    llmperf_error error = {0};
    llmperf_notes skipped = {0};
    common_output output;
    sweep s = {0};

    llmperf_status status = common_parse(&COMMAND_SWEEP, argc, argv, &arguments, &result, &error);
    if (status != LLMPERF_OK)
        return common_report(status, &error);
    if (result.help) {
        option_print_help(stdout, &COMMAND_SWEEP);
        return 0;
    }
    status = prepare(&arguments, &result, &s, &skipped, &error);
    if (status == LLMPERF_OK)
        status = common_open_output(&arguments.common, &output, &error);
    if (status == LLMPERF_OK) {
        status = write_all(&s, &arguments, &output, &skipped, &error);
        llmperf_status closed = common_close_output(&output, status == LLMPERF_OK, &error);
        status = status == LLMPERF_OK ? closed : status;
    }
    free_sweep(&s);
    return common_report(status, &error);
}

const option_command COMMAND_SWEEP = {
    .name = "sweep",
    .synopsis = "MODEL HARDWARE[,HARDWARE...]",
    .summary = "the curve over batch, context, prompt, tp, formats and hardware",
    .about =
        "Evaluates every combination of the axes and prints time, tokens/s, intensity, what bounds "
        "the step and whether it fits. A range is A..B (every integer), A..B*2 or A..Bx2 "
        "(doubling), A..B+8 (steps), a,b,c (a list), or several of these with commas. CSV and JSON "
        "stream every point; text shows about forty and says so.",
    .examples =
        "llmperf sweep llama-3.1-8b h100-sxm --batch 1..512*2\n"
        "llmperf sweep llama-3.1-70b h100-sxm,h200-sxm --tp 1..8x2 --weight-dtype bf16,fp8\n"
        "llmperf sweep llama-3.1-8b l40s --batch 1..1024 --context 1024..131072x2 --format csv "
        "-o curve.csv\n"
        "llmperf sweep qwen2.5-7b a100-sxm-80gb --phase prefill -b 1 -s 128..32768x2",
    .options = OPTIONS,
    .min_positionals = 2,
    .max_positionals = 2,
    .run = run,
};
