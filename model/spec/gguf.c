/* SPDX-License-Identifier: MIT */
/*
 * GGUF headers, versions 2 and 3, little endian.
 *
 * Every count and length is held against the bytes that are left in the file before anything is
 * allocated, and memory grows with the bytes read, never with what a count claims. What is not
 * kept is passed over: fixed-size arrays with one seek, strings length by length.
 */
#include "gguf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    WINDOW = 1 << 16,
    KEY_MAX = 65535,
    NAME_MAX_BYTES = 127,
    TEXT_KEPT = 4096,
    ITEMS_KEPT = 4096,
    KEYS_MAX = 1 << 16,
    TENSORS_MAX = 1 << 18,
    DEPTH_MAX = 4,
    LEAST_KEY_BYTES = 8 + 1 + 4 + 1,            /* length, a byte, type, a value */
    LEAST_TENSOR_BYTES = 8 + 1 + 4 + 8 + 4 + 8, /* length, a byte, one dimension, type, offset */
};

static const int64_t HEADER_MAX = (int64_t)1 << 28;
static const int64_t ELEMENTS_MAX = (int64_t)1 << 53;

/* Block sizes and bytes: ggml-common.h and GGML_QUANT_SIZES of gguf-py. Numbers that are not here
 * were removed (4, 5, 31-33, 36-38) or never given out. */
static const gguf_format FORMATS[] = {
    [0] = {"F32", 1, 4},         [1] = {"F16", 1, 2},         [2] = {"Q4_0", 32, 18},
    [3] = {"Q4_1", 32, 20},      [6] = {"Q5_0", 32, 22},      [7] = {"Q5_1", 32, 24},
    [8] = {"Q8_0", 32, 34},      [9] = {"Q8_1", 32, 40},      [10] = {"Q2_K", 256, 84},
    [11] = {"Q3_K", 256, 110},   [12] = {"Q4_K", 256, 144},   [13] = {"Q5_K", 256, 176},
    [14] = {"Q6_K", 256, 210},   [15] = {"Q8_K", 256, 292},   [16] = {"IQ2_XXS", 256, 66},
    [17] = {"IQ2_XS", 256, 74},  [18] = {"IQ3_XXS", 256, 98}, [19] = {"IQ1_S", 256, 50},
    [20] = {"IQ4_NL", 32, 18},   [21] = {"IQ3_S", 256, 110},  [22] = {"IQ2_S", 256, 82},
    [23] = {"IQ4_XS", 256, 136}, [24] = {"I8", 1, 1},         [25] = {"I16", 1, 2},
    [26] = {"I32", 1, 4},        [27] = {"I64", 1, 8},        [28] = {"F64", 1, 8},
    [29] = {"IQ1_M", 256, 56},   [30] = {"BF16", 1, 2},       [34] = {"TQ1_0", 256, 54},
    [35] = {"TQ2_0", 256, 66},   [39] = {"MXFP4", 32, 17},    [40] = {"NVFP4", 64, 36},
    [41] = {"Q1_0", 128, 18},    [42] = {"Q2_0", 64, 18},
};

const gguf_format *gguf_format_of(uint32_t type)
{
    if (type >= sizeof FORMATS / sizeof *FORMATS || !FORMATS[type].name)
        return NULL;
    return &FORMATS[type];
}

static const char *const TYPE_NAMES[GGUF_VALUE_TYPE_COUNT] = {
    "u8", "i8", "u16", "i16", "u32", "i32", "f32", "bool", "string", "array", "u64", "i64", "f64"};

/* Bytes of a value, or the least bytes of one whose length varies. */
static const int64_t LEAST_BYTES[GGUF_VALUE_TYPE_COUNT] = {1, 1, 2, 2, 4, 4, 4, 1, 8, 12, 8, 8, 8};

const char *gguf_describe(const gguf_value *value, char *buffer, size_t size)
{
    if (value->type != GGUF_ARRAY)
        return TYPE_NAMES[value->type];
    snprintf(buffer, size, "array of %lld %s", (long long)value->count,
             TYPE_NAMES[value->item_type]);
    return buffer;
}

/* ---- bytes ----------------------------------------------------------------------------------- */

