/* SPDX-License-Identifier: MIT */
/*
 * The one place where time is computed. docs/model.md, "Time", derives each formula.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "entry.h"
#include "timing.h"
#include "calib_object.h"
#include "time_op.h"

enum {
    TERMS = 4,      /* compute, memory, serial, work */
    WAIT_COUNT = 5, /* of an extend operator, see WAITS */
};

/* Compiled for each of its uses: without a gradient, whose terms would be most of the work, and with. */
#define SPECIALISED static inline __attribute__((always_inline))

static double most_of(double a, double b)
{
    return a > b ? a : b;
}

/*
 * norm_p(x) = (sum x^p)^(1/p) of non-negative terms, never below the largest one.
 * ret_dx[i] = d norm / d x[i]; *ret_dp = d norm / d p (both may be NULL, together).
 *
 * With r = x / largest, so that no power over- or underflows: norm = largest (sum r^p)^(1/p), and
 *   d norm / d x[i] = (x[i] / norm)^(p - 1) = r[i]^p / r[i] (norm / largest) / sum
 *   d norm / d p = norm (sum r^p log r / (p sum) - log(sum) / p^2)
 * so that one logarithm of each term gives its power and both slopes.
 */
SPECIALISED double norm_p(const double *x, int count, double p, double *ret_dx, double *ret_dp)
{
    double largest = 0;
    int at = 0, only = 0; /* terms that are there */
    for (int i = 0; i < count; i++) {
        only += x[i] > 0;
        if (x[i] > largest) {
            largest = x[i];
            at = i;
        }
    }
    if (isinf(p) || largest == 0 || (!ret_dx && only == 1)) {
        if (ret_dx)
            for (int i = 0; i < count; i++)
                ret_dx[i] = i == at && largest > 0 ? 1 : 0;
        if (ret_dp)
            *ret_dp = 0;
        return largest;
    }
    /* the largest term is 1 of the sum */
    double sum = 1, plain = largest, sum_log = 0, ratio[TERMS], power[TERMS];
    const bool by_log = (p != 1 && p != 2) || ret_dp;
    for (int i = 0; i < count; i++) {
        ratio[i] = i != at && x[i] > 0 ? x[i] / largest : 0;
        power[i] = 0;
        if (!(ratio[i] > 0))
            continue;
        plain += x[i];
        double log_ratio = by_log ? log(ratio[i]) : 0;
        power[i] = p == 2 ? ratio[i] * ratio[i] : p == 1 ? ratio[i] : exp(p * log_ratio);
        sum += power[i];
        sum_log += power[i] * log_ratio;
    }
    double log_sum = by_log ? log(sum) : 0;
    double root = p == 2 ? sqrt(sum) : p == 1 ? sum : exp(log_sum / p);
    if (root < 1) /* rounding must not undercut the floor */
        root = 1;
    if (ret_dx)
        for (int i = 0; i < count; i++)
            ret_dx[i] = p == 1         ? 1
                        : i == at      ? root / sum
                        : ratio[i] > 0 ? power[i] / ratio[i] * root / sum
                                       : 0;
    if (ret_dp)
        *ret_dp = largest * root * (sum_log / (p * sum) - log_sum / (p * p));
    return p == 1 ? plain : largest * root;
}

/* Shape figures of a collective. */
typedef struct group_shape {
    double peers, doublings; /* N - 1, log2 N */
    double buffer;           /* bytes of the whole buffer: S */
    double direct; /* what a device sends when everybody reads everybody's, per ring byte */
    double crowd;  /* devices beyond the first pair on a host bus */
} group_shape;

/* log2, without asking for it where groups are powers of two. */
static double doublings_of(double n)
{
    return n == 2 ? 1 : n == 4 ? 2 : n == 8 ? 3 : log2(n);
}

static group_shape group_of(const llmperf_op *op, const llmperf_hw *hw, const llmperf_link *link)
{
    double n = (double)op->devices;
    llmperf_collective collective = (llmperf_collective)op->collective;
    bool reduces = collective == LLMPERF_COLLECTIVE_ALL_REDUCE;
    return (group_shape){
        .peers = n - 1,
        .doublings = doublings_of(n),
        .buffer = op->link_bytes / llmperf_collective_share(collective, n),
        .direct = reduces ? n / 2 : 1,
        .crowd = link == &hw->pcie && n > 2 ? n - 2 : 0,
    };
}

/*
 * Time on the link. An all-reduce in one phase reads every peer's whole buffer, (N - 1) S; one in
 * two (reduce-scatter, all-gather) moves what a ring does, 2 (N - 1)/N S, and waits once more.
 * Libraries take the shorter. Without `second` two phases always are.
 * ret_dlog (may be NULL): d / d parameter of the result.
 */
static double transfer_time(const group_shape *s, double bare, const double *param, double *ret_d)
{
    double crowd = 1 + param[LLMPERF_PARAM_CROWD] * s->crowd;
    double ring = bare / param[LLMPERF_PARAM_LINK] * crowd;
    bool one_phase = ring * s->direct < ring + param[LLMPERF_PARAM_SECOND];
    double on_link = one_phase ? ring * s->direct : ring;
    if (ret_d) {
        ret_d[LLMPERF_PARAM_LINK] = -on_link / param[LLMPERF_PARAM_LINK];
        ret_d[LLMPERF_PARAM_CROWD] = on_link / crowd * s->crowd;
        ret_d[LLMPERF_PARAM_SECOND] = one_phase ? 0 : s->direct > 1;
    }
    return one_phase || s->direct <= 1 ? on_link : on_link + param[LLMPERF_PARAM_SECOND];
}

