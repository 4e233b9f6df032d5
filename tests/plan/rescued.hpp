// SPDX-License-Identifier: MIT
// Chains of which no schedule that keeps what it keeps lives in as few bytes as one that drops a value for a while.
#pragma once

#include <array>
#include <cstddef>

#include <cairn/plan/chain.hpp>

#include "chains.hpp"
#include "families.hpp"

namespace cairn::testing {

// The one random chain of tests/plan/solve/solver.cpp.
struct rescued_chain {
  static constexpr std::size_t seed = 100 * 65 + 5;
  static constexpr auto stages = [] {
    std::array<stage, 5> list{};
    dice d(seed);
    for (stage& s : list) s = random_stage(d);
    return list;
  }();
  static constexpr chain value{.stages = stages, .input = {alignment * 4, 0}};
};

// Products of several widths with a normalisation behind them, as layers are: its result lies on its input, which its
// backward reads.
struct rescued_products {
  static constexpr auto stages = [] {
    std::array<stage, 6> list{dense(96, 128), dense(128, 96), dense(96, 48), dense(48, 96), dense(96, 160)};
    list[5] = gelu(160);
    list[5].in_place_forward = true;
    list[5].tape = {8, 0};
    return list;
  }();
  static constexpr chain value{.stages = stages, .batch = 16, .input = {384, 0}};
};

} // namespace cairn::testing