typedef struct reader {
    const char *name;
    int fd;                     /* -1: from memory */
    const unsigned char *bytes; /* the window, or all of the memory */
    unsigned char *window;
    int64_t start, filled; /* what `bytes` holds of the file */
    int64_t at, size;
    llmperf_error *error;
    llmperf_status status;
} reader;

static bool fail_at(reader *r, int64_t at, llmperf_status status, const char *format, ...)
    LLMPERF_PRINTF(4, 5);

static bool fail_at(reader *r, int64_t at, llmperf_status status, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    if (r->status != LLMPERF_OK)
        return false;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    r->status = llmperf_fail(r->error, status, "%s: byte %lld: %s", r->name, (long long)at, text);
    return false;
}

static bool no_memory(reader *r)
{
    r->status = llmperf_fail(r->error, LLMPERF_E_MEMORY, "%s: out of memory", r->name);
    return false;
}

/* Are `bytes` more there? */
static bool need(reader *r, int64_t bytes, const char *what)
{
    if (bytes > r->size - r->at)
        return fail_at(r, r->at, LLMPERF_E_SPEC,
                       "%s of %lld bytes, but the file ends %lld bytes further; a whole header is "
                       "allowed (is the download complete?)",
                       what, (long long)bytes, (long long)(r->size - r->at));
    if (bytes > HEADER_MAX - r->at)
        return fail_at(r, r->at, LLMPERF_E_SPEC,
                       "%s makes the header longer than 256 MiB; at most "
                       "that is allowed",
                       what);
    return true;
}

static bool fill(reader *r)
{
    ssize_t got;
    do
        got = pread(r->fd, r->window, WINDOW, (off_t)r->at);
    while (got < 0 && errno == EINTR);
    if (got < 0) {
        r->status =
            llmperf_fail(r->error, LLMPERF_E_IO, "cannot read '%s': %s", r->name, strerror(errno));
        return false;
    }
    if (got == 0)
        return fail_at(r, r->at, LLMPERF_E_IO, "the file became shorter while it was read");
    r->start = r->at;
    r->filled = got;
    return true;
}

static bool take(reader *r, void *to, int64_t bytes, const char *what)
{
    unsigned char *out = to;
    if (!need(r, bytes, what))
        return false;
    while (bytes > 0) {
        int64_t left = r->start + r->filled - r->at;
        if (r->at < r->start || left <= 0) {
            if (!fill(r))
                return false;
            continue;
        }
        int64_t part = left < bytes ? left : bytes;
        memcpy(out, r->bytes + (r->at - r->start), (size_t)part);
        out += part;
        r->at += part;
        bytes -= part;
    }
    return true;
}

static bool skip(reader *r, int64_t bytes, const char *what)
{
    if (!need(r, bytes, what))
        return false;
    r->at += bytes;
    return true;
}

