/* SPDX-License-Identifier: MIT */
/*
 * Status codes, errors and version: what every other llmperf header stands on.
 *
 * Conventions of the whole library
 *   - A function that can fail returns llmperf_status; results go through ret_* pointers, which are
 *     untouched on failure; the llmperf_error comes last and may be NULL.
 *   - Structs hold no pointers unless their comment says so: copy, return and forget them.
 *   - Quantities carry their unit in the name (_s _bytes _flop _tokens ...), SI base units.
 *   - The library never prints, exits or aborts, keeps no global mutable state and is re-entrant.
 */
#ifndef LLMPERF_BASE_H
#define LLMPERF_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LLMPERF_VERSION_MAJOR 0
#define LLMPERF_VERSION_MINOR 1
#define LLMPERF_VERSION_PATCH 0
#define LLMPERF_VERSION "0.1.0"

/* Number of this interface: raised whenever a function, a struct, an enum or a constant of the public
 * headers changes. docs/api.md has a line for each number. */
#define LLMPERF_API_VERSION 1

/* Number of the JSON layout; raised when a documented field changes meaning or goes. */
#define LLMPERF_JSON_SCHEMA 1

#if defined(__GNUC__)
#define LLMPERF_API __attribute__((visibility("default")))
#define LLMPERF_PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))
#else
#define LLMPERF_API
#define LLMPERF_PRINTF(fmt, first)
#endif

/*
 * Structs that a caller fills and that grow carry their size, and begin with their INIT: in C
 * `llmperf_workload w = LLMPERF_WORKLOAD_INIT;`, or {.size = sizeof(llmperf_workload), .batch = 8}.
 * What is added to them takes the place of their `room`, and zero in it means what was before; so a
 * program that was built with older headers fits a newer library. Options that begin zeroed have `room`
 * alone. Objects that only the library makes are opaque and end with their _free().
 */
#ifdef __cplusplus
}
template <typename type> inline type llmperf_sized()
{
    type value = type();
    value.size = sizeof value;
    return value;
}
extern "C" {
#define LLMPERF_SIZED(type) llmperf_sized<type>()
#else
#define LLMPERF_SIZED(type)                                                                        \
    {                                                                                              \
        .size = sizeof(type)                                                                       \
    }
#endif

/* The values are also the exit codes of the llmperf program. */
typedef enum llmperf_status {
    LLMPERF_OK = 0,
    LLMPERF_E_BUG = 1,         /* a broken promise of ours */
    LLMPERF_E_USAGE = 2,       /* wrong option or a value that this model forbids */
    LLMPERF_E_SPEC = 3,        /* bad specification or config file */
    LLMPERF_E_IO = 4,          /* file cannot be read or written */
    LLMPERF_E_UNSUPPORTED = 5, /* not possible here: missing peak, link, device */
    LLMPERF_E_FIT = 6,         /* a calibration fit failed */
    LLMPERF_E_DEVICE = 7,      /* a device reported an error */
    LLMPERF_E_NO_FIT = 8,      /* the asked deployment does not fit in memory */
    LLMPERF_E_MEMORY = 9,      /* out of memory on this machine */
} llmperf_status;

#define LLMPERF_ERROR_TEXT_MAX 8192

/*
 * What went wrong. `text` holds one line per fault, without a final newline, the cause first;
 * control bytes in it are escaped, so it is safe to print. Start from a zeroed struct.
 */
typedef struct llmperf_error {
    llmperf_status status;
    int faults; /* number of faults, also those that `text` had no room for */
    char text[LLMPERF_ERROR_TEXT_MAX];
} llmperf_error;

/*
 * Adds one fault to `error` (may be NULL) and returns `status`. The first fault decides
 * error->status. The text must be "FILE:LINE:COL: what was found; what is allowed" for files.
 */
LLMPERF_API llmperf_status llmperf_fail(llmperf_error *error, llmperf_status status,
                                        const char *format, ...) LLMPERF_PRINTF(3, 4);
LLMPERF_API llmperf_status llmperf_fail_va(llmperf_error *error, llmperf_status status,
                                           const char *format, va_list arguments)
    LLMPERF_PRINTF(3, 0);

/* Version of the library that is running, "MAJOR.MINOR.PATCH"; static storage. */
LLMPERF_API const char *llmperf_version(void);

/* LLMPERF_API_VERSION of the library that is running: at least that of the headers that a program was
 * built with, or it may lack what the program asks for. */
LLMPERF_API int llmperf_api_version(void);

/*
 * Escapes control bytes (C0, DEL and the UTF-8 forms of C1) of `text` as \xNN into
 * `buffer`, cut to `size` with a final NUL. Returns `buffer`.
 */
LLMPERF_API char *llmperf_escape(const char *text, char *buffer, size_t size);

/*
 * Nearest word of `words` (NULL-terminated) to `word` by edit distance, for "did you mean";
 * NULL when none is near. Returns one of the given pointers.
 */
LLMPERF_API const char *llmperf_nearest(const char *word, const char *const *words);

/* Do two names mean one part? Case, blanks, '-' and '_' do not count, nor do the makers' words:
 * "NVIDIA GeForce RTX 4090", "rtx4090" and "RTX_4090" do. */
LLMPERF_API bool llmperf_same_part(const char *a, const char *b);

/* Locale-independent strtod that must consume the whole of `text`; false otherwise.
 * Accepts decimal and exponent forms only: no hex, no inf, no nan, no blanks. */
LLMPERF_API bool llmperf_parse_double(const char *text, double *ret_value);

/* Shortest decimal text that reads back as `value` (finite), locale-independent. Returns buffer,
 * which must hold LLMPERF_DOUBLE_TEXT_MAX bytes. */
#define LLMPERF_DOUBLE_TEXT_MAX 32
LLMPERF_API char *llmperf_format_double(double value, char *buffer);

#ifdef __cplusplus
}
#endif

#endif
