// SPDX-License-Identifier: MIT
// A budget of nothing.
// expect: error: .*budget_fraction<Percent>: it is given in hundredths of store_all's bytes, at least 1
#include <vector>

#include <cairn/layer/linear.hpp>
#include <cairn/net/checkpoint.hpp>
#include <cairn/plan/solve/budget.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>

using namespace cairn;

#ifdef EXPECT_SUCCESS
using Net = checkpoint<budget_fraction<100>, Sequential<Linear<784, 16>, Linear<16, 10>>>;
#else
using Net = checkpoint<budget_fraction<0>, Sequential<Linear<784, 16>, Linear<16, 10>>>;
#endif

double learn(const std::vector<float>& x, const std::vector<int>& y) {
  trainer<Net, CrossEntropyLoss, SGD, batch<8>> train{SGD{.learning_rate = 0.1}};
  return train.step(x, y);
}
