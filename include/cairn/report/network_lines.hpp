// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <cairn/core/tensor.hpp>
#include <cairn/layer/description.hpp>
#include <cairn/net/block_ways.hpp>
#include <cairn/net/blueprint.hpp>
#include <cairn/net/elements.hpp>
#include <cairn/net/made_of.hpp>
#include <cairn/plan/kept.hpp>
#include <cairn/report/names.hpp>

namespace cairn::detail {

// A span [begin, end) of the flat gradient buffer, in elements.
struct gradient_span {
  std::size_t begin = 0;
  std::size_t end = 0;
};

// The extents of some tensors at this batch: "(64, 512)", "(64, 8) (64, 8)".
inline std::string text_of_extents(const tensor* first, std::size_t count, std::size_t batch) {
  std::string out;
  for (std::size_t k = 0; k < count; ++k) {
    const tensor& made = first[k];
    std::string extents = made.per_batch ? "" : std::to_string(batch);
    for (std::size_t axis = 0; axis < made.extents.rank; ++axis)
      extents += (extents.empty() ? "" : ", ") + std::to_string(made.extents[axis]);
    out += (k == 0 ? "(" : " (") + extents + ")";
  }
  return out;
}

// The work of one line of a network's type in one training step. A line in a Repeat covers all its repetitions: its numbers
// are sums over `times` stages, so that the lines of one level add up.
struct network_line {
  std::string name;      // as it was typed; a block by its kind, as its parts are the next lines
  std::size_t level = 0; // how many blocks and repetitions it is in
  bool group = false;    // a repetition or a branch of several stages: no stage itself, the sum of the lines below it
  std::size_t times = 0; // how many stages; of a group: repetitions
  value_list outputs{};  // that it makes, without those that pass by
  std::vector<std::size_t> positions{};   // in its own chain, the same for each repetition of that chain
  std::size_t parameters = 0;             // that are learnt
  std::size_t frozen = 0;                 // parameters that are not
  std::size_t forwards = 0;               // how many run in one step
  std::size_t stored = 0;                 // how many of the stages store an output or a tape between forward and backward
  std::size_t recomputed = 0;             // how many of them run forward more than once
  std::size_t tape_bytes = 0;             // stored between forward and backward: own tape, and output where it is stored
  std::uint64_t flops = 0;                // of a step for one sample
  std::vector<gradient_span> gradients{}; // of each stage
};

// How a step uses one stage. A block's chain is used as the block is.
struct stage_use {
  std::size_t forwards = 0;   // that make no tape
  std::size_t taped = 0;      // that make the tape and the output
  std::size_t tapes_only = 0; // that make the tape alone
  std::size_t backwards = 0;
  std::size_t last_backwards = 0; // those that leave the input gradient out
  bool tape_stored = false;       // while the whole network computes its loss
  bool output_stored = false;
  std::size_t gradient_begin = 0; // in the flat buffer
  std::size_t way = 0;            // of a block: see net/block_ways.hpp

