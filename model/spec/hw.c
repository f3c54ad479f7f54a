/* SPDX-License-Identifier: MIT */
/*
 * Hardware YAML -> llmperf_hw. The rows below are the whole vocabulary; specs/README.md explains
 * each key.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "doc.h"
#include "quantity.h"
#include "read.h"
#include "entry.h"

static const char *const FIELD_NAMES[LLMPERF_HW_FIELD_COUNT] = {
    [LLMPERF_HW_DEFAULT] = "default",
    [LLMPERF_HW_PEAK] = "peak",
    [LLMPERF_HW_MEMORY] = "memory",
    [LLMPERF_HW_MEMORY_USABLE] = "memory_usable",
    [LLMPERF_HW_BANDWIDTH] = "bandwidth",
    [LLMPERF_HW_BANDWIDTH_ACHIEVABLE] = "bandwidth_achievable",
    [LLMPERF_HW_L2] = "l2",
    [LLMPERF_HW_UNITS] = "units",
    [LLMPERF_HW_CLOCK] = "clock",
    [LLMPERF_HW_LAUNCH] = "launch",
    [LLMPERF_HW_LINK] = "link",
    [LLMPERF_HW_NODES] = "nodes",
    [LLMPERF_HW_PCIE] = "pcie",
    [LLMPERF_HW_POWER] = "power",
    [LLMPERF_HW_PRICE] = "price",
};

static const char *const CONFIDENCE_NAMES[] = {"none", "read", "mirrored", "derived", NULL};

static const char *const KNOWN_KEYS[] = {
    "name",
    "aliases",
    "kind",
    "vendor",
    "architecture",
    "peak",
    "absent",
    "memory",
    "memory_usable",
    "bandwidth",
    "bandwidth_achievable",
    "l2",
    "units",
    "clock",
    "launch",
    "sparsity",
    "link",
    "nodes",
    "pcie",
    "power",
    "price",
    "source",
    "confidence",
    "notes",
    NULL,
};

typedef struct quantity_row {
    const char *key;
    quantity_kind kind;
    size_t offset;
    bool required;
} quantity_row;

static const quantity_row QUANTITIES[] = {
    {"memory", QUANTITY_BYTES, offsetof(llmperf_hw, memory_bytes), true},
    {"memory_usable", QUANTITY_BYTES, offsetof(llmperf_hw, memory_usable_bytes), false},
    {"bandwidth", QUANTITY_BYTES_PER_S, offsetof(llmperf_hw, mem_bytes_per_s), true},
    {"bandwidth_achievable", QUANTITY_BYTES_PER_S, offsetof(llmperf_hw, mem_achievable_bytes_per_s),
     false},
    {"l2", QUANTITY_BYTES, offsetof(llmperf_hw, l2_bytes), false},
    {"clock", QUANTITY_HZ, offsetof(llmperf_hw, clock_hz), false},
    {"launch", QUANTITY_S, offsetof(llmperf_hw, launch_s), false},
    {"power", QUANTITY_W, offsetof(llmperf_hw, power_w), false},
    {"price", QUANTITY_USD_PER_H, offsetof(llmperf_hw, price_usd_per_h), false},
};

/* Latency of one message where the file says none: the order of magnitude of the kind's fastest
 * published collectives; always marked as assumed. docs/model.md, "Collectives". */
typedef struct latency_row {
    const char *kind;
    double latency_s;
} latency_row;

static const latency_row ASSUMED_LATENCY[] = {
    {"nvlink", 3e-6}, {"xgmi", 5e-6},       {"ici", 2e-6},       {"c2c", 3e-6}, {"upi", 1e-6},
    {"pcie", 10e-6},  {"infiniband", 8e-6}, {"ethernet", 15e-6}, {NULL, 10e-6},
};

const char *llmperf_hw_field_name(llmperf_hw_field field)
{
    return (unsigned)field < LLMPERF_HW_FIELD_COUNT ? FIELD_NAMES[field] : "?";
}

const char *llmperf_confidence_name(llmperf_confidence confidence)
{
    return (unsigned)confidence < 4 ? CONFIDENCE_NAMES[confidence] : "?";
}

const llmperf_provenance *llmperf_hw_provenance(const llmperf_hw *hw, llmperf_hw_field field)
{
    if (!hw || !IS_BELOW(field, LLMPERF_HW_FIELD_COUNT))
        return NULL;
    const llmperf_provenance *own = &hw->provenance[field];
    return own->source[0] || own->confidence ? own : &hw->provenance[LLMPERF_HW_DEFAULT];
}

