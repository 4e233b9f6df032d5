// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <cairn/comm/communicator.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/memory.hpp>
#include <cairn/device/device.hpp>
#include <cairn/net/frame.hpp>
#include <cairn/net/summed_layers.hpp>
#include <cairn/ops/elementwise/elementwise.hpp>
#include <cairn/ops/transfer/transfer.hpp>
#include <cairn/train/ranks/reduction.hpp>

namespace cairn::detail {

// The run in which layers sum over the ranks.
enum class summed_run : unsigned char { nothing, micro_batch, last_micro_batch, forward_alone };

// Overwrites an element with a number.
struct one_number {
  double number = 0;
  CAIRN_HOST_DEVICE double operator()(double) const { return number; }
};

// The layers' sums over the ranks (layer/layer_sums.hpp) in a trainer with sync_batch_norm: their memory, and the calls of the
// communicator. The queue waits for each call at once, as the layer goes on with its result; buckets of gradients may be in
// flight meanwhile. The calls, and between which buckets they are, are constants of the type.
//
// The first call of each forward has one more element, which counts the ranks of each summed_run. A rank without more samples
// reads it, and makes the same calls with zeros.
template <class Plan, class Communicator, class T, class Device>
class rank_sums {
  using layers = summed_layers<Plan>;

public:
  using queue = typename Device::queue;
  static constexpr std::size_t bytes = align_up(layers::elements * sizeof(double));
  static constexpr std::size_t calls = layers::calls; // in a step
  static constexpr std::size_t most_bytes = [] {      // in one call
    std::size_t most = 0;
    for (std::size_t k = 0; k < layers::count; ++k)
      most = layers::of[k].numbers.forward > most ? layers::of[k].numbers.forward : most;
    return (most + 1) * sizeof(double);
  }();

  rank_sums(Device& device, Communicator& comm, const program<T, queue>& code)
      : device_(device), comm_(comm), code_(code), memory_(device.allocate(comm.size() > 1 ? bytes : 0)) {
    if (comm.size() < 2) return; // layers get no sums, and there is no memory for them
    for (std::size_t k = 0; k < layers::count; ++k)
      lent_[k] = layer_sums{.numbers = numbers(k), .all_reduce = &sum_for, .self = this, .layer = k};
  }
  rank_sums(const rank_sums&) = delete;
  rank_sums& operator=(const rank_sums&) = delete;

  // Begins a micro-batch and returns the callback for its layers; null if there is one rank, whose sums are its own.
  const sums_of_layers* begin(summed_run what) {
    if (comm_.size() < 2) return nullptr;
    begin();
    put_run(what);
    return &callback_;
  }

  // Makes the calls of the other ranks' forward with zeros, on a rank without samples, and returns which run it is. If no rank
  // has samples, there is only one call. `wait` waits for an event.
  template <class Wait>
  summed_run join_forward(const Wait& wait) {
    begin();
    put_zeros();
    put_run(summed_run::nothing);
    sum(0, layers::of[0].numbers.forward);
    const summed_run found = run_of_others(wait);
    if (found == summed_run::nothing) return found;
    for (std::size_t k = 1; k < layers::count; ++k) sum(k, layers::of[k].numbers.forward);
    return found;
  }
  // Prepares the calls of the other ranks' backward; and makes one of them, that of layer k.
  void begin_join_backward() { put_zeros(); }
  void join_backward(std::size_t k) { sum(k, layers::of[k].numbers.backward); }

private:
  void begin() {
    for (layer_sums& layer : lent_) layer.are_made = false;
  }
  double* numbers(std::size_t k) const { return reinterpret_cast<double*>(memory_.data()) + layers::begin[k]; }
  double* run() const { return numbers(0) + layers::of[0].numbers.forward; }

  // Keeps the counts of the runs apart in one sum: a rank has at most 65,535 others, and a double is exact up to 2^53.
  static constexpr double weight_of(summed_run what) {
    constexpr std::array<double, 4> weights{0, 1, 65536, 65536.0 * 65536.0};
    return weights[static_cast<std::size_t>(what)];
  }
  void put_run(summed_run what) {
    elementwise(device_.compute(), 1, one_number{weight_of(what)}, run(), static_cast<const double*>(run()));
  }
  void put_zeros() {
    double* const all = numbers(0);
    elementwise(device_.compute(), layers::elements, one_number{}, all, static_cast<const double*>(all));
  }
  template <class Wait>
  summed_run run_of_others([[maybe_unused]] const Wait& wait) {
    double sum = 0;
    if constexpr (shares_memory<Device>) sum = *run();
    else {
      download(device_.compute(), 1, &sum, static_cast<const double*>(run()));
      wait(device_.compute().record());
    }
    for (const summed_run what : {summed_run::forward_alone, summed_run::last_micro_batch, summed_run::micro_batch})
      if (sum >= weight_of(what)) return what;
    return summed_run::nothing;
  }

  void sum(std::size_t k, std::size_t count) {
    const bool is_first = !std::exchange(lent_[k].are_made, true);
    const std::span<double> sent{numbers(k), count + (is_first && k == 0 ? 1U : 0U)};
    try {
      auto pending = comm_.all_reduce(device_.compute(), sent);
      pending.wait(device_.compute());
    } catch (...) {
      throw_with_name("statistics of layer " + place_of_layer(code_, layers::of[k].leaf) + ": ");
    }
  }

  static void sum_for(void* self, std::size_t k, std::size_t count) { static_cast<rank_sums*>(self)->sum(k, count); }
  static const layer_sums* of(const void* self, std::uint32_t leaf) {
    const std::size_t k = index_of[leaf];
    return k == layers::count ? nullptr : &static_cast<const rank_sums*>(self)->lent_[k];
  }
  static constexpr auto index_of = [] { // of each layer of the network; layers::count if it has no sums
    std::array<std::size_t, Plan::leaves + 1> index{};
    for (std::size_t& k : index) k = layers::count;
    for (std::size_t k = 0; k < layers::count; ++k) index[layers::of[k].leaf] = k;
    return index;
  }();

  Device& device_;
  Communicator& comm_;
  const program<T, queue>& code_;
  typename Device::memory memory_;
  std::array<layer_sums, layers::count> lent_{};
  sums_of_layers callback_{.function = &of, .self = this};
};

} // namespace cairn::detail
