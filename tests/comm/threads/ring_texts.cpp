// SPDX-License-Identifier: MIT
// under the thread sanitizer
#include <chrono>
#include <string>
#include <vector>

#include <cairn/comm/threads/ring_texts.hpp>
#include <doctest/doctest.h>

namespace ring_texts_tests {

using namespace cairn;
using detail::rank_call;
using namespace std::chrono_literals;

TEST_CASE("ring_texts: ranks are counted from 0 and calls from 1") {
  detail::call_ring calls(3, 4);
  const detail::ring_texts texts(calls);
  std::vector<float> span(8);
  rank_call sum{rank_call::kind::sum_float, 0, span.data(), span.size()};
  sum.purpose = {.word = "step", .number = 31};
  calls.post(0, sum);
  CHECK(texts.rank(2) == "threads: rank 2 of 3");
  CHECK(texts.prefix(0, 0, sum) == "threads: rank 0 of 3, call 1, all_reduce of 8 float: ");
  CHECK(texts.late(0, 20ms) == "call 1 was not started by rank 1 (0 calls started), rank 2 (0 calls started) within 20 ms");
  CHECK(texts.waits(0, 0) == "threads: rank 0 of 3 waits in all_reduce of 8 float (step 31) for rank 1 (0 calls started), rank 2 "
                             "(0 calls started)");
  CHECK(texts.away(1, true, 0, 0) == "rank 1 returned after 0 calls, but rank 0 has started call 1");
  CHECK(texts.away(1, false, 0, 0) == "rank 1 recovers after 0 calls, but rank 0 has started call 1");
  calls.post(1, {rank_call::kind::broadcast, 2, span.data(), 8, nullptr, nullptr, {.word = "save_state"}});
  calls.post(2, sum);
  CHECK(texts.late(0, 20ms) == "call 1 was started by all ranks, but was not over within 20 ms");
  CHECK(texts.different(0) == "the ranks make different calls: call 1 is all_reduce of 8 float (step 31) on ranks 0 and 2, but "
                              "broadcast of 8 bytes from rank 2 (save_state) on rank 1");
}

} // namespace ring_texts_tests
