// SPDX-License-Identifier: MIT
// Which ops of streams are over before another one begins, whatever a GPU does: the order that streams, events and the host's
// waiting make. Vector clocks: a stream knows of every stream how many of its ops are over.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace emulator {

class order {
public:
  using clock = std::vector<std::uint32_t>; // of each stream, the number of ops that are over

  std::size_t add_stream() {
    streams_.emplace_back();
    return streams_.size() - 1;
  }
  // Begins an op on this stream, and returns its number, 1 or more. What a host thread puts on a stream begins after everything
  // that a host thread has waited for: how host threads wait for each other is not known.
  std::uint32_t begin(std::size_t stream) {
    clock& own = streams_[stream];
    join(own, host_);
    now_ = own;
    if (own.size() <= stream) own.resize(stream + 1, 0);
    ops_.push_back({static_cast<std::uint32_t>(stream), ++own[stream]});
    return static_cast<std::uint32_t>(ops_.size() - 1);
  }
  // Whether this op is over when the latest op begins.
  bool is_before_latest(std::uint32_t number) const {
    const auto [stream, time] = ops_[number];
    return stream == ops_.back().stream || (stream < now_.size() && now_[stream] >= time);
  }
  std::uint32_t latest() const { return static_cast<std::uint32_t>(ops_.size() - 1); }
  std::uint32_t stream_of(std::uint32_t number) const { return ops_[number].stream; }

  const clock& record(std::size_t stream) const { return streams_[stream]; }
  void wait(std::size_t stream, const clock& at) { join(streams_[stream], at); }
  void host_waits(const clock& at) { join(host_, at); }
  void host_waits_for_all() {
    for (const clock& at : streams_) join(host_, at);
  }

private:
  struct op {
    std::uint32_t stream, time;
  };
  static void join(clock& own, const clock& other) {
    if (own.size() < other.size()) own.resize(other.size(), 0);
    for (std::size_t i = 0; i < other.size(); ++i) own[i] = std::max(own[i], other[i]);
  }

  std::vector<clock> streams_;
  clock host_, now_;            // now_: of the latest op when it began
  std::vector<op> ops_{{0, 0}}; // of each op
};

} // namespace emulator
