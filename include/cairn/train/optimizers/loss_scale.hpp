// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include <cairn/core/error.hpp>
#include <cairn/ops/check_gradients/check_gradients.hpp>
#include <cairn/plan/fingerprint.hpp>
#include <cairn/train/settings.hpp>

namespace cairn {

// Loss scaling, as torch.amp.GradScaler with its names and numbers: the gradient of the loss is multiplied by a scale, so that
// small gradients are no zeros in float16, and the update divides by it. If the norm of all gradients is not finite, the update
// is skipped on all ranks alike, and the scale is multiplied by backoff_factor; after growth_interval steps without a skip it is
// multiplied by growth_factor.
struct dynamic_scale {
  double init_scale = 65536;
  double growth_factor = 2;
  double backoff_factor = 0.5;
  std::uint64_t growth_interval = 2000;
  std::size_t max_skips = 20; // one more in a row is an error, as then not the scale is too large; 0: any number
};

// The same with a scale that never changes.
struct fixed_scale {
  double scale = 65536;
  std::size_t max_skips = 20;
};

} // namespace cairn

namespace cairn::detail {

// How a trainer scales its loss: the value of its option. A scale of 0: not at all.
struct loss_scaling {
  double init_scale = 0;
  double growth_factor = 1;
  double backoff_factor = 1;
  std::uint64_t growth_interval = 1;
  std::size_t max_skips = 0;

  constexpr loss_scaling() = default;
  constexpr loss_scaling(const dynamic_scale& s)
      : init_scale(s.init_scale), growth_factor(s.growth_factor), backoff_factor(s.backoff_factor),
        growth_interval(s.growth_interval), max_skips(s.max_skips), is_on_(true), is_dynamic_(true) {}
  constexpr loss_scaling(const fixed_scale& s) : init_scale(s.scale), max_skips(s.max_skips), is_on_(true) {}

  constexpr bool is_on() const { return is_on_; }
  // The first scale: as in torch, a float.
  constexpr double first() const { return static_cast<double>(static_cast<float>(init_scale)); }
  // The scale with which a run goes on that was saved with this one; 0: with none.
  constexpr double resumed(double saved) const { return !is_on_ ? 0 : is_dynamic_ && saved > 0 ? saved : first(); }
  constexpr loss_scale_rule rule() const { return {growth_factor, backoff_factor, growth_interval}; }
  // Throws input_error for invalid numbers.
  void check() const {
    if (!is_on_) return;
    check_number("trainer: expected a loss_scale from 1e-30 to 1e30", init_scale, 1e-30, 1e30);
    if (!is_dynamic_) return;
    constexpr double above_1 = 1 + std::numeric_limits<double>::epsilon(), below_1 = 1 - std::numeric_limits<double>::epsilon();
    check_number("dynamic_scale: expected a growth_factor above 1", growth_factor, above_1);
    check_number("dynamic_scale: expected a backoff_factor above 0 and below 1", backoff_factor,
                 std::numeric_limits<double>::min(), below_1);
    if (growth_interval == 0) throw input_error("dynamic_scale: expected a growth_interval of 1 or more, found 0");
  }
  std::string text() const {
    if (!is_on_) return "none";
    if (!is_dynamic_) return "fixed_scale " + shortest_text(init_scale);
    return "dynamic_scale " + shortest_text(init_scale) + ", grows by " + shortest_text(growth_factor) + " after " +
           std::to_string(growth_interval) + " steps, backs off by " + shortest_text(backoff_factor);
  }

private:
  bool is_on_ = false, is_dynamic_ = false;
};

inline void add_to(hash64& h, const loss_scale_state& s) {
  h.add(std::bit_cast<std::uint64_t>(s.scale)).add(s.growth_tracker).add(s.skipped).add(s.in_a_row);
}

// Why there is no loss scaling in a trainer.
enum class no_scaling : unsigned char { fused, apart };
template <class Given, no_scaling Why>
constexpr void refuse_to_scale() {
  static_assert(sizeof(Given) == 0 || Why != no_scaling::fused,
                "fused_update: loss_scale needs the norm of all gradients before the first update, and with a fused update there "
                "are never all of them; leave out .loss_scale, or train without fused_update");
  static_assert(sizeof(Given) == 0 || Why != no_scaling::apart,
                "trainer: loss_scale needs a device that has the ops check_gradients and clip_checked, as a device whose work is "
                "done later decides itself whether an update is skipped; leave out .loss_scale on this device, or write them");
}

// Replaces loss_scaling where nothing can be scaled: any attempt to set it is a compile error that says why.
template <no_scaling Why>
struct no_loss_scaling {
  constexpr no_loss_scaling() = default;
  template <class Scale>
    requires(std::same_as<Scale, dynamic_scale> || std::same_as<Scale, fixed_scale>)
  constexpr no_loss_scaling(const Scale&) {
    refuse_to_scale<Scale, Why>();
  }
  static constexpr bool is_on() { return false; }
  static constexpr const char* text() { return "none"; }
  static constexpr double resumed(double) { return 0; }
};

} // namespace cairn::detail
