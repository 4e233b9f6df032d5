// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <cairn/core/shape.hpp>
#include <cairn/net/blueprint.hpp>
#include <cairn/net/composite.hpp>
#include <cairn/net/elements.hpp>
#include <cairn/plan/kept.hpp>
#include <cairn/report/names.hpp>

namespace cairn {

// A span [begin, end) of the flat gradient buffer, in elements.
struct gradient_span {
  std::size_t begin = 0;
  std::size_t end = 0;
};

// What one line of a network's type does in one training step. A line that stands in a Repeat speaks for all its
// repetitions: its numbers are sums over `times` stages, so that the lines of one level add up.
struct network_line {
  std::string name;      // as it was typed; a block by its kind, as what it is made of are the next lines
  std::size_t level = 0; // in how many blocks and repetitions it stands
  bool group = false;    // a Repeat of several stages: no stage itself, the sum of the lines below it
  std::size_t times = 0; // how many stages; of a group: how many repetitions
  shape output_shape{};  // of one sample
  std::vector<std::size_t> positions{}; // in its chain, the same for each repetition of that chain
  std::size_t parameters = 0;
  std::size_t forwards = 0; // how many run in one step
  std::size_t stored = 0;     // how many of the stages store an output or a tape between forward and backward
  std::size_t recomputed = 0; // how many of them run forward more than once
  std::size_t tape_bytes = 0; // stored between forward and backward: own tape, and output where it is stored
  std::uint64_t flops = 0;    // of a step for one sample
  std::vector<gradient_span> gradients{}; // of each stage
};

namespace detail {

// How a step makes use of one stage. A block's chain is used as the block is.
struct stage_use {
  std::size_t forwards = 0;   // that make no tape
  std::size_t taped = 0;      // that make the tape and the output
  std::size_t tapes_only = 0; // that make the tape alone
  std::size_t backwards = 0;
  std::size_t last_backwards = 0; // those that leave the input gradient out
  bool tape_stored = false;       // while the whole network computes its loss
  bool output_stored = false;
  std::size_t gradient_begin = 0; // in the flat buffer

  std::size_t all_forwards() const { return forwards + taped + tapes_only; }
  std::uint64_t flops(const stage& s) const {
    return (forwards + taped) * s.forward_flops + tapes_only * s.tape_flops + backwards * s.backward_flops +
           last_backwards * (s.backward_flops - s.input_gradient_flops);
  }
};

// How each stage of a chain is used, if the chain is used as `whole` says. It follows the executor: what runs in the
// forward pass, and what is left out when the output is not wanted.
template <class Chain>
std::vector<stage_use> uses_inside(const stage_use& whole) {
  std::vector<stage_use> out(Chain::size);
  const auto forward = [&](const op& o, std::size_t times, bool tape_only) {
    stage_use& u = out[o.position];
    const bool output = (o.wants_output && !tape_only) || !Chain::stages[o.position].tape_without_output;
    (o.wants_tape ? output ? u.taped : u.tapes_only : u.forwards) += times;
  };
  const auto& training = Chain::training;
  for (const op& o : Chain::evaluated::schedule.ops())
    if (o.kind == op_kind::forward) forward(o, whole.forwards, false);
  for (std::size_t t = 0; t < training.turn; ++t) {
    const op& o = training.storage[t];
    if (o.kind != op_kind::forward) continue;
    forward(o, whole.taped, false);
    const bool last = t + 1 == training.lasting;
    if (t < training.lasting) forward(o, whole.tapes_only, last && !training.lasting_output);
  }
  const std::size_t backwards = whole.backwards + whole.last_backwards;
  for (std::size_t t = training.turn + 1; t < training.count; ++t) {
    const op& o = training.storage[t];
    if (o.kind == op_kind::forward) forward(o, backwards, false);
    if (o.kind != op_kind::backward) continue;
    // Whether the chain has to make its input gradient is up to the chain around it.
    const std::size_t without = !o.wants_input_gradient ? backwards
                                : o.position == 0       ? whole.last_backwards
                                                        : 0;
    out[o.position].last_backwards += without;
    out[o.position].backwards += backwards - without;
  }
  static const auto kept = kept_over_turn<Chain::size>(Chain::whole, training.ops());
  for (std::size_t i = 0; i < Chain::size; ++i) {
    out[i].tape_stored = whole.tape_stored && kept.tape[i];
    out[i].output_stored = whole.tape_stored && kept.value[i + 1];
    out[i].gradient_begin = whole.gradient_begin + Chain::parameter_begin[i];
  }
  if (Chain::whole.lent_output) out.back().output_stored = whole.output_stored; // it is the block's own
  return out;
}

// Several copies of one chain, and how each uses its stages.
using chain_uses = std::vector<std::vector<stage_use>>;

// Writes the lines of Body, a part of the chain whose elements begin at First. `starts`: where in the chain it begins,
// once for each time that it is repeated there. Here: one stage, a layer or a block.
template <class Chain, std::size_t First, class Body>
struct line_writer {
  static void write(std::vector<network_line>& out, const chain_uses& copies,
                    const std::vector<std::size_t>& starts, std::size_t level) {
    network_line line{.name = name(), .level = level, .positions = starts};
    std::vector<stage_use> uses;
    for (const auto& copy : copies)
      for (const std::size_t at : starts) uses.push_back(copy[at]);
    const stage& s = Chain::element_stages[First];
    line.times = uses.size();
    for (const stage_use& u : uses) {
      line.parameters += s.parameters;
      line.forwards += u.all_forwards();
      line.stored += u.output_stored || (u.tape_stored && s.keeps_tape()) ? 1U : 0U;
      line.recomputed += u.all_forwards() > 1 ? 1U : 0U;
      line.tape_bytes +=
          (u.tape_stored ? s.tape.at(Chain::batch) : 0) + (u.output_stored ? s.output.at(Chain::batch) : 0);
      line.flops += u.flops(s);
      line.gradients.push_back({u.gradient_begin, u.gradient_begin + s.parameter_block});
    }
    if constexpr (composite<Body>::is) {
      using inner = typename Chain::template inner<First>;
      line.output_shape = inner::output_shape;
      out.push_back(std::move(line));
      chain_uses inside;
      for (const stage_use& u : uses) inside.push_back(uses_inside<inner>(u));
      line_writer<inner, 0, typename composite<Body>::body>::write(out, inside, {0}, level + 1);
    } else {
      line.output_shape = Body::output_shape(Chain::shapes.input[First]);
      out.push_back(std::move(line));
    }
  }

