/* SPDX-License-Identifier: MIT */
/* The table of subcommands: a file cmd_X.c each, and a row here, in the order in which help lists them. */
#ifndef LLMPERF_CLI_COMMANDS_H
#define LLMPERF_CLI_COMMANDS_H

#include "option.h"

#define COMMANDS(ROW)                                                                              \
    ROW(PREDICT)                                                                                   \
    ROW(LAYERS)                                                                                    \
    ROW(EXPLAIN)                                                                                   \
    ROW(SWEEP)                                                                                     \
    ROW(PLOT)                                                                                      \
    ROW(SPECS)

/* in a build with GSL alone (LLMPERF_HAVE_CALIB) */
#define CALIB_COMMANDS(ROW)                                                                        \
    ROW(CALIBRATE)                                                                                 \
    ROW(DEVICES)                                                                                   \
    ROW(FIT)                                                                                       \
    ROW(VALIDATE)                                                                                  \
    ROW(COMPARE)

#define DECLARE_COMMAND(name) extern const option_command COMMAND_##name;
COMMANDS(DECLARE_COMMAND)
CALIB_COMMANDS(DECLARE_COMMAND)

#endif
