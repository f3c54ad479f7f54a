/* SPDX-License-Identifier: MIT */
/* What a calibration found, as text. */
#include <math.h>
#include <stdio.h>

#include "llmperf/predict.h"
#include "session.h"
#include "text.h"
#include "calib_object.h"
#include "time_op.h"

static const double REFERENCE_WIDTH = 4096; /* of the layer whose compute-bound batch is told */

static void put_row(FILE *out, const char *what, double measured, double datasheet,
                    const char *unit)
{
    char left[32] = "-", right[32] = "", share[32] = "";
    if (measured > 0)
        text_rate(measured, unit, left, sizeof left);
    if (datasheet > 0) {
        text_rate(datasheet, unit, right, sizeof right);
        if (measured > 0)
            snprintf(share, sizeof share, "%.0f %%", 100 * measured / datasheet);
    }
    fprintf(out, "  %-34s %14s %14s %8s\n", what, left, right, share);
}

static void put_launches(FILE *out, const llmperf_peaks *p)
{
    const struct {
        double seconds;
        const char *what;
    } rows[] = {{p->launch_s, "empty launch"},
                {p->graph_s, "  inside a graph"},
                {p->host_s, "  what the host pays"},
                {p->round_s, "  there and back"}};
    char text[32];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        text_time(rows[i].seconds, text, sizeof text);
        if (i == 0 || rows[i].seconds > 0)
            fprintf(out, "  %-34s %14s\n", rows[i].what, text);
    }
}

/* The largest of each kind of transfer: its rate, as nccl-tests' "algorithm bandwidth". */
static void put_transfers(FILE *out, const llmperf_session *s)
{
    for (int kind = LLMPERF_SAMPLE_ALL_REDUCE; kind <= LLMPERF_SAMPLE_SEND_RECV; kind++) {
        const llmperf_sample *most = NULL;
        char text[64];
        for (int64_t i = 0; i < s->samples.count; i++) {
            const llmperf_sample *one = &s->samples.sample[i];
            if (one->kind == kind && (!most || one->bytes > most->bytes))
                most = one;
        }
        if (!most)
            continue;
        snprintf(text, sizeof text, "%s over %lld devices",
                 llmperf_sample_kind_name((llmperf_sample_kind)kind), (long long)most->op.devices);
        put_row(out, text, most->bytes / most->time_s, 0, "B/s");
    }
}

static void put_peaks(FILE *out, const llmperf_session *s, const llmperf_peaks *p,
                      const llmperf_hw *hw)
{
    static const char *const STREAMS[] = {"memory, read", "memory, copy (both ways)",
                                          "memory, triad", "memory, write"};
    const llmperf_device *d = &s->opened.device;
    char text[64], amount[32];
    fprintf(out, "%s: %.0f units, %s %s\n", d->name, d->units, d->library, d->version);
    fprintf(out, "%d probes measured, %d from the file, %d not possible\n\n", s->counts.measured,
            s->counts.resumed, s->counts.failed);
    fprintf(out, "  %-34s %14s %14s %8s\n", "", "measured", s->hw_measured ? "" : "datasheet",
            "share");
    for (int i = 0; i < LLMPERF_DTYPE_COUNT; i++) {
        if (!(p->flop_per_s[i] > 0))
            continue;
        snprintf(text, sizeof text, "%s product", llmperf_dtype_name((llmperf_dtype)i));
        put_row(out, text, p->flop_per_s[i], s->hw_measured ? 0 : hw->peak_flop_per_s[i], "FLOP/s");
        snprintf(text, sizeof text, "  by its fastest algorithm");
        if (p->best_flop_per_s[i] > 0)
            put_row(out, text, p->best_flop_per_s[i], s->hw_measured ? 0 : hw->peak_flop_per_s[i],
                    "FLOP/s");
    }
    for (int i = 0; i < 4; i++)
        if (i < 3 || p->stream_bytes_per_s[i] > 0)
            put_row(out, STREAMS[i], p->stream_bytes_per_s[i],
                    s->hw_measured ? 0 : hw->mem_bytes_per_s, "B/s");
    for (int i = 0; i < LLMPERF_DTYPE_COUNT; i++) {
        if (!(p->gemv_bytes_per_s[i] > 0))
            continue;
        snprintf(text, sizeof text, "%s product with one row",
                 llmperf_dtype_name((llmperf_dtype)i));
        put_row(out, text, p->gemv_bytes_per_s[i], s->hw_measured ? 0 : hw->mem_bytes_per_s, "B/s");
    }
    if (p->cache_bytes_per_s > 0) {
        snprintf(text, sizeof text, "cache (at %s)",
                 text_bytes(p->cache_at_bytes, amount, sizeof amount));
        put_row(out, text, p->cache_bytes_per_s, 0, "B/s");
    }
    if (p->h2d_bytes_per_s > 0)
        put_row(out, "link, host to device", p->h2d_bytes_per_s, 0, "B/s");
    if (p->d2h_bytes_per_s > 0)
        put_row(out, "link, device to host", p->d2h_bytes_per_s, 0, "B/s");
    put_transfers(out, s);
    put_launches(out, p);
}

