// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/tensor.hpp>
#include <cairn/core/tensors.hpp>
#include <cairn/core/view.hpp>
#include <cairn/layer/describe.hpp>
#include <cairn/layer/layer.hpp>
#include <cairn/ops/add/add.hpp>
#include <cairn/ops/copy/copy.hpp>
#include <cairn/ops/elementwise/elementwise.hpp>

// The stages of an Unroll (net/unroll.hpp): a start, which has the cell's parameters and makes the first states, and then the
// steps. Only states flow from stage to stage. Everything else that the steps share is told by unrolled_steps.

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

struct first_state {
  static constexpr const char* name = "Unroll first state";
  template <class T>
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline T operator()(T) const {
    return T{0};
  }
};

} // namespace cairn::detail

CAIRN_KERNELS_END

namespace cairn::detail {

// The memory that all steps of an Unroll share. The arrays are (rows, Steps, ...); each is null where it is not wanted.
template <class T>
struct unrolled_steps {
  std::uint32_t first = 0; // the position of step 0 in keys of random numbers; those of the others follow
  tensors<const T> parameters{};
  tensors<accumulated<T>> gradients{};
  tensors<accumulated<T>> part{}; // of one step: memory for the same list, if there is more than one step
  const T* inputs = nullptr;
  T* input_gradients = nullptr;
  T* outputs = nullptr; // the first state after each step
  const T* output_gradients = nullptr;
};

// A list of tensors that lie anywhere.
template <class T>
class tensors_anywhere {
public:
  void set(std::size_t k, T* tensor) {
    if (tensor == nullptr) return;
    if (first_ == nullptr) first_ = reinterpret_cast<byte*>(tensor);
    at_[k] = reinterpret_cast<std::uintptr_t>(tensor) - reinterpret_cast<std::uintptr_t>(first_);
    there_ = static_cast<tensor_set>(there_ | 1U << k);
  }
  tensors<T> view() const { return {first_, at_.data(), there_}; }

private:
  using byte = typename tensors<T>::byte;
  byte* first_ = nullptr;
  std::array<std::size_t, tensor_list::most> at_{};
  tensor_set there_ = 0;
};

// A cell's description: it takes an input and states, Cell::inputs, and makes the states after it.
template <class Cell>
struct cell_facts {
  static constexpr std::size_t states = Cell::inputs.count - 1;
  static constexpr tensor input = Cell::inputs[0];
  static constexpr tensor_list state = [] {
    tensor_list list{};
    for (std::size_t k = 1; k < Cell::inputs.count; ++k) list.push_back(Cell::inputs[k]);
    return list;
  }();

  // The arguments of the cell, from those of a stage.
  static constexpr arguments of(const arguments& in) { return {Cell::inputs.items.data(), Cell::inputs.count, in.constants()}; }
  static constexpr tensor_list parameters(const arguments& in) {
    if constexpr (requires { Cell::parameters(in); }) return Cell::parameters(of(in));
    else return {};
  }
  // A tensor of `steps` times this one.
  static constexpr tensor in_steps(const tensor& one, std::size_t steps) {
    tensor out = one;
    out.extents = {steps};
    for (std::size_t a = 0; a < one.rank(); ++a) out.extents.push_back(one[a]);
    return out;
  }
  // The elements of all samples at one step of `steps`.
  template <class T>
  static ops::matrix<T> at_step(T* all, std::size_t t, std::size_t steps, std::size_t rows, std::size_t size) {
    return {all + t * size, rows, size, steps * size};
  }
};

// The first stage: all states are zero. Its parameters are those of all steps, whose backward passes, which come before its own,
// have computed their gradients and the gradient of the input.
template <std::size_t Steps, class Cell>
struct unroll_start {
  using facts = cell_facts<Cell>;
  static constexpr tensor_list inputs{facts::in_steps(facts::input, Steps)};
  static constexpr reads backward_reads = reads::nothing;
  static constexpr bool skips_gradients = [] {
    if constexpr (requires { Cell::skips_gradients; }) return Cell::skips_gradients;
    else return false;
  }();

