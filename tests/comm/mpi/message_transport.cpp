// SPDX-License-Identifier: MIT
#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include <cairn/comm/mpi/message_transport.hpp>
#include <doctest/doctest.h>

#include "fake_wire.hpp"

namespace message_transport_tests {

using namespace cairn::detail;
using testing::wire;
using testing::wire_transport;

namespace {

struct without_cancel : wire_transport {
  void cancel(request&) = delete;
};
struct sums_too : wire_transport {
  void sum(request&, std::span<float>) {}
};
static_assert(message_transport<sums_too> && sums_itself<sums_too>);
static_assert(!message_transport<without_cancel> && !message_transport<int> && !sums_itself<wire_transport>);

} // namespace

TEST_CASE("the wire of the tests keeps a transport's promises") {
  wire all(2, 3);
  wire_transport a(all, 0), b(all, 1);
  std::byte first{1}, second{2};
  std::byte got{0}, more{0};
  wire_transport::request sent[2], received[2];
  a.send(sent[0], 1, 20, &first, 1);
  a.send(sent[1], 1, 20, &second, 1);
  while (!b.probe(any_rank_sends, 20)) continue;
  CHECK_FALSE(b.probe(any_rank_sends, 21).has_value());
  CHECK_FALSE(b.probe(1, 20).has_value());
  b.receive(received[0], 0, 20, &got, 1);
  b.receive(received[1], 0, 20, &more, 1);
  finished_request over[2];
  for (std::size_t count = 0; count < 2;) count += b.finished(received, over);
  CHECK(got == first); // in the order in which they were sent
  CHECK(more == second);
  CHECK(a.finished(sent, over) == 2);
  CHECK_FALSE(a.is_open(sent[0]));
}

} // namespace message_transport_tests
