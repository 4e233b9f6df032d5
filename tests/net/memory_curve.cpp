// SPDX-License-Identifier: MIT
#include <cstddef>
#include <vector>

#include <cairn/core/bfloat16.hpp>
#include <cairn/layer/dropout.hpp>
#include <cairn/layer/gelu.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/layer_norm.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/layer/tanh.hpp>
#include <cairn/net/memory_curve.hpp>
#include <cairn/plan/solve/budget.hpp>
#include <doctest/doctest.h>

namespace memory_curve_tests {

using namespace cairn;

namespace {

using Net = Sequential<Linear<16, 64>, ReLU, Dropout<percent<20>>, Repeat<6, Residual<Linear<64, 64>, ReLU>>, Linear<64, 10>>;

} // namespace

TEST_CASE("the curve of a network goes from less than any policy's memory to store_all's time") {
  const memory_curve<Net, 32> curve;
  using all = blueprint_of<Net, 32>;
  using root = blueprint_of<checkpoint<sqrt_n, Net>, 32>;
  REQUIRE(curve.size() > 3);
  CHECK(curve[0].bytes < root::trained::memory.arena);
  CHECK(curve[curve.size() - 1].cost == flops(all::whole, all::training.ops()));
  CHECK(curve[curve.size() - 1].bytes <= all::trained::memory.arena);
  for (std::size_t i = 1; i < curve.size(); ++i) {
    CHECK(curve[i].bytes > curve[i - 1].bytes);
    CHECK(curve[i].cost < curve[i - 1].cost);
  }
}

TEST_CASE("what the compiler solves is never better than the curve, and at most 3 percent worse") {
  const memory_curve<Net, 32> curve;
  constexpr std::size_t bytes = blueprint_of<Net, 32>::trained::memory.arena * 6 / 10;
  using solved = blueprint_of<checkpoint<budget<bytes>, Net>, 32>;
  static_assert(peak_activation_bytes<checkpoint<budget<bytes>, Net>, 32> <= bytes);
  const auto step = curve.within(bytes);
  CHECK(step.plan.memory.arena <= bytes);
  const auto best = static_cast<double>(flops(solved::whole, step.plan.training.ops()));
  const auto found = static_cast<double>(flops(solved::whole, solved::training.ops()));
  CHECK(found >= best);
  CHECK(found <= 1.03 * best);
}

// Every value of this network has a multiple of 64 bytes in both types.
TEST_CASE("16-bit elements: half of the bytes at each point of the curve, and a budget stores twice as much") {
  using Even = Sequential<Linear<64, 64>, ReLU, Repeat<6, Residual<Linear<64, 64>, ReLU>>, Linear<64, 32>>;
  const memory_curve<Even, 32> wide;
  const memory_curve<Even, 32, bfloat16> own;
  REQUIRE(own.size() == wide.size());
  for (std::size_t i = 0; i < wide.size(); ++i) {
    CHECK(2 * own[i].bytes == wide[i].bytes);
    CHECK(own[i].cost == wide[i].cost);
  }
  using stored = blueprint_of<Even, 32>;
  constexpr std::size_t bytes = stored::trained::memory.arena * 6 / 10;
  using Model = checkpoint<budget<bytes>, Even>;
  using wide_plan = blueprint_of<Model, 32>;
  using own_plan = blueprint_of<Model, 32, bfloat16>;
  static_assert(wide_plan::trained::memory.arena <= bytes && own_plan::trained::memory.arena <= bytes);
  constexpr auto least = flops(stored::whole, stored::training.ops());
  static_assert(flops(own_plan::whole, own_plan::training.ops()) == least);
  static_assert(flops(wide_plan::whole, wide_plan::training.ops()) > least);
}

TEST_CASE("costs that are given decide: what is dear is not made again") {
  using plan = blueprint_of<Net, 32>;
  std::vector<cairn::plan::stage_cost> costs(plan::size, cairn::plan::stage_cost{10, 10, 20});
  costs[4] = {100000, 100000, 20};
  const memory_curve<Net, 32> curve(costs);
  const auto step = curve.within((curve[0].bytes + curve[curve.size() - 1].bytes) / 2);
  std::size_t runs = 0;
  for (const detail::op& o : step.plan.training.ops()) runs += o.kind == detail::op_kind::forward && o.position == 4 ? 1 : 0;
  CHECK(runs == 1);
}

TEST_CASE("the cost of a schedule is counted as the curve counts it") {
  std::vector<plan::stage_cost> costs(blueprint_of<Net, 32>::size);
  for (std::size_t i = 0; i < costs.size(); ++i) costs[i] = {100 + 7 * i, 50 + 3 * i, 200 + i};
  std::size_t compared = 0;
  const auto compare = [&](const memory_curve<Net, 32>& curve) {
    for (std::size_t i = 0; i < curve.size(); ++i) {
      const auto step = curve.within(curve[i].bytes);
      if (step.plan.memory.bound != curve[i].bytes) continue; // the schedule of another point
      CHECK(curve.cost_of(step.plan.training.ops()) == curve[i].cost);
      ++compared;
    }
  };
  compare(memory_curve<Net, 32>());
  compare(memory_curve<Net, 32>(costs));
  CHECK(compared > 10);
}

TEST_CASE("limits leave out what is not asked for") {
  const memory_curve<Net, 32> whole;
  const std::size_t most = whole[whole.size() / 2].bytes;
  const memory_curve<Net, 32> part({}, {.most = most});
  REQUIRE(part.size() == whole.size() / 2 + 1);
  CHECK(part[part.size() - 1].bytes == most);
  CHECK(part.within(most).plan.memory.arena == whole.within(most).plan.memory.arena);
  // With so few stages every curve is exact.
  CHECK(memory_curve<Net, 32>({}, {.exact = true}).size() == whole.size());
}

namespace {

// Checks that within() takes the bytes of every point, at the cost that is listed.
template <class Model, std::size_t Batch>
void check_points() {
  const memory_curve<Model, Batch> curve;
  REQUIRE(curve.size() > 1);
  for (std::size_t i = 0; i < curve.size(); ++i) {
    const auto step = curve.within(curve[i].bytes);
    CHECK(step.plan.memory.arena <= curve[i].bytes);
    CHECK(curve.cost_of(step.plan.training.ops()) <= curve[i].cost);
    if (i == 0) continue;
    CHECK(curve[i].bytes > curve[i - 1].bytes);
    CHECK(curve[i].cost < curve[i - 1].cost);
  }
}

} // namespace

TEST_CASE("every point of a curve is an arena that within() takes") {
  check_points<Net, 32>();
  // In the least schedule of each network, fewer bytes are live at once than any arena has.
  check_points<Sequential<Input<60>, ReLU, Linear<60, 40>, Residual<Linear<40, 50>, Tanh, Linear<50, 40>>, Linear<40, 33>,
                          Linear<33, 17>, Residual<Linear<17, 50>, Tanh, Linear<50, 17>>, Linear<17, 4>>,
               1>();
  check_points<Sequential<Input<60>, Tanh, Residual<Linear<60, 150>, Tanh, Linear<150, 60>>,
                          Residual<Linear<60, 50>, Tanh, Linear<50, 60>>, Residual<Linear<60, 50>, Tanh, Linear<50, 60>>,
                          Residual<Linear<60, 5>, Tanh, Linear<5, 60>>, Residual<Linear<60, 150>, Tanh, Linear<150, 60>>,
                          Linear<60, 130>, Linear<130, 200>, Linear<200, 4>>,
               33>();
}

} // namespace memory_curve_tests
