// SPDX-License-Identifier: MIT
// A model of a network that computes something else than the trained one.
// expect: error: .*trainer: the parameters of a network that computes something else
// expect: other_function<Sequential<Linear<784, 64>, Linear<64, 10>>, Sequential<Linear<784, 60>, Linear<60, 10>>>
#include <vector>

#include <cairn/layer/linear.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/model.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>

using namespace cairn;

#ifdef EXPECT_SUCCESS
using Trained = checkpoint<sqrt_n, Sequential<Linear<784, 64>, Linear<64, 10>>>;
#else
using Trained = Sequential<Linear<784, 60>, Linear<60, 10>>;
#endif

void take(model<Sequential<Linear<784, 64>, Linear<64, 10>>, batch<32>>& net,
          const trainer<Trained, CrossEntropyLoss, SGD, batch<8>>& train) {
  net.copy_parameters(train);
}
