/* SPDX-License-Identifier: MIT */
/*
 * Which calibration times a part: its own, or the nearest part's. docs/calibration.md, "Borrowing",
 * says what was measured of it.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "calib_load.h"
#include "choose.h"
#include "doc.h"
#include "kin.h"
#include "llmperf/calib.h"
#include "entry.h"
#include "calib_object.h"
#include "fits.h"
#include "profile.h"

enum { HEAD_BYTES = 16385 }; /* with the NUL behind them */

/* Standard deviation of log(time) that borrowing adds: between twins, and per unit of distance up
 * to FARTHEST. Fits of H100, A100 and L40S on each other's samples, docs/calibration.md. */
static const double TWIN = 0.08, PER_DISTANCE = 0.12, FARTHEST = 1.2;

/* Parts of one architecture less alike than this are kin by name alone: B200 and RTX PRO 6000. */
static const double STRANGE = 2;

/* ---- how far one part is from another -------------------------------------------------------------- */

/* Generations of a vendor whose kernels are kin: compute capability; of AMD's gfx90a, 942 and 950. */
static const struct {
    const char *architecture;
    double generation;
} GENERATIONS[] = {
    {"volta", 7.0},      {"turing", 7.5}, {"ampere", 8.0}, {"ada", 8.9},   {"hopper", 9.0},
    {"blackwell", 10.0}, {"cdna2", 9.0},  {"cdna3", 9.4},  {"cdna4", 9.5},
};

static double generation_of(const llmperf_hw *hw)
{
    for (size_t i = 0; i < sizeof GENERATIONS / sizeof *GENERATIONS; i++)
        if (strcasecmp(hw->architecture, GENERATIONS[i].architecture) == 0)
            return GENERATIONS[i].generation;
    return 0;
}

static double octaves(double a, double b)
{
    return a > 0 && b > 0 ? fabs(log2(a / b)) : 1;
}

static double peak16(const llmperf_hw *hw)
{
    return fmax(hw->peak_flop_per_s[LLMPERF_DTYPE_BF16], hw->peak_flop_per_s[LLMPERF_DTYPE_FP16]);
}

/* What one unit (SM, core) computes and streams decides how hard it is to keep busy. */
static double unlikeness(const llmperf_hw *a, const llmperf_hw *b)
{
    double per_a = a->units > 0 ? a->units : NAN, per_b = b->units > 0 ? b->units : NAN;
    return 0.5 * octaves(a->mem_bytes_per_s / per_a, b->mem_bytes_per_s / per_b) +
           0.5 * octaves(peak16(a) / per_a, peak16(b) / per_b);
}

/* Below 0: nothing carries over. Parts of one architecture are nearer than any other. */
double hw_distance(const llmperf_hw *from, const llmperf_hw *to, bool *ret_kin)
{
    double a = generation_of(from), b = generation_of(to);
    double unlike = unlikeness(from, to);
    bool same = from->architecture[0] && strcasecmp(from->architecture, to->architecture) == 0;
    *ret_kin = same && unlike < STRANGE;
    if (strcasecmp(from->vendor, to->vendor) != 0 || strcmp(from->kind, to->kind) != 0)
        return -1;
    if (!same && (a == 0 || b == 0))
        return -1;
    return unlike + (same ? 0 : 0.5 * fabs(a - b));
}

static double spread_at(double distance)
{
    return TWIN + PER_DISTANCE * fmin(distance, FARTHEST);
}

/* What times measured on one part come to on another: kernels keep their cycles, not their seconds. */
static double clock_ratio(const llmperf_hw *from, const llmperf_hw *to)
{
    return from->clock_hz > 0 && to->clock_hz > 0 ? from->clock_hz / to->clock_hz : 1;
}

static void scale_param(llmperf_calib_entry *entry, llmperf_param param, double factor)
{
    entry->param[param] *= factor;
    for (int other = 0; other < LLMPERF_PARAM_COUNT; other++) {
        entry->covariance[param][other] *= factor;
        entry->covariance[other][param] *= factor;
    }
}

/* Times as the file has them, times `scale`, whatever they were scaled by before. */
static void scale_times(llmperf_calib *calib, double scale)
{
    double factor = scale / (calib->time_scale > 0 ? calib->time_scale : 1);
    calib->time_scale = scale;
    for (int i = 0; i < calib->entry_count; i++)
        for (int p = 0; p < LLMPERF_PARAM_COUNT; p++)
            if (llmperf_param_is_time((llmperf_param)p))
                scale_param(&calib->entry[i], (llmperf_param)p, factor);
}

/* ---- the heads of the files -------------------------------------------------------------------------- */

typedef struct candidate {
    char path[LLMPERF_PATH_MAX];
    char hw[LLMPERF_NAME_MAX];
    bool own, kin, asked, measured; /* the part's; its architecture's; the library; on a device */
    double distance;
    double time_scale;
    int library; /* rank */
} candidate;

