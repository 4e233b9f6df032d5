// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/core/random.hpp>
#include <cairn/core/view.hpp>
#include <cairn/data/owned_tensor.hpp>
#include <cairn/net/blueprint.hpp>
#include <cairn/net/execute.hpp>
#include <cairn/net/function_of.hpp>
#include <cairn/ops/copy/copy.hpp>
#include <cairn/ops/cpu.hpp>
#include <cairn/train/input_arrays.hpp>
#include <cairn/train/parameters.hpp>
#include <cairn/train/wrong_arguments.hpp>

namespace cairn {

namespace detail {

// What a model and a trainer have in common: parameters and buffers on a device, the arena, and evaluation in it. Plan is
// the blueprint of Net; if it Trains, its training step is compiled too.
template <class Plan, class Net, class T, class Device, bool Trains>
class replica_of {
public:
  using plan = Plan;
  using queue = typename Device::queue;
  using memory = typename Device::memory;

  static_assert(plan::right_ties || true); // what is wrong says so itself

  replica_of(typename Device::options options, seed s, std::size_t arena_bytes)
      : device_(options), parameters_(device_.allocate(plan::parameter_block * sizeof(T))),
        buffers_(device_.allocate(plan::state_block * sizeof(T))),
        arena_(device_.allocate(arena_bytes > plan::evaluated::arena ? arena_bytes : plan::evaluated::arena)) {
    if constexpr (Trains && plan::tie_count > 0) tied_gradients_ = device_.allocate(plan::ties.elements * sizeof(T));
    initialize(code(), parameters(), buffers(), s);
  }
  replica_of(const replica_of&) = delete;
  replica_of& operator=(const replica_of&) = delete;

  static constexpr const program<T, queue>& code() {
    if constexpr (Trains) return program_of<plan, T, queue>;
    else return evaluation_of<plan, T, queue>;
  }

  Device& device() { return device_; }
  std::size_t threads() {
    if constexpr (requires(queue& q) { q.threads(); }) return device_.compute().threads();
    else return 1;
  }
  memory& parameter_memory() { return parameters_; }
  memory& buffer_memory() { return buffers_; }
  memory& arena_memory() { return arena_; }
  std::span<T> parameters() { return {reinterpret_cast<T*>(parameters_.data()), plan::parameter_block}; }
  std::span<const T> parameters() const { return {reinterpret_cast<const T*>(parameters_.data()), plan::parameter_block}; }
  std::span<T> buffers() { return {reinterpret_cast<T*>(buffers_.data()), plan::state_block}; }
  std::span<const T> buffers() const { return {reinterpret_cast<const T*>(buffers_.data()), plan::state_block}; }
  std::uint64_t checksum() const { return detail::checksum({parameters_.data(), parameters_.size()}); }

  // Every parameter, then every buffer. What they are shown for is up to f.
  template <class F>
  void for_each(F& f) const {
    T* const learnt = const_cast<T*>(parameters().data());
    T* const kept = const_cast<T*>(buffers().data());
    walk_parameters<false>(code(), learnt, kept, f, {}, 0);
    walk_parameters<true>(code(), learnt, kept, f, {}, 0);
  }

  // Everything of a frame that the whole network shares, without or with its inputs.
  frame<T> lend(std::size_t rows, pass why) {
    frame<T> f;
    f.rows = rows;
    f.workspace = arena_.data();
    f.parameters = parameters().data();
    f.buffers = buffers().data();
    f.tied_gradients = reinterpret_cast<T*>(tied_gradients_.data());
    f.why = why;
    return f;
  }
  template <step_inputs Inputs>
  frame<T> lend(std::size_t rows, const Inputs& inputs, pass why) {
    inputs_.take(inputs);
    frame<T> f = lend(rows, why);
    f.inputs = inputs_.tensors_taken();
    f.constants = inputs_.constants_taken();
    return f;
  }

  // The first output of these samples in evaluation mode, in the arena; `where` is for errors.
  template <step_inputs Inputs>
  tensor_view<const T> evaluate(const Inputs& inputs, const char* where) {
    const std::size_t rows = rows_of(inputs, where);
    run_forward(code(), device_.compute(), lend(rows, inputs, pass::evaluate));
    const operands& at = plan::evaluated::memory.at[plan::evaluated::schedule.loss];
    return {elements_at(at.input), rows, plan::output_shape};
  }
  // The same in memory of its own, or in that of the caller.
  template <step_inputs Inputs>
  owned_tensor<T> evaluate_apart(const Inputs& inputs, const char* where) {
    const tensor_view<const T> outputs = evaluate(inputs, where);
    owned_tensor<T> own(outputs.rows(), outputs.sample_shape());
    copy(device_.compute(), own.size(), own.data(), outputs.data());
    return own;
  }
  template <step_inputs Inputs>
  tensor_view<const T> evaluate_into(const Inputs& inputs, std::span<T> into, const char* where) {
    const std::size_t needed = rows_of(inputs, where) * plan::output_shape.size();
    if (into.size() < needed)
      throw input_error(std::string(where) + ": expected room for " + std::to_string(needed) + " outputs, found " +
                        std::to_string(into.size()));
    const tensor_view<const T> outputs = evaluate(inputs, where);
    copy(device_.compute(), needed, into.data(), outputs.data());
    return {into.data(), outputs.rows(), outputs.sample_shape()};
  }
  T* elements_at(const place& p) { return reinterpret_cast<T*>(arena_.data() + p.offset()); }

  template <step_inputs Inputs>
  static std::size_t rows_of(const Inputs& inputs, const char* where) {
    return taken_inputs<plan, T>::rows(inputs, plan::batch, where);
  }

  template <class Plan2, class Net2, bool Trains2>
  void copy_from(const replica_of<Plan2, Net2, T, Device, Trains2>& other) {
    using own = function_of<Net>;
    using others = function_of<Net2>;
    if constexpr (!std::is_same_v<own, others>) {
      refuse<other_function<own, others>>();
    } else {
      // Name by name, as a frozen block's parameters lie elsewhere.
      std::vector<std::span<T>> from;
      const auto collect = [&](const named_parameter<T>& q) { from.push_back(q.numbers); };
      other.for_each(collect);
      std::size_t next = 0;
      const auto take = [&](const named_parameter<T>& q) {
        copy(device_.compute(), q.numbers.size(), q.numbers.data(), from[next++].data());
      };
      for_each(take);
    }
  }

private:
  Device device_;
  memory parameters_;
  memory buffers_;
  memory arena_;
  memory tied_gradients_;
  taken_inputs<plan, T> inputs_{};
};

// How others reach the replica of a model or a trainer, what joins a trainer with the other ranks, and what tells how it makes
// its steps.
struct replica_access {
  template <class Owner>
  static auto& of(Owner& owner) {
    return owner.replica_;
  }
  template <class Trainer>
  static auto& comm(Trainer& trainer) {
    return trainer.comm();
  }
  template <class Trainer>
  static auto& compute(Trainer& trainer) {
    return trainer.compute();
  }
  template <class Trainer>
  static const auto& options(const Trainer& trainer) {
    return trainer.options_;
  }
  template <class Trainer>
  static auto on_discard(const Trainer& trainer) {
    return trainer.discarded_;
  }
  // trainer.step(inputs, targets) with something that watches it: see training_step.hpp.
  template <class Trainer, class Inputs, class Targets, class Watch>
  static double step(Trainer& trainer, const Inputs& inputs, const Targets& targets, Watch& watch) {
    return trainer.take_step(inputs, typename Trainer::template judged_by_loss<Targets>{trainer, targets}, watch);
  }
};

} // namespace detail

} // namespace cairn
