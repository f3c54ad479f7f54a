/* SPDX-License-Identifier: MIT */
/*
 * The output formats, one row each. A format is a backend of an interface through which every result
 * is written: pages (page.h), fields (sink.h), specifications that read back; so whatever is written
 * through the interface is written in the format. Its file defines NAME_INTERFACE: json_sink in
 * sink_json.c. Pictures are drawn in the plot room, which looks their names up here.
 */
#ifndef LLMPERF_MODEL_FORMATS_H
#define LLMPERF_MODEL_FORMATS_H

#include "llmperf/spec.h"
#include "page.h"
#include "sink.h"
#include "model_object.h"

/* clang-format off */
/* In the order in which help and messages name them; 1 = such results are written in the format. */
#define FORMATS(ROW)                                                 \
    /*   name  suffix   interface  reports  specs  devices  charts */ \
    ROW(text,  ".txt",  page,            1,     1,       1,      1)   \
    ROW(json,  ".json", sink,            1,     1,       1,      1)   \
    ROW(csv,   ".csv",  sink,            1,     1,       0,      1)   \
    ROW(md,    ".md",   page,            1,     1,       0,      0)   \
    ROW(yaml,  ".yaml", spec,            0,     1,       0,      0)   \
    ROW(svg,   ".svg",  picture,         0,     0,       0,      1)   \
    ROW(png,   ".png",  picture,         0,     0,       0,      1)
/* clang-format on */

typedef enum format_use {
    FORMAT_REPORTS, /* predictions, layers, sweeps, comparisons, explanations, lists */
    FORMAT_SPECS,
    FORMAT_DEVICES,
    FORMAT_CHARTS,
    FORMAT_USES
} format_use;

/* A file that reads back as the same value. */
typedef struct spec_format {
    void (*model)(FILE *out, const llmperf_model *model);
    void (*hw)(FILE *out, const llmperf_hw *hw);
} spec_format;

/* One of the interfaces, but for a picture. */
typedef struct output_format {
    const char *name, *suffix;
    bool use[FORMAT_USES];
    const page_format *page;
    const sink_format *sink;
    const spec_format *spec;
} output_format;

#define DECLARE_picture(name)
#define DECLARE_page(name) extern const page_format name##_page;
#define DECLARE_sink(name) extern const sink_format name##_sink;
#define DECLARE_spec(name) extern const spec_format name##_spec;
#define DECLARE_FORMAT(name, suffix, interface, ...) DECLARE_##interface(name)
FORMATS(DECLARE_FORMAT)

/* The names for a use; NULL-terminated. */
const char *const *format_names(format_use use);
/* NULL = the first for the use. LLMPERF_E_USAGE names what is allowed. */
llmperf_status format_find(const char *name, format_use use, const output_format **ret_format,
                           llmperf_error *error);
/* The error of format_find(), with the names that are allowed in another's place. */
llmperf_status format_unknown(const char *name, const char *const *allowed, llmperf_error *error);
/* The format whose suffix a path has, in whatever case, and that is for the use; else NULL. */
const output_format *format_of_suffix(const char *path, format_use use);

#endif
