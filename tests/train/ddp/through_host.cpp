// SPDX-License-Identifier: MIT
// Ranks that sum in the host's memory, on devices whose memory is apart.
//
// long to compile
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <cairn/comm/launch/chosen_ranks.hpp>
#include <cairn/comm/loopback.hpp>
#include <cairn/comm/threads/threads.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/fused_update.hpp>
#include <cairn/net/sequential.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/optimizers/adamw.hpp>
#include <cairn/train/trainer.hpp>

#include "../apart_program.hpp"
#include "../training.hpp"

namespace ddp_through_host_tests {

using namespace cairn;

namespace {

template <class Device, class Model, class Rank = threads::rank, class... Options>
using ranked = trainer<ddp<Model, Rank, bucket_bytes<256>, Options...>, CrossEntropyLoss, AdamW, batch<6>, float, Device>;

using Net = Sequential<Linear<testing::features, 16>, ReLU, Linear<16, testing::classes>>;

template <class Type, class Rank>
apart::seen numbers_of(Rank& rank) {
  typename Type::options given;
  given.seed = 5;
  given.check_every = 2;
  Type t{rank, AdamW{.learning_rate = 0.02}, std::move(given)};
  apart::seen own;
  apart::use(t, own, static_cast<std::uint32_t>(rank.rank()));
  return own;
}

template <class Device, class Model>
std::array<apart::seen, 3> numbers_on() {
  std::array<apart::seen, 3> out;
  threads{3}.run([&](threads::rank& rank) {
    any_rank any(rank);
    out[static_cast<std::size_t>(rank.rank())] = numbers_of<ranked<Device, Model, any_rank>>(any);
  });
  return out;
}

} // namespace

TEST_CASE("ddp, through the host: every number that three ranks see has a cpu's bits") {
  const auto check = []<class Model>(std::type_identity<Model>) {
    const auto expected = numbers_on<cpu, Model>();
    CHECK(expected[0].bits.back() == expected[2].bits.back());
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      apart::device::seed = seed;
      CHECK((numbers_on<apart::device, Model>() == expected));
    }
  };
  check(std::type_identity<Net>{});
  check(std::type_identity<fused_update<Net>>{});
  CHECK(apart::device::unfinished == 0);
}

TEST_CASE("ddp, through the host: one rank alone sets no memory aside, and its device's bits") {
  loopback{}.run([&](loopback::rank& rank) {
    any_rank any(rank);
    using type = ranked<apart::device, Net, any_rank>;
    apart::device shared({});
    type t{shared, any, AdamW{}};
    const std::size_t staged = shared.counted.staging_bytes;
    CHECK((numbers_of<type>(any) == numbers_of<ranked<apart::device, Net, loopback::rank>>(rank)));
    apart::device other({});
    ranked<apart::device, Net, loopback::rank> direct{other, rank, AdamW{}};
    CHECK(staged == other.counted.staging_bytes);
  });
}

TEST_CASE("ddp, through the host: a step allocates nothing on the device") {
  threads{2}.run([](threads::rank& rank) {
    apart::device shared({});
    ranked<apart::device, Net> t{shared, rank, AdamW{}};
    const testing::samples<> s(6, 1);
    const std::size_t calls = shared.counted.calls + shared.counted.staging_calls;
    for (int i = 0; i < 3; ++i) t.step(s.x, s.y);
    t.wait();
    CHECK(shared.counted.calls + shared.counted.staging_calls == calls);
  });
}

TEST_CASE("ddp, through the host: a rank that fails ends the others with its text, and synchronize() sets them right") {
  std::array<std::string, 2> texts;
  threads{2}.run([&](threads::rank& rank) {
    ranked<apart::device, Net> t{rank, AdamW{}, {.check_every = 1}};
    const testing::samples<> s(6, 1);
    t.step(s.x, s.y);
    if (rank.rank() == 1) t.for_each([](const auto& q) { q.numbers[0] += 1; });
    texts[static_cast<std::size_t>(rank.rank())] = testing::text_of([&] {
      t.step(s.x, s.y);
      t.wait();
    });
    t.synchronize();
    t.step(s.x, s.y);
    t.wait();
    CHECK(t.steps() >= 2);
  });
  CHECK(testing::has(texts[0], "expected the same parameters"));
  CHECK(texts[0] == texts[1]);

  const std::string text = testing::text_of([] {
    threads{2}.run([](threads::rank& rank) {
      ranked<apart::device, Net> t{rank, AdamW{}};
      const testing::samples<> s(6, 1);
      t.step(s.x, s.y);
      if (rank.rank() == 1) throw error("there is no power");
      t.step(s.x, s.y);
    });
  });
  CHECK(testing::has(text, "rank 1"));
  CHECK(testing::has(text, "there is no power"));
  CHECK(apart::device::unfinished == 0);
}

} // namespace ddp_through_host_tests
