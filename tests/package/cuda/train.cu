// SPDX-License-Identifier: MIT
// A project with sources for nvcc: its own kernels and Cairn stand in one file. On a machine without a device the
// kernel is compiled only.
#include <cuda_runtime.h>

#include "../train.cpp"

__global__ void twice(float* x) { x[threadIdx.x] *= 2; }

int launch(float* x) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0) twice<<<1, 8>>>(x);
  return devices;
}
