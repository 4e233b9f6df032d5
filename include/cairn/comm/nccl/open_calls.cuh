// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <cuda_runtime_api.h>

#include <cairn/comm/long_wait.hpp>
#include <cairn/comm/nccl/nccl_stream.cuh>
#include <cairn/comm/rank_call.hpp>
#include <cairn/core/config.hpp>
#include <cairn/device/cuda/error.cuh>
#include <cairn/device/cuda/in_use.cuh>

namespace cairn::detail {

// A rank's calls that may still be running: an event of each, and when it was started. Calls are numbered from 0; the place of
// call k serves call k + capacity once call k is over. Calls are over in their order, as they run on one stream.
class open_calls {
public:
  using clock = std::chrono::steady_clock;

  open_calls(const nccl_stream& stream, std::size_t capacity) : stream_(stream), calls_(capacity) {
    const gpu_in_use now = stream_.use();
    try {
      for (call& c : calls_) check_cuda(cudaEventCreateWithFlags(&c.done, cudaEventDisableTiming), nccl_stream::op);
    } catch (...) {
      give_back();
      throw;
    }
  }
  open_calls(const open_calls&) = delete;
  open_calls& operator=(const open_calls&) = delete;
  ~open_calls() { give_back(); }

  std::size_t capacity() const { return calls_.size(); }
  std::uint64_t started() const { return started_; }
  const rank_call& asked(std::uint64_t k) const { return at(k).asked; }
  // "call 12, all_reduce of 96 float (step 3, its call 2): "
  std::string text_of(std::uint64_t k) const { return text_of(k, at(k).asked, at(k).number_in_purpose); }
  static std::string text_of(std::uint64_t k, const rank_call& asked, std::uint64_t number_in_purpose) {
    std::string text = "call " + std::to_string(k + 1) + ", " + asked.text_with_purpose();
    if (asked.purpose.word != nullptr) text.insert(text.size() - 1, ", its call " + std::to_string(number_in_purpose));
    return text + ": ";
  }
  // The event that is recorded after the call, or null if its place serves a later call: then it is over.
  cudaEvent_t event_of(std::uint64_t k) const { return k + capacity() < started_ ? nullptr : at(k).done; }

  bool has_room() { return started_ < capacity() || over(started_ - capacity()); }
  // Returns the number of a new call, whose work is put on the stream next. record() ends that. `number_in_purpose` is its number
  // among the calls of its purpose, such as a step, from 1.
  std::uint64_t start(const rank_call& asked, std::uint64_t number_in_purpose) {
    call& c = calls_[started_ % capacity()];
    c.asked = asked;
    c.number_in_purpose = number_in_purpose;
    c.started_at = clock::now();
    return started_++;
  }
  void record(std::uint64_t k) { stream_.record(at(k).done); }

  bool over(std::uint64_t k) {
    find_oldest(k + 1);
    return k < oldest_;
  }
  // The number of the oldest call that is not over, if there is one.
  std::optional<std::uint64_t> oldest() {
    find_oldest(started_);
    return oldest_ < started_ ? std::optional(oldest_) : std::nullopt;
  }
  // How long ago it was started.
  clock::duration age(std::uint64_t k) const { return clock::now() - at(k).started_at; }
  // Whether the oldest call has been open for longer than the deadline; or than the long one, if its purpose may take long: lines
  // on stderr then tell of the wait, with the text of waits(call). It is asked at irregular times.
  template <class Waits>
  bool is_late(std::chrono::milliseconds deadline, std::chrono::milliseconds long_deadline, const Waits& waits) {
    const std::optional<std::uint64_t> open = oldest();
    if (!open) return false;
    if (watched_ != *open + 1) {
      const std::chrono::milliseconds most = at(*open).asked.purpose.may_take_long ? long_deadline : deadline;
      watch_ = long_wait(deadline, most, at(*open).started_at, most / 2);
      watched_ = *open + 1;
    }
    return watch_.is_over([&] { return waits(*open); });
  }

  // Gives up all calls so far, which the GPU has left: they are over, and lost.
  void give_up() { lost_ = oldest_ = started_; }
  bool is_lost(std::uint64_t k) const { return k < lost_; }

private:
  struct call {
    cudaEvent_t done = nullptr;
    rank_call asked{};
    std::uint64_t number_in_purpose = 0;
    clock::time_point started_at{};
  };

  const call& at(std::uint64_t k) const { return calls_[k % capacity()]; }
  void find_oldest(std::uint64_t end) {
    while (oldest_ < std::min(end, started_) && stream_.reached(at(oldest_).done)) ++oldest_;
  }
  void give_back() {
    const gpu_in_use now(stream_.ordinal());
    if (!now.is_current()) return;
    for (const call& c : calls_)
      if (c.done != nullptr) cudaEventDestroy(c.done);
  }

  const nccl_stream& stream_;
  std::vector<call> calls_;
  std::uint64_t started_ = 0, oldest_ = 0, lost_ = 0;
  std::uint64_t watched_ = 0; // 1 + the number of the call that is_late() watches
  long_wait watch_{std::chrono::milliseconds(0), std::chrono::milliseconds(0)};
};

} // namespace cairn::detail
