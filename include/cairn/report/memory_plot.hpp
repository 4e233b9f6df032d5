// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include <cairn/report/axis.hpp>
#include <cairn/report/format.hpp>
#include <cairn/report/svg.hpp>
#include <cairn/report/timeline.hpp>

namespace cairn::detail {

// The lower half of a picture: the bytes alive during each op, with the peak marked.
struct memory_plot {
  std::span<const std::size_t> live;
  const timeline* times = nullptr;
  axis_scale x;
  axis_scale y; // upwards: from is the bottom
  std::size_t reference = 0;
  std::string_view reference_name{};
  std::size_t budget = 0; // bytes that a schedule may use; 0: there is no limit
  bool labelled = true;   // false beside another plot with the same scale, whose numbers serve for both

  // The op with the most live bytes; the first of several.
  std::size_t peak_op() const {
    std::size_t most = 0;
    for (std::size_t t = 1; t < times->ops.size(); ++t)
      if (live[t] > live[most]) most = t;
    return most;
  }
  std::size_t peak() const { return times->ops.empty() ? 0 : live[peak_op()]; }

  // Lines at round numbers of bytes, the lowest being the axis.
  template <class Writer>
  void draw_grid(Writer& to) const {
    const chart_axis bytes{.unit = chart_unit::bytes};
    for (const double value : ticks_of(bytes, y, 6)) {
      to.line(x.from, y(value), x.to, y(value), value > 0 ? "stroke=\"#e3e7eb\"" : "stroke=\"#9aa3ad\"");
      if (labelled) to.text(x.from - 8, y(value) + 4, tick_text(value, bytes, y), {.at = text_anchor::end});
    }
  }

  // The area is filled, as bytes times time is what a policy saves; its edge is a line of its own because the
  // fill is too light to read numbers from.
  template <class Writer>
  void draw_curve(Writer& to) const {
    const std::string curve = points();
    const std::string base = " " + svg_writer::number(y.from);
    to.path("M" + svg_writer::number(x(0)) + base + curve + "L" + svg_writer::number(x(times->work)) + base + "Z",
            "fill=\"#8a97a6\" fill-opacity=\"0.28\"");
    to.path("M" + curve.substr(1), "fill=\"none\" stroke=\"#46515e\" stroke-width=\"1.25\" stroke-linejoin=\"round\"");
  }

  // Draws the name; to be called after the curve and the mark of the loss, which would cross it.
  template <class Writer>
  void draw_name(Writer& to) const {
    to.text(x.from + 6, y.to - 6, "live bytes", {.halo = 3});
  }

  // The peak with its number; where given, another peak to compare with and a budget to keep, as thin lines.
  template <class Writer>
  void draw_peak(Writer& to) const {
    const std::size_t at = peak_op();
    const double px = x((times->ops[at].begin + times->ops[at].end) / 2);
    const double py = y(static_cast<double>(live[at]));
    const bool left_half = px < (x.from + x.to) / 2;
    const bool refers = reference > live[at];
    const double reference_at = y(static_cast<double>(reference));
    // On the other side than the peak's own number, so that the two never meet.
    const auto limit = [&](double height, double base, const std::string& words, const std::string& colour, const char* dashes) {
      to.line(x.from, height, x.to, height, "stroke=\"" + colour + "\" stroke-width=\"1\" stroke-dasharray=\"" + dashes + "\"");
      to.text(left_half ? x.to - 4 : x.from + 6, base, words,
              {.at = left_half ? text_anchor::end : text_anchor::start, .colour = colour, .halo = 3});
    };
    if (refers)
      limit(reference_at, reference_at - 5, std::string(reference_name) + " " + format_bytes(reference), "#46515e", "5 4");
    if (budget > 0) {
      const double height = y(static_cast<double>(budget));
      // Below its line if the other number is just above it.
      const bool close = refers && std::abs(height - reference_at) < 14;
      limit(height, close ? std::max(height, reference_at) + 13 : height - 5, "budget " + format_bytes(budget), "#1d8a5b", "7 3");
    }
    to.circle(px, py, 3.5, "fill=\"#1d242c\" stroke=\"#fff\" stroke-width=\"1\"");
    to.text(px + (left_half ? 7 : -7), py - 6, "peak " + format_bytes(live[at]),
            {.size = 12, .at = left_half ? text_anchor::start : text_anchor::end, .colour = "#1d242c", .bold = true, .halo = 3});
  }

private:
  // Steps, "L x y L x y …". If many ops share half a pixel, the highest of them is drawn for all: a peak is never smoothed
  // away.
  std::string points() const {
    std::string out;
    constexpr std::size_t none = static_cast<std::size_t>(-1);
    std::size_t level = none; // of the step that is not yet closed
    double from = 0;
    double to = 0;
    const auto point = [&](double px) {
      out += "L" + svg_writer::number(px) + " " + svg_writer::number(y(static_cast<double>(level)));
    };
    for (std::size_t t = 0; t < times->ops.size();) {
      const double begin = x(times->ops[t].begin);
      double end = x(times->ops[t].end);
      std::size_t most = live[t];
      for (++t; t < times->ops.size() && x(times->ops[t].end) < begin + 0.5; ++t) {
        most = std::max(most, live[t]);
        end = x(times->ops[t].end);
      }
      const bool momentary = end - begin < 0.01;
      if (momentary && level != none && most <= level) continue; // an op without work that is no peak
      if (most != level) {
        if (to > from) point(to);
        level = most;
        from = begin;
        point(from);
      }
      to = end;
    }
    if (to > from) point(to);
    return out;
  }
};

} // namespace cairn::detail
