// SPDX-License-Identifier: MIT
// under the thread sanitizer
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <cairn/comm/threads/threads.hpp>
#include <cairn/core/random.hpp>
#include <doctest/doctest.h>

#include "../said_on_stderr.hpp"
#include "../stopped_child.hpp"

// Counts every allocation of this program. Not inlined, or g++ takes new and free for a mismatched pair.
namespace {
std::atomic<std::size_t> allocations{0};
// The number of further allocations that this program may make.
constexpr long for_ever = 1L << 60;
std::atomic<long> allocations_left{for_ever};
} // namespace

[[gnu::noinline]] void* operator new(std::size_t bytes) {
  ++allocations;
  if (--allocations_left < 0) throw std::bad_alloc();
  if (void* const block = std::malloc(bytes == 0 ? 1 : bytes)) return block;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* block) noexcept { std::free(block); }
[[gnu::noinline]] void operator delete(void* block, std::size_t) noexcept { std::free(block); }

using cairn::deadline_error;
using cairn::input_error;
using cairn::rank_lost;
using cairn::threads;
using namespace std::chrono_literals;

namespace {

struct any_queue {};

// Numbers of very different sizes: another order of summation gives other bits.
template <class T>
std::vector<T> numbers_of(int rank, std::size_t count) {
  const auto seed = static_cast<std::uint64_t>(rank);
  std::vector<T> numbers(count);
  for (std::size_t i = 0; i < count; ++i)
    numbers[i] = (cairn::ops::random_uniform<T>({seed, 0, 0}, i) - T(0.5)) *
                 (cairn::ops::random_bits({seed, 1, 0}, i) % 2 == 0 ? T(1e4) / 3 : T(1) / 3);
  return numbers;
}

template <class T>
std::vector<T> plain_sum(int ranks, std::size_t count) {
  std::vector<T> sum = numbers_of<T>(0, count);
  for (int rank = 1; rank < ranks; ++rank) {
    const std::vector<T> more = numbers_of<T>(rank, count);
    for (std::size_t i = 0; i < count; ++i) sum[i] += more[i];
  }
  return sum;
}

// Returns the text of the error of type Kind that the function throws; empty if it throws nothing.
template <class Kind = cairn::error, class F>
std::string thrown_by(F&& f) {
  try {
    f();
  } catch (const Kind& thrown) {
    return thrown.what();
  }
  return {};
}

bool contains(const std::string& text, const std::string& part) {
  INFO("the text is: ", text);
  CHECK(text.find(part) != std::string::npos);
  return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE_TEMPLATE("threads: all_reduce gives the bits of the ordered sum", T, float, double) {
  for (const int ranks : {1, 2, 3, 5})
    for (const std::size_t count : {0UL, 1UL, 17UL, 1000UL, 16'383UL, 100'001UL}) {
      const std::vector<T> expected = plain_sum<T>(ranks, count);
      std::atomic<int> right{0};
      threads{ranks}.run([&](threads::rank& rank) {
        any_queue queue;
        std::vector<T> values = numbers_of<T>(rank.rank(), count);
        rank.all_reduce(queue, values).wait(queue);
        if (values == expected) ++right;
      });
      CHECK(right == ranks);
    }
}

TEST_CASE("threads: ranks are numbered, and rank 0 runs on the caller's thread") {
  std::atomic<int> seen{0};
  std::thread::id first;
  threads{3}.run([&](threads::rank& rank) {
    if (rank.size() == 3) seen += 1 << (4 * rank.rank());
    if (rank.rank() == 0) first = std::this_thread::get_id();
  });
  CHECK(seen == 0x111);
  CHECK(first == std::this_thread::get_id());
}

TEST_CASE("threads: many calls in flight, waited for in any order, over spans of one buffer") {
  constexpr std::size_t calls = 300;
  constexpr std::size_t count = 64;
  const std::vector<float> expected = plain_sum<float>(3, calls * count);
  std::atomic<int> right{0};
  threads group(3);
  for (int run = 0; run < 2; ++run)
    group.run([&](threads::rank& rank) {
      any_queue queue;
      std::vector<float> values = numbers_of<float>(rank.rank(), calls * count);
      std::vector<threads::rank::ticket> pending(calls);
      for (std::size_t i = 0; i < calls; ++i) pending[i] = rank.all_reduce(queue, std::span(values).subspan(i * count, count));
      for (std::size_t i = 0; i < calls; ++i) pending[rank.rank() == 1 ? calls - 1 - i : i].wait(queue);
      if (values == expected) ++right;
    });
  CHECK(right == 6);
}

TEST_CASE("threads: broadcast copies any bytes from any rank") {
  for (const std::size_t count : {0UL, 1UL, 8UL, 200'003UL}) {
    std::atomic<int> right{0};
    threads{3}.run([&](threads::rank& rank) {
      any_queue queue;
      for (int root = 0; root < 3; ++root) {
        std::vector<std::byte> bytes(count, static_cast<std::byte>(200 + rank.rank()));
        rank.broadcast(queue, bytes, root).wait(queue);
        if (bytes == std::vector<std::byte>(count, static_cast<std::byte>(200 + root))) ++right;
      }
      if (!contains(thrown_by([&] { static_cast<void>(rank.broadcast(queue, {}, 3)); }),
                    "broadcast from rank 3, but the ranks are 0 to 2"))
        right = -100;
    });
    CHECK(right == 9);
  }
}

TEST_CASE("threads: work goes on between the start of a call and its wait") {
  std::atomic<int> right{0};
  threads{2}.run([&](threads::rank& rank) {
    any_queue queue;
    std::vector<double> values(100'000, 1.0);
    auto pending = rank.all_reduce(queue, values);
    std::this_thread::sleep_for(20ms * rank.rank());
    pending.wait(queue);
    if (values == std::vector<double>(100'000, 2.0)) ++right;
  });
  CHECK(right == 2);
}

TEST_CASE("threads: a call allocates nothing") {
  std::atomic<std::size_t> during{0};
  threads{2}.run([&](threads::rank& rank) {
    any_queue queue;
    std::vector<float> values(50'000);
    std::vector<threads::rank::ticket> pending(10);
    rank.all_reduce(queue, values).wait(queue); // all threads are up
    const std::size_t before = allocations;
    for (int step = 0; step < 100; ++step) {
      for (std::size_t i = 0; i < 10; ++i) pending[i] = rank.all_reduce(queue, std::span(values).subspan(i * 5000, 5000));
      for (auto& one : pending) one.wait(queue);
      rank.broadcast(queue, std::as_writable_bytes(std::span(values)), 1).wait(queue);
    }
    during += allocations - before;
    rank.all_reduce(queue, values).wait(queue);
  });
  CHECK(during == 0);
  CHECK(allocations > 0); // the counter counts
}

TEST_CASE("threads: a rank that throws is the reason that all others are given") {
  for (const int guilty : {0, 1, 2})
    for (const int calls_before : {0, 1, 5}) {
      std::atomic<int> told{0};
      // The deadline is long: a rank that waited for it would be stopped as a test that hangs.
      const auto run = [&] {
        threads{3, {.deadline = 1h}}.run([&](threads::rank& rank) {
          any_queue queue;
          std::vector<float> values(70'000);
          for (int call = 0; call < calls_before; ++call) rank.all_reduce(queue, values).wait(queue);
          if (rank.rank() == guilty) throw std::out_of_range("disk full");
          const std::string text = thrown_by<rank_lost>([&] { rank.all_reduce(queue, values).wait(queue); });
          if (contains(text, "rank " + std::to_string(guilty) + " threw: disk full")) ++told;
          contains(text, "rank " + std::to_string(rank.rank()) + " of 3, call " + std::to_string(calls_before + 1) +
                             ", all_reduce of 70000 float");
          // The failure is final.
          contains(thrown_by<rank_lost>([&] { rank.all_reduce(queue, values).wait(queue); }), "cannot start");
        });
      };
      contains(thrown_by<rank_lost>(run), "threads: rank " + std::to_string(guilty) + " of 3 threw: disk full");
      CHECK(told == 2);
    }
}

TEST_CASE("threads: the exception itself is nested in what run throws") {
  for (const int ranks : {1, 2}) {
    bool found = false;
    try {
      threads{ranks}.run([&](threads::rank& rank) {
        if (rank.rank() == ranks - 1) throw std::out_of_range("disk full");
      });
    } catch (const cairn::error& thrown) {
      try {
        std::rethrow_if_nested(thrown);
      } catch (const std::out_of_range& inner) {
        found = std::string(inner.what()) == "disk full";
      }
    }
    CHECK(found);
  }
  contains(thrown_by([] {
             threads{2}.run([](threads::rank& rank) {
               if (rank.rank() == 1) throw 3;
             });
           }),
           "rank 1 of 2 threw: something that is no std::exception");
}

TEST_CASE("threads: an exception that leaves calls behind takes its spans out of the others' reach") {
  // Under the address or thread sanitizer: no rank touches a span after its owner has thrown.
  for (int round = 0; round < 50; ++round) {
    const auto run = [&] {
      threads{3}.run([&](threads::rank& rank) {
        any_queue queue;
        std::vector<float> values(300'000);
        std::vector<threads::rank::ticket> pending(30);
        for (std::size_t i = 0; i < pending.size(); ++i) {
          pending[i] = rank.all_reduce(queue, std::span(values).subspan(i * 10'000, 10'000));
          if (rank.rank() == 1 && i == 20) throw std::runtime_error("in between");
        }
        for (auto& one : pending) one.wait(queue);
      });
    };
    contains(thrown_by(run), "rank 1 of 3 threw: in between");
  }
}

TEST_CASE("threads: a late rank is named when the deadline is over") {
  std::atomic<int> told{0};
  const auto run = [&] {
    threads{3, {.deadline = 60ms}}.run([&](threads::rank& rank) {
      any_queue queue;
      std::vector<float> values(10);
      rank.all_reduce(queue, values).wait(queue);
      if (rank.rank() == 2) std::this_thread::sleep_for(400ms);
      const std::string text = thrown_by<deadline_error>([&] { rank.all_reduce(queue, values).wait(queue); });
      if (contains(text, "call 2 was not started by rank 2 (1 calls started) within 60 ms")) ++told;
      throw cairn::error(text);
    });
  };
  testing::said_on_stderr said;
  contains(thrown_by(run), "rank 2 (1 calls started)");
  CHECK(testing::lines_have(said.text(), "threads: the body of rank 0 has ended, and waits for that of rank "));
  CHECK(told == 3);
}

TEST_CASE("threads: time in which the process is stopped counts for no deadline") {
  const auto child = testing::run_in_child(1500ms, [](const auto& ready) {
    threads{2, {.deadline = 1s}}.run([&](threads::rank& rank) {
      any_queue queue;
      std::vector<float> values(10, 1.0F);
      rank.all_reduce(queue, values).wait(queue);
      if (rank.rank() == 1) {
        std::this_thread::sleep_for(20ms); // rank 0 waits
        ready();
        testing::work_for(300ms);
      }
      rank.all_reduce(queue, values).wait(queue);
    });
    return 0;
  });
  INFO(child.errors);
  CHECK(child.status == 0);
}

TEST_CASE("threads: check() counts no time in which the process is stopped") {
  const auto child = testing::run_in_child(1500ms, [](const auto& ready) {
    threads{2, {.deadline = 1s}}.run([&](threads::rank& rank) {
      any_queue queue;
      std::vector<float> values(10, 1.0F);
      if (rank.rank() == 1) {
        std::this_thread::sleep_for(20ms);
        ready();
        testing::work_for(300ms);
      }
      auto sum = rank.all_reduce(queue, values);
      while (!sum.over()) {
        rank.check();
        std::this_thread::sleep_for(1ms);
      }
      sum.wait(queue);
    });
    return 0;
  });
  INFO(child.errors);
  CHECK(child.status == 0);
}

TEST_CASE("threads: a rank that is late is found about when the deadline is over") {
  const auto begun = std::chrono::steady_clock::now();
  std::chrono::steady_clock::duration found{};
  std::atomic<bool> goes_on{false};
  threads{2, {.deadline = 300ms}}.run([&](threads::rank& rank) {
    any_queue queue;
    std::vector<float> values(10);
    if (rank.rank() == 1) {
      while (!goes_on) std::this_thread::sleep_for(1ms);
      return;
    }
    contains(thrown_by<deadline_error>([&] { rank.all_reduce(queue, values).wait(queue); }), "within 300 ms");
    found = std::chrono::steady_clock::now() - begun;
    goes_on = true;
  });
  CHECK(found >= 300ms);
  CHECK(found < 3s); // twice the deadline, where the machine is so busy that the process seems stopped, plus a margin
}

TEST_CASE("threads: where one rank works alone others wait longer, and a line tells of it") {
  const auto child = testing::run_in_child(0ms, [](const auto&) {
    const auto run = [](std::chrono::milliseconds limit) {
      threads{2, {.deadline = 50ms, .long_deadline = limit}}.run([&](threads::rank& rank) {
        any_queue queue;
        std::vector<float> values(10, 1.0F);
        const cairn::detail::calls_for saving(rank, {.word = "save_state", .may_take_long = true});
        if (rank.rank() == 0) testing::work_for(700ms);
        rank.all_reduce(queue, values).wait(queue);
      });
    };
    run(1min);
    return contains(thrown_by([&] { run(100ms); }), "was not started by rank 0 (0 calls started) within 100 ms") ? 0 : 1;
  });
  CHECK(child.status == 0);
  contains(child.errors, "threads: rank 1 of 2 waits in all_reduce of 10 float (save_state) for rank 0 (0 calls started) (");
  contains(child.errors, " so far, at most 60 s)\n");
}

TEST_CASE("threads: bodies may end at different times, and a line names the one that is waited for") {
  const auto child = testing::run_in_child(0ms, [](const auto&) {
    std::atomic<int> ended{0};
    threads{3, {.deadline = 50ms}}.run([&](threads::rank& rank) {
      if (rank.rank() == 2) testing::work_for(700ms);
      ++ended;
    });
    return ended == 3 ? 0 : 1;
  });
  CHECK(child.status == 0);
  contains(child.errors, "threads: the body of rank 0 has ended, and waits for that of rank 2 (");
}

TEST_CASE("threads: a body that never ends ends the process, and says which") {
  const auto child = testing::run_in_child(0ms, [](const auto&) {
    threads{3, {.deadline = 50ms, .end_deadline = 400ms}}.run([&](threads::rank& rank) {
      if (rank.rank() == 0) throw std::out_of_range("disk full");
      while (rank.rank() == 1) std::this_thread::sleep_for(1ms);
    });
    return 0;
  });
  CHECK(child.status == 128 + SIGABRT);
  contains(child.errors,
           "threads: the body of rank 1 has not ended within 400 ms after that of rank 0 (rank 0 threw: disk full); the "
           "process is ended");
}

TEST_CASE("threads: the odd one of three ranks is named, with what it does") {
  std::atomic<int> told{0};
  threads{3}.run([&](threads::rank& rank) {
    any_queue queue;
    std::vector<float> values(10);
    const bool is_odd = rank.rank() == 1;
    const cairn::detail::calls_for now(rank, {.word = is_odd ? "synchronize" : "step", .number = is_odd ? 0U : 31U});
    const std::string text = thrown_by<input_error>([&] {
      if (is_odd) rank.broadcast(queue, std::as_writable_bytes(std::span(values)), 0).wait(queue);
      else rank.all_reduce(queue, values).wait(queue);
    });
    if (contains(text, "call 1 is all_reduce of 10 float (step 31) on ranks 0 and 2, but broadcast of 40 bytes from rank 0 "
                       "(synchronize) on rank 1"))
      ++told;
  });
  CHECK(told == 3);
}

TEST_CASE("threads: when no memory is left a rank ends as after any other exception") {
  // After `left` further allocations, in rank 1's body or in its failure, no thread gets memory any more.
  for (int left = 0; left < 12; ++left) {
    bool ended = false;
    try {
      threads{2}.run([&](threads::rank& rank) {
        any_queue queue;
        std::vector<float> values(10);
        rank.all_reduce(queue, values).wait(queue);
        if (rank.rank() == 1) {
          allocations_left = left;
          const std::vector<std::vector<float>> many(20, values);
        }
        rank.all_reduce(queue, values).wait(queue);
      });
    } catch (const std::exception&) {
      ended = true;
    }
    allocations_left = for_ever;
    CHECK(ended);
  }
}

TEST_CASE("threads: after a failure the ranks recover together, and calls are served again") {
  std::atomic<int> right{0};
  threads{3, {.deadline = 10s, .max_in_flight = 8}}.run([&](threads::rank& rank) {
    any_queue queue;
    for (int round = 0; round < 5; ++round) {
      std::vector<float> lost(10, 1.0F), kept(100'000, 1.0F);
      std::vector<threads::rank::ticket> open;
      for (int call = 0; call < 3; ++call) rank.all_reduce(queue, kept).wait(queue);
      try {
        open.push_back(rank.all_reduce(queue, lost)); // not waited for by rank 1
        if (rank.rank() == 1) throw cairn::error("given up");
        rank.all_reduce(queue, kept).wait(queue);
      } catch (const cairn::error&) {
        struct leaving { // a pending may be given up while an exception passes
          std::vector<threads::rank::ticket>& open;
          ~leaving() { open.clear(); }
        };
        try {
          const leaving give_up{open};
          throw cairn::error("on the way out");
        } catch (const cairn::error&) {
        }
      }
      rank.recover();
      std::vector<float> values(10, static_cast<float>(rank.rank()));
      rank.all_reduce(queue, values).wait(queue);
      if (values == std::vector<float>(10, 3.0F)) ++right;
    }
    rank.recover(); // if nothing has failed, the ranks only meet
  });
  CHECK(right == 15);
}

TEST_CASE("threads: a rank that does not come to recover is missed") {
  std::atomic<int> told{0};
  threads{3, {.deadline = 60ms}}.run([&](threads::rank& rank) {
    if (rank.rank() == 2) return std::this_thread::sleep_for(300ms);
    if (contains(thrown_by([&] { rank.recover(); }), "expected all ranks to recover together, found ")) ++told;
  });
  CHECK(told == 2);
  told = 0;
  threads{3, {.deadline = 20s}}.run([&](threads::rank& rank) {
    if (rank.rank() == 2) return;
    if (contains(thrown_by<rank_lost>([&] { rank.recover(); }), "found one that has returned")) ++told;
  });
  CHECK(told == 2);
}

TEST_CASE("threads: ranks that make different calls are all told what differs") {
  const auto differ = [](auto&& first, auto&& second, const std::string& expected) {
    std::atomic<int> told{0};
    threads{2}.run([&](threads::rank& rank) {
      any_queue queue;
      std::vector<float> floats(10);
      std::vector<double> doubles(10);
      rank.all_reduce(queue, floats).wait(queue);
      const std::string text = thrown_by<input_error>([&] {
        if (rank.rank() == 0) first(rank, queue, floats, doubles);
        else second(rank, queue, floats, doubles);
      });
      if (contains(text, "the ranks make different calls: call 2 is " + expected)) ++told;
    });
    CHECK(told == 2);
  };
  const auto sum_floats = [](auto& rank, auto& queue, auto& floats, auto&) { rank.all_reduce(queue, floats).wait(queue); };
  const auto sum_five = [](auto& rank, auto& queue, auto& floats, auto&) {
    rank.all_reduce(queue, std::span(floats).first(5)).wait(queue);
  };
  const auto sum_doubles = [](auto& rank, auto& queue, auto&, auto& doubles) { rank.all_reduce(queue, doubles).wait(queue); };
  const auto copy = [](int root) {
    return [root](auto& rank, auto& queue, auto& floats, auto&) {
      rank.broadcast(queue, std::as_writable_bytes(std::span(floats)), root).wait(queue);
    };
  };
  differ(sum_floats, sum_five, "all_reduce of 10 float on rank 0, but all_reduce of 5 float on rank 1");
  differ(sum_doubles, sum_floats, "all_reduce of 10 double on rank 0, but all_reduce of 10 float on rank 1");
  differ(sum_floats, copy(0), "all_reduce of 10 float on rank 0, but broadcast of 40 bytes from rank 0 on rank 1");
  differ(copy(0), copy(1), "broadcast of 40 bytes from rank 0 on rank 0, but broadcast of 40 bytes from rank 1 on rank 1");
}

TEST_CASE("threads: a rank that returns early fails those that count on it, and only those") {
  for (const auto pause : {0ms, 20ms}) {
    std::atomic<int> told{0};
    threads{3}.run([&](threads::rank& rank) {
      any_queue queue;
      std::vector<float> values(10);
      rank.all_reduce(queue, values).wait(queue);
      if (rank.rank() == 1) return std::this_thread::sleep_for(pause);
      std::this_thread::sleep_for(20ms - pause);
      const std::string text = thrown_by([&] { rank.all_reduce(queue, values).wait(queue); });
      if (contains(text, "rank 1 returned after 1 calls, but rank ")) ++told;
    });
    CHECK(told == 2);
  }
  // Ranks may return at different times.
  threads{3}.run([&](threads::rank& rank) {
    any_queue queue;
    std::vector<float> values(10);
    rank.all_reduce(queue, values).wait(queue);
    std::this_thread::sleep_for(10ms * rank.rank());
  });
}

TEST_CASE("threads: too many calls in flight are an error, and the group serves again after it") {
  const threads group(2, {.max_in_flight = 8});
  const auto run = [&] {
    group.run([&](threads::rank& rank) {
      any_queue queue;
      std::vector<float> values(100);
      std::vector<threads::rank::ticket> pending(9);
      if (rank.rank() == 1) std::this_thread::sleep_for(20ms);
      else
        for (std::size_t i = 0; i < 9; ++i) pending[i] = rank.all_reduce(queue, std::span(values).subspan(10 * i, 10));
    });
  };
  const std::string text = thrown_by(run);
  contains(text, "rank 0 of 2, call 9, all_reduce of 10 float");
  contains(text, "8 calls are in flight");
  std::atomic<int> right{0};
  group.run([&](threads::rank& rank) {
    any_queue queue;
    std::vector<float> values(1, 1.0F);
    for (int call = 0; call < 20; ++call) rank.all_reduce(queue, values).wait(queue);
    if (values[0] == 1048576.0F) ++right;
  });
  CHECK(right == 2);
}

TEST_CASE("threads: options that make no sense are refused") {
  CHECK_THROWS_WITH_AS(threads(0), doctest::Contains("threads: the number of ranks is 0, but must be 1 to 1024"), input_error);
  CHECK_THROWS_WITH_AS(threads(100'000), doctest::Contains("is 100000, but must be 1 to 1024"), input_error);
  CHECK_THROWS_AS(threads(2, {.max_in_flight = 0}), input_error);
  CHECK_THROWS_AS(threads(2, {.deadline = 0ms}), input_error);
  threads{2, {.deadline = std::chrono::milliseconds::max()}}.run([&](threads::rank& rank) {
    any_queue queue;
    std::vector<float> values(10);
    if (rank.rank() == 1) std::this_thread::sleep_for(5ms);
    rank.all_reduce(queue, values).wait(queue);
  });
}

TEST_CASE("threads: a ticket tells whether its call is over, without waiting for it") {
  std::atomic<bool> looked{false};
  std::atomic<int> right{0};
  threads{2}.run([&](threads::rank& rank) {
    any_queue queue;
    std::vector<float> values(4, 1.0F);
    if (rank.rank() == 1)
      while (!looked) std::this_thread::yield();
    threads::rank::ticket sum = rank.all_reduce(queue, values);
    if (rank.rank() == 0) {
      if (!sum.over()) ++right; // the other rank has not even started
      looked = true;
    }
    sum.wait(queue);
    if (sum.over() && threads::rank::ticket{}.over()) ++right; // an empty ticket is over
  });
  CHECK(right == 3);
}

TEST_CASE("threads: an exchange fails as other calls do") {
  std::atomic<int> told{0};
  std::vector<std::byte> own(6);
  const auto exchange = [&](threads::rank& rank, std::size_t count) {
    std::vector<std::byte> room(2 * count);
    rank.exchange(std::span(own).first(count), room);
  };
  threads{2}.run([&](threads::rank& rank) { // different calls
    const std::string text = thrown_by<input_error>([&] { exchange(rank, rank.rank() == 0 ? 6 : 5); });
    if (contains(text, "call 1 is exchange of 6 bytes on rank 0, but exchange of 5 bytes on rank 1")) ++told;
  });
  CHECK(told == 2);
  contains(thrown_by<rank_lost>([&] {
             threads{2}.run([&](threads::rank& rank) {
               if (rank.rank() == 1) throw std::out_of_range("disk full");
               contains(thrown_by<rank_lost>([&] { exchange(rank, 6); }), "exchange of 6 bytes: ");
               ++told;
             });
           }),
           "disk full");
  CHECK(told == 3);
  threads{2, {.deadline = 60ms}}.run([&](threads::rank& rank) { // a rank that is late
    if (rank.rank() == 1) std::this_thread::sleep_for(200ms);
    if (contains(thrown_by<deadline_error>([&] { exchange(rank, 6); }), "not started by rank 1 (0 calls started)")) ++told;
  });
  CHECK(told == 5);
  threads{2}.run([&](threads::rank& rank) { // and afterwards all go on
    thrown_by<input_error>([&] { exchange(rank, rank.rank() == 0 ? 6 : 5); });
    rank.recover();
    CHECK_NOTHROW(exchange(rank, 3));
    CHECK_NOTHROW(rank.check());
  });
}

TEST_CASE("threads: check throws on a rank that waits for nothing when another one fails") {
  std::atomic<bool> started{false}, checked{false};
  const auto run = [&] {
    threads{2}.run([&](threads::rank& rank) {
      any_queue queue;
      std::vector<float> values(4);
      if (rank.rank() == 1) {
        while (!started) std::this_thread::yield();
        throw std::out_of_range("disk full");
      }
      rank.check();
      auto sum = rank.all_reduce(queue, values);
      started = true;
      std::string text;
      while (text.empty()) text = thrown_by<rank_lost>([&] { rank.check(); });
      checked = contains(text, "it was not done, because rank 1 threw: disk full");
      thrown_by<rank_lost>([&] { sum.wait(queue); });
    });
  };
  contains(thrown_by<rank_lost>(run), "disk full");
  CHECK(checked);
}
