// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include <cairn/core/batch.hpp>
#include <cairn/core/bundle.hpp>
#include <cairn/core/explain.hpp>
#include <cairn/core/pack.hpp>
#include <cairn/layer/describe.hpp>
#include <cairn/net/bundle_facts.hpp>
#include <cairn/net/bundle_shapes.hpp>
#include <cairn/net/checked_network.hpp>
#include <cairn/net/composite.hpp>
#include <cairn/net/element_stage.hpp>
#include <cairn/net/elements.hpp>
#include <cairn/net/shapes.hpp>
#include <cairn/plan/buckets.hpp>
#include <cairn/plan/checked_policy.hpp>
#include <cairn/plan/fingerprint.hpp>
#include <cairn/plan/gradient_windows.hpp>
#include <cairn/plan/plan_of.hpp>

namespace cairn {

// Everything that the compiler knows of one training step of a chain of layers: shapes, stages, schedule, where every
// byte lies and in which order gradients are finished. Every member is a constant, each from its own evaluation, so
// that none comes near a compiler's limit.
//
// Body is what stands in the network, Policy its checkpoint policy, In the input's shape as dims<...> (or, if layers of
// several tensors stand in it, detail::bundle_input<...>), Batch the most samples in a step, Element the bytes of a
// number, As where the chain stands, Update when its gradients are used. A block inside has a blueprint too.
template <class Body, class Policy, class In, std::size_t Batch, std::size_t Element, role As,
          class Update = used_after_backward>
struct blueprint;

namespace detail {

template <class Body, class Policy, class In, std::size_t Batch, std::size_t Element, role As, class Update,
          class Elements, class Indices>
struct drawn;

// The blueprint of element I of a chain, which is a block there.
template <class Chain, std::size_t I, class Block>
struct inner_blueprint {
  struct source {
    static constexpr auto value = input_of_element<Block>(Chain::shapes.input[I]);
  };
  static constexpr auto* input() {
    if constexpr (Chain::several && works_on_bundles<Block>())
      return static_cast<bundle_input<typename bundle_type_of<source>::type, Chain::shapes.used[I]>*>(
          nullptr);
    else return static_cast<typename dims_of<source>::type*>(nullptr);
  }
  using type =
      blueprint<typename composite<Block>::body, typename composite<Block>::policy,
                std::remove_pointer_t<decltype(input())>, Chain::batch, Chain::element, composite<Block>::as>;
};

template <class Body, class Policy, class In, std::size_t Batch, std::size_t Element, role As, class Update,
          class... Elements, std::size_t... Index>
struct drawn<Body, Policy, In, Batch, Element, As, Update, pack<Elements...>, std::index_sequence<Index...>> {
  using elements = pack<Elements...>;
  using self = drawn;
  static constexpr std::size_t batch = Batch;
  static constexpr std::size_t element = Element;
  static constexpr role as = As;
  using update = Update;
  static constexpr std::size_t size = flattened<Body>::stages;

  // Do its stages hand several tensors to each other? Then shapes below are bundles; else they are single shapes.
  static constexpr bool several = has_bundle_input<In>;
  static constexpr const auto& input_value = In::value;
  static constexpr shape input_shape = first_shape(In::value); // of the first tensor, if there are several
  static constexpr auto order = order_of<Body>();
  static constexpr auto shapes = [] {
    if constexpr (several) return bundle_walk<Body, elements>::from(In::value, In::used);
    else return shape_walk<Body, elements>::from(In::value);
  }();
  // A chain of single shapes has been looked at before: see net/checked_network.hpp.
  static constexpr shape output_shape = first_shape(shapes.output);
  struct output {
    static constexpr shape value = output_shape;
  };

  template <std::size_t I>
  using inner = typename inner_blueprint<self, I, pack_element<I, elements>>::type;
  template <std::size_t I, class E>
  using inner_of = block_stage<self, I, E, composite<E>::is>;