static bool take_u32(reader *r, uint32_t *ret_value, const char *what)
{
    unsigned char b[4];
    if (!take(r, b, sizeof b, what))
        return false;
    *ret_value = (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
    return true;
}

static bool take_u64(reader *r, uint64_t *ret_value, const char *what)
{
    uint32_t low, high;
    if (!need(r, 8, what) || !take_u32(r, &low, what) || !take_u32(r, &high, what))
        return false;
    *ret_value = (uint64_t)high << 32 | low;
    return true;
}

/* A count of things of at least `least` bytes: no more than the file has room for, or than
 * `limit`. */
static bool take_limited(reader *r, int64_t least, int64_t limit, int64_t *ret_count,
                         const char *what)
{
    int64_t at = r->at;
    uint64_t count;
    if (!take_u64(r, &count, what))
        return false;
    int64_t most = (r->size - r->at) / least;
    if (count <= (uint64_t)most && count > (uint64_t)limit)
        return fail_at(r, at, LLMPERF_E_SPEC, "%s is %llu; at most %lld are allowed", what,
                       (unsigned long long)count, (long long)limit);
    if (count > (uint64_t)most)
        return fail_at(r, at, LLMPERF_E_SPEC,
                       "%s is %llu, but the rest of the file has room for %lld; at most that is "
                       "allowed",
                       what, (unsigned long long)count, (long long)most);
    *ret_count = (int64_t)count;
    return true;
}

static bool take_count(reader *r, int64_t least, int64_t *ret_count, const char *what)
{
    return take_limited(r, least, INT64_MAX, ret_count, what);
}

/* A string of 1 to `most` printable ASCII bytes: a key or a tensor's name. */
static bool take_name(reader *r, int64_t most, char **ret_name, const char *what)
{
    int64_t at = r->at, length = 0;
    if (!take_count(r, 1, &length, "the length of a name"))
        return false;
    if (length < 1 || length > most)
        return fail_at(r, at, LLMPERF_E_SPEC, "%s of %lld bytes; 1 to %lld are allowed", what,
                       (long long)length, (long long)most);
    char *name = malloc((size_t)length + 1);
    if (!name)
        return no_memory(r);
    if (!take(r, name, length, what)) {
        free(name);
        return false;
    }
    name[length] = '\0';
    for (int64_t i = 0; i < length; i++)
        if (name[i] < 0x21 || name[i] > 0x7e) {
            int byte = (unsigned char)name[i];
            free(name);
            return fail_at(r, at + 8 + i, LLMPERF_E_SPEC,
                           "%s holds the byte 0x%02x; printable ASCII is allowed", what, byte);
        }
    *ret_name = name;
    return true;
}

/* ---- metadata -------------------------------------------------------------------------------- */

static bool is_whole(uint32_t type)
{
    return type != GGUF_F32 && type != GGUF_F64 && type != GGUF_STRING && type != GGUF_ARRAY;
}

static bool take_type(reader *r, uint32_t *ret_type)
{
    int64_t at = r->at;
    if (!take_u32(r, ret_type, "a value type"))
        return false;
    if (*ret_type >= GGUF_VALUE_TYPE_COUNT)
        return fail_at(r, at, LLMPERF_E_SPEC, "value type %lu; 0 to %d are allowed",
                       (unsigned long)*ret_type, GGUF_VALUE_TYPE_COUNT - 1);
    return true;
}

static bool take_scalar(reader *r, uint32_t type, int64_t *ret_integer, double *ret_real)
{
    unsigned char b[8] = {0};
    int64_t at = r->at, size = LEAST_BYTES[type];
    uint64_t bits = 0;
    if (!take(r, b, size, "a value"))
        return false;
    for (int64_t i = size; i-- > 0;)
        bits = bits << 8 | b[i];
    *ret_real = 0;
    *ret_integer = 0;
    if (type == GGUF_F32) {
        uint32_t narrow = (uint32_t)bits;
        float value;
        memcpy(&value, &narrow, sizeof value);
        *ret_real = (double)value;
    } else if (type == GGUF_F64) {
        memcpy(ret_real, &bits, sizeof *ret_real);
    } else if (type == GGUF_BOOL && bits > 1) {
        return fail_at(r, at, LLMPERF_E_SPEC, "a bool of value %d; 0 and 1 are allowed", (int)bits);
    } else if (type == GGUF_I8 || type == GGUF_I16 || type == GGUF_I32) {
        uint64_t sign = (uint64_t)1 << (8 * size - 1);
        *ret_integer = (int64_t)(bits & (sign - 1)) - (int64_t)(bits & sign);
    } else if (type == GGUF_I64) {
        memcpy(ret_integer, &bits, sizeof *ret_integer);
    } else {
        *ret_integer = bits > INT64_MAX ? INT64_MAX : (int64_t)bits;
    }
    return true;
}

static bool take_string(reader *r, gguf_value *keep)
{
    int64_t length = 0;
    if (!take_count(r, 1, &length, "the length of a string"))
        return false;
    if (!keep || length > TEXT_KEPT) {
        if (keep)
            keep->count = length;
        return skip(r, length, "a string");
    }
    keep->count = length;
    keep->text = malloc((size_t)length + 1);
    if (!keep->text)
        return no_memory(r);
    keep->text[length] = '\0';
    return take(r, keep->text, length, "a string");
}

static bool take_items(reader *r, uint32_t type, int64_t count, gguf_value *keep)
{
    double real;
    if (!need(r, count * LEAST_BYTES[type], "an array"))
        return false;
    keep->items = calloc(count > 0 ? (size_t)count : 1, sizeof *keep->items);
    if (!keep->items)
        return no_memory(r);
    for (int64_t i = 0; i < count; i++)
        if (!take_scalar(r, type, &keep->items[i], &real))
            return false;
    return true;
}

static bool take_array(reader *r, int depth, gguf_value *keep)
{
    uint32_t type;
    int64_t at = r->at, count = 0;
    if (depth > DEPTH_MAX)
        return fail_at(r, at, LLMPERF_E_SPEC,
                       "arrays nested more than %d deep; at most that is "
                       "allowed",
                       DEPTH_MAX);
    if (!take_type(r, &type) ||
        !take_count(r, LEAST_BYTES[type], &count, "the number of items of an array"))
        return false;
    if (keep) {
        keep->item_type = type;
        keep->count = count;
        if (is_whole(type) && count <= ITEMS_KEPT && strncmp(keep->key, "tokenizer.", 10) != 0)
            return take_items(r, type, count, keep);
    }
    if (type != GGUF_STRING && type != GGUF_ARRAY)
        return skip(r, count * LEAST_BYTES[type], "an array");
    for (int64_t i = 0; i < count; i++)
        if (!(type == GGUF_STRING ? take_string(r, NULL) : take_array(r, depth + 1, NULL)))
            return false;
    return true;
}

static bool take_value(reader *r, gguf_value *value)
{
    value->at = r->at;
    if (!take_name(r, KEY_MAX, &value->key, "a key") || !take_type(r, &value->type))
        return false;
    if (value->type == GGUF_STRING)
        return take_string(r, value);
    if (value->type == GGUF_ARRAY)
        return take_array(r, 1, value);
    return take_scalar(r, value->type, &value->integer, &value->real);
}

static void free_value(gguf_value *value)
{
    free(value->key);
    free(value->text);
    free(value->items);
}

/* Room for one more of `count` things of `size` bytes: memory doubles as they are read. */
static bool grow(reader *r, void **things, size_t count, size_t size)
{
    if ((count & (count - 1)) != 0) /* only 0 and powers of two are full */
        return true;
    void *larger = realloc(*things, (count > 0 ? 2 * count : 1) * size);
    if (!larger)
        return no_memory(r);
    *things = larger;
    return true;
}

static int compare_values(const void *a, const void *b)
{
    const gguf_value *x = a, *y = b;
    int order = strcmp(x->key, y->key);
    return order ? order : (x->at > y->at) - (x->at < y->at);
}

static bool take_values(reader *r, gguf *file, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        gguf_value value = {0};
        if (!take_value(r, &value) ||
            !grow(r, (void **)&file->values, file->value_count, sizeof *file->values)) {
            free_value(&value);
            return false;
        }
        file->values[file->value_count++] = value;
    }
    if (file->value_count > 0)
        qsort(file->values, file->value_count, sizeof *file->values, compare_values);
    for (size_t i = 1; i < file->value_count; i++)
        if (strcmp(file->values[i - 1].key, file->values[i].key) == 0)
            return fail_at(r, file->values[i].at, LLMPERF_E_SPEC,
                           "the key '%.128s' is there twice, first at byte %lld; each key once is "
                           "allowed",
                           file->values[i].key, (long long)file->values[i - 1].at);
    return true;
}

