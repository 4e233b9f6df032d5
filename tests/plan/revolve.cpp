// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include <cairn/plan/plan_of.hpp>
#include <cairn/plan/policies.hpp>
#include <cairn/plan/revolve.hpp>

namespace revolve_tests {

using namespace cairn;
using namespace cairn::detail;

namespace {

// Equal stages whose backward reads the input.
template <std::size_t N>
constexpr std::array<stage, N> equal_stages() {
  std::array<stage, N> list{};
  for (stage& s : list) {
    s.output = {alignment, 0};
    s.reads_input = true;
    s.parameters = 1;
    s.forward_flops = 1;
    s.backward_flops = 2;
  }
  return list;
}

template <std::size_t N>
struct equal_chain {
  static constexpr auto stages = equal_stages<N>();
  static constexpr chain value{.stages = stages, .batch = 1, .input = {alignment, 0}};
};

std::vector<route_step> moves_of(void (*plan)(const chain&, route&), const chain& c) {
  route counting{c};
  plan(c, counting);
  std::vector<route_step> moves(counting.size());
  route writing{c, moves.data()};
  plan(c, writing);
  return moves;
}

// The recurrence that the closed form solves.
std::size_t least_forwards(std::size_t length, std::size_t inputs) {
  static std::array<std::array<std::size_t, 13>, 65> known{};
  if (length == 1) return 0;
  if (inputs == 1) return length * (length - 1) / 2;
  std::size_t& answer = known[length][inputs];
  if (answer != 0) return answer;
  answer = ~std::size_t{0};
  for (std::size_t k = 1; k < length; ++k)
    answer = std::min(answer, k + least_forwards(k, inputs) + least_forwards(length - k, inputs - 1));
  return answer;
}

// The forwards of a route, and the most values that are stored while a stage works on another value. A value is stored if it
// has been made and is read again before it is recomputed. Value 0 is always there.
struct cost {
  std::size_t forwards = 0, stored = 0;
};
cost cost_of(const std::vector<route_step>& moves, std::size_t stages) {
  cost out;
  std::vector<bool> there(stages + 1, false);
  there[0] = true;
  for (std::size_t m = 0; m < moves.size(); ++m) {
    std::vector<bool> decided(stages + 1, false);
    std::size_t stored = 0;
    for (std::size_t k = m; k < moves.size(); ++k) {
      const std::size_t reads = moves[k].position;
      if (!decided[reads] && there[reads] && reads != moves[m].position) ++stored;
      decided[reads] = true;
      if (!moves[k].backward) decided[reads + 1] = true;
    }
    out.stored = std::max(out.stored, stored);
    if (!moves[m].backward) ++out.forwards, there[moves[m].position + 1] = true;
  }
  return out;
}

template <std::size_t S, std::size_t... Lengths>
void check_lengths(std::index_sequence<Lengths...>) {
  const auto check = [](const chain& c) {
    CAPTURE(S);
    CAPTURE(c.size());
    const cost found = cost_of(moves_of(&revolve<S>::plan, c), c.size());
    CHECK(found.forwards == revolve_forwards(c.size(), S) + c.size());
    CHECK(found.stored == std::min(S, c.size() - 1));
    CHECK(revolve_forwards(c.size(), S) == least_forwards(c.size(), S));
  };
  (check(equal_chain<Lengths + 1>::value), ...);
}

template <std::size_t... S>
void check_all(std::index_sequence<S...>) {
  (check_lengths<S + 1>(std::make_index_sequence<64>()), ...);
}

} // namespace

TEST_CASE("revolve: as few forwards as the closed form says, and never more than S stored inputs") {
  check_all(std::make_index_sequence<12>());
}

TEST_CASE("revolve: figures of the paper's kind") {
  static_assert(revolve_forwards(1, 3) == 0 && revolve_forwards(10, 1) == 45);
  static_assert(revolve_forwards(100, 100) == 99); // everything is stored: each stage but the last runs once more
  static_assert(revolve_forwards(100, 4) + 100 == 474 && revolve_forwards(100, 10) + 100 == 322);
  CHECK(revolve_forwards(32, 8) + 32 == 86);
}

TEST_CASE("revolve: its schedules are proved, for one stage as for hundreds") {
  static_assert(bool(plan_of<equal_chain<1>, revolve<3>>::proof));
  static_assert(bool(plan_of<equal_chain<17>, revolve<1>>::proof));
  static_assert(bool(plan_of<equal_chain<17>, revolve<3>>::proof));
  using long_plan = plan_of<equal_chain<300>, revolve<6>>;
  static_assert(bool(long_plan::proof));
  // Five stored inputs (the chain's own is not in the arena), and two values and two gradients at the current stage.
  CHECK(long_plan::memory.arena <= 9 * alignment);
  CHECK(plan_of<equal_chain<17>, revolve<1>>::memory.arena <= plan_of<equal_chain<17>, recompute_all>::memory.arena);
}

} // namespace revolve_tests
