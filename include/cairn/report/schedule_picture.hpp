// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/plan/chain.hpp>
#include <cairn/plan/schedule.hpp>
#include <cairn/report/axis.hpp>
#include <cairn/report/format.hpp>
#include <cairn/report/memory_plot.hpp>
#include <cairn/report/stage_plot.hpp>
#include <cairn/report/svg.hpp>
#include <cairn/report/timeline.hpp>

namespace cairn::report {

// One schedule to draw. The spans are read while drawing only. `live` is that of the memory plan: bytes alive
// during each op. `leaving` (see departures()) may be empty: then no communication is drawn.
struct picture_panel {
  std::string name; // the policy, as the user writes it
  plan::chain stages;
  std::span<const detail::op> ops;
  std::span<const std::size_t> live;
  std::span<const bucket_departure> leaving{};
  std::size_t budget = 0; // bytes, as a line; 0: that of the picture
};

// Settings that all panels of a picture share.
struct picture_settings {
  std::string title = "One training step";
  std::vector<std::string> stage_names{}; // shown where rows are high enough
  std::size_t store_all_peak = 0;         // bytes; 0: not drawn
  std::size_t budget = 0;                 // bytes that a schedule may use, as a line; 0: not drawn
  std::size_t columns = 1;                // schedules side by side
  double flops_per_byte = 20;             // operations of one rank in the time in which a byte of gradients is reduced
  double width = 1200;                    // pixels
};

} // namespace cairn::report

namespace cairn::detail {

// The layout of a picture. All panels share the scales of time and of bytes, so that they can be compared by eye.
template <class Writer>
class schedule_picture {
public:
  schedule_picture(std::span<const picture_panel> panels, const picture_settings& settings)
      : panels_(panels), settings_(settings) {
    check();
    double most_time = 0;
    std::size_t most_bytes = std::max({std::size_t{1}, settings.store_all_peak, settings.budget});
    std::size_t most_stages = 1;
    for (const picture_panel& p : panels) {
      times_.push_back(make_timeline(p.stages, p.ops, p.leaving, settings.flops_per_byte));
      // A slow network must not squeeze the schedule into a corner: the scale ends at twice the work.
      most_time = std::max(most_time, std::min(times_.back().end, 2 * times_.back().work));
      most_bytes = std::max(most_bytes, p.budget);
      for (const std::size_t bytes : p.live.first(p.ops.size())) most_bytes = std::max(most_bytes, bytes);
      most_stages = std::max(most_stages, p.stages.size());
    }
    // High rows for few stages; many stages share a height that still fits on a screen.
    const bool one_row = panels.size() <= std::max<std::size_t>(2, columns());
    const double room = most_stages > 400 ? 560 : one_row ? 440 : 300;
    row_ = std::min(30.0, room / static_cast<double>(most_stages));
    // Above the highest peak there is room for its number.
    bytes_ = 1.15 * static_cast<double>(most_bytes);

    // The left margin holds the widest label of a stage, or of a number of bytes. Columns whose rows are the same
    // stages need it once.
    double margin = Writer::width_of("1023 MiB", 11);
    for (std::size_t p = 0; p < panels.size(); ++p) margin = std::max(margin, rows(p, 0).label_width());
    margin += 20;
    for (const picture_panel& p : panels) shares_labels_ = shares_labels_ && p.stages.size() == most_stages;
    const double between = shares_labels_ ? 28 : margin + 14;
    const double count = static_cast<double>(columns());
    const double width = (settings.width - margin - 24 - between * (count - 1)) / count;
    for (std::size_t c = 0; c < columns(); ++c) {
      const double from = margin + (width + between) * static_cast<double>(c);
      x_.push_back({from, from + width, 0, most_time > 0 ? most_time : 1});
    }
  }

  std::string draw() const {
    double height = header_height;
    for (std::size_t p = 0; p < panels_.size(); p += columns()) height += row_height(p);
    Writer to(settings_.width, height);
    to.text(20, 32, settings_.title, {.size = 18, .colour = "#1d242c", .bold = true});
    draw_legend(to, 58);
    double top = header_height;
    for (std::size_t p = 0; p < panels_.size(); ++p) {
      if (p > 0 && p % columns() == 0) top += row_height(p - columns());
      draw_panel(to, p, top);
    }
    return to.str();
  }

private:
  // In pixels, from the top: title and legend once; then for each panel its facts, its stages, the lane of
  // its buckets if it has any, its curve of bytes, and the numbers of the axis of time.
  static constexpr double header_height = 74;
  static constexpr double facts_height = 40; // the line with the policy and its numbers, and space for "loss"
  static constexpr double facts_line = 17;   // a second line of them, where the first is narrow
  static constexpr double lane_height = 16;
  static constexpr double space = 30; // between the stages and the bytes
  static constexpr double memory_height = 130;
  static constexpr double foot_height = 52;

