// SPDX-License-Identifier: MIT
#include <string>
#include <vector>

#include <cairn/report/chart_axis.hpp>
#include <doctest/doctest.h>

using namespace cairn;
using detail::scale_of;
using detail::tick_text;
using detail::ticks_of;

TEST_CASE("chart_axis: equal factors are equally far apart on a logarithmic axis") {
  const detail::chart_scale s{100, 400, 1, 1000, true};
  CHECK(s(1) == doctest::Approx(100));
  CHECK(s(10) == doctest::Approx(200));
  CHECK(s(100) == doctest::Approx(300));
  CHECK(s(1000) == doctest::Approx(400));
  const detail::chart_scale up{300, 100, -1, 3, false};
  CHECK(up(-1) == doctest::Approx(300));
  CHECK(up(1) == doctest::Approx(200));
}

TEST_CASE("chart_axis: a linear axis begins at zero, unless it is told otherwise") {
  CHECK(scale_of({""}, 0, 100, 3, 7).least == 0);
  CHECK(scale_of({""}, 0, 100, -3, 7).least == -3);
  CHECK(scale_of({"", chart_unit::plain, false, 1.0}, 0, 100, 3, 7).least == 1);
  CHECK(scale_of({"", chart_unit::plain, false, 1.0, 9.0}, 0, 100, 3, 7).most == 9);
  const auto log = scale_of({"", chart_unit::plain, true}, 0, 100, 10, 1000);
  CHECK((log.least < 10 && log.least > 5));
  CHECK((log.most > 1000 && log.most < 2000));
}

TEST_CASE("chart_axis: data that is one value can be drawn") {
  for (const bool logarithmic : {false, true}) {
    const auto s = scale_of({"", chart_unit::plain, logarithmic}, 0, 100, 7, 7);
    CHECK(s.most > s.least);
    CHECK((s(7) >= 0 && s(7) <= 100));
  }
  const auto zero = scale_of({""}, 0, 100, 0, 0);
  CHECK(zero(0) == doctest::Approx(0));
}

TEST_CASE("chart_axis: ticks are those that were given, or round ones inside") {
  const chart_axis given{"", chart_unit::plain, true, {}, {}, {1, 10, 30, 5000}};
  CHECK(ticks_of(given, {0, 100, 5, 1000, true}, 9) == std::vector<double>{10, 30});
  CHECK(ticks_of({""}, {0, 100, 1, 2.4, false}, 8).front() == doctest::Approx(1));
  CHECK(ticks_of({""}, {0, 100, 1, 2.4, false}, 8).back() == doctest::Approx(2.4));
  // Less than an octave has no power of ten inside: linear ticks serve.
  const auto narrow = ticks_of({"", chart_unit::plain, true}, {0, 100, 3.1, 4.4, true}, 5);
  CHECK(narrow.size() > 1);
  for (const double tick : narrow) CHECK((tick >= 3.1 && tick <= 4.4));
}

TEST_CASE("chart_axis: ticks are written as people say them") {
  const chart_axis bytes{"", chart_unit::bytes, true}, time{"", chart_unit::seconds, true},
      plain{"", {}, true};
  const detail::chart_scale log{0, 1, 1, 1e9, true};
  CHECK(tick_text(500 * 1024.0, bytes, log) == "500 KiB");
  CHECK(tick_text(1048576.0, bytes, log) == "1 MiB");
  CHECK(tick_text(0.002, time, log) == "2 ms");
  CHECK(tick_text(1e-5, time, log) == "10 us");
  CHECK(tick_text(5e-8, time, log) == "50 ns");
  CHECK(tick_text(20, time, log) == "20 s");
  CHECK(tick_text(1000, plain, log) == "1,000");
  CHECK(tick_text(0.5, plain, log) == "0.5");
  // On a linear axis all have one unit.
  const chart_axis linear{"", chart_unit::bytes};
  CHECK(tick_text(512 * 1024.0, linear, {0, 1, 0, 3 * 1048576.0, false}) == "0.5 MiB");
  CHECK(tick_text(0, linear, {0, 1, 0, 3 * 1048576.0, false}) == "0");
}
