// SPDX-License-Identifier: MIT
#include <array>
#include <cstddef>
#include <type_traits>
#include <vector>

#include <cairn/core/bfloat16.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/net/blueprint.hpp>
#include <cairn/net/with_all_outputs.hpp>
#include <cairn/train/network_outputs.hpp>
#include <doctest/doctest.h>

namespace network_outputs_tests {

using namespace cairn;

namespace {

using Net = Sequential<Inputs<dims<6>, dims<2, 5>>, Linear<6, 3>>;
template <class Model, class T>
using outputs_of = detail::network_outputs<blueprint_of<Model, 7, T>, T>;

} // namespace

TEST_CASE("network_outputs: the first alone, or all of a with_all_outputs") {
  using first = outputs_of<Net, float>;
  using all = outputs_of<with_all_outputs<Net>, float>;
  static_assert(first::count == 1 && all::count == 2);
  static_assert(std::is_same_v<first::given<int>, int> && std::is_same_v<all::given<int>, std::array<int, 2>>);
  CHECK(first::give(std::array{4}) == 4);
  CHECK(all::give(std::array{4, 5}) == std::array{4, 5});
}

TEST_CASE("network_outputs: each lies in room for the most samples, and is shown in numbers of the sums") {
  using all = outputs_of<with_all_outputs<Net>, bfloat16>;
  std::vector<float> memory(all::sums.size / sizeof(float));
  const auto second = all::view(memory.data(), 1, 5, all::sums);
  CHECK(second.rows() == 5);
  CHECK(second.sample_shape() == shape{2, 5});
  CHECK(second.data() >= memory.data() + 7 * 3); // after 7 samples of the first output
  CHECK(second.data() + 7 * 10 <= memory.data() + memory.size());
  CHECK(all::view(memory.data(), 0, 5, all::sums).data() == memory.data());
  static_assert(all::values.size < all::sums.size); // values have 16 bits
}

} // namespace network_outputs_tests
