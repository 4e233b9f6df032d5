// SPDX-License-Identifier: MIT
// long to compile
#include <cairn/layer/dropout.hpp>
#include <cairn/layer/gelu.hpp>
#include <cairn/layer/layer_norm.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/checkpoint.hpp>
#include <cairn/net/concat.hpp>
#include <cairn/net/fused_update.hpp>
#include <cairn/net/gated.hpp>
#include <cairn/net/ways.hpp>
#include <cairn/plan/solve/budget.hpp>

#include "planned.hpp"

namespace ways_tests {

using namespace cairn;

namespace {

template <std::size_t Percent, class Net>
using Within = checkpoint<budget_fraction<Percent>, Net>;

using Norm = Residual<LayerNorm<16>, Linear<16, 32>, GELU, Linear<32, 16>>;
using Dropping = Residual<Linear<16, 16>, ReLU, Dropout<percent<30>>>;
using Unit = Gated<Sequential<Linear<16, 16>, GELU>, Linear<16, 16>>;
using Equal = Sequential<Linear<12, 16>, Repeat<6, Norm>, Linear<16, 4>>;
using Mixed = Sequential<Linear<12, 16>, Norm, Dropping, Repeat<3, Sequential<Unit, Norm>>, Dropping, Linear<16, 4>>;

using Narrow = Sequential<Linear<12, 8>, Repeat<4, Residual<LayerNorm<8>, Linear<8, 64>, GELU, Linear<64, 8>>>, Linear<8, 4>>;
using Branches = Concat<Sequential<Linear<16, 24>, GELU, Linear<24, 12>>, Sequential<LayerNorm<16>, Linear<16, 8>, ReLU>>;
using Projection = Residual<shortcut<Linear<20, 16>, GELU>, LayerNorm<20>, Linear<20, 24>, GELU, Dropout<>, Linear<24, 16>>;
using Joined = Sequential<Linear<12, 16>, Repeat<3, Sequential<Branches, Projection>>, Linear<16, 4>>;

template <class Model, std::size_t Batch = 5>
constexpr bool moves = blueprint_of<Model, Batch>::ways::moved;
template <class Model, std::size_t Batch = 5>
constexpr std::uint64_t flops_of() {
  using b = blueprint_of<Model, Batch>;
  return flops(b::whole, b::training.ops());
}

} // namespace

TEST_CASE("ways: a step under a budget has the bits of store_all, in the bytes that were planned") {
  static_assert(moves<Within<45, Equal>> && moves<Within<55, Mixed>>);
  testing::check_step<Within<45, Equal>, 5, float>();
  testing::check_step<Within<55, Mixed>, 5, float>();
}

TEST_CASE("ways: blocks of several chains, and gradients in the arena, have the bits of store_all too") {
  static_assert(moves<Within<65, Joined>> && moves<Within<80, Joined>>);
  testing::check_step<Within<80, Joined>, 5, float>();
  testing::check_step<Within<65, Joined>, 5, double>();
}

TEST_CASE("ways: one block, or room for everything, and a network is planned as it was typed") {
  using One = Sequential<Linear<12, 16>, Norm, Linear<16, 4>>;
  using of_one = blueprint_of<Within<100, One>, 5>;
  static_assert(std::is_same_v<of_one::source, of_one::typed_source>);
  static_assert(!moves<Within<100, Equal>>);
  static_assert(flops_of<Within<100, Equal>>() == flops_of<Equal>());
}

TEST_CASE("ways: they cost less than the schedules of the blocks as they were typed") {
  using model = Within<45, Equal>;
  using typed = Sequential<Linear<12, 16>, Repeat<6, checkpoint<store_all, Norm>>, Linear<16, 4>>; // offers none
  static_assert(flops_of<model>() < flops_of<Within<45, typed>>());
  static_assert(peak_activation_bytes<model, 5> <= peak_activation_bytes<Equal, 5> * 45 / 100);
}

TEST_CASE("ways: what readers and limits are told of a budget is of all assignments, not of the one that is taken") {
  using drawn = blueprint_of<Within<24, Narrow>, 5>;
  using search = drawn::ways::search;
  using typed = search::as_typed;
  static_assert(std::is_same_v<drawn::ways::policy, search::budget>);
  static_assert(search::known<typed> == search::never && search::cost<typed> == search::never); // as typed nothing fits
  static_assert(search::least_flops() == search::known<search::taken>);
  static_assert(drawn::trained::over_best ==
                static_cast<double>(flops_of<Within<24, Narrow>>()) / static_cast<double>(search::least_flops()));
  static_assert(search::least_bytes() < detail::least_bytes_of<search::source<typed>, search::budget>());
  static_assert(search::least_bytes() <= drawn::trained::arena);

  // The cheapest schedule of an assignment that is not taken: the limit is compared with it too.
  struct dearer : search::budget {
    static constexpr std::uint64_t least_flops() { return search::least_flops() * 4 / 5; }
  };
  static_assert(detail::plan_of<drawn::source, dearer>::over_best > 1.24);
}

TEST_CASE("ways: a budget of at least the least bytes that an error would state is kept") {
  using Lean = Sequential<Linear<12, 8>,
                          Repeat<4, Sequential<Residual<LayerNorm<8>, Linear<8, 24>, Linear<24, 8>>,
                                               Residual<LayerNorm<8>, Linear<8, 32>, GELU, Linear<32, 8>>>>,
                          LayerNorm<8>, Linear<8, 4>>;
  using model = Within<15, Lean>;
  using search = blueprint_of<model, 5>::ways::search;
  static_assert(search::least_bytes() <= search::bytes);
  static_assert(peak_activation_bytes<model, 5> <= search::bytes);
  testing::check_step<model, 5, float>();
}

} // namespace ways_tests
