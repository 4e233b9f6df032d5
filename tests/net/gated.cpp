// SPDX-License-Identifier: MIT
// long to compile
#include <cairn/net/gated.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <cairn/layer/batch_norm.hpp>
#include <cairn/layer/dropout.hpp>
#include <cairn/layer/gelu.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/layer_norm.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/layer/sigmoid.hpp>
#include <cairn/layer/tanh.hpp>
#include <cairn/net/frozen.hpp>
#include <doctest/doctest.h>

#include "../layer/several_layers.hpp"
#include "planned.hpp"

namespace gated_tests {

using namespace cairn;

namespace {

template <std::size_t In, std::size_t Hidden, class Activation>
using Unit = Gated<Sequential<Linear<In, Hidden>, Activation>, Linear<In, Hidden>>;

// Units whose first layers add to the gradient of the input, or whose block does. Branches of one layer that work in place, that
// read their result in backward, or that draw masks.
template <class Policy>
using Units =
    checkpoint<Policy, Sequential<Linear<6, 8>, Unit<8, 20, Sigmoid>, Linear<20, 8>, Residual<Unit<8, 12, GELU>, Linear<12, 8>>,
                                  Gated<Sequential<LayerNorm<8>, Linear<8, 10>>, Sequential<Tanh, Linear<8, 10>, ReLU>>,
                                  Gated<Tanh, Dropout<percent<20>>>, Linear<10, 4>>>;

} // namespace

TEST_CASE_TEMPLATE("Gated: every policy has the bits of the plain layers", Policy, store_all, recompute_all, every<2>, sqrt_n,
                   revolve<2>, recompute_cheap) {
  testing::check_step<Units<Policy>, 5, float>();
  if constexpr (testing::long_tests || std::is_same_v<Policy, sqrt_n>) testing::check_step<Units<Policy>, 3, double>();
}

TEST_CASE("Gated: with blocks of its own inside, and inside of one") {
  using Inner =
      Gated<checkpoint<recompute_all, Sequential<Linear<8, 4>, Tanh, Linear<4, 4>>>,
            Sequential<BatchNorm1d<8>, Residual<shortcut<Linear<8, 4>>, Unit<8, 4, Tanh>>, Repeat<2, Residual<Linear<4, 4>>>>>;
  testing::check_step<Sequential<Linear<6, 8>, Inner, Linear<4, 3>>, 5, float>();
  testing::check_step<
      checkpoint<sqrt_n, Sequential<Linear<6, 8>, checkpoint<recompute_all, Sequential<Inner, Linear<4, 8>>>,
                                    Repeat<3, Sequential<Concat<Linear<8, 2>, Gated<Linear<8, 6>, Linear<8, 6>>>, ReLU>>>>,
      5, float>();
}

TEST_CASE("Gated: first in the network, with parameters or without, frozen, and with a tensor that goes past") {
  testing::check_step<Sequential<Unit<6, 8, Tanh>, Linear<8, 3>>, 5, float>();
  testing::check_step<Sequential<Input<6>, Gated<Tanh, Dropout<>>, Gated<ReLU, Sigmoid>, Linear<6, 3>>, 5, float>();
  testing::check_step<Sequential<Linear<6, 8>, frozen<Unit<8, 9, Sigmoid>>, Linear<9, 3>>, 5, float>();
  testing::check_step<Sequential<Linear<6, 8>, testing::Split, Unit<8, 8, GELU>, testing::GatedPair, Linear<8, 3>>, 5, float>();
}

namespace {

// A network with one unit, in double, run by the executor alone.
template <class Net>
struct alone {
  testing::queue queue{1};
  testing::planned<double> plan = testing::plan<Net, 3, double>();
  testing::replica<double> made{plan};

  // The function whose derivative by the output the replica takes.
  double loss() {
    double sum = 0;
    const std::vector<double> output = made.step(queue, 3, false).output;
    for (std::size_t i = 0; i < output.size(); ++i)
      sum += output[i] * output[i] / 8 - output[i] * testing::number<double>(1000, i);
    return sum;
  }
};

template <class Net>
double largest_difference_from_quotients() {
  alone<Net> net;
  const std::vector<double> gradients = net.made.step(net.queue, 3, false).gradients;
  double most = 0;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    constexpr double h = 1e-5;
    double& w = net.made.parameters()[i];
    const double before = w;
    w = before + h;
    const double above = net.loss();
    w = before - h;
    const double below = net.loss();
    w = before;
    most = std::max(most, std::abs((above - below) / (2 * h) - gradients[i]));
  }
  return most;
}

} // namespace

