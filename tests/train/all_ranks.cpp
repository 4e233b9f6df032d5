// SPDX-License-Identifier: MIT
#include <cairn/train/all_ranks.hpp>

#include <array>
#include <stdexcept>
#include <string>
#include <vector>

#include <cairn/comm/threads.hpp>
#include <cairn/train/ddp.hpp>
#include <doctest/doctest.h>

#include "training.hpp"

namespace all_ranks_tests {

using namespace cairn;
using testing::text_of;

namespace {

using Net = Sequential<Linear<testing::features, testing::classes>>;
using distributed = trainer<ddp<Net, threads::rank>, CrossEntropyLoss, SGD, batch<2>>;

// What of a trainer these functions use, on a device whose memory the host does not share.
struct far_trainer {
  struct queue {
    static constexpr bool shares_memory = false;
  };
  threads::rank& ranks;
  queue work{};

  threads::rank& comm() { return ranks; }
  queue& compute() { return work; }
};

} // namespace

TEST_CASE("all_ranks: a text of rank 0, a sum, and a failure reach every rank") {
  threads{3}.run([](threads::rank& rank) {
    distributed train{rank, testing::momentum};
    std::string text = rank.rank() == 0 ? "the first" : "another one that is longer";
    detail::take_from_first_rank(train, text);
    CHECK(text == "the first");
    text = rank.rank() == 0 ? "" : "x";
    detail::take_from_first_rank(train, text);
    CHECK(text.empty());

    std::array<double, 2> numbers{1.0 + rank.rank(), 0.1};
    detail::sum_over_ranks(train, numbers);
    CHECK(numbers == std::array<double, 2>{6, 0.1 + 0.1 + 0.1});

    int calls = 0;
    detail::on_first_rank(train, [&] { ++calls; });
    CHECK(calls == (rank.rank() == 0 ? 1 : 0));
    bool threw = false;
    try {
      detail::on_first_rank(train, [] { throw std::runtime_error("no room"); });
    } catch (const file_error& wrong) {
      threw = rank.rank() != 0 && std::string(wrong.what()) == "rank 0 failed, and with it all ranks: no room";
    } catch (const std::runtime_error& wrong) {
      threw = rank.rank() == 0 && std::string(wrong.what()) == "no room";
    }
    CHECK(threw);
    detail::on_first_rank(train, [&] { ++calls; }); // and they go on
  });
}

TEST_CASE("all_ranks: what lies on the host reaches every rank where the device does not share its memory, too") {
  threads{3}.run([](threads::rank& rank) {
    far_trainer train{rank};
    const std::string first(10'000, 'x');
    std::string text = rank.rank() == 0 ? first : "";
    detail::take_from_first_rank(train, text);
    CHECK(text == first);
    std::array<double, 2> numbers{1.0 + rank.rank(), rank.rank() == 1 ? 1e17 : 1.0};
    detail::sum_over_ranks(train, numbers);
    CHECK(numbers == std::array<double, 2>{6, (1.0 + 1e17) + 1.0}); // in the order of the ranks
    bool threw = false;
    try {
      detail::on_first_rank(train, [] { throw std::runtime_error("no room"); });
    } catch (const std::runtime_error& wrong) {
      threw = std::string(wrong.what()).find("no room") != std::string::npos;
    }
    CHECK(threw);
  });
}

TEST_CASE("all_ranks: ranks that are asked to stop know it after the same step, and once") {
  threads{3}.run([](threads::rank& rank) {
    distributed train{rank, testing::momentum};
    const testing::samples s(2, static_cast<std::uint32_t>(rank.rank()));
    for (int step = 0; step < 6; ++step) {
      if (step == 3 && rank.rank() == 2) train.request_stop();
      train.step(s.x, s.y);
      CHECK(train.stop_requested() == (step == 3));
    }
  });
  trainer<Net, CrossEntropyLoss, SGD, batch<2>> alone{testing::momentum};
  const testing::samples s(2, 1);
  alone.request_stop();
  CHECK_FALSE(alone.stop_requested());
  alone.step(s.x, s.y);
  CHECK(alone.stop_requested());
  alone.step(s.x, s.y);
  CHECK_FALSE(alone.stop_requested());
}

} // namespace all_ranks_tests
