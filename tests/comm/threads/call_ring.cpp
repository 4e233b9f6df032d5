// SPDX-License-Identifier: MIT
// under the thread sanitizer
#include <cstddef>
#include <vector>

#include <cairn/comm/threads/call_ring.hpp>
#include <doctest/doctest.h>

namespace call_ring_tests {

using cairn::detail::call_ring;
using cairn::detail::rank_call;

namespace {

rank_call sum_of(std::vector<float>& values) { return {rank_call::kind::sum_float, 0, values.data(), values.size()}; }

constexpr std::size_t piece_floats = call_ring::piece_bytes / sizeof(float);

} // namespace

TEST_CASE("call_ring: a call is ready when the last rank has posted it, and over with its last piece") {
  call_ring ring(3, 4);
  std::vector<float> values(2 * piece_floats + 1);
  CHECK_FALSE(ring.post(2, sum_of(values)));
  CHECK_FALSE(ring.post(0, sum_of(values)));
  CHECK_FALSE(ring.has_piece());
  CHECK(ring.post(1, sum_of(values)));
  CHECK(ring.publish(0) == 3);
  CHECK(ring.has_piece());
  CHECK_FALSE(ring.has_piece(0));

  call_ring::piece pieces[3];
  for (auto& piece : pieces) REQUIRE(ring.take(1, piece));
  CHECK_FALSE(ring.take(1, pieces[0]));
  CHECK(pieces[0].first == 0);
  CHECK(pieces[1].first == pieces[0].last);
  CHECK(pieces[2].first == pieces[1].last);
  CHECK(pieces[2].last == values.size());
  CHECK_FALSE(ring.finish(pieces[2]));
  CHECK_FALSE(ring.finish(pieces[0]));
  CHECK_FALSE(ring.over(0));
  CHECK(ring.finish(pieces[1]));
  CHECK(ring.over(0));
  CHECK_FALSE(ring.over(1));
}

TEST_CASE("call_ring: calls are taken in their order, and not beyond the end that was asked for") {
  call_ring ring(1, 4);
  std::vector<float> values(1);
  for (std::size_t call = 0; call < 3; ++call) {
    CHECK(ring.post(0, sum_of(values)));
    ring.publish(call);
  }
  call_ring::piece piece;
  for (std::size_t call = 0; call < 2; ++call) {
    REQUIRE(ring.take(2, piece));
    CHECK(piece.call == call);
  }
  CHECK_FALSE(ring.take(2, piece));
  CHECK(ring.take(3, piece));
}

TEST_CASE("call_ring: a slot is free again when its call is over") {
  call_ring ring(1, 2);
  std::vector<float> values(1);
  for (std::size_t call = 0; call < 10; ++call) {
    CHECK(ring.has_room(call));
    CHECK(ring.started(0) == call);
    ring.post(0, sum_of(values));
    ring.publish(call);
    CHECK_FALSE(ring.has_room(call + 2));
    call_ring::piece piece;
    REQUIRE(ring.take(call + 1, piece));
    ring.carry_out(piece);
    CHECK(ring.finish(piece));
    CHECK(ring.over(call));
  }
}

TEST_CASE("call_ring: an empty call has one piece, so that it can be over") {
  call_ring ring(1, 2);
  ring.post(0, {rank_call::kind::broadcast, 0, nullptr, 0});
  CHECK(ring.publish(0) == 1);
  call_ring::piece piece;
  REQUIRE(ring.take(1, piece));
  ring.carry_out(piece);
  CHECK(ring.finish(piece));
}

TEST_CASE("call_ring: the pieces of an exchange together are what every rank gives, for every rank") {
  call_ring ring(2, 2);
  const std::size_t count = call_ring::piece_bytes + 5;
  const std::vector<char> given[2]{std::vector<char>(count, 'a'), std::vector<char>(count, 'b')};
  std::vector<char> got[2]{std::vector<char>(2 * count), std::vector<char>(2 * count)};
  for (const int rank : {0, 1}) ring.post(rank, {rank_call::kind::exchange, 0, got[rank].data(), count, given[rank].data()});
  REQUIRE(ring.publish(0) == 2);
  call_ring::piece piece;
  while (ring.take(1, piece)) ring.carry_out(piece);
  std::vector<char> expected = given[0];
  expected.insert(expected.end(), given[1].begin(), given[1].end());
  CHECK(got[0] == expected);
  CHECK(got[1] == expected);
}

} // namespace call_ring_tests
