// SPDX-License-Identifier: MIT
#include <cairn/train/losses/class_weights.hpp>

#include <span>
#include <vector>

#include <doctest/doctest.h>

namespace class_weights_tests {

using namespace cairn;

TEST_CASE("class_weights: they are there in both types of numbers") {
  const std::vector<double> given{0.25, 1.0 / 3};
  const types::class_weights weights{std::span(given)};
  CHECK(weights.size() == 2);
  CHECK(weights.values() == given);
  CHECK(weights.data<double>()[1] == 1.0 / 3);
  CHECK(weights.data<float>()[1] == 1.0F / 3);
  CHECK(types::class_weights{}.size() == 0);
  CHECK(types::class_weights{1, 2, 3}.values()[2] == 3);
}

} // namespace class_weights_tests