/* bulk w, w = S^q / (S^q + limit^q): what the way for large buffers costs before it moves a byte. */
static double bulk_time(const group_shape *s, const double *param, double *ret_d)
{
    double bulk = param[LLMPERF_PARAM_BULK], limit = param[LLMPERF_PARAM_LIMIT];
    if (!(bulk > 0) || !(s->buffer > 0)) {
        if (ret_d)
            ret_d[LLMPERF_PARAM_BULK] = 0;
        return 0;
    }
    double q = 1 + param[LLMPERF_PARAM_SHARP], octaves = log(limit / s->buffer);
    double w = 1 / (1 + exp(q * octaves));
    if (ret_d) {
        ret_d[LLMPERF_PARAM_BULK] = w;
        ret_d[LLMPERF_PARAM_LIMIT] = limit > 0 ? -bulk * w * (1 - w) * q / limit : 0;
        ret_d[LLMPERF_PARAM_SHARP] = limit > 0 ? -bulk * w * (1 - w) * octaves : 0;
    }
    return bulk * w;
}

static double time_collective(const llmperf_op *op, const llmperf_hw *hw,
                              const llmperf_calib *calib, uint8_t index, llmperf_time *t,
                              llmperf_gradient *g)
{
    const llmperf_link *link = llmperf_hw_link(hw, op->devices);
    const double *param = entry_at(calib, index, LLMPERF_KIND_COLLECTIVE)->param;
    const group_shape s = group_of(op, hw, link);
    double *d = g ? g->dlog[0] : NULL;
    /* the datasheet's latency stands in while nothing was measured */
    double latency = index == LLMPERF_CALIB_NO_ENTRY
                         ? link->latency_s
                         : param[LLMPERF_PARAM_LAUNCH] + param[LLMPERF_PARAM_HOP] * s.doublings +
                               param[LLMPERF_PARAM_STEP] * s.peers;
    double x[2] = {latency, transfer_time(&s, op->link_bytes / link->bytes_per_s, param, d)};
    double dx[2], dp;
    t->launch_s = x[0];
    t->link_s = x[1];
    t->added_s = bulk_time(&s, param, d);
    t->time_s = norm_p(x, 2, param[LLMPERF_PARAM_NORM], g ? dx : NULL, g ? &dp : NULL) + t->added_s;
    t->bound = x[1] >= x[0] ? LLMPERF_BOUND_LINK : LLMPERF_BOUND_LATENCY;
    if (g) {
        g->count = 1;
        g->entry[0] = index;
        double per = t->time_s > 0 ? 1 / t->time_s : 0;
        d[LLMPERF_PARAM_LAUNCH] = dx[0] * per;
        d[LLMPERF_PARAM_HOP] = dx[0] * s.doublings * per;
        d[LLMPERF_PARAM_STEP] = dx[0] * s.peers * per;
        d[LLMPERF_PARAM_NORM] = dp * per;
        d[LLMPERF_PARAM_LINK] *= dx[1] * per;
        d[LLMPERF_PARAM_CROWD] *= dx[1] * per;
        d[LLMPERF_PARAM_SECOND] *= dx[1] * per;
        d[LLMPERF_PARAM_BULK] *= per;
        d[LLMPERF_PARAM_LIMIT] *= per;
        d[LLMPERF_PARAM_SHARP] *= per;
    }
    return t->time_s;
}

/* ---- the refinements of the form ------------------------------------------------------------------ */

/* Shape figures of an operator that the refinements need. */
typedef struct op_shape {
    double depth; /* k of a GEMM; keys that a query of attention sees on average; 0 = none */
    double mean; /* the same; in a mixed launch depth is that of the longest, this of all queries */
    double head; /* mean of the key and the value channels of a head; 0 = no attention */
    double padding; /* rows that fill m up to whole tiles / m */
    double tall;    /* 1 for a GEMM of more than 16 rows, the least that a tile holds */
    double narrow;  /* 1 = weights are stored in fewer bits than the product computes in */
    double merged;  /* 1 for attention over more than 128 keys, which kernels split and merge */
    double regroup; /* 1 for several sequences with several groups of query heads */
    /* of a mixed launch, else 0: */
    double tile_flop;   /* of one row more in the tile of every sequence */
    double again_bytes; /* that the query heads of a group read once more each, beyond the L2 */
    double chain_s;     /* one row over the longest context, at one unit's peak */
    double blocks;      /* of threads, per unit: one per sequence and query head */
    double idle_blocks; /* per unit: those of the prompt's further tiles, for lone queries */
} op_shape;

/*
 * Rows that fill m up to whole tiles, per row. Libraries tile m by 256 for large products and by
 * powers of two below; up to 64 rows a product waits for its weights, so nothing is padded.
 */
static double padding_of(double m)
{
    if (m <= 64)
        return 0;
    double whole = m <= 128 ? 128 : 256 * ceil(m / 256);
    return whole / m - 1;
}

/* Rows that fill m up to fours, per row: what vector kernels for few rows take at once. One row goes
 * through a kernel of its own, which takes it for two. */
static double ragged_of(double m)
{
    return m <= 1 ? 1 : 4 * ceil(0.25 * m) / m - 1;
}

/* Bits per weight, from what all the products of the launch (experts) stream and compute. */
static bool is_narrow(const llmperf_op *op)
{
    return 16 * op->m * op->weight_bytes <
           0.99 * llmperf_dtype_bits((llmperf_dtype)op->dtype) * op->flop;
}

/*
 * A mixed launch splits no context: every sequence and query head is one block of threads that walks
 * over all of its keys, a tile of rows at a time, however few queries it has. Query heads of a group
 * come one after the other, so what the L2 cannot hold of their K and V is read by each.
 */
