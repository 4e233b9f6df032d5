// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/plan/policies.hpp>

namespace cairn {

// A policy of DenseBlock: stores the bottlenecks of its last Layers layers and recomputes those before them. Later layers take
// more channels, so that their bottlenecks cost more to recompute; all bottlenecks have the same size.
template <std::size_t Layers>
struct store_last {};

} // namespace cairn

namespace cairn::detail {

// The number of bottlenecks that a policy stores, counted from the last layer.
inline constexpr std::size_t no_bottlenecks = static_cast<std::size_t>(-1), every_bottleneck = no_bottlenecks / 2;
template <class Policy>
inline constexpr std::size_t stored_bottlenecks = no_bottlenecks;
template <>
inline constexpr std::size_t stored_bottlenecks<store_all> = every_bottleneck;
template <>
inline constexpr std::size_t stored_bottlenecks<recompute_all> = 0;
template <std::size_t Layers>
inline constexpr std::size_t stored_bottlenecks<store_last<Layers>> = Layers < every_bottleneck ? Layers : every_bottleneck;

// The plan of one dense layer that recomputes the bottleneck, the result of its first half.
struct recompute_bottleneck {
  static constexpr void plan(const chain& c, route& out) {
    out.forward(0, c.size());
    out.forward(0);
    out.backward(0, c.size());
  }
};

} // namespace cairn::detail
