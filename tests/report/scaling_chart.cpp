// SPDX-License-Identifier: MIT
#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <cairn/comm/loopback.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/sequential.hpp>
#include <cairn/report/scaling_chart.hpp>

#include "drawings.hpp"

namespace scaling_chart_tests {

using namespace cairn;
using namespace testing;

namespace {

using Net = Sequential<Linear<16, 64>, ReLU, Linear<64, 16>>;
using Times = plan::op_times<ddp<Net, loopback::rank, bucket_bytes<4_KiB>>, batch<32>>;

const std::vector<report::named_network> networks{{"slow", {.latency = 1e-3, .bandwidth = 1e5}},
                                                  {"middling", {.latency = 1e-4, .bandwidth = 1e6}},
                                                  {"quick", {.latency = 1e-5, .bandwidth = 1e8}}};

} // namespace

TEST_CASE("scaling_chart: a line for each network, with the step that is predicted at each point") {
  const auto times = Times::of_step(0.05);
  const report::line_chart chart = report::scaling_chart(times, networks, 100, "a title");
  CHECK(chart.title == "a title");
  REQUIRE(chart.lines.size() == 4);
  for (std::size_t n = 0; n < networks.size(); ++n) {
    const report::chart_line& line = chart.lines[n];
    CHECK(line.name == networks[n].name);
    REQUIRE(line.points.size() == 7); // 1, 2, 4, ... 64
    for (std::size_t i = 0; i < line.points.size(); ++i) {
      plan::cluster on = networks[n].of;
      on.machines = std::size_t{1} << i;
      CHECK(line.points[i].x == static_cast<double>(on.machines));
      CHECK(line.points[i].y == predicted_step(times, on).seconds());
    }
    CHECK(line.note.find(report::format_duration(line.points.back().y)) == 0);
    CHECK(line.note.find("% efficient") != std::string::npos);
  }
  const report::chart_line& alone = chart.lines.back();
  CHECK(alone.guide);
  for (const report::chart_point& p : alone.points) CHECK(p.y == doctest::Approx(0.05));
  CHECK(alone.points.back().x == 64);
}

TEST_CASE("scaling_chart: its drawing has every name, and no text covers another") {
  for (const std::size_t most : {2U, 16U, 64U, 1024U, 4096U}) {
    const report::line_chart chart = report::scaling_chart(Times::of_step(0.05), networks, most);
    const std::string svg = report::draw_line_charts({&chart, 1}, {.title = "Machines", .width = 700});
    CHECK(well_formed(svg));
    CHECK_FALSE(texts_overlap(svg));
    for (const char* const text : {">slow<", ">middling<", ">quick<", ">one machine, 50.0 ms<", ">machines<"})
      CHECK_MESSAGE(svg.find(text) != svg.npos, text);
  }
}

TEST_CASE("scaling_chart: what cannot be drawn or predicted is refused") {
  const auto times = Times::of_step(0.05);
  CHECK_THROWS_WITH_AS(report::scaling_chart(times, networks, 1), doctest::Contains("expected at least 2 machines"), input_error);
  const std::vector<report::named_network> broken{{"none", {.bandwidth = 0}}};
  CHECK_THROWS_WITH_AS(report::scaling_chart(times, broken, 8), doctest::Contains("expected a bandwidth"), input_error);
  CHECK(report::scaling_chart(times, {}, 8).lines.empty());
}

} // namespace scaling_chart_tests