  static constexpr bool accepts(const arguments& in) {
    return in[0].is_real() && in[0].extents == inputs[0].extents && accepts_states(in);
  }
  static constexpr tensor_list outputs(const arguments&) { return facts::state; }
  static constexpr tensor_list parameters(const arguments& in) { return facts::parameters(in); }
  static constexpr work flops(const arguments&) { return {}; }

  template <class T, class Queue>
  static void forward(Queue& queue, const forward_call<T>& call) {
    for (std::size_t k = 0; k < facts::states; ++k)
      elementwise(queue, facts::state[k].elements(call.rows), first_state{}, call.outputs[k],
                  static_cast<const T*>(call.outputs[k]));
  }
  template <class T, class Queue>
  static void backward(Queue&, const backward_call<T>&) {}

private:
  static constexpr bool accepts_states(const arguments& in) {
    const arguments all = facts::of(in);
    if constexpr (requires { Cell::accepts(all); }) return Cell::accepts(all);
    else return true;
  }
};

// A step: it takes its input from those of all steps, and the first state that it makes goes to the outputs of all steps.
//
// The gradients of the parameters are summed from the last step to the first. A cell overwrites gradients, so those of all steps
// but the last are written to other memory first, and added.
template <std::size_t Steps, class Cell, bool LastOnly>
struct step_of_unroll {
  using facts = cell_facts<Cell>;
  static constexpr std::size_t takes = facts::states;
  static constexpr reads backward_reads = Cell::backward_reads;

  static constexpr bool accepts(const arguments& in) {
    for (std::size_t k = 0; k < takes; ++k)
      if (!(in[k] == facts::state[k])) return false;
    return true;
  }
  static constexpr tensor_list outputs(const arguments&) { return facts::state; }
  static constexpr tensor_list tape(const arguments& in) {
    if constexpr (requires { Cell::tape(in); }) return Cell::tape(facts::of(in));
    else return {};
  }
  // The step's own tensors, and behind them the cell's.
  static constexpr tensor_list workspace(const arguments& in, pass why) {
    tensor_list list = own_workspace(why);
    if constexpr (requires { Cell::workspace(in, why); }) {
      const tensor_list of_cell = Cell::workspace(facts::of(in), why);
      for (const tensor& t : of_cell) list.push_back(t);
    }
    return list;
  }
  static constexpr work flops(const arguments& in) {
    if constexpr (requires { Cell::flops(in); }) {
      return Cell::flops(facts::of(in));
    } else {
      const std::size_t made = facts::state.elements();
      return {made, made, made};
    }
  }

  template <class Queue, class T>
    requires requires(Queue& queue, const forward_call<T>& call) { Cell::forward(queue, call); }
  static void forward(Queue& queue, const forward_call<T>& call) {
    const unrolled_steps<T>& all = *call.steps;
    const std::size_t t = call.random.position - all.first;
    const arguments given = facts::of(*call.given);
    tensors_anywhere<const T> taken;
    taken.set(0, input_of(queue, call, t));
    for (std::size_t k = 0; k < takes; ++k) taken.set(1 + k, call.inputs[k]);

    forward_call<T> own = call;
    own.given = &given;
    own.inputs = taken.view();
    own.parameters = all.parameters;
    own.workspace = workspace_of_cell(call, call.tape ? pass::forward : pass::evaluate);
    own.steps = nullptr;
    Cell::forward(queue, own);
    if (all.outputs == nullptr) return;
    const std::size_t size = facts::state[0].size();
    copy_matrix(queue, facts::at_step(all.outputs, t, Steps, call.rows, size),
                ops::matrix<const T>{call.outputs[0], call.rows, size});
  }

