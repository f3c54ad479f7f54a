/* SPDX-License-Identifier: MIT */
/*
 * Compiled, never run: every prototype of kernels/cuda/api.h beside NVIDIA's own, where the headers
 * are. A wrong argument does not compile.
 */
#include <cuda.h>

#include <cublasLt.h>
#ifdef LLMPERF_HAVE_NCCL_H
#include <nccl.h>
#endif
#ifdef LLMPERF_HAVE_NVML_H
#include <nvml.h>
#endif

/* Their enumerators that ours are called like. */
#define CU_STREAM_NON_BLOCKING OUR_STREAM_NON_BLOCKING
#define CU_EVENT_DEFAULT OUR_EVENT_DEFAULT
#define CU_EVENT_DISABLE_TIMING OUR_EVENT_DISABLE_TIMING
#define NVML_CLOCK_SM OUR_NVML_CLOCK_SM
#define NVML_TEMPERATURE_GPU OUR_NVML_TEMPERATURE_GPU

#define LLMPERF_CUDA_API_TYPES
typedef CUresult cu_result;
typedef CUdevice_attribute cu_attribute;
typedef CUfunction_attribute cu_function_attribute;
typedef CUstreamCaptureMode cu_capture_mode;
typedef CUdevice cu_device;
typedef CUdeviceptr cu_address;
typedef CUcontext cu_context;
typedef CUmodule cu_module;
typedef CUfunction cu_function;
typedef CUstream cu_stream;
typedef CUevent cu_event;
typedef CUgraph cu_graph;
typedef CUgraphExec cu_graph_exec;
typedef CUuuid cu_uuid;

typedef cublasStatus_t lt_status;
typedef cudaDataType_t lt_type;
typedef cublasComputeType_t lt_compute;
typedef cublasLtMatmulDescAttributes_t lt_desc_attribute;
typedef cublasLtMatrixLayoutAttribute_t lt_layout_attribute;
typedef cublasLtMatmulPreferenceAttributes_t lt_preference_attribute;
typedef cublasLtHandle_t lt_handle;
typedef cublasLtMatmulDesc_t lt_desc;
typedef cublasLtMatrixLayout_t lt_layout;
typedef cublasLtMatmulPreference_t lt_preference;
typedef cublasLtMatmulAlgo_t lt_algo;
typedef cublasLtMatmulHeuristicResult_t lt_heuristic;

#ifdef LLMPERF_HAVE_NCCL_H
typedef ncclResult_t nccl_result;
typedef ncclDataType_t nccl_type;
typedef ncclRedOp_t nccl_op;
typedef ncclComm_t nccl_comm;
#else
typedef int nccl_result, nccl_type, nccl_op;
typedef struct nccl_comm_s *nccl_comm;
#endif

#ifdef LLMPERF_HAVE_NVML_H
typedef nvmlReturn_t nvml_result;
typedef nvmlClockType_t nvml_clock;
typedef nvmlTemperatureSensors_t nvml_sensor;
typedef nvmlEnableState_t nvml_switch;
typedef nvmlDevice_t nvml_device;
typedef nvmlProcessInfo_t nvml_process;
typedef nvmlMemory_t nvml_memory;
#else
typedef int nvml_result, nvml_clock, nvml_sensor, nvml_switch;
typedef struct nvml_device_s *nvml_device;
typedef struct nvml_process nvml_process;
typedef struct nvml_memory nvml_memory;
#endif

#include "../../kernels/cuda/api.h"

/* SAME(result)(name, (arguments)): their function has this type */
#define SAME(result, name, arguments)                                                              \
    _Static_assert(__builtin_types_compatible_p(__typeof__(&name), result(*) arguments),           \
                   "the prototype of " #name " differs");

#define DRIVER_SAME(name, arguments) SAME(cu_result, name, arguments)
#define LT_SAME(name, arguments) SAME(lt_status, name, arguments)
CUDA_DRIVER_FUNCTIONS(DRIVER_SAME)
CUDA_LT_FUNCTIONS(LT_SAME)
_Static_assert(__builtin_types_compatible_p(__typeof__(&cublasLtGetVersion), lt_version_function),
               "the prototype of cublasLtGetVersion differs");
#ifdef LLMPERF_HAVE_NCCL_H
#define NCCL_SAME(name, arguments) SAME(nccl_result, name, arguments)
CUDA_NCCL_FUNCTIONS(NCCL_SAME)
#endif
#ifdef LLMPERF_HAVE_NVML_H
#define NVML_SAME(name, arguments) SAME(nvml_result, name, arguments)
CUDA_NVML_FUNCTIONS(NVML_SAME)
#endif

/* A function that takes and gives what an int has the size of may be called as one that does. */
_Static_assert(sizeof(CUresult) == sizeof(int) && sizeof(cublasStatus_t) == sizeof(int) &&
                   sizeof(CUdevice_attribute) == sizeof(int) &&
                   sizeof(CUfunction_attribute) == sizeof(int) &&
                   sizeof(CUstreamCaptureMode) == sizeof(int) &&
                   sizeof(cudaDataType_t) == sizeof(int) &&
                   sizeof(cublasComputeType_t) == sizeof(int) &&
                   sizeof(cublasLtMatmulDescAttributes_t) == sizeof(int) &&
                   sizeof(cublasLtMatrixLayoutAttribute_t) == sizeof(int) &&
                   sizeof(cublasLtMatmulPreferenceAttributes_t) == sizeof(int),
               "an enum is wider than int");

int main(void)
{
    return 0;
}
