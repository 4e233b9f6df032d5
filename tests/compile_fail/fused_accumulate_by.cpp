// SPDX-License-Identifier: MIT
// Micro-batches of a loss of one's own together with a fused update.
// expect: error: .*fused_update: accumulate\(\) keeps all gradients from one micro-batch to the next
#include <vector>

#include <cairn/layer/linear.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>

using namespace cairn;

using Net = Sequential<Linear<784, 10>>;
#ifdef EXPECT_SUCCESS
using Model = Net;
#else
using Model = fused_update<Net>;
#endif

double learn(const std::vector<float>& images, const std::vector<int>& labels) {
  trainer<Model, CrossEntropyLoss, SGD, batch<32>> train{SGD{.learning_rate = 0.1}, {.seed = 7}};
  train.accumulate_by(images, [](tensor_view<const float>, tensor_view<float>) { return 0.0; });
  return train.step(images, labels);
}
