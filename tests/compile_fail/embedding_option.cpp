// SPDX-License-Identifier: MIT
// A padding token without its name.
// expect: error: .*Embedding: its only option is padding_idx<Token>
#include <cstdint>
#include <vector>

#include <cairn/layer/embedding.hpp>
#include <cairn/layer/flatten.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/window_options.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>

using namespace cairn;

#ifdef EXPECT_SUCCESS
using Words = Embedding<100, 8, padding_idx<0>>;
#else
using Words = Embedding<100, 8, padding<1>>;
#endif
using Net = Sequential<Inputs<integers<4>>, Words, Flatten, Linear<32, 10>>;

double learn(const std::vector<std::int32_t>& tokens, const std::vector<int>& labels) {
  trainer<Net, CrossEntropyLoss, SGD, batch<32>> train{SGD{.learning_rate = 0.1}};
  return train.step(tokens, labels);
}
