// SPDX-License-Identifier: MIT
#include <cairn/layer/float_layer.hpp>

#include <cairn/layer/embedding.hpp>
#include <cairn/layer/layer_norm.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>

namespace float_layer_tests {

using namespace cairn;
using namespace cairn::detail;

namespace {

constexpr tensor_list none{};
constexpr tensor real{8}, wide = real.of(element::accumulated), tokens = tensor{3}.of(element::int32);
constexpr arguments of(const tensor& one) { return {&one, 1, none}; }
template <class L>
concept learns = requires { L::parameters(of(wide)); };

} // namespace

// A layer inside takes accumulated elements only, and has its own memory in them; parameters are of the network's type.
using Norm = float_layer<LayerNorm<8>>;
static_assert(Norm::accepts(of(wide)) && !Norm::accepts(of(real)) && Norm::outputs(of(wide)) == wide);
static_assert(!Norm::accepts(of(tensor{7}.of(element::accumulated))));
static_assert(Norm::parameters(of(wide)) == LayerNorm<8>::parameters(of(real)));
static_assert(float_layer<Embedding<10, 8>>::accepts(of(tokens)) &&
              float_layer<Embedding<10, 8>>::outputs(of(tokens)) == tensor{3, 8}.of(element::accumulated));
static_assert(float_layer<ReLU>::as_activation == ReLU::as_activation && float_layer<Linear<8, 4>>::fuses);
static_assert(!float_layer<Linear<8, 4>>::adds && !float_layer<Linear<8, 4>>::strided);
static_assert(layer<Norm>);
static_assert(Norm::tape(of(wide)) == LayerNorm<8>::tape(of(real)) && Norm::buffers(of(wide)).count == 0);
static_assert(learns<Norm> && !learns<float_layer<ReLU>>);

} // namespace float_layer_tests
