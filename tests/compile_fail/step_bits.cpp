// SPDX-License-Identifier: MIT
// Labels that are bits.
// expect: error: .*trainer: a std::vector<(bool|label)> holds bits and no numbers
// expect: refused_call<3, std::vector<float.*std::vector<(bool|label)
#include <vector>

#include <cairn/layer/linear.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>

using namespace cairn;

using Net = Sequential<Linear<784, 10>>;
using training = trainer<Net, CrossEntropyLoss, SGD, batch<32>>;

#ifdef EXPECT_SUCCESS
using label = int;
#else
using label = bool;
#endif

double learn(training& train, const std::vector<float>& images, const std::vector<label>& labels) {
  return train.step(images, labels);
}
