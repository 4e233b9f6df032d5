// SPDX-License-Identifier: MIT
// Parameters of a network that computes something else.
// expect: error: .*trainer: the parameters of a network that computes something else
// expect: other_function<Sequential<Linear<784, 64>, Linear<64, 10>>, Sequential<Linear<784, 60>, Linear<60, 10>>>
#include <vector>

#include <cairn/layer/linear.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>

using namespace cairn;

#ifdef EXPECT_SUCCESS
using Other = checkpoint<sqrt_n, Sequential<Linear<784, 64>, Linear<64, 10>>>;
#else
using Other = Sequential<Linear<784, 60>, Linear<60, 10>>;
#endif

template <class Model>
using training = trainer<Model, CrossEntropyLoss, SGD, batch<32>>;

void take(training<Sequential<Linear<784, 64>, Linear<64, 10>>>& train, const training<Other>& other) {
  train.copy_parameters(other);
}
