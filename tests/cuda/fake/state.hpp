// SPDX-License-Identifier: MIT
// What the fake runtime and the fake cuBLASLt share.
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

namespace fake {

struct failure {
  std::size_t call = 0;
  int code = 0;
};

// What a clock says, which begins anew with each reset.
struct moment {
  std::uint64_t nanoseconds = 0;
  std::size_t since = 0;
};
// A place in a stream, and its clock there once the stream has reached it.
struct event {
  apart::event place;
  std::shared_ptr<moment> time; // null: it was not recorded
  bool is_timed = false;
  int gpu = 0; // that was the current one when it was made
};

// FAKE_GPUS of the environment, or 2.
int gpus_of_machine();

struct state {
  std::recursive_mutex only_one; // call at a time, whatever it does
  counts counted;
  std::map<std::string, std::size_t> calls;
  std::map<std::string, failure> failures;
  std::set<cublasLtEpilogue_t> refused, unchecked;
  std::map<std::byte*, std::size_t> memory; // whole pages
  std::map<const std::byte*, std::size_t> pinned;
  apart::schedule order{1};                    // the streams of all devices
  std::map<std::size_t, std::uint64_t> clocks; // of each stream
  std::map<std::size_t, int> gpu_of_stream;    // of those that are not destroyed
  std::size_t resets = 0;
  int gpus = gpus_of_machine();

  bool is_open = false; // memory of the device can be read and written

  void open(bool readable);
  bool owns(const void* at) const;
  bool is_pinned(const void* at) const;
  // A stream that was made, while the calling thread has its GPU.
  bool may_use(cudaStream_t stream) const;
  // The default stream is one that nobody made.
  std::size_t queue_of(cudaStream_t stream) {
    if (stream != nullptr) return reinterpret_cast<std::uintptr_t>(stream) - 1;
    static const std::size_t of_all = order.add_queue();
    return of_all;
  }
};
state& now();

// A call of the runtime, one at a time. Work of streams that is done in it opens the device's memory, which its end closes:
// to do so for each piece of work took half of the time of all tests.
class one_call {
public:
  one_call() : lock_(now().only_one) {}
  ~one_call() {
    if (now().is_open) now().open(false);
  }
  one_call(const one_call&) = delete;
  one_call& operator=(const one_call&) = delete;

private:
  std::lock_guard<std::recursive_mutex> lock_;
};

// The calling thread's.
int& current_gpu();
cudaError_t& last_error();

// Counts a call; the code that it has to fail with, or 0.
int entered(const char* function);
// `work` is done when the stream gets there, and takes so many nanoseconds.
void put(cudaStream_t stream, std::uint64_t nanoseconds, std::function<void()> work);

} // namespace fake
