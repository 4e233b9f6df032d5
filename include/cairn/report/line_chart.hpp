// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/report/axis.hpp>
#include <cairn/report/svg.hpp>

namespace cairn::report {

struct chart_point {
  double x = 0;
  double y = 0;
};

// One line of a chart, with its points from the left to the right. Its name is at its end, in its colour, with the note
// below: there is no legend. A line of one point is a labelled point; a line without a name has no label.
struct chart_line {
  std::string name{};
  std::string note{}; // such as the value at the end
  std::string colour = "#2f6db3";
  std::vector<chart_point> points{};
  bool guide = false;  // a thin dashed line without markers, behind the others: how something should grow
  bool markers = true; // at each point; a curve of many points is better without
};

struct line_chart {
  std::string title{};
  chart_axis x{};
  chart_axis y{};
  std::vector<chart_line> lines{};
};

struct chart_settings {
  std::string title{};     // above all charts
  std::string subtitle{};  // what was measured, on one line
  double width = 1000;     // pixels, of all charts together
  double height = 340;     // of the plotting area
  std::size_t columns = 0; // charts side by side; 0: all
};

} // namespace cairn::report

namespace cairn::detail {

// One chart in a frame of its own: first the plotting area is found, then everything is drawn into it. (Everything that draws
// is a template of its writer, here as in the other pictures: cairn.hpp includes them all, and a program that draws nothing
// does not compile them.)
template <class Writer>
class line_chart_drawing {
public:
  line_chart_drawing(const line_chart& chart, double left, double width, double plot_top, double height)
      : chart_(chart), left_(left) {
    check();
    double x0 = infinity, x1 = -infinity, y0 = infinity, y1 = -infinity;
    for (const chart_line& line : chart.lines)
      for (const chart_point& p : line.points) {
        x0 = std::min(x0, p.x), x1 = std::max(x1, p.x);
        // A guide shows a direction; it must not decide how much room the data has.
        if (!line.guide || chart.lines.size() == 1) y0 = std::min(y0, p.y), y1 = std::max(y1, p.y);
      }
    y_ = scale_of(chart.y, plot_top + height, plot_top, y0, y1);
    double ticks = 0;
    for (const double tick : ticks_of(chart.y, y_, y_ticks))
      ticks = std::max(ticks, Writer::width_of(tick_text(tick, chart.y, y_), tick_style.size));
    x_ = scale_of(chart.x, left + ticks + 10, 0, x0, x1);
    // Names are to the right of their line's last point. A line that ends early has room for its name in the chart.
    double end = left + width;
    for (int round = 0; round < 3; ++round) {
      x_.to = end;
      for (const chart_line& line : chart.lines) {
        const double over = x_(line.points.back().x) + label_gap + label_width(line) - (left + width);
        if (over > 0) end = std::min(end, x_.to - over);
      }
    }
    x_.to = std::max(end, x_.from + 40);
  }

  // From the back to the front.
  void draw(Writer& to) const {
    draw_axes(to);
    for (const bool guide : {true, false})
      for (const chart_line& line : chart_.lines)
        if (line.guide == guide) draw_line(to, line);
    draw_labels(to);
    for (const chart_line& line : chart_.lines) draw_points(to, line);
  }

  // The height of the chart's title, if it has one, and of the y axis's title.
  static double title_height(const line_chart& chart) { return chart.title.empty() ? 28 : 48; }
  static constexpr double foot_height = 44; // ticks and title of the x axis

private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();
  static constexpr text_style tick_style{.size = 12};
  static constexpr double name_size = 13;
  static constexpr double note_size = 11.5;
  static constexpr double label_gap = 9;
  static constexpr std::size_t y_ticks = 12;

  void check() const {
    const std::string where = " of the chart '" + chart_.title + "'";
    for (const chart_line& line : chart_.lines) {
      if (line.points.empty())
        throw input_error("draw_line_charts: expected at least one point in the line '" + line.name + "'" + where +
                          ", found none; leave the line out");
      for (const chart_point& p : line.points)
        if (!std::isfinite(p.x) || !std::isfinite(p.y) || (chart_.x.logarithmic && p.x <= 0) ||
            (chart_.y.logarithmic && p.y <= 0))
          throw input_error("draw_line_charts: expected finite numbers, above zero on a logarithmic axis, found (" +
                            format_fixed(p.x, 3) + ", " + format_fixed(p.y, 3) + ") in the line '" + line.name + "'" + where);
    }
    if (chart_.lines.empty())
      throw input_error("draw_line_charts: expected at least one line in the chart '" + chart_.title + "', found none");
  }

  static double label_width(const chart_line& line) {
    return std::max(Writer::width_of(line.name, name_size), Writer::width_of(line.note, note_size));
  }

