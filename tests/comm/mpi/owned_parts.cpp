// SPDX-License-Identifier: MIT
#include <cstddef>
#include <cstdint>

#include <cairn/comm/mpi/owned_parts.hpp>
#include <doctest/doctest.h>

namespace owned_parts_tests {

using cairn::detail::owned_parts;

TEST_CASE("parts cover a span once, in order of their owners, and begin at lines") {
  for (const std::size_t ranks : {1U, 2U, 3U, 5U, 64U})
    for (const std::size_t element : {1U, 4U, 8U})
      for (const std::size_t count : {0U, 1U, 15U, 16U, 17U, 1000U, 4096U, 100'003U, 1'000'000U})
        for (const std::uint64_t call : {0U, 1U, 7U}) {
          CAPTURE(ranks);
          CAPTURE(element);
          CAPTURE(count);
          CAPTURE(call);
          const owned_parts parts(count, element, ranks, call);
          std::size_t covered = 0, owners = 0;
          bool starts_at_lines = true, is_small_enough = true;
          for (std::size_t i = 0; i < ranks; ++i) {
            const std::size_t rank = (call + i) % ranks;
            owners += parts.owns(rank) ? 1 : 0;
            if (parts.owns(rank)) {
              CHECK(parts.begin(rank) == covered);
              covered = parts.end(rank);
            } else {
              CHECK(parts.begin(rank) == parts.end(rank));
            }
            starts_at_lines = starts_at_lines && (parts.begin(rank) * element % 64 == 0 || !parts.owns(rank));
            is_small_enough = is_small_enough &&
                              (parts.end(rank) - parts.begin(rank)) * element <= owned_parts::most_bytes(count * element, ranks);
          }
          CHECK(covered == count);
          CHECK(owners == parts.owners);
          CHECK(owners >= 1);
          CHECK(starts_at_lines);
          CHECK(is_small_enough);
        }
}

TEST_CASE("a small span has one owner, and the calls take turns") {
  for (std::uint64_t call = 0; call < 6; ++call) {
    const owned_parts parts(100, 4, 3, call);
    CHECK(parts.owners == 1);
    CHECK(parts.owns(static_cast<std::size_t>(call % 3)));
  }
  CHECK(owned_parts(4096, 4, 3, 0).owners == 3);
}

TEST_CASE("each rank owns about its share") {
  static_assert(owned_parts(1'000'000, 4, 4, 0).each == 250'000);
  static_assert(owned_parts::most_bytes(4'000'000, 4) <= 1'000'128);
  static_assert(owned_parts::most_bytes(100, 4) == 100);
}

} // namespace owned_parts_tests