typedef struct chooser {
    const llmperf_spec_paths *paths;
    const llmperf_hw *hw;
    const char *library;
    llmperf_hw other; /* the part a candidate was fitted on */
    bool other_found;
    bool found;
    candidate best;
    char head[HEAD_BYTES]; /* of the file at hand */
    size_t head_length;
} chooser;

/* The text before `fits:`, at most HEAD_BYTES of it, which alone is read: the whole file takes many
 * times as long. */
static size_t read_head(const char *path, char *buffer)
{
    enum { BLOCK = 2048 };
    FILE *file = fopen(path, "r");
    size_t length = 0, got = 0;
    char *fits = NULL;
    if (!file)
        return 0;
    setvbuf(file, NULL, _IONBF, 0);
    do {
        got = fread(buffer + length, 1, BLOCK, file);
        length += got;
        buffer[length] = '\0';
        fits = strncmp(buffer, "fits:", 5) == 0 ? buffer : strstr(buffer, "\nfits:");
    } while (!fits && got == BLOCK && length + BLOCK < HEAD_BYTES);
    fclose(file);
    return fits ? (size_t)(fits - buffer) + (*fits == '\n') : length;
}

static void text_of(const doc *document, doc_node *root, const char *key, char *buffer, size_t size)
{
    doc_node *node = doc_get(root, key);
    buffer[0] = '\0';
    if (node && doc_text(document, node, buffer, size, NULL) != LLMPERF_OK)
        buffer[0] = '\0';
}

static int library_rank(const char *library)
{
    static const char *const order[] = {"vllm", "sglang", "trtllm"};
    int rank = 0;
    while (rank < 3 && strcasecmp(order[rank], library) != 0)
        rank++;
    return rank;
}

/* Loads the part that `name` stands for into c->other, unless it is there already. */
static bool load_other(chooser *c, const char *name)
{
    char path[LLMPERF_PATH_MAX];
    if (c->other_found && llmperf_hw_is(&c->other, name))
        return true;
    c->other_found = llmperf_find_hw(c->paths, name, path, NULL) == LLMPERF_OK &&
                     llmperf_hw_load(path, &c->other, NULL) == LLMPERF_OK;
    return c->other_found;
}

/* Fills what the head of a calibration says; false where it says no part. */
static bool judge_head(chooser *c, const char *path, candidate *ret)
{
    static const char *const KEYS[] = {"hardware", "library", "backend", NULL};
    char library[48], backend[24];
    doc *document;
    candidate one = {0};
    c->head_length = read_head(path, c->head);
    if (c->head_length == 0 ||
        doc_load_entries_text(path, c->head, c->head_length, KEYS, &document, NULL) != LLMPERF_OK)
        return false;
    doc_node *root = doc_root(document);
    snprintf(one.path, sizeof one.path, "%s", path);
    text_of(document, root, "hardware", one.hw, sizeof one.hw);
    text_of(document, root, "library", library, sizeof library);
    text_of(document, root, "backend", backend, sizeof backend);
    doc_free(document);
    if (!one.hw[0])
        return false;
    one.own = llmperf_hw_is(c->hw, one.hw);
    one.asked = c->library && strcasecmp(c->library, library) == 0;
    one.measured = strcmp(backend, "samples") != 0;
    one.library = library_rank(library);
    *ret = one;
    return true;
}

/* Is `a` to be taken before `b`? Equal ones: the first by name stays. */
static bool is_better(const candidate *a, const candidate *b)
{
    if (a->own != b->own)
        return a->own;
    if (a->kin != b->kin)
        return a->kin;
    if (a->distance < b->distance || a->distance > b->distance)
        return a->distance < b->distance;
    if (a->asked != b->asked)
        return a->asked;
    if (a->measured != b->measured)
        return a->measured;
    return a->library < b->library;
}

/* Takes the file at hand if it is better than those before; one whose head does not read is passed
 * over. */
static void consider(chooser *c, const candidate *one)
{
    doc *document;
    if (c->found && !is_better(one, &c->best))
        return;
    if (doc_load_text(one->path, c->head, c->head_length, &document, NULL) != LLMPERF_OK)
        return;
    doc_free(document);
    c->best = *one;
    c->found = true;
}

/* Calibrations of the part itself. */
static bool visit_own(const char *name, const char *path, void *context)
{
    chooser *c = context;
    candidate one;
    (void)name;
    if (judge_head(c, path, &one) && one.own)
        consider(c, &one);
    return true;
}

/* Those of other parts, where there is none of its own: nothing of them is better. */
static bool visit_other(const char *name, const char *path, void *context)
{
    chooser *c = context;
    candidate one;
    (void)name;
    if (!judge_head(c, path, &one) || !load_other(c, one.hw))
        return true;
    one.distance = hw_distance(&c->other, c->hw, &one.kin);
    one.time_scale = clock_ratio(&c->other, c->hw);
    if (one.distance >= 0)
        consider(c, &one);
    return true;
}