static void shape_mixed(const llmperf_op *op, const llmperf_hw *hw, op_shape *s)
{
    static const double TILE = 64; /* queries of a block */
    double sequences = op->sequences + op->lone_sequences;
    double per_unit = hw->units > 0 ? op->heads / hw->units : 0;
    double key_flop = 2 * (op->head_dim + op->value_dim);
    double kept = op->kv_heads * hw->l2_bytes;
    s->tile_flop = (op->flop - op->lone_flop) / op->query_tokens + op->lone_flop;
    s->again_bytes = (op->heads / op->kv_heads - 1) * most_of(0, op->lone_kv_read_bytes - kept);
    s->depth = op->longest_keys;
    s->chain_s = op->longest_keys * key_flop * hw->units / hw->peak_flop_per_s[op->dtype];
    s->blocks = sequences * per_unit;
    s->idle_blocks = op->lone_sequences * op->query_tokens / TILE * per_unit;
    s->merged = 0; /* what is not split is not merged */
}

/* Depth in units of 1024, saturating at 3 of them. */
static double loop_of(const op_shape *s)
{
    double depth = s->depth * (1.0 / 1024);
    return depth > 0 ? depth / (1 + depth / 3) : 0;
}

/* The same for a GEMM; for attention without end: one item walks its keys. */
static double serial_of(const llmperf_op *op, const op_shape *s)
{
    return op->kind == LLMPERF_KIND_ATTENTION ? s->depth * (1.0 / 1024) : loop_of(s);
}

SPECIALISED op_shape shape_of(const llmperf_op *op, const llmperf_hw *hw)
{
    op_shape s = {.depth = op->k};
    if (op->kind == LLMPERF_KIND_GEMM) {
        s.padding = padding_of(op->m);
        s.tall = op->m > 16 ? 1 : 0;
        s.narrow = is_narrow(op);
    }
    if (op->kind == LLMPERF_KIND_ATTENTION) {
        double channels = op->head_dim + op->value_dim;
        double tokens = op->sequences * op->query_tokens + op->lone_sequences;
        double per_key = 2 * op->heads * channels * tokens;
        s.head = channels / 2;
        s.depth = per_key > 0 ? op->flop / per_key : 0;
        s.merged = s.depth > 128 ? 1 : 0;
        s.regroup = op->sequences > 1 && op->kv_heads > 1 && op->heads > op->kv_heads ? 1 : 0;
    }
    s.mean = s.depth;
    if (op->regime == LLMPERF_REGIME_MIXED)
        shape_mixed(op, hw, &s);
    return s;
}

/*
 * Compute time: flop / (e_c P), times what the shape costs, times what the clock loses.
 *   c = (flop + tile_rows tile_flop) / (e_c P)
 *       (1 + fill / depth) (1 + score / head) (1 + unpack narrow)
 *       (1 + max(tile padding, short ragged) + group / m)
 *   compute = c (1 + settle c / (c + 1 ms))
 * Each factor is at least 1, and every product of one with flop does not fall when m, batch or
 * context grow. ret_dlog[i] (may be NULL) = d log(compute) / d parameter.
 */
SPECIALISED double compute_time(const llmperf_op *op, const llmperf_hw *hw, const double *param,
                                const op_shape *s, double *ret_dlog)
{
    static const double SETTLING_S = 1e-3;
    if (!(op->flop > 0))
        return 0;
    double flop = op->flop + param[LLMPERF_PARAM_TILE_ROWS] * s->tile_flop;
    double by_depth = 0; /* what is not asked for is not divided: steps are made of this */
    if (s->mean > 0 && (param[LLMPERF_PARAM_FILL] > 0 || ret_dlog))
        by_depth = s->tile_flop > 0 ? 1 / s->mean * (op->flop / flop) : 1 / s->mean;
    double by_head = s->head > 0 && (param[LLMPERF_PARAM_SCORE] > 0 || ret_dlog) ? 1 / s->head : 0;
    double fill = 1 + param[LLMPERF_PARAM_FILL] * by_depth;
    double score = 1 + param[LLMPERF_PARAM_SCORE] * by_head;
    /* rows that are paid, per row; m times this does not fall when m grows */
    double tile = param[LLMPERF_PARAM_TILE] * s->padding;
    double ragged = 0, rows = 1 + tile, fours = 0, by_rows = 0;
    if (op->kind == LLMPERF_KIND_GEMM && /* few kernels pay for these */
        (param[LLMPERF_PARAM_ROWS] + param[LLMPERF_PARAM_GROUP] > 0 || ret_dlog)) {
        fours = ragged_of(op->m);
        by_rows = op->m > 0 ? 1 / op->m : 0;
        ragged = param[LLMPERF_PARAM_ROWS] * fours;
        rows = 1 + most_of(tile, ragged) + param[LLMPERF_PARAM_GROUP] * by_rows;
    }
    double unpack = 1 + param[LLMPERF_PARAM_UNPACK] * s->narrow;
    double c = flop / (param[LLMPERF_PARAM_COMPUTE] * hw->peak_flop_per_s[op->dtype]) * fill *
               score * unpack * rows;
    double settled = 0; /* 0 for a short kernel, 1 for a long one */
    if (param[LLMPERF_PARAM_SETTLE] > 0 || ret_dlog)
        settled = c / (c + SETTLING_S);
    double settle = 1 + param[LLMPERF_PARAM_SETTLE] * settled;
    if (ret_dlog) {
        /* d log(compute) / d log(c) */
        double slope = 1 + param[LLMPERF_PARAM_SETTLE] * settled * (1 - settled) / settle;
        ret_dlog[LLMPERF_PARAM_COMPUTE] = -slope / param[LLMPERF_PARAM_COMPUTE];
        ret_dlog[LLMPERF_PARAM_FILL] = slope * by_depth / fill;
        ret_dlog[LLMPERF_PARAM_SCORE] = slope * by_head / score;
        ret_dlog[LLMPERF_PARAM_TILE] = tile >= ragged ? slope * s->padding / rows : 0;
        ret_dlog[LLMPERF_PARAM_SETTLE] = settled / settle;
        ret_dlog[LLMPERF_PARAM_UNPACK] = slope * s->narrow / unpack;
        ret_dlog[LLMPERF_PARAM_ROWS] = tile >= ragged ? 0 : slope * fours / rows;
        ret_dlog[LLMPERF_PARAM_GROUP] = slope * by_rows / rows;
        ret_dlog[LLMPERF_PARAM_TILE_ROWS] = slope * s->tile_flop / flop / fill;
    }
    return c * settle;
}