  std::size_t all_forwards() const { return forwards + taped + tapes_only; }
  std::uint64_t flops(const stage& s) const {
    return (forwards + taped) * s.forward_flops + tapes_only * s.tape_flops + backwards * s.backward_flops +
           last_backwards * (s.backward_flops - s.input_gradient_flops);
  }
};

// A chain, its schedules, and what they keep over the loss: the uses of its stages follow from these.
struct followed_chain {
  std::span<const stage> stages;
  std::span<const op> evaluation, training; // schedules
  std::size_t loss;                         // where in training
  std::size_t lasting;
  bool lasting_output;                         // as in schedule<>
  std::span<const bool> value_kept, tape_kept; // over the loss, each with one more than stages
  std::span<const std::size_t> parameter_begin;
  std::span<const std::uint8_t> way;
  bool lent_output;
};

// How each stage of a chain is used, if the chain is used as `whole` says. It does as the executor: what runs in the forward
// pass, and what is left out if the output is not wanted.
inline std::vector<stage_use> uses_inside(const followed_chain& chain, const stage_use& whole) {
  std::vector<stage_use> out(chain.stages.size());
  const auto forward = [&](const op& o, std::size_t times, bool tape_only) {
    stage_use& u = out[o.position];
    const bool output = (o.wants_output && !tape_only) || !chain.stages[o.position].tape_without_output;
    (o.wants_tape ? output ? u.taped : u.tapes_only : u.forwards) += times;
  };
  for (const op& o : chain.evaluation)
    if (o.kind == op_kind::forward) forward(o, whole.forwards, false);
  for (std::size_t t = 0; t < chain.loss; ++t) {
    const op& o = chain.training[t];
    if (o.kind != op_kind::forward) continue;
    forward(o, whole.taped, false);
    const bool last = t + 1 == chain.lasting;
    if (t < chain.lasting) forward(o, whole.tapes_only, last && !chain.lasting_output);
  }
  const std::size_t backwards = whole.backwards + whole.last_backwards;
  for (const op& o : chain.training.subspan(chain.loss + 1)) {
    if (o.kind == op_kind::forward) forward(o, backwards, false);
    if (o.kind != op_kind::backward) continue;
    // Whether the chain has to make its input gradient is up to the chain around it.
    const std::size_t without = !o.wants_input_gradient ? backwards : o.position == 0 ? whole.last_backwards : 0;
    out[o.position].last_backwards += without;
    out[o.position].backwards += backwards - without;
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i].tape_stored = whole.tape_stored && chain.tape_kept[i];
    out[i].output_stored = whole.tape_stored && chain.value_kept[i + 1];
    out[i].gradient_begin = whole.gradient_begin + chain.parameter_begin[i];
    out[i].way = chain.way[i];
  }
  if (chain.lent_output) out.back().output_stored = whole.output_stored; // it is the block's own
  return out;
}

// Several copies of one chain, and how each uses its stages.
using chain_uses = std::vector<std::vector<stage_use>>;

// The line of a layer or a block at these positions of its chain. `in` has its stage in each way.
inline network_line line_of(std::string name, const std::array<const stage*, way_count>& in, std::size_t batch,
                            std::size_t frozen, std::span<const stage_use> uses, const std::vector<std::size_t>& starts,
                            std::size_t level) {
  network_line line{.name = std::move(name), .level = level, .times = uses.size(), .positions = starts};
  for (const stage_use& u : uses) {
    const stage& s = *in[u.way];
    line.parameters += s.parameters;
    line.frozen += frozen;
    line.forwards += u.all_forwards();
    line.stored += u.output_stored || (u.tape_stored && s.keeps_tape()) ? 1U : 0U;
    line.recomputed += u.all_forwards() > 1 ? 1U : 0U;
    line.tape_bytes += (u.tape_stored ? s.tape.at(batch) : 0) + (u.output_stored ? s.output.at(batch) : 0);
    line.flops += u.flops(s);
    line.gradients.push_back({u.gradient_begin, u.gradient_begin + s.parameter_block});
  }
  return line;
}

// Adds to line `here`, the last of its level, the frozen parameters of the lines right below it.
inline void add_frozen_below(std::vector<network_line>& lines, std::size_t here) {
  for (std::size_t i = here + 1; i < lines.size(); ++i)
    if (lines[i].level == lines[here].level + 1) lines[here].frozen += lines[i].frozen;
}

// Makes line `here`, the last of its level, the sum of those right below it.
inline void add_up_below(std::vector<network_line>& lines, std::size_t here) {
  network_line sum = std::move(lines[here]);
  for (std::size_t i = here + 1; i < lines.size(); ++i) {
    const network_line& part = lines[i];
    if (part.level != sum.level + 1) continue; // deeper lines are in these already
    sum.outputs = part.outputs;
    sum.parameters += part.parameters;
    sum.frozen += part.frozen;
    sum.forwards += part.forwards;
    sum.tape_bytes += part.tape_bytes;
    sum.flops += part.flops;
    sum.gradients.insert(sum.gradients.end(), part.gradients.begin(), part.gradients.end());
  }
  lines[here] = std::move(sum);
}

