// SPDX-License-Identifier: MIT
#include <cairn/layer/adaptive_avg_pool2d.hpp>
#include <cairn/layer/batch_norm.hpp>
#include <cairn/layer/conv2d.hpp>
#include <cairn/layer/embedding.hpp>
#include <cairn/layer/layer_norm.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/max_pool2d.hpp>
#include <cairn/net/joint.hpp>
#include <doctest/doctest.h>

namespace joint_tests {

using namespace cairn;
using detail::refusal;
using detail::why_refused;

TEST_CASE("joint: a layer that is asked about other shapes tells why it does not accept one") {
  static_assert(why_refused<Conv2d<3, 4, 3>>({3, 32, 32}) == refusal::channels_first);
  static_assert(why_refused<BatchNorm2d<16>>({16, 8, 8}) == refusal::channels_first);
  static_assert(why_refused<Conv2d<3, 4, 3>>({32, 32, 1}) == refusal::other_channels);
  static_assert(why_refused<BatchNorm2d<16>>({8, 8, 32}) == refusal::other_channels);
  static_assert(why_refused<Conv2d<3, 4, 9>>({8, 8, 3}) == refusal::small_image);
  static_assert(why_refused<MaxPool2d<9>>({8, 8, 3}) == refusal::small_image);
  static_assert(why_refused<Conv2d<3, 4, 3>>({784}) == refusal::no_image);
  static_assert(why_refused<AdaptiveAvgPool2d<1>>({784}) == refusal::no_image);
  static_assert(why_refused<Linear<10, 4>>({3, 32, 32}) == refusal::unexplained);
  static_assert(why_refused<Linear<3, 4>>({3, 32, 32}) == refusal::unexplained);
  static_assert(why_refused<LayerNorm<10>>({12}) == refusal::unexplained);
  static_assert(why_refused<Embedding<10, 4>>({3, 32, 32}) == refusal::unexplained);
}

} // namespace joint_tests
