/* SPDX-License-Identifier: MIT */
/* The table of subcommands; nothing is computed here. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "commands.h"
#include "common.h"

#define ADDRESS_OF_COMMAND(name) &COMMAND_##name,
#define NAME_OF_COMMAND(name) #name,

static const option_command *const COMMAND_TABLE[] = {COMMANDS(ADDRESS_OF_COMMAND)
#ifdef LLMPERF_HAVE_CALIB
                                                          CALIB_COMMANDS(ADDRESS_OF_COMMAND)
#endif
};

enum { COMMAND_COUNT = sizeof COMMAND_TABLE / sizeof *COMMAND_TABLE };

/* The table by value, ended by a NULL name, as the printers of option.h take it. */
static void copy_table(option_command table[COMMAND_COUNT + 1])
{
    memset(table, 0, sizeof(option_command) * (COMMAND_COUNT + 1));
    for (int i = 0; i < COMMAND_COUNT; i++)
        table[i] = *COMMAND_TABLE[i];
}

static int print_overview(FILE *out)
{
    option_command table[COMMAND_COUNT + 1];
    copy_table(table);
    option_print_overview(out, table);
    return 0;
}

static int unknown_command(const char *name)
{
    const char *words[COMMAND_COUNT + 1];
    llmperf_error error = {0};
#ifndef LLMPERF_HAVE_CALIB
    static const char *const absent[] = {CALIB_COMMANDS(NAME_OF_COMMAND) NULL};
    for (int i = 0; absent[i]; i++)
        if (strcasecmp(name, absent[i]) == 0)
            return common_report(llmperf_fail(&error, LLMPERF_E_UNSUPPORTED,
                                              "this build has no '%s': it was made without GSL "
                                              "(meson setup -Dcalib=enabled builds it)",
                                              name),
                                 &error);
#endif
    for (int i = 0; i < COMMAND_COUNT; i++)
        words[i] = COMMAND_TABLE[i]->name;
    words[COMMAND_COUNT] = NULL;
    const char *near = llmperf_nearest(name, words);
    llmperf_status status = llmperf_fail(
        &error, LLMPERF_E_USAGE, "command '%s' is not known%s%s%s; 'llmperf --help' lists them",
        name, near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
    return common_report(status, &error);
}

/* For `meson install`: the man pages and completions that the option tables describe. */
static int print_generated(int argc, char **argv)
{
    option_command table[COMMAND_COUNT + 1];
    copy_table(table);
    const char *what = argc > 2 ? argv[2] : "";
    if (strcmp(what, "bash") == 0) {
        option_print_bash(stdout, table);
    } else if (strcmp(what, "zsh") == 0) {
        option_print_zsh(stdout, table);
    } else if (strcmp(what, "man") == 0) {
        const option_command *one = NULL;
        for (int i = 0; argc > 3 && i < COMMAND_COUNT; i++)
            if (strcmp(argv[3], COMMAND_TABLE[i]->name) == 0)
                one = COMMAND_TABLE[i];
        if (argc > 3 && !one)
            return unknown_command(argv[3]);
        option_print_man(stdout, table, one, llmperf_version());
    } else {
        llmperf_error error = {0};
        return common_report(llmperf_fail(&error, LLMPERF_E_USAGE,
                                          "'--generate %s'; bash, zsh or man [COMMAND] is allowed",
                                          what),
                             &error);
    }
    return 0; /* main() looks whether it was written */
}

static int dispatch(int argc, char **argv)
{
    if (argc < 2) {
        print_overview(stderr);
        return LLMPERF_E_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        (strcmp(argv[1], "help") == 0 && argc == 2))
        return print_overview(stdout);
    if (strcmp(argv[1], "--version") == 0) {
        printf("llmperf %s\n", llmperf_version());
        return 0;
    }
    if (strcmp(argv[1], "--generate") == 0)
        return print_generated(argc, argv);
    if (strcmp(argv[1], "help") == 0) { /* help COMMAND */
        llmperf_error error = {0};
        if (argc > 3)
            return common_report(
                llmperf_fail(&error, LLMPERF_E_USAGE,
                             "'%s' is one word too many; 'help COMMAND' is allowed", argv[3]),
                &error);
        for (int i = 0; i < COMMAND_COUNT; i++)
            if (strcmp(argv[2], COMMAND_TABLE[i]->name) == 0) {
                option_print_help(stdout, COMMAND_TABLE[i]);
                return 0;
            }
        return unknown_command(argv[2]);
    }
    for (int i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(argv[1], COMMAND_TABLE[i]->name) == 0)
            return COMMAND_TABLE[i]->run(argc - 1, argv + 1);
    return unknown_command(argv[1]);
}

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_DFL); /* `llmperf ... | head` ends quietly */
    int code = dispatch(argc, argv);
    if (code != 0 || (fflush(stdout) == 0 && !ferror(stdout)))
        return code;
    llmperf_error error = {0}; /* help and version; results check their own output */
    return common_report(
        llmperf_fail(&error, LLMPERF_E_IO, "cannot write to standard output: %s", strerror(errno)),
        &error);
}
