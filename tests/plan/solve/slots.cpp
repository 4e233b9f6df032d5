// SPDX-License-Identifier: MIT
#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include <cairn/plan/memory_plan.hpp>
#include <cairn/plan/schedule.hpp>
#include <cairn/plan/solve/slots.hpp>
#include <doctest/doctest.h>

#include "../chains.hpp"

using namespace cairn;
using namespace cairn::detail;
using namespace cairn::testing;

TEST_CASE("bytes are rounded to the nearest slot, peaks down") {
  constexpr detail::slot_scale scale{1000, 10};
  static_assert(scale.nearest(0) == 0);
  static_assert(scale.nearest(149) == 1);
  static_assert(scale.nearest(150) == 2);
  static_assert(scale.down(199) == 1);
  static_assert(scale.down(200) == 2);
}

TEST_CASE("the number of slots suits the sizes where all stages are equal") {
  std::vector<detail::entry> entries(16);
  for (auto& e : entries) e.output = e.tape = 7 * 64;
  const auto scale = detail::choose_scale(entries.data(), entries.size(), 70 * 7 * 64);
  CHECK(scale.nearest(7 * 64) * scale.budget == 7 * 64 * scale.count);
}

namespace {

struct short_chain {
  static constexpr std::array<stage, 6> stages{dense(64, 128), relu(128),       block(128, 2),
                                               dropout(128),   dense(128, 512), gelu(512)};
  static constexpr chain value{.stages = stages, .batch = 8, .input = {256, 0}};
};

} // namespace

TEST_CASE("every schedule of a solution lives in the bytes that its walk returns, and in none more") {
  using solution = detail::slot_solution<short_chain, 72 * 1024>;
  std::size_t different = 0;
  std::size_t last = 0;
  for (std::size_t m = solution::slots + 1; m-- > 0;) {
    if (solution::find(solution::root).cost[m] >= solution::row::endless) break;
    route counted{short_chain::value};
    solution::walk(m, counted);
    std::vector<route_step> moves(counted.size());
    route written{short_chain::value, moves.data()};
    const std::size_t bytes = solution::walk(m, written);
    const auto made = complete<at_run_time, at_run_time>(short_chain::value, std::span<const route_step>(moves));
    const auto memory = detail::lay_out<at_run_time, at_run_time>(short_chain::value, made.ops(), made.loss);
    CHECK(memory.bound == bytes);
    CHECK(flops(short_chain::value, made.ops()) == solution::find(solution::root).cost[m]);
    different += bytes != last ? 1 : 0;
    last = bytes;
  }
  CHECK(different > 3);
}
