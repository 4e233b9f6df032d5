// SPDX-License-Identifier: MIT
// under the thread sanitizer
// Ranks on devices whose memory the host cannot read and whose work is done later.
//
// long to compile
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <cairn/comm/threads/threads.hpp>
#include <cairn/plan/revolve.hpp>
#include <cairn/plan/solve/budget.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/optimizers/adamw.hpp>
#include <cairn/train/trainer.hpp>
#include <cairn/train/training_bytes.hpp>

#include "../apart_program.hpp"
#include "../apart_ranks.hpp"
#include "../training.hpp"

namespace ddp_apart_tests {

using namespace cairn;

namespace {

template <class Device, class Communicator, class Model, class... Options>
using ranked =
    trainer<ddp<Model, Communicator, bucket_bytes<1024>, Options...>, CrossEntropyLoss, AdamW, batch<6>, float, Device>;

// The numbers that each of two ranks sees.
template <class Model, class Device, class... Options>
std::vector<apart::seen> numbers_on() {
  std::vector<apart::seen> out(2);
  threads{2}.run([&](threads::rank& rank) {
    apart::seen& own = out[static_cast<std::size_t>(rank.rank())];
    const auto body = [&](auto& comm) {
      using type = ranked<Device, std::remove_reference_t<decltype(comm)>, Model, Options...>;
      typename type::options given{.seed = 5, .check_every = 2};
      if constexpr (!type::fused) given.clip.max_norm = 0.05;
      type t{comm, AdamW{.learning_rate = 0.02}, std::move(given)};
      apart::use(t, own, static_cast<std::uint32_t>(rank.rank()));
    };
    if constexpr (detail::shares_memory<Device>) {
      body(rank);
    } else {
      apart::ranks<threads::rank> comm(rank);
      body(comm);
    }
  });
  return out;
}

template <class Model, class... Options>
void same_bits() {
  const auto expected = numbers_on<Model, cpu, Options...>();
  CHECK(expected[0].bits.back() == expected[1].bits.back());
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    apart::device::seed = seed;
    CHECK((numbers_on<Model, apart::device, Options...>() == expected));
  }
  CHECK(apart::device::unfinished == 0);
}

} // namespace

TEST_CASE("ddp, memory apart: every number that two ranks see has a cpu's bits") {
  same_bits<checkpoint<sqrt_n, apart::Net>>();
#ifdef CAIRN_LONG_TESTS
  same_bits<apart::Net, after_backward>();
  same_bits<checkpoint<recompute_all, apart::Net>>();
  same_bits<checkpoint<budget_fraction<85>, apart::Net>>();
  same_bits<checkpoint<revolve<2>, apart::Net>>();
  same_bits<fused_update<apart::Net>>();
  same_bits<fused_update<checkpoint<sqrt_n, apart::Net>>>();
#endif
}