// A part of a network's type, independent of its place and plan.
struct type_part {
  part_kind as = part_kind::layer;
  std::string_view type{};   // of a layer, as compilers spell it
  std::string_view kind{};   // the name of a part that is no layer
  std::string_view policy{}; // of a block that adds only a schedule, as compilers spell it
  std::string_view part_name{};
  std::size_t times = 1;                                 // repetitions of a sequence
  std::size_t stages = 1;                                // of all repetitions
  std::size_t elements = 1;                              // of one repetition, equal ones counted once
  bool takes_one_place = false;                          // a sequence with a line of its own
  tensor_list (*parameters)(const arguments&) = nullptr; // of a layer that has some
  std::span<const type_part* const> parts{};
};

template <class Body, class Parts = typename made_of<Body>::parts>
struct type_part_of;
template <class Body, class... Parts>
struct type_part_of<Body, pack<Parts...>> {
  static constexpr std::array<const type_part*, sizeof...(Parts)> parts{&type_part_of<Parts>::value...};
  static constexpr type_part value = [] {
    type_part out{
        .as = made_of<Body>::as, .part_name = part_name<Body>, .takes_one_place = takes_one_place<Body>, .parts = parts};
    if constexpr (made_of<Body>::as == part_kind::layer) {
      out.type = type_name<Body>();
      if constexpr (requires(const arguments& in) { Body::parameters(in); })
        out.parameters = [](const arguments& in) { return tensor_list(Body::parameters(in)); };
    } else if constexpr (requires { made_of<Body>::name; }) {
      out.kind = made_of<Body>::name; // a Sequential has none, as it has no line
    }
    if constexpr (adds_a_schedule<Body>) out.policy = type_name<typename made_of<Body>::policy>();
    if constexpr (made_of<Body>::as == part_kind::sequence)
      out.times = made_of<Body>::times, out.stages = flattened<Body>::stages, out.elements = flattened<Body>::elements::size;
    return out;
  }();
};

// The elements of a chain and the chains inside its blocks, all in one of their ways; nothing if no block takes it.
struct chain_in_way {
  const stage* elements = nullptr;
  std::span<const std::span<const struct planned_chain* const>> inner{};
};

// A chain as it was planned.
struct planned_chain {
  followed_chain used;
  std::size_t batch = 0, parameter_block = 0;
  bool is_frozen = false;
  double over_best = 1; // see plan_of.hpp
  const tensor_list* constants = nullptr;
  std::array<chain_in_way, way_count> in_way{};
  // For each element:
  const description* made = nullptr;
  std::span<const value_list* const> arrives{};

  std::size_t size() const { return used.stages.size(); }
};

