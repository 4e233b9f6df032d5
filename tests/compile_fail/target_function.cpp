// SPDX-License-Identifier: MIT
// A function of targets that takes a span, as transforms of inputs do.
// expect: error: .*target_transform: expected a function of one target that returns a number
// expect: wrong_target_function<.*int>
#include <cstddef>
#include <span>
#include <vector>

#include <cairn/data/target_transform.hpp>
#include <cairn/data/tensor_dataset.hpp>

using namespace cairn;

std::size_t count(const std::vector<float>& x, const std::vector<int>& y) {
  const tensor_dataset data{sample_array{shape{4}, x}, sample_array{shape{}, y}};
#ifdef EXPECT_SUCCESS
  const target_transform other{data, [](int label) { return label - 5; }};
#else
  const target_transform other{data, [](std::span<int> labels) { labels[0] -= 5; }};
#endif
  return other.size();
}
