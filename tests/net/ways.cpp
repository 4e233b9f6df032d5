// SPDX-License-Identifier: MIT
// long to compile
#include <cairn/layer/dropout.hpp>
#include <cairn/layer/gelu.hpp>
#include <cairn/layer/layer_norm.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/checkpoint.hpp>
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

template <class Model, std::size_t Batch = 5>
constexpr std::size_t step_of = blueprint_of<Model, Batch>::ways::step;
template <class Model, std::size_t Batch = 5>
constexpr std::uint64_t flops_of() {
  using b = blueprint_of<Model, Batch>;
  return flops(b::whole, b::training.ops());
}

} // namespace

TEST_CASE("ways: a step under a budget has the bits of store_all, in the bytes that were planned") {
  static_assert(step_of<Within<60, Equal>> > 0 && step_of<Within<70, Mixed>> > 0);
  testing::check_step<Within<60, Equal>, 5, float>();
  testing::check_step<Within<70, Mixed>, 5, float>();
}

TEST_CASE("ways: one block, or room for everything, and a network is planned as it was typed") {
  using One = Sequential<Linear<12, 16>, Norm, Linear<16, 4>>;
  using of_one = blueprint_of<Within<100, One>, 5>;
  static_assert(std::is_same_v<of_one::source, of_one::typed_source>);
  static_assert(step_of<Within<100, Equal>> == 0);
  static_assert(flops_of<Within<100, Equal>>() == flops_of<Equal>());
}

TEST_CASE("ways: they cost less than the schedules of the blocks as they were typed") {
  using model = Within<60, Equal>;
  using typed = Sequential<Linear<12, 16>, Repeat<6, checkpoint<store_all, Norm>>, Linear<16, 4>>; // offers none
  static_assert(flops_of<model>() < flops_of<Within<60, typed>>());
  static_assert(peak_activation_bytes<model, 5> <= peak_activation_bytes<Equal, 5> * 60 / 100);
}

} // namespace ways_tests