  template <class Queue, class T>
    requires requires(Queue& queue, const backward_call<T>& call) { Cell::backward(queue, call); }
  static void backward(Queue& queue, const backward_call<T>& call) {
    const unrolled_steps<T>& all = *call.steps;
    const std::size_t t = call.random.position - all.first;
    const arguments given = facts::of(*call.given);
    constexpr bool reads_input = (static_cast<unsigned>(backward_reads) & static_cast<unsigned>(reads::input)) != 0;

    tensors_anywhere<const T> taken, gradients;
    if constexpr (reads_input) taken.set(0, input_of(queue, call, t));
    for (std::size_t k = 0; k < takes; ++k) taken.set(1 + k, call.inputs[k]);
    gradients.set(0, first_gradient(queue, call, t));
    for (std::size_t k = 1; k < takes; ++k) gradients.set(k, call.output_gradients[k]);
    tensors_anywhere<T> wanted;
    if (all.input_gradients != nullptr) wanted.set(0, call.workspace[1]);
    for (std::size_t k = 0; k < takes && t > 0; ++k) wanted.set(1 + k, call.input_gradients[k]); // the first states are constant

    const bool adds = all.gradients && t + 1 < Steps;

    backward_call<T> own = call;
    own.given = &given;
    own.inputs = taken.view();
    own.output_gradients = gradients.view();
    own.input_gradients = wanted.view();
    own.parameters = all.parameters;
    own.gradients = adds ? all.part : all.gradients;
    own.workspace = workspace_of_cell(call, pass::backward);
    own.steps = nullptr;
    Cell::backward(queue, own);

    const tensor_list list = facts::parameters(*call.given);
    for (std::size_t k = 0; adds && k < list.count; ++k)
      add(queue, list[k].size(), all.gradients[k], all.gradients[k], all.part[k]);
    if (all.input_gradients == nullptr) return;
    const std::size_t size = facts::input.size();
    copy_matrix(queue, facts::at_step(all.input_gradients, t, Steps, call.rows, size),
                ops::matrix<const T>{call.workspace[1], call.rows, size});
  }

private:
  // In forward: the input. In backward also: the gradient of the input, and that of the first state, if it is a sum.
  static constexpr tensor_list own_workspace(pass why) {
    if (why != pass::backward) return facts::input;
    if (LastOnly) return {facts::input, facts::input};
    return {facts::input, facts::input, facts::state[0]};
  }
  template <class Call>
  static auto workspace_of_cell(const Call& call, pass why) {
    auto out = call.workspace;
    out.offsets += own_workspace(why).count;
    return out;
  }

  // The step's input, without a gap between samples.
  template <class Queue, class Call>
  static auto input_of(Queue& queue, const Call& call, std::size_t t) {
    auto* const to = call.workspace[0];
    const std::size_t size = facts::input.size();
    copy_matrix(queue, ops::matrix{to, call.rows, size}, facts::at_step(call.steps->inputs, t, Steps, call.rows, size));
    return to;
  }
  // The gradient of the first state: from the next step, and from the outputs of all steps.
  template <class Queue, class T>
  static const T* first_gradient(Queue& queue, const backward_call<T>& call, std::size_t t) {
    const T *const next = call.output_gradients[0], *const all = call.steps->output_gradients;
    if (all == nullptr) return next;
    const std::size_t size = facts::state[0].size();
    const ops::matrix<T> sum{call.workspace[2], call.rows, size};
    const auto output = facts::at_step(all, t, Steps, call.rows, size);
    if (next == nullptr) copy_matrix(queue, sum, output);
    else add_matrix(queue, sum, ops::matrix<const T>{next, call.rows, size}, output);
    return sum.data;
  }
};

// A step of an Unroll, and of an Unroll::last.
template <std::size_t Steps, class Cell>
struct unroll_step : step_of_unroll<Steps, Cell, false> {};
template <std::size_t Steps, class Cell>
struct unroll_silent_step : step_of_unroll<Steps, Cell, true> {};

} // namespace cairn::detail
