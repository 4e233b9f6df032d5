// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <unistd.h>

#include <cairn/plan/memory_plan.hpp>
#include <cairn/plan/plan_of.hpp>
#include <cairn/plan/policies.hpp>
#include <cairn/plan/revolve.hpp>
#include <cairn/report/schedule_picture.hpp>
#include <doctest/doctest.h>

#include "drawings.hpp"

namespace schedule_picture_tests {

using namespace cairn;
using namespace cairn::detail;
using namespace testing;

namespace {

template <std::size_t Stages>
constexpr std::array<stage, Stages> products = [] {
  std::array<stage, Stages> s{};
  for (stage& one : s) {
    one.output = {1024, 0};
    one.reads_input = true;
    one.parameters = 1 << 16;
    one.forward_flops = 1 << 17;
    one.backward_flops = 1 << 18;
    one.input_gradient_flops = 1 << 17;
  }
  return s;
}();

// A schedule and its plan, as a network would have them.
template <class Policy, std::size_t Stages>
struct planned {
  static constexpr chain of{products<Stages>, 64, {1024, 0}};
  struct source {
    static constexpr const chain& value = of;
  };
  static constexpr const auto& steps = plan_of<source, Policy>::schedule;
  static constexpr const auto& memory = plan_of<source, Policy>::memory;