bool llmperf_hw_is(const llmperf_hw *hw, const char *name)
{
    if (!name || !hw_is_sound(hw))
        return false;
    bool found = llmperf_same_part(hw->name, name);
    for (int i = 0; i < hw->alias_count && !found; i++)
        found = llmperf_same_part(hw->aliases[i], name);
    return found;
}

const llmperf_link *llmperf_hw_link(const llmperf_hw *hw, int64_t devices)
{
    if (!hw)
        return NULL;
    if (hw->link.kind[0] && (hw->link.domain == 0 || devices <= hw->link.domain))
        return &hw->link;
    if (hw->link.kind[0] && hw->nodes.kind[0])
        return &hw->nodes;
    /* a bridge joins two or four cards of one host, whose bus reaches the others; a switched
     * domain is the whole host */
    const int64_t bridge = 4;
    if (hw->link.kind[0] && hw->link.domain > bridge)
        return NULL;
    return hw->pcie.kind[0] ? &hw->pcie : NULL;
}

typedef struct hw_reader {
    const doc *document;
    llmperf_hw *hw;
    llmperf_error *error;
    llmperf_status status;
} hw_reader;

/* Remembers the first failure; every fault of the file is still reported. */
static bool done(hw_reader *r, llmperf_status status)
{
    if (status != LLMPERF_OK && r->status == LLMPERF_OK)
        r->status = status;
    return status == LLMPERF_OK;
}

static doc_node *required(hw_reader *r, doc_node *map, const char *key, const char *example)
{
    doc_node *node = doc_get(map, key);
    if (!node)
        done(r, doc_fail(r->document, map, r->error,
                         "%s is missing; it is required, for example %s", key, example));
    return node;
}

static bool expect_map(hw_reader *r, const doc_node *node, const char *example)
{
    char described[128];
    if (node->kind == DOC_MAP)
        return true;
    return done(r, doc_fail(r->document, node, r->error, "%s is %s; a map such as %s is allowed",
                            node->key ? node->key : "the file",
                            doc_describe(node, described, sizeof described), example));
}

static void warn_bits(hw_reader *r, const doc_node *node, bool bits)
{
    if (bits)
        llmperf_note(&r->hw->warnings,
                     "%s:%d:%d: %s is '%s', read as bits; a datasheet's B/s is bytes",
                     doc_name(r->document), node->line, node->column, node->key, node->text);
}

static void read_quantities(hw_reader *r, doc_node *root)
{
    for (size_t i = 0; i < sizeof QUANTITIES / sizeof *QUANTITIES; i++) {
        const quantity_row *row = &QUANTITIES[i];
        doc_node *node = row->required ? required(r, root, row->key, quantity_example(row->kind))
                                       : doc_get(root, row->key);
        bool bits = false;
        if (!node)
            continue;
        double *field = (double *)(void *)((char *)r->hw + row->offset);
        if (done(r, doc_quantity(r->document, node, row->kind, field, &bits, r->error)))
            warn_bits(r, node, bits);
    }
}

/* fp4 stands for both 4-bit block formats: the units multiply the same e2m1 elements. */
static void set_peak(llmperf_hw *hw, const char *key, llmperf_dtype dtype, double peak)
{
    hw->peak_flop_per_s[dtype] = peak;
    if (strcmp(key, "fp4") == 0)
        hw->peak_flop_per_s[LLMPERF_DTYPE_MXFP4] = peak;
}

static llmperf_dtype peak_dtype(hw_reader *r, const doc_node *node)
{
    static const char *const legal[] = {"fp64", "fp32", "tf32", "bf16",  "fp16",  "fp8", "int8",
                                        "int4", "fp6",  "fp4",  "nvfp4", "mxfp4", NULL};
    for (int i = 0; legal[i]; i++)
        if (strcmp(node->key, legal[i]) == 0)
            return llmperf_dtype_parse(node->key);
    const char *near = llmperf_nearest(node->key, legal);
    done(r, doc_fail_at_key(r->document, node, r->error,
                            "unknown dtype '%s'%s%s%s; fp64, fp32, tf32, bf16, fp16, fp8, int8, "
                            "int4, fp6, fp4, nvfp4, mxfp4 are allowed",
                            node->key, near ? ", did you mean '" : "", near ? near : "",
                            near ? "'?" : ""));
    return LLMPERF_DTYPE_NONE;
}

