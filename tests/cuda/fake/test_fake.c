/* SPDX-License-Identifier: MIT */
/*
 * The make-believe machine against its settings: time by events and by the host's clock, the L2
 * cache, products that are right only when described rightly, refusals, and nothing left behind.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"

#define DECLARE(name, arguments) int name arguments;
CUDA_DRIVER_FUNCTIONS(DECLARE)
CUDA_NVML_FUNCTIONS(DECLARE)
CUDA_LT_FUNCTIONS(DECLARE)
CUDA_NCCL_FUNCTIONS(DECLARE)
#undef DECLARE

/* Every function of the lists is there: else this does not link. */
typedef void (*any_function)(void);
#define ROW(name, arguments) (any_function) name,
static const any_function ALL[] = {CUDA_DRIVER_FUNCTIONS(ROW) CUDA_NVML_FUNCTIONS(ROW)
                                       CUDA_LT_FUNCTIONS(ROW) CUDA_NCCL_FUNCTIONS(ROW)};
#undef ROW

static int cases, failures;

static void check(bool right, const char *what, double found, double wanted)
{
    printf("%s %d - %s\n", right ? "ok" : "not ok", ++cases, what);
    if (!right)
        printf("# found %.9g, expected %.9g\n", found, wanted);
    failures += !right;
}

static void near(const char *what, double found, double wanted, double tolerance)
{
    check(fabs(found - wanted) <= tolerance * fabs(wanted), what, found, wanted);
}

static void same(const char *what, double found, double wanted)
{
    check(found == wanted, what, found, wanted);
}

/* What a test needs of a device. */
typedef struct rig {
    cu_context context;
    cu_module module;
    cu_stream stream;
    cu_event event[2];
    uint32_t *gate;
    lt_handle lt;
} rig;

static rig begin(void)
{
    static const unsigned char IMAGE[8] = {0x50, 0xed, 0x55, 0xba};
    rig r = {0};
    void *gate;
    same("cuInit", cuInit(0), 0);
    same("context", cuDevicePrimaryCtxRetain(&r.context, 0) + cuCtxSetCurrent(r.context), 0);
    same("module", cuModuleLoadData(&r.module, IMAGE), 0);
    same("stream", cuStreamCreate(&r.stream, CU_STREAM_NON_BLOCKING), 0);
    same("events", cuEventCreate(&r.event[0], 0) + cuEventCreate(&r.event[1], 0), 0);
    same("gate", cuMemHostAlloc(&gate, 64, CU_HOST_ALLOC_DEVICEMAP), 0);
    same("cublasLtCreate", cublasLtCreate(&r.lt), 0);
    r.gate = gate;
    return r;
}

static void end(rig *r)
{
    cublasLtDestroy(r->lt);
    cuMemFreeHost(r->gate);
    cuEventDestroy_v2(r->event[0]);
    cuEventDestroy_v2(r->event[1]);
    cuStreamDestroy_v2(r->stream);
    cuModuleUnload(r->module);
    cuDevicePrimaryCtxRelease_v2(0);
    int64_t live = 0;
    for (int i = 0; i <= FAKE_live_nvml; i++)
        live += fake_counted((enum fake_counter)i);
    same("nothing is left", (double)live, 0);
    same("no work was left", (double)fake_counted(FAKE_unfinished), 0);
}

static void launch(rig *r, const char *kernel, void *arguments)
{
    cu_function function;
    cuModuleGetFunction(&function, r->module, kernel);
    int code = cuLaunchKernel(function, 132, 1, 1, KERNEL_THREADS, 1, 1, 0, r->stream,
                              (void *[]){arguments}, NULL);
    if (code)
        same(kernel, code, 0);
}

static void hold(rig *r)
{
    cu_function function;
    kernel_block_args block = {.flag = r->gate, .limit_ns = 2000000000};
    *r->gate = 0;
    cuModuleGetFunction(&function, r->module, "kernel_block");
    cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, r->stream, (void *[]){&block}, NULL);
}

/* Seconds between the events, by asking as a careful host does. */
static double wait(rig *r)
{
    float ms = -1;
    while (cuEventQuery(r->event[1]) == CU_NOT_READY)
        ;
    cuEventElapsedTime(&ms, r->event[0], r->event[1]);
    return 1e-3 * (double)ms;
}

/* ---- time ------------------------------------------------------------------------------------ */

