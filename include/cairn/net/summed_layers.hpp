// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <cairn/core/explain.hpp>
#include <cairn/core/pack.hpp>
#include <cairn/layer/layer.hpp>
#include <cairn/net/blueprint.hpp>
#include <cairn/net/program.hpp>
#include <cairn/plan/fingerprint.hpp>

namespace cairn::detail {

// A layer with sums over the ranks, if they are asked for (layer/layer_sums.hpp).
struct summed_layer {
  std::uint32_t leaf = 0;            // its index among all layers
  std::size_t position = 0;          // of the network's stage that it is, or that contains it
  summed_numbers numbers{};          // those of backward are 0 if no input gradient is computed from them
  std::size_t parameters_before = 0; // elements of the flat gradient buffer that are complete when its backward begins

  constexpr bool operator==(const summed_layer&) const = default;
};

// The summed layers of a chain and of the chains inside its blocks, in the order of the first forwards; backward reaches them
// in the opposite order.
template <class Blueprint, class Elements = typename Blueprint::elements,
          class Indices = std::make_index_sequence<Elements::size>>
struct summed_in;

template <class Blueprints>
struct summed_in_chains;
template <class... Blueprints>
struct summed_in_chains<pack<Blueprints...>> {
  static constexpr bool keeps_apart = (summed_in<Blueprints>::any_keeps_apart || ...);
  static constexpr std::size_t count = [] {
    std::size_t sum = 0;
    for (const std::size_t own : {summed_in<Blueprints>::count...}) sum += own;
    return sum;
  }();

  // Parameters begin with the last chain's.
  static constexpr summed_layer* write(summed_layer* out, summed_layer at, bool runs_backward) {
    constexpr std::array<std::size_t, sizeof...(Blueprints)> leaves{Blueprints::leaves...};
    constexpr std::array<std::size_t, sizeof...(Blueprints)> blocks{Blueprints::parameter_block...};
    constexpr std::array writers{&summed_in<Blueprints>::write...};
    for (const std::size_t block : blocks) at.parameters_before += block;
    for (std::size_t c = 0; c < sizeof...(Blueprints); ++c) {
      at.parameters_before -= blocks[c];
      out = writers[c](out, at, runs_backward);
      at.leaf += static_cast<std::uint32_t>(leaves[c]);
    }
    return out;
  }
};

template <class Blueprint, class... Elements, std::size_t... Index>
struct summed_in<Blueprint, pack<Elements...>, std::index_sequence<Index...>> {
  template <std::size_t I, class E>
  static constexpr std::size_t layers_of() {
    if constexpr (is_block<E>) return summed_in_chains<typename Blueprint::template inner<I>::type>::count;
    else return numbers_of<I, E>().forward > 0 ? 1 : 0;
  }
  template <std::size_t I, class E>
  static constexpr summed_numbers numbers_of() {
    constexpr const auto& values = Blueprint::values;
    const arguments in{values.input(I).items.data(), values.of[I].takes, Blueprint::constants};
    if constexpr (requires { E::sums_over_ranks(in); }) return E::sums_over_ranks(in);
    else return {};
  }
  // Has an element statistics that cannot be summed?
  template <std::size_t I, class E>
  static constexpr bool keeps_apart() {
    if constexpr (is_block<E>) return summed_in_chains<typename Blueprint::template inner<I>::type>::keeps_apart;
    else return requires { E::keeps_statistics_apart; };
  }
  using writer = summed_layer* (*)(summed_layer*, summed_layer, bool);
  template <std::size_t I, class E>
  static constexpr writer block_writer() {
    if constexpr (is_block<E>) return &summed_in_chains<typename Blueprint::template inner<I>::type>::write;
    else return writer{};
  }

  static constexpr std::array<std::size_t, sizeof...(Elements)> layers{layers_of<Index, Elements>()...};
  static constexpr std::array<summed_numbers, sizeof...(Elements)> numbers{numbers_of<Index, Elements>()...};
  static constexpr bool any_keeps_apart = (keeps_apart<Index, Elements>() || ...);
  static constexpr std::array<bool, sizeof...(Elements)> blocks{is_block<Elements>...};

  static constexpr std::size_t count = [] {
    std::size_t sum = 0;
    for (std::size_t i = 0; i < Blueprint::size; ++i) sum += layers[Blueprint::order[i]];
    return sum;
  }();

