// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include <cairn/core/rooms.hpp>
#include <cairn/report/format.hpp>
#include <cairn/report/line_chart.hpp>
#include <cairn/train/predicted_step.hpp>

namespace cairn::report {

// A network between machines, with the name of its line: "10 Gbit/s". The chart sets the number of machines.
struct named_network {
  std::string name{};
  plan::cluster of{};
};

//   const std::array networks{report::named_network{"10 Gbit/s", {.latency = 20e-6, .bandwidth = 1.25e9}}};
//   const report::line_chart chart = report::scaling_chart(times, networks, 1024);
//   report::write_svg("machines.svg", report::draw_line_charts({&chart, 1}));
//
// Predicted time of a step against the number of machines, 1, 2, 4, … up to `most`: a line for each network, and below all of
// them the time that a machine alone would take. The end of a line shows the time with `most` machines, and the efficiency.
// Throws what predicted_step throws, and input_error for less than two machines, for which there is nothing to draw.
template <class Model, class Batch, class T>
line_chart scaling_chart(const plan::op_times<Model, Batch, T>& times, std::span<const named_network> networks, std::size_t most,
                         std::string title = {}) {
  if (most < 2)
    throw input_error("scaling_chart: expected at least 2 machines at the end of the axis, found " + std::to_string(most));
  line_chart out{.title = std::move(title),
                 .x = {.title = "machines", .logarithmic = true},
                 .y = {.title = "predicted time of a training step", .unit = chart_unit::seconds, .logarithmic = true}};
  const std::size_t apart = most > 64 ? 4 : 2; // numbers of four digits need room
  for (std::size_t machines = 1; machines <= most; machines *= apart) out.x.ticks.push_back(static_cast<double>(machines));
  // Lightness distinguishes the networks where hue does not.
  constexpr std::array<const char*, 5> colours{"#a02c6b", "#c77f0a", "#1d8a5b", "#2f6db3", "#46515e"};
  double alone = 0;
  double last = 1; // the largest number of machines
  for (std::size_t n = 0; n < networks.size(); ++n) {
    chart_line line{.name = networks[n].name, .colour = colours[n % colours.size()]};
    for (std::size_t machines = 1; machines <= most; machines *= 2) {
      plan::cluster on = networks[n].of;
      on.machines = machines;
      const auto step = plan::predicted_step(times, on);
      alone = step.compute;
      last = static_cast<double>(machines);
      line.points.push_back({static_cast<double>(machines), step.seconds()});
      line.note = format_duration(step.seconds()) + ", " + format_fixed(100 * step.efficiency(), 0) + " % efficient";
    }
    out.lines.push_back(std::move(line));
  }
  if (!networks.empty())
    out.lines.push_back({.name = "one machine, " + format_duration(alone),
                         .colour = "#6b7683",
                         .points = {{1, alone}, {last, alone}},
                         .guide = true});
  if (alone > 0) out.y.least = 0.7 * alone; // below the floor there is room for its name
  return out;
}

} // namespace cairn::report
