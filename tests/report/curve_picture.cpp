// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <cairn/layer/dropout.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/plan/revolve.hpp>
#include <cairn/report/curve_picture.hpp>
#include <doctest/doctest.h>

#include "drawings.hpp"

namespace curve_picture_tests {

using namespace cairn;
using namespace testing;

namespace {

using Net = Sequential<Linear<16, 64>, ReLU, Dropout<percent<20>>, Repeat<9, Residual<Linear<64, 64>, ReLU>>,
                       Dropout<percent<20>>, Linear<64, 10>>;
using curve_type = memory_curve<Net, 32>;

// The points of the curve's line, which is the first thick path: "M1 2L3 4".
std::vector<std::pair<double, double>> stair_of(const std::string& svg) {
  std::vector<std::pair<double, double>> out;
  const std::size_t begin = svg.rfind(" d=\"", svg.find("stroke-width=\"2.25\"")) + 4;
  const std::string path = svg.substr(begin, svg.find('"', begin) - begin);
  for (std::size_t at = 0; at < path.size(); at = std::min(path.find('L', at + 1), path.size())) {
    const std::size_t blank = path.find(' ', at);
    out.emplace_back(std::strtod(path.c_str() + at + 1, nullptr), std::strtod(path.c_str() + blank, nullptr));
  }
  return out;
}

} // namespace

TEST_CASE("curve_picture: the curve is a stair down to store_all, and no policy lies below it") {
  const curve_type curve;
  const std::string svg = report::draw_curve<store_all, sqrt_n, every<2>, revolve<3>>(curve);
  CHECK(well_formed(svg));
  CHECK_FALSE(texts_overlap(svg));
  const auto stair = stair_of(svg);
  REQUIRE(stair.size() > 6);
  for (std::size_t i = 1; i < stair.size(); ++i) {
    const bool right = stair[i].second == stair[i - 1].second && stair[i].first >= stair[i - 1].first;
    const bool down = stair[i].first == stair[i - 1].first && stair[i].second >= stair[i - 1].second;
    CHECK((right || down));
  }
  // The least memory, then the policies. Those that coincide share a point.
  const auto x = testing::numbers(svg, "circle", "cx");
  const auto y = testing::numbers(svg, "circle", "cy");
  REQUIRE(x.size() == 5);
  CHECK(x[0] == stair.front().first);
  CHECK(y[0] == stair.front().second);
  CHECK(x[1] == stair.back().first);
  CHECK(y[1] == stair.back().second);
  for (std::size_t p = 0; p < x.size(); ++p) {
    double lowest = 0; // of the curve up to there; pixels grow downwards
    for (const auto& [at, height] : stair)
      if (at <= x[p]) lowest = std::max(lowest, height);
    CHECK(y[p] <= lowest);
  }
  for (const char* const text : {">store_all<", ">sqrt_n<", ">every&lt;2&gt;<", ">revolve&lt;3&gt;<", ">the best schedules<"})
    CHECK_MESSAGE(svg.find(text) != svg.npos, text);
}

TEST_CASE("curve_picture: a budget is a line, and its schedule a point of the curve left of it") {
  const curve_type curve;
  const auto between = [&](std::size_t i) { return (curve[i].bytes + curve[i + 1].bytes) / 2; };
  const std::vector<std::size_t> budgets{between(2), between(curve.size() / 2)};
  const std::string svg = report::draw_curve<store_all>(curve, budgets, {.title = "a title", .subtitle = "below it"});
  CHECK(well_formed(svg));
  CHECK_FALSE(texts_overlap(svg));
  CHECK(count(svg, "stroke-dasharray") == budgets.size());
  const auto x = testing::numbers(svg, "circle", "cx");
  const auto y = testing::numbers(svg, "circle", "cy");
  REQUIRE(x.size() == 2 + budgets.size());
  // The schedule is at a corner of the curve, or left of it, and not where the budget is.
  const auto stair = stair_of(svg);
  for (std::size_t b = 2; b < x.size(); ++b) {
    const auto corner = std::find_if(stair.begin(), stair.end(), [&](const auto& p) { return p.second == y[b]; });
    REQUIRE(corner != stair.end());
    CHECK(x[b] <= corner->first);
  }
  CHECK(x[2] < x[3]);
  for (const std::size_t bytes : budgets) {
    const std::string name = ">budget " + report::format_bytes(bytes) + "<";
    CHECK_MESSAGE(svg.find(name) != svg.npos, name);
  }
  CHECK(svg.find(">a title<") != svg.npos);
  CHECK(svg.find(">below it<") != svg.npos);
  const std::vector<std::size_t> little{curve[0].bytes / 2};
  CHECK_THROWS_WITH_AS(report::draw_curve<store_all>(curve, little), doctest::Contains("expected a budget of at least"), error);
}

TEST_CASE("curve_picture: policies at the same place share a point, and its name") {
  using Short = Sequential<Linear<16, 64>, ReLU, Linear<64, 10>>;
  const memory_curve<Short, 32> curve;
  const std::string svg = report::draw_curve<store_all, every<3>>(curve);
  CHECK(svg.find(">store_all, every&lt;3&gt;<") != svg.npos);
  CHECK(count(svg, "<circle") == 2);
}

TEST_CASE("curve_picture: times are those that the curve was solved with") {
  // The backward of the last stage takes nearly all the time. Recomputing takes none, and the policies, which differ in bytes,
  // are at one height.
  std::vector<plan::stage_cost> costs(curve_type::plan::size, plan::stage_cost{1, 1, 1});
  costs.back().backward = 1000000;
  const auto measured = testing::numbers(report::draw_curve<store_all, sqrt_n>(curve_type(costs)), "circle", "cy");
  const auto counted = testing::numbers(report::draw_curve<store_all, sqrt_n>(curve_type()), "circle", "cy");
  REQUIRE(measured.size() == 3);
  REQUIRE(counted.size() == 3);
  CHECK(measured[1] == doctest::Approx(measured[2]).epsilon(0.001));
  CHECK(counted[2] < counted[1] - 20);
}

} // namespace curve_picture_tests