  // One stage for each element, then one for each time that an element runs. Layers of one tensor answer by themselves;
  // even to name the chain beside each of them would cost the compiler the square of its length.
  static constexpr bool plain = !several && [] {
    for (const bool block : {false, composite<Elements>::is...})
      if (block) return false;
    return true;
  }();
  template <std::size_t I, class E>
  static constexpr stage describe_element() {
    stage s{};
    if constexpr (several) s = describe_among_several<E, inner_of<I, E>>(shapes.input[I], Element);
    else s = inner<I>::as_stage;
    s.type = spelling<E>();
    return s;
  }
  template <std::size_t I, class E>
  using answers =
      std::conditional_t<several || composite<E>::is, chain_element<self, I, E>, plain_element<E>>;
  static constexpr std::array<stage, sizeof...(Elements)> element_stages = [] {
    using list = std::array<stage, sizeof...(Elements)>;
    if constexpr (plain) return list{plain_element<Elements>::as_stage(shapes.input[Index], Element)...};
    else return list{answers<Index, Elements>::as_stage(shapes.input[Index], Element)...};
  }();
  static constexpr std::array<stage, size> stages = [] {
    std::array<stage, size> list{};
    for (std::size_t i = 0; i < size; ++i) list[i] = element_stages[order[i]];
    return list;
  }();

  static constexpr std::array<bool, sizeof...(Elements)> adds = [] {
    using list = std::array<bool, sizeof...(Elements)>;
    if constexpr (plain) return list{plain_element<Elements>::adds...};
    else return list{answers<Index, Elements>::adds...};
  }();
  static constexpr bool first_adds = adds[order[0]];
  static constexpr bool last_adds =
      adds[order[size - 1]] && !stages[size - 1].reads_output && !stages[size - 1].in_place_forward;

  // Where the tensors of every value lie; nothing if each value is one tensor.
  static constexpr auto values = [] {
    if constexpr (several) return parts_of_values(shapes, order, Element);
    else return std::array<parts, 0>{};
  }();

  // Where the parameters (and the state) of each stage begin in the chain's block, in numbers. Backward finishes the
  // last stage first, and the block is in that order, so that finished gradients are always one span from its start.
  static constexpr std::array<std::size_t, size + 1> parameter_begin = [] {
    std::array<std::size_t, size + 1> at{};
    std::size_t sum = 0;
    for (std::size_t i = size; i-- > 0;) {
      at[i] = sum;
      sum += stages[i].parameter_block;
    }
    at[size] = sum;
    return at;
  }();
  static constexpr std::array<std::size_t, size + 1> state_begin = [] {
    std::array<std::size_t, size + 1> at{};
    for (std::size_t i = 0; i < size; ++i) at[i + 1] = at[i] + stages[i].state_block;
    return at;
  }();
  static constexpr std::array<std::uint32_t, size + 1> leaf_begin = [] {
    std::array<std::uint32_t, size + 1> at{};
    for (std::size_t i = 0; i < size; ++i) at[i + 1] = at[i] + static_cast<std::uint32_t>(stages[i].leaves);
    return at;
  }();
  // What the elements have inside: a layer answers itself, a block through its own blueprint.
  template <std::size_t I, class E>
  static constexpr std::size_t count_tensors() {
    if constexpr (composite<E>::is) return inner<I>::tensors;
    else if constexpr (several) return parameters_among_several<E>(shapes.input[I]).count;
    else return described<E>::parameters(shapes.input[I]).count;
  }
  static constexpr std::array<std::size_t, sizeof...(Elements)> element_tensors{
      count_tensors<Index, Elements>()...};

  using end_writer = gradient_end* (*)(gradient_end*, std::size_t, std::size_t&);
  static constexpr gradient_end* write_list(const parameter_list& list, gradient_end* out, std::size_t begin,
                                            std::size_t leaf) {
    const block_layout block{list, Element};
    for (std::size_t p = 0; p < list.count; ++p)
      *out++ = {begin + (p + 1 < list.count ? block.offsets[p + 1] : block.size), leaf};
    return out;
  }
  template <std::size_t I, class E>
  static constexpr gradient_end* write_element_ends(gradient_end* out, std::size_t begin, std::size_t& leaf) {
    if constexpr (composite<E>::is) {
      return inner<I>::write_ends(out, begin, leaf);
    } else {
      ++leaf;
      if constexpr (several)
        return write_list(parameters_among_several<E>(shapes.input[I]), out, begin, leaf - 1);
      else return write_list(described<E>::parameters(shapes.input[I]), out, begin, leaf - 1);
    }
  }
  static constexpr std::array<end_writer, sizeof...(Elements)> end_writers{
      &write_element_ends<Index, Elements>...};

  static constexpr std::size_t tensors = [] {
    std::size_t sum = 0;
    for (std::size_t i = 0; i < size; ++i) sum += element_tensors[order[i]];
    return sum;
  }();

