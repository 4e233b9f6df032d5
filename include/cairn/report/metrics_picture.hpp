// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/data/make_folder.hpp>
#include <cairn/report/csv_log.hpp>
#include <cairn/report/line_chart.hpp>
#include <cairn/report/progress.hpp>
#include <cairn/report/svg.hpp>

namespace cairn::detail {

// Metrics over the steps of a run, as draw_metrics draws them. Memory is bounded: in a long run neighbours are replaced by
// their mean. Values that are not finite are counted and left out. (A template, so that a program that draws nothing does not
// compile it.)
template <std::size_t MostPoints>
class metrics_in_memory {
public:
  struct line {
    std::string name;
    bool of_epochs = false; // of whole epochs, not of single steps
    std::vector<chart_point> points{};
    std::size_t not_finite = 0;
    std::size_t each = 1; // values in a point
    chart_point sum{};    // of values that are no point yet
    std::size_t summed = 0;
  };

  void add(std::uint64_t step, std::span<const std::pair<std::string, double>> metrics, bool of_epoch = false) {
    for (const auto& [name, value] : metrics) add(step, name, value, of_epoch);
  }
  void add(std::uint64_t step, std::string_view name, double value, bool of_epoch = false) {
    line& to = line_of(name, of_epoch);
    if (!std::isfinite(value)) {
      ++to.not_finite;
      return;
    }
    to.sum.x += static_cast<double>(step), to.sum.y += value;
    if (++to.summed < to.each) return;
    to.points.push_back({to.sum.x / static_cast<double>(to.summed), to.sum.y / static_cast<double>(to.summed)});
    to.sum = {}, to.summed = 0;
    if (to.points.size() < 2 * most_points) return;
    for (std::size_t i = 0; i < most_points; ++i) {
      const chart_point &a = to.points[2 * i], &b = to.points[2 * i + 1];
      to.points[i] = {(a.x + b.x) / 2, (a.y + b.y) / 2};
    }
    to.points.resize(most_points);
    to.each *= 2;
  }

  // In the order in which their names came.
  const std::vector<line>& lines() const { return lines_; }

  static constexpr std::size_t most_points = MostPoints; // of a line; up to twice as many before neighbours are merged

private:
  // train_loss_step is for steps what train_loss is for epochs: both have one name here.
  line& line_of(std::string_view name, bool of_epoch) {
    if (!of_epoch && name.ends_with("_step")) name.remove_suffix(5);
    for (line& l : lines_)
      if (l.name == name && l.of_epochs == of_epoch) return l;
    return lines_.emplace_back(line{std::string(name), of_epoch});
  }

  std::vector<line> lines_;
};

} // namespace cairn::detail

namespace cairn::report {

using recorded_metrics = detail::metrics_in_memory<512>;

// Reads the metrics of a table that csv_log wrote. A row is of a step if it has a value in a column such as train_loss_step,
// else of an epoch. In a table without such a column the second row of a step is of an epoch. A row with a metric of a
// validation or a test is always of an epoch. Throws file_error.
template <class Metrics = recorded_metrics>
Metrics read_metrics(const std::string& file) {
  const std::string text = detail::text_of_file(file);
  const std::vector<std::string_view> rows = detail::csv_records(text);
  const std::vector<std::string> names = rows.empty() ? std::vector<std::string>{} : detail::csv_cells(rows[0]);
  if (names.size() < 2 || names[0] != "step" || names[1] != "epoch")
    throw file_error("read_metrics: expected a table that begins with step,epoch in '" + file + "'; csv_log writes such");
  Metrics out;
  double step = -1;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const std::vector<std::string> cells = detail::csv_cells(rows[i]);
    std::vector<double> values(names.size(), 0);
    bool right = cells.size() == names.size();
    for (std::size_t k = 0; right && k < cells.size(); ++k) {
      right = detail::read_number(cells[k], values[k]) || (k > 1 && cells[k].empty());
    }
    if (!right || !(values[0] >= 0 && values[0] < 0x1p63))
      throw file_error("read_metrics: expected " + std::to_string(names.size()) + " numbers in line " + std::to_string(i + 1) +
                       " of '" + file + "', found '" + std::string(rows[i].substr(0, 60)) + "'");
    bool of_epoch = std::exchange(step, values[0]) == values[0];
    bool names_steps = false, is_step = false; // the table has a column such as train_loss_step, this row has a value there
    for (std::size_t k = 2; k < cells.size(); ++k)
      if (names[k].ends_with("_step")) names_steps = true, is_step = is_step || !cells[k].empty();
    of_epoch = (of_epoch || names_steps) && !is_step;
    for (std::size_t k = 2; k < cells.size(); ++k)
      of_epoch = of_epoch || (!cells[k].empty() && (names[k].starts_with("val_") || names[k].starts_with("test_")));
    for (std::size_t k = 2; k < cells.size(); ++k)
      if (!cells[k].empty()) out.add(static_cast<std::uint64_t>(values[0]), names[k], values[k], of_epoch);
  }
  return out;
}

} // namespace cairn::report

