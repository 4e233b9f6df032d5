// SPDX-License-Identifier: MIT
#include <cairn/layer/batch_norm.hpp>
#include <cairn/layer/dropout.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/layer_norm.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/layer/tanh.hpp>
#include <cairn/net/checkpoint.hpp>
#include <cairn/net/residual.hpp>
#include <cairn/plan/policies.hpp>

#include "layers.hpp"
#include "planned.hpp"

namespace residual_tests {

using namespace cairn;

namespace {

using Wide = Linear<16, 16>;

// The last layer adds the input itself (Linear), or the block does (ReLU).
using Ends =
    Sequential<Linear<12, 16>, ReLU, Residual<Linear<16, 20>, ReLU, Linear<20, 16>>, Residual<Wide, ReLU>, Linear<16, 4>>;
// The first layer adds the output's gradient itself, or the block does; blocks of one layer; activations on both sides of a
// block's border.
using Begins = Sequential<Linear<12, 16>, Residual<ReLU, Wide>, ReLU, Residual<LayerNorm<16>, Wide, Tanh>, Residual<ReLU>,
                          Residual<testing::Scale>, Wide, Residual<LayerNorm<16>>, Residual<Wide>, ReLU, Linear<16, 4>>;
// Blocks at the ends of the network and inside one another.
using Nested = Sequential<Residual<Wide, ReLU, Residual<LayerNorm<16>, Wide>, Wide>, Residual<Residual<Residual<Wide>>>,
                          Residual<Residual<ReLU, testing::Witness>, Wide>, Residual<Dropout<percent<40>>, Residual<Wide, Tanh>>>;
// No layer below the first parameter is differentiated.
using Late = Sequential<Input<16>, Residual<ReLU>, Residual<Dropout<>, ReLU>, Residual<testing::Witness, Wide>, ReLU>;
// Shortcuts. Both ends add, or none does; backward reads a result again, so that it is copied; running statistics and masks are
// on both branches; chains have one layer, of the same type; blocks are inside and around.
template <class... Layers>
using projected = Residual<shortcut<Linear<16, 24>, BatchNorm1d<24>>, Layers...>;
using Adding = Sequential<Linear<12, 16>, ReLU, projected<Linear<16, 24>, BatchNorm1d<24>, ReLU, Linear<24, 24>>, ReLU,
                          Residual<shortcut<Linear<24, 16>>, Linear<24, 16>>, Linear<16, 90>>;
using Apart =
    Sequential<Linear<12, 16>, projected<LayerNorm<16>, Linear<16, 24>, BatchNorm1d<24>>, ReLU,
               Residual<shortcut<LayerNorm<24>, Linear<24, 16>, Dropout<percent<20>>>, ReLU, Linear<24, 16>, Tanh>,
               Residual<shortcut<Tanh, Linear<16, 24>, ReLU>, checkpoint<recompute_all, Sequential<Linear<16, 24>, Tanh>>>,
               Linear<24, 40>>;
using Deep = Sequential<Residual<shortcut<Wide>, projected<Linear<16, 24>, Residual<Linear<24, 24>, ReLU>>, Linear<24, 16>>,
                        checkpoint<every<2>, Sequential<Residual<projected<Wide, Linear<16, 24>>, Linear<24, 16>>, Tanh>>,
                        Residual<shortcut<ReLU>, ReLU>>;

} // namespace

TEST_CASE_TEMPLATE("residual: whatever is last", T, float, double) { testing::check_network<Ends, 5, T>(); }

TEST_CASE("residual: whatever is first") { testing::check_network<Begins, 5, float>(); }

TEST_CASE("residual: a block in a block, first and last in the network") { testing::check_network<Nested, 5, float>(); }

TEST_CASE_TEMPLATE("residual: blocks without parameters come first", T, float, double) { testing::check_network<Late, 5, T>(); }

TEST_CASE_TEMPLATE("residual: with a shortcut whose result the layers add to", T, float, double) {
  testing::check_network<Adding, 5, T>();
}

TEST_CASE("residual: with a shortcut, where nothing adds by itself") { testing::check_network<Apart, 5, float>(); }

TEST_CASE("residual: shortcuts in blocks and around them") { testing::check_step<Deep, 5, float>(); }

} // namespace residual_tests
