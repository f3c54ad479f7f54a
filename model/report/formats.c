/* SPDX-License-Identifier: MIT */
#include "formats.h"

#include <string.h>
#include <strings.h>

#include "llmperf/report.h"

#define DEFINE_picture(name)
#define DEFINE_page(name) .page = &name##_page
#define DEFINE_sink(name) .sink = &name##_sink
#define DEFINE_spec(name) .spec = &name##_spec
#define DEFINE_FORMAT(id, ending, interface, ...)                                                  \
    {.name = #id, .suffix = ending, .use = {__VA_ARGS__}, DEFINE_##interface(id)},

static const output_format TABLE[] = {FORMATS(DEFINE_FORMAT)};

enum { FORMAT_COUNT = sizeof TABLE / sizeof *TABLE };

#define NAME_0(name)
#define NAME_1(name) #name,
#define NAME_OF_REPORTS(name, suffix, interface, reports, ...) NAME_##reports(name)
#define NAME_OF_SPECS(name, suffix, interface, reports, specs, ...) NAME_##specs(name)
#define NAME_OF_DEVICES(name, suffix, interface, reports, specs, devices, charts)                  \
    NAME_##devices(name)
#define NAME_OF_CHARTS(name, suffix, interface, reports, specs, devices, charts) NAME_##charts(name)

const char *const *format_names(format_use use)
{
    static const char *const reports[] = {FORMATS(NAME_OF_REPORTS) NULL};
    static const char *const specs[] = {FORMATS(NAME_OF_SPECS) NULL};
    static const char *const devices[] = {FORMATS(NAME_OF_DEVICES) NULL};
    static const char *const charts[] = {FORMATS(NAME_OF_CHARTS) NULL};
    static const char *const *const names[FORMAT_USES] = {reports, specs, devices, charts};
    return names[use];
}

llmperf_status format_unknown(const char *name, const char *const *allowed, llmperf_error *error)
{
    char list[16 * FORMAT_COUNT] = "";
    size_t used = 0;
    for (int i = 0; allowed[i]; i++)
        used +=
            (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", allowed[i]);
    return llmperf_fail(error, LLMPERF_E_USAGE, "format '%s' is not known here; %s are allowed",
                        name, list);
}

llmperf_status format_find(const char *name, format_use use, const output_format **ret_format,
                           llmperf_error *error)
{
    for (int i = 0; i < FORMAT_COUNT; i++)
        if (TABLE[i].use[use] && (!name || strcmp(name, TABLE[i].name) == 0)) {
            *ret_format = &TABLE[i];
            return LLMPERF_OK;
        }
    return format_unknown(name, format_names(use), error);
}

const output_format *format_of_suffix(const char *path, format_use use)
{
    const char *dot = strrchr(path, '.');
    for (int i = 0; dot && i < FORMAT_COUNT; i++)
        if (TABLE[i].use[use] && strcasecmp(dot, TABLE[i].suffix) == 0)
            return &TABLE[i];
    return NULL;
}

const char *const *llmperf_formats(void)
{
    return format_names(FORMAT_REPORTS);
}

const char *const *llmperf_spec_formats(void)
{
    return format_names(FORMAT_SPECS);
}

const char *const *llmperf_device_formats(void)
{
    return format_names(FORMAT_DEVICES);
}

const char *llmperf_format_of_suffix(const char *path)
{
    if (!path)
        return NULL;
    const output_format *found = format_of_suffix(path, FORMAT_REPORTS);
    found = found ? found : format_of_suffix(path, FORMAT_SPECS);
    return found ? found->name : NULL;
}

bool llmperf_format_is_record(const char *name)
{
    if (!name)
        return false;
    const output_format *found = NULL;
    return format_find(name, FORMAT_REPORTS, &found, NULL) == LLMPERF_OK && found->sink;
}
