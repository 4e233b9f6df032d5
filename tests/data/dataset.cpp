// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cstddef>
#include <span>

#include <cairn/data/dataset.hpp>

using namespace cairn;

namespace {

// A user's own dataset: nothing lies in memory.
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
