// SPDX-License-Identifier: MIT
// under the thread sanitizer
#include <atomic>
#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <cairn/comm/loopback.hpp>
#include <cairn/comm/threads/threads.hpp>
#include <doctest/doctest.h>

#include "../said_on_stderr.hpp"
#include "fault_injecting.hpp"

namespace fault_injecting_tests {

using cairn::threads;
using testing::injected_fault;
using namespace std::chrono_literals;

namespace {

struct any_queue {};

struct of_two_machines : cairn::loopback::rank {
  int local_size() const { return 3; }
};

static_assert(cairn::communicator<testing::fault_injecting<cairn::loopback::rank>>);
static_assert(cairn::communicator<testing::fault_injecting<threads::rank>>);

// Rank 1 of 2 has the fault; both ranks make three calls and a broadcast. Returns what run() throws.
std::string run_with(injected_fault planned, std::atomic<int>& finished) {
  try {
    threads{2, {.deadline = 100ms}}.run([&](threads::rank& rank) {
      any_queue queue;
      testing::fault_injecting faulty(rank, rank.rank() == 1 ? planned : injected_fault{});
      std::vector<float> values(1000, 1.0F);
      std::vector<double> others(1000, 1.0);
      faulty.all_reduce(queue, values).wait(queue);
      faulty.all_reduce(queue, others).wait(queue);
      auto pending = faulty.all_reduce(queue, values);
      auto moved = std::move(pending);
      moved.wait(queue);
      pending.wait(queue);
      faulty.broadcast(queue, std::as_writable_bytes(std::span(values)), 1).wait(queue);
      if (values == std::vector<float>(1000, 4.0F) && others == std::vector<double>(1000, 2.0)) ++finished;
    });
  } catch (const cairn::error& thrown) {
    return thrown.what();
  }
  return {};
}

} // namespace

TEST_CASE("fault_injecting: without a fault it is the communicator within") {
  std::atomic<int> finished{0};
  CHECK(run_with({}, finished).empty());
  CHECK(finished == 2);
  CHECK(run_with({injected_fault::kind::late, 2, 5ms}, finished).empty());
  CHECK(finished == 4);
}

TEST_CASE("fault_injecting: it has as many ranks on its machine as the one within") {
  of_two_machines spread;
  cairn::loopback::rank alone;
  CHECK(cairn::detail::ranks_here(testing::fault_injecting(spread, {})) == 3);
  CHECK(cairn::detail::ranks_here(testing::fault_injecting(alone, {})) == 1);
}

TEST_CASE("fault_injecting: a call that fails to start") {
  std::atomic<int> finished{0};
  const std::string text = run_with({injected_fault::kind::fails_to_start, 2}, finished);
  CHECK(text == "threads: rank 1 of 2 threw: fault_injecting: call 2 fails to start, as was asked for");
  CHECK(finished == 0);
}

TEST_CASE("fault_injecting: a wait that fails") {
  std::atomic<int> finished{0};
  const std::string text = run_with({injected_fault::kind::fails_in_wait, 1}, finished);
  CHECK(text == "threads: rank 1 of 2 threw: fault_injecting: this wait fails, as was asked for");
  CHECK(finished == 0);
}

TEST_CASE("fault_injecting: a delay beyond the deadline") {
  std::atomic<int> finished{0};
  testing::said_on_stderr said;
  const std::string text = run_with({injected_fault::kind::late, 0, 400ms}, finished);
  CHECK(testing::lines_have(said.text(), "threads: the body of rank 0 has ended, and waits for that of rank 1 ("));
  CHECK(text.find("call 1 was not started by rank 1 (0 calls started) within 100 ms") != std::string::npos);
  CHECK(finished == 0);
}

TEST_CASE("fault_injecting: a call that fails later is told by check, and by nothing else") {
  using kind = injected_fault::kind;
  cairn::loopback::rank alone;
  any_queue queue;
  std::vector<float> values(4);
  testing::fault_injecting faulty(alone, {kind::fails_later, 1});
  faulty.all_reduce(queue, values).wait(queue);
  CHECK_NOTHROW(faulty.check());
  faulty.all_reduce(queue, values).wait(queue);
  CHECK_THROWS_WITH_AS(faulty.check(), "fault_injecting: call 1 failed later, as was asked for", cairn::rank_lost);
  CHECK_NOTHROW(faulty.all_reduce(queue, values).wait(queue));
  CHECK_THROWS_AS(faulty.check(), cairn::rank_lost);
}

TEST_CASE("fault_injecting: an exchange is a call that fails like the others") {
  using kind = injected_fault::kind;
  cairn::loopback::rank alone;
  std::vector<std::byte> own(3, std::byte{7}), all(3);
  const auto exchange = [&](auto& faulty) { faulty.exchange(own, all); };
  testing::fault_injecting late(alone, {kind::late, 0, 1ms});
  exchange(late);
  CHECK(all == own);
  testing::fault_injecting never(alone, {kind::fails_to_start, 0});
  CHECK_THROWS_WITH_AS(exchange(never), "fault_injecting: call 0 fails to start, as was asked for", cairn::rank_lost);
  testing::fault_injecting waiting(alone, {kind::fails_in_wait, 1});
  exchange(waiting);
  CHECK_THROWS_WITH_AS(exchange(waiting), "fault_injecting: this wait fails, as was asked for", cairn::rank_lost);
  testing::fault_injecting later(alone, {kind::fails_later, 0});
  exchange(later);
  CHECK_THROWS_AS(later.check(), cairn::rank_lost);
}

} // namespace fault_injecting_tests
