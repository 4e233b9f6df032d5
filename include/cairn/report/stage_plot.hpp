// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <cairn/plan/chain.hpp>
#include <cairn/plan/schedule.hpp>
#include <cairn/report/axis.hpp>
#include <cairn/report/format.hpp>
#include <cairn/report/svg.hpp>
#include <cairn/report/timeline.hpp>

namespace cairn::detail {

// The meanings of the colours in a schedule's picture. They differ in lightness as well as in hue, so that people who see red
// and green alike can distinguish them.
enum class picture_kind : std::size_t { forward, recompute, backward, communication, stored };
inline constexpr std::array<const char*, 5> picture_colours{"#2f6db3", "#f0a830", "#a02c6b", "#1d8a5b", "#dbe2ea"};
inline constexpr std::array<const char*, 5> picture_words{"forward", "recompute", "backward", "gradients on their way", "stored"};

// `fill="#2f6db3"`, or a stroke of that colour.
inline std::string paint(const char* attribute, picture_kind kind) {
  return std::string(attribute) + "=\"" + picture_colours[static_cast<std::size_t>(kind)] + "\"";
}

// The distance between rows with a number, if a number needs `room` and a row is `row` high: 1, 2 or 5 times a power of ten.
inline std::size_t label_every(double row, double room) {
  for (std::size_t power = 1;; power *= 10)
    for (const std::size_t factor : {1U, 2U, 5U})
      if (static_cast<double>(factor * power) * row >= room) return factor * power;
}

// The upper half of a picture: time to the right, one row a stage, the first at the bottom.
//
// The shape shows what a network does: the forward pass climbs, the backward pass comes down twice as slowly, and the tint
// between them is memory that is held. A policy that recomputes trades the tinted area for further, smaller hills.
struct stage_plot {
  chain stages;
  std::span<const op> ops;
  const timeline* times = nullptr;
  axis_scale x;
  double top = 0;
  double row = 1; // height of a row
  std::span<const std::string> names{};
  bool labelled = true; // false beside another plot of the same stages, whose labels serve for both

  // Rows this low are drawn as lines: one rectangle per op would be a large file and no better picture.
  bool is_fine() const { return row < 1; }
  bool is_named() const { return row >= 12 && !names.empty(); }
  double bottom() const { return top + row * static_cast<double>(stages.size()); }
  double row_top(std::size_t position) const { return bottom() - row * static_cast<double>(position + 1); }
  double row_middle(std::size_t position) const { return row_top(position) + row / 2; }

  static bool works(const op& o) { return o.kind == op_kind::forward || o.kind == op_kind::backward; }
  static bool is(const op& o, picture_kind kind) {
    if (o.kind == op_kind::backward) return kind == picture_kind::backward;
    return o.kind == op_kind::forward && kind == (o.recomputes ? picture_kind::recompute : picture_kind::forward);
  }

  // Draws the stored tensors: an output or a tape, from the end of its forward to its discard. A tensor that only the very
  // next op reads is passed on, not stored, and left out. A row is one span as long as its output or its tape is held, so
  // that the two are not drawn over one another.
  template <class Writer>
  void draw_stored(Writer& to) const {
    struct row_state {
      bool output = false;
      bool tape = false;
      double since = 0;
      std::size_t since_op = 0;

      bool holds() const { return output || tape; }
    };
    std::vector<row_state> rows(stages.size());
    std::size_t done = 0; // ops that work, up to here
    to.open_group(paint("fill", picture_kind::stored) + " shape-rendering=\"crispEdges\"");
    const auto close = [&](std::size_t position, double now) {
      const double between = row < 8 ? 0 : gap(); // narrower gaps would fall between the pixels
      const double since = rows[position].since;
      to.rectangle(x(since), row_top(position) + between / 2, x.length(now - since), row - between);
    };
    const auto hold = [&](std::size_t position, bool row_state::* what, bool on, double now) {
      row_state& r = rows[position];
      const bool before = r.holds();
      r.*what = on;
      if (!before && r.holds()) r.since = now, r.since_op = done;
      if (before && !r.holds() && done > r.since_op + 1) close(position, now);
    };
    for (std::size_t t = 0; t < ops.size(); ++t) {
      const op& o = ops[t];
      const double now = times->ops[t].end;
      done += works(o) ? 1U : 0U;
      if (o.kind == op_kind::forward && o.wants_output) hold(o.position, &row_state::output, true, now);
      if (o.kind == op_kind::forward && o.wants_tape) hold(o.position, &row_state::tape, true, now);
      if (o.kind == op_kind::discard_value && o.position > 0) hold(o.position - 1, &row_state::output, false, now);
      if (o.kind == op_kind::discard_tape) hold(o.position, &row_state::tape, false, now);
    }
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (rows[i].holds()) close(i, times->work);
    to.close_group();
  }