  // A light grid of the ticks only; the title of the y axis lies on top of it, where it can be read without turning
  // the head.
  void draw_axes(Writer& to) const {
    to.text(left_, y_.to - 34, chart_.title, {.size = 15, .colour = "#1d242c", .bold = true});
    to.text(left_, y_.to - 14, chart_.y.title, tick_style);
    for (const double tick : ticks_of(chart_.y, y_, y_ticks)) {
      const double at = y_(tick);
      to.line(x_.from, at, x_.to, at, "stroke=\"#e3e7eb\"");
      to.text(x_.from - 8, at + 4, tick_text(tick, chart_.y, y_), {.size = 12, .at = text_anchor::end});
    }
    for (const double tick : ticks_of(chart_.x, x_, static_cast<std::size_t>((x_.to - x_.from) / 50))) {
      const double at = x_(tick);
      to.line(at, y_.to, at, y_.from, "stroke=\"#eceff2\"");
      to.line(at, y_.from, at, y_.from + 4, "stroke=\"#9aa3ad\"");
      to.text(at, y_.from + 18, tick_text(tick, chart_.x, x_), {.size = 12, .at = text_anchor::middle});
    }
    to.line(x_.from, y_.from, x_.to, y_.from, "stroke=\"#9aa3ad\"");
    to.text(x_.to, y_.from + 37, chart_.x.title, {.size = 12, .at = text_anchor::end});
  }

  void draw_line(Writer& to, const chart_line& line) const {
    std::string path;
    for (const chart_point& p : line.points) {
      path += path.empty() ? 'M' : 'L';
      path += Writer::number(x_(p.x)) + " " + Writer::number(y_(p.y));
    }
    to.path(path, "fill=\"none\" stroke=\"" + line.colour + "\" stroke-linejoin=\"round\" " +
                      (line.guide ? "stroke-width=\"1\" stroke-dasharray=\"3 4\"" : "stroke-width=\"2.25\""));
  }

  // On top of the names, so that none covers a point.
  void draw_points(Writer& to, const chart_line& line) const {
    if (line.guide || !line.markers) return;
    to.open_group("fill=\"" + line.colour + "\" stroke=\"#fff\" stroke-width=\"1.5\"");
    for (const chart_point& p : line.points) to.circle(x_(p.x), y_(p.y), 4.25, "");
    to.close_group();
  }

  // A name with the note below it, as a box: `y` is its middle.
  struct label {
    const chart_line* line;
    double left, y, wanted;

    double right() const { return left + label_width(*line); }
    double half() const { return line->note.empty() ? 9 : 16; }
    bool meets(const label& other) const {
      return left < other.right() && other.left < right() && std::abs(y - other.y) < half() + other.half() - 0.01;
    }
  };

  // Places a label right of its line's end, at the same height. A line that ends early may have others on its right: then the
  // label is above or below them, on the side where least is in its way.
  label place_of(const chart_line& line) const {
    const double x = x_(line.points.back().x);
    const double y = y_(line.points.back().y);
    const double width = label_width(line);
    label best{&line, x + label_gap, y, y};
    const double height = best.half() + 6;
    std::size_t least = crossings(best);
    const std::array<chart_point, 4> others{
        {{x - width - 2, y - height}, {x - 4, y - height}, {x + label_gap, y + height}, {x - width / 2, y + height + 2}}};
    for (const auto& [left, middle] : others) {
      if (least == 0 || left < x_.from || middle < y_.to || middle > y_.from - height) continue;
      const label other{&line, left, middle, middle};
      if (const std::size_t count = crossings(other); count < least) best = other, least = count;
    }
    return best;
  }

  // A weighted count of the points of lines in a label's box, sampled densely enough that no line slips through. A guide
  // weighs less than a line, a marker more.
  std::size_t crossings(const label& box) const {
    std::size_t count = 0;
    for (const chart_line& line : chart_.lines) {
      for (std::size_t i = 0; i < line.points.size() && line.markers && !line.guide; ++i) {
        const double x = x_(line.points[i].x), y = y_(line.points[i].y);
        if (x > box.left - 5 && x < box.right() + 5 && std::abs(y - box.y) < box.half() + 3) count += 32;
      }
      for (std::size_t i = 0; i + 1 < line.points.size(); ++i) {
        const double x0 = x_(line.points[i].x), y0 = y_(line.points[i].y);
        const double x1 = x_(line.points[i + 1].x), y1 = y_(line.points[i + 1].y);
        constexpr int parts = 64;
        for (int part = 0; part <= parts; ++part) {
          const double x = x0 + (x1 - x0) * part / parts, y = y0 + (y1 - y0) * part / parts;
          if (x > box.left - 3 && x < box.right() && std::abs(y - box.y) < box.half()) count += line.guide ? 1 : 4;
        }
      }
    }
    return count;
  }

