/* SPDX-License-Identifier: MIT */
/*
 * What is called of the CUDA driver, NVML, cuBLASLt and NCCL, declared by hand: the libraries are
 * opened at run time and no toolkit is needed to build. tests/cuda compares every prototype, size
 * and constant with NVIDIA's headers where they are installed.
 *   lists:  X(name, arguments) expands to one function; names are the exported symbols
 *   source: CUDA 13.0 cuda.h and cublasLt.h, NVML and NCCL 2 API references
 */
#ifndef LLMPERF_CUDA_API_H
#define LLMPERF_CUDA_API_H

#include <stddef.h>
#include <stdint.h>

/* ---- driver: libcuda.so.1 -------------------------------------------------------------------- */

#ifndef LLMPERF_CUDA_API_TYPES /* tests/cuda puts NVIDIA's own types here */
typedef int cu_result;         /* CUresult; 0 = success */
typedef int cu_attribute, cu_function_attribute, cu_capture_mode; /* enums */
typedef int cu_device;
typedef unsigned long long cu_address; /* CUdeviceptr */
typedef struct cu_context_s *cu_context;
typedef struct cu_module_s *cu_module;
typedef struct cu_function_s *cu_function;
typedef struct cu_stream_s *cu_stream;
typedef struct cu_event_s *cu_event;
typedef struct cu_graph_s *cu_graph;
typedef struct cu_graph_exec_s *cu_graph_exec;
typedef struct cu_uuid {
    char bytes[16];
} cu_uuid;
#endif

enum { /* CUresult */
       CU_OK = 0,
       CU_INVALID_VALUE = 1,
       CU_OUT_OF_MEMORY = 2,
       CU_NOT_INITIALIZED = 3,
       CU_STUB_LIBRARY = 34,
       CU_DEVICE_UNAVAILABLE = 46,
       CU_NO_DEVICE = 100,
       CU_INVALID_DEVICE = 101,
       CU_NO_BINARY_FOR_GPU = 209,
       CU_ECC_UNCORRECTABLE = 214,
       CU_INVALID_PTX = 218,
       CU_UNSUPPORTED_PTX_VERSION = 222,
       CU_NOT_FOUND = 500,
       CU_NOT_READY = 600,
       CU_ILLEGAL_ADDRESS = 700,
       CU_LAUNCH_TIMEOUT = 702,
       CU_LAUNCH_FAILED = 719,
       CU_NOT_PERMITTED = 800,
       CU_NOT_SUPPORTED = 801,
       CU_SYSTEM_NOT_READY = 802,
       CU_SYSTEM_DRIVER_MISMATCH = 803,
       CU_INSUFFICIENT_DRIVER = 35, /* as the runtime numbers it */
       CU_CALL_REQUIRES_NEWER_DRIVER = 36,
};

enum { /* CUdevice_attribute */
       CU_ATTRIBUTE_MAX_SHARED_PER_BLOCK = 8,
       CU_ATTRIBUTE_CLOCK_RATE = 13, /* kHz */
       CU_ATTRIBUTE_MULTIPROCESSORS = 16,
       CU_ATTRIBUTE_INTEGRATED = 18,
       CU_ATTRIBUTE_COMPUTE_MODE = 20,
       CU_ATTRIBUTE_ECC_ENABLED = 32,
       CU_ATTRIBUTE_PCI_BUS = 33,
       CU_ATTRIBUTE_PCI_DEVICE = 34,
       CU_ATTRIBUTE_MEMORY_CLOCK_RATE = 36, /* kHz */
       CU_ATTRIBUTE_MEMORY_BUS_WIDTH = 37,  /* bits */
       CU_ATTRIBUTE_L2_BYTES = 38,
       CU_ATTRIBUTE_PCI_DOMAIN = 50,
       CU_ATTRIBUTE_CAPABILITY_MAJOR = 75,
       CU_ATTRIBUTE_CAPABILITY_MINOR = 76,
       CU_ATTRIBUTE_MAX_SHARED_PER_BLOCK_OPTIN = 97,
};

