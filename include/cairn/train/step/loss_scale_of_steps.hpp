// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <cairn/core/error.hpp>
#include <cairn/core/explain.hpp>
#include <cairn/ops/check_gradients/check_gradients.hpp>
#include <cairn/ops/copy/copy.hpp>
#include <cairn/train/losses/taken_loss.hpp>
#include <cairn/train/optimizers/optimizer.hpp>
#include <cairn/train/settings.hpp>

// Loss scaling in the steps of a trainer, whose parts `t` is (training.hpp). Where the host shares the device's memory, it
// decides on updates, and the state is in t.counters. Elsewhere the device does and has the state: the host learns it when a
// step is over, and waits for it only where somebody asks.
namespace cairn::detail {

// Training goes on with this state.
template <class Training>
void set_loss_scale(Training& t, const loss_scale_state& given) {
  t.counters.begin_scale(given);
  if constexpr (Training::types::scales_on_device)
    if (t.scales_loss()) t.scale.send(t.compute(), given, t.waiting());
}

template <class Training>
void begin_loss_scale(Training& t) {
  using types = typename Training::types;
  if constexpr (types::can_scale_loss) {
    if (!t.scales_loss()) return;
    if (!scales_gradient<typename types::loss>)
      throw input_error("trainer: expected a loss that multiplies its derivative by *call.gradient_scale, for the option "
                        "loss_scale, and says so by static constexpr bool scales_gradient = true; found " +
                        std::string(type_name<typename types::loss>()));
    if (types::scales_on_device && !takes_decision<typename types::optimizer>)
      throw input_error("trainer: expected an optimizer that asks call.decision, for the option loss_scale on a device whose "
                        "work is done later, and says so by static constexpr bool takes_decision = true; found " +
                        std::string(type_name<typename types::optimizer>()));
    set_loss_scale(t, {.scale = t.options.loss_scale.first()});
  }
}

// Waits until the host knows the scale of the next step.
template <class Training>
void know_loss_scale(Training& t) {
  if constexpr (Training::types::scales_on_device)
    if (t.scales_loss()) t.wait_for_all();
}
// The same after steps that failed, whose results were dropped.
template <class Training>
void fetch_loss_scale(Training& t) {
  if constexpr (Training::types::scales_on_device)
    if (t.scales_loss()) t.counters.begin_scale(t.scale.fetched(t.compute(), t.waiting()).state);
}

// Throws, on all ranks alike, if too many updates in a row were skipped, up to this step.
template <class Training>
void check_skips(const Training& t, std::uint64_t step) {
  const loss_scale_state& s = t.counters.loss_scale;
  const std::size_t most = t.options.loss_scale.max_skips;
  if (most == 0 || s.in_a_row <= most) return;
  throw error("trainer: expected finite gradients in one of " + std::to_string(s.in_a_row) + " steps, found none, up to step " +
              std::to_string(step) + ", with a loss_scale down to " + shortest_text(s.scale) +
              ": not the scale is too large, but the loss or an activation is not finite; lower the " +
              "learning rate, look at the inputs, train with another element type, or raise max_skips");
}
// Takes the state after a step, which the device has told. Updates that were skipped have changed nothing, so it is not too late
// to say that there were too many.
template <class Training>
void learn_loss_scale(Training& t, std::uint64_t step, const loss_scale_state& told) {
  t.counters.learn_scale(step, told);
  try {
    check_skips(t, step);
  } catch (const error& skipped) {
    t.guard.fail(skipped.what());
    throw;
  }
}

// The scale of the next loss, where ops can read it.
template <class Training>
const double* loss_scale_for_ops(const Training& t) {
  if constexpr (Training::types::scales_on_device) return &t.scale.there()->state.scale;
  else return &t.counters.loss_scale.scale;
}

// Keeps the scale of this loss, by which its input gradient is divided when the program reads it.
template <class Training>
void keep_input_gradient_scale(Training& t) {
  using types = typename Training::types;
  if (!t.scales_loss()) return;
  if constexpr (!types::scales_on_device) t.counters.input_gradient_scale = t.counters.loss_scale.scale;
  else if constexpr (types::input_gradient_bytes > 0)
    copy(t.compute(), std::size_t{1}, &t.scale.there()->input_gradient_scale, loss_scale_for_ops(t));
}
template <class Training>
double input_gradient_scale(Training& t) {
  if constexpr (Training::types::scales_on_device)
    return t.scales_loss() ? t.scale.fetched(t.compute(), t.waiting()).input_gradient_scale : 1;
  else return t.counters.input_gradient_scale;
}

} // namespace cairn::detail
