// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include <cairn/core/tensor.hpp>
#include <cairn/layer/layer.hpp>
#include <cairn/net/blueprint.hpp>
#include <cairn/net/named_part.hpp>
#include <cairn/net/nesting.hpp>
#include <cairn/plan/run_time_plan.hpp>

namespace cairn::detail {

template <class T>
struct frame;
template <class T, class Queue>
struct program;

// The offset of each tensor of a value in its buffer, in bytes.
using value_offsets = std::array<std::size_t, most_tensors>;

// A chain inside a block, and where its part begins of the block's parameters, buffers, tape and layers.
template <class T, class Queue>
struct chain_of_block {
  const program<T, Queue>* code = nullptr;
  std::size_t parameter_begin = 0; // in elements
  std::size_t state_begin = 0;     // in elements
  std::size_t tape_begin = 0;      // in bytes
  std::uint32_t leaf_begin = 0;

  // Returns the frame of the chain, given that of the block. The tape of a block begins with own_tape bytes of its own.
  frame<T> enter(const frame<T>& block, std::size_t own_tape = 0) const;

  // Elements of the first tensor that it makes of `rows` samples.
  std::size_t output_elements(std::size_t rows) const { return (*code->outputs)[0].elements(rows); }
  // Bytes of the first tensor that it takes, and of the first that it makes, in a whole batch.
  std::size_t input_bytes() const { return align_up((*code->inputs)[0].elements(code->batch) * sizeof(T)); }
  std::size_t output_bytes() const { return align_up(output_elements(code->batch) * sizeof(T)); }
};

// For a T of 16 bits, whose master copy has another type: the places of an element's parameters and buffers in that type, in
// bytes. In elements they are the same as in T.
template <class T, bool Narrow = is_narrow<T>>
struct layouts_of_sums {};
template <class T>
struct layouts_of_sums<T, true> {
  tensor_layout parameter_sums{}, buffer_sums{};
};

// A blueprint with code: what the executor walks at run time. It is a constant too, one for each chain, element type
// and device queue. Layers appear only as pairs of functions, one pair for each distinct element.
template <class T, class Queue>
struct program {
  using chains_type = std::span<const chain_of_block<T, Queue>>;

  // One element: a layer's two functions, or a block's, with its chains.
  struct element : layouts_of_sums<T> {
    void (*forward)(Queue&, const forward_call<T>&) = nullptr;
    void (*backward)(Queue&, const backward_call<T>&) = nullptr;
    chains_type chains{};
    std::string_view part_name{}; // of the chains, where they have names instead of their stages
    std::string_view own_name{};  // in place of the number of a place (net/named_part.hpp)
    std::size_t places = 1;       // in the Sequential around it, in names
    bool is_transparent = false;  // a block that computes what its chain computes: names leave it out
    bool names_parts = true;      // or its one chain and its stages have the block's name
    bool is_elementwise = false;  // see made_of.hpp
    bool packs_weight = false;    // see layer.hpp
    std::size_t keeps = 0;        // elements of each token of a text: see layer/kept_tokens.hpp
    void (*block_forward)(Queue&, const chains_type&, const frame<T>&, bool tape, bool output) = nullptr;
    void (*block_backward)(Queue&, const chains_type&, const frame<T>&) = nullptr;

    arguments in{nullptr, 0, no_constants};
    const value_list* arrives = nullptr; // the whole value: it takes `takes` of the tensors and makes `gives`
    std::uint8_t takes = 1;
    std::uint8_t gives = 1;
    // The tensors of the value before it that have a gradient, for each set of those of the value after it.
    std::array<tensor_set, 1U << most_tensors> uses{};

    tensor_list parameters{};
    tensor_layout parameter_layout{}; // in bytes, like the others
    tensor_list buffers{};
    tensor_layout buffer_layout{};
    tensor_layout tape{}, forward_workspace{}, evaluation_workspace{}, backward_workspace{};
    activation as = activation::none;

    // The layouts of the gradients of the parameters, and of the buffers as they are kept.
    const tensor_layout& gradient_layout() const {
      if constexpr (is_narrow<T>) return this->parameter_sums;
      else return parameter_layout;
    }
    const tensor_layout& kept_layout() const {
      if constexpr (is_narrow<T>) return this->buffer_sums;
      else return buffer_layout;
    }
  };
  // A schedule and where its operands are.
  struct walk {
    std::span<const op> ops{};
    const operands* at = nullptr;
    std::size_t loss = 0;
    std::size_t lasting = 0;
    bool lasting_output = false;
  };