enum {
    CU_FUNC_MAX_DYNAMIC_SHARED = 8,
    CU_STREAM_NON_BLOCKING = 1,
    CU_EVENT_DEFAULT = 0,
    CU_EVENT_DISABLE_TIMING = 2,
    CU_HOST_ALLOC_PORTABLE = 1,
    CU_HOST_ALLOC_DEVICEMAP = 2,
    CU_CAPTURE_THREAD_LOCAL = 1, /* CUstreamCaptureMode */
};

#define CUDA_DRIVER_FUNCTIONS(X)                                                                   \
    X(cuInit, (unsigned flags))                                                                    \
    X(cuDriverGetVersion, (int *version))                                                          \
    X(cuGetErrorName, (cu_result result, const char **name))                                       \
    X(cuGetErrorString, (cu_result result, const char **text))                                     \
    X(cuDeviceGetCount, (int *count))                                                              \
    X(cuDeviceGet, (cu_device * device, int index))                                                \
    X(cuDeviceGetName, (char *name, int size, cu_device device))                                   \
    X(cuDeviceGetUuid_v2, (cu_uuid * uuid, cu_device device))                                      \
    X(cuDeviceGetPCIBusId, (char *id, int size, cu_device device))                                 \
    X(cuDeviceTotalMem_v2, (size_t * bytes, cu_device device))                                     \
    X(cuDeviceGetAttribute, (int *value, cu_attribute attribute, cu_device device))                \
    X(cuDevicePrimaryCtxRetain, (cu_context * context, cu_device device))                          \
    X(cuDevicePrimaryCtxRelease_v2, (cu_device device))                                            \
    X(cuCtxSetCurrent, (cu_context context))                                                       \
    X(cuCtxSynchronize, (void))                                                                    \
    X(cuMemGetInfo_v2, (size_t * free_bytes, size_t * total_bytes))                                \
    X(cuMemAlloc_v2, (cu_address * address, size_t bytes))                                         \
    X(cuMemFree_v2, (cu_address address))                                                          \
    X(cuMemHostAlloc, (void **address, size_t bytes, unsigned flags))                              \
    X(cuMemFreeHost, (void *address))                                                              \
    X(cuMemHostGetDevicePointer_v2, (cu_address * address, void *host, unsigned flags))            \
    X(cuMemcpyHtoD_v2, (cu_address to, const void *from, size_t bytes))                            \
    X(cuMemcpyDtoH_v2, (void *to, cu_address from, size_t bytes))                                  \
    X(cuMemcpyHtoDAsync_v2, (cu_address to, const void *from, size_t bytes, cu_stream stream))     \
    X(cuMemcpyDtoHAsync_v2, (void *to, cu_address from, size_t bytes, cu_stream stream))           \
    X(cuMemsetD8Async, (cu_address to, unsigned char value, size_t bytes, cu_stream stream))       \
    X(cuModuleLoadData, (cu_module * module, const void *image))                                   \
    X(cuModuleUnload, (cu_module module))                                                          \
    X(cuModuleGetFunction, (cu_function * function, cu_module module, const char *name))           \
    X(cuFuncSetAttribute, (cu_function function, cu_function_attribute attribute, int value))      \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessor,                                                 \
      (int *blocks, cu_function function, int block_size, size_t dynamic_bytes))                   \
    X(cuLaunchKernel, (cu_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z,    \
                       unsigned block_x, unsigned block_y, unsigned block_z,                       \
                       unsigned dynamic_bytes, cu_stream stream, void **arguments, void **extra))  \
    X(cuStreamCreate, (cu_stream * stream, unsigned flags))                                        \
    X(cuStreamDestroy_v2, (cu_stream stream))                                                      \
    X(cuStreamSynchronize, (cu_stream stream))                                                     \
    X(cuStreamQuery, (cu_stream stream))                                                           \
    X(cuStreamBeginCapture_v2, (cu_stream stream, cu_capture_mode mode))                           \
    X(cuStreamEndCapture, (cu_stream stream, cu_graph * graph))                                    \
    X(cuGraphInstantiateWithFlags,                                                                 \
      (cu_graph_exec * exec, cu_graph graph, unsigned long long flags))                            \
    X(cuGraphLaunch, (cu_graph_exec exec, cu_stream stream))                                       \
    X(cuGraphExecDestroy, (cu_graph_exec exec))                                                    \
    X(cuGraphDestroy, (cu_graph graph))                                                            \
    X(cuEventCreate, (cu_event * event, unsigned flags))                                           \
    X(cuEventDestroy_v2, (cu_event event))                                                         \
    X(cuEventRecord, (cu_event event, cu_stream stream))                                           \
    X(cuEventQuery, (cu_event event))                                                              \
    X(cuEventSynchronize, (cu_event event))                                                        \
    X(cuEventElapsedTime, (float *milliseconds, cu_event from, cu_event to))

