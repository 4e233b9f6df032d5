// SPDX-License-Identifier: MIT
// under the thread sanitizer
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include <cairn/comm/communicator.hpp>
#include <cairn/comm/exchange.hpp>
#include <cairn/comm/mpi/message_rank.hpp>
#include <cairn/comm/threads/threads.hpp>
#include <cairn/core/error.hpp>
#include <doctest/doctest.h>

#include "../said_on_stderr.hpp"
#include "mixed_calls.hpp"
#include "wired_ranks.hpp"

namespace message_rank_tests {

using namespace cairn;
using namespace std::chrono_literals;
using testing::mixed_calls;
using testing::near_queue;
using testing::number_of;
using testing::wired_job;
using testing::wired_rank;

namespace {

struct far_queue {
  static constexpr bool shares_memory = false;
};
static_assert(communicator<wired_rank> && detail::exchanges_bytes<wired_rank> && detail::checks_calls<wired_rank> &&
              detail::reserves_bytes<wired_rank>);
static_assert(!communicator<wired_rank, far_queue>);
static_assert(!std::is_copy_constructible_v<wired_rank> && !std::is_copy_constructible_v<wired_rank::ticket>);

// Whether the text contains all of these words.
bool says(const std::string& text, const std::vector<std::string>& words) {
  for (const std::string& word : words)
    if (text.find(word) == std::string::npos) {
      MESSAGE(text << " has no: " << word);
      return false;
    }
  return true;
}
bool all_are_empty(const std::vector<std::string>& texts) {
  for (const std::string& text : texts)
    if (!text.empty()) {
      MESSAGE(text);
      return false;
    }
  return true;
}

} // namespace

TEST_CASE("messages have the bits of threads, for all kinds of calls, whole and cut") {
  for (const int ranks : {1, 2, 3, 5})
    for (const std::size_t most_bytes : {std::size_t{1} << 20, std::size_t{4000}}) {
      CAPTURE(ranks);
      CAPTURE(most_bytes);
      std::vector<std::vector<float>> expected(static_cast<std::size_t>(ranks)), found(expected.size());
      threads{ranks}.run([&](threads::rank& rank) { expected[static_cast<std::size_t>(rank.rank())] = mixed_calls(rank); });
      const auto thrown = wired_job{.ranks = ranks, .seed = 7, .most_bytes = most_bytes}.run(
          [&](wired_rank& rank) { found[static_cast<std::size_t>(rank.rank())] = mixed_calls(rank); });
      CHECK(all_are_empty(thrown));
      for (std::size_t rank = 0; rank < expected.size(); ++rank)
        CHECK((found[rank].size() == expected[rank].size() &&
               std::memcmp(found[rank].data(), expected[rank].data(), found[rank].size() * sizeof(float)) == 0));
    }
}

TEST_CASE("ranks of one machine sum where their spans lie, and notice spans at different places") {
  std::vector<std::size_t> lent(3);
  const auto thrown = wired_job{.ranks = 3}.run([&](wired_rank& rank) {
    near_queue queue;
    const auto me = static_cast<std::size_t>(rank.rank());
    for (int round = 0; round < 3; ++round) { // new memory each time
      const types::lent_memory block = rank.allocate(3'000'000);
      lent[me] = block.size();
      const std::span numbers(reinterpret_cast<double*>(block.data()), block.size() / sizeof(double));
      CHECK(numbers[numbers.size() - 1] == 0);
      numbers[5] = rank.rank() + 1;
      numbers[375'000 - 1] = 10;
      rank.all_reduce(queue, numbers).wait(queue);
      CHECK(numbers[5] == 6);
      CHECK(numbers[375'000 - 1] == 30);
    }
    const types::lent_memory block = rank.allocate(1 << 20);
    const std::span numbers(reinterpret_cast<float*>(block.data()), 1 << 18);
    rank.all_reduce(queue, numbers.subspan(me == 1 ? 16 : 0, 9000)).wait(queue);
  });
  CHECK(lent == std::vector<std::size_t>(3, 3'000'000));
  bool told = false;
  for (const std::string& text : thrown) {
    CHECK(!text.empty());
    told = told || says(text, {"the ranks make different calls",
                               "rank 1 sums what lies at byte 64 of block 3, this rank what lies at byte 0"});
  }
  CHECK(told);
}

TEST_CASE("calls of several stretches have the bits of threads, and one that is longer on one rank is found") {
  const auto long_calls = [](auto& rank) {
    near_queue queue;
    std::vector<float> first(1'500'000), second(400'000);
    for (std::size_t i = 0; i < first.size(); ++i) first[i] = number_of(rank.rank(), i, 1);
    for (std::size_t i = 0; i < second.size(); ++i) second[i] = number_of(rank.rank(), i, 2);
    auto a = rank.all_reduce(queue, std::span<float>(first));
    auto b = rank.all_reduce(queue, std::span<float>(second));
    auto c = rank.broadcast(queue, std::as_writable_bytes(std::span(second)).first(0), 1);
    a.wait(queue);
    b.wait(queue);
    c.wait(queue);
    auto d = rank.broadcast(queue, std::as_writable_bytes(std::span(first)), 1);
    d.wait(queue);
    first.insert(first.end(), second.begin(), second.end());
    return first;
  };
  for (const int ranks : {2, 3}) {
    std::vector<std::vector<float>> expected(static_cast<std::size_t>(ranks)), found(expected.size());
    threads{ranks}.run([&](threads::rank& rank) { expected[static_cast<std::size_t>(rank.rank())] = long_calls(rank); });
    CHECK(all_are_empty(wired_job{.ranks = ranks}.run(
        [&](wired_rank& rank) { found[static_cast<std::size_t>(rank.rank())] = long_calls(rank); })));
    CHECK(found == expected);
  }
  const auto thrown = wired_job{}.run([](wired_rank& rank) {
    near_queue queue;
    std::vector<float> span(rank.rank() == 0 ? 4 * 131'072 : 5 * 131'072, 1);
    auto a = rank.all_reduce(queue, std::span<float>(span));
    std::vector<float> next(131'072, 1);
    auto b = rank.all_reduce(queue, std::span<float>(next));
    a.wait(queue);
    b.wait(queue);
  });
  const std::string& told = thrown[0].find("different calls") != std::string::npos ? thrown[0] : thrown[1];
  CHECK(says(told, {"the ranks make different calls"}));
}

TEST_CASE("a ticket says whether its call is over, and an empty one waits for nothing") {
  CHECK(all_are_empty(wired_job{}.run([](wired_rank& rank) {
    near_queue queue;
    std::vector<float> span(100, 1);
    wired_rank::ticket none;
    CHECK(none.over());
    none.wait(queue);
    wired_rank::ticket first = rank.all_reduce(queue, std::span<float>(span));
    wired_rank::ticket moved = std::move(first);
    CHECK(first.over()); // NOLINT(bugprone-use-after-move)
    while (!moved.over()) std::this_thread::yield();
    moved.wait(queue);
    CHECK(span[99] == 2);
    CHECK(rank.local_rank() == rank.rank());
    CHECK(rank.local_size() == 2);
  })));
}

TEST_CASE("an exception on one rank reaches all, each of which says it as it is for it") {
  for (const int ranks : {2, 3}) {
    const auto thrown = wired_job{.ranks = ranks}.run([](wired_rank& rank) {
      near_queue queue;
      std::vector<float> span(10'000, 1);
      for (int call = 0; call < 5; ++call) {
        if (rank.rank() == 1 && call == 3) throw std::runtime_error("no more memory");
        rank.all_reduce(queue, std::span<float>(span)).wait(queue);
      }
    });
    CHECK(thrown[1] == "wire: rank 1 of " + std::to_string(ranks) + " threw: no more memory");
    for (const std::size_t other : {0U, 2U})
      if (other < thrown.size()) {
        CHECK(says(thrown[other], {"rank " + std::to_string(other), "because rank 1 threw"}));
        CHECK(thrown[other].find("no more memory") == std::string::npos);
      }
  }
}

TEST_CASE("calls that a rank has started before it threw are over on the others, with right sums") {
  std::atomic<int> right{0};
  const auto thrown = wired_job{.ranks = 3}.run([&](wired_rank& rank) {
    near_queue queue;
    std::vector<float> first(20'000, 1), second(20'000, 2);
    auto a = rank.all_reduce(queue, std::span<float>(first));
    auto b = rank.all_reduce(queue, std::span<float>(second));
    if (rank.rank() == 2) throw std::runtime_error("out of the way"); // destroys both pendings without a wait
    a.wait(queue);
    b.wait(queue);
    if (first[19'999] == 3 && second[0] == 6) ++right;
    rank.all_reduce(queue, std::span<float>(first)).wait(queue);
  });
  CHECK(right == 2);
  CHECK(says(thrown[0], {"because rank 2 threw"}));
}

TEST_CASE("a rank that returns too early, and a rank that is late, are named with the call") {
  std::string seen;
  auto thrown = wired_job{}.run([&](wired_rank& rank) {
    near_queue queue;
    std::vector<float> span(16, 1);
    for (int call = 0; call < (rank.rank() == 0 ? 4 : 3); ++call) {
      try {
        rank.all_reduce(queue, std::span<float>(span)).wait(queue);
      } catch (const rank_lost& fault) {
        seen = fault.what();
        throw;
      }
    }
  });
  CHECK(says(seen, {"wire: rank 0 of 2, call 4, all_reduce of 16 float", "rank 1 returned after 3 calls"}));
  CHECK_FALSE(thrown[0].empty());
  CHECK_FALSE(thrown[1].empty()); // all processes end with an error

  for (const std::size_t count : {16U, 10'000U}) { // one owner, and all ranks as owners
    std::atomic<int> has_thrown{0};
    std::vector<std::string> told(2);
    wired_job quick{.ranks = 3};
    quick.options.deadline = 300ms;
    thrown = quick.run([&](wired_rank& rank) {
      near_queue queue;
      std::vector<float> span(count, 1);
      rank.all_reduce(queue, std::span<float>(span)).wait(queue);
      if (rank.rank() == 2)
        while (has_thrown < 2) std::this_thread::sleep_for(1ms); // a rank that computes for too long
      try {
        rank.all_reduce(queue, std::span<float>(span)).wait(queue);
      } catch (const error& fault) {
        if (rank.rank() < 2) told[static_cast<std::size_t>(rank.rank())] = fault.what();
        ++has_thrown;
        throw;
      }
    });
    for (const std::string& text : told) CHECK(says(text, {"call 2", "waited for rank 2 within 300 ms"}));
  }
}

TEST_CASE("ranks that make different calls are told so at once") {
  auto thrown = wired_job{}.run([](wired_rank& rank) {
    near_queue queue;
    std::vector<float> span(rank.rank() == 0 ? 1000 : 2000, 1);
    rank.all_reduce(queue, std::span<float>(span)).wait(queue);
  });
  const bool first = thrown[0].find("different calls") != std::string::npos;
  const bool second = thrown[1].find("different calls") != std::string::npos;
  CHECK((first || second));
  CHECK_FALSE(thrown[0].empty());
  CHECK_FALSE(thrown[1].empty());

  thrown = wired_job{}.run([](wired_rank& rank) {
    near_queue queue;
    std::vector<float> a(1000, 1);
    std::vector<double> b(500, 1);
    if (rank.rank() == 0) rank.all_reduce(queue, std::span<float>(a)).wait(queue);
    else rank.all_reduce(queue, std::span<double>(b)).wait(queue);
  });
  for (const std::string& text : thrown)
    CHECK(
        says(text, {"the ranks make different calls: call 1 is all_reduce of 1000 float on rank 0, but all_reduce of 500 double "
                    "on rank 1"}));
}

TEST_CASE("of three ranks the odd one is named by all, with what each does") {
  std::vector<std::string> told(3);
  wired_job{.ranks = 3, .options = {.deadline = 500ms}}.run([&](wired_rank& rank) {
    near_queue queue;
    std::vector<float> span(1000, 1);
    const bool is_odd = rank.rank() == 1;
    const detail::calls_for now(rank, {.word = is_odd ? "synchronize" : "step", .number = is_odd ? 0U : 31U});
    try {
      if (is_odd) rank.broadcast(queue, std::as_writable_bytes(std::span(span)), 0).wait(queue);
      else rank.all_reduce(queue, std::span<float>(span)).wait(queue);
    } catch (const error& thrown) {
      CHECK(dynamic_cast<const input_error*>(&thrown) != nullptr);
      told[static_cast<std::size_t>(rank.rank())] = thrown.what();
    }
  });
  for (const std::string& text : told)
    CHECK(says(text,
               {"the ranks make different calls: call 1 is all_reduce of 1000 float (step 31) on ranks 0 and 2, but broadcast "
                "of 4000 bytes from rank 0 (synchronize) on rank 1"}));
}

TEST_CASE("check says that a call is late or has failed, without a wait") {
  wired_job job;
  job.options.deadline = 50ms;
  std::atomic<bool> told{false};
  testing::said_on_stderr said;
  const auto thrown = job.run([&](wired_rank& rank) {
    near_queue queue;
    rank.check();
    std::vector<float> span(16, 1);
    if (rank.rank() == 1) {
      while (!told) std::this_thread::sleep_for(1ms);
      return;
    }
    auto open = rank.all_reduce(queue, std::span<float>(span));
    try {
      for (;;) {
        rank.check();
        std::this_thread::sleep_for(1ms);
      }
    } catch (const deadline_error& fault) {
      CHECK(says(fault.what(), {"rank 0 of 2", "call 1", "rank 1"}));
      told = true;
      throw;
    }
  });
  CHECK(told);
  CHECK(testing::lines_have(said.text(), "wire: rank 1 of 2: its body has ended, and waits for that of rank 0 ("));
  CHECK(says(thrown[0], {"within 50 ms"}));
}

TEST_CASE("no more calls are in flight than was agreed, and bad arguments are refused before anything is sent") {
  wired_job job;
  job.options.max_in_flight = 3;
  std::atomic<int> refused{0};
  const auto thrown = job.run([&](wired_rank& rank) {
    near_queue queue;
    std::vector<float> span(16, 1);
    std::vector<std::byte> own(3), all(5);
    CHECK_THROWS_AS(static_cast<void>(rank.broadcast(queue, own, 2)), input_error);
    CHECK_THROWS_AS(static_cast<void>(rank.broadcast(queue, own, -1)), input_error);
    CHECK_THROWS_AS(rank.exchange(own, all), input_error);
    if (rank.rank() == 1) { // the others' calls are open until this one has made its own
      while (refused == 0) std::this_thread::sleep_for(1ms);
      for (int i = 0; i < 3; ++i) rank.all_reduce(queue, std::span<float>(span)).wait(queue);
      return;
    }
    std::vector<std::vector<float>> spans(3, std::vector<float>(16, 1));
    std::vector<wired_rank::ticket> open;
    for (auto& one : spans) open.push_back(rank.all_reduce(queue, std::span<float>(one)));
    CHECK_THROWS_WITH_AS(static_cast<void>(rank.all_reduce(queue, std::span<float>(span))), doctest::Contains("max_in_flight"),
                         input_error);
    ++refused;
    for (auto& ticket : open) ticket.wait(queue);
  });
  CHECK(all_are_empty(thrown));
}

TEST_CASE("memory is set aside when it is asked for") {
  CHECK(all_are_empty(wired_job{.ranks = 3}.run([](wired_rank& rank) {
    near_queue queue;
    rank.reserve(40'000);
    rank.reserve(10);
    std::vector<float> span(10'000, 1);
    rank.all_reduce(queue, std::span<float>(span)).wait(queue);
    CHECK(span[5000] == 3);
  })));
}

} // namespace message_rank_tests