/* Bytes that the operator moves. op->bytes says how many they are worth where memory is slowed. */
static double parts_of(const llmperf_op *op)
{
    return op->weight_bytes + op->input_bytes + op->output_bytes + op->kv_read_bytes +
           op->kv_write_bytes;
}

/*
 * Memory time: bytes / (e_m BW), times what tall tiles lose. Units take bytes in at a rate of their own,
 * however fast memory is; both limits at once, as measured, in fourth powers:
 *   memory = ((bytes (1 + tall) / (e_m BW))^4 + (feed bytes / BW)^4)^(1/4)
 * *ret_share = d log(memory) / d log(bytes), the rest is that of feed.
 */
SPECIALISED double memory_time(const llmperf_op *op, const llmperf_hw *hw, const double *param,
                               double bytes, double tall, double *ret_share)
{
    double memory = bytes / (param[LLMPERF_PARAM_MEMORY] * hw->mem_bytes_per_s) * tall;
    *ret_share = 1;
    if (!(param[LLMPERF_PARAM_FEED] > 0))
        return memory;
    double feed = param[LLMPERF_PARAM_FEED] * parts_of(op) / hw->mem_bytes_per_s;
    double larger = most_of(memory, feed), least = fmin(memory, feed);
    if (!(larger > 0))
        return 0;
    double r = least / larger, r4 = r * r * r * r;
    *ret_share = (memory >= feed ? 1 : r4) / (1 + r4);
    return larger * sqrt(sqrt(1 + r4));
}

/* The parameters of work_time(). */
static const llmperf_param ITEM_TERMS[] = {LLMPERF_PARAM_WORK, LLMPERF_PARAM_QUERY_WORK,
                                           LLMPERF_PARAM_HEAD_WORK, LLMPERF_PARAM_FIRST};

/*
 * Work items that the units take in turn, over what a launch of one wave holds of them already:
 *   items = ((c_w + c_h head / 128) n_kv + c_q n) b / units
 *   work  = (items^4 + first^4)^(1/4) - first
 * which is items where first is 0, about 0 up to it, and items - first far beyond.
 * ret_slope[p] (may be NULL) = d work / d p for p of ITEM_TERMS.
 */
SPECIALISED double work_time(const llmperf_op *op, const llmperf_hw *hw, const double *param,
                             const op_shape *s, double *ret_slope)
{
    if (ret_slope)
        for (size_t i = 0; i < sizeof ITEM_TERMS / sizeof *ITEM_TERMS; i++)
            ret_slope[ITEM_TERMS[i]] = 0;
    if (op->sequences <= 0 || hw->units <= 0 || op->regime == LLMPERF_REGIME_MIXED)
        return 0;
    double per_unit = op->sequences / hw->units;
    double own = per_unit * op->kv_heads, query = per_unit * op->heads;
    double wide = own * s->head * (1.0 / 128);
    double items = param[LLMPERF_PARAM_WORK] * own + param[LLMPERF_PARAM_HEAD_WORK] * wide +
                   param[LLMPERF_PARAM_QUERY_WORK] * query;
    double first = param[LLMPERF_PARAM_FIRST];
    double beyond = items, by_items = 1, by_first = -1; /* where first is 0 */
    if (items < first) { /* u - 1 = r^4 / ((u^2 + 1) (u + 1)), without taking near numbers apart */
        double r = items / first, r4 = r * r * r * r, u2 = sqrt(1 + r4), u = sqrt(u2);
        double more = r4 / ((u2 + 1) * (u + 1));
        beyond = first * more;
        by_items = r * r * r / (u2 * u);
        by_first = -more * (u2 + u + 1) / (u2 * u);
    } else if (first > 0) {
        double r = first / items, u2 = sqrt(1 + r * r * r * r), u = sqrt(u2);
        beyond = items * u - first;
        by_items = 1 / (u2 * u);
        by_first = r * r * r / (u2 * u) - 1;
    }
    if (ret_slope) {
        ret_slope[LLMPERF_PARAM_WORK] = by_items * own;
        ret_slope[LLMPERF_PARAM_HEAD_WORK] = by_items * wide;
        ret_slope[LLMPERF_PARAM_QUERY_WORK] = by_items * query;
        ret_slope[LLMPERF_PARAM_FIRST] = items > 0 ? by_first : 0;
    }
    return beyond;
}