/* ---- NVML: libnvidia-ml.so.1; every call is optional ------------------------------------------- */

#ifndef LLMPERF_CUDA_API_TYPES
typedef int nvml_result; /* nvmlReturn_t; 0 = success, 3 not supported, 4 no permission */
typedef int nvml_clock, nvml_sensor, nvml_switch; /* enums */
typedef struct nvml_device_s *nvml_device;
typedef struct nvml_process {
    unsigned pid;
    unsigned long long used_bytes;
    unsigned gpu_instance, compute_instance;
} nvml_process; /* nvmlProcessInfo_t of the _v3 calls */
typedef struct nvml_memory {
    unsigned long long total, free, used; /* bytes */
} nvml_memory;
#endif

enum {
    NVML_CLOCK_SM = 1,
    NVML_CLOCK_MEMORY = 2,
    NVML_TEMPERATURE_GPU = 0,
    NVML_NOT_SUPPORTED = 3,
    NVML_NO_PERMISSION = 4,
    NVML_INSUFFICIENT_SIZE = 7,
    /* bits of the clock event reasons */
    NVML_REASON_IDLE = 0x1,
    NVML_REASON_APPLICATION_CLOCKS = 0x2,
    NVML_REASON_POWER_CAP = 0x4,
    NVML_REASON_HW_SLOWDOWN = 0x8,
    NVML_REASON_SW_THERMAL = 0x20,
    NVML_REASON_HW_THERMAL = 0x40,
    NVML_REASON_POWER_BRAKE = 0x80,
};

#define CUDA_NVML_FUNCTIONS(X)                                                                     \
    X(nvmlInit_v2, (void))                                                                         \
    X(nvmlShutdown, (void))                                                                        \
    X(nvmlSystemGetDriverVersion, (char *version, unsigned size))                                  \
    X(nvmlDeviceGetHandleByUUID, (const char *uuid, nvml_device *device))                          \
    X(nvmlDeviceGetHandleByPciBusId_v2, (const char *id, nvml_device *device))                     \
    X(nvmlDeviceGetMemoryInfo, (nvml_device device, nvml_memory * memory))                         \
    X(nvmlDeviceGetClockInfo, (nvml_device device, nvml_clock clock, unsigned *mhz))               \
    X(nvmlDeviceGetMaxClockInfo, (nvml_device device, nvml_clock clock, unsigned *mhz))            \
    X(nvmlDeviceGetPowerUsage, (nvml_device device, unsigned *milliwatts))                         \
    X(nvmlDeviceGetEnforcedPowerLimit, (nvml_device device, unsigned *milliwatts))                 \
    X(nvmlDeviceGetPowerManagementDefaultLimit, (nvml_device device, unsigned *milliwatts))        \
    X(nvmlDeviceGetTemperature, (nvml_device device, nvml_sensor sensor, unsigned *celsius))       \
    X(nvmlDeviceGetCurrentClocksThrottleReasons, (nvml_device device, unsigned long long *bits))   \
    X(nvmlDeviceGetEccMode, (nvml_device device, nvml_switch * current, nvml_switch * pending))    \
    X(nvmlDeviceGetMigMode, (nvml_device device, unsigned *current, unsigned *pending))            \
    X(nvmlDeviceGetPersistenceMode, (nvml_device device, nvml_switch * mode))                      \
    X(nvmlDeviceGetComputeRunningProcesses_v3,                                                     \
      (nvml_device device, unsigned *count, nvml_process *processes))                              \
    X(nvmlDeviceGetCurrPcieLinkGeneration, (nvml_device device, unsigned *generation))             \
    X(nvmlDeviceGetCurrPcieLinkWidth, (nvml_device device, unsigned *lanes))

