// SPDX-License-Identifier: MIT
#include <cstddef>
#include <type_traits>

#include <cairn/comm/loopback.hpp>
#include <cairn/device/cores.hpp>
#include <cairn/train/training_options.hpp>
#include <doctest/doctest.h>

namespace training_options_tests {

using namespace cairn;

namespace {

struct no_step {};
struct smoothed_loss {
  double smoothing = 0;
};
using options = types::training_options<smoothed_loss, no_step, false>;

// Ranks on several machines.
struct spread {
  int all = 0, here = 0;
  int number = 0;
  int rank() const { return number; }
  int size() const { return all; }
  int local_size() const { return here; }
};

} // namespace

TEST_CASE("training_options: nothing is checked or clipped unless asked for") {
  const options given{};
  CHECK(given.seed == 0);
  CHECK(given.threads == 0);
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
  const types::training_options<smoothed_loss, no_step, true> given{.threads = 3, .check_loss = true};
  CHECK(given.threads == 3);
  CHECK(given.check_loss);
  static_assert(std::is_empty_v<decltype(given.clip.max_norm)>);
}

TEST_CASE("training_options: the threads are a rank's share of its machine, or as many as were asked for") {
  const std::size_t cores = detail::usable_cores();
  const loopback::rank alone;
  CHECK(options{}.threads_beside(&alone) == cores);
  CHECK(options{}.threads_beside<loopback::rank>(nullptr) == cores);
  const spread one_each{.all = 1000, .here = 1}, crowded{.all = 2000, .here = 1000};
  CHECK(options{}.threads_beside(&one_each) == cores);
  CHECK(options{}.threads_beside(&crowded) == (cores > 1000 ? cores / 1000 : 1));
  CHECK(options{.threads = 3}.threads_beside(&crowded) == 3);
}

TEST_CASE("training_options: a rank's device is the one of its place on its machine, unless another is asked for") {
  const spread seventh{.all = 8, .here = 4, .number = 6};
  struct told : spread {
    int local_rank() const { return 3; }
  };
  const told third{{.all = 8, .here = 4}};
  const loopback::rank alone;
  CHECK(options{.threads = 2}.on_device(&seventh).threads == 2);
  CHECK(options{}.on_device(&seventh).ordinal == 2);
  CHECK(options{}.on_device(&third).ordinal == 3);
  CHECK(options{}.on_device(&alone).ordinal == 0);
  CHECK(options{}.on_device<loopback::rank>(nullptr).ordinal == 0);
  CHECK(options{.ordinal = 7}.on_device(&third).ordinal == 7);
}

} // namespace training_options_tests
