// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>

#include <cairn/ops/clip/clip.hpp>
#include <cairn/ops/squared_norm/squared_norm.hpp>

namespace cairn::detail {

template <class Given>
constexpr void refuse_to_clip() {
  static_assert(sizeof(Given) == 0,
                "fused_update: clip needs the norm of all gradients before the first update, and with a fused update "
                "there are never all of them; leave out .clip, or train without fused_update");
}

// Replaces clip_norm where nothing can be clipped: any attempt to set it is a compile error that says why. A number converts
// to it implicitly, so that `.clip = {1}` gets there.
struct no_norm {
  constexpr no_norm() = default;
  template <class Number>
  constexpr no_norm(Number) {
    refuse_to_clip<Number>();
  }
};
struct no_clip {
  no_norm max_norm{};
};

} // namespace cairn::detail

namespace cairn {

// Clips the gradients of a network by the norm of all of them together, as torch.nn.utils.clip_grad_norm_: if
// it is above max_norm, one factor scales all of them down. 0: no clipping.
struct clip_norm {
  double max_norm = 0;

  // The factor of the gradients.
  constexpr double scale(double norm) const { return detail::clip_factor(norm, max_norm); }

  template <std::same_as<detail::no_clip> None>
  constexpr operator None() const {
    detail::refuse_to_clip<None>();
    return {};
  }
};

} // namespace cairn
