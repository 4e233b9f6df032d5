// SPDX-License-Identifier: MIT
// A step by a function that does not take the gradient.
// expect: error: .*trainer::step_by: expected a function that takes the outputs and their gradient and returns the loss
// expect: wrong_own_loss<.*float>
#include <vector>

#include <cairn/layer/linear.hpp>
#include <cairn/train/losses/mse_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>

using namespace cairn;

using Net = Sequential<Linear<784, 10>>;

double learn(const std::vector<float>& images) {
  trainer<Net, MSELoss, SGD, batch<32>> train{SGD{.learning_rate = 0.1}, {.seed = 7}};
#ifdef EXPECT_SUCCESS
  return train.step_by(images, [](tensor_view<const float> outputs, tensor_view<float> gradient) {
    gradient[0] = 1;
    return double(outputs[0]);
  });
#else
  return train.step_by(images, [](tensor_view<const float> outputs) { return double(outputs[0]); });
#endif
}