/*
 * Parameters of an extend operator, joined from the prefill and the decode fit.
 *   lambda: share of prefill in compute, its factors and the norm: all but one query's pass over the
 *           cache. 1 at past = 0, 0 at query = 1, within 1/query of 1 for a chunk.
 *   mu:     share of decode in memory: the cached keys' K and V. 0 at past = 0, 1 at query = 1.
 * Shares are of work, which two efficiencies get through one after the other: 1/e is joined. What
 * does not depend on the work (launch, loops, work items) does not shrink because another kernel
 * takes a share: the longer one counts.
 */
typedef struct extend_join {
    double lambda, mu;
    const double *prefill, *decode;
    bool of_decode[WAIT_COUNT]; /* which kernel's WAITS count */
} extend_join;

/* What two efficiencies come to that get through shares of one work. */
static double in_turn(double a, double b, double share_b)
{
    if (a == b || share_b == 0) /* the ends to the last digit */
        return a;
    return share_b == 1 ? b : 1 / ((1 - share_b) / a + share_b / b);
}

/* Terms that do not depend on the work, each with what belongs to it: of one kernel or the other. */
enum { PER_WAIT = 4 };
static const llmperf_param WAITS[][PER_WAIT] = {
    {LLMPERF_PARAM_LAUNCH, LLMPERF_PARAM_HEAD, LLMPERF_PARAM_MERGE, LLMPERF_PARAM_REGROUP},
    {LLMPERF_PARAM_WORK, LLMPERF_PARAM_QUERY_WORK, LLMPERF_PARAM_HEAD_WORK, LLMPERF_PARAM_FIRST},
    {LLMPERF_PARAM_SERIAL, LLMPERF_PARAM_SERIAL, LLMPERF_PARAM_SERIAL, LLMPERF_PARAM_SERIAL},
    {LLMPERF_PARAM_LOOP, LLMPERF_PARAM_LOOP, LLMPERF_PARAM_LOOP, LLMPERF_PARAM_LOOP},
    {LLMPERF_PARAM_PASSES, LLMPERF_PARAM_PASSES, LLMPERF_PARAM_PASSES, LLMPERF_PARAM_PASSES},
};

/* The longer one by its own fit, whole: time does not jump where the choice changes. */
static void choose_waits(const llmperf_op *op, const llmperf_hw *hw, const op_shape *s,
                         extend_join *j)
{
    const double weight[WAIT_COUNT][PER_WAIT] = {
        {1, s->head / 128, s->merged, s->regroup}, {0}, {1}, {1}, {1}};
    for (int i = 0; i < WAIT_COUNT; i++) {
        double more = 0; /* of decode */
        for (int k = 0; k < PER_WAIT; k++)
            more += weight[i][k] * (j->decode[WAITS[i][k]] - j->prefill[WAITS[i][k]]);
        if (WAITS[i][0] == LLMPERF_PARAM_WORK)
            more = work_time(op, hw, j->decode, s, NULL) - work_time(op, hw, j->prefill, s, NULL);
        j->of_decode[i] = j->mu == 1 || (j->mu > 0 && more > 0);
    }
}

/* Scans have no pairs: theirs go by tokens. */
static void set_shares(const llmperf_op *op, extend_join *j)
{
    double q = op->query_tokens, past = op->past_tokens;
    j->mu = past > 0 ? past / (past + q - 1) : 0;
    j->lambda = 1 - j->mu / q;
    double flop_of_pair = 2 * op->sequences * op->heads * (op->head_dim + op->value_dim);
    double cached = op->kv_read_bytes - op->kv_write_bytes;
    if (q <= 1 || past <= 0 || !(flop_of_pair > 0) || !(op->flop > 0) || !(cached > 0))
        return;
    double pairs = op->flop / flop_of_pair;
    double keys = op->kv_write_bytes > 0 ? q * cached / op->kv_write_bytes : past;
    j->mu = fmin(cached / parts_of(op), 1);
    j->lambda = 1 - fmin(keys / pairs, 1);
}

static void join(const llmperf_op *op, const llmperf_hw *hw, const op_shape *s, extend_join *j,
                 double *ret_param)
{
    set_shares(op, j);
    choose_waits(op, hw, s, j);
    const double *pre = j->prefill, *dec = j->decode;
    memset(ret_param, 0, sizeof(double) * LLMPERF_PARAM_COUNT);
    for (int i = LLMPERF_PARAM_FILL; i < LLMPERF_PARAM_COUNT; i++)
        ret_param[i] = (1 - j->lambda) * dec[i] + j->lambda * pre[i];
    ret_param[LLMPERF_PARAM_COMPUTE] =
        in_turn(dec[LLMPERF_PARAM_COMPUTE], pre[LLMPERF_PARAM_COMPUTE], j->lambda);
    ret_param[LLMPERF_PARAM_MEMORY] =
        in_turn(pre[LLMPERF_PARAM_MEMORY], dec[LLMPERF_PARAM_MEMORY], j->mu);
    for (int i = 0; i < WAIT_COUNT; i++)
        for (int k = 0; k < PER_WAIT; k++)
            ret_param[WAITS[i][k]] = (j->of_decode[i] ? dec : pre)[WAITS[i][k]];
    /* 1/p is blended: it runs from 0 (max) to 1 (sum) and more, without a pole */
    double inverse =
        (1 - j->lambda) / dec[LLMPERF_PARAM_NORM] + j->lambda / pre[LLMPERF_PARAM_NORM];
    ret_param[LLMPERF_PARAM_NORM] = j->lambda == 1   ? pre[LLMPERF_PARAM_NORM]
                                    : j->lambda == 0 ? dec[LLMPERF_PARAM_NORM]
                                    : inverse > 0    ? 1 / inverse
                                                     : INFINITY;
}