namespace {

// The numbers that three ranks see in two epochs in which they have samples for different numbers of steps.
template <class Model, class Device, class... Options>
std::vector<apart::seen> numbers_of_uneven() {
  std::vector<apart::seen> out(3);
  threads{3}.run([&](threads::rank& rank) {
    apart::seen& own = out[static_cast<std::size_t>(rank.rank())];
    const auto body = [&](auto& comm) {
      using type = ranked<Device, std::remove_reference_t<decltype(comm)>, Model, Options...>;
      typename type::options given{.seed = 5};
      given.check_every = 2;
      if constexpr (!type::fused) given.clip.max_norm = 0.05;
      type t{comm, AdamW{.learning_rate = 0.02}, std::move(given)};
      for (const std::array<std::uint32_t, 3>& batches : {std::array{1U, 4U, 2U}, std::array{3U, 0U, 3U}}) {
        const auto r = static_cast<std::uint32_t>(rank.rank());
        for (std::uint32_t s = 0; s < batches[r]; ++s) {
          auto loss = apart::with_samples<float>(6, 10 * r + s, [&](const auto& x, const auto& y) { return t.step(x, y); });
          if (s == 1) own.add(double{loss}); // the other losses are never read
          if constexpr (!type::fused)
            if (s == 2) t.for_each_gradient([&](const auto& q) { own.add_all(q.numbers); });
        }
        own.add(t.join());
        own.add(t.gradient_norm());
        t.for_each([&](const auto& q) { own.add_all(q.numbers); });
        t.for_each_buffer([&](const auto& q) { own.add_all(q.numbers); });
        t.for_each_optimizer_state([&](std::size_t, const auto& q) { own.add_all(q.numbers); });
      }
      own.add(t.steps());
      own.add(t.state().micro_batches);
    };
    if constexpr (detail::shares_memory<Device>) {
      body(rank);
    } else {
      apart::ranks<threads::rank> comm(rank);
      body(comm);
    }
  });
  return out;
}
template <class Model, class... Options>
void same_bits_of_uneven() {
  const auto expected = numbers_of_uneven<Model, cpu, Options...>();
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    apart::device::seed = seed;
    CHECK((numbers_of_uneven<Model, apart::device, Options...>() == expected));
  }
  CHECK(apart::device::unfinished == 0);
}

} // namespace

TEST_CASE("ddp, memory apart: ranks that join the steps of others have a cpu's bits") {
  same_bits_of_uneven<apart::Net>();
  same_bits_of_uneven<fused_update<apart::Net>>();
  same_bits_of_uneven<checkpoint<recompute_all, apart::Net>, sync_batch_norm>();
}

namespace {

using Plain = Sequential<Linear<testing::features, 16>, ReLU, Linear<16, testing::classes>>;
template <class Inner = threads::rank>
using plain_rank = ranked<apart::device, apart::ranks<Inner>, Plain>;

// The text of the first exception of each rank.
template <class Body>
std::vector<std::string> texts_of(const Body& body) {
  std::vector<std::string> out(2);
  threads{2}.run([&](threads::rank& rank) {
    apart::ranks<threads::rank> comm(rank);
    out[static_cast<std::size_t>(rank.rank())] = testing::text_of([&] { body(comm); });
  });
  return out;
}

} // namespace

TEST_CASE("ddp, memory apart: ranks that make different steps are told, at most two steps later, and the same on all") {
  const auto texts = texts_of([](auto& comm) {
    plain_rank<> t{comm, AdamW{}};
    const testing::samples<> s(6, 1);
    for (int step = 0; step < 4; ++step) {
      if (step == 1 && comm.rank() == 1) t.accumulate(s.x, s.y);
      t.step(s.x, s.y);
    }
    t.wait();
  });
  CHECK(apart::device::unfinished == 0); // the destructor waited for the step after it, too
  CHECK(testing::has(texts[0], "expected the same number of micro-batches on every rank, found 1 on rank 0, 2 on rank 1"));
  CHECK(texts[0] == texts[1]);
}

TEST_CASE("ddp, memory apart: what one rank writes to its parameters alone is found, and synchronize() sets it right") {
  const auto texts = texts_of([](auto& comm) {
    plain_rank<> t{comm, AdamW{}, {.check_every = 1}};
    const testing::samples<> s(6, 1);
    t.step(s.x, s.y);
    if (comm.rank() == 1) t.for_each([](const auto& q) { q.numbers[0] += 1; });
    const std::string text = testing::text_of([&] {
      t.step(s.x, s.y);
      t.wait();
    });
    CHECK(testing::has(text, "expected the same parameters"));
    CHECK(testing::has(testing::text_of([&] { t.step(s.x, s.y); }), "expected synchronize()"));
    CHECK(testing::has(testing::text_of([&] { t.join(); }), "expected synchronize()"));
    t.synchronize();
    t.step(s.x, s.y);
    t.wait();
  });
  CHECK(texts == std::vector<std::string>(2));
}

