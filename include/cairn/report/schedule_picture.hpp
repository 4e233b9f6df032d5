// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/plan/chain.hpp>
#include <cairn/plan/schedule.hpp>
#include <cairn/report/axis.hpp>
#include <cairn/report/file.hpp>
#include <cairn/report/format.hpp>
#include <cairn/report/memory_plot.hpp>
#include <cairn/report/stage_plot.hpp>
#include <cairn/report/svg.hpp>
#include <cairn/report/timeline.hpp>

namespace cairn {

// One schedule to draw. The spans are read while drawing only. `live` is that of the memory plan: bytes alive
// during each op. `leaving` (see departures()) may be empty: then no communication is drawn.
struct picture_panel {
  std::string name; // the policy, as the user writes it
  chain stages;
  std::span<const op> ops;
  std::span<const std::size_t> live;
  std::span<const bucket_departure> leaving{};
  std::size_t budget = 0; // bytes, as a line; 0: that of the picture
};

// What is common to all panels of a picture.
struct picture_settings {
  std::string title = "One training step";
  std::vector<std::string> stage_names{}; // shown where rows are high enough
  std::size_t store_all_peak = 0;         // bytes; 0: not drawn
  std::size_t budget = 0;                 // bytes that a schedule may use, as a line; 0: not drawn
  std::size_t columns = 1;                // so many schedules side by side
  double flops_per_byte = 20; // operations of one rank in the time in which a byte of gradients is reduced
  double width = 1200;        // pixels
};

namespace detail {

// Where everything lies. All panels share the scales of time and of bytes, so that they can be compared by
// eye.
class schedule_picture {
public:
  schedule_picture(std::span<const picture_panel> panels, const picture_settings& settings)
      : panels_(panels), settings_(settings) {
    check();
    double most_time = 0;
    std::size_t most_bytes = std::max(settings.store_all_peak, settings.budget);
    std::size_t most_stages = 1;
    for (const picture_panel& p : panels) {
      times_.push_back(make_timeline(p.stages, p.ops, p.leaving, settings.flops_per_byte));
      // A slow network must not squeeze the schedule into a corner: the scale ends at twice the work.
      most_time = std::max(most_time, std::min(times_.back().end, 2 * times_.back().work));
      most_bytes =
          std::max(most_bytes, *std::max_element(p.live.begin(), p.live.begin() + offset(p.ops.size())));
      most_bytes = std::max(most_bytes, p.budget);
      most_stages = std::max(most_stages, p.stages.size());
      communicates_ = communicates_ || !p.leaving.empty();
    }
    // High rows for few stages; many stages share a height that still fits on a screen.
    const bool one_row = panels.size() <= std::max<std::size_t>(2, columns());
    const double room = most_stages > 400 ? 560 : one_row ? 440 : 300;
    row_ = std::min(30.0, room / static_cast<double>(most_stages));
    // Above the highest peak there is room for its number.
    bytes_ = 1.15 * static_cast<double>(std::max<std::size_t>(1, most_bytes));

    // The left margin holds the widest label of a stage, or of a number of bytes. Columns whose rows are the same
    // stages need it once.
    double margin = svg_writer::width_of("1023 MiB", 11);
    for (std::size_t p = 0; p < panels.size(); ++p) margin = std::max(margin, rows(p, 0).label_width());
    margin += 20;
    shares_labels_ = std::all_of(panels.begin(), panels.end(),
                                 [&](const auto& p) { return p.stages.size() == most_stages; });
    const double between = shares_labels_ ? 28 : margin + 14;
    const double count = static_cast<double>(columns());
    const double width = (settings.width - margin - 24 - between * (count - 1)) / count;
    for (std::size_t c = 0; c < columns(); ++c) {
      const double from = margin + (width + between) * static_cast<double>(c);
      x_.push_back({from, from + width, most_time > 0 ? most_time : 1});
    }
  }

