// SPDX-License-Identifier: MIT
// long to compile
#include <cairn/layer/dropout.hpp>
#include <cairn/layer/gelu.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/layer_norm.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/layer/tanh.hpp>
#include <cairn/net/checkpoint.hpp>
#include <cairn/plan/solve/budget.hpp>

#include "../layer/several_layers.hpp"
#include "layers.hpp"
#include "planned.hpp"

namespace checkpoint_tests {

using namespace cairn;

namespace {

using Wide = Linear<16, 16>;
using Block = checkpoint<recompute_all, Sequential<Wide, ReLU, Wide, Tanh>>;

using Inside = Sequential<Linear<12, 16>, Sequential<Block, ReLU, Block>, Linear<16, 4>>;
using Deep =
    Sequential<Repeat<3, checkpoint<every<2>, Sequential<Wide, ReLU, Dropout<percent<30>>, testing::Witness>>>,
               checkpoint<sqrt_n, Sequential<checkpoint<recompute_all, Sequential<Wide, LayerNorm<16>>>, Residual<Wide, ReLU>,
                                             checkpoint<store_all, Sequential<testing::Scale, ReLU>>>>,
               checkpoint<recompute_all, Repeat<2, Sequential<Wide, Tanh>>>>;
using Around = Sequential<Wide, Residual<checkpoint<recompute_all, Sequential<Wide, ReLU, Wide, ReLU>>>,
                          Residual<Wide, checkpoint<store_all, Sequential<Wide, Tanh>>>,
                          checkpoint<recompute_all, Residual<ReLU, testing::Scale, Wide>>,
                          Residual<checkpoint<sqrt_n, Sequential<Residual<Wide>, testing::Witness, Wide>>, ReLU>,
                          checkpoint<store_all, Sequential<Linear<16, 7>>>>;
// The block's last layer keeps a tape: when it runs again, it writes an output that nobody reads.
using Tape = checkpoint<store_all, Sequential<Wide, LayerNorm<16>>>;
using Last = Sequential<Linear<12, 16>, Tape, Wide, checkpoint<every<2>, Sequential<ReLU, Tape, Dropout<>>>,
                        checkpoint<store_all, Sequential<Wide, LayerNorm<16>, Dropout<>>>, Wide>;

} // namespace

TEST_CASE_TEMPLATE("checkpoint: a block in a sequential in a checkpoint", T, float, double) {
  testing::check_network<Inside, 5, T>();
}

TEST_CASE("checkpoint: a block in a repeat, and blocks in a block") { testing::check_network<Deep, 5, float>(); }

TEST_CASE("checkpoint: blocks around and inside residual blocks") { testing::check_network<Around, 5, float>(); }

TEST_CASE("checkpoint: the last layer of a block keeps a tape") { testing::check_network<Last, 5, float>(); }

namespace {

// The last thing that these blocks write for their backward is inside them: a tape, or a value that a layer reads. A chain of
// them can make its tape without its own output, but all blocks except the last write to the place of that output.
using PreActivation = Residual<ReLU, Wide, ReLU, Wide>;
using DropoutFirst = Residual<Dropout<percent<30>>, Wide>;
using NormFirst = Residual<LayerNorm<16>, Wide, GELU, Wide>;
using SwapFirst = Residual<testing::Swap, ReLU, Wide>;

template <class Policy>
using InsideOne =
    Sequential<Linear<12, 16>, checkpoint<Policy, Repeat<3, PreActivation>>, checkpoint<Policy, Repeat<2, DropoutFirst>>,
               checkpoint<Policy, Repeat<4, NormFirst>>,
               checkpoint<Policy, Sequential<NormFirst, checkpoint<Policy, Repeat<2, PreActivation>>, DropoutFirst>>, ReLU,
               Linear<16, 4>>;
template <class Policy>
using InsideOneSwapped =
    Sequential<Inputs<dims<16>, dims<16>>, Wide, checkpoint<Policy, Repeat<3, SwapFirst>>,
               checkpoint<Policy, Sequential<SwapFirst, testing::Swap, PreActivation>>,
               checkpoint<Policy, Sequential<checkpoint<Policy, Repeat<2, SwapFirst>>, DropoutFirst>>, testing::GatedPair, Wide>;

template <template <class> class Net, class... Policies>
void check_inside(detail::pack<Policies...>) {
  testing::queue q{1};
  using First = Net<store_all>;
  const auto first = testing::plan<First, 5, float>();
  std::vector<std::pair<std::size_t, testing::made<float>>> want;
  for (const std::size_t rows : {3U, 5U}) want.emplace_back(rows, testing::expected<First, float>(first, q, rows));
  const auto check = [&]<class Policy>(Policy) {
    const auto p = testing::plan<checkpoint<sqrt_n, Net<Policy>>, 5, float>();
    testing::check_policy(detail::spelling<Policy>(), p, want);
  };
  (check(Policies{}), ...);
}
using some = detail::pack<store_all, recompute_all, every<2>, at<1>, budget_fraction<100>>;
using others = detail::pack<every<1>, sqrt_n, revolve<2>, recompute_cheap>;

} // namespace

TEST_CASE("checkpoint: blocks whose last write is a tape, in a checkpoint in a checkpoint") {
  check_inside<InsideOne>(some{});
  check_inside<InsideOneSwapped>(others{});
#ifdef CAIRN_LONG_TESTS
  check_inside<InsideOne>(others{});
  check_inside<InsideOneSwapped>(some{});
#endif
}

TEST_CASE("checkpoint: a block stores only what its own policy stores") {
  using Layers = Sequential<Wide, Tanh, Wide, Tanh, Wide, Tanh, Wide, Tanh>;
  using Plain = Sequential<Linear<12, 16>, Layers, Layers, Linear<16, 4>>;
  using Blocks = Sequential<Linear<12, 16>, checkpoint<recompute_all, Layers>, checkpoint<recompute_all, Layers>, Linear<16, 4>>;
  static_assert(peak_activation_bytes<Blocks, 64> < peak_activation_bytes<Plain, 64>);
  // The inputs of both blocks and of the last Linear, and the gradient that arrives; and in a block two values and two gradients.
  constexpr std::size_t value = 16 * 64 * sizeof(float);
  static_assert(peak_activation_bytes<Blocks, 64> <= 8 * value);
  testing::queue q{1};
  const auto plain = testing::plan<Plain, 64, float>();
  const auto blocks = testing::plan<Blocks, 64, float>();
  testing::replica<float> a(plain), b(blocks);
  CHECK(a.step(q, 64, true) == b.step(q, 64, true));
}

} // namespace checkpoint_tests