  static std::string name() {
    const std::string typed = name_of<Body>();
    if constexpr (!composite<Body>::is) return typed;
    else if constexpr (composite<Body>::as == role::nested)
      return "checkpoint<" + name_of<typename composite<Body>::policy>() + ">";
    else return typed.substr(0, typed.find('<'));
  }
};

template <class Chain, std::size_t First, class... Layers>
struct line_writer<Chain, First, Sequential<Layers...>> {
  static void write(std::vector<network_line>& out, const chain_uses& copies, std::vector<std::size_t> starts,
                    std::size_t level) {
    write_each(out, copies, starts, level, std::index_sequence_for<Layers...>{});
  }

private:
  // The first element of each part; one more, as there may be no part.
  static constexpr std::array<std::size_t, sizeof...(Layers) + 1> first = [] {
    std::array<std::size_t, sizeof...(Layers) + 1> at{First};
    std::size_t i = 0;
    for (const std::size_t size : {flattened<Layers>::elements::size..., std::size_t{0}}) {
      if (i < sizeof...(Layers)) at[i + 1] = at[i] + size;
      ++i;
    }
    return at;
  }();

  template <std::size_t... I>
  static void write_each(std::vector<network_line>& out, const chain_uses& copies,
                         std::vector<std::size_t>& starts, std::size_t level, std::index_sequence<I...>) {
    using writer =
        void (*)(std::vector<network_line>&, const chain_uses&, const std::vector<std::size_t>&, std::size_t);
    constexpr std::array<writer, sizeof...(Layers) + 1> writers{
        &line_writer<Chain, first[I], Layers>::write...};
    constexpr std::array<std::size_t, sizeof...(Layers) + 1> stages{flattened<Layers>::stages...};
    for (std::size_t i = 0; i < sizeof...(Layers); ++i) {
      writers[i](out, copies, starts, level);
      for (std::size_t& at : starts) at += stages[i];
    }
  }
};

template <class Chain, std::size_t First, std::size_t N, class Block>
struct line_writer<Chain, First, Repeat<N, Block>> {
  static void write(std::vector<network_line>& out, const chain_uses& copies,
                    const std::vector<std::size_t>& starts, std::size_t level) {
    constexpr std::size_t stages = flattened<Block>::stages;
    std::vector<std::size_t> all;
    for (const std::size_t at : starts)
      for (std::size_t k = 0; k < N; ++k) all.push_back(at + k * stages);
    if (N == 1 || flattened<Block>::elements::size == 1)
      return line_writer<Chain, First, Block>::write(out, copies, all, level);

    const std::size_t here = out.size();
    network_line group{.name = "Repeat", .level = level, .group = true, .times = copies.size() * all.size()};
    for (const std::size_t at : all)
      for (std::size_t i = 0; i < stages; ++i) group.positions.push_back(at + i);
    out.push_back(std::move(group));
    line_writer<Chain, First, Block>::write(out, copies, all, level + 1);
    network_line sum = std::move(out[here]);
    for (std::size_t i = here + 1; i < out.size(); ++i) {
      const network_line& part = out[i];
      if (part.level != level + 1) continue; // what is deeper is in these already
      sum.output_shape = part.output_shape;
      sum.parameters += part.parameters;
      sum.forwards += part.forwards;
      sum.tape_bytes += part.tape_bytes;
      sum.flops += part.flops;
      for (const gradient_span& g : part.gradients) sum.gradients.push_back(g);
    }
    out[here] = std::move(sum);
  }
};

// The lines of a whole network, in the order in which its type names them. Plan is its blueprint, Body what stands in
// it: lines_of<blueprint_of<Model, Batch>, Body>().
template <class Plan, class Body>
std::vector<network_line> lines_of() {
  const stage_use step{.taped = 1, .backwards = 1, .tape_stored = true};
  std::vector<network_line> out;
  line_writer<Plan, 0, Body>::write(out, {uses_inside<Plan>(step)}, {0}, 0);
  return out;
}

} // namespace detail

} // namespace cairn
