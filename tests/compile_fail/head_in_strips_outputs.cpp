// SPDX-License-Identifier: MIT
// A loss of the program's own reads whole outputs of a step, which a head in strips does not make.
// expect: error: .*step_by\(\) and accumulate_by\(\) need the whole outputs of a step, and a head_in_strips makes them in strips
// expect: whole_outputs<(Net>|Sequential<Linear<784, 64>, head_in_strips<Linear<64, 10>)
#include <vector>

#include <cairn/layer/head_in_strips.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>

using namespace cairn;

#ifdef EXPECT_SUCCESS
using Net = Sequential<Linear<784, 64>, Linear<64, 10>>;
#else
using Net = Sequential<Linear<784, 64>, head_in_strips<Linear<64, 10>>>;
#endif

double learn(const std::vector<float>& images) {
  trainer<Net, CrossEntropyLoss, SGD, batch<32>> train{SGD{.learning_rate = 0.1}, {.seed = 7}};
  return train.step_by(images, [](const auto&, const auto&) { return 0.0; });
}
