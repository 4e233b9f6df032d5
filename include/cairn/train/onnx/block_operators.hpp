// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <cairn/core/explain.hpp>
#include <cairn/core/tensor.hpp>
#include <cairn/layer/started.hpp>
#include <cairn/net/concat.hpp>
#include <cairn/net/dense/dense_block.hpp>
#include <cairn/net/gated.hpp>
#include <cairn/net/heads.hpp>
#include <cairn/net/made_of.hpp>
#include <cairn/net/residual.hpp>
#include <cairn/net/unroll.hpp>
#include <cairn/train/onnx/graph.hpp>
#include <cairn/train/onnx/layer_writer.hpp>
#include <cairn/train/onnx/operators.hpp>

// How blocks join the results of their chains.
namespace cairn::detail {

// A block in the graph. chain(c, in) writes the layers of chain c and returns what they make of the tensors that it takes.
struct onnx_block_writer {
  onnx_graph& graph;
  const onnx_names& names;
  const tensor_list& constants;
  std::uint32_t leaf; // of its first layer
  std::function<onnx_flows(std::size_t, onnx_flows)> chain;

  // An operator of two or more tensors of equal extents but the last, with channels where the last of them has them.
  onnx_flow joined(const char* type, const onnx_flows& all, std::vector<onnx::attribute> attributes = {}) const {
    const bool first = all.back().channels_first && all.back().facts.rank() > 1;
    std::vector<std::string> parts;
    for (const onnx_flow& x : all) parts.push_back(first ? graph.channels_first(x) : graph.channels_last(x));
    if (std::string(type) == "Concat") attributes.emplace_back("axis", first ? 1 : -1);
    return {graph.node(type, parts, attributes), {}, first};
  }
};

struct block_operators_message {
  template <class Wrong>
  static constexpr bool right() {
    static_assert(is_right<Wrong>, "write_onnx: this block is not known to it; write its layers in a Sequential; see "
                                   "block_without_operators<block>");
    return false;
  }
};
template <class Block>
struct block_without_operators : block_operators_message {};

// A block that computes what its one chain does, and one that is unknown.
template <class Block>
struct onnx_block {
  static onnx_flows write(const onnx_block_writer& at, onnx_flows in) {
    if constexpr (is_transparent<Block>) return at.chain(0, std::move(in));
    else return refuse<block_without_operators<Block>>() ? in : onnx_flows{};
  }
};

// A block whose parameters have other initial values.
template <class Block, class Start>
struct onnx_block<started<Block, Start>> : onnx_block<Block> {};

template <class... Layers>
struct onnx_block<Residual<Layers...>> {
  static onnx_flows write(const onnx_block_writer& at, const onnx_flows& in) {
    onnx_flows made = at.chain(0, in);
    made[0] = at.joined("Add", {in[0], made[0]});
    return made;
  }
};
template <class... Shortcut, class... Layers>
struct onnx_block<Residual<shortcut<Shortcut...>, Layers...>> {
  static onnx_flows write(const onnx_block_writer& at, const onnx_flows& in) {
    const onnx_flow beside = at.chain(0, in)[0];
    return {at.joined("Add", {beside, at.chain(1, in)[0]})};
  }
};
template <class F, class G>
struct onnx_block<Gated<F, G>> {
  static onnx_flows write(const onnx_block_writer& at, const onnx_flows& in) {
    const onnx_flow first = at.chain(0, in)[0];
    return {at.joined("Mul", {first, at.chain(1, in)[0]})};
  }
};
template <class... Branches>
struct onnx_block<Concat<Branches...>> {
  static onnx_flows write(const onnx_block_writer& at, const onnx_flows& in) {
    onnx_flows all;
    for (std::size_t c = 0; c < sizeof...(Branches); ++c) all.push_back(at.chain(c, in)[0]);
    return {at.joined("Concat", all)};
  }
};

template <class... Chains>
struct onnx_block<multi::Heads<Chains...>> {
  static onnx_flows write(const onnx_block_writer& at, const onnx_flows& in) {
    onnx_flows all;
    for (std::size_t c = 0; c < sizeof...(Chains); ++c) all.push_back(at.chain(c, in)[0]);
    return all;
  }
};

// Each layer takes all channels so far and appends its own.
template <std::size_t Layers, std::size_t Growth, class Policy>
struct onnx_block<DenseBlock<Layers, Growth, Policy>> {
  static onnx_flows write(const onnx_block_writer& at, const onnx_flows& in) {
    onnx_flow all = in[0];
    for (std::size_t c = 0; c < Layers; ++c) {
      const tensor facts = all.facts;
      const onnx_flow appended = at.chain(c, {all, all})[0]; // the second stands for statistics, which are not read
      all = at.joined("Concat", {all, appended});
      all.facts = facts.with_last(facts.last() + Growth);
    }
    return {all};
  }
};

// The cell's operators, step after step: so any cell has them, also one of a user's own. (Rejected: the operators GRU and LSTM,
// whose gates have another order, so that weights would not be those of a file of weights.)
template <std::size_t Steps, class Cell, class Policy, bool LastOnly>
struct onnx_block<Unroll<Steps, Cell, Policy, LastOnly>> {
  static constexpr bool writes_chains = false;

  static onnx_flows write(const onnx_block_writer& at, const onnx_flows& in) {
    const std::string all = at.graph.channels_last(in[0]);
    onnx_flows states = first_states(at.graph, all);
    std::vector<std::string> made;
    for (std::size_t t = 0; t < Steps; ++t) {
      onnx_flows taken{
          {at.graph.node("Gather", {all, at.graph.index(static_cast<std::int64_t>(t))}, {{"axis", 1}}), Cell::inputs[0]}};
      taken.insert(taken.end(), states.begin(), states.end());
      onnx::layer_writer step(at.graph, at.names, {Cell::inputs.items.data(), Cell::inputs.count, at.constants}, taken, at.leaf);
      onnx::operators<Cell>::write(step);
      states = step.made();
      for (std::size_t k = 0; k < states.size(); ++k) states[k].facts = Cell::inputs[k + 1];
      std::vector<std::int64_t> extents = onnx_graph::extents_of(states[0].facts);
      extents.insert(extents.begin() + 1, 1); // (rows, 1, ...)
      if (!LastOnly) made.push_back(at.graph.reshaped(at.graph.channels_last(states[0]), extents));
    }
    if (LastOnly) return {states[0]};
    return {{at.graph.node("Concat", made, {{"axis", 1}})}};
  }

private:
  // Zeros for as many samples as there are.
  static onnx_flows first_states(onnx_graph& graph, const std::string& all) {
    const std::string rows = graph.node("Shape", {all}, {{"start", 0}, {"end", 1}});
    onnx_flows states;
    for (std::size_t k = 1; k < Cell::inputs.count; ++k) {
      std::vector<std::int64_t> extents = onnx_graph::extents_of(Cell::inputs[k]);
      extents.erase(extents.begin());
      const std::string shape = graph.node("Concat", {rows, graph.integers(extents)}, {{"axis", 0}});
      states.push_back({graph.node("Expand", {graph.number(0), shape}), Cell::inputs[k]});
    }
    return states;
  }
};

} // namespace cairn::detail
