// SPDX-License-Identifier: MIT
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <cairn/report/line_chart.hpp>
#include <doctest/doctest.h>

#include "drawings.hpp"

namespace line_chart_tests {

using namespace cairn;
using namespace testing;

namespace {

const std::vector<double> depths{10, 30, 100, 300, 1000};

template <class F>
report::chart_line line_of(const std::string& name, F f, std::size_t points = 5) {
  report::chart_line out{name, "note of " + name};
  for (std::size_t i = 0; i < points; ++i) out.points.push_back({depths[i], f(depths[i])});
  return out;
}

report::line_chart both_logarithmic() {
  return {"memory", {"blocks", report::chart_unit::plain, true, {}, {}, depths}, {"bytes", report::chart_unit::bytes, true}, {}};
}

} // namespace

TEST_CASE("line_chart: on logarithmic axes a power is a straight line, and its exponent the slope") {
  report::line_chart chart = both_logarithmic();
  chart.lines = {line_of("linear", [](double n) { return 4096 * n; }),
                 line_of("root", [](double n) { return 4096 * std::sqrt(n); })};
  const std::string svg = report::draw_line_charts({&chart, 1});
  CHECK(well_formed(svg));
  CHECK_FALSE(texts_overlap(svg));
  const auto x = testing::numbers(svg, "circle", "cx");
  const auto y = testing::numbers(svg, "circle", "cy");
  REQUIRE(x.size() == 10);
  CHECK(x[0] == x[5]);                                                    // both begin at 10
  CHECK(y[0] == doctest::Approx(y[5] - (y[0] - y[2]) / 2).epsilon(0.01)); // sqrt 10 less: half a decade lower
  for (std::size_t first : {0U, 5U}) {
    const double slope = (y[first] - y[first + 4]) / (x[first + 4] - x[first]);
    for (std::size_t i = 1; i < 4; ++i)
      CHECK((y[first] - y[first + i]) == doctest::Approx(slope * (x[first + i] - x[first])).epsilon(0.01));
  }
  CHECK((y[0] - y[4]) == doctest::Approx(2 * (y[5] - y[9])).epsilon(0.01));
}

TEST_CASE("line_chart: everything that it shows has a name, a unit and a place inside") {
  report::line_chart chart = both_logarithmic();
  chart.lines = {line_of("store_all", [](double n) { return 131072 * n; }),
                 line_of(
                     "recompute_all", [](double) { return 262144.0; }, 2),
                 line_of("a < b & c", [](double n) { return 131072 * std::sqrt(n); })};
  const std::string svg = report::draw_line_charts({&chart, 1}, {.title = "title", .subtitle = "below", .width = 500});
  CHECK(well_formed(svg));
  CHECK_FALSE(texts_overlap(svg));
  for (const char* const text : {">title<", ">below<", ">memory<", ">blocks<", ">bytes<", ">1,000<", ">10 MiB<", ">store_all<",
                                 ">note of store_all<", ">a &lt; b &amp; c<"})
    CHECK_MESSAGE(svg.find(text) != svg.npos, text);
  for (const double x : testing::numbers(svg, "circle", "cx")) CHECK((x > 0 && x < 500));
  // A name begins right of the line's end, and the margin there holds it.
  CHECK(testing::numbers(svg, "circle", "cx")[4] + detail::svg_writer::width_of("note of store_all", 11.5) < 500);
  for (const double x : testing::numbers(svg, "text", "x")) CHECK((x > 0 && x < 500));
}

TEST_CASE("line_chart: names of lines that end together keep apart") {
  report::line_chart chart = both_logarithmic();
  for (int i = 0; i < 5; ++i)
    chart.lines.push_back(line_of("policy " + std::to_string(i), [i](double n) { return (1000 + i) * n; }));
  CHECK_FALSE(texts_overlap(report::draw_line_charts({&chart, 1})));
}

TEST_CASE("line_chart: the name of a line that ends early lies on no other line") {
  report::line_chart chart = both_logarithmic();
  chart.lines = {line_of("long", [](double n) { return 1000 * n; }), line_of("short", [](double n) { return 1050 * n; }, 3)};
  const std::string svg = report::draw_line_charts({&chart, 1});
  const auto x = testing::numbers(svg, "circle", "cx");
  const auto y = testing::numbers(svg, "circle", "cy");
  // Finds the text, and the height of the long line below or above it.
  const std::size_t end = svg.find(">short<");
  const std::string tag = svg.substr(svg.rfind("<text", end), end - svg.rfind("<text", end));
  const double left = std::strtod(tag.c_str() + tag.find(" x=\"") + 4, nullptr);
  const double base = std::strtod(tag.c_str() + tag.find(" y=\"") + 4, nullptr);
  const auto height_at = [&](double at) { return y[0] + (y[4] - y[0]) * (at - x[0]) / (x[4] - x[0]); };
  const double width = detail::svg_writer::width_of("note of short", 11.5);
  const bool above = base + 14 < height_at(left) && base + 14 < height_at(left + width);
  const bool below = base - 10 > height_at(left) && base - 10 > height_at(left + width);
  CHECK((above || below));
}

TEST_CASE("line_chart: names lie below the points, and beside those of others where there is room") {
  report::line_chart chart{"", {"bytes", report::chart_unit::bytes}, {"time", report::chart_unit::plain}, {}};
  for (const double x : {0.0, 50.0, 100.0, 1000.0})
    chart.lines.push_back({.name = "point " + std::to_string(static_cast<int>(x)), .points = {{x, 1}}});
  const std::string svg = report::draw_line_charts({&chart, 1});
  CHECK(well_formed(svg));
  CHECK(svg.rfind("point ") < svg.find("<circle"));
  const auto y = testing::numbers(svg, "circle", "cy");
  REQUIRE(y.size() == 4);
  const std::size_t first = svg.rfind("<text", svg.find("point 0"));
  const double name = testing::numbers(svg.substr(first, svg.find('>', first) - first + 1) + "</text>", "text", "y").at(0);
  CHECK(std::abs(name - y[0]) > 10); // above or below, as the next point is on its right
}

TEST_CASE("line_chart: a guide is thin, has no markers and takes no room") {
  report::line_chart chart = both_logarithmic();
  chart.lines = {line_of("line", [](double n) { return 1000 * n; })};
  const auto before = testing::numbers(report::draw_line_charts({&chart, 1}), "circle", "cy");
  chart.lines.push_back(line_of("guide", [](double n) { return 900 * n; }));
  chart.lines.back().guide = true;
  const std::string svg = report::draw_line_charts({&chart, 1});
  CHECK(testing::numbers(svg, "circle", "cy") == before);
  CHECK(count(svg, "stroke-dasharray") == 1);
}

TEST_CASE("line_chart: a curve without markers, one without a name, and a chart without a title") {
  report::line_chart chart = both_logarithmic();
  chart.lines = {line_of("curve", [](double n) { return 1000 * n; })};
  const std::string titled = report::draw_line_charts({&chart, 1});
  chart.lines[0].markers = false;
  chart.lines.push_back(line_of("", [](double n) { return 2000 * n; }, 1));
  chart.title.clear();
  const std::string svg = report::draw_line_charts({&chart, 1});
  CHECK(well_formed(svg));
  CHECK(count(svg, "<circle") == 1);
  CHECK(count(svg, "note of") == 1);
  CHECK(svg.find(">memory<") == svg.npos);
  // Without the title there is no gap.
  CHECK(testing::numbers(svg, "svg", "height")[0] < testing::numbers(titled, "svg", "height")[0]);
}

TEST_CASE("line_chart: charts stand side by side with axes of their own") {
  report::line_chart memory = both_logarithmic();
  memory.lines = {line_of("m", [](double n) { return 4096 * n; })};
  report::line_chart time{"time", {"seconds", report::chart_unit::seconds}, {"ratio", report::chart_unit::plain, false, 1.0}, {}};
  time.lines = {{"curve", "", "#1d8a5b", {{0.001, 2.5}, {0.004, 1.2}}}, {"point", "", "#2f6db3", {{0.002, 2}}}};
  const std::vector<report::line_chart> charts{memory, time};
  const std::string svg = report::draw_line_charts(charts, {.width = 1000});
  CHECK(well_formed(svg));
  CHECK_FALSE(texts_overlap(svg));
  const auto x = testing::numbers(svg, "circle", "cx");
  REQUIRE(x.size() == 8);
  for (std::size_t i = 0; i < 8; ++i) CHECK((x[i] < 500) == (i < 5));
  CHECK(x[7] == doctest::Approx(x[5] + (x[6] - x[5]) / 3)); // linear: 2 ms is a third of the way from 1 to 4
  CHECK(svg.find(">4 ms<") != svg.npos);
}

TEST_CASE("line_chart: what cannot be drawn is refused") {
  report::line_chart chart = both_logarithmic();
  CHECK_THROWS_WITH_AS(report::draw_line_charts({&chart, 1}), doctest::Contains("expected at least one line"), error);
  CHECK_THROWS_AS(report::draw_line_charts({}), error);
  chart.lines = {{"empty"}};
  CHECK_THROWS_WITH_AS(report::draw_line_charts({&chart, 1}), doctest::Contains("in the line 'empty'"), error);
  chart.lines = {{"zero", "", "#000", {{1, 0}}}};
  CHECK_THROWS_WITH_AS(report::draw_line_charts({&chart, 1}), doctest::Contains("above zero on a logarithmic axis"), error);
  chart.lines = {{"lost", "", "#000", {{std::numeric_limits<double>::quiet_NaN(), 1}}}};
  CHECK_THROWS_AS(report::draw_line_charts({&chart, 1}), error);
}

} // namespace line_chart_tests
