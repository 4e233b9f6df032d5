// SPDX-License-Identifier: MIT
// long to compile
#include <cairn/train/state/loader_words.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <cairn/comm/threads/threads.hpp>
#include <cairn/data/distributed_sampler.hpp>
#include <cairn/data/sequential_sampler.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/fit/fit.hpp>
#include <cairn/train/state/saved_states.hpp>
#include <doctest/doctest.h>

#include "../../data/folder.hpp"
#include "../digits.hpp"
#include "../training.hpp"

namespace loader_words_tests {

using namespace cairn;
using testing::classes;
using testing::features;
using testing::has;
using testing::text_of;

namespace {

using Net = Sequential<Linear<features, 8>, ReLU, Linear<8, classes>>;
using ranked = trainer<ddp<Net, threads::rank>, CrossEntropyLoss, SGD, batch<8>>;
constexpr std::size_t samples = 48;

// The data of each rank, given as a stream of random numbers.
using streams = std::vector<std::uint32_t>;

// Saves a state of data.size() ranks after `steps` steps, or at the end of the epoch.
void save(const std::string& path, const streams& data, std::uint64_t steps) {
  threads{static_cast<int>(data.size())}.run([&](threads::rank& rank) {
    const testing::digits d(samples, data[static_cast<std::size_t>(rank.rank())]);
    ranked train{rank, testing::momentum, {.seed = 3}};
    loader batches{d.data, sampler{rank, 0, {.seed = 5}}, batch<8>{}, {.rows = 4, .prefetch = 0}};
    for (const auto& [x, y] : batches) {
      train.step(x, y);
      if (train.steps() == steps) break;
    }
    save_state(train, batches, path);
  });
}
// The error text of rank 0 when the ranks load the state. If one rank throws, all do, and nothing has changed.
std::string taken_up(const std::string& path, const streams& data, const types::state_options& allowed = {}) {
  std::vector<std::string> faults(data.size());
  threads{static_cast<int>(data.size())}.run([&](threads::rank& rank) {
    const auto number = static_cast<std::size_t>(rank.rank());
    const testing::digits d(samples, data[number]);
    ranked train{rank, testing::momentum, {.seed = 4}};
    const std::uint64_t before = train.checksum();
    loader batches{d.data, sampler{rank, 0, {.seed = 5}}, batch<8>{}, {.rows = 4, .prefetch = 0}};
    faults[number] = text_of([&] { load_state(train, batches, path, allowed); });
    CHECK(faults[number].empty() == (train.checksum() != before));
    CHECK(faults[number].empty() == (batches.place() != types::loader_place{}));
  });
  for (const std::string& fault : faults) CHECK(fault.empty() == faults[0].empty());
  return faults[0];
}
std::map<std::string, std::string> words_in(const std::string& path) { return files::safetensors_file(path).metadata(); }

// A user's own loader, which does not identify its dataset.
template <class Loader>
struct plain_loader {
  Loader& its;
  types::loader_place place() const { return its.place(); }
  std::uint64_t fingerprint(std::uint64_t epoch) const { return its.fingerprint(epoch); }
  std::size_t size() const { return its.size(); }
  void go_to(const types::loader_place& next) { its.go_to(next); }
};
template <class Loader>
plain_loader(Loader&) -> plain_loader<Loader>;

} // namespace

TEST_CASE("loader_words: another dataset of as many samples is refused, by name of the rank, unless it is meant") {
  const folder here;
  const std::string path = here.path / "run.state";
  for (const std::uint64_t steps : {std::uint64_t{2}, std::uint64_t{99}}) { // within an epoch, and at its end
    save(path, {3}, steps);
    CHECK(taken_up(path, {3}).empty());
    const std::string fault = taken_up(path, {4});
    CHECK_MESSAGE(has(fault, "load_state: '" + path +
                                 "': the loader has another dataset, of as many samples: expected that of fingerprint " +
                                 words_in(path).at("datasets") + ", found "),
                  fault);
    CHECK(has(fault, "; read the dataset of that run, or let another pass by state_options::other_dataset"));
    CHECK(has(taken_up(path, {4}, {.other_settings = true}), "has another dataset"));
    CHECK(taken_up(path, {4}, {.other_dataset = true}).empty());
  }
  save(path, {3, 3}, 2);
  CHECK(taken_up(path, {3, 3}).empty());
  CHECK(has(taken_up(path, {3, 4}), "the loader on rank 1 has another dataset"));
  CHECK(has(taken_up(path, {4, 4}), "the loader on rank 0 has another dataset"));
}

TEST_CASE("loader_words: ranks with datasets of their own go on with them, and in their order") {
  const folder here;
  const std::string path = here.path / "run.state";
  save(path, {3, 4}, 2);
  CHECK(taken_up(path, {3, 4}).empty());
  CHECK(has(taken_up(path, {4, 3}), "the loader on rank 0 has another dataset"));
  CHECK(has(taken_up(path, {3, 5}), "the loader on rank 1 has another dataset"));
  CHECK(taken_up(path, {4, 3}, {.other_dataset = true}).empty());
}

TEST_CASE("loader_words: another number of ranks goes on with the one dataset, and not where ranks have their own") {
  const folder here;
  const std::string path = here.path / "run.state";
  save(path, {3, 3}, 99);
  CHECK(taken_up(path, {3}, {.micro_batches = 2}).empty());
  CHECK(has(taken_up(path, {4}, {.micro_batches = 2}), "the loader has another dataset, of as many samples"));
  CHECK(taken_up(path, {4}, {.other_dataset = true, .micro_batches = 2}).empty());
  save(path, {3, 4}, 99);
  CHECK(has(taken_up(path, {3}, {.micro_batches = 2}),
            "it was saved by 2 ranks, found 1, and ranks have datasets of their own, whose samples"));
  CHECK(taken_up(path, {3}, {.other_dataset = true, .micro_batches = 2}).empty());
}

TEST_CASE("loader_words: what cannot be told, or is not in a state, is not compared") {
  const folder here;
  const std::string path = here.path / "run.state";
  const testing::digits first(samples, 3), other(samples, 4);
  trainer<Net, CrossEntropyLoss, SGD, batch<8>> train{testing::momentum}, again{testing::momentum};
  loader batches{first.data, sequential_sampler{}, batch<8>{}, {.prefetch = 0}};
  loader others{other.data, sequential_sampler{}, batch<8>{}, {.prefetch = 0}};
  for (const auto& [x, y] : batches) train.step(x, y);
  const plain_loader untold{batches};
  plain_loader told_by_none{others};
  save_state(train, untold, path); // as states of format 2 before they named datasets
  CHECK(!words_in(path).contains("datasets"));
  CHECK(words_in(path).at("cairn state") == "2");
  CHECK(load_state(again, others, path).trainer.steps == 6);
  save_state(train, batches, path);
  CHECK(words_in(path).contains("datasets"));
  CHECK(has(text_of([&] { load_state(again, others, path); }), "has another dataset"));
  CHECK(load_state(again, told_by_none, path).trainer.steps == 6);
}

TEST_CASE("loader_words: fit refuses to go on with another dataset before its first step, unless it is meant") {
  const folder here;
  const auto run = [&](std::uint32_t stream, std::size_t epochs, const types::state_options& allowed, std::uint64_t& steps) {
    const testing::digits d(samples, stream);
    trainer<Net, CrossEntropyLoss, SGD, batch<8>> train{testing::momentum};
    loader batches{d.data, sampler{}, batch<8>{}, {.prefetch = 0}};
    const std::string fault = text_of([&] {
      fit(train, batches, {.max_epochs = epochs},
          saved_states{here.path / "run", {.allowed = allowed, .say = [](const std::string&) {}}});
    });
    steps = train.steps();
    return fault;
  };
  std::uint64_t steps = 0;
  CHECK(run(3, 1, {}, steps).empty());
  CHECK(has(run(4, 2, {}, steps), "has another dataset, of as many samples"));
  CHECK(steps == 0);
  CHECK(run(4, 2, {.other_dataset = true}, steps).empty());
  CHECK(steps == 12);
  CHECK(run(4, 3, {}, steps).empty()); // its states are of that dataset from then on
  CHECK(steps == 18);
}

} // namespace loader_words_tests
