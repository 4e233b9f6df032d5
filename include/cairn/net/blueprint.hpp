// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include <cairn/core/batch.hpp>
#include <cairn/core/explain.hpp>
#include <cairn/core/pack.hpp>
#include <cairn/core/tensor.hpp>
#include <cairn/core/tensor_types.hpp>
#include <cairn/layer/description.hpp>
#include <cairn/net/checked_network.hpp>
#include <cairn/net/elements.hpp>
#include <cairn/net/fused_update.hpp>
#include <cairn/net/head.hpp>
#include <cairn/net/inner_blueprints.hpp>
#include <cairn/net/made_of.hpp>
#include <cairn/net/repeat.hpp>
#include <cairn/net/residual.hpp>
#include <cairn/net/sequential.hpp>
#include <cairn/net/ties.hpp>
#include <cairn/net/walk.hpp>
#include <cairn/net/ways.hpp>
#include <cairn/plan/buckets.hpp>
#include <cairn/plan/checked_policy.hpp>
#include <cairn/plan/fingerprint.hpp>
#include <cairn/plan/gradient_windows.hpp>
#include <cairn/plan/plan_of.hpp>

namespace cairn::detail {

template <class Body, class Policy, class In, unsigned Used, std::size_t Batch, class T, class Around, class Update,
          class Elements, class Indices>
struct drawn;

template <class Body, class Policy, class In, unsigned Used, std::size_t Batch, class T, class Around, class Update,
          class... Elements, std::size_t... Index>
struct drawn<Body, Policy, In, Used, Batch, T, Around, Update, pack<Elements...>, std::index_sequence<Index...>> {
  using body = Body;
  using elements = pack<Elements...>;
  using element = T;
  using self = drawn;
  using around = Around;
  using update = Update;
  static constexpr std::size_t batch = Batch;
  static constexpr std::size_t size = flattened<Body>::stages;
  static constexpr bool gives_input_gradient = std::is_same_v<Around, reader_of_input_gradient>; // of the whole network
  static constexpr bool is_root = std::is_void_v<Around> || gives_input_gradient;
  static constexpr bool all_outputs = is_root && Used == all_tensors; // the program reads all of them
  static constexpr bool is_frozen = std::is_same_v<Update, never_used>;
  static constexpr scale to{sizes_of<T>, Batch};

  static constexpr value_list inputs{value_of_type<In>::tensors};
  static constexpr tensor_list constants = value_of_type<In>::constants;
  static constexpr auto order = order_of<Body>();
  // The values fit: net/checked_network.hpp has checked them before.
  struct everything {
    std::array<element_facts, sizeof...(Elements)> facts{};
    walked<sizeof...(Elements), size> values{};
  };
  static constexpr everything known = [] {
    everything out{};
    out.values = walk<Body>::from(inputs, constants, static_cast<tensor_set>(Used), to, out.facts.data());
    if constexpr (is_frozen) // its parameters are buffers, and their gradients are not computed
      for (element_facts& f : out.facts) {
        if (f.parameter_count > 0) f.as_stage.backward_flops = f.as_stage.input_gradient_flops;
        f.as_stage.state_block += f.as_stage.parameter_block;
        f.as_stage.parameters = f.as_stage.parameter_block = f.parameter_count = 0;
      }
    return out;
  }();
  static constexpr const auto& values = known.values;
  static constexpr const auto& element_of = known.facts;
  static constexpr value_list outputs = known.values.output(); // a copy: nvcc initialises a reference to a part twice
  static constexpr shape input_shape = inputs[0].extents;      // of the first tensor
  static constexpr shape output_shape = outputs[0].extents;
  struct output {
    static constexpr tensor value = outputs[0];
  };

  using head = head_of<self>;
  template <std::size_t I, std::size_t Way = 0>
  using inner = inner_blueprints<self, I, pack_element<I, elements>, Way>;
  template <std::size_t I, class E, std::size_t Way = 0>
  using inner_of = inner_blueprints<self, I, E, Way>;

