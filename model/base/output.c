/* SPDX-License-Identifier: MIT */
#include "llmperf/output.h"
#include "entry.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Where a file is that a path leads to, over symbolic links; the path itself where nothing is yet. */
static llmperf_status find_target(const char *path, char target[LLMPERF_PATH_MAX],
                                  llmperf_error *error)
{
    char *real = realpath(path, NULL);
    int length = snprintf(target, LLMPERF_PATH_MAX, "%s", real ? real : path);
    free(real);
    if (length >= 0 && length < LLMPERF_PATH_MAX)
        return LLMPERF_OK;
    return llmperf_fail(error, LLMPERF_E_IO, "cannot create '%.200s': the path is too long", path);
}

llmperf_status llmperf_output_open(const char *path, llmperf_output *ret_output,
                                   llmperf_error *error)
{
    NEEDS(ret_output, error);
    llmperf_output o = {.file = stdout, .path = path};
    struct stat info;
    if (!path) {
        o.terminal = isatty(STDOUT_FILENO);
        *ret_output = o;
        return LLMPERF_OK;
    }
    bool special = stat(path, &info) == 0 && !S_ISREG(info.st_mode);
    if (special && S_ISDIR(info.st_mode))
        return llmperf_fail(error, LLMPERF_E_IO, "cannot write '%s': it is a folder", path);
    /* a device or pipe is written to directly; a file is replaced once complete */
    llmperf_status status = find_target(path, o.target, error);
    if (status != LLMPERF_OK)
        return status;
    if (special)
        snprintf(o.aside, sizeof o.aside, "%s", o.target);
    else
        snprintf(o.aside, sizeof o.aside, "%s.part-%ld", o.target, (long)getpid());
    o.file = fopen(o.aside, "w");
    if (!o.file)
        return llmperf_fail(error, LLMPERF_E_IO, "cannot create '%s': %s", path, strerror(errno));
    *ret_output = o;
    return LLMPERF_OK;
}

llmperf_status llmperf_output_close(llmperf_output *output, bool keep, llmperf_error *error)
{
    NEEDS(output && output->file, error);
    const char *name = output->path ? output->path : "standard output";
    errno = 0;
    bool failed = ferror(output->file) != 0;
    failed |= fflush(output->file) != 0;
    int code = errno;
    if (!output->path)
        return failed && keep ? llmperf_fail(error, LLMPERF_E_IO, "cannot write to %s: %s", name,
                                             strerror(code ? code : EIO))
                              : LLMPERF_OK;
    failed |= fclose(output->file) != 0;
    code = code ? code : errno;
    bool aside = strcmp(output->aside, output->target) != 0;
    if (!failed && keep && aside && rename(output->aside, output->target) != 0) {
        code = errno;
        failed = true;
    }
    if ((failed || !keep) && aside)
        unlink(output->aside);
    if (failed && keep)
        return llmperf_fail(error, LLMPERF_E_IO, "cannot write '%s': %s", name,
                            strerror(code ? code : EIO));
    return LLMPERF_OK;
}
