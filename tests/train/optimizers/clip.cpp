// SPDX-License-Identifier: MIT
#include <cairn/ops/cpu.hpp>
#include <cairn/train/optimizers/clip.hpp>

#include <cmath>
#include <string>

#include <doctest/doctest.h>

#include "../../reference/differences.hpp"
#include "../../reference/values.hpp"

namespace clip_tests {

using namespace cairn;

TEST_CASE_TEMPLATE("clip_norm: PyTorch's numbers", T, float, double) {
  cpu device;
  for (const std::string name : {"clip_small", "clip_large"}) {
    auto gradient = reference_numbers<T>(name + "/gradient");
    double squares = 0;
    squared_norm(device.compute(), &squares, gradient.data(), gradient.size());
    CHECK(std::sqrt(squares) == doctest::Approx(reference_values(name + "/norm")[0]).epsilon(1e-13));
    const double factor = clip_norm{.max_norm = 2}.scale(std::sqrt(squares));
    for (T& g : gradient) g *= static_cast<T>(factor);
    CHECK(largest_difference(gradient, reference_values(name + "/clipped")) < (sizeof(T) == 4 ? 1e-6 : 1e-14));
  }
}

TEST_CASE("clip_norm: never makes a gradient larger, and may be off") {
  CHECK(clip_norm{.max_norm = 2}.scale(1.5) == 1);
  CHECK(clip_norm{.max_norm = 2}.scale(0) == 1);
  CHECK(clip_norm{.max_norm = 2}.scale(4) == doctest::Approx(0.5).epsilon(1e-6));
  CHECK(clip_norm{}.scale(1e9) == 1);
  CHECK(std::isnan(clip_norm{.max_norm = 2}.scale(NAN)));
}

} // namespace clip_tests