static void read_peaks(hw_reader *r, doc_node *root)
{
    doc_node *map = required(r, root, "peak", "{bf16: 989.4 TFLOP/s}");
    if (!map || !expect_map(r, map, "{bf16: 989.4 TFLOP/s}"))
        return;
    int count = 0;
    for (doc_node *node = map->first; node; node = node->next) {
        double peak;
        llmperf_dtype dtype = peak_dtype(r, node);
        node->used = true;
        count++;
        if (dtype == LLMPERF_DTYPE_NONE)
            continue;
        if (done(r, doc_quantity(r->document, node, QUANTITY_FLOP_PER_S, &peak, NULL, r->error)))
            set_peak(r->hw, node->key, dtype, peak);
    }
    if (count == 0)
        done(r, doc_fail(r->document, map, r->error,
                         "peak is empty; at least one dtype is required, for example "
                         "bf16: 989.4 TFLOP/s"));
}

static void read_absent(hw_reader *r, doc_node *root)
{
    doc_node *map = doc_get(root, "absent");
    if (!map || !expect_map(r, map, "{bf16: no bf16 units}"))
        return;
    for (doc_node *node = map->first; node; node = node->next) {
        llmperf_dtype dtype = peak_dtype(r, node);
        node->used = true;
        if (dtype == LLMPERF_DTYPE_NONE)
            continue;
        if (r->hw->peak_flop_per_s[dtype] > 0)
            done(r, doc_fail_at_key(r->document, node, r->error,
                                    "%s is both a peak and absent; one of them is allowed",
                                    node->key));
        else
            done(r, doc_text(r->document, node, r->hw->absent[dtype], sizeof r->hw->absent[dtype],
                             r->error));
    }
}

static void read_text(hw_reader *r, doc_node *root, const char *key, char *field, size_t size)
{
    doc_node *node = doc_get(root, key);
    if (node)
        done(r, doc_text(r->document, node, field, size, r->error));
}

/* A link map; `kind_key` is "kind" for link and "link" for nodes. */
static void read_link(hw_reader *r, doc_node *root, const char *key, const char *kind_key,
                      llmperf_link *link)
{
    const char *example = "{kind: nvlink, bandwidth: 450 GB/s, domain: 8}";
    const char *const known[] = {kind_key, "bandwidth", "latency", "domain", NULL};
    doc_node *map = doc_get(root, key);
    if (!map || doc_is_null(map) || !expect_map(r, map, example))
        return;
    bool bits = false;
    doc_node *kind = required(r, map, kind_key, "nvlink");
    if (kind)
        done(r, doc_text(r->document, kind, link->kind, sizeof link->kind, r->error));
    doc_node *bandwidth = required(r, map, "bandwidth", "450 GB/s (per direction and device)");
    if (bandwidth && done(r, doc_quantity(r->document, bandwidth, QUANTITY_BYTES_PER_S,
                                          &link->bytes_per_s, &bits, r->error)))
        warn_bits(r, bandwidth, bits);
    doc_node *latency = doc_get(map, "latency");
    if (latency)
        done(r, doc_quantity(r->document, latency, QUANTITY_S, &link->latency_s, NULL, r->error));
    doc_node *domain = doc_get(map, "domain");
    if (domain)
        done(r, doc_int64(r->document, domain, 2, 1 << 20, &link->domain, r->error));
    done(r, doc_refuse_unknown(r->document, map, known, r->error));
}

/* Bytes per second, direction and lane; from generation 6 on flits carry 242 of 256 bytes. */
static double pcie_lane_bytes_per_s(int64_t generation)
{
    static const double rate[] = {0,
                                  250e6,
                                  500e6,
                                  8e9 / 8 * 128 / 130,
                                  16e9 / 8 * 128 / 130,
                                  32e9 / 8 * 128 / 130,
                                  64e9 / 8 * 242 / 256,
                                  128e9 / 8 * 242 / 256};
    return rate[generation];
}

