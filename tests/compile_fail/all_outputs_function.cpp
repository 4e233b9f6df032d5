// SPDX-License-Identifier: MIT
// A step by a function of one output, of a network that is trained by all of them.
// expect: error: .*trainer::step_by: of a with_all_outputs expected a function that takes all outputs and their gradients
// expect: wrong_own_loss_of_all<.*float, 1
#include <array>
#include <vector>

#include <cairn/layer/linear.hpp>
#include <cairn/net/with_all_outputs.hpp>
#include <cairn/train/losses/mse_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>

using namespace cairn;

using Net = Sequential<Linear<784, 16>, Linear<16, 3>>;

#ifdef EXPECT_SUCCESS
using seen = std::array<tensor_view<const float>, 1>;
using written = std::array<tensor_view<float>, 1>;
#else
using seen = tensor_view<const float>;
using written = tensor_view<float>;
#endif

double learn(trainer<with_all_outputs<Net>, MSELoss, SGD, batch<32>>& train, const std::vector<float>& images) {
  return train.step_by(images, [](seen outputs, written gradients) {
    (void)gradients;
    return double(outputs.size());
  });
}
