// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/random.hpp>
#include <cairn/core/random_normal.hpp>
#include <cairn/core/tensor.hpp>
#include <cairn/core/tensors.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/device/wait_on_host.hpp>
#include <cairn/net/execute.hpp>
#include <cairn/net/memory_curve.hpp>
#include <cairn/ops/cpu.hpp>
#include <cairn/plan/solve/cost_table.hpp>
#include <cairn/train/replica.hpp>

namespace cairn {

namespace detail {

// Normal numbers in the tensors of T; integers stay zeros, which every vocabulary has.
template <class T, class List>
void fill_real(const List& list, const tensors<T>& to, std::size_t batch) {
  for (std::size_t k = 0; k < list.size(); ++k)
    if (list[k].type == element::real)
      fill_normal(std::span<T>{to[k], list[k].elements(batch)}, random_key{.seed = 1, .position = std::uint32_t(k)});
}

// Gives all copies of a stage the mean of their costs: what a measurement adds to one of them is no reason to treat it
// otherwise, and a solver solves equal stages once. Copies are of one type and equal sizes; the lowest that learns has a
// backward of its own, as it makes no gradient of its input.
inline void average_copies(std::span<stage_cost> costs, std::span<const stage> stages, std::size_t lowest) {
  const auto are_copies = [&](std::size_t i, std::size_t k) {
    return stages[i].output.per_sample == stages[k].output.per_sample && stages[i].parameters == stages[k].parameters &&
           same_spelling(stages[i].type, stages[k].type);
  };
  std::vector<bool> done(costs.size());
  for (std::size_t first = 0; first < costs.size(); ++first) {
    if (done[first]) continue;
    std::vector<std::size_t> copies;
    for (std::size_t i = first; i < costs.size(); ++i)
      if (!done[i] && are_copies(first, i)) copies.push_back(i);
    std::uint64_t forward = 0, backward = 0, backwards = 0;
    for (const std::size_t i : copies) {
      done[i] = true;
      forward += costs[i].forward;
      if (i > lowest) backward += costs[i].backward, ++backwards;
    }
    for (const std::size_t i : copies) {
      costs[i].forward = forward / copies.size();
      if (i > lowest) costs[i].backward = backward / backwards;
    }
  }
}

// See below.
template <class Model, std::size_t Batch, class T, class Device>
std::vector<stage_cost> costs_by_stopwatch(const device_options& options) {
  using curve = memory_curve<Model, Batch, T>;
  using plan = typename curve::plan;
  using stopwatch = typename Device::queue::stopwatch;
  replica_of<plan, typename curve::net, T, Device> timed(held_device<Device>(options), seed{1}, plan::trained::memory.arena);
  Device& device = timed.device();
  auto& queue = device.compute();
  using sum = accumulated<T>;
  auto gradients = device.allocate(plan::parameter_block * sizeof(sum));
  const gradient_place<sum> place{.start = reinterpret_cast<sum*>(gradients.data())};

  constexpr tensor_layout inputs_at(plan::inputs, plan::to.sizes, Batch);
  constexpr tensor_layout constants_at(plan::constants, plan::to.sizes, Batch);
  auto inputs = device.allocate(inputs_at.size);
  auto constants = device.allocate(constants_at.size);
  const auto send = [&](const auto& list, const auto& layout, auto& to) { // random numbers
    const auto here = device.staging(layout.size);
    fill_real<T>(list, tensors<T>{here.data(), layout.offsets.data()}, Batch);
    upload(queue, layout.size, to.data(), static_cast<const std::byte*>(here.data()));
    finish_on_host(queue);
  };
  send(plan::inputs, inputs_at, inputs);
  send(plan::constants, constants_at, constants);
  std::vector<T> loss_gradient(plan::whole.gradient_bytes(plan::size) / sizeof(T)); // in place of that of a loss
  fill_normal(std::span<T>(loss_gradient), random_key{.seed = 2});
  for (T& g : loss_gradient) g = static_cast<T>(static_cast<sum>(g) / static_cast<sum>(Batch));

  frame<T> lent = timed.lend(Batch, pass::forward);
  lent.inputs = tensors<T>{inputs.data(), inputs_at.offsets.data()}.to_read();
  lent.constants = tensors<T>{constants.data(), constants_at.offsets.data()}.to_read();
  lent.gradients = &place;
  lent.random = {.seed = 1};

  stopwatch watch(queue, 2);
  const auto time = [&](std::size_t t, std::size_t times) { // of one op, so often
    watch.restart();
    const std::size_t begin = watch.mark();
    for (std::size_t i = 0; i < times; ++i) run_op(timed.code(), queue, lent, t);
    const std::size_t end = watch.mark();
    finish_on_host(queue);
    return watch.nanoseconds(end) - watch.nanoseconds(begin);
  };
  constexpr std::size_t most_times = 1024;
  constexpr std::uint64_t untimed = std::numeric_limits<std::uint64_t>::max();
  std::vector<std::size_t> times(plan::training.count, 1); // each op
  std::vector<stage_cost> costs(plan::size, {untimed, untimed, untimed});
  for (int step = 0; step <= 3; ++step)
    for (std::size_t t = 0; t < plan::training.count; ++t) {
      const op& o = plan::training.ops()[t];
      if (o.kind == op_kind::loss)
        upload(queue, loss_gradient.size(), lent.elements(plan::trained::memory.at[t].output_gradient),
               static_cast<const T*>(loss_gradient.data()));
      std::uint64_t* const cost = o.kind == op_kind::forward    ? &costs[o.position].forward
                                  : o.kind == op_kind::backward ? &costs[o.position].backward
                                                                : nullptr;
      if (cost == nullptr) continue; // it computes nothing
      auto took = time(t, times[t]);
      if (step == 0) continue;
      while (step == 1 && took < stopwatch::least && times[t] < most_times) took = time(t, times[t] *= 2);
      const auto each = static_cast<std::uint64_t>(std::max<std::int64_t>(took, 0)) / times[t];
      *cost = std::min(*cost, std::max<std::uint64_t>(each, 1));
    }
  for (stage_cost& c : costs)
    if (c.backward == untimed) c.backward = 0; // below the first parameter
  average_copies(costs, plan::whole.stages, plan::whole.lowest_backward());
  for (std::size_t i = 0; i < plan::size; ++i) {
    stage_cost& c = costs[i];
    const stage& s = plan::stages[i];
    c.tape = s.tape_without_output && s.forward_flops > 0 ? c.forward * s.tape_flops / s.forward_flops : c.forward;
  }
  return costs;
}

} // namespace detail

// What each stage of a network costs on this device, in nanoseconds for a step of Batch samples: the least of three
// steps of store_all, each op timed by itself, on normal numbers; copies of a stage cost what they do on average. A step before
// them is not counted: in it memory is touched first, and libraries choose how they compute. Ops that are too short for the
// device's clock are timed several at once. memory_curve{measured_costs<Net, 64>()} then solves with times in place of FLOPs,
// which know nothing of memory bandwidth, nor of what it takes to start a kernel. Device is the one that will train.
//
// An activation that a product applies to its own result costs nothing here, and the product a little more. A tape that a
// block can make without its output was not timed: its share of a forward is that of its FLOPs.
template <class Model, std::size_t Batch, class T = float, class Device = cpu>
std::vector<stage_cost> measured_costs(const device_options& options = {}) {
  constexpr bool tells_time = detail::tells_time<typename Device::queue>, fused = memory_curve<Model, Batch, T>::plan::fused;
  static_assert(tells_time, "measured_costs: this device does not tell how long its work takes; give its queue a stopwatch, as "
                            "cairn/device/device.hpp says, or take the costs of another device");
  static_assert(!fused, "measured_costs: it times networks without a fused update");
  if constexpr (tells_time && !fused) return detail::costs_by_stopwatch<Model, Batch, T, Device>(options);
  else return {};
}

} // namespace cairn
