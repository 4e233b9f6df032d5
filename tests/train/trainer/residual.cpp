// SPDX-License-Identifier: MIT
// long to compile
// The blocks of a ResNet in training: one adds its input, the other a projection of its input.
#include <cmath>
#include <cstddef>
#include <vector>

#include <cairn/layer/adaptive_avg_pool2d.hpp>
#include <cairn/layer/batch_norm.hpp>
#include <cairn/layer/conv2d.hpp>
#include <cairn/layer/flatten.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/net/residual.hpp>
#include <cairn/train/trainer.hpp>

#include "../image_training.hpp"

namespace trainer_residual_tests {

using namespace cairn;

namespace {

// residual_network() of make.py.
using Projected =
    Residual<shortcut<Conv2d<4, 6, 1, stride<2>, no_bias>, BatchNorm2d<6>>, Conv2d<4, 6, 3, stride<2>, padding<1>, no_bias>,
             BatchNorm2d<6>, ReLU, Conv2d<6, 6, 3, padding<1>, no_bias>, BatchNorm2d<6>>;
using Net = Sequential<Input<6, 5, 3>, Conv2d<3, 4, 3, padding<1>, no_bias>, BatchNorm2d<4>, ReLU,
                       Residual<Conv2d<4, 4, 3, padding<1>, no_bias>, BatchNorm2d<4>>, ReLU, Projected, ReLU,
                       AdaptiveAvgPool2d<1>, Flatten, Linear<6, 4>>;
constexpr std::size_t pixels = 6 * 5 * 3;
using images = testing::image_samples<pixels>;

template <class Model, class T>
double distance() {
  return testing::distance_of_images<Model, T>("residual_images", 17, "5.0.1");
}

} // namespace

TEST_CASE("trainer: projections on shortcuts have PyTorch's losses, gradients, parameters and running statistics") {
  CHECK(distance<Net, double>() < 1e-12);
  CHECK(distance<Net, float>() < 5e-5);
  CHECK(distance<checkpoint<recompute_all, Net>, double>() < 1e-12);
}

TEST_CASE("trainer: projections on shortcuts have the gradients of the loss") {
  trainer<Net, CrossEntropyLoss, SGD, batch<3>, double> t{SGD{.learning_rate = 0}, {.seed = 3}};
  const images s(3, 1);
  const std::vector<double> x(s.x.begin(), s.x.end());
  t.step(x, s.y);
  std::vector<double> found;
  t.for_each_gradient([&](const auto& p) { found.insert(found.end(), p.numbers.begin(), p.numbers.end()); });
  std::size_t index = 0;
  double largest = 0;
  t.for_each([&](const auto& p) {
    for (double& number : p.numbers) {
      const double own = number, moved = 1e-5;
      const auto loss_at = [&](double value) {
        number = value;
        return t.step(x, s.y);
      };
      const double slope = (loss_at(own + moved) - loss_at(own - moved)) / (2 * moved);
      number = own;
      largest = std::fmax(largest, std::fabs(slope - found[index++]));
    }
  });
  CHECK(index == found.size());
  CHECK(largest < 1e-7);
}

TEST_CASE("trainer: two ranks with projections on shortcuts are two micro-batches, bit for bit, under another policy too") {
  const auto ran = testing::run_images_on_two_ranks<pixels, checkpoint<sqrt_n, Net>, Net>();
  CHECK(ran.parameters[0] == ran.parameters[1]);
  CHECK(ran.parameters[0] == ran.alone);
}

} // namespace trainer_residual_tests