TEST_CASE("ddp, memory apart: a rank that joins is told what the ranks differ in, as the others are") {
  const auto texts = texts_of([](auto& comm) {
    plain_rank<> t{comm, AdamW{}};
    const testing::samples<> s(6, 1);
    t.step(s.x, s.y);
    if (comm.rank() == 1) t.learning_rate(0.5);
    if (comm.rank() == 0) t.step(s.x, s.y);
    t.join();
  });
  CHECK(testing::has(texts[0], "expected the same learning rate on every rank"));
  CHECK(texts[0] == texts[1]);
}

TEST_CASE("ddp, memory apart: one rank's wish to stop reaches all after the same step") {
  std::vector<std::uint64_t> stopped(2);
  const auto texts = texts_of([&](auto& comm) {
    plain_rank<> t{comm, AdamW{}};
    const testing::samples<> s(6, 1);
    while (!t.stop_requested() && t.steps() < 20) {
      if (comm.rank() == 1 && t.steps() == 3) t.request_stop();
      t.step(s.x, s.y);
    }
    stopped[static_cast<std::size_t>(comm.rank())] = t.steps();
    for (int i = 0; i < 3; ++i) { // the request to stop was for one step
      t.step(s.x, s.y);
      t.wait();
    }
    CHECK_FALSE(t.stop_requested());
  });
  CHECK(texts == std::vector<std::string>(2));
  CHECK(stopped[0] == stopped[1]);
  CHECK(stopped[0] >= 4);
  CHECK(stopped[0] <= 6);
}

TEST_CASE("ddp, memory apart: training_bytes knows the number of ranks") {
  const auto texts = texts_of([](auto& comm) {
    apart::device shared({});
    plain_rank<> t{shared, comm, AdamW{}};
    CHECK(shared.counted.bytes == training_bytes<plain_rank<>>({.ranks = 2, .states = 2}).device());
    const std::size_t calls = shared.counted.calls + shared.counted.staging_calls;
    const testing::samples<> s(6, 1);
    for (int i = 0; i < 4; ++i) t.step(s.x, s.y);
    CHECK(shared.counted.calls + shared.counted.staging_calls == calls);
  });
  CHECK(texts == std::vector<std::string>(2));
}

// A mistake in the trainer or in a communicator must change the numbers.

namespace {

template <apart::skips Skips>
bool rank_has_other_bits() {
  const auto numbers = []<class Ranks>(std::type_identity<Ranks>, std::uint64_t seed) {
    apart::device::seed = seed;
    std::vector<double> losses;
    threads{2}.run([&](threads::rank& rank) {
      Ranks comm(rank);
      ranked<apart::device, Ranks, Plain> t{comm, AdamW{.learning_rate = 0.1}, {.check_every = 0}};
      for (std::uint32_t s = 0; s < 6; ++s) {
        const testing::samples<> given(6, s + 10 * static_cast<std::uint32_t>(rank.rank()));
        const double loss = t.step(given.x, given.y);
        if (rank.rank() == 0) losses.push_back(loss);
      }
    });
    return losses;
  };
  using right = apart::ranks<threads::rank>;
  using wrong = apart::ranks<threads::rank, Skips>;
  const std::vector<double> expected = numbers(std::type_identity<right>{}, 1);
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    std::vector<double> found;
    const std::string text = testing::text_of([&] { found = numbers(std::type_identity<wrong>{}, seed); });
    if (!text.empty() || found != expected) return true;
  }
  return false;
}

} // namespace

TEST_CASE("ddp, memory apart, mutation: a bucket that is sent before its event is found") {
  CHECK(rank_has_other_bits<apart::skips::the_wait_for_the_gradients>());
}
TEST_CASE("ddp, memory apart, mutation: an update before its sum is found") {
  CHECK(rank_has_other_bits<apart::skips::the_wait_of_the_update>());
}
TEST_CASE("ddp, memory apart: without a mutation nothing is found") { CHECK_FALSE(rank_has_other_bits<apart::skips::nothing>()); }

} // namespace ddp_apart_tests
