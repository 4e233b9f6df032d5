// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <cairn/core/rooms.hpp>
#include <cairn/net/blueprint.hpp>
#include <cairn/net/checkpoint.hpp>
#include <cairn/net/memory_curve.hpp>
#include <cairn/plan/op.hpp>
#include <cairn/plan/policies.hpp>
#include <cairn/report/format.hpp>
#include <cairn/report/line_chart.hpp>
#include <cairn/report/names.hpp>

namespace cairn::report {

struct curve_settings {
  std::string title = "Time of a training step against memory";
  std::string subtitle{}; // such as the network, and where the costs come from
  double width = 900;     // pixels
  double height = 420;    // of the plotting area
};

} // namespace cairn::report

namespace cairn::detail {

// The curve, with policies and budgets beside it: bytes to the right, costs relative to store_all upwards.
template <class Curve>
class curve_chart {
public:
  explicit curve_chart(const Curve& curve) : curve_(curve) {}

  // Between two points of the curve the left one fits, with memory to spare: so the line is a stair. It ends at store_all,
  // for which the solver may ask for one value more than needed, as for any schedule. Its name is at the least memory,
  // because the other end is full of policies.
  void add_curve() {
    const chart_point last = point_of(plain::trained::memory.arena, curve_.cost_of(plain::training.ops()));
    chart_line stair{.colour = curve_colour, .markers = false};
    const auto add = [&](const chart_point& p) {
      if (!stair.points.empty()) stair.points.push_back({p.x, stair.points.back().y});
      stair.points.push_back(p);
    };
    for (std::size_t i = 0; i < curve_.size(); ++i) {
      const chart_point p = point_of(curve_[i].bytes, curve_[i].cost);
      if (p.x < last.x) add(p);
    }
    add(last);
    const chart_point first = stair.points.front();
    chart_.lines.push_back(std::move(stair));
    add_point("the best schedules", curve_colour, first);
    chart_.lines.back().note = "least memory: " + chart_.lines.back().note;
  }

  // Policies at nearly the same place share a point.
  template <class Policy>
  void add_policy() {
    using plan = blueprint_of<checkpoint<Policy, typename Curve::net>, Curve::plan::batch, typename Curve::element>;
    const std::string name = name_of<Policy>();
    double cost = static_cast<double>(curve_.cost_of(plan::training.ops()));
    if constexpr (plan::ways::moved) // the curve has blocks as they were typed: other ways cost as their FLOPs do
      cost *= static_cast<double>(flops(plan::whole, plan::training.ops())) /
              static_cast<double>(flops(Curve::plan::whole, plan::training.ops()));
    const chart_point at = point_of(plan::trained::memory.arena, static_cast<std::uint64_t>(cost));
    const auto near = [](double a, double b) { return std::abs(a - b) < 0.01 * b; };
    for (chart_line& line : chart_.lines)
      if (line.colour == policy_colour && near(line.points[0].x, at.x) && near(line.points[0].y, at.y)) {
        line.name += ", " + name;
        return;
      }
    add_point(name, policy_colour, at);
    chart_.lines.back().note.clear(); // many are close to each other, and the axes show it too
  }

  // Adds the schedules that keep the budgets, and a line at each budget, with its name on top. Lines further to the right are
  // lower, so that they pass below the names of those to the left.
  void add_budgets(std::span<const std::size_t> budgets) {
    std::vector<std::size_t> sorted(budgets.begin(), budgets.end());
    for (std::size_t i = 1; i < sorted.size(); ++i)
      for (std::size_t k = i; k > 0 && sorted[k] < sorted[k - 1]; --k) std::swap(sorted[k], sorted[k - 1]);
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      const auto step = curve_.within(sorted[i]);
      const chart_point at = point_of(step.plan.memory.arena, curve_.cost_of(step.plan.training.ops()));
      const double share = 1 - 0.11 * static_cast<double>(i % 6);
      const double top = std::max(at.y, is_steep() ? std::pow(highest_, share) : 1 + (highest_ - 1) * share);
      add_point("", budget_colour, at);
      const auto x = static_cast<double>(sorted[i]);
      chart_.lines.push_back({.name = "budget " + format_bytes(sorted[i]),
                              .note = chart_.lines.back().note,
                              .colour = budget_colour,
                              .points = {{x, 1}, {x, top}},
                              .guide = true});
    }
  }

  // The axis of time is logarithmic if little memory takes many times as long: else the part that people use would be a line
  // at the bottom.
  line_chart take() && {
    chart_.y.logarithmic = is_steep();
    return std::move(chart_);
  }

private:
  static constexpr const char* curve_colour = "#1d8a5b";
  static constexpr const char* policy_colour = "#2f6db3";
  static constexpr const char* budget_colour = "#c0392b";

  bool is_steep() const { return highest_ > 4; }

  chart_point point_of(std::size_t bytes, std::uint64_t cost) {
    const chart_point at{static_cast<double>(bytes), static_cast<double>(cost) / store_all_};
    highest_ = std::max(highest_, at.y);
    return at;
  }

  void add_point(std::string name, const char* colour, const chart_point& at) {
    chart_.lines.push_back({.name = std::move(name),
                            .note = format_bytes(static_cast<std::size_t>(at.x)) + ", " + format_fixed(at.y, 2) + " ×",
                            .colour = colour,
                            .points = {at}});
  }

  using plain = blueprint_of<checkpoint<store_all, typename Curve::net>, Curve::plan::batch, typename Curve::element>;

  const Curve& curve_;
  double store_all_ = static_cast<double>(curve_.cost_of(plain::training.ops()));
  double highest_ = 1;
  // The axis of bytes begins at 0, that of time just below store_all's, which is the least.
  line_chart chart_{{},
                    {"activations of a training step", chart_unit::bytes},
                    {"predicted time of a training step, relative to store_all", chart_unit::plain, false, 0.9},
                    {}};
};

} // namespace cairn::detail

namespace cairn::report {

//   const memory_curve<Net, 64> curve;
//   const std::vector<std::size_t> budgets{900_KiB, 2_MiB};
//   files::write_file_atomically("curve.svg", report::draw_curve<store_all, sqrt_n, every<2>>(curve, budgets));
//
// Draws the time of a step against the bytes of its activations, as the text of an SVG file: the curve of the best
// schedules, these policies as points above it, and the schedules that keep these budgets. Times are the costs of the
// curve. Throws what within() throws for a budget that no schedule keeps.
template <class... Policies, class Model, std::size_t Batch, class T, class Update>
std::string draw_curve(const memory_curve<Model, Batch, T, Update>& curve, std::span<const std::size_t> budgets = {},
                       const curve_settings& settings = {}) {
  using drawn = detail::curve_chart<memory_curve<Model, Batch, T, Update>>;
  static_assert(!memory_curve<Model, Batch, T, Update>::plan::fused,
                "draw_curve: the policies beside the curve are planned without a fused_update; draw the curve of the "
                "network without it");
  drawn picture(curve);
  for (const auto add : {&drawn::add_curve, &drawn::template add_policy<Policies>...}) (picture.*add)();
  picture.add_budgets(budgets);
  const line_chart chart = std::move(picture).take();
  return draw_line_charts(
      {&chart, 1}, {.title = settings.title, .subtitle = settings.subtitle, .width = settings.width, .height = settings.height});
}

} // namespace cairn::report
