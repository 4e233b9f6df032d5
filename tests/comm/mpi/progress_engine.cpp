// SPDX-License-Identifier: MIT
#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include <cairn/comm/mpi/progress_engine.hpp>
#include <cairn/core/error.hpp>
#include <doctest/doctest.h>

namespace progress_engine_tests {

using namespace cairn;
using detail::progress_engine;
using detail::rank_call;
using namespace std::chrono_literals;

TEST_CASE("progress_engine: of one rank: every call is over when it has started") {
  progress_engine engine({.deadline = 1s, .max_in_flight = 2}, "test");
  std::vector<float> span(3, 1);
  for (std::uint64_t call = 0; call < 5; ++call) {
    CHECK(engine.start({rank_call::kind::sum_float, 0, span.data(), span.size()}) == call);
    CHECK(engine.over(call));
    engine.wait(call);
    engine.drop(call);
  }
  CHECK(span == std::vector<float>(3, 1));
  const std::vector<std::byte> own(4, std::byte{9});
  std::vector<std::byte> all(4);
  engine.wait(engine.start({rank_call::kind::exchange, 0, all.data(), 4, own.data()}));
  CHECK(all == own);
  engine.reserve(1000);
  engine.check();
}

TEST_CASE("progress_engine: the first failure wins, and each kind is an error of its own") {
  using kind = progress_engine::fault_kind;
  const auto failed = [](kind first) {
    progress_engine engine({.deadline = 1s, .max_in_flight = 2}, "test");
    engine.fail(first, "the first");
    engine.fail(kind::lost, "the second");
    std::string text;
    try {
      static_cast<void>(engine.start({}));
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

} // namespace progress_engine_tests
