// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/device/device.hpp>
#include <cairn/ops/transfer/transfer.hpp>

namespace cairn::detail {

// Single numbers of a micro-batch in the device's memory, written there by ops.
struct step_numbers {
  double loss = 0;
  double squares = 0; // of all gradients, if they are clipped
  double factor = 1;  // by which they are multiplied: a mean over the ranks that have samples, and clipping
  double mean = 1;    // the first of the two, of several ranks
};

// What micro-batches tell when they are over, on a device whose work is done later. Two of them may be on their way: the one
// that begins waits for the one before the last. What is settled is kept: the losses of the last 1024.
template <class T, class Device>
class step_outcomes {
public:
  static constexpr std::size_t count = 2;
  static constexpr std::uint64_t kept = 1024;

  struct outcome {
    typename Device::memory there{};
    typename Device::host_memory here{};
    typename Device::event done{};
    bool is_open = false;
    std::uint64_t call = 0;
    std::uint64_t step = 0; // that it belongs to
    double scale = 1;       // of the gradients, besides the mean
    bool has_norm = false;
    bool has_mean = false;
    bool has_facts = false;

    step_numbers* numbers() const { return reinterpret_cast<step_numbers*>(there.data()); }
    // The same when they are back, and the facts of all ranks, if there are any.
    step_numbers told() const {
      step_numbers all;
      std::memcpy(&all, here.data(), sizeof all);
      return all;
    }
    std::span<T> facts(std::size_t size) const { return {reinterpret_cast<T*>(here.data() + bytes_of(0)), size}; }
    double mean() const { return has_mean ? scale * told().mean : scale; }
  };

  // How many bytes of the device and of the host each of them takes.
  static constexpr std::size_t bytes_of(std::size_t facts) { return 64 + facts * sizeof(T); }

  step_outcomes(Device& device, std::size_t facts) : facts_(facts), losses_(kept) {
    for (outcome& o : all_) {
      o.there = device.allocate(bytes_of(0));
      o.here = device.staging(bytes_of(facts));
    }
  }

  outcome& latest() { return all_[(next_ - 1) % count]; }

  // Begins another. settle(outcome) is called of the one whose memory it takes: it waits for it and closes it.
  template <class Settle>
  outcome& begin(const Settle& settle) {
    outcome& o = all_[next_ % count];
    if (o.is_open) settle(o);
    o.call = next_++;
    o.scale = 1;
    o.has_norm = o.has_mean = o.has_facts = false;
    return o;
  }
  // Everything that it tells is on the queue, except what is fetched here.
  template <class Queue>
  void end(Queue& queue, outcome& o, const T* facts) {
    download(queue, sizeof(step_numbers), o.here.data(), static_cast<const std::byte*>(o.there.data()));
    if (o.has_facts) fetch_facts(queue, o, facts);
    o.done = queue.record();
    o.is_open = true;
  }
  template <class Queue>
  void fetch_facts(Queue& queue, outcome& o, const T* facts) {
    download(queue, facts_, o.facts(facts_).data(), facts);
  }
  void close(outcome& o) {
    o.is_open = false;
    losses_[o.call % kept] = o.told().loss;
  }
  // Calls settle(outcome) of what is open, the oldest first, as long as may(outcome) says so.
  template <class May, class Settle>
  void settle(const May& may, const Settle& settle) {
    for (std::size_t i = 0; i < count; ++i) {
      outcome& o = all_[(next_ + i) % count];
      if (!o.is_open) continue;
      if (!may(o)) return;
      settle(o);
    }
  }

  // What is open is not told any more.
  void forget() {
    for (outcome& o : all_) o.is_open = false;
  }

  double loss_of(std::uint64_t call) const {
    if (call + kept < next_)
      throw input_error("trainer: expected a loss to be read within " + std::to_string(kept) + " micro-batches, found " +
                        std::to_string(next_ - call) + " since; take its number as a double sooner");
    return losses_[call % kept];
  }
  // Whether it is still on its way.
  bool is_open(std::uint64_t call) const {
    for (const outcome& o : all_)
      if (o.is_open && o.call == call) return true;
    return false;
  }

private:
  std::size_t facts_;
  std::array<outcome, count> all_{};
  std::uint64_t next_ = 0;
  std::vector<double> losses_;
};

} // namespace cairn::detail