  // Every parameter's end in the flat buffer, in the order in which backward finishes them.
  static constexpr gradient_end* write_ends(gradient_end* out, std::size_t begin, std::size_t& leaf) {
    for (std::size_t i = size; i-- > 0;) out = end_writers[order[i]](out, begin + parameter_begin[i], leaf);
    return out;
  }

  // The gradients cut into buckets of at most `Most` bytes: between any two tensors, or between layers only.
  template <std::size_t Most, bool BetweenLayers>
  static constexpr auto buckets = [] {
    std::array<gradient_end, tensors + 1> ends{};
    std::size_t leaf = 0;
    write_ends(ends.data(), 0, leaf);
    std::size_t count = 0;
    for (std::size_t p = 0; p != tensors; ++p) {
      if (!BetweenLayers || count == 0 || ends[count - 1].leaf != ends[p].leaf) ++count;
      ends[count - 1] = ends[p];
    }
    return make_buckets<tensors + 1>(std::span<const gradient_end>{ends.data(), count}, Element, Most);
  }();
  // A fused update has them in the arena, each for as long as it is needed.
  static constexpr bool fused = Update::fused;
  static constexpr auto windows = [] {
    if constexpr (fused)
      return make_windows<tensors + 1>(buckets<Update::bytes, true>.buckets(), parameter_begin, size, Element,
                                       Update::in_flight);
    else return window_plan<0>{};
  }();

  // A block leaves the gradient of its output as it was lent: a residual block around it may add it later.
  struct source {
    static constexpr chain value{.stages = stages,
                                 .batch = Batch,
                                 .input = {numbers_in(In::value) * Element, 0},
                                 .lent = As != role::root,
                                 .lent_output = As == role::nested || (As == role::residual && last_adds),
                                 .lent_input_gradient =
                                     As == role::nested || (As == role::residual && first_adds),
                                 .keeps_output_gradient = As != role::root,
                                 .values = values,
                                 .windows = windows.windows()};
  };
  static constexpr chain whole = source::value;

  // The training step and the way up alone, keeping nothing: evaluation, and a forward that will be made again. Neither
  // is planned before somebody asks, and of each only what is asked for: the memory of the one is trained::memory.
  using trained = plan_of<source, sound_policy<Policy, source>>;
  using evaluated = plan_of<source, forward_pass>;
  static constexpr const auto& training = trained::schedule;

  static constexpr std::size_t parameter_block = parameter_begin[size];
  static constexpr std::size_t largest_block = [] { // of one stage
    std::size_t most = 1;
    for (const stage& s : stages) most = s.parameter_block > most ? s.parameter_block : most;
    return most;
  }();
  static constexpr std::size_t state_block = state_begin[size];
  static constexpr std::size_t leaves = leaf_begin[size];
  static constexpr std::size_t parameters = [] {
    std::size_t sum = 0;
    for (const stage& s : stages) sum += s.parameters;
    return sum;
  }();

  // Does a layer, in a forward that makes the tape, write to the lent output? Then there must be one, even when nobody
  // will read it.
  static constexpr bool last_writes_output = [] {
    for (std::size_t t = 0; t != training.lasting; ++t) {
      const op& o = training.storage[t];
      if (o.kind == op_kind::forward && trained::memory.at[t].output.where == region::output &&
          !stages[o.position].tape_without_output)
        return true;
    }
    return false;
  }();

  // The chain as one stage of the chain around it.
  static constexpr stage as_stage = [] {
    stage s{};
    const std::size_t out = output_shape.size(); // of the first tensor: to that a residual block adds
    const bool adds_at_turn = As == role::residual && !whole.lent_output;
    const bool adds_at_end = As == role::residual && !whole.lent_input_gradient;
    s.output = {numbers_in(shapes.output) * Element, 0};
    s.tape = {0, trained::memory.tape};
    s.forward_workspace = {0, trained::memory.forward_workspace};
    s.evaluation_workspace = {0, evaluated::memory.forward_workspace};
    s.backward_workspace = {0, trained::memory.backward_workspace};
    for (std::size_t t = training.turn + 1; t < training.count; ++t) {
      const op& o = training.storage[t];
      const bool first = o.position == 0;
      const bool last = o.position + 1 == size;
      s.reads_input = s.reads_input || (first && o.kind == op_kind::forward) ||
                      (first && o.kind == op_kind::backward && stages[0].reads_input);
      s.reads_output = s.reads_output || (whole.lent_output && last && o.kind == op_kind::backward &&
                                          stages[size - 1].reads_output);
    }
    // A residual block may write over its input in the very last write, when nothing reads x any more; likewise back.
    s.in_place_forward = As == role::residual && (adds_at_turn || size > 1);
    s.in_place_backward = As == role::residual && (adds_at_end || size > 1);
    s.tape_without_output = !last_writes_output;
    s.leaves = leaves;
    s.parameters = parameters;
    s.parameter_block = parameter_block;
    s.state_block = state_block;
    const auto part = [](std::size_t from, std::size_t to) {
      return flops(whole, training.ops().subspan(from, to - from));
    };
    s.forward_flops = flops(whole, evaluated::schedule.ops()) + (adds_at_turn ? out : 0);
    s.tape_flops = part(0, training.lasting);
    s.input_gradient_flops = stages[0].input_gradient_flops + (adds_at_end ? out : 0);
    s.backward_flops = part(training.turn, training.count) + (adds_at_end ? out : 0);
    return s;
  }();