  static constexpr bool has_blocks = [] {
    for (const bool block : {false, is_block<Elements>...})
      if (block) return true;
    return false;
  }();

  // One stage for each element. Naming the chain's type at each layer would cost the compiler the square of the chain's length,
  // so layers are read from the walk, in one loop.
  template <std::size_t Way, std::size_t I, class E>
  static constexpr void block_stage(stage* to_write) {
    if constexpr (is_block<E>) to_write[I] = inner_of < I, E, offers_ways<E> ? Way : 0 > ::as_stage();
  }
  template <std::size_t Way>
  static constexpr std::array<stage, sizeof...(Elements)> element_stages_in = [] {
    std::array<stage, sizeof...(Elements)> out{};
    const std::array<const char*, sizeof...(Elements)> types{spelling<Elements>()...};
    for (std::size_t e = 0; e < sizeof...(Elements); ++e) out[e] = element_of[e].as_stage;
    if constexpr (has_blocks) {
      using writer = void (*)(stage*);
      constexpr std::array<writer, sizeof...(Elements)> writers{&block_stage<Way, Index, Elements>...};
      for (const writer write : writers) write(out.data());
    }
    for (std::size_t e = 0; e < sizeof...(Elements); ++e) {
      const value_list& before = values.input(e);
      const value_list& after = values.of[e].after;
      out[e].output = to.of(after);
      out[e].type = types[e];
      if (after.count > 1 || before.count > 1 || after.items[0].type != before.items[0].type) {
        const bool same = same_layout(before, after, to);
        out[e].in_place_forward = out[e].in_place_forward && same;
        out[e].in_place_backward = out[e].in_place_backward && same;
      }
    }
    if (head::in_strips) out[head::element] = head::in_step(out[head::element]);
    return out;
  }();
  static constexpr std::span<const stage> element_stages = element_stages_in<0>; // nvcc 13 takes no reference

  static constexpr std::size_t without_gradient(const value_list& value, tensor_set gradients) {
    if (gradients == first_tensors(value.count)) return 0;
    return to.of(value).at(Batch) - align_up(to.of(value, gradients).at(Batch));
  }
  // One for each run of an element, each block in the way in which it was typed.
  static constexpr std::array<stage, size> typed_stages = [] {
    std::array<stage, size> list{};
    for (std::size_t i = 0; i < size; ++i) {
      list[i] = element_stages[order[i]];
      list[i].without_gradient = without_gradient(values.of[order[i]].after, values.gradients[i + 1]);
      if (values.gradients[i] != values.gradients[i + 1]) list[i].in_place_backward = false;
      if (!is_root && i + 1 == size) list[i].backward_workspace.per_batch += list[i].kept_gradient_workspace;
    }
    return list;
  }();

  // The offset of each stage's parameters (and buffers) in the chain's block, in elements. Backward finishes the last stage
  // first, and parameters lie in that order, so that finished gradients are always one span from the start.
  static constexpr std::array<std::size_t, size + 1> parameter_begin = [] {
    std::array<std::size_t, size + 1> at{};
    std::size_t sum = 0;
    for (std::size_t i = size; i-- > 0;) {
      at[i] = sum;
      sum += typed_stages[i].parameter_block;
    }
    at[size] = sum;
    return at;
  }();
  static constexpr std::array<std::size_t, size + 1> state_begin = [] {
    std::array<std::size_t, size + 1> at{};
    for (std::size_t i = 0; i < size; ++i) at[i + 1] = at[i] + typed_stages[i].state_block;
    return at;
  }();
  static constexpr std::array<std::uint32_t, size + 1> leaf_begin = [] {
    std::array<std::uint32_t, size + 1> at{};
    for (std::size_t i = 0; i < size; ++i) at[i + 1] = at[i] + static_cast<std::uint32_t>(typed_stages[i].leaves);
    return at;
  }();

