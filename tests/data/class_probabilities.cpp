// SPDX-License-Identifier: MIT
#include <cairn/data/class_probabilities.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include <cairn/data/dataset_fingerprint.hpp>
#include <cairn/data/subset.hpp>
#include <cairn/data/tensor_dataset.hpp>
#include <doctest/doctest.h>

namespace class_probabilities_tests {

using namespace cairn;
using vision::class_probabilities;

namespace {

template <class T, class Label>
auto data_of(std::vector<T> x, std::vector<Label> y, std::size_t each = 1) {
  return tensor_dataset{sample_array<T>{shape{x.size() / (y.size() / each)}, x}, sample_array<Label>{shape{each}, y}};
}
// A dataset with a fingerprint that is given.
struct Named {
  using input_type = float;
  using target_type = std::int32_t;
  std::uint64_t known = 5;
  std::size_t size() const { return 3; }
  shape sample_shape() const { return {1}; }
  std::size_t targets_per_sample() const { return 1; }
  void read(std::size_t i, std::span<float> x, std::span<std::int32_t> y) const { x[0] = 0, y[0] = static_cast<std::int32_t>(i); }
  std::uint64_t fingerprint() const { return known; }
};

} // namespace

TEST_CASE("class_probabilities: a 1 at the place of the class, inputs as they are") {
  const auto whole = data_of<float, std::uint8_t>({1, 2, 3, 4, 5, 6}, {2, 0, 1});
  const class_probabilities soft{whole, 3};
  static_assert(dataset<std::remove_cvref_t<decltype(soft)>>);
  static_assert(std::is_same_v<decltype(soft)::target_type, float>);
  CHECK(soft.size() == 3);
  CHECK(soft.targets_per_sample() == 3);
  CHECK(soft.sample_shape() == shape{2});
  CHECK(soft.classes() == 3);
  std::vector<float> x(2), y(3, 9);
  soft.read(0, std::span(x), std::span(y));
  CHECK(x == std::vector<float>{1, 2});
  CHECK(y == std::vector<float>{0, 0, 1});
  const subset last(soft, {1});
  last.read(0, std::span(x), std::span(y));
  CHECK(y == std::vector<float>{1, 0, 0});
}

TEST_CASE("class_probabilities: of double, of many targets, and of several inputs") {
  std::vector<std::int64_t> labels(100);
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<std::int64_t>(i % 7);
  const auto wide = data_of<double, std::int64_t>({1, 2}, labels, 100);
  const class_probabilities soft{wide, 7};
  static_assert(std::is_same_v<decltype(soft)::target_type, double>);
  std::vector<double> x(2), y(700);
  soft.read(0, std::span(x), std::span(y));
  for (std::size_t i = 0; i < y.size(); ++i) REQUIRE(y[i] == (i % 7 == i / 7 % 7 ? 1 : 0));

  const tensor_dataset several{sample_array{shape{1}, std::vector<float>{1, 2}}, sample_array{shape{1}, std::vector<float>{3, 4}},
                               sample_array{shape{}, std::vector<std::int32_t>{1, 0}}};
  const class_probabilities of_several{several, 2};
  std::vector<float> a(1), b(1), both(2);
  of_several.read(1, std::span(a), std::span(b), std::span(both));
  CHECK(b[0] == 4);
  CHECK(both == std::vector<float>{1, 0});
}

TEST_CASE("class_probabilities: what is no class is an error with its sample") {
  const auto whole = data_of<float, std::int32_t>({1, 2, 3}, {0, -1, 3});
  std::vector<float> x(1), y(3);
  const class_probabilities soft{whole, 3};
  CHECK_THROWS_WITH_AS(soft.read(1, std::span(x), std::span(y)),
                       "class_probabilities: expected a class from 0 to 2, found -1 as a target of sample 1", input_error);
  CHECK_THROWS_WITH_AS(soft.read(2, std::span(x), std::span(y)), doctest::Contains("found 3 as a target of sample 2"),
                       input_error);
  CHECK_THROWS_WITH_AS(class_probabilities(whole, 1), doctest::Contains("at least two classes, found 1"), input_error);
}

TEST_CASE("class_probabilities: its fingerprint is another than the dataset's, and depends on the classes") {
  const Named whole{}, unknown{.known = 0};
  const std::uint64_t three = class_probabilities{whole, 3}.fingerprint(), four = class_probabilities{whole, 4}.fingerprint();
  CHECK(three != whole.fingerprint());
  CHECK(three != four);
  CHECK(three == class_probabilities{whole, 3}.fingerprint());
  CHECK(class_probabilities{unknown, 3}.fingerprint() == 0);
  CHECK(detail::fingerprint_of(class_probabilities{whole, 3}) != detail::fingerprint_of(whole));
  const auto in_memory = data_of<float, std::int32_t>({1, 2, 3}, {0, 1, 2}); // without a fingerprint of its own
  CHECK(detail::fingerprint_of(class_probabilities{in_memory, 3}) != detail::fingerprint_of(in_memory));
}

} // namespace class_probabilities_tests