  static picture_panel panel(std::span<const bucket_departure> leaving = {}) {
    return {"policy", of, steps.ops(), memory.live, leaving};
  }
};

// A schedule as irregular as a solver's: it splits at random places, stores all of some parts, and walks others twice.
template <unsigned Seed>
struct anywhere {
  static constexpr void plan(const chain& c, route& out) {
    unsigned state = Seed;
    out.forward(0, c.size());
    walk(out, state, 0, c.size());
  }

private:
  static constexpr std::size_t random(unsigned& state, std::size_t below) {
    state = state * 1664525U + 1013904223U;
    return (state >> 8U) % below;
  }
  static constexpr void walk(route& out, unsigned& state, std::size_t first, std::size_t last) {
    if (last - first < 2 || random(state, 3) == 0) {
      out.forward(first, last);
      out.backward(first, last);
      return;
    }
    const std::size_t middle = first + 1 + random(state, last - first - 1);
    out.forward(first, middle);
    walk(out, state, middle, last);
    walk(out, state, first, middle);
  }
};

template <class Policy, std::size_t Stages>
void check_picture() {
  using plan = planned<Policy, Stages>;
  const std::vector<bucket_departure> leaving{{Stages / 2, 1_MiB}, {0, 1_MiB}};
  const std::string svg = draw_schedule(plan::panel(leaving), {.store_all_peak = planned<store_all, Stages>::memory.bound});
  CHECK(well_formed(svg));
  CHECK_FALSE(texts_overlap(svg));

  std::array<std::size_t, 3> runs{};
  for (const op& o : plan::steps.ops()) {
    if (o.kind == op_kind::forward) ++runs[o.recomputes ? 1 : 0];
    if (o.kind == op_kind::backward) ++runs[2];
  }
  CHECK(rectangles(svg, "forward") == runs[0]);
  CHECK(rectangles(svg, "recompute") == runs[1]);
  CHECK(rectangles(svg, "backward") == runs[2]);
  CHECK(rectangles(svg, "communication") == 2);
  CHECK((svg.find(">recompute<") != svg.npos) == (runs[1] > 0)); // the legend
  CHECK(count(svg, ">peak " + format_bytes(plan::memory.bound) + "<") == 1);
}

} // namespace

TEST_CASE("the picture of a schedule shows every op and the plan's own peak") {
  check_picture<store_all, 3>();
  check_picture<sqrt_n, 3>();
  check_picture<recompute_all, 3>();
  check_picture<store_all, 10>();
  check_picture<sqrt_n, 10>();
  check_picture<recompute_all, 10>();
  check_picture<store_all, 100>();
  check_picture<sqrt_n, 100>();
}

TEST_CASE("a schedule that recomputes at odd places, and some of it again and again, is drawn like any other") {
  check_picture<revolve<3>, 10>();
  check_picture<revolve<2>, 30>();
  check_picture<anywhere<1>, 10>();
  check_picture<anywhere<2>, 17>();
  check_picture<anywhere<3>, 40>();
}

TEST_CASE("the checks of this file can fail") {
  CHECK_FALSE(well_formed("<svg><g></svg>"));
  CHECK_FALSE(well_formed("<svg>a & b</svg>"));
  CHECK_FALSE(well_formed("<svg></svg><svg></svg>"));
  CHECK(well_formed("<?xml?>\n<svg><g/></svg>"));
  CHECK(texts_overlap("<text x=\"1\" y=\"10\" font-size=\"10\">abc</text><text x=\"5\" y=\"12\" font-size=\"10\">d</text>"));
}

TEST_CASE("names of types, and titles, are escaped") {
  const std::string svg =
      draw_schedule(planned<store_all, 3>::panel(), {.title = "a < b & c", .stage_names = {"Linear<8, 8>", "ReLU", ""}});
  CHECK(well_formed(svg));
  CHECK(svg.find("a &lt; b &amp; c") != svg.npos);
  CHECK(svg.find(">0 Linear&lt;8, 8&gt;<") != svg.npos);
}

TEST_CASE("panels share their scales") {
  const std::array panels{planned<store_all, 10>::panel(), planned<recompute_all, 10>::panel()};
  const std::string svg = draw_schedules(panels);
  CHECK(well_formed(svg));
  CHECK(count(svg, "<g class=\"forward\"") == 2);
  // The first op is the same in both panels: it begins at the same place and has the same width.
  const std::size_t first = svg.find("<g class=\"forward\"");
  const auto head = [&svg](std::size_t at) {
    const std::size_t begin = svg.find("<rect", at);
    const std::size_t width = svg.find("width=", begin);
    return svg.substr(begin, svg.find(" y=", begin) - begin) + svg.substr(width, svg.find(" height", width) - width);
  };
  CHECK(head(first) == head(svg.find("<g class=\"forward\"", first + 1)));
}

TEST_CASE("panels side by side share their scales, and say each thing once") {
  const std::array panels{planned<sqrt_n, 10>::panel(), planned<revolve<3>, 10>::panel()};
  const std::string svg =
      draw_schedules(panels, {.store_all_peak = planned<store_all, 10>::memory.bound, .budget = 500'000, .columns = 2});
  CHECK(well_formed(svg));
  CHECK_FALSE(texts_overlap(svg));
  const auto group = [&svg](std::size_t number) {
    std::size_t at = svg.find("<g class=\"forward\"");
    if (number > 0) at = svg.find("<g class=\"forward\"", at + 1);
    return svg.substr(at, svg.find("</g>", at) - at);
  };
  // The same forwards at the same heights, equally wide, all of them one column further to the right.
  const auto left = testing::numbers(group(0), "rect", "x"), right = testing::numbers(group(1), "rect", "x");
  REQUIRE(left.size() == 10);
  REQUIRE(right.size() == 10);
  CHECK(testing::numbers(group(0), "rect", "y") == testing::numbers(group(1), "rect", "y"));
  CHECK(testing::numbers(group(0), "rect", "width") == testing::numbers(group(1), "rect", "width"));
  CHECK(right[0] > 600);
  for (std::size_t i = 0; i < 10; ++i) CHECK(right[i] - left[i] == doctest::Approx(right[0] - left[0]).epsilon(0.001));
  // Stages and bytes are numbered once; each side has its own peak, the line of store_all and that of the budget.
  CHECK(count(svg, ">stage<") == 1);
  CHECK(count(svg, ">512 KiB<") + count(svg, ">500 KiB<") <= 1);
  CHECK(count(svg, ">live bytes<") == 2);
  CHECK(count(svg, ">budget 488 KiB<") == 2);
  CHECK(count(svg, ">store_all ") == 2);
  CHECK(count(svg, ">peak " + format_bytes(planned<sqrt_n, 10>::memory.bound) + "<") == 1);
}

TEST_CASE("each of several schedules may have a budget of its own") {
  std::vector<picture_panel> panels(2, planned<sqrt_n, 10>::panel());
  panels[1].budget = 900'000;
  const std::string svg = draw_schedules(panels, {.budget = 500'000, .columns = 2});
  CHECK(well_formed(svg));
  CHECK(count(svg, ">budget 488 KiB<") == 1);
  CHECK(count(svg, ">budget 879 KiB<") == 1);
}

TEST_CASE("a budget above every peak lies inside the picture") {
  const std::string svg = draw_schedule(planned<sqrt_n, 10>::panel(), {.budget = 3 * planned<store_all, 10>::memory.bound});
  const auto height_of = [&svg](const std::string& words) {
    const std::size_t begin = svg.rfind("<text", svg.find(">" + words));
    return testing::numbers(svg.substr(begin, svg.find('>', begin) + 1 - begin), "text", "y").at(0);
  };
  CHECK(height_of("budget ") > height_of("live bytes"));
}

TEST_CASE("the highest bytes are at one height in panels side by side") {
  // Both panels have the same peak, so their marks have the same y. Each is half as wide as the picture.
  const std::array panels{planned<sqrt_n, 10>::panel(), planned<sqrt_n, 10>::panel()};
  const auto y = testing::numbers(draw_schedules(panels, {.columns = 2}), "circle", "cy");
  REQUIRE(y.size() == 2);
  CHECK(y[0] == y[1]);
  const std::array others{planned<store_all, 10>::panel(), planned<sqrt_n, 10>::panel()};
  const auto other = testing::numbers(draw_schedules(others, {.columns = 2}), "circle", "cy");
  CHECK(other[0] < other[1]); // more bytes are higher
}

TEST_CASE("panels of other networks stand on one line and have labels of their own") {
  const std::vector<bucket_departure> leaving{{2, 1_MiB}, {0, 1_MiB}};
  const std::array panels{planned<sqrt_n, 10>::panel(), planned<sqrt_n, 3>::panel(leaving), planned<store_all, 3>::panel()};
  const std::string svg = draw_schedules(panels, {.columns = 2});
  CHECK(well_formed(svg));
  CHECK_FALSE(texts_overlap(svg));
  CHECK(count(svg, ">stage<") == 3);
  // The first op of the first stage is at the same height beside the other network, and lower in the next row.
  std::vector<double> y;
  for (std::size_t at = svg.find("<g class=\"forward\""); at != svg.npos; at = svg.find("<g class=\"forward\"", at + 1))
    y.push_back(testing::numbers(svg.substr(at, svg.find("</g>", at) - at), "rect", "y").front());
  REQUIRE(y.size() == 3);
  CHECK(y[0] == y[1]);
  CHECK(y[2] > y[0] + 200);
}

TEST_CASE("a slow network does not squeeze the schedule") {
  const std::vector<bucket_departure> leaving{{5, 1_GiB}, {0, 1_GiB}};
  using plan = planned<store_all, 10>;
  const std::string svg = draw_schedule(plan::panel(leaving), {.flops_per_byte = 1e6});
  CHECK(well_formed(svg));
  CHECK(rectangles(svg, "communication") == 1); // the other one begins beyond the end
  const std::size_t first = svg.find("<rect", svg.find("<g class=\"forward\""));
  CHECK(std::strtod(svg.c_str() + svg.find("width=\"", first) + 7, nullptr) > 15); // the first of ten
}

TEST_CASE("live bytes of another schedule are refused") {
  auto panel = planned<store_all, 3>::panel();
  panel.live = panel.live.first(2);
  CHECK_THROWS_WITH_AS(draw_schedule(panel), doctest::Contains("found 2 numbers of bytes"), error);
  panel = planned<store_all, 3>::panel();
  panel.ops = {};
  CHECK_THROWS_AS(draw_schedule(panel), error);
}

TEST_CASE("a picture can be written to a file") {
  const auto path = std::filesystem::temp_directory_path() / ("cairn-picture-" + std::to_string(::getpid()) + ".svg");
  const std::string svg = draw_schedule(planned<store_all, 3>::panel());
  write_svg(path, svg);
  CHECK(std::filesystem::file_size(path) == svg.size());
  std::filesystem::remove(path);
}

} // namespace schedule_picture_tests