static void test_launches(rig *r)
{
    const fake_settings *f = fake_get();
    kernel_empty_args empty = {0};
    enum { TIMES = 1000 };
    hold(r);
    cuEventRecord(r->event[0], r->stream);
    double host_s = fake_now();
    for (int i = 0; i < TIMES; i++)
        launch(r, "kernel_empty", &empty);
    host_s = fake_now() - host_s;
    cuEventRecord(r->event[1], r->stream);
    same("behind a closed gate nothing ends", cuEventQuery(r->event[1]), CU_NOT_READY);
    *r->gate = 1;
    near("interval of launches", wait(r) / TIMES, f->launch, 0.01);
    near("host time of a launch", host_s / TIMES, f->launch_host + f->call, 0.1);

    cu_graph graph;
    cu_graph_exec exec;
    cuStreamBeginCapture_v2(r->stream, CU_CAPTURE_THREAD_LOCAL);
    for (int i = 0; i < TIMES; i++)
        launch(r, "kernel_empty", &empty);
    same("recorded", cuStreamEndCapture(r->stream, &graph), 0);
    same("instantiated", cuGraphInstantiateWithFlags(&exec, graph, 0), 0);
    cuGraphDestroy(graph);
    cuEventRecord(r->event[0], r->stream);
    cuGraphLaunch(exec, r->stream);
    cuEventRecord(r->event[1], r->stream);
    near("interval in a graph", wait(r) / TIMES, f->graph, 0.01);
    cuGraphExecDestroy(exec);
}

static double stream_rate(rig *r, const char *kernel, cu_address at, double bytes, double moved)
{
    kernel_stream_args a = {.a = (void *)at,
                            .b = (void *)(at + (uint64_t)bytes),
                            .c = (void *)(at + 2 * (uint64_t)bytes),
                            .words = (uint64_t)bytes / 16,
                            .scale = 2};
    launch(r, kernel, &a);
    cuEventRecord(r->event[0], r->stream);
    for (int i = 0; i < 4; i++)
        launch(r, kernel, &a);
    cuEventRecord(r->event[1], r->stream);
    return moved * bytes / (wait(r) / 4 - fake_get()->launch);
}

static void test_streams(rig *r)
{
    const fake_settings *f = fake_get();
    const double large = 1 << 30, small = 8 << 20;
    cu_address at;
    cuMemAlloc_v2(&at, 3 * (size_t)large);
    near("read", stream_rate(r, "kernel_read", at, large, 1), f->bandwidth, 0.01);
    near("copy", stream_rate(r, "kernel_copy", at, large, 2), f->bandwidth, 0.01);
    near("triad", stream_rate(r, "kernel_triad", at, large, 3), f->bandwidth, 0.01);
    near("from L2", stream_rate(r, "kernel_read", at, small, 1), f->l2_bandwidth, 0.02);
    cuMemFree_v2(at);
}

/* ---- products -------------------------------------------------------------------------------- */

enum { M = 48, N = 96, K = 8192 };

/* D (M x N) = A (M x K) W (N x K)^T, all row major; `skew` of the stride of W plants a fault. */
static int product(rig *r, cu_address a, cu_address w, cu_address d, int skew, int wanted)
{
    lt_desc desc;
    lt_layout lw, la, ld;
    lt_preference preference;
    lt_heuristic found[8];
    const int32_t transposed = LT_OP_T;
    const float one = 1, zero = 0;
    int count = 0;
    cublasLtMatmulDescCreate(&desc, LT_COMPUTE_32F, LT_R_32F);
    cublasLtMatmulDescSetAttribute(desc, LT_DESC_TRANSA, &transposed, sizeof transposed);
    cublasLtMatrixLayoutCreate(&lw, LT_R_16BF, K, N, K + skew);
    cublasLtMatrixLayoutCreate(&la, LT_R_16BF, K, M, K);
    cublasLtMatrixLayoutCreate(&ld, LT_R_16BF, N, M, N);
    cublasLtMatmulPreferenceCreate(&preference);
    int code =
        cublasLtMatmulAlgoGetHeuristic(r->lt, desc, lw, la, ld, ld, preference, 8, found, &count);
    cublasLtMatmulPreferenceDestroy(preference);
    if (code == 0 && wanted < count)
        code = cublasLtMatmul(r->lt, desc, &one, (void *)w, lw, (void *)a, la, &zero, (void *)d, ld,
                              (void *)d, ld, &found[wanted].algo, NULL, 0, r->stream);
    cublasLtMatmulDescDestroy(desc);
    cublasLtMatrixLayoutDestroy(lw);
    cublasLtMatrixLayoutDestroy(la);
    cublasLtMatrixLayoutDestroy(ld);
    return code;
}

