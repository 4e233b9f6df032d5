// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/report/format.hpp>
#include <cairn/report/svg.hpp>

namespace cairn::report {

struct confusion_settings {
  std::string title = "What each class was taken for";
  std::string subtitle{};           // such as the network and the samples
  std::vector<std::string> names{}; // of the classes; their numbers, if there are none
};

} // namespace cairn::report

namespace cairn::detail {

// A row for each class of targets, a column for each class that was found. A cell's tint is its share of the row; so the
// diagonal is the recall of each class, which is at the end of the row, as the precision is below each column. (A template, so
// that a program that draws nothing does not compile it.)
template <class Matrix>
class confusion_drawing {
public:
  confusion_drawing(const Matrix& counts, const report::confusion_settings& settings)
      : counts_(counts), settings_(settings), classes_(counts.classes()) {
    double longest = 0;
    for (std::size_t k = 0; k < classes_; ++k) longest = std::max(longest, svg_writer::width_of(name(k), size));
    const double widest = svg_writer::width_of(std::to_string(largest()), size) + 8;
    cell_ = classes_ > most_labelled ? std::max(1.0, 640 / static_cast<double>(classes_)) : std::max(28.0, widest);
    left_ = 40 + longest + 12;
    // Names of columns that are wider than a cell lean.
    top_ = 76 + (longest > cell_ ? longest * 0.71 + 8 : 12);
  }

  std::string draw() const {
    const double side = cell_ * static_cast<double>(classes_);
    const std::string below = settings_.subtitle.empty() ? said() : settings_.subtitle + ": " + said();
    const double words = std::max({svg_writer::width_of(below, size), svg_writer::width_of(legend, size),
                                   svg_writer::width_of(settings_.title, title_size)});
    svg_writer out(std::max(left_ + side + 90, 48 + words), top_ + side + 52);
    out.text(24, 30, settings_.title, {.size = title_size, .colour = "#222", .bold = true});
    out.text(24, 48, below);
    for (std::size_t k = 0; k < classes_; ++k) {
      const double y = top_ + cell_ * static_cast<double>(k);
      std::uint64_t row = 0;
      for (std::size_t found = 0; found < classes_; ++found) row += counts_.count(k, found);
      for (std::size_t found = 0; found < classes_; ++found) draw_cell(out, k, found, y, static_cast<double>(row));
    }
    out.path("M" + svg_writer::number(left_) + " " + svg_writer::number(top_) + "h" + svg_writer::number(side) + "v" +
                 svg_writer::number(side) + "h-" + svg_writer::number(side) + "z",
             "fill=\"none\" stroke=\"#999\"");
    if (classes_ <= most_labelled) draw_labels(out, side);
    out.text(24, top_ + side + 40, legend, {.colour = "#777"});
    return out.str();
  }

private:
  static constexpr double size = 11, title_size = 16;
  static constexpr std::string_view legend = "targets downwards, what was found to the right; tints are shares of a row";
  static constexpr std::size_t most_labelled = 40;

  std::string name(std::size_t k) const { return settings_.names.empty() ? std::to_string(k) : settings_.names[k]; }
  std::uint64_t largest() const {
    std::uint64_t most = 0;
    for (std::size_t a = 0; a < classes_; ++a)
      for (std::size_t b = 0; b < classes_; ++b) most = std::max(most, counts_.count(a, b));
    return most;
  }
  static std::string percent(double share) { return format_fixed(100 * share, 1) + " %"; }
  std::string said() const {
    return std::to_string(counts_.total()) + " samples, " + percent(counts_.accuracy()) + " right, F1 " +
           format_fixed(counts_.f1(), 3);
  }

  void draw_cell(svg_writer& out, std::size_t target, std::size_t found, double y, double row) const {
    const std::uint64_t count = counts_.count(target, found);
    if (count == 0) return;
    const double share = static_cast<double>(count) / row;
    const double x = left_ + cell_ * static_cast<double>(found);
    // Rare mistakes are what one looks for: a tint begins well above nothing.
    out.rectangle(x, y, cell_, cell_,
                  std::string("fill=\"") + (target == found ? "#2f6db3" : "#c0392b") + "\" fill-opacity=\"" +
                      svg_writer::number(0.12 + 0.88 * share) + "\"",
                  name(target) + " taken for " + name(found) + ": " + std::to_string(count));
    if (classes_ <= most_labelled)
      out.text(x + cell_ / 2, y + cell_ / 2 + 4, std::to_string(count),
               {.at = text_anchor::middle, .colour = share > 0.5 ? "#fff" : "#333"});
  }
  void draw_labels(svg_writer& out, double side) const {
    const bool leans = top_ > 100;
    for (std::size_t k = 0; k < classes_; ++k) {
      const double middle = cell_ * (static_cast<double>(k) + 0.5);
      out.text(left_ - 6, top_ + middle + 4, name(k), {.at = text_anchor::end});
      if (leans) {
        out.open_group("transform=\"rotate(-45 " + svg_writer::number(left_ + middle) + " " + svg_writer::number(top_ - 6) +
                       ")\"");
        out.text(left_ + middle, top_ - 6, name(k));
        out.close_group();
      } else {
        out.text(left_ + middle, top_ - 6, name(k), {.at = text_anchor::middle});
      }
      out.text(left_ + side + 8, top_ + middle + 4, percent(counts_.recall(k)));
      if (cell_ >= 28)
        out.text(left_ + middle, top_ + side + 16, format_fixed(100 * counts_.precision(k), 0), {.at = text_anchor::middle});
    }
    out.text(left_ + side + 8, top_ - 6, "recall", {.colour = "#777"});
    out.text(left_ + side + 8, top_ + side + 16, "% precision", {.colour = "#777"});
  }

  const Matrix& counts_;
  const report::confusion_settings& settings_;
  std::size_t classes_;
  double cell_ = 0, left_ = 0, top_ = 0; // pixels
};

} // namespace cairn::detail

namespace cairn::report {

// Draws a metrics::confusion_matrix as an SVG:
//
//   report::write_svg("errors.svg", report::draw_confusion(metrics::confusion(net, batches), {.names = {"cat", "dog"}}));
//
// Beyond 40 classes, the cells have no numbers. Throws input_error if there are names, but not one for each class.
template <class Matrix>
std::string draw_confusion(const Matrix& counts, const confusion_settings& settings = {}) {
  if (!settings.names.empty() && settings.names.size() != counts.classes())
    throw input_error("draw_confusion: expected a name for each of " + std::to_string(counts.classes()) + " classes, found " +
                      std::to_string(settings.names.size()));
  return detail::confusion_drawing<Matrix>(counts, settings).draw();
}

} // namespace cairn::report
