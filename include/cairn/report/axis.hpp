// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include <cairn/core/rooms.hpp>
#include <cairn/report/format.hpp>
#include <cairn/report/svg.hpp>

namespace cairn::report {

// The kind of the numbers along an axis.
enum class chart_unit : unsigned char { plain, bytes, seconds };

// One axis of a chart, as its user describes it. Ends and ticks that are left out are found from the data; the lower end of a
// linear axis is then 0, or below if the data is.
struct chart_axis {
  std::string title{};
  chart_unit unit = chart_unit::plain;
  bool logarithmic = false;
  std::optional<double> least{};
  std::optional<double> most{};
  std::vector<double> ticks{}; // if the data has few places, these are the best ticks
};

} // namespace cairn::report

namespace cairn::detail {

// Maps values to pixels: `least` is drawn at `from`, `most` at `to`. An axis may run either way.
struct axis_scale {
  double from = 0;
  double to = 0;
  double least = 0;
  double most = 1;
  bool logarithmic = false;

  double operator()(double value) const {
    const double part = logarithmic ? std::log(value / least) / std::log(most / least) : (value - least) / (most - least);
    return from + (to - from) * part;
  }
  double length(double value) const { return (to - from) * value / (most - least); } // on a linear axis
};

// The scale of an axis for data from `least` to `most`, with a little room at both ends of a logarithmic axis and at
// the upper end of a linear one.
inline axis_scale scale_of(const chart_axis& axis, double from, double to, double least, double most) {
  axis_scale s{from, to, least, most, axis.logarithmic};
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

// The distance between at most `ticks` ticks on a linear axis of this extent: 1, 2 or 5 times a power of ten, of bytes
// in the unit that the extent fills.
inline double tick_step(double extent, std::size_t ticks, chart_unit unit = chart_unit::plain) {
  if (!(extent > 0)) return 1;
  double size = 1;
  while (unit == chart_unit::bytes && extent / size >= 1024) size *= 1024;
  const double least = extent / size / static_cast<double>(std::max<std::size_t>(1, ticks));
  const double power = std::pow(10.0, std::floor(std::log10(least)));
  double step = power * 10;
  for (const double factor : {5.0, 2.0, 1.0})
    if (power * factor >= least * (1 - 1e-9)) step = power * factor;
  return unit == chart_unit::bytes && size == 1 && step < 1 ? 1 : step * size;
}

// The ticks of a logarithmic axis from `least` to `most`, both included: 1, 2 and 5 times the powers of ten, or the
// powers alone where that is more than `ticks`. For bytes `unit` is 1024: then powers of ten of each binary unit.
inline std::vector<double> log_ticks(double least, double most, std::size_t ticks, double unit = 1000) {
  std::vector<double> out;
  if (!(least > 0) || !(most >= least) || !std::isfinite(most)) return out;
  const double first = std::pow(unit, std::floor(std::log(least) / std::log(unit)) - 1);
  for (const bool all : {true, false}) {
    out.clear();
    for (double power = first; power <= most * (1 + 1e-9); power *= unit)
      for (double ten = power; ten < power * 1000 * (1 - 1e-9); ten *= 10)
        for (const double factor : {1.0, 2.0, 5.0}) {
          const double tick = factor * ten;
          const bool inside = tick >= least * (1 - 1e-9) && tick <= most * (1 + 1e-9);
          if (inside && (all || factor < 2)) out.push_back(tick);
        }
    if (out.size() <= ticks) break;
  }
  return out;
}

// The ticks of an axis: its own, or at most `ticks` others.
inline std::vector<double> ticks_of(const chart_axis& axis, const axis_scale& scale, std::size_t ticks) {
  std::vector<double> out;
  if (!axis.ticks.empty()) {
    for (const double tick : axis.ticks)
      if (tick >= scale.least && tick <= scale.most) out.push_back(tick);
    return out;
  }
  if (axis.logarithmic) out = log_ticks(scale.least, scale.most, ticks, axis.unit == chart_unit::bytes ? 1024 : 1000);
  if (out.size() > 1) return out; // else less than a decade, where linear ticks serve
  out.clear();
  const double step = tick_step(scale.most - scale.least, ticks, axis.unit);
  for (double k = std::ceil(scale.least / step - 1e-9); k * step <= scale.most * (1 + 1e-9); ++k) out.push_back(k * step);
  return out;
}

// The text of a tick: "20 MiB", "5 ms", "1,000". On a linear axis all are in the unit of its end, on a logarithmic one each
// is in the unit that it fills.
inline std::string tick_text(double value, const chart_axis& axis, const axis_scale& scale) {
  if (value == 0) return "0";
  if (axis.unit != chart_unit::plain) {
    const double leading = axis.logarithmic ? value : scale.most;
    const unit& u = axis.unit == chart_unit::bytes ? unit_of(leading, byte_units) : unit_of(leading, time_units);
    return svg_writer::number(value / u.size) + u.name;
  }
  if (std::abs(value) < 100) { // as many digits as ticks close to each other need
    std::array<char, 32> text{};
    return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::general, 5).ptr};
  }
  const bool whole = value >= 1000 && value < 1e15 && std::abs(value - std::round(value)) < 1e-6 * value;
  return whole ? format_count(static_cast<std::uint64_t>(std::round(value))) : svg_writer::number(value);
}

} // namespace cairn::detail
