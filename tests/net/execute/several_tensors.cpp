// SPDX-License-Identifier: MIT
// long to compile
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <cairn/layer/dropout.hpp>
#include <cairn/layer/gelu.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/layer_norm.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/layer/tanh.hpp>
#include <cairn/net/execute.hpp>
#include <cairn/plan/solve/budget.hpp>

#include "../../layer/several_layers.hpp"
#include "../layers.hpp"
#include "../planned.hpp"

namespace execute_several_tensors_tests {

using namespace cairn;
using testing::First;
using testing::GatedPair;
using testing::Masked;
using testing::Mix;
using testing::Positioned;
using testing::Split;
using testing::Swap;

namespace {

using Wide = Linear<16, 16>;

// Blocks that pass (hidden, mask) along: the mask is a constant, and each block multiplies by it.
using HiddenMask = Sequential<Inputs<dims<12>, constant<16>, constant<16>>, Linear<12, 16>, Positioned<1>,
                              Repeat<3, Residual<LayerNorm<16>, Linear<16, 20>, ReLU, Linear<20, 16>, Masked<>>>, Masked<>,
                              checkpoint<recompute_all, Sequential<Wide, ReLU, Masked<>, Dropout<percent<30>>, Wide>>,
                              Residual<Masked<>, Wide>, Linear<16, 4>>;

// Two tensors that have gradients: layers and blocks of one tensor work on the first, and the gate goes past them, also past a
// product that applies the activation after it.
using Passing = Sequential<Linear<12, 16>, Split, Wide, ReLU, Residual<Wide, Tanh>, LayerNorm<16>, Linear<16, 7>, Linear<7, 16>,
                           ReLU, Dropout<percent<20>>, testing::Scale, testing::Witness, GatedPair, ReLU,
                           Residual<Split, Wide, ReLU, GatedPair>, Linear<16, 4>>;

// Blocks with several tensors at their ends, inside one another, under policies of their own.
using Blocks = Sequential<Inputs<dims<16>, constant<16>>, Wide, Split,
                          Repeat<2, checkpoint<every<2>, Sequential<Wide, Swap, ReLU, Masked<>, Wide, Tanh>>>,
                          Residual<Swap, Wide, checkpoint<recompute_all, Sequential<Wide, Swap, LayerNorm<16>, Masked<>>>>,
                          checkpoint<store_all, Sequential<Residual<Swap, Wide, GELU, Wide>, Masked<>, Swap>>,
                          checkpoint<recompute_all, Sequential<Wide, Swap, Split, GatedPair, LayerNorm<16>>>, GatedPair, Wide>;

// Three tensors in and three out. The second and third tensors of the last value are not used; those of earlier blocks are used
// by later ones.
using Three = Sequential<Inputs<dims<9>, dims<9>, dims<9>>, Linear<9, 9>, Mix, Mix, Repeat<3, Residual<Mix, Linear<9, 9>, ReLU>>,
                         Repeat<2, checkpoint<recompute_all, Sequential<Mix, Linear<9, 9>, Mix>>>, Swap, Mix,
                         checkpoint<sqrt_n, Sequential<Mix, Residual<Mix>>>>;

// Each in-place layer needs one tensor more than the next one, so the gradients grow in the backward pass.
using Growing = Sequential<Inputs<dims<9>, dims<9>, dims<9>>, Linear<9, 9>, Swap, Linear<9, 9>, Mix, Mix, Mix, Linear<9, 9>>;

// The second input is used only by way of the first. One tensor of each split value is used, sometimes only the second.
using Late = Sequential<Inputs<dims<16>, dims<16>, constant<16>>, Residual<Swap, Masked<>>, GatedPair, Wide, Split, First,
                        Residual<Split, First>, Split, Swap, First, checkpoint<recompute_all, Sequential<Split, Swap>>, Masked<>,
                        First, Split, Repeat<2, checkpoint<recompute_all, Sequential<Swap, Swap, Swap>>>, First, Wide>;

// A residual block adds the gradients that exist: that of its first output alone, that of its layers alone, or both.
using Adding = Sequential<Wide, Split, Residual<Swap>, First, Split, Residual<Swap>, Swap, First, Split,
                          Residual<Swap, Wide, Swap>, GatedPair, Wide>;

} // namespace

TEST_CASE_TEMPLATE("several tensors: blocks pass hidden and mask along", T, float, double) {
  testing::check_network<HiddenMask, 5, T>();
}

TEST_CASE_TEMPLATE("several tensors: a second tensor goes past layers of one", T, float, double) {
  testing::check_network<Passing, 5, T>();
}

TEST_CASE("several tensors: blocks with several tensors at their ends") { testing::check_network<Blocks, 5, float>(); }

TEST_CASE("several tensors: three tensors in and out") {
  testing::check_network<Three, 5, float>();
  testing::check_network<Growing, 5, float>();
}

TEST_CASE("several tensors: schedules that the compiler solves for a budget") {
  const auto check = [](const char* policy, const auto& all, const auto& p, const auto& want) {
    CHECK(p.arena < all.arena);
    testing::check_policy(policy, p, want);
  };
  testing::queue q{1};
  const auto all = testing::plan<HiddenMask, 5, float>();
  const std::vector<std::pair<std::size_t, testing::made<float>>> want{{5, testing::expected<HiddenMask, float>(all, q, 5)}};
  check("a budget", all, testing::plan<checkpoint<budget_fraction<80>, HiddenMask>, 5, float>(), want);
  check("revolve<3>", all, testing::plan<checkpoint<revolve<3>, HiddenMask>, 5, float>(), want);
  const auto mixed = testing::plan<Three, 5, float>();
  const std::vector<std::pair<std::size_t, testing::made<float>>> mixed_want{{5, testing::expected<Three, float>(mixed, q, 5)}};
  check("a budget", mixed, testing::plan<checkpoint<budget_fraction<80>, Three>, 5, float>(), mixed_want);
}

TEST_CASE("several tensors: outputs that are not used") {
  testing::check_network<Late, 5, float>();
  testing::check_network<Adding, 5, float>();
}

TEST_CASE("several tensors: the gradient of an output that is not used is not computed") {
  // In each step, one Split is asked for the gradient of its value and the other for that of its gate.
  using Net = Sequential<Wide, Split, ReLU, First, Split, Swap, First, Wide>;
  const auto p = testing::plan<checkpoint<sqrt_n, Net>, 5, float>();
  testing::queue q{1};
  testing::replica<float> r(p);
  testing::split_seen = {};
  r.step(q, 5, true);
  CHECK(testing::split_seen.used[0] == 1);
  CHECK(testing::split_seen.unused[0] == 1);
  CHECK(testing::split_seen.used[1] == 1);
  CHECK(testing::split_seen.unused[1] == 1);
  // In a repeated block only the last repetition has an output that is not used.
  using Repeated = Sequential<Wide, Split, Repeat<3, checkpoint<recompute_all, Sequential<GatedPair, Split>>>, ReLU>;
  testing::replica<float> blocks(testing::plan<Repeated, 5, float>());
  testing::split_seen = {};
  blocks.step(q, 5, true);
  CHECK(testing::split_seen.used[0] == 4);
  CHECK(testing::split_seen.used[1] == 3);
  CHECK(testing::split_seen.unused[1] == 1);
}

TEST_CASE("several tensors: every layer's gradients are finished once, whatever is made again") {
  const auto check = [](const auto& p, std::size_t layers) {
    testing::queue q{1};
    testing::replica<float> r(p);
    r.step(q, 5, true);
    CHECK(r.times_finished() == layers);
    CHECK(r.finished() == p.parameters);
  };
  // A Linear at the bottom, three blocks of a LayerNorm and two Linear, two Linear in a block, one in another, one on top.
  constexpr std::size_t layers = 1 + 3 * 3 + 2 + 1 + 1;
  check(testing::plan<HiddenMask, 5, float>(), layers);
  check(testing::plan<checkpoint<recompute_all, HiddenMask>, 5, float>(), layers);
  check(testing::plan<checkpoint<revolve<3>, HiddenMask>, 5, float>(), layers);
}

namespace {

// Compares every parameter's gradient with a difference quotient of the function whose derivative testing::derive computes.
template <class Model>
void check_derivatives() {
  const auto p = testing::plan<Model, 3, double>();
  testing::queue q{1};
  testing::replica<double> r(p);
  const auto loss = [&] {
    double sum = 0;
    const auto output = r.step(q, 3, false).output;
    for (std::size_t i = 0; i < output.size(); ++i)
      sum += output[i] * output[i] / 8 - testing::number<double>(1000, i) * output[i];
    return sum;
  };
  const std::vector<double> gradients = r.step(q, 3, false).gradients;
  double largest = 0;
  cairn::detail::for_each_parameter(
      *p.code, std::span<double>(r.parameters().data(), p.parameters), std::span<double>{}, [&](const auto& named) {
        for (double& element : named.numbers) {
          constexpr double h = 1e-6;
          const double kept = element;
          element = kept + h;
          const double above = loss();
          element = kept - h;
          const double below = loss();
          element = kept;
          const double expected = (above - below) / (2 * h);
          const auto at = static_cast<std::size_t>(&element - r.parameters().data());
          const double difference = std::fabs(gradients[at] - expected) / std::max(1.0, std::fabs(expected));
          largest = difference <= largest ? largest : difference; // NaN stays
        }
      });
  CHECK(largest < 1e-7);
}

} // namespace

TEST_CASE("several tensors: gradients are derivatives") {
  check_derivatives<checkpoint<sqrt_n, HiddenMask>>();
  check_derivatives<Late>();
#ifdef CAIRN_LONG_TESTS
  check_derivatives<checkpoint<revolve<2>, Passing>>();
  check_derivatives<Blocks>();
  check_derivatives<checkpoint<every<3>, Three>>();
  check_derivatives<Adding>();
#endif
}

} // namespace execute_several_tensors_tests
