/* SPDX-License-Identifier: MIT */
/* Everything that libllmperf offers. */
#ifndef LLMPERF_LLMPERF_H
#define LLMPERF_LLMPERF_H

#include "llmperf/base.h"
#include "llmperf/calib.h"
#include "llmperf/compare.h"
#include "llmperf/engine.h"
#include "llmperf/explain.h"
#include "llmperf/load.h"
#include "llmperf/module.h"
#include "llmperf/op.h"
#include "llmperf/output.h"
#include "llmperf/plot.h"
#include "llmperf/predict.h"
#include "llmperf/report.h"
#include "llmperf/runs.h"
#include "llmperf/spec.h"

#endif
