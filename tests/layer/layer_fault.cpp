// SPDX-License-Identifier: MIT
#include <string>

#include <cairn/layer/dropout.hpp>
#include <cairn/layer/input.hpp>
#include <cairn/layer/layer_fault.hpp>
#include <cairn/layer/layer_norm.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <doctest/doctest.h>

using namespace cairn;

namespace {

struct reading {
  static constexpr reads backward_reads = reads::input;
};
struct shaped {
  static constexpr shape output_shape(const shape& in) { return in; }
};
struct least : reading, shaped {};
struct last final : reading, shaped {};

struct number_for_a_shape : least {
  static constexpr int input_shape = 3;
};

struct number_for_an_activation : least {
  static constexpr int as_activation = 1;
};

template <class T>
constexpr layer_fault with = layer_fault_of<T>;

} // namespace

TEST_CASE("layer_fault: right layers have none") {
  static_assert(with<Linear<2, 3>> == layer_fault::none && with<ReLU> == layer_fault::none);
  static_assert(with<LayerNorm<2>> == layer_fault::none && with<Dropout<>> == layer_fault::none);
  static_assert(with<Input<2, 3>> == layer_fault::none);
  static_assert(with<least> == layer_fault::none && with<last> == layer_fault::none);
}

TEST_CASE("layer_fault: a type that has nothing of a layer is none") {
  static_assert(with<int> == layer_fault::no_layer && with<std::string> == layer_fault::no_layer);
}

TEST_CASE("layer_fault: the member that every layer has is missing or something else") {
  struct late : shaped {
    static reads backward_reads() { return reads::input; }
  };
  struct of_object : reading {
    shape output_shape(const shape& in) const { return in; }
  };
  static_assert(with<reading> == layer_fault::output_shape && with<of_object> == layer_fault::output_shape);
  static_assert(with<shaped> == layer_fault::backward_reads && with<late> == layer_fault::backward_reads);
}

TEST_CASE("layer_fault: a member that a layer may have, with another signature, is not taken for one that is "
          "absent") {
  struct parameters_of_nothing : least {
    static constexpr parameter_list parameters() { return {}; }
  };
  struct parameters_of_another_type : least {
    static constexpr int parameters(const shape&) { return 3; }
  };
  struct accepts_of_two : least {
    static constexpr bool accepts(const shape&, const shape&) { return true; }
  };
  struct state_of_object : least {
    parameter_list state(const shape&) { return {}; }
  };
  struct flops_of_nothing : least {
    static constexpr work flops() { return {}; }
  };
  struct tape_without_element : least {
    static constexpr std::size_t tape_bytes(const shape&) { return 0; }
  };
  struct workspace_without_element : least {
    static constexpr std::size_t workspace_bytes(const shape&) { return 0; }
  };
  struct function_for_a_flag : least {
    static constexpr bool fuses() { return true; }
  };
  static_assert(with<parameters_of_nothing> == layer_fault::parameters);
  static_assert(with<parameters_of_another_type> == layer_fault::parameters);
  static_assert(with<accepts_of_two> == layer_fault::accepts);
  static_assert(with<state_of_object> == layer_fault::state);
  static_assert(with<flops_of_nothing> == layer_fault::flops);
  static_assert(with<tape_without_element> == layer_fault::tape_bytes);
  static_assert(with<workspace_without_element> == layer_fault::workspace_bytes);
  static_assert(with<function_for_a_flag> == layer_fault::flags);
  static_assert(with<number_for_a_shape> == layer_fault::input_shape);
  static_assert(with<number_for_an_activation> == layer_fault::as_activation);
}