  // For names (train/parameters.hpp): is the body a Sequential itself, or one block that names leave out? And how are other
  // Sequentials nested in it (net/nesting.hpp)?
  bool is_sequential = true;
  bool is_transparent = false;
  std::string_view nesting{};

  bool is_root = true;
  bool in_strips = false; // a training step makes the last layer's output in strips: see layer/head_in_strips.hpp
  bool is_frozen = false; // its parameters lie among the buffers, those of a layer before its buffers
  chain_ends ends{};      // of a chain inside a block
  walk training{};
  walk evaluation{};
  std::span<const element> elements{};
  std::span<const std::uint32_t> order{};         // element of each stage, and one more
  std::span<const std::size_t> parameter_begin{}; // of each stage in the chain's block, in elements; then the size
  std::span<const std::size_t> state_begin{};
  std::span<const std::uint32_t> leaf_begin{};
  std::span<const stage> stages{};
  // The places of every value, and of its gradient as planned; `gradients` says which tensors a gradient has.
  std::span<const value_offsets> value_at{};
  std::span<const value_offsets> gradient_at{};
  std::span<const tensor_set> gradients{};
  std::span<const tie> ties{};
  std::size_t batch = 0;
  const value_list* inputs = nullptr;
  const tensor_list* constants = nullptr;
  const value_list* outputs = nullptr;

  static constexpr tensor_list no_constants{};

  constexpr std::size_t size() const { return stages.size(); }
  constexpr const element& at(std::size_t position) const { return elements[order[position]]; }
};

// The stage whose first parameter is the weight of the layer at stage i: another one for a layer that is Tied.
template <class T, class Queue>
std::size_t owner_of_weight(const program<T, Queue>& p, std::size_t i) {
  for (const tie& t : p.ties)
    if (t.user == i) return t.owner;
  return i;
}

// One pair of functions for each layer, shared by all networks, policies and batches. Rejected: lambdas below, of which each
// blueprint would have its own.
template <class L, class T, class Queue>
void layer_forward(Queue& queue, const forward_call<T>& call) {
  L::forward(queue, call);
}
template <class L, class T, class Queue>
void layer_backward(Queue& queue, const backward_call<T>& call) {
  L::backward(queue, call);
}
template <class Block, class T, class Queue>
void block_forward(Queue& queue, const typename program<T, Queue>::chains_type& chains, const frame<T>& block, bool tape,
                   bool output) {
  made_of<Block>::forward(queue, chains, block, tape, output);
}
template <class Block, class T, class Queue>
void block_backward(Queue& queue, const typename program<T, Queue>::chains_type& chains, const frame<T>& block) {
  made_of<Block>::backward(queue, chains, block);
}

template <class Blueprint, class T, class Queue, bool Trains = true, class Elements = typename Blueprint::elements,
          class Indices = std::make_index_sequence<Elements::size>>
struct compiled;

// The chains of a block. Parameters begin with the last chain's, everything else with the first chain's.
template <class T, class Queue, class Blueprints>
struct compiled_chains;
template <class T, class Queue, class... Blueprints>
struct compiled_chains<T, Queue, pack<Blueprints...>> {
  static constexpr std::array<chain_of_block<T, Queue>, sizeof...(Blueprints)> value = [] {
    std::array<chain_of_block<T, Queue>, sizeof...(Blueprints)> out{
        chain_of_block<T, Queue>{&compiled<Blueprints, T, Queue>::value}...};
    constexpr std::array<chain_facts, sizeof...(Blueprints)> facts{Blueprints::facts...};
    for (std::size_t c = 1; c < out.size(); ++c) {
      out[c].state_begin = out[c - 1].state_begin + facts[c - 1].state_block;
      out[c].tape_begin = out[c - 1].tape_begin + facts[c - 1].tape;
      out[c].leaf_begin = out[c - 1].leaf_begin + static_cast<std::uint32_t>(facts[c - 1].leaves);
    }
    for (std::size_t c = out.size() - 1; c-- > 0;)
      out[c].parameter_begin = out[c + 1].parameter_begin + facts[c + 1].parameter_block;
    return out;
  }();
};

template <class Blueprint, class T, class Queue, bool Trains, class... Elements, std::size_t... Index>
struct compiled<Blueprint, T, Queue, Trains, pack<Elements...>, std::index_sequence<Index...>> {
  using code = program<T, Queue>;
  using element = typename code::element;