template <class Chain, class Indices = std::make_index_sequence<Chain::elements::size>>
struct planned_chain_of;
template <class Chains>
struct planned_chains;
template <class... Chains>
struct planned_chains<pack<Chains...>> {
  static constexpr std::array<const planned_chain*, sizeof...(Chains)> value{&planned_chain_of<Chains>::value...};
};
template <class Chain, std::size_t... I>
struct planned_chain_of<Chain, std::index_sequence<I...>> {
  template <std::size_t Element, std::size_t Way>
  static constexpr std::span<const planned_chain* const> inside() {
    if constexpr (Way > 0) {
      if constexpr (!Chain::ways::takes(Element, Way)) return {};
      else return planned_chains<typename Chain::template inner<Element, Way>::type>::value;
    } else if constexpr (is_block<pack_element<Element, typename Chain::elements>>) {
      return planned_chains<typename Chain::template inner<Element>::type>::value;
    } else {
      return {};
    }
  }
  static constexpr auto kept = kept_over_loss<Chain::size>(Chain::whole, Chain::training.ops());
  static constexpr std::array<const value_list*, sizeof...(I)> arrives = [] { // nvcc 13 takes no address in a pack
    std::array<const value_list*, sizeof...(I)> each{};
    for (std::size_t i = 0; i < each.size(); ++i) each[i] = &Chain::values.input(i);
    return each;
  }();
  template <std::size_t Way>
  static constexpr std::array<std::span<const planned_chain* const>, sizeof...(I)> inner{inside<I, Way>()...};
  template <std::size_t Way>
  static constexpr chain_in_way in_way() {
    if constexpr (!Chain::ways::takes(Way)) return {};
    else return {Chain::template element_stages_in<Way>.data(), inner<Way>};
  }
  static constexpr planned_chain value{.used = {Chain::whole.stages, Chain::evaluated::schedule.ops(), Chain::training.ops(),
                                                Chain::training.loss, Chain::training.lasting, Chain::training.lasting_output,
                                                kept.value, kept.tape, Chain::parameter_begin, Chain::ways::way,
                                                Chain::whole.lent_output},
                                       .batch = Chain::batch,
                                       .parameter_block = Chain::parameter_block,
                                       .is_frozen = Chain::is_frozen,
                                       .over_best = over_best_of<typename Chain::trained>(),
                                       .constants = &Chain::constants,
                                       .in_way = {in_way<0>(), in_way<1>(), in_way<2>(), in_way<3>()},
                                       .made = Chain::values.of.data(),
                                       .arrives = arrives};
};

// Writes the lines of a part of a chain. A template, so that a program which asks for none compiles none.
template <class Lines = std::vector<network_line>>
class line_writer {
  using places = std::vector<std::size_t>;

public:
  // The part begins at element `first` of the chain. `starts`: the stages at which it begins, one for each repetition.
  static void write(Lines& out, const planned_chain& chain, std::size_t first, const type_part& part, const chain_uses& copies,
                    const places& starts, std::size_t level) {
    if (part.as == part_kind::sequence) write_sequence(out, chain, first, part, copies, starts, level);
    else write_stage(out, chain, first, part, copies, starts, level);
  }

private:
  // A layer or a block.
  static void write_stage(Lines& out, const planned_chain& chain, std::size_t first, const type_part& part,
                          const chain_uses& copies, const places& starts, std::size_t level) {
    std::vector<stage_use> uses;
    for (const auto& copy : copies)
      for (const std::size_t at : starts) uses.push_back(copy[at]);
    const description& made = chain.made[first];
    const std::size_t here = out.size();
    std::array<const stage*, way_count> in{};
    for (std::size_t way = 0; way < way_count; ++way)
      if (chain.in_way[way].elements != nullptr) in[way] = chain.in_way[way].elements + first;
    out.push_back(
        line_of(name_of(part, chain.in_way[0].inner[first]), in, chain.batch, frozen(chain, first, part), uses, starts, level));
    for (std::size_t k = 0; k < made.gives; ++k) out[here].outputs.push_back(made.after[k]);
    if (part.as != part_kind::block) return;
    write_chains(out, chain, first, part, uses, level + 1);
    add_frozen_below(out, here);
  }

  // The number of parameters of a layer in a frozen block, where they are buffers.
  static std::size_t frozen(const planned_chain& chain, std::size_t first, const type_part& part) {
    if (!chain.is_frozen || part.parameters == nullptr) return 0;
    const value_list& before = *chain.arrives[first];
    return part.parameters({before.items.data(), chain.made[first].takes, *chain.constants}).elements();
  }

