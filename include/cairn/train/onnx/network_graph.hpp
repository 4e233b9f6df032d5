// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <cairn/core/pack.hpp>
#include <cairn/core/tensor.hpp>
#include <cairn/layer/description.hpp>
#include <cairn/net/made_of.hpp>
#include <cairn/net/ties.hpp>
#include <cairn/train/onnx/block_operators.hpp>
#include <cairn/train/onnx/graph.hpp>
#include <cairn/train/onnx/layer_writer.hpp>
#include <cairn/train/onnx/operators.hpp>

namespace cairn::detail {

// The stages of a chain in their order, by one function for each element of its type; a Repeat runs the same ones again.
template <class Blueprint, class Elements = typename Blueprint::elements,
          class Indices = std::make_index_sequence<Elements::size>>
struct onnx_chain;

template <class Blueprints>
struct onnx_chains;
template <class... Blueprints>
struct onnx_chains<pack<Blueprints...>> {
  // Chain c of a block whose layers begin with this one.
  static onnx_flows write(std::size_t c, onnx_graph& graph, const onnx_names& names, onnx_flows in, std::uint32_t leaf) {
    using writer = onnx_flows (*)(onnx_graph&, const onnx_names&, onnx_flows, std::uint32_t);
    constexpr std::array<writer, sizeof...(Blueprints)> writers{&onnx_chain<Blueprints>::write...};
    constexpr std::array<std::size_t, sizeof...(Blueprints)> leaves{Blueprints::leaves...};
    for (std::size_t before = 0; before < c; ++before) leaf += static_cast<std::uint32_t>(leaves[before]);
    return writers[c](graph, names, std::move(in), leaf);
  }
};

template <class Blueprint, class... Elements, std::size_t... Index>
struct onnx_chain<Blueprint, pack<Elements...>, std::index_sequence<Index...>> {
  // The tensors after the last stage, from those before the first; `leaf`: the index of the first layer.
  static onnx_flows write(onnx_graph& graph, const onnx_names& names, onnx_flows value, std::uint32_t leaf) {
    using writer = onnx_flows (*)(onnx_graph&, const onnx_names&, const onnx_flows&, std::uint32_t, const std::string&);
    constexpr std::array<writer, sizeof...(Elements) + 1> writers{&write_element<Index, Elements>..., nullptr};
    for (std::size_t i = 0; i < Blueprint::size; ++i) {
      const std::size_t e = Blueprint::order[i];
      const description& facts = Blueprint::values.of[e];
      const auto after = value.begin() + facts.takes;
      onnx_flows made =
          writers[e](graph, names, {value.begin(), after}, leaf + Blueprint::leaf_begin[i], tied_parameter(names, i));
      for (std::size_t k = 0; k < made.size(); ++k) made[k].facts = facts.after[k];
      made.insert(made.end(), after, value.end()); // the others pass by
      value = std::move(made);
    }
    return value;
  }

private:
  // The name of the first parameter of the owner of a tied layer; empty for any other.
  static std::string tied_parameter(const onnx_names& names, std::size_t i) {
    if constexpr (Blueprint::tie_count > 0)
      for (const tie& t : Blueprint::ties.of)
        if (t.user == i) return names.parameters.at({Blueprint::leaf_begin[t.owner], 0});
    static_cast<void>(names), static_cast<void>(i);
    return {};
  }

  template <std::size_t I, class E>
  static onnx_flows write_element(onnx_graph& graph, const onnx_names& names, const onnx_flows& taken, std::uint32_t leaf,
                                  const std::string& tied) {
    if constexpr (is_block<E>) {
      onnx_block_writer at{graph, names, Blueprint::constants, leaf, {}};
      if constexpr (!requires { onnx_block<E>::writes_chains; })
        at.chain = [&](std::size_t c, onnx_flows in) {
          return onnx_chains<typename Blueprint::template inner<I>::type>::write(c, graph, names, std::move(in), leaf);
        };
      return onnx_block<E>::write(at, taken);
    } else {
      const value_list& arrives = Blueprint::values.input(I);
      onnx::layer_writer at(graph, names, {arrives.items.data(), taken.size(), Blueprint::constants}, taken, leaf, tied);
      onnx::operators<E>::write(at);
      return at.made();
    }
  }
};

} // namespace cairn::detail
