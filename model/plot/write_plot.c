/* SPDX-License-Identifier: MIT */
/* A chart in the format that was asked for: drawn, or as fields. */
#include <ctype.h>
#include <string.h>

#include "entry.h"
#include "formats.h"
#include "plot.h"

/* The formats that are drawn; every format of fields lists the numbers. A picture that is missing here is
 * made of another (png of svg, by a module). */
static const struct {
    const char *name;
    llmperf_status (*write)(FILE *out, const llmperf_plot *plot, const llmperf_plot_style *style,
                            llmperf_error *error);
} DRAWINGS[] = {{"text", plot_write_text}, {"svg", plot_write_svg}};

enum { DRAWING_COUNT = sizeof DRAWINGS / sizeof *DRAWINGS };

static int drawing_of(const output_format *format)
{
    for (int i = 0; i < DRAWING_COUNT; i++)
        if (strcmp(DRAWINGS[i].name, format->name) == 0)
            return i;
    return -1;
}

const char *const *llmperf_plot_formats(void)
{
    return format_names(FORMAT_CHARTS);
}

const char *llmperf_plot_format_of_suffix(const char *path)
{
    const output_format *found = path ? format_of_suffix(path, FORMAT_CHARTS) : NULL;
    return found ? found->name : NULL;
}

/* A name that ends like a kind of file: ".pdf", not ".d/x", "." or ".2". */
static const char *suffix_of(const char *path)
{
    const char *dot = strrchr(path, '.'), *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    return dot && dot > name && isalpha((unsigned char)dot[1]) ? dot : NULL;
}

static bool is_picture(const output_format *format)
{
    return !format->page && !format->sink;
}

static llmperf_status unknown_suffix(const char *path, llmperf_error *error)
{
    char list[256] = "";
    size_t used = 0;
    for (const char *const *name = llmperf_plot_formats(); *name; name++) {
        const output_format *f = NULL;
        if (format_find(*name, FORMAT_CHARTS, &f, NULL) == LLMPERF_OK && used < sizeof list)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s, ", f->suffix);
    }
    return llmperf_fail(error, LLMPERF_E_USAGE,
                        "no format is known by the suffix '%s'; %sor --format, is allowed",
                        suffix_of(path), list);
}

llmperf_status llmperf_plot_choose_format(const char *path, const char *named,
                                          const char **ret_format, llmperf_error *error)
{
    NEEDS(ret_format, error);
    const output_format *by_suffix = path ? format_of_suffix(path, FORMAT_CHARTS) : NULL;
    if (named && by_suffix && is_picture(by_suffix) && strcmp(by_suffix->name, named) != 0)
        return llmperf_fail(error, LLMPERF_E_USAGE,
                            "'%s' has the suffix of %s, and --format asks for %s; one of them is "
                            "allowed",
                            path, by_suffix->name, named);
    if (!named && path && !by_suffix && suffix_of(path))
        return unknown_suffix(path, error);
    *ret_format = named ? named : by_suffix ? by_suffix->name : llmperf_plot_formats()[0];
    return LLMPERF_OK;
}

/* Names what can be written here: all but pictures that are made of another. */
static llmperf_status unknown_format(const char *name, llmperf_error *error)
{
    const char *allowed[16];
    int count = 0;
    for (const char *const *one = llmperf_plot_formats(); *one && count < 15; one++) {
        const output_format *f = NULL;
        if (format_find(*one, FORMAT_CHARTS, &f, NULL) == LLMPERF_OK &&
            (f->sink || drawing_of(f) >= 0))
            allowed[count++] = *one;
    }
    allowed[count] = NULL;
    return format_unknown(name, allowed, error);
}

llmperf_status llmperf_write_plot(FILE *out, const char *name, const llmperf_plot *plot,
                                  const llmperf_plot_style *style, llmperf_error *error)
{
    static const llmperf_plot_style plain = {0};
    NEEDS(out && plot, error);
    const output_format *f = NULL;
    if (format_find(name, FORMAT_CHARTS, &f, NULL) != LLMPERF_OK)
        return unknown_format(name, error);
    if (f->sink)
        return plot_write_fields(out, f->sink, plot, error);
    int drawing = drawing_of(f);
    if (drawing < 0)
        return unknown_format(name, error);
    return DRAWINGS[drawing].write(out, plot, style ? style : &plain, error);
}
