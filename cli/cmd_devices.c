/* SPDX-License-Identifier: MIT */
/* llmperf devices: what can be measured here and in what state it is. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "device.h"

enum { DEVICES_MAX = 64 }; /* of one backend */

typedef struct devices_arguments {
    common_arguments common;
    const char *backend, *options;
} devices_arguments;

static const char *const DEVICE_FORMATS[] = {"text", "json", NULL};

static const option OPTIONS[] = {
    OPTION_ROW(devices_arguments, backend, TEXT, "backend", 0, "NAME",
               "only this one: cpu, fake, cuda", .default_text = "all", .group = "Device"),
    OPTION_ROW(devices_arguments, options, TEXT, "options", 0, "K=V,..",
               "options of the backend named by --backend", .group = "Device"),
    OPTION_ROW_GIVEN(devices_arguments, common.format, common.format_given, CHOICE, "format", 0,
                     "FORMAT", "how to print the result", .choices = DEVICE_FORMATS,
                     .default_text = "text", .group = "Output"),
    OPTION_ROW(devices_arguments, common.output, TEXT, "output", 'o', "FILE",
               "write to a file; its suffix picks the format", .group = "Output"),
    OPTION_ROW(devices_arguments, common.specs, TEXT, "specs", 0, "DIR",
               "look for specifications here first", .group = "Output"),
    OPTION_END,
};

/* What `calibrate` would do on a device. */
typedef struct outlook {
    int quick_probes, full_probes;
    double quick_s, full_s;
} outlook;

/* A listing being written. */
typedef struct listing {
    FILE *out;
    bool json, first;
    const devices_arguments *arguments;
    int shown;
} listing;

/* ---- JSON ------------------------------------------------------------------------------------ */

static void json_text(FILE *out, const char *text)
{
    fputc('"', out);
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if (*c == '"' || *c == '\\')
            fprintf(out, "\\%c", *c);
        else if (*c < 0x20 || *c == 0x7f)
            fprintf(out, "\\u%04x", *c);
        else
            fputc(*c, out);
    }
    fputc('"', out);
}

static void json_number(FILE *out, double value)
{
    char text[LLMPERF_DOUBLE_TEXT_MAX];
    fputs(isfinite(value) ? llmperf_format_double(value, text) : "null", out);
}

static void json_device(listing *l, const llmperf_device *d, const llmperf_hw *spec,
                        const outlook *o)
{
    FILE *out = l->out;
    fprintf(out, "%s\n    {\"backend\": ", l->first ? "" : ",");
    json_text(out, d->backend);
    fprintf(out, ", \"index\": %d, \"name\": ", d->index);
    json_text(out, d->name);
    fputs(", \"spec\": ", out);
    if (spec)
        json_text(out, spec->name);
    else
        fputs("null", out);
    fputs(", \"kind\": ", out);
    json_text(out, d->kind);
    fputs(",\n     \"units\": ", out);
    json_number(out, d->units);
    fputs(", \"memory_bytes\": ", out);
    json_number(out, d->memory_bytes);
    fputs(", \"cache_bytes\": ", out);
    json_number(out, d->cache_bytes);
    fputs(", \"library\": ", out);
    json_text(out, d->library);
    fputs(", \"version\": ", out);
    json_text(out, d->version);
    fputs(",\n     \"state\": {", out);
    for (int i = 0; i < d->state_count; i++) {
        fputs(i ? ", " : "", out);
        json_text(out, d->state[i].key);
        fputs(": ", out);
        if (d->state[i].text[0])
            json_text(out, d->state[i].text);
        else
            json_number(out, d->state[i].number);
    }
    fprintf(out,
            "},\n     \"calibrate\": {\"quick_probes\": %d, \"quick_time_s\": ", o->quick_probes);
    json_number(out, o->quick_s);
    fprintf(out, ", \"probes\": %d, \"time_s\": ", o->full_probes);
    json_number(out, o->full_s);
    fputs("},\n     \"notes\": [", out);
    for (int i = 0; i < d->notes.count; i++) {
        fputs(i ? ", " : "", out);
        json_text(out, d->notes.text[i]);
    }
    fputs("]}", out);
    l->first = false;
}

/* ---- text ------------------------------------------------------------------------------------ */