/* Largest error of the checked values, in units of their rounding. */
static double worst(rig *r, cu_address a, cu_address w, cu_address d)
{
    enum { COUNT = 32 };
    double values[3][COUNT], most = 0;
    cu_address to;
    cuMemAlloc_v2(&to, sizeof values);
    kernel_check_args check_args = {.a = (void *)a,
                                    .b = (void *)w,
                                    .d = (void *)d,
                                    .expected = (double *)to,
                                    .found = (double *)to + COUNT,
                                    .magnitude = (double *)to + 2 * COUNT,
                                    .m = M,
                                    .n = N,
                                    .k = K,
                                    .count = COUNT,
                                    .seed = 7,
                                    .format = KERNEL_BF16,
                                    .out_format = KERNEL_BF16,
                                    .scale = 1};
    launch(r, "kernel_gemm_check", &check_args);
    cuMemcpyDtoH_v2(values, to, sizeof values);
    for (int i = 0; i < COUNT; i++) {
        double rounding = fabs(values[0][i]) / 256 + 1e-6 * values[2][i];
        double error = fabs(values[0][i] - values[1][i]) / rounding;
        most = !(error <= most) ? error : most;
    }
    cuMemFree_v2(to);
    return most;
}

static void test_products(rig *r)
{
    cu_address a, w, d;
    cuMemAlloc_v2(&a, 2 * M * K);
    cuMemAlloc_v2(&w, 2 * N * (K + 8));
    cuMemAlloc_v2(&d, 2 * M * N);
    kernel_fill_args fill = {.data = (void *)a, .count = M * K, .format = KERNEL_BF16, .seed = 1};
    launch(r, "kernel_fill", &fill);
    fill = (kernel_fill_args){(void *)w, N * (K + 8), KERNEL_BF16, 2};
    launch(r, "kernel_fill", &fill);
    same("product", product(r, a, w, d, 0, 0), 0);
    double error = worst(r, a, w, d);
    check(error <= 1, "a product is right", error, 1);
    same("product with a wrong stride", product(r, a, w, d, 8, 0), 0);
    error = worst(r, a, w, d);
    check(error > 100, "a wrong stride is seen", error, 100);
    cuMemFree_v2(a);
    cuMemFree_v2(w);
    cuMemFree_v2(d);
}

/* Peak of a large bf16 product by the algorithm that is best. */
static void test_rate(rig *r)
{
    const fake_settings *f = fake_get();
    lt_desc desc;
    lt_layout l;
    lt_preference preference;
    lt_heuristic found[8];
    const float one = 1, zero = 0;
    const uint64_t workspace = 32 << 20;
    const double n = 8192;
    int count = 0;
    cu_address at, space;
    cuMemAlloc_v2(&at, 3 * 2 * (size_t)(n * n));
    cuMemAlloc_v2(&space, workspace);
    void *a = (void *)at, *d = (void *)(at + 2 * (size_t)(n * n));
    cublasLtMatmulDescCreate(&desc, LT_COMPUTE_32F, LT_R_32F);
    cublasLtMatrixLayoutCreate(&l, LT_R_16BF, 8192, 8192, 8192);
    cublasLtMatmulPreferenceCreate(&preference);
    cublasLtMatmulPreferenceSetAttribute(preference, LT_PREFERENCE_MAX_WORKSPACE, &workspace,
                                         sizeof workspace);
    cublasLtMatmulAlgoGetHeuristic(r->lt, desc, l, l, l, l, preference, 8, found, &count);
    check(count > 2, "algorithms", count, 3);
    cuEventRecord(r->event[0], r->stream);
    for (int i = 0; i < 4; i++)
        cublasLtMatmul(r->lt, desc, &one, a, l, a, l, &zero, d, l, d, l, &found[1].algo,
                       (void *)space, workspace, r->stream);
    cuEventRecord(r->event[1], r->stream);
    near("rate of products", 4 * 2 * n * n * n / wait(r), f->rate[FAKE_BF16], 0.02);
    same("another product's algorithm is refused",
         cublasLtMatmul(r->lt, desc, &one, a, l, a, l, &zero, d, l, d, l, &(lt_algo){{1, 1}}, NULL,
                        0, r->stream),
         LT_INVALID_VALUE);
    cublasLtMatmulPreferenceDestroy(preference);
    cublasLtMatrixLayoutDestroy(l);
    cublasLtMatmulDescDestroy(desc);
    cuMemFree_v2(at);
    cuMemFree_v2(space);
}

