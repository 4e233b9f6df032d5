// SPDX-License-Identifier: MIT
#include <cairn/data/text/character_kind.hpp>

#include <cstddef>
#include <cstdint>

#include <doctest/doctest.h>

namespace character_kind_tests {

using namespace cairn;
using detail::character_kind;
using detail::kind_of;

TEST_CASE("character_kind: all letters and numbers of Unicode, as Python's unicodedata has them") {
  std::size_t letters = 0, numbers = 0, spaces = 0, wrong = 0;
  std::uint64_t sum_of_letters = 0, sum_of_numbers = 0;
  for (std::uint32_t code = 0; code <= 0x10FFFF; ++code) {
    const character_kind kind = kind_of(static_cast<char32_t>(code));
    if (kind == character_kind::letter) ++letters, sum_of_letters += code;
    if (kind == character_kind::number) ++numbers, sum_of_numbers += code;
    spaces += kind == character_kind::space ? 1 : 0;
    const bool by_table = detail::is_inside(detail::borders_of_letters, code);
    wrong += code < 0x80 && by_table != (kind == character_kind::letter) ? 1 : 0; // ASCII does not need the table
  }
  CHECK(letters == 131756);
  CHECK(sum_of_letters == 13903637152);
  CHECK(numbers == 1791);
  CHECK(sum_of_numbers == 99177065);
  CHECK(spaces == 25);
  CHECK(wrong == 0);
}

TEST_CASE("character_kind: characters of several scripts") {
  for (const char32_t c :
       {U'a', U'Z', U'\u00E9', U'\u00AA', U'\u03C0', U'\u05D0', U'\u77F3', U'\uAC00', U'\U00020000', U'\U0001D538'})
    CHECK(kind_of(c) == character_kind::letter);
  for (const char32_t c : {U'0', U'9', U'\u00B2', U'\u00BD', U'\u0663', U'\u2167', U'\U0001D7D8'})
    CHECK(kind_of(c) == character_kind::number);
  for (const char32_t c : {U' ', U'\t', U'\n', U'\u00A0', U'\u2028', U'\u3000'}) CHECK(kind_of(c) == character_kind::space);
  for (const char32_t c : {U'\'', U'_', U'\0', U'\u001C', U'\u0301', U'\u200B', U'\u00AD', U'\U0001FAA8', U'\U0010FFFF'})
    CHECK(kind_of(c) == character_kind::other);
}

} // namespace character_kind_tests
