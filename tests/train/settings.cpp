// SPDX-License-Identifier: MIT
#include <array>

#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/losses/mse_loss.hpp>
#include <cairn/train/optimizers/adam.hpp>
#include <cairn/train/settings.hpp>
#include <doctest/doctest.h>

namespace settings_tests {

using namespace cairn;

namespace {

struct without {};
struct with_numbers {
  std::array<double, 2> settings() const { return {1, 2}; }
};
struct with_a_number {
  double settings() const { return 1; }
};
struct not_of_a_constant {
  std::array<double, 2> settings() { return {1, 2}; }
};
struct sealed final {};

} // namespace

TEST_CASE("settings: left out or a range of double, and nothing else") {
  static_assert(detail::has_settings<Adam> && detail::has_settings<CrossEntropyLoss> && !detail::has_settings<MSELoss>);
  static_assert(detail::has_settings<with_numbers> && !detail::has_settings<without>);
  static_assert(detail::right_settings<with_numbers> && detail::right_settings<without>);
  static_assert(detail::right_settings<sealed>);
  static_assert(!detail::right_settings<with_a_number> && !detail::right_settings<not_of_a_constant>);
}

} // namespace settings_tests
