// SPDX-License-Identifier: MIT
#include <array>
#include <cmath>
#include <vector>

#include <cairn/device/cpu.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/losses/mse_loss.hpp>
#include <cairn/train/losses/taken_loss.hpp>
#include <doctest/doctest.h>

#include "../training.hpp"

namespace taken_loss_tests {

using namespace cairn;

TEST_CASE("taken_loss: targets for another number of samples are refused before anything runs") {
  const std::vector<int> labels{1, 2, 0};
  const shape three{3};
  detail::check_targets<CrossEntropyLoss, float>({}, 3, labels, three, 8);
  const std::string text = testing::text_of([&] { detail::check_targets<CrossEntropyLoss, float>({}, 4, labels, three, 8); });
  CHECK(testing::has(text, "targets for 4 samples"));
  CHECK(testing::has(text, "found 3"));
}

TEST_CASE("taken_loss: a loss that knows which targets are wrong is asked before anything runs") {
  const std::vector<int> labels{1, 3, 0};
  const shape three{3}, four{4};
  detail::check_targets<CrossEntropyLoss, float>({}, 3, labels, four, 8);
  CHECK_THROWS_WITH_AS((detail::check_targets<CrossEntropyLoss, float>({}, 3, labels, three, 8)),
                       doctest::Contains("target 1 is 3, but the classes are 0 to 2"), input_error);
  detail::check_targets<CrossEntropyLoss, float>({.ignore_index = 3}, 3, labels, three, 8);
  const std::vector<float> numbers(9, 1e30F);
  detail::check_targets<MSELoss, float>({}, 3, numbers, three, 8); // any number is valid
}

TEST_CASE("taken_loss: the mean over the samples, with a derivative unless nobody wants it") {
  cpu device;
  const std::array<float, 4> output{1, 2, 3, 4};
  const std::array<float, 4> target{1, 0, 3, 2};
  std::array<float, 4> gradient{};
  const shape two{2};
  double loss = 0, alone = 0;
  detail::take_loss(MSELoss{}, device.compute(), 2, two, target.data(), {.loss = &loss}, output.data(), gradient.data());
  CHECK(loss == doctest::Approx(2));
  CHECK(gradient[1] == doctest::Approx(1));
  CHECK(gradient[0] == 0);
  detail::take_loss(MSELoss{}, device.compute(), 2, two, target.data(), {.loss = &alone}, output.data(),
                    static_cast<float*>(nullptr));
  CHECK(alone == loss);
}

} // namespace taken_loss_tests
