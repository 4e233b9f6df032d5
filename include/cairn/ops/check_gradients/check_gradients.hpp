// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <type_traits>

#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/ops/clip/clip.hpp>
#include <cairn/ops/queue_without_this_op.hpp>

namespace cairn::detail {

// How the scale of a loss changes.
struct loss_scale_rule {
  double growth_factor = 1;
  double backoff_factor = 1;
  std::uint64_t growth_interval = 1;
};

// The state of loss scaling, which a saved state contains and all ranks have in common.
struct loss_scale_state {
  double scale = 0;                 // of the next step; 0: the loss is not scaled
  std::uint64_t growth_tracker = 0; // steps since the scale has changed or an update was skipped
  std::uint64_t skipped = 0;        // updates so far
  std::uint64_t in_a_row = 0;       // of these, since the last update

  // As torch.amp.GradScaler.update(): the scale is rounded to float, and does not grow to infinity. It does not fall so far that
  // its inverse is infinite.
  CAIRN_HOST_DEVICE void update(const loss_scale_rule& by, bool is_finite) {
    if (!is_finite) {
      const auto lower = static_cast<float>(scale * by.backoff_factor);
      if (lower >= 0x1p-126F) scale = static_cast<double>(lower);
      growth_tracker = 0;
      ++skipped;
      ++in_a_row;
      return;
    }
    in_a_row = 0;
    if (++growth_tracker < by.growth_interval) return;
    growth_tracker = 0;
    const auto higher = static_cast<float>(scale * by.growth_factor);
    if (static_cast<double>(higher) < 0x1p128) scale = static_cast<double>(higher);
  }
  bool operator==(const loss_scale_state&) const = default;
};

} // namespace cairn::detail

namespace cairn::ops {

// What a device whose work is done later knows of loss scaling, in its memory: the host learns it when a step is over.
struct checked_gradients {
  detail::loss_scale_state state{};
  std::uint64_t applies = 1;       // 0: this step's update is skipped
  double unscale = 1;              // the number given to check_gradients(), divided by the scale of this step
  double mean = 1;                 // the mean given to it
  double input_gradient_scale = 1; // of the last micro-batch
};
static_assert(std::is_trivially_copyable_v<checked_gradients>);

// What check_gradients() reads and writes besides: single numbers in the device's memory.
struct gradients_to_check {
  const double* squares = nullptr;           // of all gradients, summed over the ranks
  double* mean = nullptr;                    // multiplies them besides `number`
  bool has_mean = false;                     // or else it counts as 1
  double* factor = nullptr;                  // written: by what an update multiplies the gradients
  detail::loss_scale_state* state = nullptr; // written: a copy of the state
};

// Decides whether this step's update is skipped, and the scale of the next step: with m = *g.mean, or 1,
//   applies = *g.squares is finite;  unscale = number / state.scale;  mean = m;  *g.mean = *g.factor = unscale m
// Then the state changes as rule says, and *g.state is a copy of it. An update with a skip_decision reads `applies`.
void check_gradients(detail::queue_without_this_op, checked_gradients* checked, const gradients_to_check& g, double number,
                     const detail::loss_scale_rule& rule) = delete;

// clip() of checked gradients: *factor = unscale mean clip_factor(sqrt(*squares) unscale mean, max_norm), without the last factor
// if the update is skipped.
void clip_checked(detail::queue_without_this_op, double* factor, const double* squares, double max_norm,
                  const checked_gradients* checked) = delete;

// A part of an update's arguments: whether it is made, and which one it is, as a device has decided. Without loss scaling, and
// where the host waits for each step, the host knows both. Else it knows the decision of all steps but the last two: this one,
// and the one before.
struct skip_decision {
  const checked_gradients* checked = nullptr; // in the device's memory; null: the update is made
  std::uint64_t known_skips = 0;              // those that the host counted; if there is one more, the step's number is 1 less

  CAIRN_HOST_DEVICE bool skips() const { return checked != nullptr && checked->applies == 0; }
  CAIRN_HOST_DEVICE bool is_one_less() const { return checked != nullptr && checked->state.skipped != known_skips; }
};

} // namespace cairn::ops

namespace cairn::detail {

// The formulas of both ops, for one thread of any device.
CAIRN_HOST_DEVICE inline void check_gradients_now(ops::checked_gradients& checked, const ops::gradients_to_check& g,
                                                  double number, const loss_scale_rule& rule) {
  const double squares = *g.squares, own = g.has_mean ? *g.mean : 1;
  checked.unscale = number / checked.state.scale;
  checked.mean = own;
  *g.mean = *g.factor = checked.unscale * own;
  const bool is_finite = squares - squares == 0; // neither infinity nor NaN
  checked.applies = is_finite ? 1 : 0;
  checked.state.update(rule, is_finite);
  *g.state = checked.state;
}

CAIRN_HOST_DEVICE inline double checked_factor(const ops::checked_gradients& checked, double root, double max_norm) {
  if (checked.applies == 0) return checked.unscale * checked.mean;
  return checked.unscale * (checked.mean * clip_factor(root * (checked.unscale * checked.mean), max_norm));
}

// A device whose queue is Queue has these ops.
template <class Queue>
concept checks_gradients = requires(Queue& queue, ops::checked_gradients* checked, double* factor) {
  check_gradients(queue, checked, ops::gradients_to_check{}, 1.0, loss_scale_rule{});
  clip_checked(queue, factor, factor, 1.0, checked);
};

} // namespace cairn::detail