static int compare_key(const void *key, const void *value)
{
    return strcmp(key, ((const gguf_value *)value)->key);
}

const gguf_value *gguf_get(const gguf *file, const char *key)
{
    if (file->value_count == 0)
        return NULL;
    return bsearch(key, file->values, file->value_count, sizeof *file->values, compare_key);
}

/* ---- tensor infos ---------------------------------------------------------------------------- */

static bool take_dims(reader *r, gguf_tensor *tensor)
{
    uint32_t count;
    int64_t at = r->at;
    if (!take_u32(r, &count, "a number of dimensions"))
        return false;
    if (count < 1 || count > GGUF_DIMS_MAX)
        return fail_at(r, at, LLMPERF_E_SPEC, "tensor '%s' has %lu dimensions; 1 to %d are allowed",
                       tensor->name, (unsigned long)count, GGUF_DIMS_MAX);
    tensor->dim_count = (int)count;
    tensor->elements = 1;
    for (int i = 0; i < GGUF_DIMS_MAX; i++)
        tensor->dims[i] = 1;
    for (int i = 0; i < tensor->dim_count; i++) {
        uint64_t size;
        at = r->at;
        if (!take_u64(r, &size, "a dimension"))
            return false;
        if (size < 1 || size > (uint64_t)ELEMENTS_MAX)
            return fail_at(r, at, LLMPERF_E_SPEC,
                           "dimension %d of tensor '%s' is %lld; 1 to 2^53 are allowed", i + 1,
                           tensor->name, (long long)size);
        if ((int64_t)size > ELEMENTS_MAX / tensor->elements)
            return fail_at(r, at, LLMPERF_E_SPEC,
                           "tensor '%s' has more than 2^53 elements; at most that is allowed",
                           tensor->name);
        tensor->dims[i] = (int64_t)size;
        tensor->elements *= (int64_t)size;
    }
    return true;
}

