// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <cuda_runtime_api.h>

#include <cairn/comm/nccl/nccl_stream.cuh>
#include <cairn/comm/rank_call.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/deadline.hpp>
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
  // Its number among the calls of its purpose, such as a step, from 1.
  std::uint64_t number_in_purpose(std::uint64_t k) const { return at(k).number_in_purpose; }
  // The event that is recorded after the call, or null if its place serves a later call: then it is over.
  cudaEvent_t event_of(std::uint64_t k) const { return k + capacity() < started_ ? nullptr : at(k).done; }

  bool has_room() { return started_ < capacity() || over(started_ - capacity()); }
  // Returns the number of a new call, whose work is put on the stream next. record() ends that.
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
  // Whether the oldest open call has been open for longer than limit(asked). It is asked at irregular times.
  template <class Limit>
  bool is_late(const Limit& limit) {
    const std::optional<std::uint64_t> open = oldest();
    if (!open) return false;
    if (watched_ != *open + 1) {
      const std::chrono::milliseconds most = limit(at(*open).asked);
      watch_ = running_deadline<clock>(most, at(*open).started_at, most / 2);
      watched_ = *open + 1;
    }
    return watch_.is_over();
  }

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
  std::uint64_t started_ = 0, oldest_ = 0;
  std::uint64_t watched_ = 0; // 1 + the number of the call that is_late() watches
  running_deadline<clock> watch_{std::chrono::milliseconds(0)};
};

} // namespace cairn::detail