static void read_pcie(hw_reader *r, doc_node *root)
{
    static const char *const known[] = {"generation", "lanes", NULL};
    doc_node *map = doc_get(root, "pcie");
    if (!map || doc_is_null(map) || !expect_map(r, map, "{generation: 5, lanes: 16}"))
        return;
    llmperf_hw *hw = r->hw;
    doc_node *generation = required(r, map, "generation", "5");
    doc_node *lanes = required(r, map, "lanes", "16");
    bool ok = generation && lanes;
    if (generation)
        ok &= done(r, doc_int64(r->document, generation, 1, 7, &hw->pcie_generation, r->error));
    if (lanes)
        ok &= done(r, doc_int64(r->document, lanes, 1, 32, &hw->pcie_lanes, r->error));
    if (ok) {
        snprintf(hw->pcie.kind, sizeof hw->pcie.kind, "pcie");
        hw->pcie.bytes_per_s = pcie_lane_bytes_per_s(hw->pcie_generation) * (double)hw->pcie_lanes;
    }
    done(r, doc_refuse_unknown(r->document, map, known, r->error));
}

static void assume_latency(llmperf_link *link)
{
    if (!link->kind[0] || link->latency_s > 0)
        return;
    const latency_row *row = ASSUMED_LATENCY;
    while (row->kind && strcmp(row->kind, link->kind) != 0)
        row++;
    link->latency_s = row->latency_s;
    link->latency_assumed = true;
}

static int field_of(const char *key)
{
    for (int i = 0; i < LLMPERF_HW_FIELD_COUNT; i++)
        if (strcmp(key, FIELD_NAMES[i]) == 0)
            return i;
    return -1;
}

static void set_confidence(hw_reader *r, const doc_node *node, llmperf_hw_field field)
{
    char word[32] = "";
    if (!done(r, doc_text(r->document, node, word, sizeof word, r->error)))
        return;
    for (int i = LLMPERF_CONFIDENCE_READ; CONFIDENCE_NAMES[i]; i++)
        if (strcmp(word, CONFIDENCE_NAMES[i]) == 0) {
            r->hw->provenance[field].confidence = (uint8_t)i;
            return;
        }
    done(r, doc_fail(r->document, node, r->error,
                     "confidence is '%s'; read, mirrored or derived is allowed", word));
}

static void set_source(hw_reader *r, const doc_node *node, llmperf_hw_field field)
{
    char *source = r->hw->provenance[field].source;
    done(r, doc_text(r->document, node, source, LLMPERF_TEXT_MAX, r->error));
}

/* `source` and `confidence`: one text for the file, or a map from field to text. */
static void read_provenance(hw_reader *r, doc_node *root, const char *key,
                            void (*set)(hw_reader *, const doc_node *, llmperf_hw_field))
{
    doc_node *node = doc_get(root, key);
    if (!node)
        return;
    if (node->kind != DOC_MAP) {
        set(r, node, LLMPERF_HW_DEFAULT);
        return;
    }
    for (doc_node *entry = node->first; entry; entry = entry->next) {
        int field = field_of(entry->key);
        entry->used = true;
        if (field >= 0) {
            set(r, entry, (llmperf_hw_field)field);
            continue;
        }
        char names[LLMPERF_TEXT_MAX] = "";
        size_t used = 0;
        for (int i = 0; i < LLMPERF_HW_FIELD_COUNT; i++)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "",
                                     FIELD_NAMES[i]);
        done(r,
             doc_fail_at_key(r->document, entry, r->error,
                             "unknown field '%s' in %s; %s are allowed", entry->key, key, names));
    }
}

static bool expect_sequence(hw_reader *r, const doc_node *node)
{
    char described[128];
    if (node->kind == DOC_SEQ)
        return true;
    return done(r, doc_fail(r->document, node, r->error, "%s is %s; a list is allowed", node->key,
                            doc_describe(node, described, sizeof described)));
}

static void read_notes(hw_reader *r, doc_node *root)
{
    doc_node *list = doc_get(root, "notes");
    if (!list || !expect_sequence(r, list))
        return;
    for (doc_node *node = list->first; node; node = node->next) {
        char text[LLMPERF_TEXT_MAX];
        if (r->hw->notes.count == LLMPERF_NOTES_MAX) {
            done(r,
                 doc_fail(r->document, node, r->error, "more than %d notes; at most %d are allowed",
                          LLMPERF_NOTES_MAX, LLMPERF_NOTES_MAX));
            return;
        }
        if (done(r, doc_text(r->document, node, text, sizeof text, r->error)))
            llmperf_note(&r->hw->notes, "%s", text);
    }
}

