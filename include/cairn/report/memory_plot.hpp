// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>

#include <cairn/report/axis.hpp>
#include <cairn/report/format.hpp>
#include <cairn/report/svg.hpp>
#include <cairn/report/timeline.hpp>

namespace cairn::detail {

// The lower half of a picture: the bytes alive during each op, with the most of them marked.
struct memory_plot {
  std::span<const std::size_t> live;
  const timeline* times = nullptr;
  axis_scale x;
  axis_scale y; // upwards: from is the bottom
  std::size_t reference = 0;
  std::string reference_name{};
  std::size_t budget = 0; // bytes that a schedule may use; 0: nobody set any
  bool labelled = true;   // beside another plot with the same scale its numbers serve for both

  // The op with the most live bytes; the first of several.
  std::size_t peak_op() const {
    const auto ops = live.first(times->ops.size());
    return static_cast<std::size_t>(std::max_element(ops.begin(), ops.end()) - ops.begin());
  }
  std::size_t peak() const { return times->ops.empty() ? 0 : live[peak_op()]; }

  // Lines at round numbers of bytes, the lowest being the axis.
  void draw_grid(svg_writer& to) const {
    const double step = byte_step(y.most, 6);
    for (double value = 0; value <= y.most; value += step) {
      to.line(x.from, y(value), x.to, y(value), value > 0 ? "stroke=\"#e3e7eb\"" : "stroke=\"#9aa3ad\"");
      if (labelled)
        to.text(x.from - 8, y(value) + 4, tick(value, y.most), 11, text_anchor::end, "fill=\"#555\"");
    }
  }

  // The area is filled, as bytes times time is what a policy saves; its edge is a line of its own because the
  // fill is too light to read numbers from.
  void draw_curve(svg_writer& to) const {
    const std::string curve = points();
    const std::string number = svg_writer::number(y.from);
    to.path("M" + svg_writer::number(x(0)) + " " + number + curve + "L" + svg_writer::number(x(times->work)) +
                " " + number + "Z",
            "fill=\"#8a97a6\" fill-opacity=\"0.28\"");
    to.path("M" + curve.substr(1),
            "fill=\"none\" stroke=\"#46515e\" stroke-width=\"1.25\" stroke-linejoin=\"round\"");
  }

  // After the curve and the turn, which would cross it.
  void draw_name(svg_writer& to) const {
    to.text(x.from + 6, y.to - 6, "live bytes", 11, text_anchor::start, "fill=\"#555\" " + std::string(halo));
  }

  // The peak with its number; where given, another peak to compare with and a budget to keep, as thin lines.
  void draw_peak(svg_writer& to) const {
    const std::size_t at = peak_op();
    const double px = x((times->ops[at].begin + times->ops[at].end) / 2);
    const double py = y(static_cast<double>(live[at]));
    const bool left_half = px < (x.from + x.to) / 2;
    const bool refers = reference > live[at];
    const double reference_at = y(static_cast<double>(reference));
    // On the other side than the peak's own number, so that the two never meet.
    const auto limit = [&](double height, double base, const std::string& words, const std::string& colour,
                           const std::string& dashes) {
      to.line(x.from, height, x.to, height,
              "stroke=\"" + colour + "\" stroke-width=\"1\" stroke-dasharray=\"" + dashes + "\"");
      to.text(left_half ? x.to - 4 : x.from + 6, base, words, 11,
              left_half ? text_anchor::end : text_anchor::start, "fill=\"" + colour + "\" " + halo);
    };
    if (refers)
      limit(reference_at, reference_at - 5, reference_name + " " + format_bytes(reference), "#46515e", "5 4");
    if (budget > 0) {
      const double height = y(static_cast<double>(budget));
      // Below its line if the other number is just above it.
      const bool close = refers && std::abs(height - reference_at) < 14;
      limit(height, close ? std::max(height, reference_at) + 13 : height - 5,
            "budget " + format_bytes(budget), "#1d8a5b", "7 3");
    }
    to.circle(px, py, 3.5, "fill=\"#1d242c\" stroke=\"#fff\" stroke-width=\"1\"");
    to.text(px + (left_half ? 7 : -7), py - 6, "peak " + format_bytes(live[at]), 12,
            left_half ? text_anchor::start : text_anchor::end,
            "font-weight=\"bold\" fill=\"#1d242c\" " + std::string(halo));
  }

private:
  // Keeps a number readable where a line runs behind it.
  static constexpr const char* halo = "stroke=\"#fff\" stroke-width=\"3\" paint-order=\"stroke\"";

  // "0", "20 MiB": in the unit of the largest tick, without needless zeros.
  static std::string tick(double value, double most) {
    std::size_t unit = 0;
    for (double rest = most; rest >= 1024 && unit < 4; rest /= 1024) value /= 1024, ++unit;
    constexpr const char* units[] = {" B", " KiB", " MiB", " GiB", " TiB"};
    return value == 0 ? "0" : svg_writer::number(value) + units[unit];
  }

  // Steps, "L x y L x y …". Where many ops share half a pixel, the highest of them stands for all: a peak is
  // never smoothed away.
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
      if (momentary && level != none && most <= level) continue; // a discard, or a turn that is no peak
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
