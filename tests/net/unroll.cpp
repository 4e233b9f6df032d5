// SPDX-License-Identifier: MIT
// long to compile
#include <cairn/net/unroll.hpp>

#include <cstddef>
#include <string>
#include <type_traits>
#include <vector>

#include <cairn/layer/dropout.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/layer_norm.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/recurrent/gru_cell.hpp>
#include <cairn/layer/recurrent/lstm_cell.hpp>
#include <cairn/layer/tanh.hpp>
#include <cairn/net/frozen.hpp>
#include <cairn/net/function_of.hpp>
#include <cairn/plan/proof.hpp>
#include <cairn/plan/solve/budget.hpp>
#include <doctest/doctest.h>

#include "../layer/several_layers.hpp"
#include "planned.hpp"

namespace unroll_tests {

using namespace cairn;

namespace {

template <std::size_t T, class Policy>
using Gru = Sequential<Input<T, 4>, Linear<4, 6>, Unroll<T, GRUCell<6, 5>, Policy>, Linear<5, 3>>;
template <std::size_t T, class Policy>
using Lstm = Sequential<Input<T, 4>, Linear<4, 6>, typename Unroll<T, LSTMCell<6, 5>, Policy>::last, Linear<5, 3>>;

// The bits alone: a step has memory for the gradients of its input and of the first states, even where they are not computed.
template <class Net, std::size_t Batch>
void check_bits() {
  testing::queue q{1};
  const auto p = testing::plan<Net, Batch, float>();
  for (const std::size_t rows : {Batch / 2 + 1, Batch}) testing::compare(p, q, rows, testing::expected<Net, float>(p, q, rows));
}

} // namespace

TEST_CASE_TEMPLATE("Unroll: every policy has the bits of the plain steps", Policy, store_all, recompute_all, every<2>, sqrt_n,
                   revolve<2>, budget<5_KiB>) {
  testing::check_step<Gru<7, Policy>, 5, float>();
  testing::check_step<Lstm<7, Policy>, 5, float>();
  if constexpr (testing::long_tests || std::is_same_v<Policy, sqrt_n>) testing::check_step<Lstm<7, Policy>, 3, double>();
}

TEST_CASE("Unroll: one step, two steps, and many") {
  check_bits<Gru<1, sqrt_n>, 5>();
  check_bits<Lstm<1, store_all>, 5>();
  check_bits<Lstm<2, recompute_all>, 5>();
  check_bits<Gru<2, store_all>, 5>();
  testing::check_step<Gru<50, revolve<3>>, 3, float>();
}

TEST_CASE("Unroll: first in the network, one after another, in other blocks, frozen, and with a tensor that goes past") {
  check_bits<Sequential<Unroll<4, GRUCell<3, 5>, sqrt_n>, Linear<5, 3>>, 5>();
  check_bits<Sequential<Input<4, 3>, Unroll<4, GRUCell<3, 5>>, Unroll<4, LSTMCell<5, 4>, every<2>>::last>, 5>();
  testing::check_step<
      checkpoint<sqrt_n, Sequential<Input<4, 5>, Residual<LayerNorm<5>, Unroll<4, GRUCell<5, 5>>, Dropout<>>,
                                    checkpoint<recompute_all, Sequential<Unroll<4, LSTMCell<5, 6>, sqrt_n>, Linear<6, 5>>>,
                                    Repeat<2, Residual<Unroll<4, GRUCell<5, 5>, revolve<2>>>>>>,
      5, float>();
  testing::check_step<Sequential<Input<4, 5>, Linear<5, 5>, frozen<Unroll<4, GRUCell<5, 5>, sqrt_n>>, Linear<5, 3>>, 5, float>();
  testing::check_step<Sequential<Input<4, 8>, Linear<8, 8>, testing::Split, Unroll<4, GRUCell<8, 8>>, testing::GatedPair>, 5,
                      float>();
}

TEST_CASE("Unroll: gradients are added to those of micro-batches when they are complete") {
  using Net = Gru<7, sqrt_n>;
  testing::queue q{1};
  const auto p = testing::plan<Net, 3, float>();
  testing::replica<float> once(p), twice(p);
  const auto first = once.step(q, 3, false, 1), second = once.step(q, 2, false, 2);
  twice.step(q, 3, false, 1);
  twice.accumulates();
  const auto both = twice.step(q, 2, false, 2);
  for (std::size_t i = 0; i < both.gradients.size(); ++i) CHECK(both.gradients[i] == first.gradients[i] + second.gradients[i]);
}

TEST_CASE("Unroll: the parameters are there once, with the names of the cell, and finished in one piece") {
  using b = blueprint_of<Gru<7, store_all>, 5, float>;
  static_assert(b::parameters == 4 * 6 + 6 + 3 * 5 * (6 + 5 + 2) + 5 * 3 + 3);
  static_assert(b::stages[2].leaves == 8 && b::stages[2].reads_input && !b::stages[2].reads_output);
  static_assert(b::stages[2].tape_without_output && b::output_shape == shape{7, 3});
  static_assert(blueprint_of<Lstm<7, store_all>, 5, float>::output_shape == shape{3});
  const auto p = testing::plan<Gru<7, sqrt_n>, 5, float>();
  CHECK(testing::names_of<Gru<7, sqrt_n>>() == std::vector<std::string>{"0.weight", "0.bias", "1.weight_ih", "1.weight_hh",
                                                                        "1.bias_ih", "1.bias_hh", "2.weight", "2.bias"});
  testing::replica<float> r(p);
  testing::queue q{1};
  r.step(q, 5, false);
  CHECK(r.times_finished() == 3);
}

TEST_CASE("Unroll: fewer stored states need fewer bytes, and the function is the same") {
  constexpr auto bytes = []<class Policy>(Policy) {
    return peak_activation_bytes<Sequential<Input<24, 16>, typename Unroll<24, GRUCell<16, 32>, Policy>::last, Linear<32, 3>>,
                                 16>;
  };
  static_assert(bytes(every<4>{}) < bytes(store_all{}) / 2 && bytes(sqrt_n{}) < bytes(store_all{}) / 2);
  static_assert(bytes(revolve<6>{}) < bytes(sqrt_n{}) && bytes(revolve<3>{}) < bytes(revolve<6>{}));
  static_assert(bytes(recompute_all{}) < bytes(revolve<3>{}));
  using Stored = Gru<7, store_all>;
  using Segments = Gru<7, sqrt_n>;
  static_assert(std::is_same_v<detail::function_of<Stored>, detail::function_of<Segments>>);
  static_assert(blueprint_of<Stored, 4>::network_hash == blueprint_of<Segments, 4>::network_hash);
  static_assert(blueprint_of<Stored, 4>::schedule_hash != blueprint_of<Segments, 4>::schedule_hash);
}

TEST_CASE("Unroll: a budget around the whole network stores fewer states") {
  using Net =
      Sequential<Input<24, 4>, Linear<4, 8>, Unroll<24, GRUCell<8, 16>>, Unroll<24, LSTMCell<16, 16>>::last, Linear<16, 3>>;
  using Half = checkpoint<budget_fraction<50>, Net>;
  static_assert(peak_activation_bytes<Half, 6> <= peak_activation_bytes<Net, 6> / 2);
  constexpr auto ways = blueprint_of<Half, 6>::ways::way;
  static_assert(ways[2] != 0 || ways[3] != 0);
  testing::check_step<Half, 6, float>();
  using Alone = Sequential<Input<24, 4>, Unroll<24, GRUCell<4, 16>>::last, Linear<16, 3>>;
  static_assert(peak_activation_bytes<checkpoint<budget_fraction<30>, Alone>, 6> <= peak_activation_bytes<Alone, 6> * 3 / 10);
  static_assert(blueprint_of<checkpoint<budget_fraction<30>, Alone>, 6>::ways::way[1] != 0);
}

} // namespace unroll_tests
