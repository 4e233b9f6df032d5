// SPDX-License-Identifier: MIT
// under the thread sanitizer
// long to compile
#include <cairn/train/fit/fit_run.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <cairn/comm/threads/threads.hpp>
#include <cairn/data/distributed_sampler.hpp>
#include <cairn/data/sequential_sampler.hpp>
#include <cairn/data/tensor_dataset.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/fit/fit.hpp>
#include <doctest/doctest.h>

#include "../training.hpp"

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
    CHECK(run.steps_in_epoch() == 2); // 3 batches, two in a step
    CHECK(run.samples_of_epoch() == 40);
    CHECK(run.step_of_epoch() == 0);
  }
  void on_step(auto& run) {
    rows.push_back(run.rows());
    rates.push_back(run.last_rate());
    // Notes have sums only in the middle of an epoch; they are the sums over all ranks.
    const types::state_notes notes = run.notes();
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

TEST_CASE("fit_run: ranks that read the same samples are refused, unless it is meant") {
  using Net = Sequential<Linear<features, testing::classes>>;
  const testing::samples s(40, 3), t(40, 4);
  const tensor_dataset<float, int> first{shape{features}, s.x, 1, s.y}, second{shape{features}, t.x, 1, t.y};
  // The error text of rank 0 of three ranks, which read with these samplers; rank 2 reads `of_last`.
  const auto fault = [&](const auto& sampler_of, const tensor_dataset<float, int>& of_last, const types::fit_options& options) {
    std::vector<std::string> faults(3);
    threads{3}.run([&](threads::rank& rank) {
      trainer<ddp<Net, threads::rank>, CrossEntropyLoss, SGD, batch<8>> train{rank, SGD{}};
      loader batches{rank.rank() == 2 ? of_last : first, sampler_of(rank), batch<8>{}, {.prefetch = 0}};
      faults[static_cast<std::size_t>(rank.rank())] = testing::text_of([&] { fit(train, batches, options); });
      CHECK((train.steps() == 0) == !faults[static_cast<std::size_t>(rank.rank())].empty());
    });
    CHECK(faults[0] == faults[1]);
    CHECK(faults[0] == faults[2]);
    return faults[0];
  };
  const auto forgotten = [](threads::rank&) { return sampler{}; };
  const auto shared = [](threads::rank& rank) { return sampler{rank}; };
  const auto in_order = [](threads::rank&) { return sequential_sampler{}; };
  const auto of_two = [](threads::rank& rank) { return sampler{rank.rank() == 0 ? 0 : 1, 2, 0}; };
  CHECK(fault(shared, first, {.max_epochs = 1}).empty());
  CHECK(fault(forgotten, first, {.max_epochs = 1}) ==
        "fit: expected other samples on every rank, found the same on ranks 0, 1 and 2; give the loader sampler{rank}, with the "
        "rank's communicator, in place of sampler{}; if it is meant, say fit_options::same_samples");
  CHECK(testing::has(fault(forgotten, first, {.fast_dev_run = true}), "found the same on ranks 0, 1 and 2"));
  CHECK(testing::has(fault(in_order, first, {.max_epochs = 1}), "found the same on ranks 0, 1 and 2"));
  CHECK(testing::has(fault(of_two, first, {.max_epochs = 1}), "found the same on ranks 1 and 2"));
  CHECK(testing::has(fault(in_order, second, {.max_epochs = 1}),
                     "found the same on ranks 0 and 1;")); // rank 2 has a dataset of its own
  CHECK(fault(forgotten, first, {.max_epochs = 1, .same_samples = true}).empty());
}

TEST_CASE("fit_run: ranks that share so few samples that they read some twice are no mistake, nor are files of their own") {
  using Net = Sequential<Linear<features, testing::classes>>;
  const testing::samples s(2, 3);
  threads{3}.run([&](threads::rank& rank) {
    const tensor_dataset<float, int> two{shape{features}, s.x, 1, s.y};
    const testing::samples own(8, static_cast<std::uint32_t>(rank.rank()));
    const tensor_dataset<float, int> apart{shape{features}, own.x, 1, own.y};
    trainer<ddp<Net, threads::rank>, CrossEntropyLoss, SGD, batch<8>> train{rank, SGD{}};
    loader few{two, sampler{rank}, batch<8>{}, {.prefetch = 0}}; // rank 2 reads the same as rank 0
    fit(train, few, {.max_epochs = 1});
    loader files{apart, sequential_sampler{}, batch<8>{}, {.prefetch = 0}};
    fit(train, files, {.max_epochs = 1});
    CHECK(train.steps() == 2);
  });
}

} // namespace fit_run_tests
