// SPDX-License-Identifier: MIT
// A step by the trainer's loss, which knows the first output, of a network that is trained by all of them.
// expect: error: .*trainer: step\(\), accumulate\(\), step_from\(\) and accumulate_from\(\) judge a network by its first output
// expect: judged_by_first<.*with_all_outputs<
#include <vector>

#include <cairn/layer/linear.hpp>
#include <cairn/net/with_all_outputs.hpp>
#include <cairn/train/losses/mse_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>

using namespace cairn;

using Net = Sequential<Linear<784, 16>, Linear<16, 3>>;

double learn(trainer<with_all_outputs<Net>, MSELoss, SGD, batch<32>>& train, const std::vector<float>& images,
             const std::vector<float>& boxes) {
#ifdef EXPECT_SUCCESS
  return train.step_by(images, [&](const auto& outputs, const auto& gradients) {
    gradients[0][0] = outputs[0][0] - boxes[0];
    return 0.5 * double(gradients[0][0] * gradients[0][0]);
  });
#else
  return train.step(images, boxes);
#endif
}
