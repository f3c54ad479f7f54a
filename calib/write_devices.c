/* SPDX-License-Identifier: MIT */
/* The devices of this machine, as text and JSON. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "llmperf/device.h"
#include "text.h"
#include "entry.h"

/* A listing being written. */
typedef struct listing {
    FILE *out;
    bool json, first;
} listing;

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

static void json_device(listing *l, const llmperf_device_facts *f)
{
    FILE *out = l->out;
    const llmperf_device *d = f->device;
    fprintf(out, "%s\n    {\"backend\": ", l->first ? "" : ",");
    json_text(out, d->backend);
    fprintf(out, ", \"index\": %d, \"name\": ", d->index);
    json_text(out, d->name);
    fputs(", \"spec\": ", out);
    if (f->spec)
        json_text(out, f->spec->name);
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
            "},\n     \"calibrate\": {\"quick_probes\": %d, \"quick_time_s\": ", f->quick_probes);
    json_number(out, f->quick_s);
    fprintf(out, ", \"probes\": %d, \"time_s\": ", f->full_probes);
    json_number(out, f->full_s);
    fputs("},\n     \"notes\": [", out);
    for (int i = 0; i < d->notes.count; i++) {
        fputs(i ? ", " : "", out);
        json_text(out, d->notes.text[i]);
    }
    if (f->why[0] && d->notes.count < LLMPERF_NOTES_MAX) {
        char why[LLMPERF_TEXT_MAX];
        snprintf(why, sizeof why, "datasheet: %s", f->why);
        fputs(d->notes.count > 0 ? ", " : "", out);
        json_text(out, why);
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
                    text_bytes(item->number, amount, sizeof amount));
        else
            fprintf(out, "%s %.4g", item->key, item->number);
    }
    fputc('\n', out);
}

static void text_device(listing *l, const llmperf_device_facts *f)
{
    FILE *out = l->out;
    const llmperf_device *d = f->device;
    char memory[32], cache[32];
    fprintf(out, "%s%s %d  %s\n", l->first ? "" : "\n", d->backend, d->index, d->name);
    fprintf(out, "  %.0f units, %s memory, %s cache%s%s %s\n", d->units,
            text_bytes(d->memory_bytes, memory, sizeof memory),
            text_bytes(d->cache_bytes, cache, sizeof cache), d->library[0] ? "; " : "", d->library,
            d->version);
    text_state(out, d);
    if (f->spec)
        fprintf(out, "  datasheet: %s\n", f->spec->name);
    else
        fprintf(out,
                "  datasheet: none shipped%s%s; `calibrate --write-hw FILE` writes one of what it "
                "measures\n",
                f->why[0] ? ": " : "", f->why);
    if (f->full_probes > 0)
        fprintf(out,
                "  calibrate would measure %d probes in up to %.0f min, or %d in up to %.0f s "
                "(--quick)\n",
                f->full_probes, ceil(f->full_s / 60), f->quick_probes, f->quick_s);
    for (int i = 0; i < d->notes.count; i++)
        fprintf(out, "  - %s\n", d->notes.text[i]);
    l->first = false;
}

/* ---- the list -------------------------------------------------------------------------------- */

static void put_device(const llmperf_device_facts *facts, void *context)
{
    listing *l = context;
    if (l->json)
        json_device(l, facts);
    else
        text_device(l, facts);
}

static void put_absent(const listing *l, const llmperf_notes *absent)
{
    if (l->json) {
        fprintf(l->out, "%s],\n  \"notes\": [", l->first ? "" : "\n  ");
        for (int i = 0; i < absent->count; i++) {
            fputs(i ? ", " : "", l->out);
            json_text(l->out, absent->text[i]);
        }
        fputs("],\n  \"not_modelled\": []\n}\n", l->out);
        return;
    }
    if (absent->count > 0)
        fputs(l->first ? "Not here:\n" : "\nNot here:\n", l->out);
    for (int i = 0; i < absent->count; i++)
        fprintf(l->out, "  %s\n", absent->text[i]);
}

llmperf_status llmperf_write_devices(FILE *out, const char *format,
                                     const llmperf_devices_options *options, llmperf_error *error)
{
    NEEDS(out && options, error);
    listing l = {.out = out, .json = strcmp(format, "json") == 0, .first = true};
    llmperf_notes absent = {0};
    if (l.json)
        fprintf(out, "{\n  \"llmperf\": \"%s\",\n  \"schema\": %d,\n  \"devices\": [",
                llmperf_version(), LLMPERF_JSON_SCHEMA);
    llmperf_status status = llmperf_devices_visit(options, put_device, &l, &absent, error);
    put_absent(&l, &absent);
    return status;
}