  static constexpr tensor_layout in_sums(tensor_layout l) {
    for (std::size_t& offset : l.offsets) offset = offset / sizeof(T) * sizeof(accumulated<T>);
    l.size = l.size / sizeof(T) * sizeof(accumulated<T>);
    return l;
  }
  template <std::size_t I, class E, std::size_t Way = 0>
  static constexpr element make() {
    constexpr const auto& values = Blueprint::values;
    constexpr const description& made = values.of[I];
    element e{};
    e.arrives = &values.input(I);
    e.takes = made.takes;
    e.gives = made.gives;
    e.places = places_of<E>();
    e.own_name = detail::own_name<E>;
    for (std::size_t set = 0; set < e.uses.size(); ++set) e.uses[set] = made.uses(static_cast<tensor_set>(set));
    if constexpr (is_block<E>) {
      e.chains = compiled_chains<T, Queue, typename Blueprint::template inner<I, Way>::type>::value;
      e.part_name = part_name<E>;
      e.is_transparent = detail::is_transparent<E>;
      e.names_parts = !requires { requires !made_of<E>::names_parts; };
      e.is_elementwise = requires { requires made_of<E>::is_elementwise; };
      e.block_forward = &block_forward<E, T, Queue>;
      e.block_backward = &block_backward<E, T, Queue>;
    } else {
      const arguments in{e.arrives->items.data(), e.takes, Blueprint::constants};
      constexpr scale to = Blueprint::to;
      e.in = in;
      e.forward = &layer_forward<E, T, Queue>;
      e.backward = &layer_backward<E, T, Queue>;
      if constexpr (requires { E::parameters(in); }) e.parameters = E::parameters(in);
      if constexpr (requires { E::buffers(in); }) e.buffers = E::buffers(in);
      e.parameter_layout = to.block(e.parameters);
      e.buffer_layout = to.block(e.buffers);
      if constexpr (is_narrow<T>) {
        e.parameter_sums = in_sums(e.parameter_layout);
        e.buffer_sums = in_sums(e.buffer_layout);
      }
      const auto lie = [&](const tensor_list& list) { return tensor_layout(list, to.sizes, to.batch); };
      if constexpr (requires { E::tape(in); }) e.tape = lie(E::tape(in));
      if constexpr (requires { E::workspace(in, pass::forward); }) {
        e.forward_workspace = lie(E::workspace(in, pass::forward));
        e.evaluation_workspace = lie(E::workspace(in, pass::evaluate));
        e.backward_workspace = lie(E::workspace(in, pass::backward));
      }
      if constexpr (requires { E::as_activation; }) e.as = E::as_activation;
      if constexpr (requires { E::packs_weight; }) e.packs_weight = E::packs_weight;
      if constexpr (requires { E::keeps_per_token(in); }) e.keeps = E::keeps_per_token(in);
    }
    return e;
  }
  static constexpr std::array<element, sizeof...(Elements)> typed_elements{make<Index, Elements>()...};
  // The same for each way that a block may take (net/ways.hpp), one after another.
  template <std::size_t Way, std::size_t I, class E>
  static constexpr void write_in_way(element* out) {
    if constexpr (Blueprint::ways::takes(I, Way)) out[I] = make<I, E, Way>();
  }
  static constexpr std::size_t count = sizeof...(Elements);
  template <std::size_t Way>
  static constexpr void write_way(element* out) {
    using writer = void (*)(element*);
    constexpr std::array<writer, count> writers{&write_in_way<Way, Index, Elements>...};
    for (const writer write : writers) write(out + Way * count);
  }
  static constexpr std::array<element, way_count * count> elements_in_ways = [] {
    std::array<element, way_count * count> out{};
    for (std::size_t e = 0; e < count; ++e) out[e] = typed_elements[e];
    [&]<std::size_t... Before>(std::index_sequence<Before...>) {
      (write_way<Before + 1>(out.data()), ...);
    }(std::make_index_sequence<way_count - 1>{});
    return out;
  }();
  static constexpr std::array<std::uint32_t, Blueprint::size + 1> order_in_ways = [] {
    std::array<std::uint32_t, Blueprint::size + 1> out = Blueprint::order;
    for (std::size_t i = 0; i < Blueprint::size; ++i) out[i] += static_cast<std::uint32_t>(Blueprint::ways::way[i] * count);
    return out;
  }();

