/* SPDX-License-Identifier: MIT */
/*
 * Runs a fuzz target over saved inputs, for compilers without libFuzzer and for the test suite:
 *     replay FILE-OR-FOLDER...
 * Folders are read in full, also those within them. No input at all is a failure.
 */
#ifndef _GNU_SOURCE
#define _XOPEN_SOURCE 700 /* nftw() */
#endif

#include <errno.h>
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t inputs;

static int fail(const char *path, const char *what)
{
    fprintf(stderr, "replay: cannot %s '%s': %s\n", what, path, strerror(errno));
    return 1;
}

static int replay_file(const char *path)
{
    FILE *in = fopen(path, "rb");
    if (!in)
        return fail(path, "open");
    size_t size = 0, capacity = 4096;
    uint8_t *data = malloc(capacity);
    while (data) {
        size_t got = fread(data + size, 1, capacity - size, in);
        if (got == 0)
            break;
        size += got;
        if (size < capacity)
            continue;
        capacity *= 2;
        uint8_t *larger = realloc(data, capacity);
        if (!larger)
            free(data);
        data = larger;
    }
    int failed = !data || ferror(in) ? fail(path, "read") : 0;
    fclose(in);
    if (!failed) {
        LLVMFuzzerTestOneInput(data, size);
        inputs++;
    }
    free(data);
    return failed;
}

static int visit(const char *path, const struct stat *about, int type, struct FTW *where)
{
    (void)about;
    (void)where;
    if (type == FTW_F)
        return replay_file(path);
    return type == FTW_D ? 0 : fail(path, "read");
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        errno = 0;
        int failed = nftw(argv[i], visit, 16, 0);
        if (failed < 0)
            fail(argv[i], "open");
        if (failed)
            return 1;
    }
    printf("%zu inputs replayed\n", inputs);
    return inputs > 0 ? 0 : 1;
}
