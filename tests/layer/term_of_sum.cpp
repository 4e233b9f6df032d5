// SPDX-License-Identifier: MIT
#include <cairn/layer/term_of_sum.hpp>

#include <cairn/layer/dropout.hpp>
#include <cairn/layer/embedding.hpp>
#include <cairn/layer/layer_norm.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/tanh.hpp>
#include <doctest/doctest.h>

#include "given.hpp"

namespace term_of_sum_tests {

using namespace cairn;

TEST_CASE("term_of_sum: layers with a tape or without parameters are none") {
  using detail::is_term;
  static_assert(is_term<Linear<4, 3>> && is_term<Embedding<5, 3>>);
  static_assert(!is_term<LayerNorm<4>> && !is_term<Tanh> && !is_term<Dropout<>> && !is_term<int>);
}

TEST_CASE("term_of_sum: it takes its own tensor, and its parameters are named by its place") {
  using Second = detail::term_of_sum<Linear<4, 3>, 1>;
  constexpr given in{{2}, {4}};
  static_assert(Second::accepts(in) && Second::output(in) == tensor{3});
  static_assert(!detail::term_of_sum<Linear<4, 3>, 0>::accepts(in));
  constexpr tensor_list list = [] {
    tensor_list out{};
    Second::append(out);
    return out;
  }();
  static_assert(list.count == 2 && list[0].name == "1.weight" && list[1].name == "1.bias" && list[0].extents == shape{3, 4});
  CHECK(list[0].start.how == initial::law::uniform);
}

} // namespace term_of_sum_tests
