/* SPDX-License-Identifier: MIT */
/*
 * What an engine's host adds to the operators of a step. docs/engines.md, "The form".
 */
#include <math.h>

#include "host.h"
#include "config_object.h"

double host_time_of(const llmperf_host *host, double layers, double sequences, double ops_s,
                    double launch_s)
{
    double own = host->step_s + host->layer_s * layers + host->sequence_s * sequences - launch_s;
    if (!(own > 0))
        return 0;
    if (host->norm == 1)
        return own;
    double largest = fmax(own, ops_s);
    double sum = pow(own / largest, host->norm) + pow(ops_s / largest, host->norm);
    return isinf(host->norm) ? largest - ops_s
                             : fmax(largest * pow(sum, 1 / host->norm) - ops_s, 0);
}

void host_counts(const llmperf_config *c, const llmperf_segment *segments, int segment_count,
                 double *ret_layers, double *ret_sequences)
{
    *ret_layers = *ret_sequences = 0;
    for (int i = 0; i < c->model->layer_kind_count; i++)
        *ret_layers += (double)c->model->layers[i].count;
    for (int i = 0; i < segment_count; i++)
        *ret_sequences += (double)segments[i].sequences;
}

double host_time(const llmperf_config *c, const llmperf_segment *segments, int segment_count,
                 double ops_s, double launch_s)
{
    if (!c->calib || !c->calib->host.engine[0])
        return 0;
    double layers, sequences;
    host_counts(c, segments, segment_count, &layers, &sequences);
    return host_time_of(&c->calib->host, layers, sequences, ops_s, launch_s);
}
