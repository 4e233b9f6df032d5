// SPDX-License-Identifier: MIT
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <cairn/layer/batch_norm.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/checkpoint.hpp>
#include <cairn/net/frozen.hpp>
#include <cairn/net/repeat.hpp>
#include <cairn/net/residual.hpp>
#include <cairn/net/sequential.hpp>
#include <cairn/plan/policies.hpp>
#include <cairn/train/constant_model.hpp>
#include <doctest/doctest.h>

namespace constant_model_tests {

using namespace cairn;

namespace {

template <class Net, std::size_t Batch = 1, class T = float>
constexpr std::uint64_t layout = constant_model<Net, batch<Batch>, T>::layout;

using Net = Sequential<Linear<3, 8>, BatchNorm1d<8>, ReLU, Linear<8, 2>>;

constexpr std::size_t numbers = constant_model<Net, batch<1>>::plan::parameter_block;
constexpr std::size_t kept = constant_model<Net, batch<1>>::plan::state_block;
alignas(64) constexpr std::array<float, numbers> parameters{1, 2, 3};
alignas(64) constexpr std::array<float, kept> buffers{4, 5};
constexpr constant_model<Net, batch<7>> constant{parameters, buffers};

} // namespace

TEST_CASE("constant_model: its weights are constants") {
  static_assert(constant.parameters()[2] == 3 && constant.buffers()[1] == 5);
  static_assert(decltype(constant)::input_shape == shape{3} && decltype(constant)::output_shape == shape{2});
  CHECK(constant.parameters().data() == parameters.data());
  static_assert(!std::is_constructible_v<constant_model<Net, batch<7>>, std::array<float, 3>, std::array<float, kept>>);
}

TEST_CASE("constant_model: the layout depends on the network's weights, and on nothing else") {
  CHECK(layout<Net> == layout<Net, 64>);
  CHECK(layout<Net> == layout<checkpoint<recompute_all, Net>>);
  CHECK(layout<Net> ==
        layout<Sequential<Linear<3, 8>, BatchNorm1d<8>, Linear<8, 2>, ReLU>>); // the same weights in the same order
  CHECK(layout<Net> != layout<Net, 1, double>);
  CHECK(layout<Net> != layout<Sequential<Linear<3, 8>, BatchNorm1d<8>, ReLU, Linear<8, 3>>>);
  CHECK(layout<Net> != layout<Sequential<Linear<3, 8>, ReLU, Linear<8, 2>>>);
  CHECK(layout<Net> != layout<Sequential<frozen<Linear<3, 8>>, BatchNorm1d<8>, ReLU, Linear<8, 2>>>);
  using Block = Residual<Linear<8, 8>, ReLU>;
  CHECK(layout<Sequential<Linear<3, 8>, Repeat<2, Block>>> != layout<Sequential<Linear<3, 8>, Repeat<3, Block>>>);
  CHECK(layout<Sequential<Linear<3, 8>, Repeat<2, Block>>> !=
        layout<Sequential<Linear<3, 8>, Repeat<2, Residual<Linear<8, 8, false>, ReLU>>>>);
}

} // namespace constant_model_tests
