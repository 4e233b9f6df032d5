// SPDX-License-Identifier: MIT
// long to compile
#include <cairn/train/state/loader_facts.hpp>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include <cairn/comm/threads/threads.hpp>
#include <cairn/data/distributed_sampler.hpp>
#include <cairn/layer/batch_norm.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/fit/fit.hpp>
#include <cairn/train/state/saved_states.hpp>
#include <doctest/doctest.h>

#include "../../data/folder.hpp"
#include "../digits.hpp"
#include "../training.hpp"

namespace loader_facts_tests {

using namespace cairn;
using testing::classes;
using testing::features;
using testing::has;
using testing::text_of;

namespace {

using Net = Sequential<Linear<features, 8>, ReLU, Linear<8, classes>>;
using WithStatistics = Sequential<Linear<features, 8>, BatchNorm1d<8>, ReLU, Linear<8, classes>>;
template <class Model>
using ranked = trainer<ddp<Model, threads::rank>, CrossEntropyLoss, SGD, batch<8>>;

struct told {
  int ranks = 1;
  std::size_t micro_batches = 1; // state_options
  std::size_t samples = 48;
  std::size_t rows = 4;
  types::sampler_options order{.seed = 5};
  int odd = -1; // the rank that reads something else
  types::sampler_options odd_order{.seed = 6};
};

// The error text when the ranks load the state: that of rank 0, which the others repeat.
template <class Model = Net>
std::string taken_up(const std::string& path, const told& how) {
  const testing::digits d(how.samples);
  std::vector<std::string> faults(static_cast<std::size_t>(how.ranks));
  threads{how.ranks}.run([&](threads::rank& rank) {
    ranked<Model> train{rank, testing::momentum, {.seed = 4}};
    const std::uint64_t before = train.checksum();
    loader batches{d.data,
                   sampler{rank, 0, rank.rank() == how.odd ? how.odd_order : how.order},
                   batch<8>{},
                   {.rows = how.rows, .prefetch = 0}};
    const std::string fault = text_of([&] { load_state(train, batches, path, {.micro_batches = how.micro_batches}); });
    if (!fault.empty()) {
      CHECK(train.checksum() == before);
      CHECK(train.steps() == 0);
      CHECK(batches.place() == types::loader_place{});
    }
    faults[static_cast<std::size_t>(rank.rank())] = fault;
  });
  for (const std::string& fault : faults) CHECK(fault.empty() == faults[0].empty());
  for (std::size_t rank = 1; rank < faults.size(); ++rank)
    CHECK((faults[rank].empty() || faults[rank] == "rank 0 failed, and with it all ranks: " + faults[0]));
  return faults[0];
}
// Saves a state of how.ranks ranks after an epoch.
template <class Model = Net>
void save_epoch(const std::string& path, const told& how) {
  const testing::digits d(how.samples);
  threads{how.ranks}.run([&](threads::rank& rank) {
    ranked<Model> train{rank, testing::momentum, {.seed = 3}};
    loader batches{d.data, sampler{rank, 0, how.order}, batch<8>{}, {.rows = how.rows, .prefetch = 0}};
    for (const auto& [x, y] : batches) train.step(x, y);
    save_state(train, batches, path);
  });
}

} // namespace

TEST_CASE("loader_facts: a resume compares what every rank reads, not rank 0 alone") {
  const folder here;
  const std::string path = here.path / "run.state";
  save_epoch(path, {.ranks = 2});
  CHECK(taken_up(path, {.ranks = 2}).empty());
  CHECK(has(taken_up(path, {.ranks = 2, .odd = 1}), "the loader on rank 1 would read other samples in epoch 1"));
  CHECK(has(taken_up(path, {.ranks = 2, .odd = 0}), "the loader on rank 0 would read other samples in epoch 1"));
  CHECK(has(taken_up(path, {.ranks = 2, .samples = 64}), "expected a loader of 6 batches an epoch on rank 0, found 8"));
  CHECK(has(taken_up(path, {.ranks = 2, .samples = 47}), "the loader on rank 0 would read other samples"));
}

TEST_CASE("loader_facts: another number of ranks goes on where its steps see the same samples, and is refused elsewhere") {
  const folder here;
  const std::string path = here.path / "run.state";
  save_epoch(path, {.ranks = 4});
  CHECK(taken_up(path, {.ranks = 1, .micro_batches = 4}).empty());
  CHECK(taken_up(path, {.ranks = 2, .micro_batches = 2}).empty());
  const std::string others = "steps of 1 would see other samples in epoch 1, or with other weights";
  CHECK(has(taken_up(path, {.ranks = 1, .micro_batches = 4, .order = {.seed = 6}}), others));
  CHECK(has(taken_up(path, {.ranks = 1, .micro_batches = 4, .samples = 600}), others));
  CHECK(has(taken_up(path, {.ranks = 1, .micro_batches = 4, .rows = 8}), others));
  CHECK(has(taken_up(path, {.ranks = 1, .micro_batches = 2}), "make ranks x micro-batches 4"));
  save_epoch(path, {.ranks = 4, .samples = 46}); // two samples are read twice
  CHECK(has(taken_up(path, {.ranks = 1, .micro_batches = 4, .samples = 46}), others));
  CHECK(taken_up(path, {.ranks = 4, .samples = 46}).empty());
  save_epoch<WithStatistics>(path, {.ranks = 2});
  CHECK(has(taken_up<WithStatistics>(path, {.ranks = 1, .micro_batches = 2}),
            "it was saved by 2 ranks, found 1, and layers such as BatchNorm take statistics of the samples of a rank"));
}

TEST_CASE("loader_facts: micro-batches are compared where the ranks are as many, too") {
  const folder here;
  const std::string path = here.path / "run.state";
  const testing::samples s(8, 1);
  trainer<Net, CrossEntropyLoss, SGD, batch<8>> train{testing::momentum}, other{testing::momentum};
  for (int micro_batches : {2, 2, 1}) { // the last step of an epoch has fewer
    for (int i = 1; i < micro_batches; ++i) train.accumulate(s.x, s.y);
    train.step(s.x, s.y);
  }
  save_state(train, path);
  CHECK(has(text_of([&] { load_state(other, path); }), "1 ranks and 2 micro-batches in a step, found 1 ranks and "
                                                       "state_options::micro_batches = 1: a step would see other samples"));
  CHECK(other.steps() == 0);
  CHECK(load_state(other, path, {.micro_batches = 2}).trainer.steps == 3);
  CHECK(other.state().micro_batches == 2);
  CHECK(has(text_of([&] { load_state(other, path, {.micro_batches = 0}); }), "micro_batches of 1 or more"));
}

TEST_CASE("loader_facts: fit tells its micro-batches, so that the right number of ranks goes on, and no other") {
  const folder here;
  const testing::digits d(40); // two ranks with two micro-batches of four make steps of 16, 16 and 8
  const auto run = [&](int ranks, std::size_t together, std::size_t epochs, std::vector<float>& out, const std::string& where) {
    std::string fault;
    threads{ranks}.run([&](threads::rank& rank) {
      ranked<Net> train{rank, testing::momentum, {.seed = 3}};
      loader batches{d.data, sampler{rank, 0, {.seed = 5}}, batch<8>{}, {.rows = 4, .prefetch = 0}};
      const std::string found = text_of([&] {
        fit(train, batches, {.max_epochs = epochs, .accumulate_grad_batches = together},
            saved_states{where, {.say = [](const std::string&) {}}});
      });
      if (rank.rank() == 0) fault = found, out.assign(train.parameters().begin(), train.parameters().end());
    });
    return fault;
  };
  std::vector<float> whole, parted;
  CHECK(run(2, 2, 2, whole, here.path / "whole").empty());
  CHECK(run(2, 2, 1, parted, here.path / "parted").empty());
  CHECK(has(run(1, 2, 2, parted, here.path / "parted"), "found 1 ranks and accumulate_grad_batches = 2"));
  CHECK(has(run(4, 2, 2, parted, here.path / "parted"), "found 4 ranks and accumulate_grad_batches = 2"));
  CHECK(has(run(2, 1, 2, parted, here.path / "parted"), "found 2 ranks and accumulate_grad_batches = 1"));
  CHECK(run(1, 4, 2, parted, here.path / "parted").empty());
  REQUIRE(parted.size() == whole.size());
  for (std::size_t i = 0; i < whole.size(); ++i) CHECK(parted[i] == doctest::Approx(whole[i]).epsilon(1e-4));
}

TEST_CASE("loader_facts: ranks that have parted are found where they save, and at the end of fit") {
  const folder here;
  const testing::digits d(32);
  std::vector<std::string> saved(2), fitted(2);
  threads{2}.run([&](threads::rank& rank) {
    const auto number = static_cast<std::size_t>(rank.rank());
    ranked<Net> train{rank, testing::momentum, {.seed = 3, .check_every = 0}};
    loader batches{d.data, sampler{rank}, batch<8>{}, {.prefetch = 0}};
    fit(train, batches, {.max_epochs = 1});
    train.parameters()[0] += static_cast<float>(number);
    saved[number] = text_of([&] { save_state(train, here.path / "state"); });
    fitted[number] = text_of([&] { fit(train, batches, {.max_epochs = 2}); });
  });
  CHECK(saved[0] == saved[1]);
  CHECK(has(saved[0], "save_state: expected the same parameters on every rank, found those of checksum "));
  CHECK(has(saved[0], "or the ranks run other builds of the program"));
  CHECK(has(fitted[1], "fit, at its end: expected the same parameters on every rank"));
  CHECK(here.files() == 0);
}

TEST_CASE("loader_facts: a loader that stands elsewhere on a rank, or cannot say what it reads, is an error of all") {
  struct failing {
    bool fails;
    std::size_t count(std::size_t samples) const { return samples; }
    void order(std::size_t samples, std::uint64_t, std::vector<std::size_t>& out) const {
      if (fails) throw std::runtime_error("the order is lost");
      out.assign(samples, 0);
    }
  };
  const testing::digits d(32);
  threads{2}.run([&](threads::rank& rank) {
    ranked<Net> train{rank, testing::momentum};
    loader batches{d.data, sampler{rank}, batch<8>{}, {.prefetch = 0}};
    batches.go_to({0, rank.rank() == 1 ? 1U : 0U});
    CHECK(has(text_of([&] { save_state(train, batches, "/nowhere/state"); }),
              "save_state: expected loaders that stand at the same place on every rank, found that of rank 1 at batch 1 of epoch "
              "0 and that of rank 0 at batch 0 of epoch 0"));
    loader lost{d.data, failing{rank.rank() == 1}, batch<8>{}, {.prefetch = 0}};
    if (rank.rank() == 1) CHECK_THROWS_AS(save_state(train, lost, "/nowhere/state"), std::runtime_error);
    else CHECK(has(text_of([&] { save_state(train, lost, "/nowhere/state"); }), "the loader of rank 1 failed"));
  });
}

} // namespace loader_facts_tests
