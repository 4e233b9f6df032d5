// SPDX-License-Identifier: MIT
#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include <cairn/comm/mpi/message_board.hpp>
#include <cairn/core/error.hpp>
#include <doctest/doctest.h>

namespace message_board_tests {

using namespace cairn;
using detail::message_board;
using detail::rank_call;
using namespace std::chrono_literals;

TEST_CASE("a board of one rank: every call is over when it has started") {
  message_board board({.deadline = 1s, .max_in_flight = 2});
  std::vector<float> span(3, 1);
  for (std::uint64_t call = 0; call < 5; ++call) {
    CHECK(board.start({rank_call::kind::sum_float, 0, span.data(), span.size()}) == call);
    CHECK(board.over(call));
    board.wait(call);
    board.drop(call);
  }
  CHECK(span == std::vector<float>(3, 1));
  const std::vector<std::byte> own(4, std::byte{9});
  std::vector<std::byte> all(4);
  board.wait(board.start({rank_call::kind::exchange, 0, all.data(), 4, own.data()}));
  CHECK(all == own);
  board.reserve(1000);
  board.check();
}

TEST_CASE("the first failure of a board wins, and each kind is an error of its own") {
  using kind = message_board::fault_kind;
  const auto failed = [](kind first) {
    message_board board({.deadline = 1s, .max_in_flight = 2});
    board.fail(first, "the first");
    board.fail(kind::lost, "the second");
    std::string text;
    try {
      static_cast<void>(board.start({}));
    } catch (const error& thrown) {
      text = thrown.what();
      CHECK(text.find("call 1, broadcast of 0 bytes from rank 0: it cannot start, because the first") != std::string::npos);
      throw;
    }
  };
  CHECK_THROWS_AS(failed(kind::lost), rank_lost);
  CHECK_THROWS_AS(failed(kind::late), deadline_error);
  CHECK_THROWS_AS(failed(kind::different), input_error);
}

} // namespace message_board_tests