  // All labels, from the highest to the lowest. Labels that would overlap move up and down, each by half of the overlap; a
  // few dozen rounds settle any chart that can be read.
  std::vector<label> placed_labels() const {
    std::vector<label> labels;
    for (const chart_line& line : chart_.lines) {
      if (line.name.empty()) continue;
      labels.push_back(place_of(line));
      for (std::size_t i = labels.size() - 1; i > 0 && labels[i].y < labels[i - 1].y; --i) std::swap(labels[i], labels[i - 1]);
    }
    bool moved = true;
    for (int round = 0; moved && round < 200; ++round) {
      moved = false;
      for (std::size_t a = 0; a < labels.size(); ++a)
        for (std::size_t b = a + 1; b < labels.size(); ++b) {
          if (!labels[a].meets(labels[b])) continue;
          const double lack = labels[a].half() + labels[b].half() - (labels[b].y - labels[a].y);
          labels[a].y -= lack / 2, labels[b].y += lack / 2;
          moved = true;
        }
      for (label& l : labels) l.y = std::clamp(l.y, y_.to + l.half() - 8, y_.from - l.half() + 9);
    }
    return labels;
  }

  // A label that had to move far is connected to its line's end by a thin line.
  void draw_labels(Writer& to) const {
    for (const label& l : placed_labels()) {
      const bool guide = l.line->guide;
      if (std::abs(l.y - l.wanted) > 14)
        to.line(l.left - 3, l.wanted, l.left - 1, l.y, "stroke-width=\"0.75\" stroke=\"" + l.line->colour + "\"");
      const double base = l.line->note.empty() ? l.y + 4.5 : l.y - 2;
      to.text(l.left, base, l.line->name,
              {.size = guide ? tick_style.size : name_size, .colour = l.line->colour, .bold = !guide, .halo = 4});
      if (!l.line->note.empty()) to.text(l.left, base + 14, l.line->note, {.size = note_size, .halo = 4});
    }
  }

  const line_chart& chart_;
  double left_;
  axis_scale x_{};
  axis_scale y_{}; // upwards: from is the bottom
};

} // namespace cairn::detail

namespace cairn::report {

//   const report::line_chart memory{
//       "memory", {"layers", .logarithmic = true}, {"bytes", report::chart_unit::bytes, true}, lines};
//   report::write_svg("memory.svg", report::draw_line_charts({&memory, 1}, {.title = "Depth"}));
//
// Draws charts side by side, in rows of `columns`, as the text of an SVG file. Throws input_error where a line has no points,
// or points that its axes cannot show.
template <class Writer = detail::svg_writer>
std::string draw_line_charts(std::span<const line_chart> charts, const chart_settings& settings = {}) {
  if (charts.empty()) throw input_error("draw_line_charts: expected at least one chart, found none");
  using drawing = detail::line_chart_drawing<Writer>;
  constexpr double margin = 24;
  constexpr double between = 36;
  const bool titled = !settings.title.empty();
  const bool subtitled = !settings.subtitle.empty();
  double top = 20 + (titled ? 24 : 0) + (subtitled ? 20 : 0) + (titled || subtitled ? 16 : 0);
  double title = 0;
  for (const line_chart& chart : charts) title = std::max(title, drawing::title_height(chart));
  const std::size_t columns = settings.columns == 0 ? charts.size() : std::min(settings.columns, charts.size());
  const std::size_t rows = (charts.size() + columns - 1) / columns;
  const double row = title + settings.height + drawing::foot_height + 8;
  Writer to(settings.width, top + row * static_cast<double>(rows));
  if (titled) to.text(margin, 34, settings.title, {.size = 18, .colour = "#1d242c", .bold = true});
  if (subtitled) to.text(margin, titled ? 56 : 30, settings.subtitle, {.size = 12.5});
  const auto count = static_cast<double>(columns);
  const double each = (settings.width - 2 * margin - between * (count - 1)) / count;
  for (std::size_t i = 0; i < charts.size(); ++i) {
    const std::size_t line = i / columns, column = i % columns;
    const double left = margin + (each + between) * static_cast<double>(column);
    const double plot = top + row * static_cast<double>(line) + title;
    drawing(charts[i], left, each, plot, settings.height).draw(to);
  }
  return to.str();
}

#if CAIRN_WITH_COMPILED
CAIRN_COMPILED template std::string draw_line_charts<detail::svg_writer>(std::span<const line_chart>, const chart_settings&);
#endif

} // namespace cairn::report
