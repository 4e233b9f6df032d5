// SPDX-License-Identifier: MIT
// under the thread sanitizer
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <cairn/comm/loopback.hpp>
#include <doctest/doctest.h>

#if !defined(NDEBUG) && defined(__unix__)
#include <csignal>
#include <sys/wait.h>
#include <unistd.h>
#endif

namespace loopback_tests {

namespace {
struct any_queue {};
} // namespace

TEST_CASE("loopback: a body runs once, with the only rank, and on this thread") {
  const auto caller = std::this_thread::get_id();
  int calls = 0;
  cairn::loopback{}.run([&](cairn::loopback::rank& rank) {
    ++calls;
    CHECK(rank.rank() == 0);
    CHECK(rank.size() == 1);
    CHECK(std::this_thread::get_id() == caller);
  });
  CHECK(calls == 1);
  CHECK(cairn::loopback{}.size() == 1);
}

TEST_CASE("loopback: what a body throws comes out as it is") {
  CHECK_THROWS_WITH_AS(cairn::loopback{}.run([](cairn::loopback::rank&) { throw std::out_of_range("here"); }), "here",
                       std::out_of_range);
}

TEST_CASE("loopback: every call is the identity") {
  cairn::loopback::rank communicator;
  any_queue queue;
  CHECK(communicator.rank() == 0);
  CHECK(communicator.size() == 1);

  std::vector<float> floats{1.5F, -0.0F, 3e38F};
  std::vector<double> doubles{1e300, 2};
  const auto floats_before = floats;
  const auto doubles_before = doubles;
  communicator.all_reduce(queue, floats).wait(queue);
  communicator.all_reduce(queue, doubles).wait(queue);
  communicator.broadcast(queue, std::as_writable_bytes(std::span(doubles)), 0).wait(queue);
  communicator.all_reduce(queue, std::span<float>{}).wait(queue);
  CHECK(floats == floats_before);
  CHECK(doubles == doubles_before);
}

TEST_CASE("loopback: what it gives to all it gets") {
  cairn::loopback::rank communicator;
  std::vector<std::byte> own{std::byte{1}, std::byte{2}}, all(2);
  communicator.exchange(own, all);
  CHECK(all == own);
  CHECK_NOTHROW(communicator.check());
}

TEST_CASE("loopback: a broadcast from a rank that does not exist is an error") {
  cairn::loopback::rank communicator;
  any_queue queue;
  CHECK_THROWS_WITH_AS(static_cast<void>(communicator.broadcast(queue, {}, 1)),
                       "loopback: broadcast from rank 1, but the only rank is 0", cairn::error);
}

TEST_CASE("loopback: a pending can be empty, moved and waited for twice") {
  cairn::loopback::rank communicator;
  any_queue queue;
  std::vector<float> values{1};
  cairn::loopback::rank::ticket pending;
  pending.wait(queue);
  auto other = communicator.all_reduce(queue, values);
  pending = std::move(other);
  pending.wait(queue);
  pending.wait(queue);
}

TEST_CASE("loopback: an exception may pass a pending that was not waited for") {
  cairn::loopback::rank communicator;
  any_queue queue;
  std::vector<float> values{1};
  const auto throws = [&] {
    const auto pending = communicator.all_reduce(queue, values);
    throw std::runtime_error("on the way");
  };
  CHECK_THROWS_WITH(throws(), "on the way");
}

#if !defined(NDEBUG) && defined(__unix__)
TEST_CASE("loopback: a debug build stops at a pending that was never waited for") {
  std::fflush(nullptr);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::signal(SIGABRT, SIG_DFL);
    std::fclose(stderr);
    cairn::loopback::rank communicator;
    any_queue queue;
    std::vector<float> values{1};
    {
      const auto pending = communicator.all_reduce(queue, values);
    }
    std::_Exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGABRT);
}
#endif

} // namespace loopback_tests
