// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <set>

#include "../../examples/digit_strokes.hpp"

namespace digit_strokes_tests {

TEST_CASE("every digit has a way to be written, and every way belongs to one digit") {
  std::set<const drawing::glyph*> ways;
  for (std::size_t digit = 0; digit < 10; ++digit) {
    CHECK_FALSE(drawing::digit_strokes(digit).empty());
    for (const auto& way : drawing::digit_strokes(digit)) {
      CHECK(ways.insert(&way).second);
      CHECK(way.begin() != way.end());
      for (const auto& stroke : way) {
        CHECK(stroke.count >= 2);
        for (std::size_t i = 0; i < stroke.count; ++i) { // the middle of the box is where a digit is turned and scaled
          CHECK(stroke.points[i].x >= -2);
          CHECK(stroke.points[i].x <= 14);
          CHECK(stroke.points[i].y >= -3);
          CHECK(stroke.points[i].y <= 23);
        }
      }
    }
  }
  CHECK(ways.size() == drawing::glyphs.size());
}

} // namespace digit_strokes_tests
