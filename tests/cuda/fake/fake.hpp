// SPDX-License-Identifier: MIT
// A runtime of CUDA and a cuBLASLt without a GPU, linked in place of the real ones. What they do with memory, streams, events,
// kernels and products is done by the processor:
//   * Memory of the device is memory that the host cannot read or write: only while a stream's work is done it can be. Behind
//     each block there is a page that nobody can touch.
//   * A stream's work is done late: while the host asks for an event, or waits, in an order that a seeded generator picks among
//     those that the streams and their events allow.
//   * Kernels are function objects that a C++ compiler has read (device/cuda/launch.cuh), their blocks run forwards or backwards.
//   * A call can be told to fail, with any code.
//   * Time is reckoned and not measured: each piece of work takes as long as the functions below say, a stream has a clock that
//     it moves on, an event takes the clock of its stream along to those that wait for it, and to the host where that asks.
// It is stricter than a GPU in what is forbidden. Several threads may use it. FAKE_GPUS of the environment says how many
// GPUs there are [2].
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <cublasLt.h>
#include <cuda_runtime_api.h>

namespace fake {

// What has been called since reset().
struct counts {
  std::size_t allocations = 0; // of either kind, and what is given back
  std::size_t launches = 0, copies = 0, products = 0;
  std::size_t waits = 0;          // of the host, and copies from or to memory of it that is not pinned
  std::size_t default_stream = 0; // calls that name no stream
  std::size_t made = 0;           // streams, events and handles
  std::size_t asked = 0;          // for an algorithm
};
const counts& counted();

// Everything as at the start, but for memory, streams and events that are in use.
void reset(std::uint64_t seed = 1);

// Call number `call` of this function from now on, the next one being 0, fails with this code. Once.
void fail(const std::string& function, std::size_t call, int code);
// Of the functions that were called since reset(), how often.
std::size_t calls(const std::string& function);

// How many GPUs there are from now on.
void gpus(int count);
// cuBLASLt has no algorithm for this epilogue, or the one that it has for another does not serve it.
void refuse(cublasLtEpilogue_t epilogue, bool only_when_checked = false);

// Blocks of memory of the device that are in use.
std::size_t blocks();

// Nanoseconds that work takes: of so many threads, of a product (m, k) x (k, n), of a copy or a memset.
constexpr std::uint64_t time_of_launch(std::size_t threads) { return 1000 + threads; }
constexpr std::uint64_t time_of_product(std::size_t m, std::size_t n, std::size_t k) { return 2000 + m * n * k; }
constexpr std::uint64_t time_of_copy(std::size_t bytes) { return 3000 + bytes; }
// The clock of the stream that is the furthest, in nanoseconds since reset(), when all that was put there is done.
std::uint64_t clock();

} // namespace fake
