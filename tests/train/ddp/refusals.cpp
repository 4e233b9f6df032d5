// SPDX-License-Identifier: MIT
// long to compile
#include <chrono>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <string>

#include <cairn/comm/threads/threads.hpp>
#include <cairn/layer/batch_norm.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/trainer.hpp>

#include "../training.hpp"

namespace ddp_refusals_tests {

using namespace cairn;
using testing::has;
using testing::samples;
using testing::text_of;

namespace {

using Net = Sequential<Linear<testing::features, 6>, ReLU, Linear<6, testing::classes>>;
using Other = Sequential<Linear<testing::features, 7>, ReLU, Linear<7, testing::classes>>;

template <class Model, class T = float, class... Options>
using replica_trainer = trainer<ddp<Model, threads::rank, Options...>, CrossEntropyLoss, SGD, batch<6>, T>;

// The error text of a job whose rank 0 has the trainer First and whose rank 1 has Second.
template <class First, class Second>
std::string meeting() {
  return text_of([] {
    threads{2}.run([](threads::rank& rank) {
      if (rank.rank() == 0) First{rank, SGD{}, {.seed = 1}};
      else Second{rank, SGD{}, {.seed = 1}};
    });
  });
}

} // namespace

TEST_CASE("ddp: ranks that were built alike meet") {
  CHECK(meeting<replica_trainer<Net>, replica_trainer<Net>>() == "");
  // Ranks may send their buckets at different times, as long as their calls are in the same order.
  CHECK(meeting<replica_trainer<Net>, replica_trainer<Net, float, after_backward>>() == "");
}

TEST_CASE("ddp: ranks whose buckets and statistics would leave in another order refuse to start") {
  using Summing = Sequential<Linear<testing::features, 8>, BatchNorm1d<8>, Linear<8, testing::classes>>;
  const std::string order = meeting<replica_trainer<Summing, float, sync_batch_norm, bucket_bytes<1>>,
                                    replica_trainer<Summing, float, sync_batch_norm, bucket_bytes<1>, after_backward>>();
  CHECK(has(order, "the same order of calls on every rank, found buckets leave during the backward pass on rank 0 and buckets "
                   "leave after the backward pass on rank 1"));
}

TEST_CASE("ddp: ranks that were built differently refuse to start and say what differs") {
  const std::string network = meeting<replica_trainer<Net>, replica_trainer<Other>>();
  CHECK(has(network, "the same network on every rank"));
  CHECK(has(network, "ranks 0 and 1 were built differently"));
  CHECK(has(network, "found 3 stages with 94 parameters, Sequential<Linear<10"));
  CHECK(has(network, " on rank 0 and 3 stages with 109 parameters, Sequential<Linear<10"));
  CHECK(has(network, " on rank 1; start every rank from the same program"));
  const std::string policy = meeting<replica_trainer<Net>, replica_trainer<checkpoint<recompute_all, Net>>>();
  CHECK(has(policy, "the same checkpoint policy on every rank, found store_all at batch 6 of Sequential<"));
  CHECK(has(policy, "on rank 0 and recompute_all at batch 6 of Sequential<"));
  CHECK(has(
      meeting<replica_trainer<Net>, replica_trainer<Net, float, bucket_bytes<1>>>(),
      "the same gradient buckets on every rank, found 1 of at most 26214400 bytes on rank 0 and 4 of at most 1 bytes on rank 1"));
  CHECK(has(meeting<replica_trainer<Net>, replica_trainer<Net, double>>(),
            "the same element type on every rank, found float on rank 0 and double on rank 1"));
}

TEST_CASE("ddp: ranks that were given other arguments refuse to start") {
  const auto meet_with = [](SGD other, double max_norm, rate_schedule rates = {}) {
    return text_of([&] {
      threads{2}.run([&](threads::rank& rank) {
        const bool first = rank.rank() == 0;
        replica_trainer<Net>{rank,
                             first ? SGD{.learning_rate = 0.1, .momentum = 0.9} : other,
                             {.seed = 1, .learning_rate = first ? rate_schedule{} : rates, .clip = {first ? 0 : max_norm}}};
      });
    });
  };
  CHECK(meet_with({.learning_rate = 0.1, .momentum = 0.9}, 0) == "");
  for (const SGD other : {SGD{.learning_rate = 0.2, .momentum = 0.9}, SGD{.learning_rate = 0.1, .momentum = 0.8},
                          SGD{.learning_rate = 0.1, .momentum = 0.9, .nesterov = true}})
    CHECK(has(meet_with(other, 0), "ranks 0 and 1 would make different steps"));
  CHECK(has(meet_with({.learning_rate = 0.2, .momentum = 0.9}, 0),
            "expected the same learning rate on every rank, found 0.1 on rank 0 and 0.2 on rank 1"));
  CHECK(has(meet_with({.learning_rate = 0.1, .momentum = 0.8}, 0),
            "expected the same optimizer on every rank, found SGD(0.1, 0.9, 0, 0, 0) on rank 0 and SGD(0.1, 0.8, 0, 0, 0)"));
  CHECK(has(meet_with({.learning_rate = 0.1, .momentum = 0.9}, 1),
            "would make different steps: expected the same clipping on every rank, found clip.max_norm 0 on rank 0 and "
            "clip.max_norm 1"));
  CHECK(has(meet_with({.learning_rate = 0.1, .momentum = 0.9}, 0, step_rate{.learning_rate = 0.1, .step_size = 9}),
            "the same schedule of rates on every rank, found none on rank 0 and step_rate(0.1, 9, 0.1), which begins with 0.1 on "
            "rank 1"));

  const auto meet_as = [](int ranks, auto options_of) {
    return text_of(
        [&] { threads{ranks}.run([&](threads::rank& rank) { replica_trainer<Net>{rank, SGD{}, options_of(rank.rank())}; }); });
  };
  using options = replica_trainer<Net>::options;
  CHECK(
      has(meet_as(3, [](int rank) { return options{.seed = rank == 1 ? 12U : 10U}; }),
          "rank 1 would make different steps from the others: expected the same seed on every rank, found 12 on rank 1 and 10 on "
          "ranks 0 and 2"));
  CHECK(has(meet_as(2, [](int rank) { return options{.check_every = rank == 0 ? 10U : 7U}; }),
            "expected the same check_every on every rank, found 10 on rank 0 and 7 on rank 1"));
  // These options may differ between ranks.
  CHECK(meet_as(2, [](int rank) { return options{.threads = rank == 0 ? 1U : 2U, .check_loss = rank == 0}; }) == "");
}

TEST_CASE("ddp: a rank that throws ends the job with its message") {
  for (const int diagnostic : {0, 2}) {
    CAPTURE(diagnostic);
    int reached = 0;
    const std::string text = text_of([&] {
      // With an hour's deadline, a rank that waits for it exceeds the test's time limit.
      threads{3, {.deadline = std::chrono::hours(1)}}.run([&](threads::rank& rank) {
        replica_trainer<Net, float, bucket_bytes<1>> t{rank, testing::momentum, {.seed = 1}};
        const samples s(6, 1);
        for (int step = 0; step < 10; ++step) {
          if (rank.rank() == diagnostic && step == 3) throw std::runtime_error("the disk is full");
          t.step(s.x, s.y);
          if (rank.rank() == 1) ++reached;
        }
      });
    });
    CHECK(has(text, "the disk is full"));
    CHECK(has(text, std::to_string(diagnostic)));
    CHECK(reached == 3);
  }
}

TEST_CASE("ddp: a loss that is no number on one rank stops them all") {
  const std::string text = text_of([&] {
    threads{2}.run([&](threads::rank& rank) {
      replica_trainer<Net> t{rank, testing::momentum, {.seed = 1, .check_loss = true}};
      samples s(6, 1);
      t.step(s.x, s.y);
      if (rank.rank() == 1) s.x[3] = std::numeric_limits<float>::infinity();
      t.step(s.x, s.y);
    });
  });
  CHECK(has(text, "expected a finite loss"));
  CHECK(has(text, "on rank 1 at step 2"));
}

} // namespace ddp_refusals_tests
