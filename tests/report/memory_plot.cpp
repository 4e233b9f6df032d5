// SPDX-License-Identifier: MIT
#include <string>
#include <vector>

#include <cairn/report/memory_plot.hpp>
#include <doctest/doctest.h>

namespace memory_plot_tests {

using namespace cairn;
using namespace cairn::detail;

namespace {

// Five ops, the third a momentary one. One unit of time is 100 pixels, 1024 bytes are 10.
struct drawing {
  timeline times;
  std::vector<std::size_t> live;
  detail::memory_plot plot;
  svg_writer to{500, 200};

  explicit drawing(std::vector<std::size_t> bytes, std::size_t reference = 0) : live(std::move(bytes)) {
    times.ops = {{0, 1}, {1, 2}, {2, 2}, {2, 3}, {3, 4}};
    times.work = times.end = 4;
    plot = {live, &times, {0, 400, 0, 4}, {100, 0, 0, 10240}, reference, "store_all"};
  }
  bool shows(const std::string& part) const { return to.str().find(part) != std::string::npos; }
};

} // namespace

TEST_CASE("the curve has a step for each op and leaves out what lasts no time and is no peak") {
  drawing d({1024, 2048, 512, 3072, 1024, 9999}); // bytes after the last op do not count
  d.plot.draw_curve(d.to);
  CHECK(d.shows("M0 90L100 90L100 80L200 80L200 70L300 70L300 90L400 90\""));
  CHECK(d.plot.peak() == 3072);
  CHECK(d.plot.peak_op() == 3);
}

TEST_CASE("a peak that lasts no time is drawn") {
  drawing d({1024, 2048, 5120, 3072, 1024});
  d.plot.draw_curve(d.to);
  CHECK(d.shows("L200 80L200 50L200 70L300 70"));
  CHECK(d.plot.peak() == 5120);
}

TEST_CASE("where many ops share half a pixel, the highest stands for all") {
  drawing d({1024, 1024, 1024, 1024, 1024});
  d.times.ops.clear();
  d.live.assign(4000, 1024);
  d.live[2001] = 8192;
  for (int i = 0; i < 4000; ++i) d.times.ops.push_back({i / 1000.0, (i + 1) / 1000.0});
  d.plot.live = d.live;
  d.plot.draw_curve(d.to);
  CHECK(d.shows(" 20L"));
  CHECK(d.to.str().size() < 4000); // for four thousand ops, nearly all of the same height
}

TEST_CASE("the peak and its number are marked, the reference only if it is higher") {
  drawing d({1024, 2048, 512, 3072, 1024}, 6144);
  d.plot.draw_peak(d.to);
  CHECK(d.shows("<circle cx=\"250\" cy=\"70\""));
  CHECK(d.shows(">peak 3.00 KiB</text>"));
  CHECK(d.shows(">store_all 6.00 KiB</text>"));
  drawing equal({1024, 2048, 512, 3072, 1024}, 3072);
  equal.plot.draw_peak(equal.to);
  CHECK_FALSE(equal.shows("store_all"));
}

TEST_CASE("a budget is a line of its own, also below the peak") {
  drawing d({1024, 2048, 512, 3072, 1024}, 6144);
  d.plot.budget = 2048;
  d.plot.draw_peak(d.to);
  CHECK(d.shows("<line x1=\"0\" y1=\"80\" x2=\"400\" y2=\"80\" stroke=\"#1d8a5b\""));
  CHECK(d.shows(">budget 2.00 KiB</text>"));
  CHECK(d.shows("y=\"75\"")); // its text is above the line
  // Just below another line, the text is below its own line.
  drawing close({1024, 2048, 512, 3072, 1024}, 6144);
  close.plot.budget = 5600;
  close.plot.draw_peak(close.to);
  CHECK(close.shows("y=\"" + svg_writer::number(close.plot.y(5600.0) + 13) + "\""));
}

TEST_CASE("beside another plot of the same scale there are lines and no numbers") {
  drawing d({1024, 2048, 512, 3072, 1024});
  d.plot.labelled = false;
  d.plot.draw_grid(d.to);
  CHECK(d.shows("<line"));
  CHECK_FALSE(d.shows("<text"));
}

TEST_CASE("ticks of bytes are round") {
  drawing d({1024, 2048, 512, 3072, 1024});
  d.plot.draw_grid(d.to);
  CHECK(d.shows(">0</text>"));
  CHECK(d.shows(">2 KiB</text>"));
  CHECK(d.shows(">10 KiB</text>"));
}

} // namespace memory_plot_tests
