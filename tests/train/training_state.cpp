// SPDX-License-Identifier: MIT
#include <cairn/train/training_state.hpp>

#include <string>

#include <cairn/train/cross_entropy_loss.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/sgd.hpp>
#include <cairn/train/training_options.hpp>
#include <doctest/doctest.h>

#include "../net/layers.hpp"
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/layer/tanh.hpp>

namespace training_state_tests {

using namespace cairn;

TEST_CASE("training_state: words of what decides the bits, and of nothing else") {
  struct unsolved {};
  using options = training_options<CrossEntropyLoss, unsolved, false>;
  using Net = Sequential<Linear<3, 4>, ReLU, Linear<4, 2>>;
  constexpr SGD sgd{.learning_rate = 0.5, .momentum = 0.9};
  const auto words = detail::words_of<Net, float>(options{}, sgd);
  CHECK(words[1] == "float");
  CHECK(words[3] == "SGD(0.5, 0.9, 0, 0, 0) from a rate of 0.5");
  CHECK(words[4] == "max_norm 0");
  CHECK(words[5] == "none");
  CHECK(words[0].find("cairn::") == std::string::npos);

  using with_policy = fused_update<checkpoint<sqrt_n, Net>>;
  CHECK(detail::words_of<with_policy, float>(training_options<CrossEntropyLoss, unsolved, true>{}, sgd) == words);
  using with_block = Sequential<Linear<3, 4>, checkpoint<sqrt_n, Sequential<ReLU, Linear<4, 2>>>>;
  CHECK(detail::words_of<with_block, float>(options{}, sgd) == words);
  CHECK(detail::words_of<Sequential<Linear<3, 4>, Tanh, Linear<4, 2>>, float>(options{}, sgd)[0] != words[0]);
  CHECK(detail::words_of<Net, double>(options{}, sgd)[1] == "double");
  const options others{.learning_rate = step_rate{.learning_rate = 0.25}, .clip = {2}};
  const auto set = detail::words_of<Net, float>(others, sgd);
  CHECK(set[4] == "max_norm 2");
  CHECK(set[5] == "one that begins with 0.25");
}

} // namespace training_state_tests