/* ---- refusals -------------------------------------------------------------------------------- */

static void test_refusals(rig *r)
{
    cu_graph graph;
    cu_address at;
    int64_t before = fake_counted(FAKE_misuse);
    cuStreamBeginCapture_v2(r->stream, CU_CAPTURE_THREAD_LOCAL);
    same("no allocation while a graph is recorded", cuMemAlloc_v2(&at, 64), 900);
    same("that spoils the graph", cuStreamEndCapture(r->stream, &graph), 901);
    same("more than there is", cuMemAlloc_v2(&at, (size_t)1 << 50), CU_OUT_OF_MEMORY);
    same("reported", (double)(fake_counted(FAKE_misuse) - before), 1);
    kernel_stream_args beyond = {.a = r->gate, .words = 1000, .sink = r->gate};
    cu_function function;
    cuModuleGetFunction(&function, r->module, "kernel_read");
    same("an operand that is not allocated",
         cuLaunchKernel(function, 1, 1, 1, 256, 1, 1, 0, r->stream, (void *[]){&beyond}, NULL),
         CU_ILLEGAL_ADDRESS);
    same("ends the context", cuStreamSynchronize(r->stream), CU_ILLEGAL_ADDRESS);
}

/* ---- NVML and NCCL --------------------------------------------------------------------------- */

static void test_nvml(void)
{
    nvml_device device;
    unsigned mhz = 0;
    same("nvmlInit", nvmlInit_v2(), 0);
    same("by PCI id", nvmlDeviceGetHandleByPciBusId_v2("00000000:18:00.0", &device), 0);
    same("not there", nvmlDeviceGetHandleByPciBusId_v2("00000000:31:00.0", &device), 6);
    same("clock", nvmlDeviceGetMaxClockInfo(device, NVML_CLOCK_SM, &mhz), 0);
    same("MHz", mhz, fake_get()->clock / 1e6);
    nvmlShutdown();
}

static void test_nccl(rig *r)
{
    const fake_settings *f = fake_get();
    nccl_comm comms[2];
    cu_context other;
    cu_stream stream;
    cu_address here, there;
    const size_t count = 128 << 20;
    same("communicators", ncclCommInitAll(comms, 2, (int[]){0, 1}), 0);
    cuMemAlloc_v2(&here, 2 * count);
    cuDevicePrimaryCtxRetain(&other, 1);
    cuCtxSetCurrent(other);
    cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    cuMemAlloc_v2(&there, 2 * count);
    cuEventRecord(r->event[0], r->stream);
    ncclGroupStart();
    ncclAllReduce((void *)here, (void *)here, count, NCCL_BFLOAT16, NCCL_SUM, comms[0], r->stream);
    ncclAllReduce((void *)there, (void *)there, count, NCCL_BFLOAT16, NCCL_SUM, comms[1], stream);
    ncclGroupEnd();
    cuEventRecord(r->event[1], r->stream);
    near("all-reduce of two", wait(r), 2.0 * (double)count / f->nvlink, 0.05);
    cuMemFree_v2(there);
    cuStreamDestroy_v2(stream);
    cuDevicePrimaryCtxRelease_v2(1);
    cuCtxSetCurrent(r->context);
    cuMemFree_v2(here);
    ncclCommDestroy(comms[0]);
    ncclCommDestroy(comms[1]);
}

int main(void)
{
    setenv("FAKE_CUDA", "noise=0,devices=2", 1);
    unsetenv("FAKE_CUDA_FAIL");
    for (size_t i = 0; i < sizeof ALL / sizeof *ALL; i++)
        failures += !ALL[i];
    rig r = begin();
    test_launches(&r);
    test_streams(&r);
    test_products(&r);
    test_rate(&r);
    test_nvml();
    test_nccl(&r);
    same("no misuse so far: the algorithm apart", (double)fake_counted(FAKE_misuse), 1);
    test_refusals(&r);
    end(&r);
    printf("1..%d\n", cases);
    return failures > 0;
}
