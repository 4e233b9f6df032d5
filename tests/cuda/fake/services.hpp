// SPDX-License-Identifier: MIT
// The services that the fake cuBLASLt and the graphs of graphs.cpp take from the runtime they are linked with, which is
// fake/runtime.cpp or the emulator's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <cublasLt.h>
#include <cuda_runtime_api.h>

namespace fake {

// A call of the runtime; only one runs at a time.
class one_call {
public:
  one_call();
  ~one_call();
  one_call(const one_call&) = delete;
  one_call& operator=(const one_call&) = delete;
};

// Counts a call and returns the code that it must fail with, or 0.
int entered(const char* function);
enum class counter { products, made, asked, graphs, captures, patches };
void count(counter of);
// Whether a test wants cuBLASLt to have no algorithm for this epilogue, or, when it is checked, one that the check refuses.
bool is_refused(cublasLtEpilogue_t epilogue, bool is_check);
// Whether this is memory of a GPU.
bool owns(const void* at);
// The place where work finds the bytes that are at this address of a GPU.
void* contents(const void* at);
// True for the default stream, and for an existing stream of the calling thread's current GPU.
bool may_use(cudaStream_t stream);

// Memory that work reads or writes.
struct range {
  const void* at;
  std::size_t bytes;
  bool is_written;
};
// Puts `work` on the stream: it is done when the stream gets there, and takes this many nanoseconds. Where the stream is
// captured, it becomes a node of a graph.
void put(cudaStream_t stream, std::uint64_t nanoseconds, std::function<void()> work, const std::vector<range>& touched = {});
// The same, of a stream that is not captured.
void put_on(cudaStream_t stream, std::uint64_t nanoseconds, std::function<void()> work, const std::vector<range>& touched);

// A launch of a kernel that takes one argument.
struct launch {
  const void* kernel = nullptr;
  std::size_t blocks = 0, threads = 0;
  std::vector<std::byte> argument{};
};
// The bytes of a kernel's argument; 0 if there is no such kernel.
std::size_t argument_bytes(const void* kernel);
std::function<void()> work_of(const launch& given);
std::uint64_t time_of(const launch& given);

// A place in a stream, after everything that was put there.
using place = std::shared_ptr<const void>;
place place_of(cudaStream_t stream);
void wait_for(cudaStream_t stream, const place& at);
// A stream for a branch of a graph, which no program knows.
cudaStream_t stream_of_branch();
// Whether a test wants this replacement of a kernel's argument in a graph to be forgotten.
bool forgets_patch();

} // namespace fake
