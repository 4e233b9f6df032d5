// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include <cairn/core/pack.hpp>
#include <cairn/core/tensor.hpp>
#include <cairn/core/tensor_types.hpp>
#include <cairn/layer/description.hpp>
#include <cairn/net/block_ways.hpp>
#include <cairn/net/made_of.hpp>
#include <cairn/plan/buckets.hpp>
#include <cairn/plan/fingerprint.hpp>
#include <cairn/plan/gradient_windows.hpp>

// The blocks of a chain, as the chain's blueprint sees them.
namespace cairn::detail {

// The Around of a whole network whose input gradient is wanted; of any other whole network it is void.
struct reader_of_input_gradient {};

template <class Body, class Policy, class In, unsigned Used, std::size_t Batch, class T, class Around = void,
          class Update = used_after_backward>
struct blueprint;

// The blueprints of the chains of a block, which is element I of a chain, in one of its ways (net/ways.hpp).
template <class Chain, std::size_t I, class Block, std::size_t Way = 0, class Chains = typename made_of<Block>::parts,
          class Indices = std::make_index_sequence<Chains::size>>
struct inner_blueprints;
template <class Chain, std::size_t I, class Block, std::size_t Way, class... Chains, std::size_t... Index>
struct inner_blueprints<Chain, I, Block, Way, pack<Chains...>, std::index_sequence<Index...>> {
  template <std::size_t C>
  struct arriving {
    static constexpr value_list tensors = value_of_chain<Block>({Chain::values.input(I), Chain::values.of[I].takes}, C);
    static constexpr tensor_list constants = Chain::constants;
  };
  // Chains with the same inputs share a type.
  using in = std::conditional_t<has_own_values<Block>, void, typename type_of_tensors<arriving<0>>::type>;
  template <std::size_t C>
  static auto find_in() {
    if constexpr (has_own_values<Block>) return type_of<typename type_of_tensors<arriving<C>>::type>{};
    else return type_of<in>{};
  }
  static constexpr unsigned used = used_of_chain<Block>(Chain::values.used[I] & first_tensors(Chain::values.of[I].gives));
  using update = std::conditional_t<Chain::is_frozen || freezes<Block>, never_used, used_after_backward>;
  template <class Body, std::size_t C>
  using plan = blueprint<Body, typename policy_in_way<Block, C, Way>::type, typename decltype(find_in<C>())::type, used,
                         Chain::batch, typename Chain::element, Block, update>;
  using type = pack<plan<Chains, Index>...>;

  // The block as a stage, from the facts of its chains.
  static constexpr stage as_stage() {
    const std::array<chain_facts, sizeof...(Chains)> facts{plan<Chains, Index>::facts...};
    return made_of<Block>::as_stage(facts.data());
  }
};

template <class Pack>
struct each_blueprint;
template <class... Blueprints>
struct each_blueprint<pack<Blueprints...>> {
  static constexpr std::size_t tensors = [] {
    std::size_t sum = 0;
    for (const std::size_t count : {Blueprints::tensors...}) sum += count;
    return sum;
  }();
  static constexpr std::size_t parameter_block = [] {
    std::size_t sum = 0;
    for (const std::size_t count : {Blueprints::parameter_block...}) sum += count;
    return sum;
  }();

  // Gradients are finished by the last chain first; leaves are counted in that order too.
  using end_writer = gradient_end* (*)(gradient_end*, std::size_t, std::size_t&);
  static constexpr gradient_end* write_ends(gradient_end* out, std::size_t begin, std::size_t& leaf) {
    constexpr std::array<end_writer, sizeof...(Blueprints)> writers{&Blueprints::write_ends...};
    constexpr std::array<std::size_t, sizeof...(Blueprints)> blocks{Blueprints::parameter_block...};
    for (std::size_t c = sizeof...(Blueprints); c-- > 0;) {
      out = writers[c](out, begin, leaf);
      begin += blocks[c];
    }
    return out;
  }
  static constexpr std::uint64_t network_hash(std::string_view name) {
    hash64 h;
    h.add(name);
    for (const std::uint64_t word : {Blueprints::network_hash...}) h.add(word);
    return h.value();
  }
  static constexpr std::uint64_t schedule_hash() {
    hash64 h;
    for (const std::uint64_t word : {Blueprints::schedule_hash...}) h.add(word);
    return h.value();
  }
};

// The elements of the largest block of parameters of a stage, and the parameters of all stages.
constexpr std::size_t largest_block_of(std::span<const stage> stages) {
  std::size_t most = 1;
  for (const stage& s : stages) most = s.parameter_block > most ? s.parameter_block : most;
  return most;
}
constexpr std::size_t parameters_of(std::span<const stage> stages) {
  std::size_t sum = 0;
  for (const stage& s : stages) sum += s.parameters;
  return sum;
}

// Do the tensors of two values lie in their buffers at the same places?
constexpr bool same_layout(const value_list& a, const value_list& b, const scale& to) {
  if (a.count != b.count) return false;
  for (std::size_t k = 0; k < a.count; ++k)
    if (a.items[k].per_batch != b.items[k].per_batch ||
        a.items[k].size() * to.sizes[a.items[k].type] != b.items[k].size() * to.sizes[b.items[k].type])
      return false;
  return true;
}

template <std::size_t Most>
constexpr void add_tensors(hash64& h, const tensors_up_to<Most>& list) {
  for (const tensor& t : list) {
    h.add(static_cast<std::uint64_t>(t.type)).add(std::uint64_t{t.per_batch}).add(t.rank());
    for (std::size_t a = 0; a < t.rank(); ++a) h.add(t[a]);
  }
}

} // namespace cairn::detail