/* d log e / d own e, of an efficiency that was joined in turn. */
static double by_own(double joined, double own, double share)
{
    return joined / own * share / own;
}

/* From the gradient by the joined parameters to those of the two entries. */
static void split_gradient(const extend_join *j, const double *param, const double *dlog,
                           llmperf_gradient *g)
{
    const double *source[2] = {j->prefill, j->decode};
    for (int i = 0; i < 2; i++) {
        double by_lambda = i == 0 ? j->lambda : 1 - j->lambda;
        double by_mu = i == 0 ? 1 - j->mu : j->mu;
        const double *own = source[i];
        double *d = g->dlog[i];
        memset(d, 0, sizeof g->dlog[i]);
        for (int k = LLMPERF_PARAM_FILL; k < LLMPERF_PARAM_COUNT; k++)
            d[k] = dlog[k] * by_lambda;
        for (int e = 0; e < 2; e++) {
            static const llmperf_param EFFICIENCIES[] = {LLMPERF_PARAM_COMPUTE,
                                                         LLMPERF_PARAM_MEMORY};
            llmperf_param k = EFFICIENCIES[e];
            d[k] = dlog[k] * param[k] * by_own(param[k], own[k], e == 0 ? by_lambda : by_mu);
        }
        for (int w = 0; w < WAIT_COUNT; w++)
            for (int k = 0; k < PER_WAIT; k++)
                d[WAITS[w][k]] = j->of_decode[w] == (i == 1) ? dlog[WAITS[w][k]] : 0;
        double p = param[LLMPERF_PARAM_NORM], q = own[LLMPERF_PARAM_NORM];
        if (!isinf(p) && !isinf(q))
            d[LLMPERF_PARAM_NORM] = dlog[LLMPERF_PARAM_NORM] * by_lambda * (p * p) / (q * q);
    }
}

static uint8_t largest_term(const llmperf_time *t)
{
    double largest = t->compute_s;
    uint8_t bound = LLMPERF_BOUND_COMPUTE;
    if (t->memory_s > largest) {
        largest = t->memory_s;
        bound = LLMPERF_BOUND_MEMORY;
    }
    double latency = most_of(most_of(t->serial_s, t->work_s), t->added_s);
    if (latency > largest) {
        largest = latency;
        bound = LLMPERF_BOUND_LATENCY;
    }
    return t->launch_s > largest ? LLMPERF_BOUND_LAUNCH : bound;
}

/* The parameters that time an operator, and where they come from. */
typedef struct op_params {
    const double *param;
    bool is_joined, is_reads;
    uint8_t index, index_decode; /* of the gradient's entries */
    extend_join join;
    double joined[LLMPERF_PARAM_COUNT];
} op_params;

/* The parameters of an entry with its ratio of compute to memory efficiency moved by z standard
 * deviations, half to either side; the ideal entry is not moved. */
static const double *moved(const llmperf_calib *calib, uint8_t index, llmperf_op_kind kind,
                           double z, double *room)
{
    const llmperf_calib_entry *e = entry_at(calib, index, kind);
    if (z == 0 || index == LLMPERF_CALIB_NO_ENTRY)
        return e->param;
    double ec = e->param[LLMPERF_PARAM_COMPUTE], em = e->param[LLMPERF_PARAM_MEMORY];
    double variance = e->covariance[LLMPERF_PARAM_COMPUTE][LLMPERF_PARAM_COMPUTE] / (ec * ec) +
                      e->covariance[LLMPERF_PARAM_MEMORY][LLMPERF_PARAM_MEMORY] / (em * em) -
                      2 * e->covariance[LLMPERF_PARAM_COMPUTE][LLMPERF_PARAM_MEMORY] / (ec * em);
    variance = most_of(variance, 0) + calib->borrowed * calib->borrowed;
    double factor = exp(z / 2 * sqrt(variance));
    memcpy(room, e->param, sizeof e->param);
    room[LLMPERF_PARAM_COMPUTE] *= factor;
    room[LLMPERF_PARAM_MEMORY] /= factor;
    return room;
}

SPECIALISED void choose_params(const llmperf_op *op, const llmperf_hw *hw,
                               const llmperf_calib *calib, const op_entries *e, double z,
                               const op_shape *shape, op_params *p)
{
    p->is_joined = e->own == LLMPERF_CALIB_NO_ENTRY &&
                   (e->prefill != LLMPERF_CALIB_NO_ENTRY || e->decode != LLMPERF_CALIB_NO_ENTRY);
    p->index = p->is_joined ? e->prefill : e->own;
    p->index_decode = e->decode;
    p->is_reads = false;
    if (!p->is_joined) {
        const llmperf_calib_entry *entry = entry_at(calib, e->own, op->kind);
        p->param = z == 0 ? entry->param : moved(calib, e->own, op->kind, z, p->joined);
        p->is_reads = entry->compute_is_reads;
        return;
    }
    double room[2][LLMPERF_PARAM_COUNT];
    p->join.prefill = moved(calib, e->prefill, op->kind, z, room[0]);
    p->join.decode = moved(calib, e->decode, op->kind, z, room[1]);
    join(op, hw, shape, &p->join, p->joined);
    p->param = p->joined;
}

