// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include <cairn/plan/solve/checkpoint_grid.hpp>

#include "../chains.hpp"

namespace solve_repetition_tests {

using namespace cairn::detail;
using cairn::testing::dice;

namespace {

// Entries that differ only in their inputs.
std::vector<entry> entries_of(const std::vector<std::size_t>& kinds) {
  std::vector<entry> list(kinds.size() + 1);
  for (std::size_t i = 0; i < kinds.size(); ++i) list[i].input = 1 + kinds[i];
  return list;
}

// The length of the longest run of stages that equal those one period below.
std::size_t longest_run(const std::vector<std::size_t>& kinds, std::size_t period) {
  std::size_t run = 0, most = 0;
  for (std::size_t i = period; i < kinds.size(); ++i) {
    run = kinds[i] == kinds[i - period] ? run + 1 : 0;
    most = run > most ? run : most;
  }
  return most;
}

// The distance to the furthest copy: moves the segment and the stage before it down by periods while all stages are equal.
std::size_t furthest_copy(const std::vector<std::size_t>& kinds, std::size_t period, std::size_t first, std::size_t last) {
  std::size_t back = 0;
  while (first >= back + period + 1) {
    for (std::size_t i = first - back - 1; i <= last - back; ++i)
      if (kinds[i] != kinds[i - period]) return back;
    back += period;
  }
  return back;
}

} // namespace

TEST_CASE("repetition: the first copy of every segment, in the longest run of equal stages") {
  std::size_t copies = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    dice d(seed);
    std::vector<std::size_t> kinds;
    const std::size_t length = 1 + d.below(4), times = 1 + d.below(6);
    std::vector<std::size_t> block;
    for (std::size_t k = 0; k < length; ++k) block.push_back(d.below(3));
    for (std::size_t k = d.below(3); k > 0; --k) kinds.push_back(d.below(4));
    for (std::size_t k = 0; k < times; ++k) kinds.insert(kinds.end(), block.begin(), block.end());
    for (std::size_t k = d.below(3); k > 0; --k) kinds.push_back(d.below(4));
    if (d.below(4) == 0) kinds[d.below(kinds.size())] = 7; // one stage that differs from its copies

    const std::size_t stages = kinds.size();
    const auto entries = entries_of(kinds);
    const repetition found = find_repetition(entries.data(), stages);
    std::size_t most = 0;
    for (std::size_t period = 1; 2 * period <= stages; ++period) most = std::max(most, longest_run(kinds, period));
    REQUIRE((found.period == 0) == (most <= stages / 2));
    if (found.period == 0) continue;
    REQUIRE(found.end - found.lowest - found.period == most);
    for (std::size_t first = 0; first <= stages; ++first) {
      REQUIRE(found.steps_back(first, stages) == 0); // the loss has no copy
      for (std::size_t last = first; last < stages; ++last) {
        const std::size_t back = found.steps_back(first, last);
        REQUIRE(back <= furthest_copy(kinds, found.period, first, last));
        if (back == 0) continue;
        ++copies;
        REQUIRE(found.steps_back(first - back, last - back) == 0); // the segment there is solved itself
        for (std::size_t i = first - 1; i <= last; ++i) REQUIRE(entries[i] == entries[i - back]);
      }
    }
  }
  CHECK(copies > 10000);
}

TEST_CASE("repetition: every field of an entry tells two stages apart") {
  const std::array<entry, 5> equal{};
  CHECK(find_repetition(equal.data(), 4).period == 1);
  const auto differs = [](auto change) {
    std::array<entry, 5> entries{};
    change(entries[2]);
    return find_repetition(entries.data(), 4).period == 0;
  };
  CHECK(differs([](entry& e) { e.windows = 1; }));
  CHECK(differs([](entry& e) { e.input = 1; }));
  CHECK(differs([](entry& e) { e.output = 1; }));
  CHECK(differs([](entry& e) { e.output_gradient = 1; }));
  CHECK(differs([](entry& e) { e.input_gradient = 1; }));
  CHECK(differs([](entry& e) { e.tape = 1; }));
  CHECK(differs([](entry& e) { e.tape_workspace = 1; }));
  CHECK(differs([](entry& e) { e.plain_workspace = 1; }));
  CHECK(differs([](entry& e) { e.backward_workspace = 1; }));
  CHECK(differs([](entry& e) { e.cost.forward = 1; }));
  CHECK(differs([](entry& e) { e.cost.tape = 1; }));
  CHECK(differs([](entry& e) { e.cost.backward = 1; }));
  CHECK(differs([](entry& e) { e.reads_input = true; }));
  CHECK(differs([](entry& e) { e.reads_output = true; }));
  CHECK(differs([](entry& e) { e.in_place_forward = true; }));
  CHECK(differs([](entry& e) { e.in_place_backward = true; }));
  CHECK(differs([](entry& e) { e.input_gradient_on_input = !e.input_gradient_on_input; }));
  CHECK(differs([](entry& e) { e.tape_alone = true; }));
}

TEST_CASE("repetition: a chain that does not repeat itself has no period") {
  const auto entries = entries_of({0, 1, 2, 3, 4, 5});
  CHECK(find_repetition(entries.data(), 6).period == 0);
  CHECK(find_repetition(entries.data(), 6).steps_back(3, 4) == 0);
  const auto long_ones = entries_of({0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3});
  CHECK(find_repetition(long_ones.data(), 12).period == 4);
  CHECK(find_repetition(long_ones.data(), 12, 3).period == 0); // the period exceeds the limit of 3
}

} // namespace solve_repetition_tests
