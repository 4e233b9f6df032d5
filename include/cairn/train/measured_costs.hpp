// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/random.hpp>
#include <cairn/core/random_normal.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/core/tensor.hpp>
#include <cairn/core/tensors.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/device/wait_on_host.hpp>
#include <cairn/net/execute.hpp>
#include <cairn/net/memory_curve.hpp>
#include <cairn/ops/cpu.hpp>
#include <cairn/ops/transfer/transfer.hpp>
#include <cairn/plan/solve/cost_table.hpp>
#include <cairn/plan/step/step_list.hpp>
#include <cairn/plan/step/step_op.hpp>
#include <cairn/plan/step/step_walk.hpp>
#include <cairn/train/replica.hpp>

namespace cairn::detail {

// Fills the tensors of T with normally distributed numbers. Integers stay zero, an index that every vocabulary has.
template <class T, class List>
void fill_real(const List& list, const tensors<T>& to, std::size_t batch) {
  for (std::size_t k = 0; k < list.size(); ++k)
    if (list[k].type == element::real)
      fill_normal(std::span<T>{to[k], list[k].elements(batch)}, random_key{.seed = 1, .position = std::uint32_t(k)});
}

// Gives all copies of a stage the mean of their costs: noise in a measurement is no reason to treat copies differently, and a
// solver solves equal stages only once. Copies have one type and equal sizes. `lowest` is the lowest stage that learns. Its
// backward makes no input gradient, so it keeps its own cost.
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

// Runs steps of a network one after another and keeps the least time of each op. An op that is too short for the device's
// clock is repeated until its time can be measured. Plan has no fused update.
template <class Plan, class Net, class T, class Device>
class timed_steps {
  using plan = Plan;
  using sum = accumulated<T>;
  using stopwatch = typename Device::queue::stopwatch;

public:
  explicit timed_steps(const device_options& options)
      : weights_(held_device<Device>(one_by_one(options)), seed{1}, plan::trained::memory.arena),
        gradients_(device().allocate(plan::parameter_block * sizeof(sum))),
        place_{.start = reinterpret_cast<sum*>(gradients_.data())}, inputs_(device().allocate(inputs_at.size)),
        constants_(device().allocate(constants_at.size)), loss_gradient_(plan::whole.gradient_bytes(plan::size) / sizeof(T)),
        watch_(queue(), 2) {
    send(plan::inputs, inputs_at, inputs_);
    send(plan::constants, constants_at, constants_);
    fill_normal(std::span<T>(loss_gradient_), random_key{.seed = 2});
    for (T& g : loss_gradient_) g = static_cast<T>(static_cast<sum>(g) / static_cast<sum>(plan::batch));
    lent_ = weights_.lend(plan::batch, pass::forward);
    lent_.inputs = tensors<T>{inputs_.data(), inputs_at.offsets.data()}.to_read();
    lent_.constants = tensors<T>{constants_.data(), constants_at.offsets.data()}.to_read();
    lent_.gradients = &place_;
    if constexpr (plan::head::in_strips) lent_.strips = &strips_;
    lent_.random = {.seed = 1};
  }

  void make_one() {
    step_walk(list.ops(), rows(), this).run();
    ++step_;
  }
  // The least of all steps except the first, which touches new memory, and in which libraries choose algorithms.
  std::vector<stage_cost> costs() const {
    std::vector<stage_cost> out = costs_;
    for (stage_cost& c : out)
      if (c.backward == untimed) c.backward = 0; // below the first parameter
    return out;
  }

private:
  static constexpr tensor_layout inputs_at{plan::inputs, plan::to.sizes, plan::batch};
  static constexpr tensor_layout constants_at{plan::constants, plan::to.sizes, plan::batch};
  static constexpr std::uint64_t untimed = std::numeric_limits<std::uint64_t>::max();
  static constexpr auto list = [] {
    constexpr step_parts of{
        .ops = plan::training.ops(), .loss = plan::training.loss, .gradient_begin = plan::parameter_begin, .overlaps = false};
    return write_step<most_step_ops(of)>(of, step_kind::micro_batch);
  }();

  // A graph of an op and its repetitions would measure a graph.
  static device_options one_by_one(device_options options) {
    options.graphs = false;
    return options;
  }
  Device& device() { return weights_.device(); }
  auto& queue() { return device().compute(); }
  template <class List, class Layout>
  void send(const List& what, const Layout& layout, typename Device::memory& to) { // fills the tensors at random
    const auto here = device().staging(layout.size);
    fill_real<T>(what, tensors<T>{here.data(), layout.offsets.data()}, plan::batch);
    upload(queue(), layout.size, to.data(), static_cast<const std::byte*>(here.data()));
    finish_on_host(queue());
  }

