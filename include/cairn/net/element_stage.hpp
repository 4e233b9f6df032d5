// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/explain.hpp>
#include <cairn/core/shape.hpp>
#include <cairn/layer/describe.hpp>
#include <cairn/layer/layer.hpp>
#include <cairn/net/composite.hpp>
#include <cairn/plan/chain.hpp>

namespace cairn::detail {

// A layer among layers of one tensor, which answers without its chain.
template <class E>
struct plain_element {
  static constexpr stage as_stage(const shape& in, std::size_t element) {
    stage s = describe<E>(in, element);
    s.type = spelling<E>();
    return s;
  }
  static constexpr bool adds = described<E>::adds;
};

// Any element of a chain.
template <class Chain, std::size_t I, class E>
struct chain_element {
  static constexpr stage as_stage(const auto&, std::size_t) {
    return Chain::template describe_element<I, E>();
  }
  // Does it add to what it makes? A block does not.
  static constexpr bool adds = [] {
    if constexpr (composite<E>::is || !layer<E>) return false;
    else return described<E>::adds;
  }();
};

// The block at element I of a chain of bundles as a stage; nothing for a layer.
template <class Chain, std::size_t I, class E, bool Block>
struct block_stage {};
template <class Chain, std::size_t I, class E>
struct block_stage<Chain, I, E, true> {
  static constexpr const stage& value = Chain::template inner<I>::as_stage;
};

} // namespace cairn::detail
