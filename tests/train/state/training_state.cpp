// SPDX-License-Identifier: MIT
#include <cairn/train/state/training_state.hpp>

#include <cstddef>
#include <string>
#include <string_view>

#include <cairn/train/ddp.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/training_options.hpp>
#include <doctest/doctest.h>

#include "../../net/layers.hpp"
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/layer/tanh.hpp>

namespace training_state_tests {

using namespace cairn;

TEST_CASE("training_state: words of what decides the bits, and of nothing else") {
  struct unsolved {};
  using options = types::training_options<CrossEntropyLoss, unsolved, false>;
  using Net = Sequential<Linear<3, 4>, ReLU, Linear<4, 2>>;
  constexpr SGD sgd{.learning_rate = 0.5, .momentum = 0.9};
  const auto words = detail::words_of<Net, float>(options{}, sgd);
  const auto place = [](std::string_view name) {
    std::size_t i = 0;
    while (detail::training_state::compared[i].name != name) ++i;
    return i;
  };
  CHECK(words.size() == 9);
  CHECK(words[place("loss scaling")] == "none");
  CHECK(words[place("element type")] == "float");
  CHECK(words[place("batch statistics")] == "of each rank's own rows");
  CHECK(words[place("learning rate")] == "0.5");
  CHECK(words[place("optimizer")] == "SGD(0.5, 0.9, 0, 0, 0)");
  CHECK(words[place("clipping")] == "clip.max_norm 0");
  CHECK(words[place("schedule of rates")] == "none");
  CHECK(words[0].find("cairn::") == std::string::npos);

  using with_policy = fused_update<checkpoint<sqrt_n, Net>>;
  CHECK(detail::words_of<with_policy, float>(types::training_options<CrossEntropyLoss, unsolved, true>{}, sgd) == words);
  using with_block = Sequential<Linear<3, 4>, checkpoint<sqrt_n, Sequential<ReLU, Linear<4, 2>>>>;
  CHECK(detail::words_of<with_block, float>(options{}, sgd) == words);
  CHECK(detail::words_of<Sequential<Linear<3, 4>, Tanh, Linear<4, 2>>, float>(options{}, sgd)[0] != words[0]);
  CHECK(detail::words_of<Net, double>(options{}, sgd)[1] == "double");
  const options others{.learning_rate = step_rate{.learning_rate = 0.25}, .clip = {2}};
  const auto set = detail::words_of<Net, float>(others, sgd);
  CHECK(set[place("clipping")] == "clip.max_norm 2");
  CHECK(set[place("schedule of rates")] == "step_rate(0.25, 1, 0.1), which begins with 0.25");
  CHECK(detail::words_of<Net, float>(options{}, sgd, 2)[place("batch statistics")] ==
        "of all ranks (sync_batch_norm) in 2 layers");
}

} // namespace training_state_tests
