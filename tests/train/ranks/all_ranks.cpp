// SPDX-License-Identifier: MIT
// under the thread sanitizer
#include <cairn/train/ranks/all_ranks.hpp>

#include <array>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <cairn/comm/threads/threads.hpp>
#include <cairn/train/ddp.hpp>
#include <doctest/doctest.h>

#include "../../comm/said_on_stderr.hpp"
#include "../training.hpp"

namespace all_ranks_tests {

using namespace cairn;
using testing::text_of;

namespace {

using Net = Sequential<Linear<testing::features, testing::classes>>;
using distributed = trainer<ddp<Net, threads::rank>, CrossEntropyLoss, SGD, batch<2>>;

// The part of a trainer that these functions use, on a device whose memory the host does not share.
struct far_trainer {
  struct queue {
    static constexpr bool shares_memory = false;
  };
  threads::rank& ranks;
  queue work{};

  threads::rank& comm() { return ranks; }
  queue& compute() { return work; }
  far_trainer& inside() { return *this; }
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
    detail::on_first_rank(train, [&] { ++calls; }); // and the ranks go on
  });
}

TEST_CASE("all_ranks: rank 0 may work alone for longer than the deadline, which others are patient with") {
  int calls = 0;
  testing::said_on_stderr said;
  threads{2, {.deadline = std::chrono::milliseconds(100)}}.run([&](threads::rank& rank) {
    distributed train{rank, testing::momentum};
    detail::on_first_rank(train, [&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(400));
      ++calls;
    });
  });
  CHECK(calls == 1);
  std::string told;
  CHECK_THROWS_AS((threads{2, {.deadline = std::chrono::milliseconds(50), .long_deadline = std::chrono::milliseconds(100)}}.run(
                      [&](threads::rank& rank) {
                        distributed train{rank, testing::momentum};
                        try {
                          detail::on_first_rank(train, "save_state",
                                                [] { std::this_thread::sleep_for(std::chrono::milliseconds(600)); });
                        } catch (const deadline_error& late) {
                          if (rank.rank() == 1) told = late.what();
                          throw;
                        }
                      })),
                  rank_lost);
  CHECK(testing::lines_have(said.text(),
                            " waits ")); // rank 1 for rank 0; on a busy machine perhaps rank 0 for the body of rank 1
  CHECK(told.find("was not started by rank 0") != std::string::npos);
  CHECK(told.find("within 100 ms") != std::string::npos);
}

TEST_CASE("all_ranks: ranks that call different functions of their trainers are told which") {
  std::array<std::string, 3> told;
  threads{3}.run([&](threads::rank& rank) {
    distributed train{rank, testing::momentum};
    const testing::samples all(2, 1);
    try {
      if (rank.rank() == 1) detail::on_first_rank(train, "save_state", [] {});
      else train.step(all.x, all.y);
    } catch (const input_error& thrown) {
      told[static_cast<std::size_t>(rank.rank())] = thrown.what();
    }
  });
  for (const std::size_t rank : {0U, 1U, 2U}) {
    CHECK(told[rank].find(" (step 1) on ranks 0 and 2, but broadcast of 8 bytes from rank 0 (save_state) on rank 1") !=
          std::string::npos);
    CHECK((told[rank].find("trainer, step 1: ") == 0) == (rank != 1));
  }
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
