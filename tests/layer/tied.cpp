// SPDX-License-Identifier: MIT
// Tests of what a tied layer says of itself. For what it computes and how it learns, see tests/train/trainer/tied.cpp.
#include <string_view>
#include <type_traits>

#include <cairn/layer/embedding.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/tied.hpp>
#include <doctest/doctest.h>

namespace tied_tests {

using namespace cairn;

TEST_CASE("tied: it learns what is its own, and is otherwise the layer that it ties") {
  using Last = Tied<Linear<8, 50>, Embedding<50, 8>>;
  static constexpr tensor_list no_constants{};
  static constexpr tensor taken{8};
  static constexpr arguments in{&taken, 1, no_constants};
  static_assert(std::is_same_v<Last::tied_to, Embedding<50, 8>>);
  static_assert(Last::parameters(in).count == 1 && Last::parameters(in)[0].extents == shape{50});
  CHECK(std::string_view(Last::parameters(in)[0].name) == "bias");
  static_assert(Tied<Linear<8, 50, false>, Embedding<50, 8>>::parameters(in).count == 0);
  static_assert(Last::outputs(in)[0] == 50 && Last::backward_reads == reads::input && Last::fuses);
  static_assert(!Last::skips_gradients); // it cannot be in frozen<>: its owner's gradient is a sum
}

} // namespace tied_tests
