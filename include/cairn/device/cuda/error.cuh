// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include <cairn/core/config.hpp>
#include <cairn/core/error.hpp>

namespace cairn::detail {

// Advice for the user about an error of the runtime.
inline const char* advice_for(cudaError_t code) {
  switch (code) {
  case cudaErrorMemoryAllocation: return "take a smaller batch or network, or a checkpoint<> that stores less";
  case cudaErrorNoDevice:
  case cudaErrorInsufficientDriver:
  case cudaErrorSystemDriverMismatch:
  case cudaErrorStubLibrary: return "run it where there is a GPU with NVIDIA's driver for this version of CUDA, or train on cpu";
  case cudaErrorDevicesUnavailable: return "another program may have the GPU for itself: end it, or give another ordinal";
  case cudaErrorNoKernelImageForDevice:
  case cudaErrorInvalidDeviceFunction:
  case cudaErrorUnsupportedPtxVersion:
    return "compile the program for this GPU: nvcc's -arch=native, or CMake's CMAKE_CUDA_ARCHITECTURES=native";
  case cudaErrorIllegalAddress:
  case cudaErrorMisalignedAddress:
  case cudaErrorIllegalInstruction:
  case cudaErrorInvalidPc:
  case cudaErrorHardwareStackError:
  case cudaErrorLaunchFailure:
  case cudaErrorAssert:
    return "a kernel went wrong, this op's or one before it: compute-sanitizer names it; the GPU serves this process no more";
  case cudaErrorECCUncorrectable:
  case cudaErrorNvlinkUncorrectable: return "the GPU's memory or a link of it is broken: start again on another one";
  case cudaErrorLaunchTimeout: return "a display shares this GPU and ends long kernels: take one that shows nothing";
  default: return "the GPU serves this process no more if the next call fails too: start it again";
  }
}

// Throws device_error if a call of the runtime did not succeed. `op` names the operation that the caller asked for, as in
// "layer_norm_forward".
inline void check_cuda(cudaError_t code, const char* op) {
  if (code == cudaSuccess) [[likely]]
    return;
  throw device_error("cuda, " + std::string(op) + ": expected it to succeed, found error " +
                     std::to_string(static_cast<int>(code)) + ", " + cudaGetErrorName(code) + " (" + cudaGetErrorString(code) +
                     "); " + advice_for(code));
}

// The same for cuBLASLt.
inline void check_cublas(cublasStatus_t code, const char* op) {
  if (code == CUBLAS_STATUS_SUCCESS) [[likely]]
    return;
  const bool no_room = code == CUBLAS_STATUS_ALLOC_FAILED;
  throw device_error(
      "cuda, " + std::string(op) + ": expected cuBLASLt to succeed, found status " + std::to_string(static_cast<int>(code)) +
      ", " + cublasLtGetStatusName(code) + "; " +
      (no_room ? advice_for(cudaErrorMemoryAllocation) : "CUBLASLT_LOG_LEVEL=5 in the environment tells what it was given"));
}

} // namespace cairn::detail
