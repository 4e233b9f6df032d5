// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <array>
#include <cmath>

#include <cairn/data/dataset.hpp>

#include "../../examples/toy_dataset.hpp"

namespace toy_dataset_tests {

using namespace cairn;

TEST_CASE("toy_dataset is the tutorial's: 1024 pairs of 100 inputs and a target") {
  const auto toy = toy_dataset();
  static_assert(dataset<std::remove_const_t<decltype(toy)>>);
  CHECK(toy.size() == 1024);
  CHECK(toy.sample_shape() == shape{100});
  CHECK(toy.targets_per_sample() == 1);
  double sum = 0;
  double squares = 0;
  for (const float x : toy.inputs()) {
    sum += double{x};
    squares += double{x} * double{x};
  }
  CHECK(std::abs(sum / 102400) < 0.015);
  CHECK(std::abs(squares / 102400 - 1) < 0.02);
}

TEST_CASE("toy_dataset depends on the seed, and a sample not on how many there are") {
  const auto small = toy_dataset<double>(3, {.inputs = 5, .targets = 2, .seed = 8});
  const auto large = toy_dataset<double>(9, {.inputs = 5, .targets = 2, .seed = 8});
  const auto other = toy_dataset<double>(3, {.inputs = 5, .targets = 2, .seed = 9});
  for (std::size_t i = 0; i < 15; ++i) CHECK(small.inputs()[i] == large.inputs()[i]);
  for (std::size_t i = 0; i < 6; ++i) CHECK(small.targets()[i] == large.targets()[i]);
  CHECK(small.inputs()[0] != other.inputs()[0]);
  CHECK(small.inputs()[0] != small.targets()[0]);
}

} // namespace toy_dataset_tests