  // All ops of one kind, in a group whose class is the kind's name.
  template <class Writer>
  void draw_ops(Writer& to, picture_kind kind) const {
    if (is_fine())
      return to.path(runs_of(kind), "fill=\"none\" stroke-linecap=\"square\" stroke-width=\"1.5\" " + paint("stroke", kind));
    const std::string name = picture_words[static_cast<std::size_t>(kind)];
    const bool titled = ops.size() <= 4000; // with more, no single one can be pointed at
    to.open_group("class=\"" + name + "\" " + paint("fill", kind));
    for (std::size_t t = 0; t < ops.size(); ++t) {
      if (!is(ops[t], kind)) continue;
      // An op that takes next to no time is drawn as a thin line, so that every op can be seen.
      const double length = x.length(times->ops[t].length());
      const double width = std::max(length > 5 ? length - 0.75 : length, 1.25);
      const std::size_t i = ops[t].position;
      to.rectangle(x(times->ops[t].begin) + (length - width) / 2, row_top(i) + gap() / 2, width, row - gap(),
                   row > 10 && width > 6 ? "rx=\"1.5\"" : "", titled ? name + " of " + label(i) : "");
    }
    to.close_group();
  }

  // Draws the buckets: a line down from the end of the backward that completes each, and the time of its reduction in a lane
  // below.
  template <class Writer>
  void draw_buckets(Writer& to, std::span<const bucket_departure> leaving, double lane, double height) const {
    constexpr std::size_t max_lines = 64;
    for (const bucket_departure& b : leaving.first(leaving.size() <= max_lines ? leaving.size() : 0)) {
      const double at = x(finished(b.position));
      to.line(at, row_top(b.position) + row - gap() / 2, at, lane,
              paint("stroke", picture_kind::communication) + " stroke-width=\"1\" stroke-dasharray=\"1 2\"");
    }
    to.open_group("class=\"communication\" " + paint("fill", picture_kind::communication));
    for (std::size_t b = 0; b < leaving.size(); ++b) {
      const double begin = x(times->buckets[b].begin);
      const double end = std::min(x(times->buckets[b].end), x.to); // the scale may end before the last arrives
      if (begin >= x.to) break;
      const std::string size = format_bytes(leaving[b].bytes);
      to.rectangle(begin, lane, std::max(end - begin > 5 ? end - begin - 0.75 : end - begin, 1.25), height, "rx=\"1.5\"",
                   size + " of gradients, complete after the backward of " + label(leaving[b].position));
      if (end - begin > svg_writer::width_of(size, 10) + 6)
        to.text((begin + end) / 2, lane + height / 2 + 3.5, size, {.size = 10, .at = text_anchor::middle, .colour = "#fff"});
    }
    to.close_group();
  }

  // Names where there is room for each, else numbers, as densely as they fit.
  template <class Writer>
  void draw_labels(Writer& to) const {
    const std::size_t step = label_every(row, 13);
    const std::size_t last = stages.size() - 1;
    const auto add = [&](std::size_t i) {
      if (step > 1) to.line(x.from, row_middle(i), x.to, row_middle(i), "stroke=\"#eceff2\"");
      if (labelled) to.text(x.from - 8, row_middle(i) + 4, is_named() ? label(i) : std::to_string(i), {.at = text_anchor::end});
    };
    for (std::size_t i = 0; i <= last; i += step) add(i);
    if (static_cast<double>(last % step) * row >= 13) add(last);
  }

  // The widest label, for the margin.
  double label_width() const {
    double widest = svg_writer::width_of(std::to_string(stages.size()), 11);
    for (std::size_t i = 0; is_named() && i < stages.size(); ++i) widest = std::max(widest, svg_writer::width_of(label(i), 11));
    return widest;
  }

  // "3 Linear<512, 512>"; a long name is cut, as types can be very long.
  std::string label(std::size_t position) const {
    const std::string number = std::to_string(position);
    if (position >= names.size() || names[position].empty()) return number;
    constexpr std::size_t longest = 30;
    std::string name = names[position];
    if (name.size() > longest) {
      std::size_t end = longest - 1;
      while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0U) == 0x80U) --end;
      name = name.substr(0, end) + "…";
    }
    return number + " " + name;
  }

private:
  // Between two rows: enough to tell them apart, never more than a small part of the row.
  double gap() const { return is_fine() ? 0 : std::min(3.0, row * 0.15); }

  // The end of a stage's backward; the end of all ops for a stage without one.
  double finished(std::size_t position) const {
    for (std::size_t t = ops.size(); t-- > 0;)
      if (ops[t].kind == op_kind::backward && ops[t].position == position) return times->ops[t].end;
    return times->work;
  }

  // Each run of ops of one kind on neighbouring stages as one line.
  std::string runs_of(picture_kind kind) const {
    std::string out;
    const auto point = [&](char command, double time, const op& o) {
      out += command + svg_writer::number(x(time)) + " " + svg_writer::number(row_middle(o.position));
    };
    const std::size_t none = ops.size();
    std::size_t last = none; // the op up to which the run goes
    for (std::size_t t = 0; t < ops.size(); ++t) {
      if (!works(ops[t])) continue;
      const bool goes_on = last != none && is(ops[t], kind) &&
                           (ops[last].position + 1 == ops[t].position || ops[last].position == ops[t].position + 1);
      if (last != none && !goes_on) point('L', times->ops[last].end, ops[last]);
      if (is(ops[t], kind) && !goes_on) point('M', times->ops[t].begin, ops[t]);
      last = is(ops[t], kind) ? t : none;
    }
    if (last != none) point('L', times->ops[last].end, ops[last]);
    return out.empty() ? "M0 0" : out;
  }
};

} // namespace cairn::detail
