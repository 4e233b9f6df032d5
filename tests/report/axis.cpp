// SPDX-License-Identifier: MIT
#include <string>
#include <vector>

#include <cairn/report/axis.hpp>
#include <doctest/doctest.h>

namespace axis_tests {

using namespace cairn;
using namespace cairn::detail;

TEST_CASE("ticks are 1, 2 or 5 times a power of ten, and no more than asked for") {
  CHECK(tick_step(10, 10) == doctest::Approx(1));
  CHECK(tick_step(11, 10) == doctest::Approx(2));
  CHECK(tick_step(3.9, 8) == doctest::Approx(0.5));
  CHECK(tick_step(6, 1) == doctest::Approx(10));
  CHECK(tick_step(0, 8) > 0);
  for (double most = 0.001; most < 1e6; most *= 1.37) CHECK(most / tick_step(most, 7) <= 7.000001);
}

TEST_CASE("ticks of bytes are round in their own unit") {
  CHECK(tick_step(100 * 1024.0, 5, chart_unit::bytes) == doctest::Approx(20 * 1024.0));
  CHECK(tick_step(3 * 1048576.0, 6, chart_unit::bytes) == doctest::Approx(0.5 * 1048576.0));
  CHECK(tick_step(3, 10, chart_unit::bytes) == doctest::Approx(1)); // no half bytes
}

TEST_CASE("an axis may run either way") {
  const axis_scale up{100, 20, 0, 4};
  CHECK(up(0) == 100);
  CHECK(up(4) == 20);
  CHECK(up(1) == 80);
  CHECK(axis_scale{10, 20, 0, 5}.length(2) == 4);
}

TEST_CASE("ticks of a logarithmic axis are 1, 2, 5 of each decade, or the decades alone") {
  const auto same = [](const std::vector<double>& found, const std::vector<double>& expected) {
    REQUIRE(found.size() == expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i] == doctest::Approx(expected[i]));
  };
  same(log_ticks(10, 100, 9), {10, 20, 50, 100});
  same(log_ticks(0.003, 0.06, 9), {0.005, 0.01, 0.02, 0.05});
  same(log_ticks(9, 12e6, 9), {10, 100, 1e3, 1e4, 1e5, 1e6, 1e7});
  // Half a megabyte is 500 KiB: units begin anew at 1024.
  same(log_ticks(400 * 1024.0, 3 * 1048576.0, 9, 1024), {500 * 1024.0, 1048576.0, 2 * 1048576.0});
  same(log_ticks(50 * 1024.0, 200 * 1048576.0, 5, 1024), {100 * 1024.0, 1048576.0, 10 * 1048576.0, 100 * 1048576.0});
  CHECK(log_ticks(0, 10, 9).empty());
  CHECK(log_ticks(2, 1, 9).empty());
}

TEST_CASE("axis: equal factors are equally far apart on a logarithmic axis") {
  const axis_scale s{100, 400, 1, 1000, true};
  CHECK(s(1) == doctest::Approx(100));
  CHECK(s(10) == doctest::Approx(200));
  CHECK(s(100) == doctest::Approx(300));
  CHECK(s(1000) == doctest::Approx(400));
  const axis_scale up{300, 100, -1, 3, false};
  CHECK(up(-1) == doctest::Approx(300));
  CHECK(up(1) == doctest::Approx(200));
}

TEST_CASE("axis: a linear axis begins at zero, unless it is told otherwise") {
  CHECK(scale_of({}, 0, 100, 3, 7).least == 0);
  CHECK(scale_of({}, 0, 100, -3, 7).least == -3);
  CHECK(scale_of({{}, chart_unit::plain, false, 1.0}, 0, 100, 3, 7).least == 1);
  CHECK(scale_of({{}, chart_unit::plain, false, 1.0, 9.0}, 0, 100, 3, 7).most == 9);
  const auto log = scale_of({{}, chart_unit::plain, true}, 0, 100, 10, 1000);
  CHECK((log.least < 10 && log.least > 5));
  CHECK((log.most > 1000 && log.most < 2000));
}

TEST_CASE("axis: data that is one value can be drawn") {
  for (const bool logarithmic : {false, true}) {
    const auto s = scale_of({{}, chart_unit::plain, logarithmic}, 0, 100, 7, 7);
    CHECK(s.most > s.least);
    CHECK((s(7) >= 0 && s(7) <= 100));
  }
  const auto zero = scale_of({}, 0, 100, 0, 0);
  CHECK(zero(0) == doctest::Approx(0));
}

TEST_CASE("axis: ticks are those that were given, or round ones inside") {
  const chart_axis given{{}, chart_unit::plain, true, {}, {}, {1, 10, 30, 5000}};
  CHECK(ticks_of(given, {0, 100, 5, 1000, true}, 9) == std::vector<double>{10, 30});
  CHECK(ticks_of({}, {0, 100, 1, 2.4, false}, 8).front() == doctest::Approx(1));
  CHECK(ticks_of({}, {0, 100, 1, 2.4, false}, 8).back() == doctest::Approx(2.4));
  // Less than an octave has no power of ten inside, so the ticks are linear.
  const auto narrow = ticks_of({{}, chart_unit::plain, true}, {0, 100, 3.1, 4.4, true}, 5);
  CHECK(narrow.size() > 1);
  for (const double tick : narrow) CHECK((tick >= 3.1 && tick <= 4.4));
}

TEST_CASE("axis: ticks are written as people say them") {
  const chart_axis bytes{{}, chart_unit::bytes, true}, time{{}, chart_unit::seconds, true}, plain{{}, {}, true};
  const axis_scale log{0, 1, 1, 1e9, true};
  CHECK(tick_text(500 * 1024.0, bytes, log) == "500 KiB");
  CHECK(tick_text(1048576.0, bytes, log) == "1 MiB");
  CHECK(tick_text(0.002, time, log) == "2 ms");
  CHECK(tick_text(1e-5, time, log) == "10 us");
  CHECK(tick_text(5e-8, time, log) == "50 ns");
  CHECK(tick_text(20, time, log) == "20 s");
  CHECK(tick_text(1000, plain, log) == "1,000");
  CHECK(tick_text(0.5, plain, log) == "0.5");
  // On a linear axis all have one unit.
  const chart_axis linear{{}, chart_unit::bytes};
  CHECK(tick_text(512 * 1024.0, linear, {0, 1, 0, 3 * 1048576.0, false}) == "0.5 MiB");
  CHECK(tick_text(0, linear, {0, 1, 0, 3 * 1048576.0, false}) == "0");
}

} // namespace axis_tests
