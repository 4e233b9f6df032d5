// SPDX-License-Identifier: MIT
// under the thread sanitizer
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <cairn/comm/mpi/message_call.hpp>
#include <cairn/core/error.hpp>
#include <doctest/doctest.h>

#include "fake_wire.hpp"

namespace message_call_tests {

using namespace cairn;
using detail::rank_call;
using testing::wire;
using testing::wire_transport;

namespace {

using call_of_wire = detail::message_call<wire_transport>;

// The calls of all ranks; one thread moves them on in turn.
struct ranks_in_turn {
  wire all;
  std::vector<std::unique_ptr<wire_transport>> transports;
  std::vector<std::unique_ptr<call_of_wire>> calls;

  ranks_in_turn(int count, std::uint64_t seed, std::size_t most_bytes = 1 << 20) : all(count, seed, most_bytes) {
    for (int rank = 0; rank < count; ++rank) {
      transports.push_back(std::make_unique<wire_transport>(all, rank));
      calls.push_back(std::make_unique<call_of_wire>(*transports.back()));
    }
  }
  // Moves all calls on; returns whether all are over within `looks` rounds.
  bool run(int looks = 10'000) {
    for (bool any = true; any && looks > 0; --looks) {
      any = false;
      for (auto& call : calls)
        if (call->is_open()) {
          call->progress();
          any = any || call->is_open();
        }
    }
    return looks > 0;
  }
};

detail::call_stretch whole(std::uint64_t number, std::size_t count) { return {number, number, 0, count}; }

template <class T>
std::vector<T> numbers(int rank, std::size_t count, std::uint64_t call) {
  std::vector<T> out(count);
  for (std::size_t i = 0; i < count; ++i) // sums that are rounded, so that another order has other bits
    out[i] = static_cast<T>(1) / static_cast<T>(1 + (i * 7 + static_cast<std::size_t>(rank) * 31 + call) % 1009);
  return out;
}

template <class T>
void check_sum(int ranks, std::size_t count, std::uint64_t number, std::uint64_t seed, std::size_t most_bytes) {
  CAPTURE(ranks);
  CAPTURE(count);
  CAPTURE(most_bytes);
  ranks_in_turn job(ranks, seed, most_bytes);
  std::vector<std::vector<T>> spans;
  std::vector<T> expected = numbers<T>(0, count, number);
  for (int rank = 0; rank < ranks; ++rank) spans.push_back(numbers<T>(rank, count, number));
  for (int rank = 1; rank < ranks; ++rank)
    for (std::size_t i = 0; i < count; ++i) expected[i] += spans[static_cast<std::size_t>(rank)][i];
  constexpr auto what = sizeof(T) == 4 ? rank_call::kind::sum_float : rank_call::kind::sum_double;
  for (std::size_t rank = 0; rank < spans.size(); ++rank)
    job.calls[rank]->begin({what, 0, spans[rank].data(), count}, whole(number, count), false);
  REQUIRE(job.run());
  for (const auto& span : spans) CHECK((count == 0 || std::memcmp(span.data(), expected.data(), count * sizeof(T)) == 0));
  CHECK(job.all.on_the_way.empty());
  CHECK(job.all.wanted.empty());
}

} // namespace

TEST_CASE("a sum has the bits of the sum in the order of the ranks, on every rank") {
  std::uint64_t seed = 0;
  for (const int ranks : {2, 3, 4, 5})
    for (const std::size_t count : {0U, 1U, 16U, 999U, 1024U, 5000U, 20'000U})
      for (const std::uint64_t number : {0U, 1U, 5U}) {
        check_sum<float>(ranks, count, number, ++seed, 1 << 20);
        check_sum<double>(ranks, count, number, ++seed, 1 << 20);
        check_sum<float>(ranks, count, number, ++seed, 1000); // cut into messages
      }
}

TEST_CASE("a broadcast gives the root's bytes to all, and writes nothing of its own") {
  std::uint64_t seed = 100;
  for (const int ranks : {2, 3, 5})
    for (const std::size_t count : {0U, 1U, 100U, 5000U, 40'000U})
      for (int root = 0; root < ranks; ++root)
        for (const std::size_t most_bytes : {std::size_t{1} << 20, std::size_t{1000}}) {
          CAPTURE(ranks);
          CAPTURE(count);
          CAPTURE(root);
          ranks_in_turn job(ranks, ++seed, most_bytes);
          std::vector<std::vector<std::byte>> spans;
          for (int rank = 0; rank < ranks; ++rank) {
            spans.emplace_back(count);
            for (std::size_t i = 0; i < count; ++i)
              spans.back()[i] = static_cast<std::byte>((i + static_cast<std::size_t>(rank) * 77) % 251);
          }
          const auto expected = spans[static_cast<std::size_t>(root)];
          for (std::size_t rank = 0; rank < spans.size(); ++rank)
            job.calls[rank]->begin({rank_call::kind::broadcast, root, spans[rank].data(), count}, whole(3, count), false);
          REQUIRE(job.run());
          for (const auto& span : spans) CHECK(span == expected);
        }
}

TEST_CASE("an exchange gives every rank what every rank has") {
  for (const int ranks : {2, 3, 5})
    for (const std::size_t count : {0U, 1U, 48U, 7000U}) {
      CAPTURE(ranks);
      CAPTURE(count);
      ranks_in_turn job(ranks, 9, 1000);
      std::vector<std::vector<std::byte>> own, all;
      std::vector<std::byte> expected;
      for (int rank = 0; rank < ranks; ++rank) {
        own.emplace_back(count, static_cast<std::byte>(rank + 1));
        all.emplace_back(count * static_cast<std::size_t>(ranks));
        expected.insert(expected.end(), own.back().begin(), own.back().end());
      }
      for (std::size_t rank = 0; rank < own.size(); ++rank)
        job.calls[rank]->begin({rank_call::kind::exchange, 0, all[rank].data(), count, own[rank].data()}, whole(3, count), false);
      REQUIRE(job.run());
      for (const auto& found : all) CHECK(found == expected);
    }
}

TEST_CASE("spans of different sizes are found by what is received, on one rank at least") {
  for (const std::size_t other : {999U, 1001U, 2000U, 20'000U}) {
    CAPTURE(other);
    ranks_in_turn job(2, 4);
    std::vector<float> a(1000), b(other);
    job.calls[0]->begin({rank_call::kind::sum_float, 0, a.data(), a.size()}, whole(0, a.size()), false);
    job.calls[1]->begin({rank_call::kind::sum_float, 0, b.data(), b.size()}, whole(0, b.size()), false);
    CHECK_THROWS_AS(job.run(), input_error);
  }
}

TEST_CASE("another kind of call with the same number is found while its message waits") {
  ranks_in_turn job(2, 4);
  std::vector<float> a(1000);
  std::vector<std::byte> b(4000);
  job.calls[0]->begin({rank_call::kind::sum_float, 0, a.data(), a.size()}, whole(0, a.size()), false);
  CHECK(job.calls[0]->one_that_differs() == 2);
  job.calls[1]->begin({rank_call::kind::exchange, 0, b.data(), 2000, b.data()}, whole(0, 2000), false);
  CHECK_FALSE(job.run(100));
  CHECK(job.calls[0]->waits_for(1));
  CHECK(job.calls[0]->one_that_differs() == 1);
}

TEST_CASE("calls of different numbers cannot mix") {
  ranks_in_turn job(2, 4);
  std::vector<float> a(1000, 1), b(1000, 2);
  job.calls[0]->begin({rank_call::kind::sum_float, 0, a.data(), a.size()}, whole(0, a.size()), false);
  job.calls[1]->begin({rank_call::kind::sum_float, 0, b.data(), b.size()}, whole(1, b.size()), false);
  CHECK_FALSE(job.run(100));
  CHECK(a == std::vector<float>(1000, 1));
}

TEST_CASE("after give_up nothing is written to the memory of the call any more") {
  ranks_in_turn job(2, 4);
  std::vector<float> a(40'000, 1), b(40'000, 2);
  job.calls[0]->begin({rank_call::kind::sum_float, 0, a.data(), a.size()}, whole(0, a.size()), false);
  job.calls[0]->give_up();
  CHECK_FALSE(job.calls[0]->is_open());
  a = std::vector<float>(); // a rank that still took part of it would read freed memory
  job.calls[1]->begin({rank_call::kind::sum_float, 0, b.data(), b.size()}, whole(0, b.size()), false);
  CHECK_FALSE(job.run(100));
  CHECK(job.calls[1]->is_open());
}

TEST_CASE("a long call is cut into stretches that cover it once, and an exchange is whole") {
  for (const auto what : {rank_call::kind::sum_float, rank_call::kind::sum_double, rank_call::kind::broadcast})
    for (const std::size_t count : {0U, 1U, 65'536U, 131'072U, 1'000'003U}) {
      const rank_call asked{what, 0, nullptr, count};
      std::size_t covered = 0;
      for (bool is_last = false; !is_last;) {
        const auto next = detail::call_stretch::next_of(asked, 2, covered);
        CHECK(next.first == covered);
        CHECK(next.count * asked.element_bytes() <= 2 * detail::call_stretch::part_bytes);
        covered += next.count;
        is_last = next.is_last;
        CHECK((is_last || next.count > 0));
      }
      CHECK(covered == count);
    }
  CHECK(detail::call_stretch::next_of({rank_call::kind::exchange, 0, nullptr, 10'000'000}, 2, 0).is_last);
}

TEST_CASE("what was reserved is enough: a call of that size allocates nothing of its own") {
  ranks_in_turn job(3, 4);
  for (auto& call : job.calls) call->reserve(40'000);
  std::vector<std::vector<float>> spans(3, std::vector<float>(10'000, 1));
  for (std::size_t rank = 0; rank < 3; ++rank) {
    const std::size_t before = job.calls[rank]->reserved();
    job.calls[rank]->begin({rank_call::kind::sum_float, 0, spans[rank].data(), 10'000}, whole(0, 10'000), false);
    CHECK(job.calls[rank]->reserved() == before);
  }
  REQUIRE(job.run());
}

} // namespace message_call_tests