/* ---- cuBLASLt: libcublasLt.so.13, .12 ------------------------------------------------------------ */

#ifndef LLMPERF_CUDA_API_TYPES
typedef int lt_status; /* cublasStatus_t; 0 = success, 7 invalid value, 15 not supported */
typedef int lt_type, lt_compute, lt_desc_attribute, lt_layout_attribute, lt_preference_attribute;
typedef struct lt_context *lt_handle;
typedef struct lt_desc_s *lt_desc;
typedef struct lt_layout_s *lt_layout;
typedef struct lt_preference_s *lt_preference;
typedef struct lt_algo {
    uint64_t data[8];
} lt_algo;
typedef struct lt_heuristic {
    lt_algo algo;
    size_t workspace_bytes;
    lt_status state;
    float waves;
    int reserved[4];
} lt_heuristic;
#endif

enum {
    LT_OK = 0,
    LT_NOT_INITIALIZED = 1,
    LT_ALLOC_FAILED = 3,
    LT_INVALID_VALUE = 7,
    LT_ARCH_MISMATCH = 8,
    LT_NOT_SUPPORTED = 15,
    /* cudaDataType_t */
    LT_R_32F = 0,
    LT_R_16F = 2,
    LT_R_8I = 3,
    LT_R_32I = 10,
    LT_R_16BF = 14,
    LT_R_8F_E4M3 = 28,
    LT_R_8F_UE4M3 = 28,
    LT_R_4F_E2M1 = 33,
    /* cublasComputeType_t */
    LT_COMPUTE_32F = 68,
    LT_COMPUTE_32I = 72,
    LT_COMPUTE_32F_FAST_TF32 = 77,
    /* cublasLtMatmulDescAttributes_t */
    LT_DESC_TRANSA = 3,
    LT_DESC_TRANSB = 4,
    LT_DESC_FAST_ACCUM = 25,
    LT_DESC_A_SCALE_POINTER = 17,
    LT_DESC_B_SCALE_POINTER = 18,
    LT_DESC_A_SCALE_MODE = 31,
    LT_DESC_B_SCALE_MODE = 32,
    LT_SCALE_VEC16_UE4M3 = 1, /* one scale for 16 values of nvfp4 */
    LT_OP_N = 0,
    LT_OP_T = 1,
    /* cublasLtMatrixLayoutAttribute_t */
    LT_LAYOUT_BATCH_COUNT = 5,
    LT_LAYOUT_BATCH_STRIDE = 6,
    /* cublasLtMatmulPreferenceAttributes_t */
    LT_PREFERENCE_MAX_WORKSPACE = 1,
};

#define CUDA_LT_FUNCTIONS(X)                                                                       \
    X(cublasLtCreate, (lt_handle * handle))                                                        \
    X(cublasLtDestroy, (lt_handle handle))                                                         \
    X(cublasLtMatmulDescCreate, (lt_desc * desc, lt_compute compute, lt_type scale))               \
    X(cublasLtMatmulDescDestroy, (lt_desc desc))                                                   \
    X(cublasLtMatmulDescSetAttribute,                                                              \
      (lt_desc desc, lt_desc_attribute attribute, const void *value, size_t size))                 \
    X(cublasLtMatrixLayoutCreate,                                                                  \
      (lt_layout * layout, lt_type type, uint64_t rows, uint64_t columns, int64_t stride))         \
    X(cublasLtMatrixLayoutDestroy, (lt_layout layout))                                             \
    X(cublasLtMatrixLayoutSetAttribute,                                                            \
      (lt_layout layout, lt_layout_attribute attribute, const void *value, size_t size))           \
    X(cublasLtMatmulPreferenceCreate, (lt_preference * preference))                                \
    X(cublasLtMatmulPreferenceDestroy, (lt_preference preference))                                 \
    X(cublasLtMatmulPreferenceSetAttribute,                                                        \
      (lt_preference preference, lt_preference_attribute attribute, const void *value,             \
       size_t size))                                                                               \
    X(cublasLtMatmulAlgoGetHeuristic,                                                              \
      (lt_handle handle, lt_desc desc, lt_layout a, lt_layout b, lt_layout c, lt_layout d,         \
       lt_preference preference, int wanted, lt_heuristic *results, int *found))                   \
    X(cublasLtMatmul,                                                                              \
      (lt_handle handle, lt_desc desc, const void *alpha, const void *a, lt_layout a_layout,       \
       const void *b, lt_layout b_layout, const void *beta, const void *c, lt_layout c_layout,     \
       void *d, lt_layout d_layout, const lt_algo *algo, void *workspace, size_t workspace_bytes,  \
       cu_stream stream))

