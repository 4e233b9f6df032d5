// SPDX-License-Identifier: MIT
#include <cairn/layer/describe.hpp>

#include <cairn/layer/layer_norm.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <doctest/doctest.h>

#include "several_layers.hpp"

namespace describe_tests {

using namespace cairn;
using namespace cairn::detail;

namespace {

// A layer with the required members only.
struct Silent {
  static constexpr reads backward_reads = reads::nothing;
  static constexpr tensor outputs(const arguments& in) { return in[0]; }
};

struct described {
  description made{};
  element_facts facts{};
};
template <class L>
constexpr described of(const value_list& value, const tensor_list& constants = {}, std::size_t element_size = 4) {
  described out{};
  describe<L>(value, constants, {{element_size, element_size}, 6}, out.made, &out.facts);
  return out;
}
template <class L>
constexpr stage stage_of(const value_list& value, std::size_t element_size = 4) {
  return of<L>(value, {}, element_size).facts.as_stage;
}

constexpr value_list three{{16}, {16}, {2, 3}};
constexpr value_list two{{16}, {16}};
constexpr tensor token = tensor{16}.of(element::int32);
constexpr tensor_list mask{tensor{3}.constant()};

} // namespace

TEST_CASE("describe: what a layer leaves unsaid is nothing, but its work: an operation for each output") {
  constexpr described silent = of<Silent>({{3, 5}});
  constexpr stage s = silent.facts.as_stage;
  static_assert(silent.made.accepts && silent.made.takes == 1 && silent.made.gives == 1);
  static_assert(silent.made.after == value_list{{3, 5}} && silent.made.uses(0b1) == 0b1);
  static_assert(!s.keeps_tape() && s.forward_workspace.at(6) == 0 && s.backward_workspace.at(6) == 0);
  static_assert(!s.reads_input && !s.reads_output && !s.in_place_forward && !s.in_place_backward);
  static_assert(!s.input_gradient_on_input);
  static_assert(!s.fuses && s.as_activation == 0 && s.parameter_block == 0 && s.state_block == 0);
  static_assert(s.forward_flops == 15 && s.backward_flops == 15 && s.input_gradient_flops == 15);
  static_assert(!silent.facts.adds && !silent.facts.strided && silent.facts.parameter_count == 0);
  CHECK(!of<Silent>({token}).made.accepts); // a layer that takes other tensors than real ones must say so
}

TEST_CASE("describe: a layer as a stage") {
  constexpr described linear = of<Linear<3, 2>>({{7, 3}});
  constexpr stage s = linear.facts.as_stage;
  static_assert(linear.made.after == value_list{{7, 2}} && linear.facts.adds && linear.facts.strided);
  static_assert(s.reads_input && !s.reads_output && s.fuses && !s.in_place_forward && s.input_gradient_on_input);
  static_assert(s.parameters == 8 && s.parameter_block == 32 && s.state_block == 0);
  static_assert(linear.facts.parameter_count == 2 && linear.facts.parameter_ends[0] == 16);
  static_assert(linear.facts.parameter_ends[1] == 32);
  static_assert(s.forward_flops == 7 * (2 * 3 * 2 + 2) && s.input_gradient_flops == 7 * 2 * 3 * 2);
  constexpr stage relu = stage_of<ReLU>({{5}}, 8);
  static_assert(!relu.reads_input && relu.reads_output && relu.in_place_forward && relu.in_place_backward);
  static_assert(relu.as_activation == static_cast<unsigned char>(ops::activation::relu));
  constexpr stage norm = stage_of<LayerNorm<8>>({{4, 8}});
  static_assert(norm.keeps_tape() && norm.tape.per_sample == 4 * 2 * 4 && norm.parameters == 16);
  CHECK(!of<Linear<3, 2>>({{4}}).made.accepts);
}

TEST_CASE("describe: a layer takes from the front, and the rest goes past it") {
  static_assert(of<testing::GatedPair>(three).made.takes == 2 && of<testing::GatedPair>(three).made.gives == 1);
  static_assert(of<testing::GatedPair>(three).made.after == value_list{{16}, {2, 3}});
  static_assert(of<testing::Split>(two).made.after == value_list{{16}, {16}, {16}});
  static_assert(of<testing::Swap>({{3}, {4}}).made.after == value_list{{4}, {3}});
  CHECK(of<ReLU>({{16}, token}).made.after == value_list{{16}, token});
}

TEST_CASE("describe: what a layer does not accept") {
  static_assert(of<testing::GatedPair>(three).made.accepts && !of<testing::GatedPair>({{3}, {4}}).made.accepts);
  static_assert(!of<testing::GatedPair>({{3}}).made.accepts); // too few: the layer itself is not asked
  static_assert(!of<testing::Masked<>>({{3}}).made.accepts);
  static_assert(of<testing::Masked<>>({{3}, {4}}, mask).made.accepts);
  static_assert(!of<testing::Masked<1>>({{3}, {4}}, mask).made.accepts);
  CHECK(of<testing::Masked<>>({{3}, {4}}, mask).made.after == value_list{{3}, {4}});
}

TEST_CASE("describe: which inputs have a gradient") {
  static_assert(of<testing::Split>(two).made.uses(0b010) == 0b01);
  static_assert(of<testing::Split>(two).made.uses(0b110) == 0b11); // the last tensor goes past it
  static_assert(of<testing::GatedPair>(three).made.uses(0b1) == 0b11);
  static_assert(of<testing::First>(three).made.uses(0b1) == 0b1);
  static_assert(of<testing::Swap>(three).made.uses(0b10) == 0b1);
  static_assert(of<testing::Mix>({{4}, {4}, {4}}).made.uses(0b1) == 0b11);
  static_assert(of<testing::Mix>({{4}, {4}, {4}}).made.uses(0b100) == 0b100);
  CHECK(of<testing::Swap>({{4}, token.constant()}).made.accepts == false);
  CHECK(of<testing::Swap>({{4}, tensor{4}.constant()}).made.uses(0b11) == 0b1); // a constant has no gradient
}

TEST_CASE("describe: a layer of several tensors as a stage") {
  constexpr stage split = stage_of<testing::Split>(two);
  static_assert(split.reads_input && !split.reads_output && split.parameters == 32 && split.parameter_block == 32);
  static_assert(split.forward_flops == 32 && !split.in_place_forward && !split.fuses && split.as_activation == 0);
  constexpr stage mix = stage_of<testing::Mix>({{5}, {5}, {5}}, 8);
  static_assert(mix.in_place_forward && mix.in_place_backward && mix.parameters == 5);
  static_assert(mix.tape.at(6) == 2 * 256 && mix.forward_workspace.at(6) == 3 * 256); // 6 * 5 * 8 bytes each
  CHECK(mix.evaluation_workspace.at(6) == mix.backward_workspace.at(6));
}

} // namespace describe_tests
