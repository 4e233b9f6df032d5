// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/ops/conv2d/conv2d.hpp>

namespace cairn::detail {

enum class conv2d_pass : unsigned char { forward, input_gradient, weight_gradient };

// The passes that oneDNN computes where cairn::onednn is linked: those of convolutions for which its kernels were measured faster
// than Cairn's, in tests/bench/RESULTS.md under "Convolutions against oneDNN" and on 40 more. Only the convolution and the pass
// decide, so that two runs never differ: no clock, no threads, no batch. Figures are Cairn's time divided by oneDNN's.
constexpr bool quicker_by_onednn(const convolution& how, conv2d_pass pass) {
  const std::size_t weights = how.out_channels * how.depth();
  if (pass == conv2d_pass::weight_gradient) {
    // One channel per group: 1.8 to 11, but 0.3 to 0.9 where the window is wider than 3 x 3. Other groups: 1.2 to 1.9.
    if (how.groups > 1) return how.group_in() > 1 || how.over.taps() <= 9;
    // A product: 0.9 to 1.7 with few weights, 0.7 to 1.1 with more.
    if (how.is_product()) return weights <= 16384;
    // Few input channels: 1.3 to 3.2. A large window: 1.4 to 1.8. A small image: 1.1 to 2.2. Others: 0.8 to 1.1.
    return how.in_channels < 8 || how.over.taps() > 9 || (how.over.inputs() <= 1024 && how.out_channels >= 32);
  }
  // 1.5 to 11 for one channel per group, 1.1 to 3.4 for groups of other widths; 0.7 for groups of 12.
  if (how.groups > 1) return how.group_in() <= 8 || (how.group_in() % 16 == 0 && how.group_out() % 16 == 0);
  // Cairn computes products (0.5 to 1.6) and images of 4 x 4 outputs (0.5 to 1.1).
  if (how.is_product() || how.over.outputs() < 49) return false;
  if (pass == conv2d_pass::forward) return true; // 1.0 to 1.8
  // A stride, a large window, few channels or large weights: 1.0 to 1.8. Others: 0.9 to 1.2.
  return how.over.y.stride > 1 || how.over.taps() > 9 || how.in_channels <= 24 || weights >= 524288;
}

} // namespace cairn::detail