static llmperf_status choose(chooser *c, llmperf_error *error)
{
    llmperf_status status = llmperf_list_specs(c->paths, "calibration", visit_own, c, error);
    if (status == LLMPERF_OK && !c->found)
        status = llmperf_list_specs(c->paths, "calibration", visit_other, c, error);
    return status;
}

static chooser *new_chooser(const llmperf_spec_paths *paths, const llmperf_hw *hw,
                            const char *library)
{
    chooser *c = malloc(sizeof *c);
    if (c) {
        c->paths = paths;
        c->hw = hw;
        c->library = library;
        c->found = c->other_found = false;
    }
    return c;
}

llmperf_status calib_choose_new(const llmperf_spec_paths *paths, const llmperf_hw *hw,
                                const char *library, llmperf_calib **ret_calib,
                                llmperf_error *error)
{
    llmperf_calib *calib = NULL;
    chooser *c = new_chooser(paths, hw, library);
    if (!c)
        return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    llmperf_status status = choose(c, error);
    if (status == LLMPERF_OK && c->found)
        status = calib_load_new(c->best.path, &calib, error);
    if (calib && !c->best.own) {
        calib->borrowed = spread_at(c->best.distance);
        scale_times(calib, c->best.time_scale);
    }
    if (status == LLMPERF_OK)
        *ret_calib = calib;
    free(c);
    return status;
}

llmperf_status calib_choose(const llmperf_spec_paths *paths, const llmperf_hw *hw,
                            const char *library, llmperf_calib *ret_calib, bool *ret_found,
                            llmperf_error *error)
{
    NEEDS(paths_are_sound(paths) && hw_is_sound(hw) && ret_calib && ret_found, error);
    llmperf_calib *calib = NULL;
    llmperf_status status = calib_choose_new(paths, hw, library, &calib, error);
    if (status != LLMPERF_OK)
        return status;
    *ret_found = calib != NULL;
    if (calib)
        *ret_calib = *calib;
    free(calib);
    return LLMPERF_OK;
}

void llmperf_calib_lend(llmperf_calib *calib, const llmperf_spec_paths *paths, const llmperf_hw *hw)
{
    if (!calib || !paths_are_sound(paths) || !hw_is_sound(hw))
        return;
    bool kin;
    double scale = 1;
    calib->borrowed = 0;
    if (!calib->hw[0] || llmperf_hw_is(hw, calib->hw)) {
        scale_times(calib, scale);
        return;
    }
    calib->borrowed = spread_at(FARTHEST);
    chooser *c = new_chooser(paths, hw, NULL);
    if (c && load_other(c, calib->hw)) {
        double distance = hw_distance(&c->other, hw, &kin);
        if (distance >= 0) {
            calib->borrowed = spread_at(distance);
            scale = clock_ratio(&c->other, hw);
        }
    }
    scale_times(calib, scale);
    free(c);
}

/* ---- what one calibration lacks and another has ---------------------------------------------------- */

/* Head groups and group sizes stand in for one another. */
static llmperf_calib_key what_of(llmperf_calib_key key)
{
    key.heads = LLMPERF_HEADS_ANY;
    key.head_size = LLMPERF_HEAD_SIZE_ANY;
    key.devices = 0;
    return key;
}

static bool has_fit(const llmperf_calib *calib, int count, const llmperf_calib_key *key)
{
    llmperf_calib_key wanted = what_of(*key);
    bool found = false;
    for (int i = 0; i < count && !found; i++) {
        llmperf_calib_key own = what_of(calib->entry[i].key);
        found = calib_same_key(&own, &wanted);
    }
    return found;
}

static const char TAKEN[] = "taken from ";

static void remark_taken(const llmperf_calib *from, llmperf_calib_entry *entry)
{
    char scaled[48] = "";
    size_t used = strlen(entry->remarks);
    if (from->time_scale > 0 && fabs(from->time_scale - 1) > 5e-4)
        snprintf(scaled, sizeof scaled, ", times x %.3g", from->time_scale);
    snprintf(entry->remarks + used, sizeof entry->remarks - used, "%s%s%.60s%s", used ? "; " : "",
             TAKEN, from->name, scaled);
}

llmperf_status llmperf_calib_complete(llmperf_calib *calib, const llmperf_calib *from,
                                      llmperf_error *error)
{
    NEEDS(calib && from, error);
    int had = calib->entry_count;
    double spread = fmax(from->borrowed, TWIN);
    for (int i = 0; i < from->entry_count; i++) {
        llmperf_calib_entry entry = from->entry[i];
        if (has_fit(calib, had, &entry.key) || strstr(entry.remarks, TAKEN))
            continue; /* what it took itself is to be had from where it came */
        entry.residual = sqrt(entry.residual * entry.residual + spread * spread);
        remark_taken(from, &entry);
        llmperf_status status = calib_add(calib, &entry, error);
        if (status != LLMPERF_OK)
            return status;
    }
    return LLMPERF_OK;
}