TEST_CASE("Gated: its gradients are those of difference quotients") {
  CHECK(largest_difference_from_quotients<Sequential<Linear<4, 5>, Unit<5, 6, Sigmoid>, Linear<6, 3>>>() < 1e-9);
  CHECK(largest_difference_from_quotients<Sequential<Linear<4, 5>, Unit<5, 6, GELU>, Linear<6, 3>>>() < 1e-9);
  CHECK(largest_difference_from_quotients<Sequential<Linear<4, 5>, Gated<Tanh, Sequential<LayerNorm<5>, Tanh>>, Linear<5, 2>>>() <
        1e-9);
  CHECK(largest_difference_from_quotients<
            checkpoint<recompute_all, Sequential<Linear<4, 5>, Residual<Gated<Tanh, Linear<5, 5>>>, Linear<5, 2>>>>() < 1e-9);
}

TEST_CASE("Gated: it is the gated linear unit, with its derivatives") {
  using Net = Sequential<Gated<Sequential<Linear<2, 1>, Sigmoid>, Linear<2, 1>>>;
  alone<Net> net;
  const auto made = net.made.step(net.queue, 3, false);
  const auto number = [](std::uint32_t leaf, std::size_t index, std::size_t i) {
    return testing::number<double>(testing::replica<double>::parameter_stream(leaf, index), i) / 2;
  };
  std::array<double, 3> of_f{}, of_g{}; // derivatives by two weights and a bias
  for (std::size_t row = 0; row < 3; ++row) {
    const std::array<double, 3> x{testing::number<double>(1, 2 * row), testing::number<double>(1, 2 * row + 1), 1};
    double f = number(0, 1, 0), g = number(2, 1, 0); // the third layer is that of the second branch
    for (std::size_t i = 0; i < 2; ++i) f += number(0, 0, i) * x[i], g += number(2, 0, i) * x[i];
    f = 1 / (1 + std::exp(-f));
    CHECK(made.output[row] == doctest::Approx(f * g).epsilon(1e-12));
    const double by_output = f * g / 4 - testing::number<double>(1000, row);
    for (std::size_t i = 0; i < 3; ++i) of_f[i] += by_output * g * f * (1 - f) * x[i], of_g[i] += by_output * f * x[i];
  }
  std::vector<std::string> names;
  std::vector<double> gradients = made.gradients;
  detail::for_each_parameter(*net.plan.code, std::span<double>(gradients), std::span<double>(),
                             [&](const types::named_parameter<double>& p) {
                               const std::array<double, 3>& of = p.leaf == 0 ? of_f : of_g;
                               for (std::size_t i = 0; i < p.numbers.size(); ++i)
                                 CHECK(p.numbers[i] == doctest::Approx(of[p.index == 0 ? i : 2]).epsilon(1e-12));
                               names.push_back(p.name);
                             });
  CHECK(names == std::vector<std::string>{"0.0.0.weight", "0.0.0.bias", "0.1.0.weight", "0.1.0.bias"});
}

TEST_CASE("Gated: the plan counts what its branches make, and makes it without the product again") {
  using b = blueprint_of<Sequential<Linear<8, 16>, Unit<16, 40, Tanh>>, 4, float>;
  constexpr plan::stage unit = b::stages[1];
  constexpr std::size_t made = 4 * 40 * sizeof(float);
  static_assert(unit.tape.at(4) == 2 * made); // Tanh works in place and reads its result there
  static_assert(unit.forward_workspace.at(4) == 0 && unit.evaluation_workspace.at(4) == made);
  static_assert(unit.tape_without_output && unit.reads_input && !unit.reads_output && unit.leaves == 3);
  static_assert(unit.forward_flops == unit.tape_flops + 40);
  static_assert(unit.parameters == 2 * (16 * 40 + 40));
  static_assert(b::output_shape == shape{40});
}

} // namespace gated_tests
