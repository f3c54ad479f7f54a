/* SPDX-License-Identifier: MIT */
/* Files, compressed files and memory as one stream of bytes and lines. */
#include "source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef LLMPERF_HAVE_ZLIB
#include <zlib.h>
#endif

/* ---- files ------------------------------------------------------------------------------------------- */

#ifdef LLMPERF_HAVE_ZLIB
static void *input_open(const char *path)
{
    return gzopen(path, "rb");
}
static int64_t input_read(void *in, char *block, size_t size)
{
    int code = 0, got = gzread(in, block, (unsigned)size);
    if (got == 0) /* the end, or a file that was cut off */
        gzerror(in, &code);
    return code < 0 ? -1 : got;
}
static void input_close(void *in)
{
    gzclose(in);
}
static const char *input_why(void *in)
{
    int code = 0;
    const char *text = gzerror(in, &code);
    return code == Z_ERRNO ? strerror(errno) : text;
}
#else
static void *input_open(const char *path)
{
    return fopen(path, "rb");
}
static int64_t input_read(void *in, char *block, size_t size)
{
    size_t got = fread(block, 1, size, in);
    return ferror((FILE *)in) ? -1 : (int64_t)got;
}
static void input_close(void *in)
{
    fclose(in);
}
static const char *input_why(void *in)
{
    (void)in;
    return strerror(errno);
}
#endif

llmperf_status source_open_text(source *s, const char *name, const char *text, size_t size,
                                llmperf_error *error)
{
    *s = (source){.name = name, .bytes = text, .size = size, .line = 1};
    s->text = malloc(SOURCE_LINE_MAX + 1);
    return s->text ? LLMPERF_OK : llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
}

/* More bytes once those at hand are taken; false at the end. */
static bool fill(source *s)
{
    if (s->at < s->size)
        return true;
    if (!s->in || s->failed)
        return false;
    int64_t got = input_read(s->in, s->block, SOURCE_BLOCK_BYTES);
    s->at = s->size = 0;
    if (got < 0) {
        s->failed = true;
        const char *why = input_why(s->in);
        size_t name = strlen(s->name); /* zlib puts the path in front */
        if (strncmp(why, s->name, name) == 0 && strncmp(why + name, ": ", 2) == 0)
            why += name + 2;
        snprintf(s->why, sizeof s->why, "%s", why);
        return false;
    }
    s->bytes = s->block;
    s->size = (size_t)got;
    return got > 0;
}

llmperf_status source_open(source *s, const char *path, llmperf_error *error)
{
    errno = 0;
    void *in = input_open(path);
    if (!in)
        return llmperf_fail(error, LLMPERF_E_IO, "cannot open '%s': %s", path, strerror(errno));
    llmperf_status status = source_open_text(s, path, NULL, 0, error);
    s->in = in;
    s->block = malloc(SOURCE_BLOCK_BYTES);
    if (status == LLMPERF_OK && !s->block)
        status = llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    if (status == LLMPERF_OK && !fill(s))
        status = source_status(s, error);
#ifndef LLMPERF_HAVE_ZLIB
    if (status == LLMPERF_OK && s->size > 1 && memcmp(s->bytes, "\x1f\x8b", 2) == 0)
        status = llmperf_fail(error, LLMPERF_E_UNSUPPORTED,
                              "%s is compressed and this build has no zlib; gunzip it first", path);
#endif
    if (status != LLMPERF_OK)
        source_close(s);
    return status;
}

void source_close(source *s)
{
    if (s->in)
        input_close(s->in);
    free(s->block);
    free(s->text);
    *s = (source){0};
}

llmperf_status source_status(const source *s, llmperf_error *error)
{
    return s->failed ? llmperf_fail(error, LLMPERF_E_IO, "cannot read '%s': %s", s->name, s->why)
                     : LLMPERF_OK;
}

/* ---- bytes and lines --------------------------------------------------------------------------------- */

const char *source_head(source *s, size_t *ret_size)
{
    *ret_size = fill(s) ? s->size - s->at : 0;
    return s->bytes ? s->bytes + s->at : "";
}

int source_peek(source *s)
{
    return fill(s) ? (unsigned char)s->bytes[s->at] : -1;
}

int source_get(source *s)
{
    int byte = source_peek(s);
    if (byte < 0)
        return byte;
    s->at++;
    s->total_bytes++;
    if (byte == '\n') {
        s->line++;
        s->line_begin_bytes = s->total_bytes;
    }
    return byte;
}

int64_t source_column(const source *s)
{
    return s->total_bytes - s->line_begin_bytes + 1;
}

/* Up to the line's end into s->text; true once the end was there. */
static bool take_part(source *s, size_t *used)
{
    const char *from = s->bytes + s->at;
    size_t left = s->size - s->at;
    const char *end = memchr(from, '\n', left);
    size_t part = end ? (size_t)(end - from) : left;
    size_t room = SOURCE_LINE_MAX - *used;
    s->has_nul |= memchr(from, '\0', part) != NULL;
    s->too_long |= part > room;
    memcpy(s->text + *used, from, part < room ? part : room);
    *used += part < room ? part : room;
    s->at += part + (end != NULL);
    s->total_bytes += (int64_t)part + (end != NULL);
    return end != NULL;
}

char *source_line(source *s)
{
    size_t used = 0;
    int64_t begun = s->total_bytes;
    bool first = begun == 0;
    if (!fill(s))
        return NULL;
    s->too_long = s->has_nul = false;
    s->text_line = s->line;
    while (fill(s)) {
        if (take_part(s, &used)) {
            s->line++;
            break;
        }
        if (s->total_bytes - begun > SOURCE_ENDLESS) { /* a device, such as /dev/zero */
            s->failed = true;
            snprintf(s->why, sizeof s->why, "256 MiB without the end of a line");
            return NULL;
        }
    }
    if (used > 0 && s->text[used - 1] == '\r')
        used--;
    s->text[used] = '\0';
    return s->text + (first && strncmp(s->text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0);
}

/* ---- cells ------------------------------------------------------------------------------------------- */

_Static_assert(SOURCE_CELLS_MAX == 256 && SOURCE_LINE_MAX == 1 << 16, "as the texts below say");

int source_cells(char *line, char **cell)
{
    int count = 0;
    char *at = line;
    for (;;) {
        if (count == SOURCE_CELLS_MAX)
            return -1;
        while (*at == ' ' || *at == '\t')
            at++;
        char *to = at;
        cell[count++] = to;
        if (*at == '"') {
            for (at++; *at && (*at != '"' || at[1] == '"'); at++) {
                if (*at == '"')
                    at++;
                *to++ = *at;
            }
            if (!*at)
                return -2;
            at++;
            while (*at && *at != ',')
                at++;
        } else {
            while (*at && *at != ',')
                *to++ = *at++;
            while (to > cell[count - 1] && (to[-1] == ' ' || to[-1] == '\t'))
                to--;
        }
        char next = *at;
        *to = '\0';
        if (!next)
            return count;
        at++;
    }
}

const char *source_cells_fault(int count)
{
    return count == -1   ? "more than 256 cells; at most 256 are allowed"
           : count == -2 ? "an open quote; a closing one is allowed"
                         : NULL;
}

const char *source_line_fault(const source *from)
{
    return from->has_nul    ? "a NUL byte; text is allowed"
           : from->too_long ? "a line of more than 64 KiB; shorter ones are allowed"
                            : NULL;
}
