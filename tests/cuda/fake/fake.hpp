// SPDX-License-Identifier: MIT
// A CUDA runtime and a cuBLASLt without a GPU, linked in place of the real ones. The CPU does their work with memory, streams,
// events, kernels and products:
//   * The host cannot read or write the device's memory, which is open only while a stream's work is done. After each block there
//     is a page that nothing can access.
//   * A stream's work is done late: while the host queries an event, or waits. A seeded generator picks the order among those
//     that the streams and their events allow.
//   * Kernels are function objects that a C++ compiler has read (device/cuda/launch.cuh); their blocks run forwards or backwards.
//   * A test can make a call fail, with any code.
//   * Streams can be captured into graphs. Their nodes are done in any order that the edges allow. What a GPU refuses while it
//     captures is refused: to wait for a stream, to ask for an event or an algorithm, to allocate, to wait for work that is not
//     captured, and to end while a branch is not joined. Graphs cannot be captured by another mode than the thread's.
//   * Time is computed and not measured. Each piece of work takes as long as the functions below say, and moves on its stream's
//     clock. An event carries that clock to the streams that wait for it, and to the host if the host asks for the event.
// It is stricter than a GPU in what is forbidden. Several threads may use it. The environment variable FAKE_GPUS is the number of
// GPUs [2].
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <cublasLt.h>
#include <cuda_runtime_api.h>

namespace fake {

// The number of calls since reset().
struct counts {
  std::size_t allocations = 0; // of both kinds of memory, and their releases
  std::size_t launches = 0, copies = 0, products = 0;
  std::size_t uploaded = 0;       // bytes
  std::size_t waits = 0;          // of the host, and copies from or to host memory that is not pinned
  std::size_t default_stream = 0; // calls that name no stream
  std::size_t made = 0;           // streams, events and handles
  std::size_t asked = 0;          // requests for an algorithm
  std::size_t graphs = 0;         // launches of graphs
  std::size_t captures = 0;       // graphs that were made ready to be launched
  std::size_t patches = 0;        // arguments of kernels that were replaced in a graph
};
const counts& counted();

// Finishes all work and resets everything except memory, streams and events that are in use.
void reset(std::uint64_t seed = 1);

// Makes call number `call` of this function from now on, where 0 is the next one, fail once with this code.
void fail(const std::string& function, std::size_t call, int code);
// How often this function was called since reset().
std::size_t calls(const std::string& function);

// Sets the number of GPUs.
void gpus(int count);
// From now on cuBLASLt has no algorithm for this epilogue; if `only_when_checked`, it offers one that its check refuses.
void refuse(cublasLtEpilogue_t epilogue, bool only_when_checked = false);

// Makes the runtime forget this one of the following replacements of an argument in a graph, though it says that it was done.
void forget_patch(std::size_t patch);

// The number of blocks of device memory in use.
std::size_t blocks();

// The nanoseconds that work takes: a launch of this many threads, a product (m, k) x (k, n), a copy or a memset.
constexpr std::uint64_t time_of_launch(std::size_t threads) { return 1000 + threads; }
constexpr std::uint64_t time_of_product(std::size_t m, std::size_t n, std::size_t k) { return 2000 + m * n * k; }
constexpr std::uint64_t time_of_copy(std::size_t bytes) { return 3000 + bytes; }
// Finishes all work and returns the latest clock of all streams, in nanoseconds since reset().
std::uint64_t clock();

} // namespace fake
