// SPDX-License-Identifier: MIT
// Lengths as numbers of the network's element type, where it takes a constant of integers.
// expect: error: .*trainer: this array is for an integers<\.\.\.> or an integer_constant<\.\.\.> of the network.s Inputs
// expect: wrong_inputs<float, int(32_t)?>
#include <vector>

#include <cairn/layer/inputs.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>

using namespace cairn;

using Net = Sequential<Inputs<dims<16>, integer_constant<>>, Linear<16, 4>>;

#ifdef EXPECT_SUCCESS
using numbers = std::vector<int>;
#else
using numbers = std::vector<float>;
#endif

double learn(const std::vector<float>& hidden, const numbers& lengths, const std::vector<int>& labels) {
  trainer<Net, CrossEntropyLoss, SGD, batch<32>> train{SGD{.learning_rate = 0.1}, {.seed = 7}};
  return train.step(inputs(hidden, lengths), labels);
}
