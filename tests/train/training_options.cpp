// SPDX-License-Identifier: MIT
#include <type_traits>

#include <cairn/train/training_options.hpp>
#include <doctest/doctest.h>

using namespace cairn;

namespace {

struct no_step {};
struct loss {
  double smoothing = 0;
};
using options = training_options<loss, no_step, false>;

} // namespace

TEST_CASE("training_options: nothing is checked or clipped, and one thread works, unless asked for") {
  const options given{};
  CHECK(given.seed == 0);
  CHECK(given.threads == 1);
  CHECK(!given.check_loss);
  CHECK(!given.learning_rate);
  CHECK(given.clip.max_norm == 0);
}

TEST_CASE("training_options: each goes by its name") {
  const options given{.seed = 7,
                      .threads = 2,
                      .check_loss = true,
                      .learning_rate = cosine_rate{.learning_rate = 0.5, .total_steps = 10},
                      .clip = {0.5},
                      .loss = {.smoothing = 0.1},
                      .schedule = no_step{}};
  CHECK(given.seed == 7);
  CHECK(given.threads == 2);
  CHECK(given.check_loss);
  CHECK(given.learning_rate.at(0) == 0.5);
  CHECK(given.clip.max_norm == 0.5);
  CHECK(given.loss.smoothing == 0.1);
}

TEST_CASE("training_options: a fused update has the same ones, but nothing to clip by") {
  const training_options<loss, no_step, true> given{.threads = 3, .check_loss = true};
  CHECK(given.threads == 3);
  CHECK(given.check_loss);
  static_assert(std::is_empty_v<decltype(given.clip.max_norm)>);
}