/* A name is printed everywhere: it must not be empty, and its control bytes are escaped. */
llmperf_status clean_name(const doc *document, const doc_node *node, char *name,
                          llmperf_error *error)
{
    char raw[LLMPERF_NAME_MAX];
    if (!name[0])
        return doc_fail(document, node, error, "name is empty; a name is allowed");
    snprintf(raw, sizeof raw, "%s", name);
    llmperf_escape(raw, name, LLMPERF_NAME_MAX);
    return LLMPERF_OK;
}

llmperf_status read_aliases(const doc *document, doc_node *root, int *ret_count,
                            char (*aliases)[LLMPERF_NAME_MAX], llmperf_error *error)
{
    char described[128];
    doc_node *list = doc_get(root, "aliases");
    llmperf_status status = LLMPERF_OK;
    int count = 0;
    if (!list)
        return LLMPERF_OK;
    if (list->kind != DOC_SEQ)
        return doc_fail(document, list, error, "aliases is %s; a list of names is allowed",
                        doc_describe(list, described, sizeof described));
    for (doc_node *node = list->first; node; node = node->next) {
        if (count == LLMPERF_ALIASES_MAX)
            return doc_fail(document, node, error, "more than %d aliases; at most %d are allowed",
                            LLMPERF_ALIASES_MAX, LLMPERF_ALIASES_MAX);
        llmperf_status one = doc_text(document, node, aliases[count], LLMPERF_NAME_MAX, error);
        if (one == LLMPERF_OK)
            count++;
        else
            status = one;
    }
    *ret_count = count;
    return status;
}

static void read_kind(hw_reader *r, doc_node *root)
{
    static const char *const kinds[] = {"gpu", "cpu", "tpu", "accelerator", NULL};
    llmperf_hw *hw = r->hw;
    snprintf(hw->kind, sizeof hw->kind, "gpu");
    doc_node *node = doc_get(root, "kind");
    if (!node || !done(r, doc_text(r->document, node, hw->kind, sizeof hw->kind, r->error)))
        return;
    for (int i = 0; kinds[i]; i++)
        if (strcmp(hw->kind, kinds[i]) == 0)
            return;
    done(r, doc_fail(r->document, node, r->error,
                     "kind is '%s'; gpu, cpu, tpu or accelerator is allowed", hw->kind));
}

/* Peaks are dense; the key exists so that a file can say so. */
static void read_sparsity(hw_reader *r, doc_node *root)
{
    doc_node *node = doc_get(root, "sparsity");
    char word[32] = "";
    if (!node || !done(r, doc_text(r->document, node, word, sizeof word, r->error)))
        return;
    static const char *const dense[] = {"dense", "no", "none", "false", "off", NULL};
    for (int i = 0; dense[i]; i++)
        if (strcmp(word, dense[i]) == 0)
            return;
    done(r, doc_fail(r->document, node, r->error,
                     "sparsity is '%s'; dense (also no, none, false, off) is allowed: peaks are "
                     "dense, halve a 2:4-sparse figure",
                     word));
}

static void read_hw(hw_reader *r, doc_node *root)
{
    llmperf_hw *hw = r->hw;
    if (!expect_map(r, root, "name: my-gpu"))
        return;
    /* a misspelt key comes before the complaint that the right one is missing */
    for (int i = 0; KNOWN_KEYS[i]; i++)
        doc_get(root, KNOWN_KEYS[i]);
    done(r, doc_refuse_unknown(r->document, root, KNOWN_KEYS, r->error));
    doc_node *name = required(r, root, "name", "h100-sxm");
    if (name && done(r, doc_text(r->document, name, hw->name, sizeof hw->name, r->error)))
        done(r, clean_name(r->document, name, hw->name, r->error));
    done(r, read_aliases(r->document, root, &hw->alias_count, hw->aliases, r->error));
    read_kind(r, root);
    read_text(r, root, "vendor", hw->vendor, sizeof hw->vendor);
    read_text(r, root, "architecture", hw->architecture, sizeof hw->architecture);
    read_peaks(r, root);
    read_absent(r, root);
    read_quantities(r, root);
    doc_node *units = doc_get(root, "units");
    int64_t count = 0;
    if (units && done(r, doc_int64(r->document, units, 1, 1 << 20, &count, r->error)))
        hw->units = (double)count;
    read_sparsity(r, root);
    read_link(r, root, "link", "kind", &hw->link);
    read_link(r, root, "nodes", "link", &hw->nodes);
    read_pcie(r, root);
    assume_latency(&hw->link);
    assume_latency(&hw->nodes);
    assume_latency(&hw->pcie);
    read_provenance(r, root, "source", set_source);
    read_provenance(r, root, "confidence", set_confidence);
    read_notes(r, root);
    if (hw->memory_bytes > 0 && hw->memory_usable_bytes > 1.1 * hw->memory_bytes)
        done(r, doc_fail(r->document, doc_get(root, "memory_usable"), r->error,
                         "memory_usable exceeds memory by more than the label's rounding; at most "
                         "1.1 times memory is allowed"));
}

