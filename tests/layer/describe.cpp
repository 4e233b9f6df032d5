// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cairn/layer/describe.hpp>
#include <cairn/layer/layer_norm.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>

using namespace cairn;

namespace {

// Says only what a layer must.
struct Silent {
  static constexpr reads backward_reads = reads::nothing;
  static constexpr shape output_shape(const shape& in) { return in; }
};

} // namespace

TEST_CASE("described: what a layer leaves unsaid has its default") {
  using facts = described<Silent>;
  static_assert(facts::accepts(shape{3, 5}));
  static_assert(facts::parameters(shape{3}).count == 0 && facts::state(shape{3}).count == 0);
  static_assert(!facts::adds && described<Linear<3, 2>>::adds);
  CHECK(!described<Linear<3, 2>>::accepts(shape{4}));
}

TEST_CASE("block_layout: every tensor begins at the alignment") {
  constexpr block_layout block{described<Linear<3, 2>>::parameters(shape{3}), sizeof(float)};
  static_assert(block.offsets[0] == 0 && block.offsets[1] == 16);
  static_assert(block.numbers == 8 && block.size == 32);
  constexpr block_layout doubles{described<Linear<3, 2>>::parameters(shape{3}), sizeof(double)};
  static_assert(doubles.offsets[1] == 8 && doubles.size == 16);
  CHECK(block_layout{}.size == 0);
}

TEST_CASE("describe: what a layer leaves unsaid is nothing, but its work: an operation for each output") {
  constexpr stage s = describe<Silent>(shape{3, 5}, 4);
  static_assert(s.output.per_sample == 60 && !s.keeps_tape() && s.backward_workspace.per_sample == 0);
  static_assert(!s.reads_input && !s.reads_output && !s.in_place_forward && !s.in_place_backward);
  static_assert(!s.fuses && s.as_activation == 0 && s.parameter_block == 0 && s.state_block == 0);
  static_assert(s.forward_flops == 15 && s.backward_flops == 15 && s.input_gradient_flops == 15);
  CHECK(describe<ReLU>(shape{3}, 4).as_activation == static_cast<unsigned char>(activation::relu));
}

TEST_CASE("describe: a layer as a stage") {
  constexpr stage linear = describe<Linear<3, 2>>(shape{7, 3}, sizeof(float));
  static_assert(linear.output.per_sample == 7 * 2 * sizeof(float) && linear.output.per_batch == 0);
  static_assert(linear.reads_input && !linear.reads_output && linear.fuses && !linear.in_place_forward);
  static_assert(linear.parameters == 8 && linear.parameter_block == 32 && linear.state_block == 0);
  static_assert(linear.forward_flops == 7 * (2 * 3 * 2 + 2) && linear.input_gradient_flops == 7 * 2 * 3 * 2);
  constexpr stage relu = describe<ReLU>(shape{5}, sizeof(double));
  static_assert(!relu.reads_input && relu.reads_output && relu.in_place_forward && relu.in_place_backward);
  static_assert(relu.as_activation == static_cast<unsigned char>(activation::relu));
  constexpr stage norm = describe<LayerNorm<8>>(shape{4, 8}, sizeof(float));
  static_assert(norm.keeps_tape() && norm.parameters == 16);
  CHECK(norm.tape.at(3) % alignment == 0);
}
