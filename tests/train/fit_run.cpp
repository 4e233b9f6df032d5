// SPDX-License-Identifier: MIT
#include <cairn/train/fit_run.hpp>

#include <cstddef>
#include <vector>

#include <cairn/comm/threads.hpp>
#include <cairn/data/distributed_sampler.hpp>
#include <cairn/data/tensor_dataset.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/fit.hpp>
#include <doctest/doctest.h>

#include "training.hpp"

namespace fit_run_tests {

using namespace cairn;
using testing::features;

namespace {

struct counted {
  std::vector<std::size_t> rows;
  std::vector<double> rates;
  void on_begin(auto& run) {
    CHECK(run.ranks() == 2);
    CHECK(run.epochs() == 2);
    CHECK(run.steps_in_epoch() == 2); // of 3 batches, two in a step
    CHECK(run.samples_of_epoch() == 40);
    CHECK(run.step_of_epoch() == 0);
  }
  void on_step(auto& run) {
    rows.push_back(run.rows());
    rates.push_back(run.last_rate());
    // The sums go into a state in the middle of an epoch only, and there they are those of all ranks.
    const state_notes notes = run.notes();
    CHECK(notes.size() == (run.step_of_epoch() == 1 ? 2 : 0));
    if (run.step_of_epoch() == 1) CHECK(notes.at("fit.rows") == 32);
  }
};

} // namespace

TEST_CASE("fit_run: what a run says of itself with two ranks and two micro-batches") {
  const testing::samples s(40, 3);
  const tensor_dataset<float, int> data{shape{features}, s.x, 1, s.y};
  using Net = Sequential<Linear<features, testing::classes>>;
  threads{2}.run([&](threads::rank& rank) {
    trainer<ddp<Net, threads::rank>, CrossEntropyLoss, SGD, batch<8>> train{
        rank, SGD{}, {.learning_rate = step_rate{.learning_rate = 0.5, .step_size = 1, .gamma = 0.5}}};
    loader batches{data, sampler{rank}, batch<8>{}, {.prefetch = 0}};
    counted seen;
    fit(train, batches, {.max_epochs = 2, .accumulate_grad_batches = 2}, seen);
    CHECK(seen.rows == std::vector<std::size_t>{32, 8, 32, 8});
    CHECK(seen.rates == std::vector<double>{0.5, 0.25, 0.125, 0.0625});
  });
}

} // namespace fit_run_tests
