// SPDX-License-Identifier: MIT
// A budget, half of what store_all needs, over STAGES stages of random sizes; SHIFT chooses which.
#include <array>
#include <cstddef>
#include <cstdint>

#include <cairn/plan/plan_of.hpp>
#include <cairn/plan/solve/budget.hpp>

using namespace cairn;

constexpr std::array<plan::stage, STAGES> stages = [] {
  std::array<plan::stage, STAGES> list{};
  std::uint64_t number = 12345;
  for (plan::stage& s : list) {
    number = number * 6364136223846793005U + 1442695040888963407U;
    const std::size_t width = 64 + 16 * ((number >> SHIFT) % 80);
    const std::size_t values = 1 + (number >> 50) % 4;
    s.output = {4 * width, 0};
    s.reads_input = s.tape_without_output = true;
    s.tape = {4 * width * values, 0};
    s.forward_workspace = {4 * width, 0};
    s.evaluation_workspace = s.backward_workspace = {8 * width, 0};
    s.parameters = width * width;
    s.forward_flops = 4 * width * width;
    s.tape_flops = 2 * width * width;
    s.backward_flops = 8 * width * width;
  }
  return list;
}();
struct source {
  static constexpr plan::chain value{.stages = stages, .batch = 64, .input = {256, 0}};
};
static_assert(detail::plan_of<source, budget_fraction<50>>::arena > 0);
