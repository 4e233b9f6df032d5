// SPDX-License-Identifier: MIT
// The bytes that are said are those that are allocated.
//
// long to compile
#include <barrier>
#include <cstddef>
#include <type_traits>

#include <cairn/comm/launch/chosen_ranks.hpp>
#include <cairn/comm/loopback.hpp>
#include <cairn/comm/threads/threads.hpp>
#include <cairn/core/bfloat16.hpp>
#include <cairn/layer/batch_norm.hpp>
#include <cairn/layer/tied.hpp>
#include <cairn/net/fused_update.hpp>
#include <cairn/net/memory_curve.hpp>
#include <cairn/net/with_input_gradient.hpp>
#include <cairn/plan/policies.hpp>
#include <cairn/train/losses/mse_loss.hpp>
#include <cairn/train/optimizers/adamw.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>
#include <cairn/train/training_bytes.hpp>

#include "../data/allocations.hpp"
#include "apart_program.hpp"
#include "training.hpp"

namespace training_bytes_tests {

using namespace cairn;
using testing::aligned_bytes;

namespace {

constexpr std::size_t features = testing::features, classes = testing::classes;
using Net = Sequential<Linear<features, 16>, ReLU, Linear<16, 16>, BatchNorm1d<16>, ReLU, Linear<16, classes>>;
using Twins = Sequential<Linear<features, features>, ReLU, Tied<Linear<features, features>, Linear<features, features>>>;

// What is allocated on the cpu by f().
template <class F>
std::size_t allocated_by(const F& f) {
  const std::size_t before = aligned_bytes;
  f();
  return aligned_bytes - before;
}

// The blocks of a cpu of one thread are aligned, and nothing else in a trainer is.
template <class Model, class Loss, class Optimizer, class T = float>
void is_allocated_on_a_cpu(const Optimizer& optimizer) {
  using type = trainer<Model, Loss, Optimizer, batch<6>, T>;
  types::training_memory said;
  const std::size_t found = allocated_by([&] {
    type t{optimizer, {.threads = 1}};
    said = t.memory();
  });
  CHECK(said.machine() == found);
  CHECK(said == training_bytes<type>({.states = optimizer.states()}));
  CHECK(said.host() == said.machine());
}

template <class Model, class Loss, class Optimizer, class T = float>
void is_allocated_apart(const Optimizer& optimizer) {
  using type = trainer<Model, Loss, Optimizer, batch<6>, T, apart::device>;
  constexpr types::training_memory of_default = training_bytes<type>();
  apart::device device({});
  type t{device, optimizer};
  const types::training_memory said = t.memory();
  CHECK(said.device() == device.counted.bytes);
  CHECK(said.staging == device.counted.staging_bytes);
  CHECK(said.host() == said.staging);
  CHECK(said.activations == of_default.activations);
}

} // namespace

TEST_CASE("training bytes: one rank allocates what is said, on a cpu and on a device apart") {
  is_allocated_on_a_cpu<Net, CrossEntropyLoss>(SGD{});
  is_allocated_on_a_cpu<Net, CrossEntropyLoss>(SGD{.momentum = 0.9});
  is_allocated_on_a_cpu<checkpoint<sqrt_n, Net>, CrossEntropyLoss, AdamW, double>(AdamW{});
  is_allocated_on_a_cpu<Net, CrossEntropyLoss, AdamW, bfloat16>(AdamW{});
  is_allocated_on_a_cpu<with_input_gradient<fused_update<Net>>, MSELoss>(SGD{.momentum = 0.9});
  is_allocated_on_a_cpu<Twins, MSELoss>(AdamW{});
  is_allocated_apart<Net, CrossEntropyLoss>(SGD{.momentum = 0.9});
  is_allocated_apart<fused_update<with_input_gradient<Net>>, MSELoss, AdamW, double>(AdamW{});
}

TEST_CASE("training bytes: each thread of a cpu has scratch memory") {
  using type = trainer<Net, CrossEntropyLoss, SGD, batch<6>>;
  constexpr std::size_t each = cpu::queue::scratch_bytes;
  const std::size_t found = allocated_by([] { const cpu one({.threads = 1}); });
  CHECK(found == each);
  static_assert(training_bytes<type>().scratch == each);
  static_assert(training_bytes<type>({.threads = 3}).scratch == 3 * each);
  const type t{SGD{}, {.threads = 3}};
  CHECK(t.memory() == training_bytes<type>({.threads = 3}));
}

TEST_CASE("training bytes: the activations are the peak of the network, of a fused update too") {
  static_assert(training_bytes<trainer<Net, MSELoss, SGD, batch<6>>>().activations == peak_activation_bytes<Net, 6>);
  using Fused = fused_update<checkpoint<sqrt_n, Net>>;
  static_assert(training_bytes<trainer<Fused, MSELoss, SGD, batch<6>>>().activations == peak_activation_bytes<Fused, 6>);
}

namespace {

// Starts ranks of threads with a trainer each, and compares what they allocate together.
template <class Model, class T = float>
void is_allocated_by_ranks(int ranks) {
  using type = trainer<Model, CrossEntropyLoss, AdamW, batch<6>, T>;
  constexpr bool is_any = std::is_same_v<typename type::communicator_type, any_rank>;
  std::size_t before = 0, found = 0;
  types::training_memory said;
  std::barrier all_are_here(ranks);
  threads(ranks).run([&](threads::rank& rank) {
    any_rank any(rank);
    all_are_here.arrive_and_wait();
    if (rank.rank() == 0) before = aligned_bytes;
    all_are_here.arrive_and_wait();
    type t{[&]() -> auto& {
             if constexpr (is_any) return any;
             else return rank;
           }(),
           AdamW{},
           {.threads = 1}};
    all_are_here.arrive_and_wait();
    if (rank.rank() > 0) return;
    found = aligned_bytes - before;
    said = t.memory();
  });
  CHECK(said.ranks == static_cast<std::size_t>(ranks));
  CHECK(said.ranks * said.rank() == found);
  CHECK(said.machine() == found + said.shared);
  CHECK(said.shared > 0);
  types::training_memory constant = training_bytes<type>({.ranks = said.ranks});
  if constexpr (is_any) constant.shared = said.shared; // known only when it runs
  CHECK(said == constant);
}

template <class Model, class Rank = threads::rank, class... Options>
using ranked = ddp<Model, Rank, bucket_bytes<512>, Options...>;

} // namespace

TEST_CASE("training bytes: ranks of threads allocate together what is said of their machine") {
  for (const int ranks : {1, 2, 3}) {
    is_allocated_by_ranks<ranked<Net>>(ranks);
    is_allocated_by_ranks<ranked<Net, threads::rank, sync_batch_norm>, double>(ranks);
    is_allocated_by_ranks<ranked<fused_update<Net>, any_rank>>(ranks);
  }
}

TEST_CASE("training bytes: what ranks of threads share are the calls of all of them") {
  for (const int ranks : {1, 2, 3}) {
    std::size_t said = 0, of_many = 0;
    const auto run_alone = [&](threads::options options, std::size_t& shared) {
      const std::size_t before = testing::allocated_bytes;
      std::size_t found = 0;
      threads(ranks, options).run([&](threads::rank& rank) {
        if (rank.rank() != 0) return;
        shared = rank.shared_bytes();
        found = testing::allocated_bytes - before;
      });
      return found;
    };
    constexpr std::size_t other = 4096; // threads, their states, cookies of arrays; sanitizers allocate some of it themselves
    const std::size_t found = run_alone({}, said);
    CHECK(said <= found + other);
    CHECK(found <= said + other);
    CHECK(said == threads::rank::shared_bytes_of(static_cast<std::size_t>(ranks)));
    const std::size_t found_of_many = run_alone({.max_in_flight = 100'000}, of_many);
    CHECK(of_many <= found_of_many + other);
    CHECK(found_of_many <= of_many + other);
    CHECK(of_many > 20 * said);
  }
}

TEST_CASE("training bytes: one rank of loopback is one trainer") {
  using type = trainer<ranked<Net, loopback::rank>, CrossEntropyLoss, AdamW, batch<6>>;
  loopback{}.run([](loopback::rank& rank) {
    types::training_memory said;
    const std::size_t found = allocated_by([&] {
      type t{rank, AdamW{}, {.threads = 1}};
      said = t.memory();
    });
    CHECK(said.machine() == found);
    CHECK(said == training_bytes<type>());
    CHECK(said == training_bytes<trainer<Net, CrossEntropyLoss, AdamW, batch<6>>>());
  });
}

TEST_CASE("training bytes: ranks whose devices are apart send gradients through the host's memory, which is counted") {
  using type = trainer<ranked<Net, threads::rank, sync_batch_norm>, CrossEntropyLoss, AdamW, batch<6>, float, apart::device>;
  for (const int ranks : {1, 2, 3})
    threads(ranks).run([&](threads::rank& rank) {
      apart::device device({});
      type t{device, rank, AdamW{}};
      const types::training_memory said = t.memory();
      CHECK(said.device() == device.counted.bytes);
      CHECK(said.staging == device.counted.staging_bytes);
      CHECK(said.host() == said.ranks * said.staging + said.shared);
      CHECK(said == training_bytes<type>({.ranks = static_cast<std::size_t>(ranks)}));
    });
}

TEST_CASE("training bytes: ranks of other machines are in the facts of a step, and not in the sum of this one") {
  using type = trainer<ranked<Net>, CrossEntropyLoss, AdamW, batch<6>>;
  constexpr types::training_memory here = training_bytes<type>({.ranks = 2}),
                                   of_many = training_bytes<type>({.ranks = 2, .all_ranks = 64});
  static_assert(of_many.ranks == 2 && of_many.shared == here.shared);
  static_assert(of_many.gradients == training_bytes<type>({.ranks = 64}).gradients);
  static_assert(of_many.gradients > here.gradients);
}

TEST_CASE("training bytes: a schedule that was solved at run time has an arena of its own") {
  using type = trainer<checkpoint<recompute_all, Net>, MSELoss, SGD, batch<6>>;
  const memory_curve<Net, 6> curve;
  types::training_memory said;
  const std::size_t found = allocated_by([&] {
    type t{SGD{}, {.threads = 1, .schedule = curve.within(1_MiB)}};
    said = t.memory();
  });
  CHECK(said.machine() == found);
  CHECK(said.activations == peak_activation_bytes<Net, 6>);
  CHECK(said.activations > training_bytes<type>().activations);
}

} // namespace training_bytes_tests