  void check() const {
    for (const picture_panel& p : panels_)
      if (p.live.size() < p.ops.size() || p.ops.empty() || p.stages.size() == 0)
        throw input_error("draw_schedules: expected stages, ops and live bytes for each of the " + std::to_string(p.ops.size()) +
                          " ops of '" + p.name + "', found " + std::to_string(p.live.size()) +
                          " numbers of bytes; take them from the memory plan of the same schedule");
  }

  std::size_t columns() const { return std::clamp<std::size_t>(settings_.columns, 1, panels_.size()); }
  bool is_narrow() const { return columns() > 1; }
  double facts_room() const { return facts_height + (is_narrow() ? facts_line : 0); }

  // The panels beside panel p, itself included.
  std::span<const picture_panel> beside(std::size_t p) const {
    const std::size_t first = p - p % columns();
    return panels_.subspan(first, std::min(columns(), panels_.size() - first));
  }
  double stages_height(std::size_t p) const {
    std::size_t most = 0;
    for (const picture_panel& other : beside(p)) most = std::max(most, other.stages.size());
    return row_ * static_cast<double>(most);
  }
  double lane_room(std::size_t p) const { return has(beside(p), picture_kind::communication) ? lane_height + 10 : 0; }
  double row_height(std::size_t p) const {
    return facts_room() + stages_height(p) + lane_room(p) + space + memory_height + foot_height;
  }

  const axis_scale& x_of(std::size_t p) const { return x_[p % columns()]; }
  bool is_labelled(std::size_t p) const { return !shares_labels_ || p % columns() == 0; }
  stage_plot rows(std::size_t p, double top) const {
    return {panels_[p].stages,     panels_[p].ops, &times_[p], x_.empty() ? axis_scale{} : x_of(p), top, row_,
            settings_.stage_names, is_labelled(p)};
  }

  static bool has(std::span<const picture_panel> panels, picture_kind kind) {
    for (const picture_panel& p : panels) {
      if (kind == picture_kind::communication && !p.leaving.empty()) return true;
      for (const op& o : p.ops)
        if (stage_plot::is(o, kind)) return true;
    }
    return false;
  }

  // Explains only the kinds that occur.
  void draw_legend(Writer& to, double base) const {
    double at = 20;
    for (std::size_t k = 0; k < picture_colours.size(); ++k) {
      const auto kind = static_cast<picture_kind>(k);
      if (kind != picture_kind::stored && !has(panels_, kind)) continue;
      to.rectangle(at, base - 10, 12, 12, "rx=\"2\" " + paint("fill", kind));
      to.text(at + 18, base, picture_words[k], {.size = 12, .colour = "#333"});
      at += 18 + Writer::width_of(picture_words[k], 12) + 14;
    }
  }

  // One line, or two in a narrow panel: the policy and its costs. The time is the model's, from counts of operations only;
  // measured times belong in a table.
  void draw_facts(Writer& to, std::size_t p, std::size_t peak, double base) const {
    const picture_panel& panel = panels_[p];
    const std::string chain_facts = format_count(panel.stages.size()) + " stages · batch " + format_count(panel.stages.batch);
    std::string peak_facts = "peak " + format_bytes(peak);
    if (settings_.store_all_peak > 0 && peak != settings_.store_all_peak)
      peak_facts +=
          " = " + format_fixed(static_cast<double>(peak) / static_cast<double>(settings_.store_all_peak), 2) + " of store_all";
    std::string time_facts =
        "predicted time " + format_fixed(times_[p].work_ratio, 2) + " ×" + (is_narrow() ? "" : " a step without recomputation");
    if (!panel.leaving.empty()) {
      const double exposed = (times_[p].end - times_[p].work) / times_[p].work * times_[p].work_ratio;
      time_facts += " + " + format_fixed(exposed, 2) + " waiting for gradients";
    }
    const double left = is_narrow() ? x_of(p).from : 20;
    const double after_name = left + Writer::width_of(panel.name, 14) + 18;
    to.text(left, base, panel.name, {.size = 14, .colour = "#1d242c", .bold = true});
    if (is_narrow()) {
      to.text(after_name, base, peak_facts, {.size = 12});
      to.text(left, base + facts_line, chain_facts + " · " + time_facts, {.size = 12});
    } else {
      to.text(after_name, base, chain_facts + " · " + peak_facts + " · " + time_facts, {.size = 12});
    }
  }

