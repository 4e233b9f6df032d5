// SPDX-License-Identifier: MIT
// long to compile
#include <cairn/layer/dropout.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/layer_norm.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/layer/tanh.hpp>
#include <cairn/net/execute.hpp>

#include "../../layer/several_layers.hpp"
#include "../layers.hpp"
#include "../planned.hpp"
#include "../sum.hpp"

namespace execute_chains_tests {

using namespace cairn;
using namespace cairn::detail;
using testing::GatedPair;
using testing::Split;
using testing::Sum;
using testing::Swap;

namespace {

using Wide = Linear<16, 16>;
using Norm = Sequential<LayerNorm<16>, Dropout<percent<30>>, Wide>;

// Each chain has parameters, tapes, buffers and random numbers of its own. One chain is inside another.
using One =
    Sequential<Linear<12, 16>, Sum<1, Sequential<Wide, testing::Witness, ReLU>, Norm>, ReLU,
               Residual<Sum<1, Sequential<testing::Scale>, Sequential<Sum<1, Norm, Sequential<Wide, Tanh>>>>>,
               Repeat<2, checkpoint<recompute_all, Sequential<Sum<1, Norm, Sequential<testing::Witness>>, Wide>>>, Linear<16, 4>>;

// Two or three tensors arrive. A chain takes one or two of them, and those that no chain takes go past the block.
using Fewer = Sequential<Inputs<dims<16>, dims<16>, dims<16>>, Wide,
                         Sum<2, Sequential<Wide, ReLU>, Sequential<Tanh, GatedPair, Wide>>, Sum<1, Norm, Sequential<ReLU>>,
                         GatedPair, Split, checkpoint<sqrt_n, Sequential<Sum<2, Sequential<Swap, Wide>, Sequential<ReLU>>>>,
                         Split, Repeat<2, Residual<Sum<2, Sequential<Swap, Tanh>, Sequential<Wide>>, Split>>, GatedPair, Wide>;

} // namespace

TEST_CASE_TEMPLATE("chains: a block of two chains", T, float, double) {
  testing::check_network<One, 5, T>(3 * sizeof(T) / sizeof(float));
}

TEST_CASE("chains: chains that take fewer tensors than arrive") {
  using inner = pack_element<2, blueprint_of<Fewer, 5>::elements>;
  static_assert(std::is_same_v<inner, Sum<2, Sequential<Wide, ReLU>, Sequential<Tanh, GatedPair, Wide>>>);
  constexpr auto& values = blueprint_of<Fewer, 5>::values;
  static_assert(values.of[2].takes == 2 && values.of[2].gives == 1 && values.of[2].after.size() == 2);
  testing::check_network<Fewer, 5, float>();
}

} // namespace execute_chains_tests
