// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <cairn/report/axis.hpp>
#include <cairn/report/format.hpp>
#include <cairn/report/svg.hpp>

namespace cairn {

// What the numbers along an axis are.
enum class chart_unit : unsigned char { plain, bytes, seconds };

// One axis of a chart, as its user describes it. What is left out is found from the data: the ends, of which the lower
// is 0 on a linear axis, and the ticks.
struct chart_axis {
  std::string title;
  chart_unit unit = chart_unit::plain;
  bool logarithmic = false;
  std::optional<double> least{};
  std::optional<double> most{};
  std::vector<double> ticks{}; // where the data stands at few places, these are the best ticks
};

namespace detail {

// Between values and pixels: `least` is drawn at `from`, `most` at `to`.
struct chart_scale {
  double from = 0;
  double to = 0;
  double least = 0;
  double most = 1;
  bool logarithmic = false;

  double operator()(double value) const {
    const double part =
        logarithmic ? std::log(value / least) / std::log(most / least) : (value - least) / (most - least);
    return from + (to - from) * part;
  }
};

// The scale of an axis for data from `least` to `most`, with a little room at both ends of a logarithmic axis and at
// the upper end of a linear one.
inline chart_scale scale_of(const chart_axis& axis, double from, double to, double least, double most) {
  chart_scale s{from, to, least, most, axis.logarithmic};
  if (axis.logarithmic) {
    const double room = std::pow(most / least, 0.05);
    s.least = least / room;
    s.most = most * room;
  } else {
    s.least = std::min(0.0, least);
    s.most = most + 0.05 * (most - s.least);
  }
  s.least = axis.least.value_or(s.least);
  s.most = axis.most.value_or(s.most);
  // Data that is one value has no extent; it gets some, so that it can be drawn.
  if (!(s.most > s.least)) s.most = axis.logarithmic ? 2 * s.least : s.least + 1;
  return s;
}

// At most so many ticks, where the axis does not say which.
inline std::vector<double> ticks_of(const chart_axis& axis, const chart_scale& scale, std::size_t ticks) {
  std::vector<double> out;
  if (!axis.ticks.empty()) {
    for (const double tick : axis.ticks)
      if (tick >= scale.least && tick <= scale.most) out.push_back(tick);
    return out;
  }
  const bool bytes = axis.unit == chart_unit::bytes;
  if (axis.logarithmic) out = log_ticks(scale.least, scale.most, ticks, bytes ? 1024 : 1000);
  if (out.size() > 1) return out; // else less than a decade, where linear ticks serve
  out.clear();
  const double extent = scale.most - scale.least;
  const double step = bytes ? byte_step(extent, ticks) : decimal_step(extent, ticks);
  for (double k = std::ceil(scale.least / step - 1e-9); k * step <= scale.most * (1 + 1e-9); ++k)
    out.push_back(k * step);
  return out;
}

// A tick as people say it: "20 MiB", "5 ms", "1,000". On a linear axis all are in the unit of its end, on a logarithmic
// one each is in the unit that it fills.
inline std::string tick_text(double value, const chart_axis& axis, const chart_scale& scale) {
  if (value == 0) return "0";
  const double leading = axis.logarithmic ? value : scale.most;
  if (axis.unit == chart_unit::bytes) {
    constexpr std::array<const char*, 6> names{" B", " KiB", " MiB", " GiB", " TiB", " PiB"};
    std::size_t name = 0;
    double size = 1;
    while (leading / size >= 1023.995 && name + 1 < names.size()) size *= 1024, ++name;
    return svg_writer::number(value / size) + names[name];
  }
  if (axis.unit == chart_unit::seconds) {
    for (const auto& [size, name] : {std::pair{1.0, " s"}, {1e-3, " ms"}, {1e-6, " us"}})
      if (leading >= size * 0.9999) return svg_writer::number(value / size) + name;
    return svg_writer::number(value * 1e9) + " ns";
  }
  const bool whole = value >= 1000 && value < 1e15 && std::abs(value - std::round(value)) < 1e-6 * value;
  return whole ? format_count(static_cast<std::uint64_t>(std::round(value))) : svg_writer::number(value);
}

} // namespace detail

} // namespace cairn
