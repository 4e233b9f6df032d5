// SPDX-License-Identifier: MIT
#include <type_traits>

#include <cairn/train/training_options.hpp>
#include <doctest/doctest.h>

using namespace cairn;

TEST_CASE("training_options: nothing is checked or clipped, and one thread works, unless asked for") {
  constexpr training_options options{};
  static_assert(options.threads == 1 && !options.check_loss && options.clip.max_norm == 0);
  static_assert(training_options{.clip = {0.5}}.clip.max_norm == 0.5);
}

TEST_CASE("training_options: a fused update has the same ones, but nothing to clip by") {
  constexpr fused_training_options options{.threads = 3, .check_loss = true};
  static_assert(options.threads == 3 && options.check_loss);
  static_assert(std::is_empty_v<decltype(options.clip.max_norm)>);
}
