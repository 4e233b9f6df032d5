// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/plan/policies.hpp>

namespace cairn {

// Of a DenseBlock: stores the bottlenecks of its last Layers layers, and makes those before them again. The later a layer the
// more channels it takes, and the more it costs to make its bottleneck again; in memory they are alike.
template <std::size_t Layers>
struct store_last {};

namespace detail {

// How many bottlenecks a policy stores, from the last layer on.
inline constexpr std::size_t no_bottlenecks = static_cast<std::size_t>(-1), every_bottleneck = no_bottlenecks / 2;
template <class Policy>
inline constexpr std::size_t stored_bottlenecks = no_bottlenecks;
template <>
inline constexpr std::size_t stored_bottlenecks<store_all> = every_bottleneck;
template <>
inline constexpr std::size_t stored_bottlenecks<recompute_all> = 0;
template <std::size_t Layers>
inline constexpr std::size_t stored_bottlenecks<store_last<Layers>> = Layers < every_bottleneck ? Layers : every_bottleneck;

// How one dense layer is planned, whose first half makes the bottleneck: it is made again.
struct recompute_bottleneck {
  static constexpr void plan(const chain& c, route& out) {
    out.forward(0, c.size());
    out.forward(0);
    out.backward(0, c.size());
  }
};

} // namespace detail

} // namespace cairn
