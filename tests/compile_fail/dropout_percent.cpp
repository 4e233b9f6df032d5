// SPDX-License-Identifier: MIT
// A percentage where a probability belongs.
// expect: error: .*Dropout: a probability lies between 0 and 1; for 20 in 100 write Dropout<percent<20>>
#include <vector>

#include <cairn/layer/dropout.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/net/checkpoint.hpp>
#include <cairn/plan/revolve.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>

using namespace cairn;

#ifdef EXPECT_SUCCESS
using Net = Sequential<Linear<784, 16>, Dropout<percent<20>>, Linear<16, 10>>;
#else
using Net = Sequential<Linear<784, 16>, Dropout<20>, Linear<16, 10>>;
#endif

double learn(const std::vector<float>& x, const std::vector<int>& y) {
  trainer<Net, CrossEntropyLoss, SGD, batch<8>> train{SGD{.learning_rate = 0.1}};
  return train.step(x, y);
}
