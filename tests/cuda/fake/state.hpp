// SPDX-License-Identifier: MIT
// The state that the fake runtime and the fake cuBLASLt share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "../../train/apart.hpp"
#include "fake.hpp"
#include "services.hpp"

namespace fake {

struct failure {
  std::size_t call = 0;
  int code = 0;
};

// A time of a clock. Clocks start anew with each reset, which `since` counts.
struct moment {
  std::uint64_t nanoseconds = 0;
  std::size_t since = 0;
};
// A place in a stream, and the stream's clock there once it is reached.
struct event {
  apart::event place;
  std::shared_ptr<moment> time; // null: it was not recorded
  bool is_timed = false;
  int gpu = 0; // the current one when the event was made
};

// The environment variable FAKE_GPUS, or 2.
int gpus_of_machine();

struct state {
  std::recursive_mutex only_one; // held by each call
  counts counted;
  std::map<std::string, std::size_t> calls;
  std::map<std::string, failure> failures;
  std::set<cublasLtEpilogue_t> refused, unchecked;
  std::map<std::byte*, std::size_t> memory; // whole pages
  std::map<const std::byte*, std::size_t> pinned;
  apart::schedule order{1};                    // the streams of all devices
  std::map<std::size_t, std::uint64_t> clocks; // of each stream
  std::map<std::size_t, int> gpu_of_stream;    // of streams that are not destroyed
  std::size_t resets = 0;
  std::size_t forgotten_patch = ~std::size_t{0};
  std::size_t kernels_run = 0;
  int gpus = gpus_of_machine();

  bool is_open = false; // whether the device's memory can be read and written

  void open(bool readable);
  bool owns(const void* at) const;
  bool is_pinned(const void* at) const;
  // True for the default stream, and for an existing stream of the calling thread's current GPU.
  bool may_use(cudaStream_t stream) const;
  // The default stream, nullptr, has a queue of its own.
  std::size_t queue_of(cudaStream_t stream) {
    if (stream != nullptr) return reinterpret_cast<std::uintptr_t>(stream) - 1;
    static const std::size_t of_all = order.add_queue();
    return of_all;
  }
};
state& now();

// Both belong to the calling thread.
int& current_gpu();
cudaError_t& last_error();

} // namespace fake
