/* SPDX-License-Identifier: MIT */
/* Loading a document: the bytes are read and checked, then one of two grammars builds the tree. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "doc_build.h"

/* ---- checks of the bytes, before any grammar ---- */

#define WHAT_IS_ALLOWED "a YAML or JSON document is allowed"

/* Code point at `at`, or -1 when the bytes are no valid UTF-8; `ret_length` gets its bytes. */
static long decode(const unsigned char *at, const unsigned char *end, int *ret_length)
{
    static const long lowest[] = {0, 0, 0x80, 0x800, 0x10000};
    int length = *at < 0x80                   ? 1
                 : *at >= 0xC2 && *at <= 0xDF ? 2
                 : *at >= 0xE0 && *at <= 0xEF ? 3
                 : *at >= 0xF0 && *at <= 0xF4 ? 4
                                              : 0;
    if (length == 0 || end - at < length)
        return -1;
    long value = length == 1 ? *at : *at & (0x7F >> length);
    for (int i = 1; i < length; i++) {
        if ((at[i] & 0xC0) != 0x80)
            return -1;
        value = value << 6 | (at[i] & 0x3F);
    }
    if (value < lowest[length] || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF))
        return -1;
    *ret_length = length;
    return value;
}

/* What libyaml refuses without a position, or takes for the end of a line where editors do not. */
static const char *yaml_character_fault(long c)
{
    if ((c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7F ||
        (c >= 0x80 && c <= 0x9F && c != 0x85))
        return "control character";
    if (c == 0x85 || c == 0x2028 || c == 0x2029)
        return "line separator";
    if (c == 0xFEFF)
        return "byte order mark inside the text,";
    if (c == 0xFFFE || c == 0xFFFF)
        return "noncharacter";
    return NULL;
}

/* Refuses NUL bytes, bytes that are no UTF-8 and, in YAML, characters that libyaml mistreats.
 * `ret_end` gets the place behind the last character. */
static llmperf_status check_characters(doc_builder *builder, const char *text, size_t size,
                                       doc_place *ret_end)
{
    bool json = doc_build_document(builder)->json;
    doc_place place = {1, 1};
    const unsigned char *at = (const unsigned char *)text, *end = at + size;
    while (at < end) {
        int length = 1;
        long c = *at >= 0x20 && *at < 0x7F ? *at : decode(at, end, &length);
        if (c < 0)
            return doc_build_fail(builder, place,
                                  "byte 0x%02X is no valid UTF-8; text in UTF-8 "
                                  "is allowed",
                                  *at);
        if (c == 0)
            return doc_build_fail(builder, place,
                                  "found a NUL byte, as binary files have it; "
                                  "text in UTF-8 is allowed");
        const char *what = json || (c >= 0x20 && c < 0x7F) ? NULL : yaml_character_fault(c);
        if (what)
            return doc_build_fail(builder, place,
                                  "found %s U+%04lX; in YAML it is allowed as "
                                  "\"\\u%04lx\" in double quotes",
                                  what, (unsigned long)c, (unsigned long)c);
        at += length;
        if (c == '\n' || (c == '\r' && (at == end || *at != '\n'))) {
            place.line++;
            place.column = 1;
        } else if (c != '\r') {
            place.column++;
        }
    }
    *ret_end = place;
    return LLMPERF_OK;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool has_json_suffix(const char *name)
{
    size_t length = strlen(name);
    return length >= 5 && strcasecmp(name + length - 5, ".json") == 0;
}

/* ---- loading ---- */

static llmperf_status parse(doc_builder *builder, const char *text, size_t size)
{
    doc *document = doc_build_document(builder);
    if (size >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) {
        text += 3;
        size -= 3;
    }
    doc_place start = {1, 1};
    size_t blanks = 0;
    while (blanks < size && is_blank(text[blanks]))
        blanks++;
    if (blanks == size)
        return doc_build_fail(builder, start, "the file is empty; " WHAT_IS_ALLOWED);
    if (size >= 2 && (memcmp(text, "\xFF\xFE", 2) == 0 || memcmp(text, "\xFE\xFF", 2) == 0))
        return doc_build_fail(builder, start, "looks like UTF-16; text in UTF-8 is allowed");
    char first = text[blanks];
    bool json_by_name = has_json_suffix(document->name);
    document->json = json_by_name || first == '{' || first == '[';
    /* "<<" is a YAML merge key, which has its own message. */
    if (first == '<' && !(blanks + 1 < size && text[blanks + 1] == '<')) {
        for (size_t i = 0; i < blanks; i++) {
            bool ends_line = text[i] == '\n' || (text[i] == '\r' && text[i + 1] != '\n');
            start.line += ends_line;
            start.column = ends_line ? 1 : start.column + 1;
        }
        return doc_build_fail(builder, start,
                              "looks like HTML or XML, not YAML or JSON; the raw "
                              "file is allowed, not a web page");
    }
    doc_place end;
    llmperf_status status = check_characters(builder, text, size, &end);
    if (status != LLMPERF_OK)
        return status;
    status = document->json ? doc_json_parse(builder, text, size, !json_by_name)
                            : doc_yaml_parse(builder, text, size, end);
    if (status == LLMPERF_OK && !document->root)
        return doc_build_fail(builder, start,
                              "the file is empty but for comments; " WHAT_IS_ALLOWED);
    return status;
}

static llmperf_status too_large(const char *name, llmperf_error *error)
{
    return llmperf_fail(error, LLMPERF_E_IO,
                        "%s: is larger than %u MiB; up to %u bytes are allowed", name,
                        LLMPERF_DOC_MAX_BYTES >> 20, LLMPERF_DOC_MAX_BYTES);
}

llmperf_status doc_load_text(const char *name, const char *text, size_t size, doc **ret_doc,
                             llmperf_error *error)
{
    if (size > LLMPERF_DOC_MAX_BYTES)
        return too_large(name, error);
    doc_builder *builder = doc_build_start(name);
    if (!builder)
        return llmperf_fail(error, LLMPERF_E_MEMORY, "%s: not enough memory to read it", name);
    parse(builder, text, size);
    return doc_build_finish(builder, ret_doc, error);
}

/* Reads until the end, whatever fstat() said, into a buffer that the caller frees. */
static llmperf_status read_all(int file, size_t size_guess, const char *path, char **ret_text,
                               size_t *ret_size, llmperf_error *error)
{
    const size_t most = (size_t)LLMPERF_DOC_MAX_BYTES + 1; /* one more byte shows "too large" */
    size_t capacity = size_guess < most ? size_guess + 1 : most, size = 0;
    char *text = malloc(capacity);
    while (text) {
        ssize_t got = read(file, text + size, capacity - size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            int reason = errno;
            free(text);
            return llmperf_fail(error, LLMPERF_E_IO, "%s: cannot be read: %s", path,
                                strerror(reason));
        }
        if (got == 0) {
            *ret_text = text;
            *ret_size = size;
            return LLMPERF_OK;
        }
        size += (size_t)got;
        if (size == most) {
            free(text);
            return too_large(path, error);
        }
        if (size == capacity) {
            capacity = capacity < most / 2 ? 2 * capacity : most;
            char *larger = realloc(text, capacity);
            if (!larger)
                free(text);
            text = larger;
        }
    }
    return llmperf_fail(error, LLMPERF_E_MEMORY, "%s: not enough memory to read it", path);
}

llmperf_status doc_read_file(const char *path, char **ret_text, size_t *ret_size,
                             llmperf_error *error)
{
    llmperf_status status = LLMPERF_OK;
    struct stat about;
    /* Without O_NONBLOCK a FIFO would keep us waiting for a writer. */
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file < 0)
        return llmperf_fail(error, LLMPERF_E_IO, "%s: cannot be opened: %s", path, strerror(errno));
    if (fstat(file, &about) != 0)
        status = llmperf_fail(error, LLMPERF_E_IO, "%s: cannot be read: %s", path, strerror(errno));
    else if (S_ISDIR(about.st_mode))
        status = llmperf_fail(error, LLMPERF_E_IO,
                              "%s: is a folder; a YAML or JSON file is allowed", path);
    else if (!S_ISREG(about.st_mode))
        status = llmperf_fail(error, LLMPERF_E_IO,
                              "%s: is no regular file; a YAML or JSON file is allowed", path);
    else if (about.st_size > (off_t)LLMPERF_DOC_MAX_BYTES)
        status = too_large(path, error);
    else
        status = read_all(file, (size_t)about.st_size, path, ret_text, ret_size, error);
    close(file);
    return status;
}

llmperf_status doc_load_file(const char *path, doc **ret_doc, llmperf_error *error)
{
    char *text;
    size_t size;
    llmperf_status status = doc_read_file(path, &text, &size, error);
    if (status != LLMPERF_OK)
        return status;
    status = doc_load_text(path, text, size, ret_doc, error);
    free(text);
    return status;
}