static void put_fits(FILE *out, const llmperf_fits *fits)
{
    char name[96], launch[32];
    fputs("\nFits of t = t0 + norm(compute, memory, ...)\n", out);
    for (int i = 0; i < fits->count; i++) {
        const llmperf_fit_one *f = &fits->fit[i];
        const double *param = f->entry.param;
        llmperf_calib_describe(&f->entry.key, name, sizeof name);
        if (f->status != LLMPERF_OK) {
            fprintf(out, "  %-26s not fitted: %s\n", name, f->why);
            continue;
        }
        text_time(param[LLMPERF_PARAM_LAUNCH], launch, sizeof launch);
        fprintf(out, "  %-26s ", name);
        if (f->entry.fitted & UINT64_C(1) << LLMPERF_PARAM_COMPUTE)
            fprintf(out, "%3.0f %% of peak, ", 100 * param[LLMPERF_PARAM_COMPUTE]);
        fprintf(out, "%3.0f %% of bandwidth, t0 %s; mean error %.1f %% of %lld samples\n",
                100 * param[LLMPERF_PARAM_MEMORY], launch, 100 * f->entry.quality.mean_frac,
                (long long)f->entry.quality.samples);
    }
}

/* Did anything run faster than the datasheet says? Said, not clamped. */
static bool is_above(const llmperf_session *s, const llmperf_peaks *p, const llmperf_hw *hw)
{
    bool above = false;
    for (int i = 0; i < LLMPERF_DTYPE_COUNT && !s->hw_measured; i++)
        above |= hw->peak_flop_per_s[i] > 0 &&
                 fmax(p->flop_per_s[i], p->best_flop_per_s[i]) > hw->peak_flop_per_s[i];
    for (int i = 0; i < 4 && !s->hw_measured; i++)
        above |= hw->mem_bytes_per_s > 0 && p->stream_bytes_per_s[i] > hw->mem_bytes_per_s;
    return above;
}

/* The fits are for memory as it usually was. */
static void put_memory(FILE *out, const llmperf_session *s, const llmperf_calib *calib)
{
    static const double APART = 0.15;
    double usual = calib->stream_bytes_per_s;
    double best = s->watch_best_s > 0 ? llmperf_probe_bytes(&s->plan.watch) / s->watch_best_s : 0;
    if (usual > 0 && best > usual * (1 + APART))
        fprintf(
            out,
            "  - memory streamed at %.3g GB/s as a rule, at %.3g GB/s at best: the fits are for "
            "the former\n",
            usual / 1e9, best / 1e9);
}