  // Layers that take their first parameter from another layer. A wrong tie has an error of its own (net/ties.hpp).
  static constexpr std::size_t tie_count = [] {
    std::size_t count = 0;
    for (std::size_t i = 0; i < size; ++i) count += element_of[order[i]].tied_to != nullptr ? 1U : 0U;
    return count;
  }();
  static constexpr auto ties = find_ties<tie_count>(element_of, order, typed_stages);
  static constexpr bool right_ties = [] {
    if constexpr (tie_count > 0 && (!is_root || !ties.right)) return untied<Body>::template right<untied<Body>>();
    else return true;
  }();

  // The end of every parameter in the flat buffer, in the order in which backward finishes them. Those of a layer come from the
  // walk, those of a block from the blueprints of its chains.
  using end_writer = gradient_end* (*)(gradient_end*, std::size_t, std::size_t&);
  template <std::size_t I, class E>
  static constexpr end_writer block_ends() {
    if constexpr (is_block<E>) return &each_blueprint<typename inner_of<I, E>::type>::write_ends;
    else return end_writer{};
  }
  template <std::size_t I, class E>
  static constexpr std::size_t block_tensors() {
    if constexpr (is_block<E>) return each_blueprint<typename inner_of<I, E>::type>::tensors;
    else return 0;
  }
  static constexpr std::size_t tensors = [] {
    std::array<std::size_t, sizeof...(Elements)> of{};
    if constexpr (has_blocks) of = {block_tensors<Index, Elements>()...};
    std::size_t sum = 0;
    for (std::size_t i = 0; i < size; ++i) sum += of[order[i]] + element_of[order[i]].parameter_count;
    return sum;
  }();
  static constexpr gradient_end* write_ends(gradient_end* out, std::size_t begin, std::size_t& leaf) {
    constexpr std::array<bool, sizeof...(Elements)> blocks{is_block<Elements>...};
    std::array<end_writer, sizeof...(Elements)> writers{};
    if constexpr (has_blocks) writers = {block_ends<Index, Elements>()...};
    for (std::size_t i = size; i-- > 0;) {
      const std::size_t own = begin + parameter_begin[i];
      if (blocks[order[i]]) { // not asked of the writer: g++ cannot compare addresses here under -fsanitize=undefined
        out = writers[order[i]](out, own, leaf);
        continue;
      }
      const element_facts& d = element_of[order[i]];
      for (std::size_t p = 0; p < d.parameter_count; ++p) *out++ = {own + d.parameter_ends[p], leaf};
      ++leaf;
    }
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
    return make_buckets<tensors + 1>(std::span<const gradient_end>{ends.data(), count}, sizeof(accumulated<T>), Most);
  }();
  // With a fused update the buckets lie in the arena, each for as long as it is needed.
  static constexpr bool fused = Update::fused;
  static constexpr auto windows = [] {
    if constexpr (fused)
      return make_windows<tensors + 1>(buckets<Update::bytes, true>.buckets(), parameter_begin, size, sizeof(accumulated<T>),
                                       Update::in_flight);
    else return window_plan<0>{};
  }();

  static constexpr chain_ends ends = [] {
    if constexpr (is_root) {
      return chain_ends{};
    } else {
      element_facts last = element_of[order[size - 1]];
      last.as_stage = element_stages[order[size - 1]]; // the walk does not know a block's stage
      return made_of<Around>::ends(element_of[order[0]], last);
    }
  }();
  // A block does not overwrite the gradient of its output: a residual block around it may still add it.
  struct typed_source {
    static constexpr chain value{.stages = typed_stages,
                                 .batch = Batch,
                                 .input = to.of(inputs),
                                 .input_without_gradient = without_gradient(inputs, values.gradients[0]),
                                 .lent = !is_root,
                                 .lent_output = !is_root && ends.output,
                                 .lent_input_gradient = is_root ? gives_input_gradient : ends.input_gradient,
                                 .keeps_output_gradient = !is_root,
                                 .windows = windows.windows()};
  };
  // Under a budget, blocks may leave the way in which they were typed: then these are other stages.
  using ways = chosen_ways<self, Policy>;
  using source = typename ways::source;
  static constexpr std::span<const stage> stages = ways::stages;
  static constexpr chain whole = source::value;