/* Its version is a size_t, not a status: cublasLtGetVersion() is declared apart. */
typedef size_t (*lt_version_function)(void);

/* ---- NCCL: libnccl.so.2 --------------------------------------------------------------------------- */

#ifndef LLMPERF_CUDA_API_TYPES
typedef int nccl_result;        /* 0 = success */
typedef int nccl_type, nccl_op; /* enums */
typedef struct nccl_comm_s *nccl_comm;
#endif

enum {
    NCCL_BFLOAT16 = 9, /* ncclDataType_t */
    NCCL_SUM = 0,
    NCCL_IN_PROGRESS = 7, /* ncclResult_t */
};

#define CUDA_NCCL_FUNCTIONS(X)                                                                     \
    X(ncclGetVersion, (int *version))                                                              \
    X(ncclCommInitAll, (nccl_comm * comms, int devices, const int *list))                          \
    X(ncclCommDestroy, (nccl_comm comm))                                                           \
    X(ncclCommAbort, (nccl_comm comm))                                                             \
    X(ncclCommGetAsyncError, (nccl_comm comm, nccl_result * error))                                \
    X(ncclGroupStart, (void))                                                                      \
    X(ncclGroupEnd, (void))                                                                        \
    X(ncclAllReduce, (const void *send, void *receive, size_t count, nccl_type type, nccl_op op,   \
                      nccl_comm comm, cu_stream stream))                                           \
    X(ncclAllGather, (const void *send, void *receive, size_t count, nccl_type type,               \
                      nccl_comm comm, cu_stream stream))                                           \
    X(ncclReduceScatter, (const void *send, void *receive, size_t count, nccl_type type,           \
                          nccl_op op, nccl_comm comm, cu_stream stream))                           \
    X(ncclSend, (const void *send, size_t count, nccl_type type, int peer, nccl_comm comm,         \
                 cu_stream stream))                                                                \
    X(ncclRecv,                                                                                    \
      (void *receive, size_t count, nccl_type type, int peer, nccl_comm comm, cu_stream stream))

/* ---- tables of function pointers ------------------------------------------------------------------ */

#define CUDA_MEMBER(name, arguments) int(*name) arguments;
typedef struct cuda_driver {
    void *library;
    CUDA_DRIVER_FUNCTIONS(CUDA_MEMBER)
} cuda_driver;
typedef struct cuda_nvml {
    void *library;
    CUDA_NVML_FUNCTIONS(CUDA_MEMBER)
} cuda_nvml;
typedef struct cuda_lt {
    void *library;
    lt_version_function cublasLtGetVersion;
    CUDA_LT_FUNCTIONS(CUDA_MEMBER)
} cuda_lt;
typedef struct cuda_nccl {
    void *library;
    CUDA_NCCL_FUNCTIONS(CUDA_MEMBER)
} cuda_nccl;
#undef CUDA_MEMBER

/* ---- the kernels of kernels.cu as nvcc's fatbin, embedded by the build ------------------------------ */

extern const unsigned char llmperf_cuda_fatbin[];
extern const size_t llmperf_cuda_fatbin_size;

#endif
