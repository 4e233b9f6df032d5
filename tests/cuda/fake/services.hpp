// SPDX-License-Identifier: MIT
// The services that the fake cuBLASLt takes from the runtime it is linked with, which is fake/runtime.cpp or the emulator's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
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
enum class counter { products, made, asked };
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
// Puts `work` on the stream: it is done when the stream gets there, and takes this many nanoseconds.
void put(cudaStream_t stream, std::uint64_t nanoseconds, std::function<void()> work, const std::vector<range>& touched = {});

} // namespace fake
