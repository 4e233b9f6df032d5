// SPDX-License-Identifier: MIT
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include <cairn/data/checksum.hpp>
#include <doctest/doctest.h>

namespace checksum_tests {

using namespace cairn::detail;

TEST_CASE("checksum: it sees every bit, and where it is") {
  std::vector<std::byte> bits(4096);
  std::set<std::uint64_t> seen{quick_checksum(bits)};
  std::size_t tried = 1;
  for (std::size_t at = 0; at < bits.size(); at += 7)
    for (const unsigned bit : {1U, 128U}) {
      bits[at] = static_cast<std::byte>(bit);
      seen.insert(quick_checksum(bits));
      bits[at] = std::byte{0};
      ++tried;
    }
  CHECK(seen.size() == tried);
}

TEST_CASE("checksum: bytes at the end that fill no block count, and how many there are") {
  std::vector<std::byte> bits(200);
  std::set<std::uint64_t> seen;
  for (std::size_t size = 0; size <= bits.size(); ++size) seen.insert(quick_checksum(std::span{bits}.first(size)));
  CHECK(seen.size() == bits.size() + 1);
  bits[199] = std::byte{1};
  CHECK_FALSE(seen.contains(quick_checksum(bits)));
}

TEST_CASE("checksum: in pieces as in one") {
  std::vector<std::byte> bits(1000);
  for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<std::byte>(i * 31);
  quick_hash pieces;
  pieces.add(std::span{bits}.first(64));
  pieces.add(std::span{bits}.subspan(64, 640));
  pieces.add(std::span{bits}.subspan(704));
  CHECK(pieces.value() == quick_checksum(bits));
}

} // namespace checksum_tests
