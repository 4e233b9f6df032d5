// SPDX-License-Identifier: MIT
// under the thread sanitizer
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <cairn/comm/launch/chosen_ranks.hpp>
#include <cairn/comm/loopback.hpp>
#include <cairn/comm/threads/threads.hpp>
#include <doctest/doctest.h>

#include "../threads/fault_injecting.hpp"

namespace any_rank_tests {

using cairn::any_rank;
using cairn::threads;
using testing::injected_fault;
using namespace std::chrono_literals;

namespace {

using cpu_queue = cairn::cpu::queue;

// Numbers whose sum has other bits in another order of addition.
std::vector<float> numbers_of(int rank, std::size_t count) {
  std::vector<float> numbers(count);
  for (std::size_t i = 0; i < count; ++i)
    numbers[i] = 1.0F / static_cast<float>(3 + 7 * i + 11 * static_cast<std::size_t>(rank)) * (rank % 2 == 0 ? 1e4F : 1.0F);
  return numbers;
}

// A communicator around another one, with the required members only, for the queues of every device.
template <class Inner>
struct least {
  static constexpr const char* name = "least";
  Inner& inner;
  int rank() const { return inner.rank(); }
  int size() const { return inner.size(); }
  auto all_reduce(auto& queue, std::span<float> span) { return inner.all_reduce(queue, span); }
  auto all_reduce(auto& queue, std::span<double> span) { return inner.all_reduce(queue, span); }
  auto broadcast(auto& queue, std::span<std::byte> bytes, int root) { return inner.broadcast(queue, bytes, root); }
};

// A communicator with every optional member, as rank 3 of 4 on two machines. It records what it was asked for.
struct all_there : cairn::loopback::rank {
  static constexpr std::string_view name = "all there";
  int rank() const { return 3; }
  int size() const { return 4; }
  int local_rank() const { return 1; }
  int local_size() const { return 2; }
  void exchange(std::span<const std::byte>, std::span<std::byte> all) { all[0] = std::byte{9}; }
  void check() { ++checks; }
  void reserve(std::size_t bytes) { reserved = bytes; }
  cairn::types::lent_memory allocate(std::size_t bytes) { return {nullptr, block.data(), bytes}; }
  void recover() { ++recoveries; }
  std::size_t checks = 0, reserved = 0, recoveries = 0;
  std::array<std::byte, 64> block{};
};

// A communicator for one device only, which gets that device's queue unchanged.
struct device_queue {
  static constexpr bool shares_memory = false;
  int waited = 0;
};
struct device_rank {
  static constexpr std::string_view name = "of a device";
  struct pending {
    bool open = false;
    void wait(device_queue& queue) { queue.waited += std::exchange(open, false) ? 1 : 0; }
  };
  int rank() const { return 0; }
  int size() const { return 1; }
  pending all_reduce(device_queue&, std::span<float>) { return {true}; }
  pending all_reduce(device_queue&, std::span<double>) { return {true}; }
  pending broadcast(device_queue&, std::span<std::byte>, int) { return {true}; }
  void exchange(std::span<const std::byte>, std::span<std::byte>) {}
};

static_assert(cairn::communicator<any_rank, cpu_queue>);
static_assert(cairn::detail::pending<any_rank::ticket, cpu_queue>);
static_assert(cairn::communicator<cairn::detail::any_rank_for<device_queue>, device_queue>);
static_assert(!device_queue::shares_memory && !cairn::communicator<any_rank, device_queue>);
static_assert(!std::is_constructible_v<any_rank, device_rank&>);
static_assert(std::is_nothrow_move_constructible_v<any_rank::ticket> && !std::is_copy_constructible_v<any_rank::ticket>);
static_assert(sizeof(any_rank::ticket) <= 64);

} // namespace

TEST_CASE("any_rank: sums, broadcasts and exchanges have the bits of the ranks within") {
  for (const int ranks : {1, 2, 3, 4}) {
    const std::vector<float> parts[]{numbers_of(0, 1000), numbers_of(1, 1000), numbers_of(2, 1000), numbers_of(3, 1000)};
    std::vector<float> expected = parts[0];
    for (int r = 1; r < ranks; ++r)
      for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += parts[r][i];
    std::atomic<int> right{0};
    threads{ranks}.run([&](threads::rank& inner) {
      cpu_queue q(1);
      any_rank rank(inner);
      CHECK(rank.rank() == inner.rank());
      CHECK(rank.size() == ranks);
      std::vector<float> floats = parts[inner.rank()];
      std::vector<double> doubles(7, 0.5);
      auto first = rank.all_reduce(q, floats);
      auto second = rank.all_reduce(q, doubles);
      second.wait(q);
      first.wait(q);
      right += floats == expected && doubles == std::vector<double>(7, 0.5 * ranks) ? 1 : 0;
      rank.broadcast(q, std::as_writable_bytes(std::span(floats)), ranks - 1).wait(q);
      std::vector<int> all(static_cast<std::size_t>(ranks));
      const int own = 10 + rank.rank();
      rank.exchange(std::as_bytes(std::span(&own, 1)), std::as_writable_bytes(std::span(all)));
      for (int r = 0; r < ranks; ++r) right += all[static_cast<std::size_t>(r)] == 10 + r ? 1 : 0;
    });
    CHECK(right == ranks + ranks * ranks);
  }
}

TEST_CASE("any_rank: one rank is the identity") {
  cairn::loopback::rank inner;
  any_rank rank(inner);
  cpu_queue q(1);
  std::vector<float> values{1.5F, -0.0F, 3e38F};
  const auto before = values;
  rank.all_reduce(q, values).wait(q);
  rank.broadcast(q, std::as_writable_bytes(std::span(values)), 0).wait(q);
  CHECK(values == before);
  std::array<std::byte, 2> own{std::byte{1}, std::byte{2}}, all{};
  rank.exchange(own, all);
  CHECK(all == own);
  CHECK_THROWS_WITH_AS(rank.exchange(own, std::span(all).first(1)),
                       "loopback: exchange: expected room for the 2 bytes of each of 1 ranks, 2 bytes, found 1",
                       cairn::input_error);
}

TEST_CASE("any_rank: all that a communicator may have is passed on") {
  all_there inner;
  any_rank first(inner), rank(first); // a copy refers to the same communicator
  CHECK(rank.called() == "all there");
  CHECK(rank.rank() == 3);
  CHECK(rank.size() == 4);
  CHECK(rank.local_rank() == 1);
  CHECK(rank.local_size() == 2);
  rank.check();
  rank.reserve(77);
  rank.recover();
  CHECK(rank.allocate(12).data() == inner.block.data());
  CHECK(rank.allocate(12).size() == 12);
  CHECK(inner.checks == 1);
  CHECK(inner.reserved == 77);
  CHECK(inner.recoveries == 1);
  const std::byte own{1};
  std::array<std::byte, 4> all{};
  rank.exchange({&own, 1}, all);
  CHECK(all[0] == std::byte{9});
}

TEST_CASE("any_rank: what the communicator within has not got") {
  std::atomic<int> right{0};
  threads{3}.run([&](threads::rank& inner) {
    least<threads::rank> few{inner};
    any_rank rank(few);
    rank.check();
    rank.reserve(1000);
    CHECK(rank.allocate(1000).data() == nullptr);
    rank.recover();
    std::array<int, 3> all{};
    const int own = 10 + rank.rank();
    rank.exchange(std::as_bytes(std::span(&own, 1)), std::as_writable_bytes(std::span(all)));
    right += all == std::array{10, 11, 12} && rank.local_size() == 3 && rank.local_rank() == rank.rank() ? 1 : 0;
  });
  CHECK(right == 3);
}

TEST_CASE("any_rank: the queue of another device reaches the communicator as it is") {
  device_rank inner;
  cairn::detail::any_rank_for<device_queue> rank(inner);
  device_queue q;
  auto pending = rank.all_reduce(q, std::span<float>{});
  CHECK(!pending.over()); // the inner pending has no over()
  pending.wait(q);
  rank.broadcast(q, {}, 0).wait(q);
  CHECK(q.waited == 2);
  CHECK(pending.over());
}

TEST_CASE("any_rank: a pending can be empty, moved, replaced and waited for twice") {
  cpu_queue q(1);
  std::atomic<int> right{0};
  threads{2}.run([&](threads::rank& inner) {
    any_rank rank(inner);
    any_rank::ticket pending;
    pending.wait(q);
    right += pending.over() ? 1 : 0;
    std::vector<float> values{1};
    auto other = rank.all_reduce(q, values);
    pending = std::move(other);
    other.wait(q);
    any_rank::ticket last(std::move(pending));
    pending = any_rank::ticket();
    last.wait(q);
    last.wait(q);
    right += values[0] == 2 && last.over() ? 1 : 0;
    last = rank.all_reduce(q, values);
    std::swap(last, pending);
    pending.wait(q);
    right += values[0] == 4 ? 1 : 0;
  });
  CHECK(right == 6);
}

TEST_CASE("any_rank: faults reach the body as they are, and service goes on after recover") {
  std::array<std::string, 2> texts;
  std::atomic<int> right{0};
  threads{2, {.deadline = 10s}}.run([&](threads::rank& inner) {
    cpu_queue q(1);
    testing::fault_injecting faulty(inner, inner.rank() == 1 ? injected_fault{injected_fault::kind::fails_in_wait, 0}
                                                             : injected_fault{});
    any_rank rank(faulty);
    std::vector<float> values{1};
    try {
      auto pending = rank.all_reduce(q, values);
      pending.wait(q);
      rank.all_reduce(q, values).wait(q);
    } catch (const cairn::rank_lost& lost) {
      texts[static_cast<std::size_t>(inner.rank())] = lost.what();
    }
    rank.recover();
    values = {1};
    rank.all_reduce(q, values).wait(q);
    right += values[0] == 2 ? 1 : 0;
  });
  CHECK(texts[1] == "fault_injecting: this wait fails, as was asked for");
  CHECK(!texts[0].empty());
  CHECK(right == 2);
}

TEST_CASE("any_rank: an exception may pass a pending that was not waited for") {
  cairn::loopback::rank inner;
  any_rank rank(inner);
  cpu_queue q(1);
  std::vector<float> values{1};
  const auto throws = [&] {
    const auto pending = rank.all_reduce(q, values);
    throw std::runtime_error("on the way");
  };
  CHECK_THROWS_WITH(throws(), "on the way");
  CHECK_THROWS_WITH_AS(static_cast<void>(rank.broadcast(q, {}, 1)), "loopback: broadcast from rank 1, but the only rank is 0",
                       cairn::input_error);
}

} // namespace any_rank_tests
