// SPDX-License-Identifier: MIT
#include <cairn/report/confusion_picture.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/train/fit/confusion_matrix.hpp>
#include <doctest/doctest.h>

#include "drawings.hpp"

namespace confusion_picture_tests {

using namespace cairn;
using testing::count;

namespace {

// What a drawing asks of a matrix: of three classes, one is taken for another now and then.
struct matrix {
  std::size_t all = 3;
  std::size_t classes() const { return all; }
  std::uint64_t count(std::size_t target, std::size_t found) const {
    return target == found ? 900 : target == 0 && found == 1 ? 100 : 0;
  }
  std::uint64_t total() const { return 900 * all + 100; }
  double accuracy() const { return static_cast<double>(900 * all) / static_cast<double>(total()); }
  double f1() const { return 0.5; }
  double recall(std::size_t k) const { return k == 0 ? 0.9 : 1; }
  double precision(std::size_t k) const { return k == 1 ? 0.9 : 1; }
};

} // namespace

TEST_CASE("confusion_picture: a cell for each pair that there is, with its count, and the recall and precision of each class") {
  for (const bool named : {false, true}) {
    report::confusion_settings settings{.subtitle = "a net < another"};
    if (named) settings.names = {"a long name of a class", "dog & cat", "c"};
    const std::string svg = report::draw_confusion(matrix{}, settings);
    CHECK(testing::well_formed(svg));
    if (!named) CHECK_FALSE(testing::texts_overlap(svg)); // else the names of columns lean
    CHECK(count(svg, "<title>") == 4);
    CHECK(count(svg, ">900</text>") == 3);
    CHECK(count(svg, ">100</text>") == 1 + 2); // and two of the precisions
    CHECK(count(svg, ">90.0 %</text>") == 1);
    CHECK(count(svg, "2800 samples, 96.4 % right, F1 0.500") == 1);
    CHECK(count(svg, named ? "a long name of a class taken for dog &amp; cat: 100" : "0 taken for 1: 100") == 1);
  }
}

TEST_CASE("confusion_picture: of many classes it has no numbers, and its size stays") {
  const std::string svg = report::draw_confusion(matrix{.all = 200});
  CHECK(testing::well_formed(svg));
  CHECK(count(svg, "<title>") == 201);
  CHECK(count(svg, "<text") == 3);
  CHECK(svg.find("width=\"1") == std::string::npos); // below 1000
}

TEST_CASE("confusion_picture: names for another number of classes are an error") {
  CHECK_THROWS_WITH_AS(report::draw_confusion(matrix{}, {.names = {"a"}}),
                       "draw_confusion: expected a name for each of 3 classes, found 1", input_error);
}

TEST_CASE("confusion_picture: of a matrix that counted") {
  metrics::confusion_matrix found(2);
  CHECK(testing::well_formed(report::draw_confusion(found))); // also of nothing
}

} // namespace confusion_picture_tests
