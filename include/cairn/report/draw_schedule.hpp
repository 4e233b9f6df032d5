// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>
#include <vector>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/net/blueprint.hpp>
#include <cairn/plan/step/step_op.hpp>
#include <cairn/report/names.hpp>
#include <cairn/report/schedule_picture.hpp>
#include <cairn/report/summary.hpp>
#include <cairn/report/svg.hpp>
#include <cairn/report/timeline.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/step/step_lists.hpp>

namespace cairn::report {

// The buckets of a step, each with the stage after whose backward it leaves, in that order; none without ddp<>.
template <class Model, class Batch, class T = float>
std::vector<bucket_departure> departures() {
  using lists = detail::step_lists<Model, Batch::size, T>;
  if constexpr (!detail::distribution<Model>::distributed) return {};
  else
    return detail::departures_of(lists::template list<plan::step_kind::step>.ops(), lists::buckets.buckets(),
                                 sizeof(accumulated<T>));
}

} // namespace cairn::report

namespace cairn {

//   draw_schedule<checkpoint<sqrt_n, Net>, batch<64>>("step.svg");
//
// Draws one training step of a model, before anything has run, and writes the picture to a file: which stage runs when, what
// is stored, the live bytes, and with ddp<> when each bucket leaves. Model is whatever a trainer takes.
template <class Model, class Batch, class T = float>
void draw_schedule(const std::string& file) {
  using distribution = detail::distribution<Model>;
  using model = typename distribution::model;
  using plan = blueprint_of<model, Batch::size, T, typename distribution::update>;
  using plain = typename detail::without_checkpoint<model>::type;
  const std::vector<report::bucket_departure> leaving = report::departures<Model, Batch, T>();
  const report::picture_panel panel{report::name_of_policy<plan, typename detail::whole<model>::policy>(), plan::whole,
                                    plan::training.ops(), plan::trained::memory.live, leaving};
  report::write_svg(
      file, report::draw_schedules(
                std::span(&panel, 1),
                {.title = "One training step of " + std::to_string(Batch::size) + " samples",
                 .stage_names = report::stage_names<plan>(),
                 .store_all_peak = blueprint_of<plain, Batch::size, T, typename distribution::update>::trained::memory.arena}));
}

} // namespace cairn
