/* SPDX-License-Identifier: MIT */
/*
 * What a model and a part are: typed values read from YAML or a Hugging Face config.json.
 */
#ifndef LLMPERF_SPEC_H
#define LLMPERF_SPEC_H

#include "llmperf/op.h"

#ifdef __cplusplus
extern "C" {
#endif

#define LLMPERF_NAME_MAX 96
#define LLMPERF_TEXT_MAX 384
#define LLMPERF_PATH_MAX 4096
#define LLMPERF_NOTES_MAX 16
#define LLMPERF_ALIASES_MAX 24
#define LLMPERF_LAYER_KINDS_MAX 64
#define LLMPERF_WEIGHT_CLASSES_MAX 16 /* room for llmperf_weight_class to grow */
#define LLMPERF_LAYER_OWN_MAX 8

/* Lines for a person: what was assumed, what is suspicious. */
typedef struct llmperf_notes {
    int count;
    char text[LLMPERF_NOTES_MAX][LLMPERF_TEXT_MAX];
} llmperf_notes;

/* Adds a line (cut to size); further ones than LLMPERF_NOTES_MAX are dropped. */
LLMPERF_API void llmperf_note(llmperf_notes *notes, const char *format, ...) LLMPERF_PRINTF(2, 3);

/* ---- model ---------------------------------------------------------------------------------- */

/* Classes of weights that a checkpoint may hold in different formats. */
typedef enum llmperf_weight_class {
    LLMPERF_WEIGHT_EMBEDDING, /* token (and learned position) embeddings; also a tied head */
    LLMPERF_WEIGHT_HEAD,
    LLMPERF_WEIGHT_ATTENTION, /* projections of attention, MLA and indexers */
    LLMPERF_WEIGHT_SSM,       /* projections of state-space and linear-attention mixers */
    LLMPERF_WEIGHT_MLP,       /* dense feed-forward networks */
    LLMPERF_WEIGHT_EXPERTS,   /* routed experts */
    LLMPERF_WEIGHT_SHARED,    /* shared experts */
    LLMPERF_WEIGHT_ROUTER,
    LLMPERF_WEIGHT_OTHER, /* norms, biases, convolutions */
    LLMPERF_WEIGHT_COUNT
} llmperf_weight_class;

/* A model: its layers by shape, and how its weights are held. Made by the functions below, ended by
 * llmperf_model_free(); read-only in use, so threads may share it. */
typedef struct llmperf_model llmperf_model;

/* Reads a model file: our YAML, a Hugging Face config.json (also a folder that holds one), a GGUF.
 * Errors: LLMPERF_E_IO, LLMPERF_E_SPEC with position, LLMPERF_E_UNSUPPORTED for an architecture
 * or feature that is not counted (by name), LLMPERF_E_MEMORY. */
LLMPERF_API llmperf_status llmperf_model_load(const char *path, llmperf_model **ret_model,
                                              llmperf_error *error);

/* The same from memory; `name` stands for the file in messages. Any model that a file can describe is
 * made so, without a file. */
LLMPERF_API llmperf_status llmperf_model_load_text(const char *name, const char *text, size_t size,
                                                   llmperf_model **ret_model, llmperf_error *error);

/*
 * A plain decoder by its dimensions: RMS norms before attention and FFN, rotary positions, every layer
 * alike. Zero means default. Start from LLMPERF_DECODER_INIT.
 */
typedef struct llmperf_decoder {
    size_t size;                               /* of this struct */
    const char *name;                          /* "custom"; borrowed for the call */
    int64_t layers, hidden, heads, ffn, vocab; /* required; experts > 0 does without ffn */
    int64_t kv_heads;                          /* heads: multi-head attention */
    int64_t head_dim;                          /* hidden / heads */
    int64_t max_context;                       /* trained context; 0 = not said */
    int64_t experts, active, expert_ffn; /* a mixture of experts in place of the FFN; 0 = none */
    llmperf_dtype dtype;                 /* of weights and activations; bf16 */
    bool ungated;                        /* FFN of an up and a down projection, no gate */
    bool tied;                           /* LM head is the embedding table */
    uint64_t room[16];                   /* for what comes; 0 */
} llmperf_decoder;

#define LLMPERF_DECODER_INIT LLMPERF_SIZED(llmperf_decoder)

/* Errors: LLMPERF_E_USAGE for dimensions that make no model; LLMPERF_E_MEMORY. */
LLMPERF_API llmperf_status llmperf_model_new(const llmperf_decoder *decoder,
                                             llmperf_model **ret_model, llmperf_error *error);

/* One of its own, to be quantised apart. Errors: LLMPERF_E_MEMORY. */
LLMPERF_API llmperf_status llmperf_model_copy(const llmperf_model *model, llmperf_model **ret_model,
                                              llmperf_error *error);
LLMPERF_API void llmperf_model_free(llmperf_model *model); /* NULL is fine */

/* Texts and notes belong to the model; "" or NULL where it does not say. */
LLMPERF_API const char *llmperf_model_name(const llmperf_model *model);
LLMPERF_API const char *llmperf_model_architecture(const llmperf_model *model);
LLMPERF_API const char *llmperf_model_source(const llmperf_model *model);
/* Of the file: quirks and sources. */
LLMPERF_API const llmperf_notes *llmperf_model_notes(const llmperf_model *model);
/* Of the reader: what was assumed, what is suspicious. */
LLMPERF_API const llmperf_notes *llmperf_model_warnings(const llmperf_model *model);
/* Trained context, tokens; 0 = not said. */
LLMPERF_API int64_t llmperf_model_max_context(const llmperf_model *model);
/* Of the file; activations follow it. */
LLMPERF_API llmperf_dtype llmperf_model_dtype(const llmperf_model *model);

/* Exact parameters by class; the sum of all is the model's count. */
typedef struct llmperf_params {
    int64_t by_class[LLMPERF_WEIGHT_CLASSES_MAX]; /* llmperf_weight_class */
    int64_t total;
    int64_t active;    /* of one token: experts that it does not pass left out */
    int64_t embedding; /* token and position tables: what a step does not stream */
} llmperf_params;

LLMPERF_API llmperf_params llmperf_model_params(const llmperf_model *model);

/* Compares the count with the one that the model's file says was published, if it does; `name` stands
 * for the file. Errors: LLMPERF_E_SPEC when they differ by more than 0.5 %. */
LLMPERF_API llmperf_status llmperf_model_check_params(const llmperf_model *model, const char *name,
                                                      llmperf_error *error);

/* Number of layers of all kinds. */
LLMPERF_API int64_t llmperf_model_layers(const llmperf_model *model);

/* Applies a scheme by name (fp8, awq, mxfp4 ...; "none" undoes the checkpoint's own) to the dense
 * weights of a model; embedding, LM head, routers and norms stay. mxfp4 quantises experts alone
 * where there are any. Errors: LLMPERF_E_USAGE for an unknown name. */
LLMPERF_API llmperf_status llmperf_model_quantise(llmperf_model *model, const char *name,
                                                  llmperf_error *error);
/* The names, NULL-terminated; static storage. */
LLMPERF_API const char *const *llmperf_quant_names(void);

/* ---- hardware ------------------------------------------------------------------------------- */

typedef enum llmperf_confidence {
    LLMPERF_CONFIDENCE_NONE,
    LLMPERF_CONFIDENCE_READ,     /* read in the named text */
    LLMPERF_CONFIDENCE_MIRRORED, /* from a copy of it */
    LLMPERF_CONFIDENCE_DERIVED,  /* computed, scaled or halved */
} llmperf_confidence;

/* Fields of a hardware file that may have a source of their own. */
typedef enum llmperf_hw_field {
    LLMPERF_HW_DEFAULT, /* the whole file */
    LLMPERF_HW_PEAK,
    LLMPERF_HW_MEMORY,
    LLMPERF_HW_MEMORY_USABLE,
    LLMPERF_HW_BANDWIDTH,
    LLMPERF_HW_BANDWIDTH_ACHIEVABLE,
    LLMPERF_HW_L2,
    LLMPERF_HW_UNITS,
    LLMPERF_HW_CLOCK,
    LLMPERF_HW_LAUNCH,
    LLMPERF_HW_LINK,
    LLMPERF_HW_NODES,
    LLMPERF_HW_PCIE,
    LLMPERF_HW_POWER,
    LLMPERF_HW_PRICE,
    LLMPERF_HW_FIELD_COUNT
} llmperf_hw_field;

#define LLMPERF_HW_FIELDS_MAX 24 /* room for the enum to grow */

LLMPERF_API const char *llmperf_hw_field_name(llmperf_hw_field field);
LLMPERF_API const char *llmperf_confidence_name(llmperf_confidence confidence);

typedef struct llmperf_provenance {
    uint8_t confidence; /* llmperf_confidence */
    char source[LLMPERF_TEXT_MAX];
} llmperf_provenance;

/* A way between devices. bytes_per_s is per direction and device. */
typedef struct llmperf_link {
    char kind[24]; /* "nvlink", "xgmi", "pcie", "infiniband" ...; "" = none */
    double bytes_per_s;
    double latency_s;
    bool latency_assumed; /* the documented default of its kind, not the file's */
    int64_t domain;       /* devices that reach each other over it; 0 = not said */
} llmperf_link;

/* Hardware. Start from LLMPERF_HW_INIT; zero means not said. */
typedef struct llmperf_hw {
    size_t size; /* of this struct */
    /* dense peak per dtype, flop/s (an integer operation counts as one flop); 0 = none */
    double peak_flop_per_s[LLMPERF_DTYPES_MAX];
    double mem_bytes_per_s;
    double units;       /* SMs, CUs, cores; 0 = not said */
    llmperf_link link;  /* between devices of one node */
    llmperf_link nodes; /* between nodes */
    llmperf_link pcie;  /* host bus, the way between devices without a link */
    int64_t pcie_generation, pcie_lanes;

    char name[LLMPERF_NAME_MAX];
    char kind[24]; /* gpu, cpu, tpu, accelerator */
    char vendor[48], architecture[48];
    int alias_count;
    char aliases[LLMPERF_ALIASES_MAX][LLMPERF_NAME_MAX];
    char absent[LLMPERF_DTYPES_MAX][128]; /* why a dtype has no peak; "" = not said */

    double memory_bytes;
    double memory_usable_bytes;        /* what the driver reports; 0 = not said */
    double mem_achievable_bytes_per_s; /* 0 = not said */
    double l2_bytes, clock_hz, launch_s, power_w, price_usd_per_h; /* 0 = not said */

    llmperf_provenance provenance[LLMPERF_HW_FIELDS_MAX];
    llmperf_notes notes;    /* of the file: traps and disagreements */
    llmperf_notes warnings; /* of the reader: suspicious values */
    uint64_t room[64];      /* for what comes; 0 */
} llmperf_hw;

#define LLMPERF_HW_INIT LLMPERF_SIZED(llmperf_hw)

/* Reads a hardware YAML. Errors: LLMPERF_E_IO, LLMPERF_E_SPEC with position. */
LLMPERF_API llmperf_status llmperf_hw_load(const char *path, llmperf_hw *ret_hw,
                                           llmperf_error *error);
LLMPERF_API llmperf_status llmperf_hw_load_text(const char *name, const char *text, size_t size,
                                                llmperf_hw *ret_hw, llmperf_error *error);
LLMPERF_API llmperf_status llmperf_hw_check(const llmperf_hw *hw, llmperf_error *error);

/* The link a group of `devices` works over: the node's own link while the group fits into its
 * domain, else the link between nodes; PCIe where there is no link. NULL: no way is known. */
LLMPERF_API const llmperf_link *llmperf_hw_link(const llmperf_hw *hw, int64_t devices);

/* Is this a name or an alias of the part, as llmperf_same_part() compares them? */
LLMPERF_API bool llmperf_hw_is(const llmperf_hw *hw, const char *name);

/* Source and confidence of one field: its own, else the file's. */
LLMPERF_API const llmperf_provenance *llmperf_hw_provenance(const llmperf_hw *hw,
                                                            llmperf_hw_field field);

/* ---- where specifications are found ----------------------------------------------------------- */

/* Folders that hold models/, hardware/ and calibration/, searched in order. Filled by the program. */
typedef struct llmperf_spec_paths {
    int count;
    char folder[8][LLMPERF_PATH_MAX];
} llmperf_spec_paths;

/* A path is anything with a '/' or a known suffix (.yaml .yml .json .gguf): it is taken as it is.
 * Else a shipped name or alias, never looked up in the current directory. Fills ret_path (at
 * least LLMPERF_PATH_MAX bytes). Errors: LLMPERF_E_USAGE for an unknown name, with a suggestion. */
LLMPERF_API llmperf_status llmperf_find_model(const llmperf_spec_paths *paths, const char *name,
                                              char *ret_path, llmperf_error *error);
LLMPERF_API llmperf_status llmperf_find_hw(const llmperf_spec_paths *paths, const char *name,
                                           char *ret_path, llmperf_error *error);
LLMPERF_API llmperf_status llmperf_find_calib(const llmperf_spec_paths *paths, const char *name,
                                              char *ret_path, llmperf_error *error);

/* Calls `visit` for each shipped file of a kind ("models" or "hardware"), by name, each name once
 * (the first folder wins). A visit that returns false ends the walk. */
typedef bool (*llmperf_spec_visit)(const char *name, const char *path, void *context);
LLMPERF_API llmperf_status llmperf_list_specs(const llmperf_spec_paths *paths, const char *kind,
                                              llmperf_spec_visit visit, void *context,
                                              llmperf_error *error);

/* Compares the peaks of a part with the shipped ones and adds a warning to hw->warnings for each
 * that looks 2:4-sparse: twice the dense peak of a part of the same bandwidth. */
LLMPERF_API llmperf_status llmperf_hw_suspect(const llmperf_spec_paths *paths, llmperf_hw *hw,
                                              llmperf_error *error);

/* ---- flat files of keys and values -------------------------------------------------------------- */

/* `place` is "FILE:LINE:COL"; the items of a list come as one text with commas. */
typedef void (*llmperf_pair_visit)(const char *place, const char *key, const char *value,
                                   void *context);

/* Reads a YAML or JSON map of scalars and lists of scalars, in order; null values are passed over.
 * Errors: LLMPERF_E_IO, LLMPERF_E_SPEC. */
LLMPERF_API llmperf_status llmperf_read_pairs(const char *path, llmperf_pair_visit visit,
                                              void *context, llmperf_error *error);

#ifdef __cplusplus
}
#endif

#endif