  // Plans of the training step, and of the forward pass alone, which keeps nothing: for evaluation, and for a forward that is
  // recomputed later. Each part of a plan, such as trained::memory, is computed only when it is named.
  using trained = plan_of<source, sound_policy<typename ways::policy, source>>;
  using evaluated = plan_of<typename head::evaluated_source, forward_pass>;
  static constexpr const auto& training = trained::schedule;

  static constexpr std::size_t parameter_block = parameter_begin[size];
  static constexpr std::size_t largest_block = largest_block_of(typed_stages); // of one stage
  static constexpr std::size_t state_block = state_begin[size];
  static constexpr std::size_t leaves = leaf_begin[size];
  static constexpr std::size_t parameters = parameters_of(typed_stages);

  // Does a forward that makes only the tape write to the block's output? Then the output needs memory, even if it is not read.
  // Only the very last op may be asked for its tape alone; any other op that is asked for its output makes it.
  static constexpr bool last_writes_output = [] {
    for (std::size_t t = 0; t != training.lasting; ++t) {
      const op& o = training.storage[t];
      const bool tape_only = t + 1 == training.lasting && !training.lasting_output;
      if (o.kind == op_kind::forward && trained::memory.at[t].output.where == region::output &&
          (!stages[o.position].tape_without_output || (o.wants_output && !tape_only)))
        return true;
    }
    return false;
  }();

  // The facts of this chain that a block around it reads.
  static constexpr chain_facts facts = [] {
    chain_facts f{};
    f.size = size;
    f.output_elements = outputs[0].size();
    f.input_elements = inputs[0].size();
    f.output_bytes = to.of(outputs).at(Batch);
    f.input_bytes = to.of(inputs).at(Batch);
    f.tape = trained::memory.tape;
    f.forward_workspace = trained::memory.forward_workspace;
    f.evaluation_workspace = evaluated::memory.forward_workspace;
    f.backward_workspace = trained::memory.backward_workspace;
    f.ends = ends;
    f.writes_output = last_writes_output;
    const std::size_t reshaped = whole.reshaped_inputs(); // values 0 … reshaped are the block's input
    f.last_reads_input = reshaped + 1 == size;
    for (std::size_t t = training.loss + 1; t < training.count; ++t) {
      const op& o = training.storage[t];
      const bool first = o.position <= reshaped;
      const bool last = o.position + 1 == size;
      f.reads_input = f.reads_input || (first && o.kind == op_kind::forward) ||
                      (first && o.kind == op_kind::backward && stages[o.position].reads_input) ||
                      (o.position + 1 <= reshaped && o.kind == op_kind::backward && stages[o.position].reads_output);
      f.reads_output = f.reads_output || (ends.output && last && o.kind == op_kind::backward && stages[size - 1].reads_output);
    }
    f.leaves = leaves;
    f.parameters = parameters;
    f.parameter_block = parameter_block;
    f.gradient_bytes = parameter_block * sizeof(accumulated<T>);
    f.state_block = state_block;
    const auto part = [](std::size_t from, std::size_t end) { return flops(whole, training.ops().subspan(from, end - from)); };
    f.forward_flops = flops(typed_source::value, evaluated::schedule.ops());
    f.tape_flops = part(0, training.lasting);
    f.input_gradient_flops = stages[0].input_gradient_flops;
    f.backward_flops = part(training.loss, training.count);
    return f;
  }();

  template <std::size_t I, class E>
  static constexpr std::uint64_t element_hash() {
    if constexpr (is_block<E>) return each_blueprint<typename inner_of<I, E>::type>::network_hash(made_of<E>::name);
    else return hash64{}.add(type_name<E>()).value();
  }
  template <std::size_t I, class E>
  static constexpr std::uint64_t element_schedule() {
    if constexpr (is_block<E>) return each_blueprint<typename inner_of<I, E>::type>::schedule_hash();
    else return 0;
  }

