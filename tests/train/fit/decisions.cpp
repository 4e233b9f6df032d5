// SPDX-License-Identifier: MIT
#include <cairn/train/fit/decisions.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <cairn/core/shape.hpp>
#include <cairn/core/view.hpp>
#include <doctest/doctest.h>

namespace decisions_tests {

using namespace cairn;

TEST_CASE("decisions: the largest output, where NaN is the largest and the first of equals is taken") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(detail::place_of_largest(std::vector<float>{1, 3, 3, 2}.data(), 4) == 1);
  CHECK(detail::place_of_largest(std::vector<float>{1, nan, 3, nan}.data(), 4) == 1);
}

TEST_CASE("decisions: one for each target that counts, over all indices before the innermost") {
  const std::vector<float> of(2 * 3 * 2, 1.F);
  const tensor_view<const float> outputs{of.data(), 2, shape{3, 2}};
  const std::vector<int> targets{0, 1, -100, 1, -100, 0};
  std::vector<std::size_t> met;
  const auto note = [&](const float* scores, std::size_t classes, std::size_t target) {
    CHECK(classes == 2);
    met.push_back(static_cast<std::size_t>(scores - of.data()) * 10 + target);
  };
  detail::for_each_class("who", outputs, targets, -100, note);
  CHECK(met == std::vector<std::size_t>{0, 21, 61, 100});
  CHECK_THROWS_WITH_AS(detail::for_each_class("who", outputs, targets, detail::counts_all, note),
                       "who: expected targets from 0 to 1, found -100; if it stands for 'no target', pass it as ignore_index",
                       input_error);
  CHECK_THROWS_WITH_AS(detail::for_each_class("who", outputs, std::vector<int>(5), 0, note),
                       "who: expected a target for each of the 6 decisions among 2 classes, found 5", input_error);
  const tensor_view<const float> single{of.data(), 12, shape{1}};
  CHECK_THROWS_WITH_AS(detail::for_each_class("who", single, std::vector<int>(12), 0, note),
                       doctest::Contains("compare a single logit with 0"), input_error);
}

TEST_CASE("decisions: a logit is one for each output, with targets of any type that are 0 or 1") {
  const std::vector<float> of{1, -2, 3};
  std::size_t positives = 0;
  const auto count = [&](double, bool positive) { positives += positive ? 1 : 0; };
  detail::for_each_logit("who", of, std::vector<float>{0, 1, 1}, count);
  detail::for_each_logit("who", of, std::vector<std::uint8_t>{0, 0, 1}, count);
  CHECK(positives == 3);
  CHECK_THROWS_WITH_AS(detail::for_each_logit("who", of, std::vector<int>{0, 2, 1}, count),
                       "who: expected targets of 0 or 1, found 2.000000", input_error);
  CHECK_THROWS_WITH_AS(detail::for_each_logit("who", of, std::vector<int>{0, 1}, count),
                       doctest::Contains("who: expected a target for each of the 3 outputs"), input_error);
}

} // namespace decisions_tests