  static constexpr value_offsets offsets(const value_list& list, tensor_set there) {
    const tensor_layout all(list, Blueprint::to.sizes, Blueprint::batch, there);
    value_offsets out{};
    for (std::size_t k = 0; k < most_tensors; ++k) out[k] = all.offsets[k];
    return out;
  }
  static constexpr std::size_t size = Blueprint::size;
  static constexpr const value_list& value_of(std::size_t k) {
    return k == 0 ? Blueprint::inputs : Blueprint::values.of[Blueprint::order[k - 1]].after;
  }
  static constexpr std::array<value_offsets, size + 1> value_at = [] {
    std::array<value_offsets, size + 1> out{};
    for (std::size_t k = 0; k <= size; ++k)
      if (value_of(k).count > 1) out[k] = offsets(value_of(k), all_tensors);
    return out;
  }();
  static constexpr std::array<value_offsets, size + 1> gradient_at = [] {
    std::array<value_offsets, size + 1> out{};
    for (std::size_t k = 0; k <= size; ++k)
      if (value_of(k).count > 1) out[k] = offsets(value_of(k), Blueprint::values.gradients[k]);
    return out;
  }();

  static constexpr code value = [] {
    code p{};
    using body = typename Blueprint::body;
    p.is_sequential = detail::is_sequential<body>;
    p.is_transparent = detail::is_transparent<body>;
    p.nesting = detail::nesting<body>::value;
    p.is_root = Blueprint::is_root;
    p.in_strips = Blueprint::head::in_strips;
    p.is_frozen = Blueprint::is_frozen;
    p.ends = Blueprint::ends;
    if constexpr (Trains)
      p.training = {Blueprint::training.ops(), Blueprint::trained::memory.at.data(), Blueprint::training.loss,
                    Blueprint::training.lasting, Blueprint::training.lasting_output};
    using evaluated = typename Blueprint::evaluated;
    p.evaluation = {evaluated::schedule.ops(), evaluated::memory.at.data(), evaluated::schedule.loss, evaluated::schedule.loss,
                    true};
    p.elements = typed_elements;
    p.order = Blueprint::order;
    p.parameter_begin = Blueprint::parameter_begin;
    p.state_begin = Blueprint::state_begin;
    p.leaf_begin = Blueprint::leaf_begin;
    p.stages = Blueprint::typed_stages;
    if constexpr (Trains && Blueprint::ways::moved) {
      p.elements = elements_in_ways;
      p.order = order_in_ways;
      p.stages = Blueprint::stages;
    }
    p.value_at = value_at;
    p.gradient_at = gradient_at;
    p.gradients = Blueprint::values.gradients;
    if constexpr (Blueprint::tie_count > 0 && Blueprint::right_ties) p.ties = Blueprint::ties.of;
    p.batch = Blueprint::batch;
    p.inputs = &Blueprint::inputs;
    p.constants = &Blueprint::constants;
    p.outputs = &Blueprint::outputs;
    return p;
  }();
};

// The walk of a schedule that was planned at run time. The plan must stay where it is.
template <class T, class Queue>
typename program<T, Queue>::walk walk_of_plan(const run_time_plan& p) {
  return {p.training.ops(), p.memory.at.data(), p.training.loss, p.training.lasting, p.training.lasting_output};
}

// The program of a network's blueprint, for elements of type T on a device whose queue is Queue.
template <class Blueprint, class T, class Queue>
inline constexpr const program<T, Queue>& program_of = compiled<Blueprint, T, Queue>::value;

// The same for evaluation alone: the training step is not even planned.
template <class Blueprint, class T, class Queue>
inline constexpr const program<T, Queue>& evaluation_of = compiled<Blueprint, T, Queue, false>::value;

// Where an evaluation leaves the output of a whole network, in its arena.
template <class Blueprint>
constexpr const place& place_of_output() {
  return Blueprint::evaluated::memory.at[Blueprint::evaluated::schedule.loss].input;
}

} // namespace cairn::detail
