// SPDX-License-Identifier: MIT
#include <cairn/layer/started.hpp>

#include <cmath>

#include <cairn/layer/embedding.hpp>
#include <cairn/layer/layer_norm.hpp>
#include <cairn/layer/linear.hpp>
#include <doctest/doctest.h>

#include "given.hpp"

namespace started_tests {

using namespace cairn;

namespace {

struct own_start {
  static constexpr initial weight = initial::truncated_normal(0.5, 1), bias = initial::uniform(0.25);
};
template <class Layer, class Start>
constexpr tensor_list list = detail::started<Layer, Start>::parameters(given{{3, 4}});

} // namespace

TEST_CASE("started: weights and biases that start at random start as the second argument says") {
  using Small = normal_weights<percent<2>>;
  static_assert(layer<detail::started<Linear<4, 3>, Small>>);
  static_assert(list<Linear<4, 3>, Small>.count == 2 && list<Linear<4, 3>, Small>[0].name == "weight");
  static_assert(list<Linear<4, 3>, Small>[0].extents == shape{3, 4} && list<Linear<4, 3>, Small>[1].extents == shape{3});
  static_assert(list<Linear<4, 3>, Small>[0].start.how == initial::law::normal &&
                list<Linear<4, 3>, Small>[0].start.scale == 0.02);
  static_assert(list<Linear<4, 3>, Small>[1].start.how == initial::law::constant &&
                list<Linear<4, 3>, Small>[1].start.scale == 0);
  static_assert(list<Linear<4, 3>, own_start>[0].start.how == initial::law::truncated_normal &&
                list<Linear<4, 3>, own_start>[0].start.mean == 1 && list<Linear<4, 3>, own_start>[1].start.scale == 0.25);
  CHECK(list<Linear<4, 3>, normal_weights<percent<2>, 24>>[0].start.scale ==
        doctest::Approx(0.02 / std::sqrt(24.0)).epsilon(1e-15));
}

TEST_CASE("started: constants and the zeros of padding stay") {
  constexpr tensor_list norm = list<LayerNorm<4>, own_start>;
  static_assert(norm[0].start.how == initial::law::constant && norm[0].start.scale == 1 && norm[1].start.scale == 0);
  constexpr tensor_list words = list<Embedding<7, 3, padding_idx<2>>, own_start>;
  static_assert(words[0].start.how == initial::law::truncated_normal && words[0].start.zeros_begin == 6 &&
                words[0].start.zeros_end == 9);
}

} // namespace started_tests