  static const std::array<step_row, step_op_kinds>& rows() {
    static constexpr std::array<step_row, step_op_kinds> all = [] {
      std::array<step_row, step_op_kinds> out{};
      for (step_row& r : out) r = [](void*, const step_op&) {}; // ops that compute nothing or belong to no stage
      const auto at = [&out](step_op_kind kind) -> step_row& { return out[static_cast<std::size_t>(kind)]; };
      at(step_op_kind::forward) = &row<&stage_cost::forward>;
      at(step_op_kind::backward) = &row<&stage_cost::backward>;
      at(step_op_kind::loss) = [](void* self, const step_op& o) { static_cast<timed_steps*>(self)->take_loss(o.index); };
      return out;
    }();
    return all;
  }
  template <std::uint64_t stage_cost::* Cost>
  static void row(void* self, const step_op& o) {
    auto& me = *static_cast<timed_steps*>(self);
    me.time(o.index, me.costs_[o.stage].*Cost);
  }
  void take_loss(std::size_t t) { // uploads random numbers in place of the loss's gradient
    upload(queue(), loss_gradient_.size(), lent_.elements(plan::trained::memory.at[t].output_gradient),
           static_cast<const T*>(loss_gradient_.data()));
  }
  void time(std::size_t t, std::uint64_t& cost) {
    constexpr std::size_t most_times = 1024;
    std::size_t& times = times_[t];
    auto took = take(t, times);
    if (step_ == 0) return;
    while (step_ == 1 && took < stopwatch::least && times < most_times) took = take(t, times *= 2);
    const auto each = static_cast<std::uint64_t>(std::max<std::int64_t>(took, 0)) / times;
    cost = std::min(cost, std::max<std::uint64_t>(each, 1));
  }
  std::int64_t take(std::size_t t, std::size_t times) { // runs op t `times` times
    watch_.restart();
    const std::size_t begin = watch_.mark();
    for (std::size_t i = 0; i < times; ++i) run_op(weights_.code(), queue(), lent_, t);
    const std::size_t end = watch_.mark();
    finish_on_host(queue());
    return watch_.nanoseconds(end) - watch_.nanoseconds(begin);
  }

  replica<plan, Net, T, Device> weights_;
  typename Device::memory gradients_;
  gradient_place<sum> place_;
  typename Device::memory inputs_, constants_;
  const loss_in_strips<T> strips_{[](const void*, const typename loss_in_strips<T>::strip&) {}}; // outputs are their gradient
  std::vector<T> loss_gradient_; // random numbers in place of the loss's gradient
  stopwatch watch_;
  frame<T> lent_{};
  int step_ = 0;
  std::vector<std::size_t> times_ = std::vector<std::size_t>(plan::training.count, 1); // of each op
  std::vector<stage_cost> costs_ = std::vector<stage_cost>(plan::size, {untimed, untimed, untimed});
};

// See below.
template <class Model, std::size_t Batch, class T, class Device>
std::vector<stage_cost> costs_by_stopwatch(const device_options& options) {
  using curve = memory_curve<Model, Batch, T>;
  using plan = typename curve::plan;
  timed_steps<plan, typename curve::net, T, Device> steps(options);
  for (int step = 0; step <= 3; ++step) steps.make_one();
  std::vector<stage_cost> costs = steps.costs();
  average_copies(costs, plan::whole.stages, plan::whole.lowest_backward());
  for (std::size_t i = 0; i < plan::size; ++i) {
    stage_cost& c = costs[i];
    const stage& s = plan::stages[i];
    c.tape = s.tape_without_output && s.forward_flops > 0 ? c.forward * s.tape_flops / s.forward_flops : c.forward;
  }
  return costs;
}

} // namespace cairn::detail

namespace cairn::plan {

// Returns the cost of each stage of a network on this device, in nanoseconds for a step of Batch samples: the least of three
// steps of store_all, each op timed by itself, on normally distributed numbers. Copies of a stage get the mean of their costs.
// A first step is not counted: it touches new memory, and libraries choose algorithms in it. Ops that are too short for the
// device's clock are repeated and timed together. memory_curve{measured_costs<Net, 64>()} then solves with times in place of
// FLOPs, which ignore memory bandwidth and the time to start a kernel. Device must be the one that will train.
//
// An activation that a product applies to its own result costs nothing here, and the product costs a little more. A tape that
// a block can make without its output is not timed. Its cost is the part of the forward time that corresponds to its FLOPs.
template <class Model, std::size_t Batch, class T = float, class Device = cpu>
std::vector<plan::stage_cost> measured_costs(const types::device_options& options = {}) {
  constexpr bool tells_time = detail::tells_time<typename Device::queue>, fused = memory_curve<Model, Batch, T>::plan::fused;
  static_assert(tells_time, "measured_costs: this device does not tell how long its work takes; give its queue a stopwatch, as "
                            "cairn/device/device.hpp says, or take the costs of another device");
  static_assert(!fused, "measured_costs: it times networks without a fused update");
  if constexpr (tells_time && !fused) return detail::costs_by_stopwatch<Model, Batch, T, Device>(options);
  else return {};
}

} // namespace cairn::plan