/* One operator on one device by the fits that are given. */
SPECIALISED double time_any(const llmperf_op *op, const llmperf_hw *hw, const llmperf_calib *calib,
                            const op_entries *entries, double z, const op_shape shape,
                            llmperf_time *t, llmperf_gradient *g)
{
    op_params chosen;
    choose_params(op, hw, calib, entries, z, &shape, &chosen);
    const double *param = chosen.param;
    const bool is_joined = chosen.is_joined;

    double of_joined[LLMPERF_PARAM_COUNT];
    double *dlog = !g ? NULL : is_joined ? of_joined : g->dlog[0];
    double x[TERMS];
    if (g) {
        g->count = 0;
        memset(dlog, 0, sizeof of_joined);
    }
    x[0] = compute_time(op, hw, param, &shape, dlog);
    double tall = 1 + param[LLMPERF_PARAM_TALL] * shape.tall;
    double bytes = op->bytes + param[LLMPERF_PARAM_GROUP_READS] * shape.again_bytes;
    double of_bytes;
    x[1] = memory_time(op, hw, param, bytes, tall, &of_bytes);
    bool walks = g || param[LLMPERF_PARAM_SERIAL] > 0, loops = g || param[LLMPERF_PARAM_LOOP] > 0;
    double serial = walks ? serial_of(op, &shape) : 0, loop = loops ? loop_of(&shape) : 0;
    x[2] = param[LLMPERF_PARAM_SERIAL] * serial + param[LLMPERF_PARAM_UNSPLIT] * shape.chain_s;
    double by_work[LLMPERF_PARAM_COUNT];
    x[3] = work_time(op, hw, param, &shape, g ? by_work : NULL);
    double head = shape.head * (1.0 / 128);
    double launch =
        (param[LLMPERF_PARAM_LAUNCH] + param[LLMPERF_PARAM_HEAD] * head +
         param[LLMPERF_PARAM_MERGE] * shape.merged + param[LLMPERF_PARAM_REGROUP] * shape.regroup) *
        op->launches;
    double pass = op->input_bytes / hw->mem_bytes_per_s;
    double added = param[LLMPERF_PARAM_LOOP] * loop + param[LLMPERF_PARAM_PASSES] * pass +
                   param[LLMPERF_PARAM_QUERY_WORK] * shape.blocks +
                   param[LLMPERF_PARAM_IDLE_BLOCK] * shape.idle_blocks;

    double dx[TERMS], dp;
    double norm = norm_p(x, TERMS, param[LLMPERF_PARAM_NORM], g ? dx : NULL, g ? &dp : NULL);
    memset(t, 0, sizeof *t);
    t->compute_s = x[0];
    t->memory_s = x[1];
    t->serial_s = x[2];
    t->work_s = x[3];
    t->launch_s = launch;
    t->added_s = added;
    t->time_s = launch + norm + added;
    if (chosen.is_reads) {
        t->memory_s += t->compute_s;
        t->compute_s = 0;
    }
    t->bound = largest_term(t);

    if (g && t->time_s > 0) {
        const double per = 1 / t->time_s, by_term = dx[0] * x[0] * per;
        for (int i = 0; i < LLMPERF_PARAM_COUNT; i++)
            dlog[i] *= by_term; /* those of compute; the others are 0 so far */
        const double by_bytes = dx[1] * x[1] * of_bytes;
        dlog[LLMPERF_PARAM_MEMORY] = -by_bytes / param[LLMPERF_PARAM_MEMORY] * per;
        if (param[LLMPERF_PARAM_FEED] > 0)
            dlog[LLMPERF_PARAM_FEED] =
                dx[1] * x[1] * (1 - of_bytes) / param[LLMPERF_PARAM_FEED] * per;
        dlog[LLMPERF_PARAM_LAUNCH] = op->launches * per;
        dlog[LLMPERF_PARAM_HEAD] = head * op->launches * per;
        dlog[LLMPERF_PARAM_MERGE] = shape.merged * op->launches * per;
        dlog[LLMPERF_PARAM_REGROUP] = shape.regroup * op->launches * per;
        dlog[LLMPERF_PARAM_SERIAL] = dx[2] * serial * per;
        dlog[LLMPERF_PARAM_TALL] = by_bytes * shape.tall / tall * per;
        for (size_t i = 0; i < sizeof ITEM_TERMS / sizeof *ITEM_TERMS; i++)
            dlog[ITEM_TERMS[i]] = dx[3] * by_work[ITEM_TERMS[i]] * per;
        dlog[LLMPERF_PARAM_QUERY_WORK] += shape.blocks * per;
        if (shape.again_bytes > 0)
            dlog[LLMPERF_PARAM_GROUP_READS] = by_bytes * shape.again_bytes / bytes * per;
        dlog[LLMPERF_PARAM_UNSPLIT] = dx[2] * shape.chain_s * per;
        dlog[LLMPERF_PARAM_IDLE_BLOCK] = shape.idle_blocks * per;
        dlog[LLMPERF_PARAM_NORM] = dp * per;
        dlog[LLMPERF_PARAM_LOOP] = loop * per;
        dlog[LLMPERF_PARAM_PASSES] = pass * per;
        g->entry[0] = chosen.index;
        g->entry[1] = chosen.index_decode;
        g->count = is_joined ? 2 : 1;
        if (is_joined)
            split_gradient(&chosen.join, param, dlog, g);
    }
    return t->time_s;
}

static double time_value(const llmperf_op *op, const llmperf_hw *hw, const llmperf_calib *calib,
                         const op_entries *entries, llmperf_time *t)
{
    /* half of a step's operators are passes over memory, which have no shape */
    static const op_shape FLAT = {0};
    if (op->kind == LLMPERF_KIND_ELEMENTWISE && op->k == 0)
        return time_any(op, hw, calib, entries, 0, FLAT, t, NULL);
    return time_any(op, hw, calib, entries, 0, shape_of(op, hw), t, NULL);
}

