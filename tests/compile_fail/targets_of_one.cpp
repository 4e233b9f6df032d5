// SPDX-License-Identifier: MIT
// Several arrays of targets for a loss alone.
// expect: error: .*trainer: multi::targets\(a, b\) are for a trainer of several losses
// expect: refused_call<5
#include <vector>

#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/heads.hpp>
#include <cairn/net/with_all_outputs.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/losses/mse_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>

using namespace cairn;

using Net = Sequential<Linear<784, 16>, ReLU, Linear<16, 10>>;

double learn(trainer<Net, CrossEntropyLoss, SGD, batch<32>>& train, const std::vector<float>& images,
             const std::vector<int>& labels) {
#ifdef EXPECT_SUCCESS
  return train.step(images, labels);
#else
  return train.step(images, multi::targets(labels, images));
#endif
}
