// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <span>

namespace drawing {

struct point {
  double x = 0;
  double y = 0;
};

// The control points of a curve, from where the pen is put down to where it is lifted; a point written twice is a corner. x
// goes to the right from 0 to 12, y down from 0 to 20.
struct stroke {
  static constexpr std::size_t max_points = 12;

  std::array<point, max_points> points{};
  std::size_t count = 0;

  constexpr stroke() = default;
  constexpr stroke(std::initializer_list<point> list) {
    for (const point& p : list) points[count++] = p;
  }
};

// The strokes of one way to write a digit.
class glyph {
public:
  constexpr glyph() = default;
  constexpr glyph(const stroke& first) : strokes_{first}, count_(1) {}
  constexpr glyph(const stroke& first, const stroke& second) : strokes_{first, second}, count_(2) {}
  constexpr glyph(const stroke& first, const stroke& second, const stroke& third) : strokes_{first, second, third}, count_(3) {}
  constexpr const stroke* begin() const { return strokes_.data(); }
  constexpr const stroke* end() const { return strokes_.data() + count_; }

private:
  std::array<stroke, 3> strokes_{};
  std::size_t count_ = 0;
};

// clang-format off
inline constexpr std::array<glyph, 17> glyphs{
  /* 0 */ glyph{stroke{{6,0},{2,0},{-1,4},{-1,16},{2,20},{6,20},{10,20},{13,16},{13,4},{10,0},{6,0}}},
          glyph{stroke{{8,1},{3,-1},{-1,6},{-1,16},{3,21},{9,20},{13,13},{13,5},{10,-1},{5,1}}},
  /* 1 */ glyph{stroke{{6,0},{6,20}}},
          glyph{stroke{{2,5},{7,0},{7,0},{6,20}}},
          glyph{stroke{{2,5},{6,0},{6,0},{6,20}}, stroke{{1,20},{11,20}}},
  /* 2 */ glyph{stroke{{1,5},{2,-1},{12,-2},{13,6},{8,12},{0,20},{0,20},{12,20}}},
          glyph{stroke{{0,4},{5,-2},{13,1},{10,11},{2,21},{-1,17},{4,15},{12,20}}},
  /* 3 */ glyph{stroke{{1,2},{5,-2},{13,0},{11,9},{5,9},{5,9},{13,10},{13,20},{5,22},{0,17}}},
          glyph{stroke{{0,0},{11,0},{11,0},{5,8},{5,8},{13,9},{13,19},{5,22},{0,18}}},
  /* 4 */ glyph{stroke{{8,0},{0,13},{0,13},{12,13}}, stroke{{9,6},{9,20}}},
          glyph{stroke{{2,0},{0,11},{0,11},{11,11}}, stroke{{10,0},{9,20}}},
  /* 5 */ glyph{stroke{{11,0},{2,0},{2,0},{1,9},{1,9},{6,6},{13,8},{13,20},{5,22},{0,18}}},
  /* 6 */ glyph{stroke{{9,0},{3,2},{-1,11},{0,21},{7,22},{13,19},{11,9},{4,9},{1,15}}},
  /* 7 */ glyph{stroke{{0,0},{12,0},{12,0},{4,20}}},
          glyph{stroke{{0,1},{12,0},{12,0},{5,20}}, stroke{{3,11},{11,10}}},
  /* 8 */ glyph{stroke{{11,3},{6,-3},{-2,3},{3,9},{12,12},{14,20},{6,22},{-2,20},{0,12},{9,9},{13,3},{9,0}}},
  /* 9 */ glyph{stroke{{11,4},{7,-2},{-1,0},{0,11},{8,11},{11,6},{11,2},{11,2},{10,20}}},
};
// clang-format on

// The ways to write `digit`, one after another in the list above.
inline std::span<const glyph> digit_strokes(std::size_t digit) {
  constexpr std::array<std::size_t, 11> first{0, 2, 5, 7, 9, 11, 12, 13, 15, 16, 17};
  return std::span(glyphs).subspan(first[digit], first[digit + 1] - first[digit]);
}

} // namespace drawing