static void text_state(FILE *out, const llmperf_device *d)
{
    char amount[32];
    fputs("  state: ", out);
    for (int i = 0; i < d->state_count; i++) {
        const llmperf_state_item *item = &d->state[i];
        size_t length = strlen(item->key);
        fputs(i ? ", " : "", out);
        if (item->text[0])
            fprintf(out, "%s %s", item->key, item->text);
        else if (length > 6 && strcmp(item->key + length - 6, "_bytes") == 0)
            fprintf(out, "%.*s %s", (int)length - 6, item->key,
                    device_bytes(item->number, amount, sizeof amount));
        else
            fprintf(out, "%s %.4g", item->key, item->number);
    }
    fputc('\n', out);
}

static void text_device(listing *l, const llmperf_device *d, const llmperf_hw *spec,
                        const char *why, const outlook *o)
{
    FILE *out = l->out;
    char memory[32], cache[32];
    fprintf(out, "%s%s %d  %s\n", l->first ? "" : "\n", d->backend, d->index, d->name);
    fprintf(out, "  %.0f units, %s memory, %s cache%s%s %s\n", d->units,
            device_bytes(d->memory_bytes, memory, sizeof memory),
            device_bytes(d->cache_bytes, cache, sizeof cache), d->library[0] ? "; " : "",
            d->library, d->version);
    text_state(out, d);
    if (spec)
        fprintf(out, "  datasheet: %s\n", spec->name);
    else
        fprintf(out,
                "  datasheet: none shipped%s%s; `calibrate --write-hw FILE` writes one of what it "
                "measures\n",
                why[0] ? ": " : "", why);
    if (o->full_probes > 0)
        fprintf(out,
                "  calibrate would measure %d probes in up to %.0f min, or %d in up to %.0f s "
                "(--quick)\n",
                o->full_probes, ceil(o->full_s / 60), o->quick_probes, o->quick_s);
    for (int i = 0; i < d->notes.count; i++)
        fprintf(out, "  - %s\n", d->notes.text[i]);
    l->first = false;
}

/* ---- the walk -------------------------------------------------------------------------------- */

static void look_ahead(device_session *s, outlook *ret_outlook, llmperf_notes *notes)
{
    for (int quick = 0; quick < 2; quick++) {
        llmperf_probe_plan plan = {0};
        llmperf_error error = {0};
        if (llmperf_probe_plan_make(s->backend, s->handle, quick, &plan, &error) != LLMPERF_OK) {
            if (quick == 0)
                llmperf_note(notes, "cannot be measured: %s", error.text);
            continue;
        }
        *(quick ? &ret_outlook->quick_probes : &ret_outlook->full_probes) = plan.count;
        *(quick ? &ret_outlook->quick_s : &ret_outlook->full_s) = plan.budget_s;
        for (int i = 0; quick == 0 && i < plan.skipped.count; i++)
            llmperf_note(notes, "left out: %s", plan.skipped.text[i]);
        llmperf_probe_plan_free(&plan);
    }
}

/* All devices of a backend. A backend that is not here is said, and no fault unless it was asked
 * for. */
static llmperf_status list_backend(listing *l, const char *name, llmperf_error *error)
{
    for (int index = 0; index < DEVICES_MAX; index++) {
        device_session s = {0};
        llmperf_error one = {0};
        llmperf_notes extra = {0};
        outlook ahead = {0};
        /* options that choose a device are for one of them */
        const char *options = l->arguments->options;
        if (index > 0 && options && strstr(options, "uuid="))
            return LLMPERF_OK;
        llmperf_status status = device_open(name, index, options, &s, &one);
        if (status != LLMPERF_OK && index > 0)
            return LLMPERF_OK; /* that was the last one */
        if (status != LLMPERF_OK) {
            *error = one;
            return status;
        }
        look_ahead(&s, &ahead, &extra);
        llmperf_device described = s.device;
        if (s.backend->describe(s.handle, &described, NULL) != LLMPERF_OK)
            described = s.device;
        described.index = index;
        for (int i = 0; i < extra.count; i++)
            llmperf_note(&described.notes, "%s", extra.text[i]);
        char why[LLMPERF_TEXT_MAX];
        llmperf_loaded spec = {0};
        device_spec(&l->arguments->common, &described, &spec, why);
        if (l->json && why[0])
            llmperf_note(&described.notes, "datasheet: %s", why);
        if (l->json)
            json_device(l, &described, spec.hw, &ahead);
        else
            text_device(l, &described, spec.hw, why, &ahead);
        l->shown++;
        llmperf_loaded_free(&spec);
        device_close(&s);
    }
    return LLMPERF_OK;
}

