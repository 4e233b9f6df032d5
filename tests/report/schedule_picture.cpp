// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <unistd.h>

#include <cairn/plan/memory_plan.hpp>
#include <cairn/plan/policies.hpp>
#include <cairn/report/schedule_picture.hpp>
#include <doctest/doctest.h>

using namespace cairn;

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
  static constexpr auto steps = make_schedule<Policy, Stages, count_moves<Policy>(of)>(of);
  inline static const auto memory = make_memory_plan<Stages, steps.count>(of, steps.ops(), steps.turn);

  static picture_panel panel(std::span<const bucket_departure> leaving = {}) {
    return {"policy", of, steps.ops(), memory.live, leaving};
  }
};

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
  return found;
}

// Rectangles within <g class="KIND" …>…</g>.
std::size_t rectangles(const std::string& svg, const std::string& kind) {
  const std::size_t begin = svg.find("<g class=\"" + kind + "\"");
  if (begin == svg.npos) return 0;
  return count(svg.substr(begin, svg.find("</g>", begin) - begin), "<rect");
}

// Are all tags closed in order, all quotes closed, all ampersands part of an escape?
bool well_formed(const std::string& svg) {
  std::vector<std::string> open;
  std::size_t roots = 0;
  for (std::size_t at = 0; at < svg.size(); ++at) {
    if (svg[at] == '&') {
      const std::string rest = svg.substr(at, 6);
      const auto is = [&rest](const char* escape) { return rest.find(escape) == 0; };
      if (!is("&lt;") && !is("&gt;") && !is("&amp;") && !is("&quot;")) return false;
    }
    if (svg[at] == '>') return false;
    if (svg[at] != '<') continue;
    const std::size_t end = svg.find('>', at);
    if (end == svg.npos) return false;
    const std::string tag = svg.substr(at + 1, end - at - 1);
    if (tag.find('<') != tag.npos || std::count(tag.begin(), tag.end(), '"') % 2 != 0) return false;
    at = end;
    if (tag.front() == '?') continue;
    if (tag.front() == '/') {
      if (open.empty() || open.back() != tag.substr(1)) return false;
      open.pop_back();
    } else {
      if (open.empty() && ++roots > 1) return false;
      if (tag.back() != '/') open.push_back(tag.substr(0, tag.find(' ')));
    }
  }
  return open.empty() && roots == 1;
}

// About where each text is; true if two of them overlap.
bool texts_overlap(const std::string& svg) {
  struct box {
    double left, right, top, bottom;
  };
  std::vector<box> boxes;
  const auto number_after = [&svg](const std::string& key, std::size_t at) {
    return std::strtod(svg.c_str() + svg.find(key, at) + key.size(), nullptr);
  };
  for (std::size_t at = svg.find("<text"); at != svg.npos; at = svg.find("<text", at + 1)) {
    const std::size_t close = svg.find('>', at);
    const double size = number_after("font-size=\"", at);
    const double width = svg_writer::width_of(svg.substr(close + 1, svg.find('<', close) - close - 1), size);
    const std::string tag = svg.substr(at, close - at);
    const double shift = tag.find("\"end\"") != tag.npos      ? width
                         : tag.find("\"middle\"") != tag.npos ? width / 2
                                                              : 0;
    const double x = number_after(" x=\"", at) - shift;
    const double y = number_after(" y=\"", at);
    boxes.push_back({x, x + width, y - 0.75 * size, y});
  }
  for (std::size_t a = 0; a < boxes.size(); ++a)
    for (std::size_t b = a + 1; b < boxes.size(); ++b)
      if (boxes[a].left < boxes[b].right && boxes[b].left < boxes[a].right &&
          boxes[a].top < boxes[b].bottom && boxes[b].top < boxes[a].bottom)
        return true;
  return false;
}

template <class Policy, std::size_t Stages>
void check_picture() {
  using plan = planned<Policy, Stages>;
  const std::vector<bucket_departure> leaving{{Stages / 2, 1_MiB}, {0, 1_MiB}};
  const std::string svg =
      draw_schedule(plan::panel(leaving), {.store_all_peak = planned<store_all, Stages>::memory.bound});
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

TEST_CASE("the checks of this file can fail") {
  CHECK_FALSE(well_formed("<svg><g></svg>"));
  CHECK_FALSE(well_formed("<svg>a & b</svg>"));
  CHECK_FALSE(well_formed("<svg></svg><svg></svg>"));
  CHECK(well_formed("<?xml?>\n<svg><g/></svg>"));
  CHECK(texts_overlap(
      "<text x=\"1\" y=\"10\" font-size=\"10\">abc</text><text x=\"5\" y=\"12\" font-size=\"10\">d</text>"));
}

TEST_CASE("names of types, and titles, are escaped") {
  const std::string svg = draw_schedule(planned<store_all, 3>::panel(),
                                        {.title = "a < b & c", .stage_names = {"Linear<8, 8>", "ReLU", ""}});
  CHECK(well_formed(svg));
  CHECK(svg.find("a &lt; b &amp; c") != svg.npos);
  CHECK(svg.find(">0 Linear&lt;8, 8&gt;<") != svg.npos);
}

TEST_CASE("panels share their scales") {
  const std::array panels{planned<store_all, 10>::panel(), planned<recompute_all, 10>::panel()};
  const std::string svg = draw_schedules(panels);
  CHECK(well_formed(svg));
  CHECK(count(svg, "<g class=\"forward\"") == 2);
  // The first op is the same in both: it begins at the same place and is as wide.
  const std::size_t first = svg.find("<g class=\"forward\"");
  const auto head = [&svg](std::size_t at) {
    const std::size_t begin = svg.find("<rect", at);
    const std::size_t width = svg.find("width=", begin);
    return svg.substr(begin, svg.find(" y=", begin) - begin) +
           svg.substr(width, svg.find(" height", width) - width);
  };
  CHECK(head(first) == head(svg.find("<g class=\"forward\"", first + 1)));
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
  const auto path =
      std::filesystem::temp_directory_path() / ("cairn-picture-" + std::to_string(::getpid()) + ".svg");
  const std::string svg = draw_schedule(planned<store_all, 3>::panel());
  write_svg(path, svg);
  CHECK(std::filesystem::file_size(path) == svg.size());
  std::filesystem::remove(path);
}
