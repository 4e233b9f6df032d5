// SPDX-License-Identifier: MIT
// under the thread sanitizer
#include <chrono>
#include <cstddef>
#include <cstring>
#include <string>

#include <cairn/comm/mpi/message_news.hpp>
#include <cairn/core/error.hpp>
#include <doctest/doctest.h>

#include "fake_wire.hpp"

namespace message_news_tests {

using namespace cairn;
using detail::rank_news;
using testing::wire;
using testing::wire_transport;

TEST_CASE("news reaches all other ranks, one after another, and a long text is cut") {
  wire all(3, 5);
  wire_transport a(all, 0), b(all, 1), c(all, 2);
  detail::message_news<wire_transport> of_a(a), of_b(b), of_c(c);
  CHECK_FALSE(of_b.look().has_value());
  rank_news failed;
  failed.what = rank_news::kind::failed;
  failed.calls = 7;
  failed.say(std::string(5000, 'x'));
  rank_news left;
  left.calls = 9;
  left.threw = 1;
  left.say("out of memory");
  of_a.send(failed);
  of_a.send(left);
  for (auto* of : {&of_b, &of_c}) {
    std::optional<detail::message_news<wire_transport>::from_rank> found;
    while (!(found = of->look())) continue;
    CHECK(found->rank == 0);
    CHECK(found->news.what == rank_news::kind::failed);
    CHECK(found->news.calls == 7);
    CHECK(std::strlen(found->news.text.data()) == found->news.text.size() - 1);
    while (!(found = of->look())) continue;
    CHECK(found->news.what == rank_news::kind::left);
    CHECK(found->news.threw == 1);
    CHECK(std::string(found->news.text.data()) == "out of memory");
    CHECK_FALSE(of->look().has_value());
  }
  of_a.settle(std::chrono::milliseconds(10));
}

TEST_CASE("what is no news is an error that names its sender") {
  wire all(2);
  wire_transport a(all, 0), b(all, 1);
  detail::message_news<wire_transport> of_b(b);
  const std::byte word{1};
  wire_transport::request sent;
  a.send(sent, 1, detail::message_news<wire_transport>::tag, &word, 1);
  CHECK_THROWS_WITH_AS(
      [&] {
        while (!of_b.look()) continue;
      }(),
      doctest::Contains("rank 0 sent 1 bytes of news"), error);
}

} // namespace message_news_tests