static bool take_tensor(reader *r, int64_t alignment, gguf_tensor *tensor)
{
    uint64_t offset;
    tensor->at = r->at;
    if (!take_name(r, NAME_MAX_BYTES, &tensor->name, "a tensor's name") || !take_dims(r, tensor))
        return false;
    int64_t at = r->at;
    if (!take_u32(r, &tensor->type, "a tensor's type"))
        return false;
    const gguf_format *format = gguf_format_of(tensor->type);
    if (!format)
        return fail_at(r, at, LLMPERF_E_SPEC,
                       "tensor '%s' is of ggml type %lu, which is not known; 0 to 42 but for those "
                       "removed (4, 5, 31-33, 36-38) are allowed",
                       tensor->name, (unsigned long)tensor->type);
    if (tensor->dims[0] % format->block != 0)
        return fail_at(r, at, LLMPERF_E_SPEC,
                       "tensor '%s' has rows of %lld, but %s holds blocks of %lld; a multiple is "
                       "allowed",
                       tensor->name, (long long)tensor->dims[0], format->name,
                       (long long)format->block);
    tensor->bytes = tensor->elements / format->block * format->bytes;
    at = r->at;
    if (!take_u64(r, &offset, "a tensor's offset"))
        return false;
    if (offset > INT64_MAX || (int64_t)offset % alignment != 0)
        return fail_at(r, at, LLMPERF_E_SPEC,
                       "the offset of tensor '%s' is %llu; a multiple of the alignment %lld is "
                       "allowed",
                       tensor->name, (unsigned long long)offset, (long long)alignment);
    return true;
}

static bool take_tensors(reader *r, gguf *file, int part, int64_t alignment, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        gguf_tensor tensor = {.part = part};
        if (!take_tensor(r, alignment, &tensor) ||
            !grow(r, (void **)&file->tensors, file->tensor_count, sizeof *file->tensors)) {
            free(tensor.name);
            return false;
        }
        file->tensors[file->tensor_count++] = tensor;
    }
    return true;
}

static int compare_tensors(const void *a, const void *b)
{
    const gguf_tensor *x = *(const gguf_tensor *const *)a, *y = *(const gguf_tensor *const *)b;
    int order = strcmp(x->name, y->name);
    if (order == 0)
        order = x->part - y->part;
    return order ? order : (x->at > y->at) - (x->at < y->at);
}

static llmperf_status refuse_twins(const gguf *file, llmperf_error *error)
{
    llmperf_status status = LLMPERF_OK;
    if (file->tensor_count == 0)
        return LLMPERF_OK;
    const gguf_tensor **sorted = malloc(file->tensor_count * sizeof *sorted);
    if (!sorted)
        return llmperf_fail(error, LLMPERF_E_MEMORY, "%s: out of memory", file->parts[0]);
    for (size_t i = 0; i < file->tensor_count; i++)
        sorted[i] = &file->tensors[i];
    qsort(sorted, file->tensor_count, sizeof *sorted, compare_tensors);
    for (size_t i = 1; i < file->tensor_count && status == LLMPERF_OK; i++)
        if (strcmp(sorted[i - 1]->name, sorted[i]->name) == 0)
            status = llmperf_fail(
                error, LLMPERF_E_SPEC,
                "%s: byte %lld: the tensor '%s' is there twice, first at byte %lld "
                "of %s; each tensor once is allowed",
                file->parts[sorted[i]->part], (long long)sorted[i]->at, sorted[i]->name,
                (long long)sorted[i - 1]->at, file->parts[sorted[i - 1]->part]);
    free(sorted);
    return status;
}