  template <std::size_t I, class E>
  static constexpr std::uint64_t element_hash() {
    if constexpr (composite<E>::is) return inner<I>::network_hash;
    else return hash64{}.add(type_name<E>()).value();
  }
  template <std::size_t I, class E>
  static constexpr std::uint64_t element_schedule() {
    if constexpr (composite<E>::is) return inner<I>::schedule_hash;
    else return 0;
  }

  static constexpr std::uint64_t network_hash = [] {
    hash64 h;
    h.add(static_cast<std::uint64_t>(As)).add(size);
    for (const std::uint64_t word : {std::uint64_t{0}, element_hash<Index, Elements>()...}) h.add(word);
    for (std::size_t i = 0; i < size; ++i) h.add(order[i]).add(stages[i].parameters);
    for (std::size_t a = 0; a < input_shape.rank; ++a) h.add(input_shape[a]);
    if constexpr (several) add_ends(h, In::value, In::used);
    return h.value();
  }();
  static constexpr std::uint64_t schedule_hash = [] {
    hash64 h;
    add_ops(h, training.ops());
    for (const std::uint64_t word : {std::uint64_t{0}, element_schedule<Index, Elements>()...}) h.add(word);
    return h.value();
  }();
};

} // namespace detail

template <class Body, class Policy, class In, std::size_t Batch, std::size_t Element, role As, class Update>
struct blueprint
    : detail::drawn<Body, Policy, In, Batch, Element, As, Update, typename detail::flattened<Body>::elements,
                    std::make_index_sequence<detail::flattened<Body>::elements::size>> {};

namespace detail {

template <class Model, std::size_t Batch, std::size_t Element, class Update,
          bool Right = right_network<Model>>
struct whole_blueprint {
  using body = typename whole<Model>::body;
  using type = blueprint<body, typename whole<Model>::policy, typename input_ends<body>::type,
                         cairn::batch<Batch>::size, Element, role::root,
                         std::conditional_t<whole<Model>::fused, Update, used_after_backward>>;
};
// A wrong network has had its error, and whatever is asked of it is answered by a right one, so that it stays the only.
template <class Model, std::size_t Batch, std::size_t Element, class Update>
struct whole_blueprint<Model, Batch, Element, Update, false>
    : whole_blueprint<Sequential<stand_in_layer>, Batch, Element, Update, true> {};

} // namespace detail

// The blueprint of a whole network: of a Sequential, of a checkpoint<Policy, Sequential<...>>, or of a fused_update of one
// of these. What Update says counts for the last only: one rank uses the gradients of each layer at once. A network that
// cannot be one is a compile error, see net/wrong_network.hpp.
template <class Model, std::size_t Batch, class T = float, class Update = used_in_backward<1, 1>>
using blueprint_of = typename detail::whole_blueprint<Model, Batch, sizeof(T), Update>::type;

// The bytes of the one arena in which a training step of at most Batch samples takes place: activations, tapes, their
// gradients and every layer's workspace. A constant: static_assert(peak_activation_bytes<Model, 64> < 2_MiB) is the
// out-of-memory test. Not in it: parameters, their gradients and the optimizer's state, which do not depend on Batch.
//
// Of a fused_update<...> the gradients are in it: they lie in the arena, a layer's at a time. On several ranks it is
// trainer<...>::plan::trained::memory.arena that counts, as the arena has two buckets.
template <class Model, std::size_t Batch, class T = float>
inline constexpr std::size_t peak_activation_bytes = blueprint_of<Model, Batch, T>::trained::arena;

} // namespace cairn
