// SPDX-License-Identifier: MIT
// A text is written by a trainer, which has no memory for one beside that of its steps.
// expect: error: .*text::session: expected a model<...> on a cpu .*give a model the weights of a trainer by net.copy_parameters
// expect: takes_no_text<trainer<
#include <vector>

#include <cairn/layer/embedding.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/text/generate.hpp>
#include <cairn/train/trainer.hpp>

using namespace cairn;

using net = Sequential<Inputs<integers<8>>, Embedding<9, 16>, Linear<16, 9>>;

std::vector<int> write(const trainer<net, CrossEntropyLoss, SGD, batch<2>>& train, const std::vector<int>& prompt) {
#ifdef EXPECT_SUCCESS
  model<net, batch<1>> trained;
  trained.copy_parameters(train);
  return text::generate(trained, prompt, {.tokens = 5});
#else
  return text::generate(train, prompt, {.tokens = 5});
#endif
}
