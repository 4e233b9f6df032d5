// SPDX-License-Identifier: MIT
#include <cairn/layer/layer_members.hpp>

#include <cstddef>

#include <cairn/layer/dropout.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/layer_norm.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <doctest/doctest.h>

namespace layer_members_tests {

using namespace cairn;

namespace {

struct reading {
  static constexpr reads backward_reads = reads::input;
};
struct shaped {
  static constexpr tensor outputs(const arguments& in) { return in[0]; }
};
struct least : reading, shaped {};
struct last final : reading, shaped {
  static constexpr std::size_t tape() { return 0; }
};

struct overloaded : least {
  static constexpr bool accepts(const arguments&) { return true; }
  static constexpr bool accepts(int) { return false; }
};
struct late : shaped {
  static reads backward_reads() { return reads::input; }
};
struct of_object : reading {
  tensor outputs(const arguments& in) const { return in[0]; }
};
struct accepts_two : least {
  static constexpr bool accepts(const arguments&, const arguments&) { return true; }
};
struct inputs_as_a_number : least {
  static constexpr int inputs = 3;
};
struct takes_as_a_type : least {
  static constexpr int takes = 1;
};
struct depends_on_one : least {
  static constexpr bool depends(std::size_t) { return true; }
};
struct parameters_of_nothing : least {
  static constexpr tensor_list parameters() { return {}; }
};
struct parameters_of_another_type : least {
  static constexpr int parameters(const arguments&) { return 3; }
};
struct buffers_of_object : least {
  tensor_list buffers(const arguments&) { return {}; }
};
struct tape_in_bytes : least {
  static constexpr std::size_t tape(const arguments&) { return 0; }
};
struct workspace_without_pass : least {
  static constexpr tensor_list workspace(const arguments&) { return {}; }
};
struct flops_of_nothing : least {
  static constexpr work flops() { return {}; }
};
struct function_for_a_flag : least {
  static constexpr bool fuses() { return true; }
};
struct number_for_a_flag : least {
  static constexpr int adds = 1;
};
struct number_for_a_shape : least {
  static constexpr int reshapes = 1;
};
struct number_for_a_place : least {
  static constexpr int input_gradient_on_input = 1;
};
struct number_for_adding : least {
  static constexpr int adds_gradients = 1;
};
struct number_for_packing : least {
  static constexpr int packs_weight = 1;
};
struct keeps_without_arguments : least {
  static constexpr std::size_t keeps_per_token() { return 1; }
};
struct keeps_rightly : least {
  static constexpr bool takes_tokens_apart = true;
  static constexpr std::size_t keeps_per_token(const arguments&) { return 1; }
};
struct sums_without_arguments : least {
  static constexpr types::summed_numbers sums_over_ranks() { return {}; }
};
struct number_for_an_activation : least {
  static constexpr int as_activation = 1;
};

} // namespace

TEST_CASE("layer_members: a right layer has each as it should be, or not at all") {
  static_assert(detail::right_layer<Linear<3, 2>> && detail::right_layer<LayerNorm<4>> && detail::right_layer<ReLU>);
  static_assert(detail::right_layer<Dropout<>> && detail::right_layer<Inputs<dims<2>, constant<3>>>);
  static_assert(detail::right_layer<least> && detail::right_layer<last>); // of a final class only right members are seen
  CHECK(detail::right_layer<least>);
}

TEST_CASE("layer_members: what every layer has is missing or something else") {
  static_assert(!detail::right_outputs<reading> && !detail::right_outputs<of_object>);
  static_assert(!detail::right_backward_reads<shaped> && !detail::right_backward_reads<late>);
  CHECK(!detail::right_layer<reading>);
  CHECK(!detail::right_layer<late>);
}

TEST_CASE("layer_members: another signature is not taken for a member that is left out") {
  static_assert(detail::right_accepts<overloaded> && !detail::right_accepts<accepts_two>);
  static_assert(!detail::right_inputs<inputs_as_a_number> && !detail::right_takes<takes_as_a_type>);
  static_assert(!detail::right_depends<depends_on_one>);
  static_assert(!detail::right_parameters<parameters_of_nothing>);
  static_assert(!detail::right_parameters<parameters_of_another_type>);
  static_assert(!detail::right_buffers<buffers_of_object>);
  static_assert(!detail::right_tape<tape_in_bytes> && detail::right_workspace<tape_in_bytes>);
  static_assert(!detail::right_workspace<workspace_without_pass>);
  static_assert(!detail::right_flops<flops_of_nothing>);
  static_assert(!detail::right_fuses<function_for_a_flag> && !detail::right_adds<number_for_a_flag>);
  static_assert(!detail::right_reshapes<number_for_a_shape>);
  static_assert(!detail::right_input_gradient_on_input<number_for_a_place>);
  static_assert(detail::right_input_gradient_on_input<Linear<3, 2>>);
  static_assert(!detail::right_adds_gradients<number_for_adding> && detail::right_adds_gradients<Linear<3, 2>>);
  static_assert(!detail::right_packs_weight<number_for_packing> && detail::right_packs_weight<Linear<3, 2>>);
  static_assert(!detail::right_keeps_per_token<keeps_without_arguments>);
  static_assert(detail::right_keeps_per_token<keeps_rightly> && detail::right_layer<keeps_rightly> &&
                detail::right_keeps_per_token<least>);
  static_assert(!detail::right_sums_over_ranks<sums_without_arguments>);
  static_assert(!detail::right_as_activation<number_for_an_activation>);
  CHECK(!detail::right_layer<tape_in_bytes>);
  CHECK(!detail::right_layer<depends_on_one>);
}

} // namespace layer_members_tests