static double time_slopes(const llmperf_op *op, const llmperf_hw *hw, const llmperf_calib *calib,
                          const op_entries *entries, llmperf_time *t, llmperf_gradient *g)
{
    return time_any(op, hw, calib, entries, 0, shape_of(op, hw), t, g);
}

static double time_local(const llmperf_op *op, const llmperf_hw *hw, const llmperf_calib *calib,
                         const op_entries *entries, llmperf_time *t, llmperf_gradient *g)
{
    return g ? time_slopes(op, hw, calib, entries, t, g) : time_value(op, hw, calib, entries, t);
}

static bool is_timed(const op_entries *e)
{
    return e->own != LLMPERF_CALIB_NO_ENTRY || e->prefill != LLMPERF_CALIB_NO_ENTRY ||
           e->decode != LLMPERF_CALIB_NO_ENTRY;
}

/*
 * A mixed launch: its own form, and never less than the prompt alone or the decoding sequences alone
 * take, each by its own fit where there is one: fits apart must not make work vanish that is added.
 */
static double time_mixed(const llmperf_op *op, const llmperf_hw *hw, const llmperf_calib *calib,
                         const op_entries *own, llmperf_time *t, llmperf_gradient *g)
{
    const llmperf_op part[2] = {llmperf_op_prompt(op), llmperf_op_lone(op)};
    const llmperf_op *longest = op;
    op_entries of_longest = *own;
    double most = time_local(op, hw, calib, own, t, NULL);
    for (int i = 0; i < 2 && own->own != LLMPERF_CALIB_NO_ENTRY; i++) {
        const op_entries e = entries_of(calib, &part[i]);
        double alone = is_timed(&e) ? time_local(&part[i], hw, calib, &e, t, NULL) : 0;
        if (alone > most) {
            most = alone;
            longest = &part[i];
            of_longest = e;
        }
    }
    return time_local(longest, hw, calib, &of_longest, t, g);
}

/* What time_local() comes to when every parameter is neutral, to the last bit (a test holds it):
 * the roofline, without the terms that are 0. Sweeps over millions of steps are made of it. */
static double time_ideal(const llmperf_op *op, const llmperf_hw *hw, llmperf_time *t)
{
    double compute = op->flop > 0 ? op->flop / hw->peak_flop_per_s[op->dtype] : 0;
    double memory = op->bytes / hw->mem_bytes_per_s;
    *t = (llmperf_time){
        .compute_s = compute,
        .memory_s = memory,
        .time_s = memory > compute ? memory : compute,
        .bound = memory > compute ? LLMPERF_BOUND_MEMORY : LLMPERF_BOUND_COMPUTE,
    };
    return t->time_s;
}

/* One row: never dearer than the GEMM that would take it too, so that time stays monotone in the
 * batch; without a GEMM fit there is nothing to compare with. */
static double time_row(const llmperf_op *op, const llmperf_hw *hw, const llmperf_calib *calib,
                       const op_entries *entries, llmperf_time *t, llmperf_gradient *g)
{
    op_entries row = *entries;
    llmperf_time by_row;
    row.own = entries->gemv;
    time_local(op, hw, calib, &row, &by_row, NULL);
    if (entries->own != LLMPERF_CALIB_NO_ENTRY &&
        time_local(op, hw, calib, entries, t, NULL) < by_row.time_s)
        row.own = entries->own;
    return time_local(op, hw, calib, &row, t, g);
}

double time_by(const llmperf_op *op, const llmperf_hw *hw, const llmperf_calib *calib,
               const op_entries *entries, llmperf_time *t, llmperf_gradient *g)
{
    if (op->kind == LLMPERF_KIND_COLLECTIVE) {
        memset(t, 0, sizeof *t);
        if (g)
            memset(g, 0, sizeof *g);
        return time_collective(op, hw, calib, entries->own, t, g);
    }
    if (!calib && !g)
        return time_ideal(op, hw, t);
    if (op->regime == LLMPERF_REGIME_MIXED)
        return time_mixed(op, hw, calib, entries, t, g);
    if (entries->gemv != LLMPERF_CALIB_NO_ENTRY && op->m <= 1)
        return time_row(op, hw, calib, entries, t, g);
    return time_local(op, hw, calib, entries, t, g);
}

double time_moved(const llmperf_op *op, const llmperf_hw *hw, const llmperf_calib *calib,
                  const op_entries *entries, double z, llmperf_time *t)
{
    return time_any(op, hw, calib, entries, z, shape_of(op, hw), t, NULL);
}

double time_op(const llmperf_op *op, const llmperf_hw *hw, const llmperf_calib *calib,
               llmperf_time *ret_time, llmperf_gradient *ret_gradient)
{
    llmperf_time local;
    const op_entries entries = entries_of(calib, op);
    return time_by(op, hw, calib, &entries, ret_time ? ret_time : &local, ret_gradient);
}

/* Can `hw` run it at all? */
static bool is_possible(const llmperf_op *op, const llmperf_hw *hw)
{
    if (op->kind == LLMPERF_KIND_COLLECTIVE)
        return op->devices > 1 && llmperf_hw_link(hw, op->devices) != NULL;
    return hw->mem_bytes_per_s > 0 && (!(op->flop > 0) || hw->peak_flop_per_s[op->dtype] > 0);
}

double llmperf_time_op(const llmperf_op *op, const llmperf_hw *hw, const llmperf_calib *calib,
                       llmperf_time *ret_time)
{
    if (!hw || !op_is_sound(op) || !is_possible(op, hw)) {
        if (ret_time)
            *ret_time = (llmperf_time){0};
        return 0;
    }
    return time_op(op, hw, calib, ret_time, NULL);
}