  // Writes the chains of a block. If there are several, each of more than one stage gets a line above its own lines. The
  // gradients of the last chain come first.
  static void write_chains(Lines& out, const planned_chain& around, std::size_t first, const type_part& block,
                           const std::vector<stage_use>& uses, std::size_t level) {
    const std::span<const planned_chain* const> chains = around.in_way[0].inner[first]; // in every way the same layers
    std::vector<std::size_t> begin(chains.size());
    for (std::size_t c = chains.size(), sum = 0; c-- > 0; sum += chains[c]->parameter_block) begin[c] = sum;
    for (std::size_t c = 0; c < chains.size(); ++c) {
      const planned_chain& inner = *chains[c];
      chain_uses inside;
      for (stage_use u : uses) {
        u.gradient_begin += begin[c];
        inside.push_back(uses_inside(around.in_way[u.way].inner[first][c]->used, u));
      }
      if (chains.size() == 1 || inner.size() == 1) {
        write(out, inner, 0, *block.parts[c], inside, {0}, level);
        continue;
      }
      const std::string name =
          block.part_name.empty() ? "branch " + std::to_string(c) : std::string(block.part_name) + std::to_string(c + 1);
      network_line group{.name = name, .level = level, .group = true, .times = uses.size()};
      for (std::size_t i = 0; i < inner.size(); ++i) group.positions.push_back(i);
      const std::size_t here = out.size();
      out.push_back(std::move(group));
      write(out, inner, 0, *block.parts[c], inside, {0}, level + 1);
      add_up_below(out, here);
    }
  }

  // Writes a sequence, which is several stages of a chain, once or repeated.
  static void write_sequence(Lines& out, const planned_chain& chain, std::size_t first, const type_part& part,
                             const chain_uses& copies, const places& starts, std::size_t level) {
    const std::size_t stages = part.stages / part.times;
    places all;
    for (const std::size_t at : starts)
      for (std::size_t k = 0; k < part.times; ++k) all.push_back(at + k * stages);
    if (!part.takes_one_place && (part.times == 1 || part.elements == 1))
      return write_parts(out, chain, first, part, copies, all, level);
    network_line group{.name = std::string(part.kind), .level = level, .group = true, .times = copies.size() * all.size()};
    for (const std::size_t at : all)
      for (std::size_t i = 0; i < stages; ++i) group.positions.push_back(at + i);
    const std::size_t here = out.size();
    out.push_back(std::move(group));
    write_parts(out, chain, first, part, copies, all, level + 1);
    add_up_below(out, here);
  }
  static void write_parts(Lines& out, const planned_chain& chain, std::size_t first, const type_part& sequence,
                          const chain_uses& copies, places starts, std::size_t level) {
    for (const type_part* part : sequence.parts) {
      write(out, chain, first, *part, copies, starts, level);
      first += part->elements;
      for (std::size_t& at : starts) at += part->stages;
    }
  }

  // A block has the name of its kind, and of its policy if that is all it adds.
  static std::string name_of(const type_part& part, std::span<const planned_chain* const> chains) {
    if (part.as == part_kind::layer) return typed_name(part.type);
    if (part.policy.empty()) return std::string(part.kind);
    return std::string(part.kind) + "<" + typed_name(part.policy) + ">" + remark_on_cost(chains.front()->over_best);
  }
};

// The lines of a whole network, in the order in which its type names them. Plan is its blueprint, Body its contents:
// lines_of<blueprint_of<Model, Batch>, Body>().
template <class Plan, class Body>
std::vector<network_line> lines_of() {
  const stage_use step{.taped = 1, .backwards = 1, .tape_stored = true};
  const planned_chain& chain = planned_chain_of<Plan>::value;
  std::vector<network_line> out;
  line_writer<>::write(out, chain, 0, type_part_of<Body>::value, {uses_inside(chain.used, step)}, {0}, 0);
  return out;
}

#if CAIRN_WITH_COMPILED
CAIRN_COMPILED template class line_writer<std::vector<network_line>>;
#endif

} // namespace cairn::detail
