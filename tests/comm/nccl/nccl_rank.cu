// SPDX-License-Identifier: MIT
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <cairn/comm/launch/chosen_ranks.hpp>
#include <cairn/comm/loopback.hpp>
#include <doctest/doctest.h>

#include "ranks_on_gpus.hpp"

namespace nccl_rank_tests {

using namespace cairn;
using namespace std::chrono_literals;
using testing::gpu_values, testing::numbers_of, testing::sum_in_order, testing::thrown_by, testing::with_ranks;

namespace {

constexpr nccl::options in_order{.sums = nccl::order::fixed};
constexpr nccl::options as_nccl{.sums = nccl::order::nccl};

// Ranks of two machines, without exchange().
struct of_two_machines {
  static constexpr std::string_view name = "own";
  threads::rank& inner;
  int rank() const { return inner.rank(); }
  int size() const { return inner.size(); }
  int local_size() const { return 2; }
  template <class Queue>
  auto all_reduce(Queue& queue, std::span<float> span) {
    return inner.all_reduce(queue, span);
  }
  template <class Queue>
  auto all_reduce(Queue& queue, std::span<double> span) {
    return inner.all_reduce(queue, span);
  }
  template <class Queue>
  auto broadcast(Queue& queue, std::span<std::byte> bytes, int root) {
    return inner.broadcast(queue, bytes, root);
  }
};

// The sums that the ranks get; they are the same on all.
template <class T>
std::vector<T> summed(int ranks, std::size_t count, const nccl::options& how) {
  std::vector<std::vector<T>> all(static_cast<std::size_t>(ranks));
  with_ranks(ranks, how, [&](nccl::rank& rank, cuda::queue& queue) {
    gpu_values<T> values(queue, numbers_of<T>(rank.rank(), count));
    rank.all_reduce(queue, values.span()).wait(queue);
    all[static_cast<std::size_t>(rank.rank())] = values.read(queue, rank);
  });
  for (const auto& one : all) CHECK(one == all[0]);
  return all[0];
}

} // namespace

TEST_CASE_TEMPLATE("nccl: sums in the order of the ranks have the bits of threads, for 2 to 8 ranks", T, float, double) {
  testing::begin(8);
  for (int ranks = 2; ranks <= 8; ++ranks)
    for (const std::size_t count : {0UL, 1UL, 17UL, 128UL, 1000UL, 4099UL}) {
      CAPTURE(ranks);
      CAPTURE(count);
      CHECK(summed<T>(ranks, count, in_order) == sum_in_order<T>(ranks, count));
    }
  CHECK(fake::nccl().refused == 0);
  CHECK(fake::nccl().reduced == 0);
  CHECK(fake::nccl().finalized == fake::nccl().joined);
  CHECK(fake::nccl().destroyed == fake::nccl().joined);
}

TEST_CASE("nccl: sums in an order of its own keep no promise for more than two ranks, and are the same on all ranks") {
  testing::begin(4);
  const std::vector<float> expected = sum_in_order<float>(4, 5000);
  const std::vector<float> first = summed<float>(4, 5000, as_nccl), second = summed<float>(4, 5000, as_nccl);
  CHECK(first != expected);
  CHECK(first != second);
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(first[i] == doctest::Approx(expected[i]).epsilon(1e-3));
  CHECK(summed<double>(2, 5000, as_nccl) == sum_in_order<double>(2, 5000));
  CHECK(fake::nccl().groups == 0);
  CHECK(fake::nccl().refused == 0);
}

TEST_CASE("nccl: ordered sums send the bytes of a ring, and need the scratch of a bucket") {
  testing::begin(4);
  constexpr std::size_t count = 64'000;
  std::atomic<std::size_t> before{0};
  with_ranks(4, in_order, [&](nccl::rank& rank, cuda::queue& queue) {
    gpu_values<float> values(queue, numbers_of<float>(rank.rank(), count));
    rank.reserve(count * sizeof(float));
    const std::byte own{};
    std::array<std::byte, 4> all{};
    rank.exchange({&own, 1}, all);
    if (rank.rank() == 0) before = fake::nccl().bytes;
    rank.exchange({&own, 1}, all);
    rank.all_reduce(queue, values.span()).wait(queue);
    values.read(queue, rank);
  });
  const std::size_t ring = 4 * 2 * 3 * count * sizeof(float) / 4; // of all ranks
  CHECK(fake::nccl().bytes - before == ring);
}

TEST_CASE("nccl: many calls in flight, waited for in any order, over spans of one buffer") {
  testing::begin(3);
  constexpr std::size_t calls = 100, count = 64;
  const std::vector<float> expected = sum_in_order<float>(3, calls * count);
  std::atomic<int> right{0};
  with_ranks(3, in_order, [&](nccl::rank& rank, cuda::queue& queue) {
    gpu_values<float> values(queue, numbers_of<float>(rank.rank(), calls * count));
    std::vector<nccl::rank::ticket> pending(calls);
    for (std::size_t i = 0; i < calls; ++i) pending[i] = rank.all_reduce(queue, values.span().subspan(i * count, count));
    for (std::size_t i = 0; i < calls; ++i) pending[rank.rank() == 1 ? calls - 1 - i : i].wait(queue);
    if (values.read(queue, rank) == expected) ++right;
  });
  CHECK(right == 3);
}

TEST_CASE("nccl: a call reads its span after what the queue holds, and what the queue gets later sees the sum") {
  testing::begin(2);
  std::atomic<int> right{0};
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    testing::begin(2, seed);
    with_ranks(2, in_order, [&](nccl::rank& rank, cuda::queue& queue) {
      const std::vector<float> ones(300, 1.0F), threes(300, 3.0F);
      gpu_values<float> values(queue, std::vector<float>(300, 9.0F));
      upload(queue, ones.size(), values.span().data(), ones.data());
      rank.all_reduce(queue, values.span()).wait(queue);
      std::vector<float> seen(300);
      download(queue, seen.size(), seen.data(), static_cast<const float*>(values.span().data()));
      upload(queue, threes.size(), values.span().data(), threes.data());
      testing::finish(queue, rank);
      if (seen == std::vector<float>(300, 2.0F)) ++right;
    });
  }
  CHECK(right == 10);
}

