// SPDX-License-Identifier: MIT
#include <cstddef>
#include <string>

#include <doctest/doctest.h>

#include <cairn/plan/fingerprint.hpp>

namespace fingerprint_tests {

using namespace cairn;
using namespace cairn::detail;

TEST_CASE("fingerprint: the hash is FNV-1a, and takes order and length to heart") {
  // The hash of eight zero bytes by the definition: the offset basis, multiplied by the prime eight times.
  constexpr std::uint64_t prime = 0x100000001B3U;
  constexpr std::uint64_t zeros = [] {
    std::uint64_t h = 0xCBF29CE484222325U;
    for (int i = 0; i < 8; ++i) h *= prime;
    return h;
  }();
  static_assert(hash64{}.add(std::uint64_t{0}).value() == zeros);
  static_assert(hash64{}.value() == 0xCBF29CE484222325U);
  static_assert(hash64{}.add(1).add(2).value() != hash64{}.add(2).add(1).value());
  static_assert(hash64{}.add("ab").add("c").value() != hash64{}.add("a").add("bc").value());
  static_assert(hash64{}.add("").value() != hash64{}.value());
  static_assert(hash64{}.add(std::uint64_t{1} << 63U).value() != hash64{}.add(0).value());
  CHECK(hash64{}.add("cairn").value() == hash64{}.add(std::string("cairn")).value());
}

TEST_CASE("fingerprint: every part counts, and the first that differs is named") {
  const fingerprint here{{1, 2, 3, 4, 5}};
  CHECK(here.differs(here) == fingerprint::parts);
  for (std::size_t part = 0; part < fingerprint::parts; ++part) {
    for (std::size_t bit = 0; bit < 64; ++bit) {
      fingerprint there = here;
      there.words[part] ^= std::uint64_t{1} << bit;
      CHECK(there.value() != here.value());
      CHECK(there != here);
      CHECK(here.differs(there) == part);
      CHECK(there.differs(here) == part);
    }
    CHECK(std::string(fingerprint::names[part]).size() > 5);
  }
  fingerprint swapped = here;
  std::swap(swapped.words[0], swapped.words[1]);
  CHECK(swapped.value() != here.value());
  CHECK(here.differs(swapped) == 0);
}

} // namespace fingerprint_tests
