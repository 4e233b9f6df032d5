// SPDX-License-Identifier: MIT
#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include <doctest/doctest.h>

#include <cairn/plan/gradient_windows.hpp>

#include "chains.hpp"

namespace gradient_windows_tests {

using namespace cairn;
using namespace cairn::detail;
using namespace cairn::testing;

namespace {

constexpr std::size_t most = 64;

// Layers of random sizes in stages of 0 to 4 layers, in the order in which backward finishes them.
struct layers {
  std::size_t stages = 0;
  std::vector<std::size_t> stage_begin; // of each stage, from the first one; then the total
  std::vector<std::size_t> stage;       // the stage of each layer
  std::vector<gradient_end> ends;

  layers(dice& any, std::size_t count) : stages(count), stage_begin(count + 1) {
    std::size_t at = 0;
    for (std::size_t i = count; i-- > 0;) {
      stage_begin[i] = at;
      for (std::size_t k = any.below(5); k-- > 0;) {
        at += 16 * (1 + any.below(4));
        ends.push_back({at, stage.size()});
        stage.push_back(i);
      }
    }
    stage_begin[count] = at;
  }
};

// Follows the layers one by one and records which bucket each window holds.
void check(const layers& net, std::span<const bucket> buckets, std::size_t in_flight) {
  const auto plan = make_windows<most>(buckets, net.stage_begin, net.stages, 4, in_flight);
  constexpr std::size_t nobody = static_cast<std::size_t>(-1);
  std::vector<std::size_t> holds(plan.count, nobody); // the bucket in each window
  const auto is_open = [&](std::size_t b, std::size_t stage) {
    const gradient_window& w = plan.storage[plan.of_bucket[b]];
    return w.from >= stage && stage >= w.to && w.bytes >= buckets[b].size() * 4;
  };
  const auto use = [&](std::size_t b, std::size_t stage) {
    CHECK(holds[plan.of_bucket[b]] == b);
    CHECK(is_open(b, stage));
    holds[plan.of_bucket[b]] = nobody;
  };
  std::size_t b = 0, used = 0, stage = 0;
  for (std::size_t l = 0; l < net.ends.size(); ++l) {
    stage = net.stage[l];
    std::size_t& own = holds[plan.of_bucket[b]];
    CHECK((own == nobody || own == b)); // a layer's gradients overwrite only what is not needed any more
    own = b;
    for (std::size_t open = used; open <= b; ++open) CHECK(is_open(open, stage));
    if (net.ends[l].end != buckets[b].end) continue;
    ++b;
    while (used + in_flight <= b) use(used++, stage);
  }
  while (used < buckets.size()) use(used++, stage);
  for (std::size_t w = 1; w < plan.count; ++w) CHECK(plan.storage[w - 1].from >= plan.storage[w].from);
  for (std::size_t i = 0; i < net.stages; ++i) { // a stage opens at most as many as are in flight
    std::size_t opened = 0;
    for (const gradient_window& w : plan.windows()) opened += w.from == i ? 1 : 0;
    CHECK(opened <= in_flight);
  }
}

} // namespace

TEST_CASE("gradient_windows: a bucket has a window for as long as it is there") {
  dice any{7};
  for (std::size_t trial = 0; trial < 3'000; ++trial) {
    const layers net(any, 1 + any.below(8));
    if (net.ends.empty()) continue;
    const std::size_t bytes = any.coin() ? 1 : 64 * (1 + any.below(24));
    const auto buckets = make_buckets<most>(std::span<const gradient_end>(net.ends), 4, bytes);
    for (const std::size_t in_flight : {1U, 2U}) {
      CAPTURE(trial);
      CAPTURE(in_flight);
      check(net, buckets.buckets(), in_flight);
    }
  }
}

TEST_CASE("gradient_windows: a layer that is a stage opens and closes its own") {
  constexpr std::array<bucket, 3> buckets{{{0, 16, 0}, {16, 80, 2}, {80, 96, 3}}};
  constexpr std::array<std::size_t, 5> begin{80, 16, 16, 0, 96}; // stage 2 has no parameters
  constexpr auto plan = make_windows<3>(buckets, begin, 4, 4, 1);
  static_assert(plan.count == 3);
  static_assert(plan.storage[0] == gradient_window{64, 3, 3});
  static_assert(plan.storage[1] == gradient_window{256, 1, 1});
  static_assert(plan.storage[2] == gradient_window{64, 0, 0});
  // A bucket is on its way while the next one is made; the last one until the step ends.
  constexpr auto two = make_windows<3>(buckets, begin, 4, 4, 2);
  static_assert(two.storage[0] == gradient_window{64, 3, 1});
  static_assert(two.storage[1] == gradient_window{256, 1, 0});
  static_assert(two.storage[2] == gradient_window{64, 0, 0});
}

TEST_CASE("gradient_windows: layers inside one stage lie one after the other in one window, or in two in turn") {
  constexpr std::array<bucket, 5> buckets{{{0, 16, 0}, {16, 32, 1}, {32, 96, 2}, {96, 112, 3}, {112, 128, 4}}};
  constexpr std::array<std::size_t, 3> begin{112, 0, 128};
  constexpr auto one = make_windows<5>(buckets, begin, 2, 4, 1);
  static_assert(one.count == 2);
  static_assert(one.storage[0] == gradient_window{256, 1, 1}); // the largest of four
  static_assert(one.storage[1] == gradient_window{64, 0, 0});
  constexpr auto two = make_windows<5>(buckets, begin, 2, 4, 2);
  static_assert(two.count == 3);
  static_assert(two.storage[0] == gradient_window{256, 1, 1}); // buckets 0 and 2
  static_assert(two.storage[1] == gradient_window{64, 1, 0});  // 1 and 3
  CHECK(two.of_bucket[0] == two.of_bucket[2]);
  CHECK(two.of_bucket[1] == two.of_bucket[3]);
}

TEST_CASE("gradient_windows: a network without parameters has none") {
  constexpr std::array<std::size_t, 2> begin{0, 0};
  static_assert(make_windows<0>({}, begin, 1, 4, 1).count == 0);
}

} // namespace gradient_windows_tests
