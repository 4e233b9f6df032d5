// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <span>

#include <cairn/data/dataset.hpp>

namespace dataset_tests {

using namespace cairn;

namespace {

// A user's own dataset, computed when it is read.
struct squares {
  using input_type = double;
  using target_type = double;

  std::size_t size() const { return 10; }
  shape sample_shape() const { return {1}; }
  std::size_t targets_per_sample() const { return 1; }
  void read(std::size_t i, std::span<double> input, std::span<double> targets) const {
    input[0] = static_cast<double>(i);
    targets[0] = input[0] * input[0];
  }
};

// Two inputs: numbers and tokens.
struct of_two {
  using input_type = types::input_types<float, int>;
  using target_type = double;
  std::size_t size() const { return 1; }
  std::array<shape, 2> sample_shapes() const { return {shape{2}, shape{3}}; }
  std::size_t targets_per_sample() const { return 1; }
  void read(std::size_t, std::span<float>, std::span<int>, std::span<double>) const {}
};
struct of_two_with_one_shape : of_two {
  shape sample_shape() const { return {2}; }
  std::array<shape, 3> sample_shapes() const { return {}; }
};
struct of_two_with_one_read : of_two {
  void read(std::size_t, std::span<float>, std::span<double>) const {}
};

struct without_types {
  std::size_t size() const { return 1; }
};
struct without_read {
  using input_type = float;
  using target_type = int;
  std::size_t size() const { return 1; }
  shape sample_shape() const { return {1}; }
  std::size_t targets_per_sample() const { return 1; }
};
struct with_changing_read : without_read { // read has to be const: several loaders may use one dataset
  void read(std::size_t, std::span<float>, std::span<int>) {}
};

} // namespace

TEST_CASE("dataset accepts a user's own type and says no to an unfinished one") {
  static_assert(dataset<squares>);
  static_assert(!dataset<int>);
  static_assert(!dataset<without_types>);
  static_assert(!detail::names_element_types<without_types>);
  static_assert(!dataset<without_read>);
  static_assert(!detail::reads_samples<without_read>);
  static_assert(!dataset<with_changing_read>);
  static_assert(detail::checked_dataset<squares>::value);
}

TEST_CASE("a dataset of several inputs has a shape and a span for each") {
  static_assert(dataset<of_two>);
  static_assert(!dataset<of_two_with_one_shape> && !detail::answers_shapes<of_two_with_one_shape>);
  static_assert(!dataset<of_two_with_one_read> && !detail::reads_samples<of_two_with_one_read>);
}

} // namespace dataset_tests