/* "backend cuda: no device" is told in a line that names the backend already. */
static const char *without_name(const char *text, const char *name)
{
    char prefix[64];
    int length = snprintf(prefix, sizeof prefix, "backend %s: ", name);
    return length > 0 && strncmp(text, prefix, (size_t)length) == 0 ? text + length : text;
}

static llmperf_status list_all(const devices_arguments *a, common_output *output,
                               llmperf_error *error)
{
    listing l = {.out = output->file,
                 .json = strcmp(output->format, "json") == 0,
                 .first = true,
                 .arguments = a};
    llmperf_notes absent = {0};
    llmperf_status status = LLMPERF_OK;
    if (l.json)
        fprintf(l.out, "{\n  \"llmperf\": \"%s\",\n  \"schema\": %d,\n  \"devices\": [",
                llmperf_version(), LLMPERF_JSON_SCHEMA);
    for (const char *const *name = llmperf_backend_names(); *name; name++) {
        llmperf_error one = {0};
        if (a->backend && strcmp(a->backend, *name) != 0)
            continue;
        llmperf_status here = list_backend(&l, *name, &one);
        if (here == LLMPERF_OK)
            continue;
        if (a->backend || here != LLMPERF_E_UNSUPPORTED) {
            *error = one;
            status = status == LLMPERF_OK ? here : status;
        }
        llmperf_note(&absent, "%s: %s", *name, without_name(one.text, *name));
    }
    if (l.json) {
        fprintf(l.out, "%s],\n  \"notes\": [", l.first ? "" : "\n  ");
        for (int i = 0; i < absent.count; i++) {
            fputs(i ? ", " : "", l.out);
            json_text(l.out, absent.text[i]);
        }
        fputs("],\n  \"not_modelled\": []\n}\n", l.out);
    } else if (absent.count > 0) {
        fputs(l.first ? "Not here:\n" : "\nNot here:\n", l.out);
        for (int i = 0; i < absent.count; i++)
            fprintf(l.out, "  %s\n", absent.text[i]);
    }
    return status;
}

static int run(int argc, char **argv)
{
    devices_arguments arguments = {.common = COMMON_DEFAULTS};
    option_result result = {0};
    llmperf_error error = {0};
    common_output output;
    llmperf_status status = option_parse(&COMMAND_DEVICES, argc, argv, &arguments, &result, &error);
    if (status != LLMPERF_OK)
        return common_report(status, &error);
    if (result.help) {
        option_print_help(stdout, &COMMAND_DEVICES);
        return 0;
    }
    const llmperf_backend *known;
    if (arguments.backend) /* an unknown name; one that is missing is told below */
        status = llmperf_backend_find(arguments.backend, &known, &error);
    if (status == LLMPERF_E_USAGE)
        return common_report(status, &error);
    if (arguments.options && !arguments.backend) {
        status = llmperf_fail(&error, LLMPERF_E_USAGE,
                              "--options belong to one backend; --backend NAME is required");
        return common_report(status, &error);
    }
    memset(&error, 0, sizeof error);
    status = common_open_output(&arguments.common, &output, &error);
    if (status != LLMPERF_OK)
        return common_report(status, &error);
    status = list_all(&arguments, &output, &error);
    llmperf_status closed = common_close_output(&output, true, &error);
    status = status == LLMPERF_OK ? closed : status;
    return common_report(status, &error);
}

const option_command COMMAND_DEVICES = {
    .name = "devices",
    .synopsis = "",
    .summary = "what can be measured here, and in what state it is",
    .about =
        "Lists the devices that `calibrate` can measure: the processor of this machine (usable "
        "cores by affinity and cgroup quota, caches, memory, load, governor, and which BLAS it "
        "picks), NVIDIA devices, and the fake device, whose times come from a formula. Says what "
        "is "
        "missing where a backend is not here.",
    .examples = "llmperf devices\n"
                "llmperf devices --backend cpu --format json",
    .options = OPTIONS,
    .min_positionals = 0,
    .max_positionals = 0,
    .run = run,
};
