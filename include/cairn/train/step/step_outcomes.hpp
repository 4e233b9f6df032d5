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
#include <cairn/core/memory.hpp>
#include <cairn/device/device.hpp>
#include <cairn/ops/check_gradients/check_gradients.hpp>
#include <cairn/ops/transfer/transfer.hpp>

namespace cairn::detail {

// Single numbers of a micro-batch in the device's memory, written there by ops.
struct step_numbers {
  double loss = 0;
  double squares = 0;            // of all gradients, if they are clipped
  double factor = 1;             // by which they are multiplied: a mean over the ranks that have samples, and clipping
  double mean = 1;               // the mean alone, with several ranks; with loss scaling, divided by the scale
  loss_scale_state loss_scale{}; // of the next step, where the device decides on updates
};

// The results of micro-batches: loss, norm, facts. On an asynchronous device at most two are in flight: starting a third waits
// for the oldest. The losses of the last 1024 are kept. Where the host can read the device's memory, and step() returns a
// number, only the last one is kept.
template <class T, class Device>
class step_outcomes {
  static constexpr std::size_t numbers_bytes = 64;
  static_assert(sizeof(step_numbers) <= numbers_bytes);

public:
  static constexpr std::size_t count = 2;
  static constexpr std::uint64_t kept = shares_memory<Device> ? 1 : 1024;
  static constexpr std::size_t bytes = count * numbers_bytes; // of the device
  // Of the host, where the facts of all ranks have so many elements.
  static constexpr std::size_t staging_bytes(std::size_t facts) { return count * staging_of_one(facts); }

  struct outcome {
    typename Device::memory there{};
    typename Device::host_memory here{};
    typename Device::event done{};
    bool is_open = false;
    std::uint64_t call = 0;
    std::uint64_t step = 0; // that it belongs to
    double scale = 1;       // of the gradients, besides the mean
    bool updates = false;   // parameters, with these gradients
    bool has_norm = false;
    bool has_mean = false;
    bool has_facts = false; // of all ranks, which come back with it

    step_numbers* numbers() const { return reinterpret_cast<step_numbers*>(there.data()); }
    // The same after their copy to the host.
    step_numbers told() const {
      step_numbers all;
      std::memcpy(&all, here.data(), sizeof all);
      return all;
    }
    double mean() const { return has_mean ? scale * told().mean : scale; }
  };

  // `facts` is the number of elements in the facts of all ranks.
  step_outcomes(Device& device, std::size_t facts) : facts_(facts), losses_(kept) {
    constexpr step_numbers nothing{};
    for (outcome& o : all_) {
      o.there = device.allocate(numbers_bytes);
      o.here = device.staging(staging_of_one(facts));
      std::memcpy(o.here.data(), &nothing, sizeof nothing);
      upload(device.compute(), sizeof nothing, o.there.data(), static_cast<const std::byte*>(o.here.data()));
    }
  }

  outcome& latest() { return all_[(next_ - 1) % count]; }
  // Host memory for the facts of this rank on their way to the device, and for those of all ranks that come back.
  std::span<T> own_facts(const outcome& o) const { return {reinterpret_cast<T*>(o.here.data() + numbers_bytes), facts_}; }
  std::span<T> facts(const outcome& o) const { return {own_facts(o).data() + facts_, facts_}; }

  // Begins another outcome. If the one whose memory it takes is open, calls settle(outcome), which waits for it and closes it.
  template <class Settle>
  outcome& begin(const Settle& settle) {
    outcome& o = all_[next_ % count];
    if (o.is_open) settle(o);
    o.call = next_++;
    o.scale = 1;
    o.updates = o.has_norm = o.has_mean = o.has_facts = false;
    return o;
  }
  // Ends an outcome: everything that writes it is on the queue. Fetches it to the host.
  template <class Queue>
  void end(Queue& queue, outcome& o, const T* facts) {
    fetch_numbers(queue, o);
    if (o.has_facts) fetch_facts(queue, o, facts);
    o.done = queue.record();
    o.is_open = true;
  }
  template <class Queue>
  void fetch_numbers(Queue& queue, outcome& o) {
    download(queue, sizeof(step_numbers), o.here.data(), static_cast<const std::byte*>(o.there.data()));
  }
  template <class Queue>
  void fetch_facts(Queue& queue, outcome& o, const T* facts) {
    download(queue, facts_, this->facts(o).data(), facts);
  }
  void close(outcome& o) {
    o.is_open = false;
    losses_[o.call % kept] = o.told().loss;
  }
  // Calls settle(outcome) for the open outcomes, the oldest first, as long as may(outcome) is true.
  template <class May, class Settle>
  void settle(const May& may, const Settle& settle) {
    for (std::size_t i = 0; i < count; ++i) {
      outcome& o = all_[(next_ + i) % count];
      if (!o.is_open) continue;
      if (!may(o)) return;
      settle(o);
    }
  }

  // Drops the open outcomes.
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
  static constexpr std::size_t staging_of_one(std::size_t facts) { return align_up(numbers_bytes + 2 * facts * sizeof(T)); }

  std::size_t facts_;
  std::array<outcome, count> all_{};
  std::uint64_t next_ = 0;
  std::vector<double> losses_;
};

} // namespace cairn::detail