namespace cairn::detail {

// The quantity of a metric: "loss" for "train_loss" and "val_loss", which share a panel.
inline std::string_view quantity_of(std::string_view name) {
  for (const std::string_view part : {"train_", "val_", "test_"})
    if (name.starts_with(part) && name.size() > part.size()) return name.substr(part.size());
  return name;
}

// The panel of one quantity: a line for each of its names. If a quantity is known for steps and for epochs, the epochs are
// the line and the steps are pale behind it. A learning rate shows the steps instead: it has one value at a time.
template <class Metrics>
line_chart metrics_panel(const Metrics& metrics, std::string_view quantity) {
  static constexpr std::array<const char*, 4> colours{"#2f6db3", "#b4560f", "#1d8a5b", "#a02c6b"};
  line_chart out{.title = std::string(quantity), .x = {.title = "steps"}};
  double least = std::numeric_limits<double>::infinity(), most = -least;
  std::vector<chart_line> behind;
  const bool is_rate = quantity == "learning_rate" || quantity == "lr";
  const auto has_twin = [&](const auto& line) {
    return std::any_of(metrics.lines().begin(), metrics.lines().end(), [&](const auto& other) {
      return other.name == line.name && other.of_epochs != line.of_epochs && other.points.size() + other.summed > 0;
    });
  };
  for (const auto& line : metrics.lines()) {
    if (quantity_of(line.name) != quantity) continue;
    if (line.not_finite > 0)
      out.y.title += (out.y.title.empty() ? "" : ", ") + line.name + ": " + std::to_string(line.not_finite) + " not finite";
    std::vector<chart_point> points = line.points;
    if (line.summed > 0 || points.empty()) {
      if (line.summed == 0) continue;
      points.push_back({line.sum.x / static_cast<double>(line.summed), line.sum.y / static_cast<double>(line.summed)});
    }
    if (line.of_epochs && is_rate && has_twin(line)) continue;
    const bool is_behind = !line.of_epochs && !is_rate && has_twin(line);
    for (const chart_point& p : points) least = std::min(least, p.y), most = std::max(most, p.y);
    if (is_behind) {
      behind.push_back({.colour = "#c9d6e4", .points = std::move(points), .markers = false});
    } else {
      const bool few = line.of_epochs && points.size() <= 40;
      const std::string value = named_number("", points.back().y).substr(1);
      out.lines.push_back({.name = line.name,
                           .note = value,
                           .colour = colours[out.lines.size() % colours.size()],
                           .points = std::move(points),
                           .markers = few});
    }
  }
  out.lines.insert(out.lines.begin(), behind.begin(), behind.end());
  // A logarithmic axis shows small numbers beside large ones, all above zero. For numbers far from zero the axis does not
  // begin there. A learning rate is read as the share of its peak, and ends near zero by design.
  if (least > 0 && most > 30 * least && !is_rate) out.y.logarithmic = true;
  else if (least > 0.4 * most && most > least) {
    out.y.least = least - 0.1 * (most - least);
    out.y.most = most + 0.1 * (most - least);
  }
  return out;
}

} // namespace cairn::detail

namespace cairn::report {

//   report::write_svg("curves.svg", report::draw_metrics(report::read_metrics("runs/a/metrics.csv"), "run a"));
//
// Draws metrics as the text of an SVG file: a small panel for each quantity, where train_loss, val_loss and test_loss are one.
// Throws input_error where there is nothing to draw.
template <class Writer = detail::svg_writer, class Metrics = recorded_metrics>
std::string draw_metrics(const Metrics& metrics, const std::string& title = {}) {
  std::vector<std::string_view> quantities;
  for (const auto& line : metrics.lines())
    if (const std::string_view q = detail::quantity_of(line.name);
        std::find(quantities.begin(), quantities.end(), q) == quantities.end())
      quantities.push_back(q);
  std::vector<line_chart> panels;
  std::string without;
  for (const std::string_view q : quantities)
    if (line_chart panel = detail::metrics_panel(metrics, q); !panel.lines.empty()) panels.push_back(std::move(panel));
    else without += (without.empty() ? "without a finite value: " : ", ") + std::string(q);
  if (panels.empty())
    throw input_error("draw_metrics: expected at least one metric with a finite value, found none; was anything logged?");
  const std::size_t columns = panels.size() == 4 ? 2 : std::min<std::size_t>(panels.size(), 3);
  return draw_line_charts<Writer>(
      panels,
      {.title = title, .subtitle = without, .width = 60 + 400 * static_cast<double>(columns), .height = 220, .columns = columns});
}

} // namespace cairn::report

namespace cairn::detail {

// See metrics_picture.
template <class Metrics>
class picture_of_metrics {
public:
  explicit picture_of_metrics(std::string file, std::string title = {}) : path_(std::move(file)), title_(std::move(title)) {}

  template <class Run>
  void on_log(const Run& run) {
    if (run.rank() == 0) seen_.add(run.step(), run.metrics());
  }
  template <class Run>
  void on_epoch(const Run& run) {
    if (run.rank() == 0) seen_.add(run.step(), run.metrics(), true);
  }
  template <class Run>
  void on_end(const Run& run) {
    const auto is_seen = [](const auto& line) { return line.points.size() + line.summed > 0; };
    if (run.rank() != 0 || std::none_of(seen_.lines().begin(), seen_.lines().end(), is_seen)) return;
    make_folder_of(path_);
    write_svg(path_, draw_metrics(seen_, title_));
  }

private:
  std::string path_;
  std::string title_;
  Metrics seen_;
};

} // namespace cairn::detail

namespace cairn::report {

// A callback of fit: the curves of a run as a picture, which rank 0 writes when the run ends.
//
//   fit(train, batches, options, report::metrics_picture{"runs/a/curves.svg"});
//
// It draws what it has seen: in a resumed run, the steps since then. To draw the whole run, call draw_metrics for a csv_log's
// table. Throws file_error.
using metrics_picture = detail::picture_of_metrics<recorded_metrics>;

} // namespace cairn::report