  // Does the backward of a stage make an input gradient? The first stage's is that of the chain.
  static constexpr bool makes_input_gradient(std::size_t i, bool of_chain) {
    bool wanted = false;
    for (std::size_t t = Blueprint::training.loss; t != Blueprint::training.count; ++t) {
      const op& o = Blueprint::training.storage[t];
      if (o.kind == op_kind::backward && o.position == i) wanted = o.wants_input_gradient;
    }
    return wanted && (i > 0 || of_chain);
  }
  // `before`: where the chain begins; `wanted`: is the gradient of its input made?
  static constexpr summed_layer* write(summed_layer* out, summed_layer before, bool wanted) {
    constexpr std::array<writer, sizeof...(Elements)> writers{block_writer<Index, Elements>()...};
    for (std::size_t i = 0; i < Blueprint::size; ++i) {
      const std::size_t e = Blueprint::order[i];
      if (layers[e] == 0) continue;
      summed_layer at = before;
      at.leaf += Blueprint::leaf_begin[i];
      at.parameters_before += Blueprint::parameter_begin[i];
      const bool in_backward = makes_input_gradient(i, wanted);
      if constexpr (Blueprint::is_root) at.position = i;
      if (blocks[e]) {
        out = writers[e](out, at, in_backward);
      } else {
        at.numbers = numbers[e];
        if (!in_backward) at.numbers.backward = 0;
        *out++ = at;
      }
    }
    return out;
  }
};

// The summed layers of a whole network, and where the numbers of each lie: in whole cache lines. The first layer has one number
// more, by which ranks compare what they run (train/ranks/rank_sums.hpp).
template <class Blueprint>
struct summed_layers {
  static constexpr bool all_can_be_summed = !summed_in<Blueprint>::any_keeps_apart;
  static constexpr std::size_t count = summed_in<Blueprint>::count;
  static constexpr std::array<summed_layer, count + 1> of = [] {
    std::array<summed_layer, count + 1> out{};
    summed_in<Blueprint>::write(out.data(), {}, Blueprint::gives_input_gradient);
    return out;
  }();
  static constexpr std::array<std::size_t, count + 1> begin = [] {
    std::array<std::size_t, count + 1> at{};
    for (std::size_t k = 0; k < count; ++k) at[k + 1] = at[k] + (of[k].numbers.forward + (k == 0 ? 1U : 0U) + 7) / 8 * 8;
    return at;
  }();
  static constexpr std::size_t elements = begin[count];

  // The calls and bytes of a step of one micro-batch.
  static constexpr std::size_t calls = [] {
    std::size_t sum = 0;
    for (std::size_t k = 0; k < count; ++k) sum += of[k].numbers.backward > 0 ? 2U : 1U;
    return sum;
  }();
  static constexpr std::size_t bytes = [] {
    std::size_t sum = count > 0 ? 1 : 0;
    for (std::size_t k = 0; k < count; ++k) sum += of[k].numbers.forward + of[k].numbers.backward;
    return sum * sizeof(double);
  }();

  // The hash of all that ranks must agree on.
  static constexpr std::uint64_t hash = [] {
    hash64 h;
    for (std::size_t k = 0; k < count; ++k) h.add(of[k].leaf).add(of[k].numbers.forward).add(of[k].numbers.backward);
    return h.value();
  }();
};

struct statistics_message {
  template <class Wrong>
  static constexpr bool right() {
    static_assert(
        Wrong::is_right,
        "ddp: sync_batch_norm does not reach into a DenseBlock or a DenseTransition, whose statistics are those of each "
        "rank's own samples; leave the option out, or write their layers out (a block's in Concat); see "
        "statistics_apart<model>");
    return false;
  }
};

// A model that is asked to sum statistics over the ranks, and has some that cannot be summed.
template <class Model>
struct statistics_apart : statistics_message {
  static constexpr bool is_right = false;
};

// BatchNorm1d<16>: a spelling (core/explain.hpp) with its first argument only, which says most.
inline std::string short_name(const char* spelling) {
  std::string_view name = spelling;
  name.remove_suffix(spelled_after);
  constexpr std::string_view own = "cairn::";
  if (name.substr(0, own.size()) == own) name.remove_prefix(own.size());
  const std::size_t comma = name.find(',');
  if (comma == std::string_view::npos) return std::string(name);
  return std::string(name.substr(0, name.find_last_not_of("UL", comma - 1) + 1)) + ">"; // clang: 16UL
}

// "2.1, BatchNorm1d<16>": a layer by its place, as its parameters are named, and its type.
template <class T, class Queue>
std::string place_of_layer(const program<T, Queue>& p, std::uint32_t leaf) {
  std::size_t i = 0;
  while (i + 1 < p.size() && p.leaf_begin[i + 1] <= leaf) ++i;
  const auto& e = p.at(i);
  const std::string name = std::to_string(i);
  leaf -= p.leaf_begin[i];
  for (std::size_t c = e.chains.size(); c-- > 0;)
    if (e.chains[c].leaf_begin <= leaf)
      return name + (e.chains.size() == 1 ? "." : "." + std::to_string(c) + ".") +
             place_of_layer(*e.chains[c].code, leaf - e.chains[c].leaf_begin);
  return name + ", " + short_name(p.stages[i].type);
}

} // namespace cairn::detail
