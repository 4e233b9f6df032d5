// SPDX-License-Identifier: MIT
#include <array>
#include <vector>

#include <cairn/plan/plan_of.hpp>
#include <cairn/plan/policies.hpp>
#include <cairn/plan/schedule.hpp>
#include <cairn/plan/step/step_list.hpp>
#include <cairn/report/timeline.hpp>
#include <doctest/doctest.h>

namespace timeline_tests {

using namespace cairn;
using namespace cairn::detail;

namespace {

// Three products; the second has two layers inside.
constexpr std::array<stage, 3> three = [] {
  std::array<stage, 3> s{};
  for (std::size_t i = 0; i < 3; ++i) {
    s[i].output = {64, 0};
    s[i].reads_input = true;
    s[i].parameters = 10;
    s[i].forward_flops = 100 * (i + 1);
    s[i].backward_flops = 200 * (i + 1);
    s[i].input_gradient_flops = 100 * (i + 1);
  }
  s[1].leaves = 2;
  return s;
}();
constexpr chain of_three{three, 4, {64, 0}};

struct source {
  static constexpr const chain& value = of_three;
};
template <class Policy>
constexpr const auto& steps = plan_of<source, Policy>::schedule;

} // namespace

TEST_CASE("ops follow one another and their lengths are their operations") {
  const auto& s = steps<store_all>;
  const timeline t = make_timeline(of_three, s.ops());
  REQUIRE(t.ops.size() == s.count);
  double now = 0;
  for (std::size_t i = 0; i < s.count; ++i) {
    CHECK(t.ops[i].begin == doctest::Approx(now));
    now = t.ops[i].end;
    const bool works = s.storage[i].kind == op_kind::forward || s.storage[i].kind == op_kind::backward;
    CHECK((t.ops[i].length() > 0) == works);
  }
  // 600 forward and 1200 backward, but nobody reads the first input gradient.
  CHECK(t.work == doctest::Approx((600 + 1200 - 100) / 600.0));
  CHECK(t.end == t.work);
  CHECK(t.work_ratio == doctest::Approx(1));
}

TEST_CASE("the ratio is that of the operations") {
  const auto& s = steps<recompute_all>;
  const double ratio =
      static_cast<double>(flops(of_three, s.ops())) / static_cast<double>(flops(of_three, steps<store_all>.ops()));
  CHECK(ratio > 1);
  CHECK(make_timeline(of_three, s.ops()).work_ratio == doctest::Approx(ratio));
}

TEST_CASE("a chain that tells no operations counts every op as one") {
  auto silent = three;
  for (stage& s : silent) s.forward_flops = s.backward_flops = s.input_gradient_flops = 0;
  const chain c{silent, 4, {64, 0}};
  const timeline t = make_timeline(c, steps<store_all>.ops());
  CHECK(t.work == doctest::Approx(2)); // three forwards, three backwards
  CHECK(t.work_ratio == doctest::Approx(1));
}

TEST_CASE("a bucket leaves after its backward, and not before the one in front of it has arrived") {
  const auto& s = steps<store_all>;
  const std::vector<bucket_departure> leaving{{2, 450}, {1, 6}, {0, 6}};
  const timeline t = make_timeline(of_three, s.ops(), leaving, 4); // 4 samples a batch: a byte takes 1 / 600
  std::array<double, 3> done{};
  for (std::size_t i = 0; i < s.count; ++i)
    if (s.storage[i].kind == op_kind::backward) done[s.storage[i].position] = t.ops[i].end;
  REQUIRE(t.buckets.size() == 3);
  CHECK(t.buckets[0].begin == doctest::Approx(done[2]));
  CHECK(t.buckets[0].end == doctest::Approx(done[2] + 0.75));
  CHECK(t.buckets[1].begin == doctest::Approx(t.buckets[0].end)); // done[1] is earlier
  CHECK(t.buckets[2].begin == doctest::Approx(done[0]));
  CHECK(t.end == doctest::Approx(t.work + 0.01));
}

TEST_CASE("a bucket that belongs to no stage is refused") {
  const std::vector<bucket_departure> leaving{{3, 1}};
  CHECK_THROWS_WITH_AS(make_timeline(of_three, steps<store_all>.ops(), leaving), doctest::Contains("found stage 3"), error);
}

TEST_CASE("buckets leave after the last backward before them in the list of the step") {
  const std::vector<bucket> buckets{{0, 10, 0}, {10, 15, 1}, {15, 20, 2}, {20, 30, 3}};
  constexpr std::array<std::size_t, 4> begin{20, 10, 0, 30};
  constexpr auto& s = steps<store_all>;
  step_parts of{.ops = s.ops(), .loss = s.loss, .gradient_begin = begin, .buckets = buckets};
  const auto found = [&] { return departures_of(write_step<at_run_time>(of, step_kind::step).ops(), buckets, 8); };
  const auto early = found();
  REQUIRE(early.size() == 4);
  CHECK(early[0].position == 2);
  CHECK(early[0].bytes == 80);
  CHECK(early[1].position == 1);
  CHECK(early[2].position == 1);
  CHECK(early[3].position == 0);
  of.overlaps = false;
  for (const bucket_departure& late : found()) CHECK(late.position == 0);
}

} // namespace timeline_tests