/* ---- one file -------------------------------------------------------------------------------- */

static bool take_magic(reader *r)
{
    char magic[4];
    uint32_t version;
    if (!take(r, magic, sizeof magic, "the magic"))
        return false;
    if (memcmp(magic, "GGUF", 4) != 0)
        return fail_at(r, 0, LLMPERF_E_SPEC,
                       "the file begins with the bytes %02x %02x %02x %02x; 'GGUF' is allowed",
                       (unsigned char)magic[0], (unsigned char)magic[1], (unsigned char)magic[2],
                       (unsigned char)magic[3]);
    if (!take_u32(r, &version, "the version"))
        return false;
    if (version != 0 && (version & 0xffff) == 0)
        return fail_at(r, 4, LLMPERF_E_UNSUPPORTED,
                       "a big-endian file (version %lu read backwards); little endian is allowed",
                       (unsigned long)(version >> 24 | (version >> 8 & 0xff00)));
    if (version != 2 && version != 3)
        return fail_at(r, 4, LLMPERF_E_SPEC, "GGUF version %lu; 2 and 3 are allowed",
                       (unsigned long)version);
    return true;
}

static bool read_alignment(reader *r, const gguf *file, int64_t *ret_alignment)
{
    const gguf_value *value = gguf_get(file, "general.alignment");
    *ret_alignment = 32;
    if (!value)
        return true;
    int64_t n = value->integer;
    if (!is_whole(value->type) || n < 1 || n > 1 << 30 || (n & (n - 1)) != 0)
        return fail_at(r, value->at, LLMPERF_E_SPEC,
                       "general.alignment is %lld; a power of two is allowed", (long long)n);
    *ret_alignment = n;
    return true;
}

/* Metadata and tensors of one file are added to `file`, which has none of its metadata yet. */
static llmperf_status read_header(reader *r, gguf *file, int part)
{
    int64_t tensors = 0, values = 0, alignment = 32;
    if (take_magic(r) &&
        take_limited(r, LEAST_TENSOR_BYTES, TENSORS_MAX, &tensors, "the number of tensors") &&
        take_limited(r, LEAST_KEY_BYTES, KEYS_MAX, &values, "the number of keys") &&
        take_values(r, file, values) && read_alignment(r, file, &alignment))
        take_tensors(r, file, part, alignment, tensors);
    return r->status;
}

static llmperf_status add_part(gguf *file, const char *name, llmperf_error *error)
{
    char **more = realloc(file->parts, ((size_t)file->part_count + 1) * sizeof *more);
    char *copy = strdup(name);
    if (more)
        file->parts = more;
    if (!more || !copy) {
        free(copy);
        return llmperf_fail(error, LLMPERF_E_MEMORY, "%s: out of memory", name);
    }
    file->parts[file->part_count++] = copy;
    return LLMPERF_OK;
}

static llmperf_status open_file(const char *path, reader *r)
{
    struct stat info;
    r->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (r->fd < 0 || fstat(r->fd, &info) != 0)
        return llmperf_fail(r->error, LLMPERF_E_IO, "cannot open '%s': %s", path, strerror(errno));
    if (!S_ISREG(info.st_mode))
        return llmperf_fail(r->error, LLMPERF_E_IO,
                            "'%s' is no regular file; a GGUF file is "
                            "allowed",
                            path);
    r->size = (int64_t)info.st_size;
    r->window = malloc(WINDOW);
    r->bytes = r->window;
    if (!r->window)
        return llmperf_fail(r->error, LLMPERF_E_MEMORY, "%s: out of memory", path);
    return LLMPERF_OK;
}