  std::string draw() const {
    double height = header_height;
    for (std::size_t p = 0; p < panels_.size(); p += columns()) height += row_height(p);
    svg_writer to(settings_.width, height,
                  "font-family=\"Helvetica Neue, Helvetica, Arial, DejaVu Sans, sans-serif\"");
    to.rectangle(0, 0, settings_.width, height, "fill=\"#fff\"");
    to.text(20, 32, settings_.title, 18, text_anchor::start, "font-weight=\"bold\" fill=\"#1d242c\"");
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

  static std::ptrdiff_t offset(std::size_t n) { return static_cast<std::ptrdiff_t>(n); }

  void check() const {
    for (const picture_panel& p : panels_)
      if (p.live.size() < p.ops.size() || p.ops.empty() || p.stages.size() == 0)
        throw error("draw_schedules: expected stages, ops and live bytes for each of the " +
                    std::to_string(p.ops.size()) + " ops of '" + p.name + "', found " +
                    std::to_string(p.live.size()) +
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
  double lane_room(std::size_t p) const {
    const auto row = beside(p);
    const bool any =
        std::any_of(row.begin(), row.end(), [](const auto& other) { return !other.leaving.empty(); });
    return any ? lane_height + 10 : 0;
  }
  double row_height(std::size_t p) const {
    return facts_room() + stages_height(p) + lane_room(p) + space + memory_height + foot_height;
  }

  const axis_scale& x_of(std::size_t p) const { return x_[p % columns()]; }
  bool is_labelled(std::size_t p) const { return !shares_labels_ || p % columns() == 0; }
  stage_plot rows(std::size_t p, double top) const {
    return {panels_[p].stages,     panels_[p].ops, &times_[p], x_.empty() ? axis_scale{} : x_of(p), top, row_,
            settings_.stage_names, is_labelled(p)};
  }

  static bool has(const picture_panel& p, picture_kind kind) {
    return std::any_of(p.ops.begin(), p.ops.end(), [kind](const op& o) {
      return stage_plot::works(o) && stage_plot::kind_of(o) == kind;
    });
  }

  // Only what occurs is explained.
  void draw_legend(svg_writer& to, double base) const {
    double at = 20;
    for (std::size_t k = 0; k < picture_colours.size(); ++k) {
      const auto kind = static_cast<picture_kind>(k);
      const bool occurs =
          kind == picture_kind::stored || (kind == picture_kind::communication && communicates_) ||
          std::any_of(panels_.begin(), panels_.end(), [kind](const auto& p) { return has(p, kind); });
      if (!occurs) continue;
      to.rectangle(at, base - 10, 12, 12, "rx=\"2\" fill=\"" + std::string(picture_colours[k]) + "\"");
      to.text(at + 18, base, picture_words[k], 12, text_anchor::start, "fill=\"#333\"");
      at += 18 + svg_writer::width_of(picture_words[k], 12) + 14;
    }
  }

  // One line, or two where it is narrow: the policy and what it costs. The time is the model's, made of operations
  // only; what is measured belongs in a table.
  void draw_facts(svg_writer& to, std::size_t p, std::size_t peak, double base) const {
    const picture_panel& panel = panels_[p];
    std::string chain_facts =
        format_count(panel.stages.size()) + " stages · batch " + format_count(panel.stages.batch);
    std::string peak_facts = "peak " + format_bytes(peak);
    if (settings_.store_all_peak > 0 && peak != settings_.store_all_peak)
      peak_facts += " = " +
                    fixed(static_cast<double>(peak) / static_cast<double>(settings_.store_all_peak), 2) +
                    " of store_all";
    std::string time_facts = "predicted time " + fixed(times_[p].work_ratio, 2) + " ×" +
                             (is_narrow() ? "" : " a step without recomputation");
    if (!panel.leaving.empty()) {
      const double exposed = (times_[p].end - times_[p].work) / times_[p].work * times_[p].work_ratio;
      time_facts += " + " + fixed(exposed, 2) + " waiting for gradients";
    }
    const double left = is_narrow() ? x_of(p).from : 20;
    const double after_name = left + svg_writer::width_of(panel.name, 14) + 18;
    const auto say = [&](double x, double y, const std::string& facts) {
      to.text(x, y, facts, 12, text_anchor::start, "fill=\"#555\"");
    };
    to.text(left, base, panel.name, 14, text_anchor::start, "font-weight=\"bold\" fill=\"#1d242c\"");
    if (is_narrow()) {
      say(after_name, base, peak_facts);
      say(left, base + facts_line, chain_facts + " · " + time_facts);
    } else {
      say(after_name, base, chain_facts + " · " + peak_facts + " · " + time_facts);
    }
  }

  // From the back to the front: grid, what is stored, ops, buckets, curve, and last the marks that people
  // look for.
  void draw_panel(svg_writer& to, std::size_t p, double top) const {
    const picture_panel& panel = panels_[p];
    const timeline& times = times_[p];
    const axis_scale& x = x_of(p);
    // Panels side by side stand on one line, however many stages they have.
    const double missing = stages_height(p) - row_ * static_cast<double>(panel.stages.size());
    const stage_plot stages = rows(p, top + facts_room() + missing);
    const double lane = stages.bottom() + 6;
    const double memory_top = stages.bottom() + lane_room(p) + space;
    const memory_plot memory{panel.live,
                             &times,
                             x,
                             {memory_top + memory_height, memory_top, bytes_},
                             settings_.store_all_peak,
                             "store_all",
                             panel.budget > 0 ? panel.budget : settings_.budget,
                             is_labelled(p)};
    draw_facts(to, p, memory.peak(), top + 14);

    // Time runs through both halves.
    const double step = decimal_step(x.most, is_narrow() ? 5 : 8);
    for (double t = 0; t <= x.most * (1 + 1e-9); t += step) {
      to.line(x(t), stages.top, x(t), memory.y.from, "stroke=\"#eceff2\"");
      to.text(x(t), memory.y.from + 17, svg_writer::number(t), 11, text_anchor::middle, "fill=\"#555\"");
    }
    to.text(x.to, memory.y.from + 35, "predicted time, in forwards of the whole network", 11,
            text_anchor::end, "fill=\"#555\"");
    to.line(x.from, stages.bottom(), x.to, stages.bottom(), "stroke=\"#9aa3ad\"");

    if (is_labelled(p)) to.text(x.from - 8, stages.top - 9, "stage", 11, text_anchor::end, "fill=\"#555\"");
    stages.draw_labels(to);
    stages.draw_stored(to);
    for (const auto kind : {picture_kind::forward, picture_kind::recompute, picture_kind::backward})
      if (has(panel, kind)) stages.draw_ops(to, kind);
    if (!panel.leaving.empty()) {
      if (is_labelled(p))
        to.text(x.from - 8, lane + lane_height / 2 + 4, "buckets", 11, text_anchor::end, "fill=\"#555\"");
      stages.draw_buckets(to, panel.leaving, lane, lane_height);
    }

    memory.draw_grid(to);
    memory.draw_curve(to);
    draw_turn(to, p, stages.top, memory.y.from);
    memory.draw_name(to);
    memory.draw_peak(to);
  }

  // Where the way up ends and the way back begins.
  void draw_turn(svg_writer& to, std::size_t p, double top, double bottom) const {
    const picture_panel& panel = panels_[p];
    const auto turn =
        std::find_if(panel.ops.begin(), panel.ops.end(), [](const op& o) { return o.kind == op_kind::turn; });
    if (turn == panel.ops.end() || !has(panel, picture_kind::backward)) return;
    const double at = x_of(p)(times_[p].ops[static_cast<std::size_t>(turn - panel.ops.begin())].begin);
    to.line(at, top - 4, at, bottom, "stroke=\"#6b7683\" stroke-width=\"1\" stroke-dasharray=\"2 3\"");
    to.text(at, top - 9, "loss", 11, text_anchor::middle, "fill=\"#555\"");
  }

  std::span<const picture_panel> panels_;
  const picture_settings& settings_;
  std::vector<timeline> times_;
  std::vector<axis_scale> x_{}; // of each column, all equally long
  double row_ = 1;              // height of a stage's row
  double bytes_ = 1;            // top of the scale of bytes
  bool communicates_ = false;
  bool shares_labels_ = true;
};

} // namespace detail

//   const auto leaving = departures(chain, buckets, sizeof(float));
//   const picture_panel panel{"sqrt_n", chain, steps.ops(), plan.live, leaving};
//   write_svg("schedule.svg", draw_schedule(panel, {.title = "mnist", .store_all_peak = other_plan.bound}));
//
// Draws schedules one above the other, or `columns` of them side by side, with common scales, as the text of an SVG
// file. Above, time runs to the right and the stages are rows, the first at the bottom; below is the curve of live
// bytes with its peak.
// Widths are predicted times: numbers of operations. Throws cairn::error where ops and live bytes do not
// belong together.
inline std::string draw_schedules(std::span<const picture_panel> panels,
                                  const picture_settings& settings = {}) {
  return detail::schedule_picture(panels, settings).draw();
}

// The same for one schedule.
inline std::string draw_schedule(const picture_panel& panel, const picture_settings& settings = {}) {
  return draw_schedules({&panel, 1}, settings);
}

// Writes a drawing to a file, whole or not at all.
inline void write_svg(const std::filesystem::path& path, std::string_view drawing) {
  write_file_atomically(path, drawing);
}

} // namespace cairn