  // From the back to the front: grid, stored tensors, ops, buckets, curve, and last the marks that people look for.
  void draw_panel(Writer& to, std::size_t p, double top) const {
    const picture_panel& panel = panels_[p];
    const timeline& times = times_[p];
    const axis_scale& x = x_of(p);
    // Panels side by side have a common base line, however many stages they have.
    const double missing = stages_height(p) - row_ * static_cast<double>(panel.stages.size());
    const stage_plot stages = rows(p, top + facts_room() + missing);
    const double lane = stages.bottom() + 6;
    const double memory_top = stages.bottom() + lane_room(p) + space;
    const memory_plot memory{panel.live,
                             &times,
                             x,
                             {memory_top + memory_height, memory_top, 0, bytes_},
                             settings_.store_all_peak,
                             "store_all",
                             panel.budget > 0 ? panel.budget : settings_.budget,
                             is_labelled(p)};
    draw_facts(to, p, memory.peak(), top + 14);

    // The axis of time is common to both halves.
    for (const double t : ticks_of({}, x, is_narrow() ? 5 : 8)) {
      to.line(x(t), stages.top, x(t), memory.y.from, "stroke=\"#eceff2\"");
      to.text(x(t), memory.y.from + 17, svg_writer::number(t), {.at = text_anchor::middle});
    }
    to.text(x.to, memory.y.from + 35, "predicted time, in forwards of the whole network", {.at = text_anchor::end});
    to.line(x.from, stages.bottom(), x.to, stages.bottom(), "stroke=\"#9aa3ad\"");

    if (is_labelled(p)) to.text(x.from - 8, stages.top - 9, "stage", {.at = text_anchor::end});
    stages.draw_labels(to);
    stages.draw_stored(to);
    for (const auto kind : {picture_kind::forward, picture_kind::recompute, picture_kind::backward})
      if (has({&panel, 1}, kind)) stages.draw_ops(to, kind);
    if (!panel.leaving.empty()) {
      if (is_labelled(p)) to.text(x.from - 8, lane + lane_height / 2 + 4, "buckets", {.at = text_anchor::end});
      stages.draw_buckets(to, panel.leaving, lane, lane_height);
    }

    memory.draw_grid(to);
    memory.draw_curve(to);
    draw_loss(to, p, stages.top, memory.y.from);
    memory.draw_name(to);
    memory.draw_peak(to);
  }

  // Marks the loss, where the forward pass ends and the backward pass begins.
  void draw_loss(Writer& to, std::size_t p, double top, double bottom) const {
    const std::span<const op> ops = panels_[p].ops;
    std::size_t loss = 0;
    while (loss < ops.size() && ops[loss].kind != op_kind::loss) ++loss;
    if (loss == ops.size() || !has({&panels_[p], 1}, picture_kind::backward)) return;
    const double at = x_of(p)(times_[p].ops[loss].begin);
    to.line(at, top - 4, at, bottom, "stroke=\"#6b7683\" stroke-width=\"1\" stroke-dasharray=\"2 3\"");
    to.text(at, top - 9, "loss", {.at = text_anchor::middle});
  }

  std::span<const picture_panel> panels_;
  const picture_settings& settings_;
  std::vector<timeline> times_;
  std::vector<axis_scale> x_{}; // of each column, all equally long
  double row_ = 1;              // height of a stage's row
  double bytes_ = 1;            // top of the scale of bytes
  bool shares_labels_ = true;
};

} // namespace cairn::detail

namespace cairn::report {

//   const auto leaving = report::departures<Model, batch<64>>();
//   const report::picture_panel panel{"sqrt_n", chain, steps.ops(), plan.live, leaving};
//   report::write_svg("schedule.svg", draw_schedule(panel, {.title = "mnist", .store_all_peak = other_plan.bound}));
//
// Draws schedules one above the other, or `columns` of them side by side, with common scales, as the text of an SVG
// file. Above, time runs to the right and the stages are rows, the first at the bottom; below is the curve of live
// bytes with its peak. Widths are predicted times: counts of operations. Throws input_error where ops and live bytes
// do not belong together.
template <class Writer = detail::svg_writer>
std::string draw_schedules(std::span<const picture_panel> panels, const picture_settings& settings = {}) {
  return detail::schedule_picture<Writer>(panels, settings).draw();
}

} // namespace cairn::report

namespace cairn {

// The same for one schedule.
template <class Writer = detail::svg_writer>
std::string draw_schedule(const report::picture_panel& panel, const report::picture_settings& settings = {}) {
  return report::draw_schedules<Writer>({&panel, 1}, settings);
}

#if CAIRN_WITH_COMPILED
CAIRN_COMPILED template std::string report::draw_schedules<detail::svg_writer>(std::span<const report::picture_panel>,
                                                                               const report::picture_settings&);
#endif

} // namespace cairn