TEST_CASE("nccl: broadcast copies any bytes from any rank") {
  testing::begin(3);
  for (const std::size_t count : {0UL, 1UL, 8UL, 20'003UL}) {
    std::atomic<int> right{0};
    with_ranks(3, in_order, [&](nccl::rank& rank, cuda::queue& queue) {
      for (int root = 0; root < 3; ++root) {
        gpu_values<std::byte> bytes(queue, std::vector<std::byte>(count, static_cast<std::byte>(200 + rank.rank())));
        rank.broadcast(queue, bytes.span(), root).wait(queue);
        if (bytes.read(queue, rank) == std::vector<std::byte>(count, static_cast<std::byte>(200 + root))) ++right;
      }
      if (thrown_by<input_error>([&] { static_cast<void>(rank.broadcast(queue, {}, 3)); }) !=
          "nccl: broadcast from rank 3, but the ranks are 0 to 2")
        right = -100;
    });
    CHECK(right == 9);
  }
}

TEST_CASE("nccl: an exchange goes over the host's communicator, or from GPU to GPU without one") {
  testing::begin(3);
  const auto exchanges = [](nccl::rank& rank) {
    for (const std::size_t count : {1UL, 4096UL, 10'001UL}) {
      const std::vector<std::byte> own(count, static_cast<std::byte>(7 + rank.rank()));
      std::vector<std::byte> all(3 * count);
      rank.exchange(own, all);
      for (std::size_t i = 0; i < all.size(); ++i)
        if (all[i] != static_cast<std::byte>(7 + i / count)) return false;
    }
    std::array<std::byte, 2> few{};
    return thrown_by<input_error>([&] { rank.exchange({few.data(), 1}, few); }).starts_with("nccl: exchange");
  };
  std::atomic<int> right{0};
  with_ranks(3, in_order, [&](nccl::rank& rank, cuda::queue&) { right += exchanges(rank) ? 1 : 0; });
  CHECK(right == 3);
  const std::size_t gathered = fake::nccl().gathered;

  testing::begin(3); // as processes without a communicator of the host
  REQUIRE(::setenv("NCCL_COMM_ID", "localhost:29501", 1) == 0);
  threads{3}.run([&](threads::rank& host) {
    nccl::rank rank(launch{.rank = host.rank(), .size = 3, .local_rank = host.rank(), .local_size = 3});
    CHECK(rank.sums() == nccl::order::fixed);
    right += exchanges(rank) ? 1 : 0;
  });
  ::unsetenv("NCCL_COMM_ID");
  CHECK(right == 6);
  CHECK(fake::nccl().gathered > gathered);
  CHECK(fake::nccl().refused == 0);
}

TEST_CASE("nccl: one rank is the identity, and NCCL is not called") {
  testing::begin(1);
  loopback{}.run([](loopback::rank& host) {
    nccl::rank rank(host);
    cuda::queue queue(0, false);
    gpu_values<float> values(queue, numbers_of<float>(0, 100));
    rank.reserve(1000);
    auto pending = rank.all_reduce(queue, values.span());
    CHECK(pending.over());
    pending.wait(queue);
    auto sent = rank.broadcast(queue, std::as_writable_bytes(values.span()), 0);
    sent.wait(queue);
    CHECK(values.read(queue, rank) == numbers_of<float>(0, 100));
    std::array<std::byte, 1> got{};
    const std::byte own{5};
    rank.exchange({&own, 1}, got);
    CHECK(got[0] == own);
    rank.check();
    CHECK(rank.size() == 1);
  });
  CHECK(fake::nccl().joined == 0);
}

TEST_CASE("nccl: a ticket says whether its call is over, and an empty one waits for nothing") {
  testing::begin(2);
  with_ranks(2, in_order, [](nccl::rank& rank, cuda::queue& queue) {
    nccl::rank::ticket none;
    CHECK(none.over());
    none.wait(queue);
    gpu_values<float> values(queue, numbers_of<float>(rank.rank(), 1000));
    auto pending = rank.all_reduce(queue, values.span());
    const nccl::rank::ticket moved_from(std::move(none));
    while (!pending.over()) rank.check();
    pending.wait(queue);
    CHECK(pending.over());
    CHECK(values.read(queue, rank) == sum_in_order<float>(2, 1000));
  });
}

TEST_CASE("nccl: a call of a step allocates nothing, once the largest one is known") {
  testing::begin(2);
  std::atomic<std::size_t> allocations{0};
  with_ranks(2, in_order, [&](nccl::rank& rank, cuda::queue& queue) {
    gpu_values<float> values(queue, numbers_of<float>(rank.rank(), 20'000));
    rank.reserve(20'000 * sizeof(float));
    std::array<std::byte, 2> all{};
    const std::byte own{};
    rank.exchange({&own, 1}, all);
    if (rank.rank() == 0) allocations = fake::counted().allocations;
    rank.exchange({&own, 1}, all);
    for (int step = 0; step < 5; ++step) rank.all_reduce(queue, values.span()).wait(queue);
    testing::finish(queue, rank);
    rank.exchange({&own, 1}, all);
    if (rank.rank() == 0) allocations = fake::counted().allocations - allocations;
    rank.exchange({&own, 1}, all);
  });
  CHECK(allocations == 0);
}

TEST_CASE("nccl: the order of sums is that of the ranks for up to 8 ranks of one machine") {
  testing::begin(9);
  const auto chosen = [](int ranks, const nccl::options& how) {
    std::string called;
    with_ranks(ranks, how, [&](nccl::rank& rank, cuda::queue&) {
      if (rank.rank() == 0) called = rank.called();
    });
    return called;
  };
  CHECK(chosen(8, {}) == "nccl, which adds in the order of the ranks");
  CHECK(chosen(9, {}) == "nccl, which adds in an order of its own");
  CHECK(chosen(2, as_nccl) == "nccl, which adds in an order of its own");
  CHECK(chosen(9, in_order) == "nccl, which adds in the order of the ranks");

  // Of two machines with two ranks each, a rank's GPU is that of its number there.
  threads{4}.run([](threads::rank& host) {
    of_two_machines own{host};
    any_rank any(own); // a communicator without exchange, too
    const nccl::rank rank(any, {.ordinal = host.rank()});
    CHECK(rank.sums() == nccl::order::nccl);
    CHECK(rank.local_rank() == host.rank() % 2);
    CHECK(rank.local_size() == 2);
    CHECK(rank.ordinal() == host.rank());
  });
}

TEST_CASE("nccl: options that make no sense are refused, and GPUs that are not there") {
  testing::begin(2);
  loopback::rank host;
  CHECK(thrown_by<input_error>([&] { nccl::rank(host, {.deadline = 0ms}); }) ==
        "nccl: the deadline and the long deadline must be 1 ms or more");
  CHECK(thrown_by<input_error>([&] { nccl::rank(host, {.max_in_flight = 0}); }) ==
        "nccl: max_in_flight is 0, but must be 1 or more");
  CHECK(thrown_by<input_error>([&] {
          nccl::rank(host, {.ordinal = 2});
        }).starts_with("nccl: rank 0 of 1: expected a GPU with the ordinal 2, found 2 GPUs on its machine"));
  CHECK(thrown_by([] { with_ranks(3, {}, [](nccl::rank&, cuda::queue&) {}); }).find("found 2 GPUs on its machine") !=
        std::string::npos);
  fake::gpus(0);
  CHECK(thrown_by<device_error>([&] { nccl::rank{host}; }).starts_with("cuda: expected a GPU, found none"));
}

TEST_CASE("nccl: too many calls in flight, and a queue of another GPU, are errors after which calls are served") {
  testing::begin(2);
  std::atomic<int> right{0};
  with_ranks(2, {.sums = nccl::order::fixed, .max_in_flight = 2}, [&](nccl::rank& rank, cuda::queue& queue) {
    cuda::queue other(1 - rank.ordinal(), false);
    gpu_values<float> values(queue, numbers_of<float>(rank.rank(), 100));
    if (thrown_by<input_error>([&] {
          static_cast<void>(rank.all_reduce(other, values.span()));
        }).find("expected a queue of its GPU") != std::string::npos)
      ++right;
    std::array<std::byte, 2> all{};
    const std::byte own{};
    if (rank.rank() == 1) rank.exchange({&own, 1}, all); // its calls come later, so that those of rank 0 stay open
    auto first = rank.all_reduce(queue, values.span());
    auto second = rank.all_reduce(queue, values.span());
    if (rank.rank() == 0) {
      if (thrown_by<input_error>([&] {
            static_cast<void>(rank.all_reduce(queue, values.span()));
          }).find("it cannot start, because 2 calls are in flight") != std::string::npos)
        ++right;
      rank.exchange({&own, 1}, all);
    }
    first.wait(queue);
    second.wait(queue);
    testing::finish(queue, rank);
    rank.all_reduce(queue, values.span()).wait(queue);
    values.read(queue, rank);
  });
  CHECK(right == 3);
}

} // namespace nccl_rank_tests
