// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <cairn/layer/bundle_layer.hpp>
#include <cairn/layer/describe.hpp>
#include <cairn/net/blueprint.hpp>
#include <cairn/net/bundle_facts.hpp>
#include <cairn/plan/run_time_plan.hpp>

namespace cairn {

// A blueprint with code: what the executor walks at run time. It is a constant too, one for each chain, element type
// and device queue. Layers appear only as pairs of functions, one pair for each distinct element.
template <class T, class Queue>
struct program {
  // One element: a layer's two functions, or a block's own program.
  struct element {
    void (*forward)(Queue&, const forward_call<T>&) = nullptr;
    void (*backward)(Queue&, const backward_call<T>&) = nullptr;
    const program* inner = nullptr;
    shape input_shape{};
    parameter_list parameters{};
    block_layout parameter_layout{};
    parameter_list state{};
    block_layout state_layout{};
    activation as = activation::none;
    const detail::bundle_facts* several = nullptr; // in a chain of bundles
  };
  // A schedule and where its operands are.
  struct walk {
    std::span<const op> ops{};
    const operands* at = nullptr;
    std::size_t turn = 0;
    std::size_t lasting = 0;
    bool lasting_output = false;
  };

  role as = role::root;
  walk training{};
  walk evaluation{};
  bool adds_at_turn = false; // a residual block whose last layer cannot add its input itself
  bool adds_at_end = false;  // ... whose first layer cannot add the output's gradient itself
  std::span<const element> elements{};
  std::span<const std::uint32_t> order{}; // element of each stage, and one more
  std::span<const std::size_t>
      parameter_begin{}; // of each stage in the chain's block, in numbers; then the size
  std::span<const std::size_t> state_begin{};
  std::span<const std::uint32_t> leaf_begin{};
  std::span<const stage> stages{};
  std::size_t batch = 0;
  shape input_shape{}; // of the first tensor, if there are several
  shape output_shape{};
  std::span<const parts> values{}; // of a chain of bundles; else none
  const bundle* inputs = nullptr;  // what it takes; else null
  const bundle* outputs = nullptr;

  std::size_t size() const { return stages.size(); }
  const element& at(std::size_t position) const { return elements[order[position]]; }
};

namespace detail {

// One pair of functions for each layer, whatever network, policy and batch it stands in: not lambdas below, of which
// each blueprint would have its own. The executor makes the call of a layer of several tensors a call of that kind.
template <class L, class T, class Queue>
void layer_forward(Queue& queue, const forward_call<T>& call) {
  if constexpr (layer<L>) L::forward(queue, call);
  else L::forward(queue, static_cast<const bundle_forward_call<T>&>(call));
}
template <class L, class T, class Queue>
void layer_backward(Queue& queue, const backward_call<T>& call) {
  if constexpr (layer<L>) L::backward(queue, call);
  else L::backward(queue, static_cast<const bundle_backward_call<T>&>(call));
}

template <class Blueprint, class T, class Queue, class Elements = typename Blueprint::elements,
          class Indices = std::make_index_sequence<Elements::size>>
struct compiled;

template <class Blueprint, class T, class Queue, class... Elements, std::size_t... Index>
struct compiled<Blueprint, T, Queue, pack<Elements...>, std::index_sequence<Index...>> {
  using element = typename program<T, Queue>::element;

  template <std::size_t I, class E>
  static constexpr bundle_facts facts = bundle_facts_of<E>(Blueprint::shapes.input[I]);

  template <std::size_t I, class E>
  static constexpr element make() {
    element e{};
    e.input_shape = first_shape(Blueprint::shapes.input[I]);
    if constexpr (Blueprint::several) e.several = &facts<I, E>;
    if constexpr (composite<E>::is) {
      e.inner = &compiled<typename Blueprint::template inner<I>, T, Queue>::value;
    } else {
      e.forward = &layer_forward<E, T, Queue>;
      e.backward = &layer_backward<E, T, Queue>;
      if constexpr (Blueprint::several) {
        e.parameters = parameters_among_several<E>(Blueprint::shapes.input[I]);
        e.state = state_among_several<E>(Blueprint::shapes.input[I]);
      } else {
        e.parameters = described<E>::parameters(e.input_shape);
        e.state = described<E>::state(e.input_shape);
      }
      e.parameter_layout = block_layout{e.parameters, sizeof(T)};
      e.state_layout = block_layout{e.state, sizeof(T)};
      if constexpr (layer<E> && requires { E::as_activation; }) e.as = E::as_activation;
    }
    return e;
  }
  static constexpr std::array<element, sizeof...(Elements)> elements{make<Index, Elements>()...};

  static constexpr program<T, Queue> value = [] {
    program<T, Queue> p{};
    p.as = Blueprint::as;
    p.training = {Blueprint::training.ops(), Blueprint::trained::memory.at.data(), Blueprint::training.turn,
                  Blueprint::training.lasting, Blueprint::training.lasting_output};
    using evaluated = typename Blueprint::evaluated;
    p.evaluation = {evaluated::schedule.ops(), evaluated::memory.at.data(), evaluated::schedule.turn,
                    evaluated::schedule.turn, true};
    p.adds_at_turn = Blueprint::as == role::residual && !Blueprint::whole.lent_output;
    p.adds_at_end = Blueprint::as == role::residual && !Blueprint::whole.lent_input_gradient;
    p.elements = elements;
    p.order = Blueprint::order;
    p.parameter_begin = Blueprint::parameter_begin;
    p.state_begin = Blueprint::state_begin;
    p.leaf_begin = Blueprint::leaf_begin;
    p.stages = Blueprint::stages;
    p.batch = Blueprint::batch;
    p.input_shape = Blueprint::input_shape;
    p.output_shape = Blueprint::output_shape;
    if constexpr (Blueprint::several) {
      p.values = Blueprint::values;
      p.inputs = &Blueprint::input_value;
      p.outputs = &Blueprint::shapes.output;
    }
    return p;
  }();
};

} // namespace detail

// The walk of a schedule that was planned when the program runs, and stays where it is.
template <class T, class Queue>
typename program<T, Queue>::walk walk_of(const run_time_plan& p) {
  return {p.training.ops(), p.memory.at.data(), p.training.turn, p.training.lasting,
          p.training.lasting_output};
}

// The program of a network's blueprint, for numbers of type T on a device whose queue is Queue.
template <class Blueprint, class T, class Queue>
inline constexpr const program<T, Queue>& program_of = detail::compiled<Blueprint, T, Queue>::value;

} // namespace cairn
