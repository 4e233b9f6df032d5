// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include <cairn/comm/lent_memory.hpp>
#include <cairn/core/memory.hpp>
#include <cairn/net/execute.hpp>
#include <cairn/train/ranks/reduction.hpp>
#include <cairn/train/ranks/step_facts.hpp>

namespace cairn::detail {

// The gradients of a trainer's step: where they lie, and how they get to the other ranks. They lie in one flat buffer, in the
// order of the parameters, after the facts of each rank's step. With a fused update they lie in windows of the arena, a bucket
// in each; the buffer then has only zeros after the facts, as many as the padding after a tensor may have. T is the type in
// which gradients are summed, Buckets the constant list of the buckets.
template <class Plan, const auto& Buckets, class Communicator, class T, class Device>
class step_gradients {
public:
  using queue = typename Device::queue;
  static constexpr bool fused = Plan::fused;

  // Where each bucket lies, in elements: in the flat buffer, or in the arena that a step's memory plan laid out.
  using places = std::array<std::size_t, Buckets.size() + 1>;
  template <class Memory>
  static places places_in([[maybe_unused]] const Memory& planned) {
    places at{};
    for (std::size_t b = 0; b != Buckets.size(); ++b)
      if constexpr (fused) at[b] = planned.windows[Plan::windows.of_bucket[b]].offset() / sizeof(T);
      else at[b] = Buckets[b].begin;
    return at;
  }

  // The number of elements in the facts of `ranks` ranks, and the bytes on the device that all this takes.
  static constexpr std::size_t facts_of(std::size_t ranks) { return ranks > 1 ? facts_of_ranks<T>::size(ranks) : 0; }
  static constexpr std::size_t bytes(std::size_t ranks) {
    return facts_of(ranks) * sizeof(T) + (fused ? alignment / Plan::to.sizes.real : Plan::parameter_block) * sizeof(T);
  }

  step_gradients(Device& device, Communicator& comm, const places& at, std::byte* arena)
      : facts_(facts_of(static_cast<std::size_t>(comm.size()))), lent_(lent(comm, facts_)),
        memory_(device.allocate(lent_.data() == nullptr ? bytes(static_cast<std::size_t>(comm.size())) : 0)), places_(at),
        reduction_(Buckets.buckets(), places_, fused ? reinterpret_cast<T*>(arena) : first(), {start(), facts_}) {
    if (!fused) place_.start = first();
  }
  step_gradients(const step_gradients&) = delete;
  step_gradients& operator=(const step_gradients&) = delete;

  // All gradients; not available with a fused update.
  std::span<T> all() const { return {first(), Plan::parameter_block}; }
  bool has_facts() const { return facts_ > 0; }

  // The place where the executor writes. With a fused update it changes at the beginning of each bucket.
  gradient_place<T>& place() { return place_; }
  void go_to_bucket(std::size_t b) {
    if (b < Buckets.size()) place_ = {reduction_.span_of(b).data(), Buckets[b].begin, first()};
  }
  auto& on_the_way() { return reduction_; }

private:
  // Memory of the communicator, where the device is the host and all gradients are sent from there; else empty.
  static lent_memory lent(Communicator& comm, std::size_t facts) {
    if constexpr (!fused && queue_shares_memory<queue>) return ask_for_memory(comm, (facts + Plan::parameter_block) * sizeof(T));
    else return {};
  }
  T* start() const { return reinterpret_cast<T*>(lent_.data() == nullptr ? memory_.data() : lent_.data()); }
  T* first() const { return start() + facts_; }

  std::size_t facts_;
  lent_memory lent_;
  typename Device::memory memory_;
  places places_;
  reduction<Communicator, T, queue, Plan::tensors + 1> reduction_; // declared after its memory, so destroyed first
  gradient_place<T> place_{};
};

} // namespace cairn::detail
