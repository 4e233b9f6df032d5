// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <cairn/core/explain.hpp>
#include <cairn/core/tensor.hpp>
#include <cairn/layer/description.hpp>
#include <cairn/layer/layer.hpp>

namespace cairn::detail {

template <class L>
constexpr std::uint8_t taken_by = [] {
  if constexpr (requires { L::takes; }) return std::uint8_t{L::takes};
  else return std::uint8_t{1};
}();

constexpr bool are_real(const arguments& in) {
  for (std::size_t k = 0; k < in.count; ++k)
    if (!in[k].is_real()) return false;
  return true;
}
// The tensors that have a gradient, as a set.
constexpr tensor_set gradients_of(const arguments& in) {
  unsigned set = 0;
  for (std::size_t k = 0; k < in.count; ++k)
    if (in[k].has_gradient) set |= 1U << k;
  return static_cast<tensor_set>(set);
}

// Collects everything about a layer, once; without `facts`, only what it makes of the value. Members that the layer leaves
// out get their defaults here. It is one function, and uses only members that the layer has, because a network may have
// hundreds of layers.
template <layer L>
constexpr void describe(const value_list& value, const tensor_list& constants, const scale& to, description& out,
                        element_facts* facts) {
  constexpr std::uint8_t takes = taken_by<L>;
  out.takes = takes;
  if (value.count < takes) return;
  const arguments in{value.items.data(), takes, constants};
  if constexpr (requires { L::accepts(in); }) out.accepts = L::accepts(in);
  else out.accepts = are_real(in);
  if (!out.accepts) return;

  if constexpr (std::is_same_v<decltype(L::outputs(in)), tensor>) out.after.push_back(L::outputs(in));
  else out.after = value_list(tensor_list(L::outputs(in)));
  out.pass_by(value);
  const tensor_set gradients = gradients_of(in);
  if constexpr (requires { L::depends(takes, takes); }) {
    for (std::size_t o = 0; o < out.gives; ++o)
      for (std::size_t k = 0; k < takes; ++k)
        if (contains(gradients, k) && L::depends(o, k)) out.depends[o] |= static_cast<tensor_set>(1U << k);
  } else {
    for (tensor_set& by : out.depends) by = gradients;
  }
  if (facts == nullptr) return;

  stage& s = facts->as_stage;
  constexpr auto read = static_cast<unsigned>(L::backward_reads);
  s.reads_input = (read & static_cast<unsigned>(reads::input)) != 0;
  s.reads_output = (read & static_cast<unsigned>(reads::output)) != 0;
  if constexpr (requires { L::flops(in); }) {
    facts->works(L::flops(in));
  } else {
    const std::size_t made = out.after.elements(out.gives);
    facts->works({made, made, made});
  }
  if constexpr (requires { L::tape(in); }) s.tape = to.of(tensor_list(L::tape(in)));
  if constexpr (requires { L::workspace(in, pass::forward); }) {
    s.forward_workspace = to.of(tensor_list(L::workspace(in, pass::forward)));
    s.evaluation_workspace = to.of(tensor_list(L::workspace(in, pass::evaluate)));
    s.backward_workspace = to.of(tensor_list(L::workspace(in, pass::backward)));
  }
  if constexpr (requires { L::parameters(in); }) facts->learns(L::parameters(in), to);
  if constexpr (requires { L::buffers(in); }) s.state_block = to.block(tensor_list(L::buffers(in))).size / to.sizes.real;
  if constexpr (requires { requires L::in_place; }) s.in_place_forward = s.in_place_backward = true;
  if constexpr (requires { requires L::input_gradient_on_input; }) s.input_gradient_on_input = true;
  if constexpr (requires { requires L::fuses; }) s.fuses = true;
  if constexpr (requires { requires L::reshapes; }) // a layer that does more cannot be left out
    s.reshapes = s.in_place_forward && !s.fuses && !s.keeps_tape() && s.parameters == 0 && s.state_block == 0;
  if constexpr (requires { requires L::adds; }) facts->adds = true;
  if constexpr (requires { requires L::strided; }) facts->strided = true;
  if constexpr (requires { requires L::in_strips; }) facts->strip = L::workspace(in, pass::backward)[1].size() * to.sizes.real;
  if constexpr (requires { typename L::tied_to; }) facts->tied_to = spelling<typename L::tied_to>();
  if constexpr (requires { L::as_activation; }) s.as_activation = static_cast<unsigned char>(L::as_activation);
}

} // namespace cairn::detail