static llmperf_status read_file(const char *path, gguf *file, int part, llmperf_error *error)
{
    reader r = {.name = path, .fd = -1, .error = error};
    llmperf_status status = open_file(path, &r);
    if (status == LLMPERF_OK)
        status = read_header(&r, file, part);
    if (r.fd >= 0)
        close(r.fd);
    free(r.window);
    return status;
}

static void free_values(gguf *file)
{
    for (size_t i = 0; i < file->value_count; i++)
        free_value(&file->values[i]);
    free(file->values);
    file->values = NULL;
    file->value_count = 0;
}

void gguf_free(gguf *file)
{
    if (!file)
        return;
    free_values(file);
    for (size_t i = 0; i < file->tensor_count; i++)
        free(file->tensors[i].name);
    free(file->tensors);
    for (int i = 0; i < file->part_count; i++)
        free(file->parts[i]);
    free(file->parts);
    free(file);
}

/* ---- split models ---------------------------------------------------------------------------- */

/* What split.no and split.count say; 0 of 1 for a file of its own. */
static llmperf_status read_split(const gguf *file, const char *name, int64_t *ret_number,
                                 int64_t *ret_count, llmperf_error *error)
{
    const gguf_value *count = gguf_get(file, "split.count"), *number = gguf_get(file, "split.no");
    *ret_number = 0;
    *ret_count = 1;
    if (!count)
        return LLMPERF_OK;
    if (!is_whole(count->type) || count->integer < 0 || count->integer > GGUF_PARTS_MAX)
        return llmperf_fail(error, LLMPERF_E_SPEC,
                            "%s: byte %lld: split.count is %lld; 0 to %d are allowed", name,
                            (long long)count->at, (long long)count->integer, GGUF_PARTS_MAX);
    if (count->integer <= 1)
        return LLMPERF_OK;
    if (!number || !is_whole(number->type) || number->integer < 0 ||
        number->integer >= count->integer)
        return llmperf_fail(
            error, LLMPERF_E_SPEC,
            "%s: byte %lld: split.count is %lld, but split.no is %s; a number below "
            "split.count is allowed",
            name, (long long)(number ? number->at : count->at), (long long)count->integer,
            number ? "out of range" : "missing");
    *ret_number = number->integer;
    *ret_count = count->integer;
    return LLMPERF_OK;
}

/* "model-00001-of-00003.gguf": the bytes before the number. */
static llmperf_status split_prefix(const char *path, int64_t number, int64_t count,
                                   size_t *ret_length, llmperf_error *error)
{
    char tail[64];
    snprintf(tail, sizeof tail, "-%05lld-of-%05lld.gguf", (long long)number + 1, (long long)count);
    size_t length = strlen(path), end = strlen(tail);
    if (length < end || strcmp(path + length - end, tail) != 0)
        return llmperf_fail(
            error, LLMPERF_E_SPEC,
            "%s: byte 0: part %lld of the %lld of a split model; a name that ends in "
            "'%s' is allowed, so that the other parts are found",
            path, (long long)number + 1, (long long)count, tail);
    *ret_length = length - end;
    return LLMPERF_OK;
}

static llmperf_status read_part(const char *path, gguf *file, int64_t number, int64_t count,
                                llmperf_error *error)
{
    int64_t own_number = 0, own_count = 1;
    llmperf_status status = add_part(file, path, error);
    gguf_value *values = file->values; /* the first part's stay */
    size_t value_count = file->value_count;
    if (status != LLMPERF_OK)
        return status;
    if (number > 0) {
        file->values = NULL;
        file->value_count = 0;
    }
    if (access(path, F_OK) != 0)
        status = llmperf_fail(error, LLMPERF_E_IO,
                              "%s: byte 0: part %lld of the %lld of a split model is missing; all "
                              "parts side by side are allowed",
                              path, (long long)number + 1, (long long)count);
    else
        status = read_file(path, file, (int)number, error);
    if (status == LLMPERF_OK)
        status = read_split(file, path, &own_number, &own_count, error);
    if (status == LLMPERF_OK && (own_number != number || own_count != count))
        status = llmperf_fail(error, LLMPERF_E_SPEC,
                              "%s: byte 0: the name says part %lld of %lld, the file part %lld of "
                              "%lld; agreement is allowed",
                              path, (long long)number + 1, (long long)count,
                              (long long)own_number + 1, (long long)own_count);
    if (number > 0) {
        free_values(file);
        file->values = values;
        file->value_count = value_count;
    }
    return status;
}

