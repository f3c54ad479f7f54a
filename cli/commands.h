/* SPDX-License-Identifier: MIT */
/* The subcommands, one file each; main.c holds the table. */
#ifndef LLMPERF_CLI_COMMANDS_H
#define LLMPERF_CLI_COMMANDS_H

#include "option.h"

extern const option_command COMMAND_PREDICT, COMMAND_LAYERS, COMMAND_EXPLAIN, COMMAND_SPECS,
    COMMAND_SWEEP, COMMAND_PLOT;

/* in a build with GSL alone (LLMPERF_HAVE_CALIB) */
extern const option_command COMMAND_FIT, COMMAND_CALIBRATE, COMMAND_DEVICES, COMMAND_VALIDATE,
    COMMAND_COMPARE;

#endif