static void put_notes(FILE *out, const llmperf_session *s, const llmperf_peaks *p,
                      const llmperf_hw *hw, const llmperf_calib *calib)
{
    const struct {
        int count;
        const char *what;
    } flags[] = {{p->contended, "contended: others used the cores or the memory meanwhile"},
                 {p->throttled, "throttled"},
                 {p->unsteady, "unsteady: the times drift"},
                 {p->timed_out, "short of time: their intervals stay wide"},
                 {p->slow_memory,
                  "taken while memory was slower than at its best, by a stream beside "
                  "them"}};
    fputs("\n", out);
    if (2 * p->contended > s->samples.count)
        fputs("  MEASURED UNDER CONTENTION: most samples were disturbed, so the rates above and "
              "the fit "
              "are\n"
              "  those of a busy machine. Repeat on a quiet one.\n",
              out);
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (flags[i].count > 0)
            fprintf(out, "  %d of %lld samples %s %s\n", flags[i].count,
                    (long long)s->samples.count, flags[i].count == 1 ? "was" : "were",
                    flags[i].what);
    put_memory(out, s, calib);
    if (is_above(s, p, hw))
        fputs("  - above 100 %: the datasheet's figure is for a lower clock, or is not this "
              "device's\n",
              out);
    for (int i = 0; i < s->opened.device.notes.count; i++)
        fprintf(out, "  - %s\n", s->opened.device.notes.text[i]);
    for (int i = 0; i < s->plan.skipped.count; i++)
        fprintf(out, "  - left out: %s\n", s->plan.skipped.text[i]);
    for (int i = 0; i < s->skipped.count; i++) {
        fprintf(out, "  - not possible: %s", s->skipped.text[i]);
        if (s->skipped_more[i] > 0)
            fprintf(out, " (and %d more)", s->skipped_more[i]);
        fputc('\n', out);
    }
}

static void batch_text(const llmperf_crossing *crossing, char *buffer, size_t size)
{
    if (crossing->exists)
        snprintf(buffer, size, "%lld", (long long)crossing->batch);
    else
        snprintf(buffer, size, "never (%s)", crossing->why);
}

/* Where a layer of 4096 x 4096 turns compute-bound, by the fit and by peaks alone. */
static void put_crossings(FILE *out, const llmperf_session *s, const llmperf_hw *hw,
                          const llmperf_calib *calib)
{
    const double width = REFERENCE_WIDTH;
    fputs("\n", out);
    for (int i = 0; i < LLMPERF_DTYPE_COUNT; i++) {
        llmperf_dtype dtype = (llmperf_dtype)i;
        char here[160], sheet[160];
        if (calib->index[LLMPERF_KIND_GEMM][LLMPERF_REGIME_NONE][i] == LLMPERF_CALIB_NO_ENTRY ||
            !(hw->peak_flop_per_s[i] > 0))
            continue;
        const llmperf_op op = llmperf_sample_gemm(dtype, LLMPERF_DTYPE_NONE, 64, width, width);
        llmperf_time t;
        time_op(&op, hw, calib, &t, NULL);
        double peak = op.flop / t.compute_s, bandwidth = op.bytes / t.memory_s;
        double w = op.weight_bytes / (width * width), a = op.output_bytes / (64 * width);
        llmperf_crossing ours = llmperf_gemm_crossing(width, width, w, a, peak, bandwidth);
        llmperf_crossing theirs =
            llmperf_gemm_crossing(width, width, w, a, hw->peak_flop_per_s[i], hw->mem_bytes_per_s);
        batch_text(&ours, here, sizeof here);
        batch_text(&theirs, sheet, sizeof sheet);
        fprintf(out,
                "%s ridge point: %.3g FLOP/byte as fitted, %.3g by the %s.\n"
                "A 4096 x 4096 layer turns compute-bound at batch %s here, %s by the %s.\n",
                llmperf_dtype_name(dtype), peak / bandwidth,
                hw->peak_flop_per_s[i] / hw->mem_bytes_per_s,
                s->hw_measured ? "best rates" : "datasheet", here, sheet,
                s->hw_measured ? "best rates alone" : "datasheet");
    }
}

void llmperf_write_session(FILE *out, const llmperf_session *session)
{
    if (!out || !session)
        return;
    if (!session->fitted)
        return;
    put_peaks(out, session, &session->peaks, session->spec.hw);
    if (session->calib)
        put_fits(out, &session->fits);
}

void llmperf_write_session_notes(FILE *out, const llmperf_session *session)
{
    if (!out || !session)
        return;
    if (!session->calib)
        return;
    put_notes(out, session, &session->peaks, session->spec.hw, session->calib);
    put_crossings(out, session, session->spec.hw, session->calib);
}