static llmperf_status read_document(doc *document, llmperf_hw *ret_hw, llmperf_error *error)
{
    llmperf_hw *hw = calloc(1, sizeof *hw);
    hw_reader r = {.document = document, .hw = hw, .error = error};
    if (hw) {
        hw->size = sizeof *hw;
        read_hw(&r, doc_root(document));
    } else {
        r.status = llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    }
    if (r.status == LLMPERF_OK)
        r.status = llmperf_hw_check(hw, error);
    if (r.status == LLMPERF_OK)
        *ret_hw = *hw;
    free(hw);
    doc_free(document);
    return r.status;
}

llmperf_status llmperf_hw_load(const char *path, llmperf_hw *ret_hw, llmperf_error *error)
{
    NEEDS(path && ret_hw, error);
    doc *document;
    llmperf_status status = doc_load_file(path, &document, error);
    return status == LLMPERF_OK ? read_document(document, ret_hw, error) : status;
}

llmperf_status llmperf_hw_load_text(const char *name, const char *text, size_t size,
                                    llmperf_hw *ret_hw, llmperf_error *error)
{
    NEEDS(name && text && ret_hw, error);
    doc *document;
    llmperf_status status = doc_load_text(name, text, size, &document, error);
    return status == LLMPERF_OK ? read_document(document, ret_hw, error) : status;
}

static bool positive(double value)
{
    return isfinite(value) && value > 0;
}

llmperf_status llmperf_hw_check(const llmperf_hw *hw, llmperf_error *error)
{
    NEEDS(hw_is_sound(hw), error);
    bool any_peak = false;
    if (!hw->name[0])
        return llmperf_fail(error, LLMPERF_E_SPEC, "hardware without a name; a name is required");
    for (int i = 0; i < LLMPERF_DTYPE_COUNT; i++) {
        double peak = hw->peak_flop_per_s[i];
        if (peak != 0 && !positive(peak))
            return llmperf_fail(error, LLMPERF_E_SPEC,
                                "hardware '%s': the peak of %s is %g; above zero is allowed",
                                hw->name, llmperf_dtype_name((llmperf_dtype)i), peak);
        any_peak |= peak > 0;
    }
    if (!any_peak || !positive(hw->mem_bytes_per_s) || !positive(hw->memory_bytes))
        return llmperf_fail(error, LLMPERF_E_SPEC,
                            "hardware '%s' needs a peak, a bandwidth and a memory above zero",
                            hw->name);
    const double amounts[] = {hw->units,
                              hw->memory_usable_bytes,
                              hw->mem_achievable_bytes_per_s,
                              hw->l2_bytes,
                              hw->clock_hz,
                              hw->launch_s,
                              hw->power_w,
                              hw->price_usd_per_h};
    for (size_t i = 0; i < sizeof amounts / sizeof *amounts; i++)
        if (!(amounts[i] >= 0) || isinf(amounts[i]))
            return llmperf_fail(error, LLMPERF_E_SPEC,
                                "hardware '%s': units, usable memory, achievable bandwidth, l2, "
                                "clock, launch, power and price must be finite and must not be "
                                "negative",
                                hw->name);
    const llmperf_link *links[] = {&hw->link, &hw->nodes, &hw->pcie};
    for (size_t i = 0; i < 3; i++)
        if (links[i]->kind[0] &&
            (!positive(links[i]->bytes_per_s) || !positive(links[i]->latency_s)))
            return llmperf_fail(error, LLMPERF_E_SPEC,
                                "hardware '%s': the %s link needs a bandwidth and a latency above "
                                "zero",
                                hw->name, links[i]->kind);
    return LLMPERF_OK;
}
