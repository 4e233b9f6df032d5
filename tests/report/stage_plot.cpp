// SPDX-License-Identifier: MIT
#include <array>
#include <string>
#include <vector>

#include <cairn/plan/plan_of.hpp>
#include <cairn/plan/policies.hpp>
#include <cairn/plan/schedule.hpp>
#include <cairn/report/stage_plot.hpp>
#include <doctest/doctest.h>

namespace stage_plot_tests {

using namespace cairn;
using namespace cairn::detail;

namespace {

// Products that read their inputs: what is stored is the output of the stage below.
constexpr std::array<stage, 4> four = [] {
  std::array<stage, 4> s{};
  for (stage& one : s) {
    one.output = {64, 0};
    one.reads_input = true;
    one.parameters = 10;
    one.forward_flops = 100;
    one.backward_flops = 200;
    one.input_gradient_flops = 100;
  }
  return s;
}();
constexpr chain of_four{four, 4, {64, 0}};

struct source {
  static constexpr const chain& value = of_four;
};
template <class Policy>
constexpr const auto& steps = plan_of<source, Policy>::schedule;

struct drawing {
  timeline times;
  detail::stage_plot plot;
  svg_writer to{400, 200};

  explicit drawing(std::span<const op> ops, double row = 20)
      : times(make_timeline(of_four, ops)), plot{of_four, ops, &times, {100, 400, 0, times.end}, 10, row} {}
};

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
  return found;
}

std::size_t rectangles(const std::string& text) { return count(text, "<rect") - 1; } // without the sheet

} // namespace

TEST_CASE("stages are stacked upwards from the bottom") {
  const drawing d(steps<store_all>.ops());
  CHECK(d.plot.bottom() == 90);
  CHECK(d.plot.row_top(0) == 70);
  CHECK(d.plot.row_top(3) == 10);
}

TEST_CASE("an op is a rectangle in its row, from its begin to its end") {
  drawing d(steps<store_all>.ops());
  d.plot.draw_ops(d.to, picture_kind::forward);
  const std::string text = d.to.str();
  CHECK(rectangles(text) == 4);
  // The forward of stage 1 goes from 1/4 to 2/4 of a forward; the whole step is 2.75 forwards wide, 300 pixels.
  const std::string left = svg_writer::number(100 + 300 * 0.25 / 2.75 + 0.375);
  CHECK(text.find("<rect x=\"" + left + "\" y=\"51.5\"") != text.npos);
  CHECK(text.find("<title>forward of 1</title>") != text.npos);
}

TEST_CASE("each kind of op is drawn as often as it runs") {
  const auto& s = steps<recompute_all>;
  std::array<std::size_t, 3> runs{};
  for (const op& o : s.ops()) {
    if (o.kind == op_kind::forward) ++runs[o.recomputes ? 1 : 0];
    if (o.kind == op_kind::backward) ++runs[2];
  }
  CHECK(runs[1] > 0);
  for (std::size_t k = 0; k < 3; ++k) {
    drawing d(s.ops());
    d.plot.draw_ops(d.to, static_cast<picture_kind>(k));
    CHECK(rectangles(d.to.str()) == runs[k]);
  }
}

TEST_CASE("what is kept for later is drawn, what is passed on is not") {
  drawing all(steps<store_all>.ops());
  all.plot.draw_stored(all.to);
  CHECK(rectangles(all.to.str()) == 3); // the inputs of stages 1 to 3, to their backward
  drawing none(steps<forward_pass>.ops().first(0));
  none.plot.draw_stored(none.to);
  CHECK(rectangles(none.to.str()) == 0);
  drawing up(steps<forward_pass>.ops());
  up.plot.draw_stored(up.to);
  CHECK(rectangles(up.to.str()) == 0);
}

TEST_CASE("in rows that are low, a run of ops on neighbouring stages is one line") {
  drawing d(steps<store_all>.ops(), 0.5);
  d.plot.draw_ops(d.to, picture_kind::forward);
  d.plot.draw_ops(d.to, picture_kind::backward);
  CHECK(rectangles(d.to.str()) == 0);
  CHECK(count(d.to.str(), "<path") == 2);
  CHECK(count(d.to.str(), "M") == 2);
}

TEST_CASE("a bucket is a line down from its backward and a rectangle in the lane") {
  const auto& s = steps<store_all>;
  const std::vector<bucket_departure> leaving{{2, 64}, {0, 64}};
  drawing d(s.ops());
  d.times = make_timeline(of_four, s.ops(), leaving, 1);
  d.plot.x.most = d.times.end;
  d.plot.draw_buckets(d.to, leaving, 100, 10);
  const std::string text = d.to.str();
  CHECK(rectangles(text) == 2);
  CHECK(count(text, "<line") == 2);
  // The bucket is complete when the backward of stage 2 ends: one forward and two backwards of half a forward each.
  CHECK(text.find("<line x1=\"" + svg_writer::number(d.plot.x(2.0)) + "\"") != text.npos);
}

TEST_CASE("names stand where there is room, long ones are cut between characters") {
  const std::vector<std::string> names{"Linear<8, 8>", std::string(28, 'x') + "√√√", "", "ReLU"};
  drawing d(steps<store_all>.ops());
  d.plot.names = names;
  CHECK(d.plot.label(0) == "0 Linear<8, 8>");
  CHECK(d.plot.label(1) == "1 " + std::string(28, 'x') + "…");
  CHECK(d.plot.label(2) == "2");
  d.plot.draw_labels(d.to);
  CHECK(d.to.str().find("3 ReLU") != std::string::npos);
  drawing low(steps<store_all>.ops(), 7);
  low.plot.names = names;
  low.plot.draw_labels(low.to);
  CHECK(count(low.to.str(), "<text") == 2); // 0 and 2; 3 would touch 2
  CHECK(low.to.str().find("ReLU") == std::string::npos);
}

TEST_CASE("beside another plot of the same stages there are lines and no names") {
  drawing d(steps<store_all>.ops(), 7);
  d.plot.labelled = false;
  d.plot.draw_labels(d.to);
  CHECK(count(d.to.str(), "<text") == 0);
  CHECK(count(d.to.str(), "<line") > 0);
}

TEST_CASE("rows are numbered as densely as they have room") {
  CHECK(label_every(30, 13) == 1);
  CHECK(label_every(13, 13) == 1);
  CHECK(label_every(4.4, 13) == 5);
  CHECK(label_every(0.56, 13) == 50);
}

} // namespace stage_plot_tests