  static constexpr std::uint64_t network_hash = [] {
    hash64 h;
    h.add(size).add(Used).add(inputs.count).add(constants.count);
    for (const std::uint64_t word : {std::uint64_t{0}, element_hash<Index, Elements>()...}) h.add(word);
    for (std::size_t i = 0; i < size; ++i) h.add(order[i]).add(typed_stages[i].parameters);
    add_tensors(h, inputs);
    add_tensors(h, constants);
    return h.value();
  }();
  static constexpr std::uint64_t schedule_hash = [] {
    hash64 h;
    add_ops(h, training.ops());
    for (const std::uint64_t word : {std::uint64_t{0}, element_schedule<Index, Elements>()...}) h.add(word);
    return h.value();
  }();
};

// All that the compiler knows of one training step of a chain of layers: values, stages, schedule, the place of every byte and
// the order in which gradients are finished. Every member is a constant, each from its own evaluation, so that none comes near
// a compiler's limit.
//
// Body: the layers. Policy: their checkpoint policy. In: the inputs, as dims<...> or tensors_of<...>. Used: the set of outputs
// that are used. Batch: the most samples in a step. T: the element type. Around: the block whose chain this is; for a whole
// network void, or reader_of_input_gradient. Update: when gradients are used. A chain inside a block has a blueprint too.
template <class Body, class Policy, class In, unsigned Used, std::size_t Batch, class T, class Around, class Update>
struct blueprint : drawn<Body, Policy, In, Used, Batch, T, Around, Update, typename flattened<Body>::elements,
                         std::make_index_sequence<flattened<Body>::elements::size>> {};

template <class Model, std::size_t Batch, class T, class Update, bool Right = right_network<Model>>
struct whole_blueprint {
  using body = typename whole<Model>::body;
  using type = blueprint<body, typename whole<Model>::policy, typename type_of_tensors<natural_input<body>>::type,
                         whole<Model>::used_outputs, cairn::batch<Batch>::size, T,
                         std::conditional_t<whole<Model>::gives_input_gradient, reader_of_input_gradient, void>,
                         std::conditional_t<whole<Model>::fused, Update, used_after_backward>>;
};
// A wrong network has already had its error. A right one replaces it, so that no other error follows.
template <class Model, std::size_t Batch, class T, class Update>
struct whole_blueprint<Model, Batch, T, Update, false> : whole_blueprint<Sequential<stand_in_layer>, Batch, T, Update, true> {};

} // namespace cairn::detail

namespace cairn {

// The blueprint of a whole network: of a Sequential, of a checkpoint<Policy, Sequential<...>>, or of a fused_update,
// with_input_gradient or with_all_outputs of one of these. Update matters for a fused_update only; its default is one rank,
// which uses the gradients of each layer at once. A wrong network is a compile error, see net/wrong_network.hpp.
template <class Model, std::size_t Batch, class T = float, class Update = detail::used_in_backward<1, 1>>
using blueprint_of = typename detail::whole_blueprint<Model, Batch, T, Update>::type;

// The bytes of the one arena in which a training step of at most Batch samples takes place: activations, tapes, their
// gradients and every layer's workspace. A constant: static_assert(peak_activation_bytes<Model, 64> < 2_MiB) is the
// out-of-memory test. Not in it: parameters, their gradients and the optimizer's state, which do not depend on Batch.
//
// With a fused_update<...> it includes the gradients: they lie in the arena, one layer's at a time. On several ranks the arena
// has two buckets, and trainer<...>::plan::trained::memory.arena is its size.
template <class Model, std::size_t Batch, class T = float>
inline constexpr std::size_t peak_activation_bytes = blueprint_of<Model, Batch, T>::trained::arena;

} // namespace cairn