static llmperf_status read_parts(const char *path, gguf *file, int64_t number, int64_t count,
                                 llmperf_error *error)
{
    size_t prefix = 0;
    llmperf_status status = split_prefix(path, number, count, &prefix, error);
    if (status != LLMPERF_OK)
        return status;
    size_t size = prefix + 64;
    char *name = malloc(size);
    if (!name)
        return llmperf_fail(error, LLMPERF_E_MEMORY, "%s: out of memory", path);
    for (int64_t i = 0; i < count && status == LLMPERF_OK; i++) {
        snprintf(name, size, "%.*s-%05lld-of-%05lld.gguf", (int)prefix, path, (long long)i + 1,
                 (long long)count);
        status = read_part(name, file, i, count, error);
    }
    free(name);
    const gguf_value *total = gguf_get(file, "split.tensors.count");
    if (status == LLMPERF_OK && total &&
        (!is_whole(total->type) || total->integer != (int64_t)file->tensor_count))
        status = llmperf_fail(error, LLMPERF_E_SPEC,
                              "%s: byte %lld: split.tensors.count is %lld, but the parts hold %zu "
                              "tensors; agreement is allowed",
                              file->parts[0], (long long)total->at, (long long)total->integer,
                              file->tensor_count);
    return status;
}

/* ---- loading --------------------------------------------------------------------------------- */

static llmperf_status finish(gguf *file, llmperf_status status, gguf **ret_file,
                             llmperf_error *error)
{
    if (status == LLMPERF_OK)
        status = refuse_twins(file, error);
    if (status != LLMPERF_OK) {
        gguf_free(file);
        return status;
    }
    *ret_file = file;
    return LLMPERF_OK;
}

llmperf_status gguf_load_file(const char *path, gguf **ret_file, llmperf_error *error)
{
    int64_t number = 0, count = 1;
    gguf *file = calloc(1, sizeof *file);
    if (!file)
        return llmperf_fail(error, LLMPERF_E_MEMORY, "%s: out of memory", path);
    llmperf_status status = add_part(file, path, error);
    if (status == LLMPERF_OK)
        status = read_file(path, file, 0, error);
    if (status == LLMPERF_OK)
        status = read_split(file, path, &number, &count, error);
    if (status == LLMPERF_OK && count > 1) {
        gguf_free(file); /* begin again with the first part, which has the metadata */
        file = calloc(1, sizeof *file);
        if (!file)
            return llmperf_fail(error, LLMPERF_E_MEMORY, "%s: out of memory", path);
        status = read_parts(path, file, number, count, error);
    }
    return finish(file, status, ret_file, error);
}

llmperf_status gguf_load_memory(const char *name, const void *data, size_t size, gguf **ret_file,
                                llmperf_error *error)
{
    int64_t number = 0, count = 1;
    gguf *file = calloc(1, sizeof *file);
    if (!file)
        return llmperf_fail(error, LLMPERF_E_MEMORY, "%s: out of memory", name);
    reader r = {.name = name, .fd = -1, .bytes = data, .error = error};
    r.size = r.filled = (int64_t)size;
    llmperf_status status = add_part(file, name, error);
    if (status == LLMPERF_OK)
        status = read_header(&r, file, 0);
    if (status == LLMPERF_OK)
        status = read_split(file, name, &number, &count, error);
    if (status == LLMPERF_OK && count > 1)
        status =
            llmperf_fail(error, LLMPERF_E_SPEC,
                         "%s: byte 0: part %lld of the %lld of a split model; a whole model is "
                         "allowed here",
                         name, (long long)number + 1, (long long)count);
    return finish(file, status, ret_file, error);
}

bool gguf_has_magic(const char *path)
{
    char magic[4];
    struct stat info;
    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode))
        return false;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool hit = pread(fd, magic, sizeof magic, 0) == (ssize_t)sizeof magic &&
               memcmp(magic, "GGUF", sizeof magic) == 0;
    close(fd);
    return hit;
}
