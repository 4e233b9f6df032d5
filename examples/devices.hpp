// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <type_traits>

#include <cairn/core/error.hpp>
#include <cairn/device/cpu.hpp>

// A program that nvcc has compiled also has GPUs. So has one of the tests, on a CUDA emulator that runs on the CPU.
#if defined(__CUDACC__) || CAIRN_KERNELS_ON_HOST
#include <cairn/cairn_cuda.cuh>
inline constexpr bool built_with_cuda = true;
#else
inline constexpr bool built_with_cuda = false;
#endif

inline constexpr const char* devices_text = built_with_cuda ? "where it trains: cpu or cuda, a GPU of each rank's"
                                                            : "where it trains: cpu; this program was built without cuda";

// Calls body with a std::type_identity of the device that --device names: all code that trains is compiled for each device.
template <class Body>
auto on_device(const std::string& word, const Body& body) {
  if (word != "cpu" && word != "cuda") throw cairn::input_error("--device is cpu or cuda, not " + word);
#if defined(__CUDACC__) || CAIRN_KERNELS_ON_HOST
  if (word == "cuda") {
    if (cairn::cuda::count() == 0) cairn::cuda{}; // throws, and says why there is none
    return body(std::type_identity<cairn::cuda>{});
  }
#endif
  if (word == "cuda")
    throw cairn::input_error("--device cannot be cuda, as this program was built without it: configure with "
                             "-DCAIRN_CUDA_EXAMPLES=ON, where there is a CUDA Toolkit, and build it again");
  return body(std::type_identity<cairn::cpu>{});
}
