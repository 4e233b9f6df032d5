// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>

#include <cairn/core/memory.hpp>
#include <cairn/layer/layer.hpp>
#include <cairn/plan/chain.hpp>

namespace cairn {

// What a layer is asked beside its stage, with the default for what it may leave unsaid.
template <layer L>
struct described {
  static constexpr bool accepts(const shape& in) {
    if constexpr (requires { L::accepts(in); }) return L::accepts(in);
    else return true;
  }
  static constexpr shape output_shape(const shape& in) { return L::output_shape(in); }
  static constexpr parameter_list parameters(const shape& in) {
    if constexpr (requires { L::parameters(in); }) return L::parameters(in);
    else return {};
  }
  static constexpr parameter_list state(const shape& in) {
    if constexpr (requires { L::state(in); }) return L::state(in);
    else return {};
  }
  static constexpr bool adds = requires { requires L::adds; };
};

// Where the tensors of a list lie in one block, in elements of `element` bytes: each starts at the alignment.
struct block_layout {
  std::array<std::size_t, parameter_list::max_size> offsets{};
  std::size_t size = 0;    // with padding
  std::size_t numbers = 0; // without

  constexpr block_layout() = default;
  constexpr block_layout(const parameter_list& list, std::size_t element) {
    for (std::size_t i = 0; i < list.count; ++i) {
      offsets[i] = size;
      numbers += list.items[i].extents.size();
      size += align_up(list.items[i].extents.size() * element) / element;
    }
  }
};

namespace detail {

// What a layer, of one tensor or of several, answered for one input. What it leaves unsaid is nothing.
struct answers {
  std::size_t outputs = 0; // numbers of one sample
  reads backward_reads = reads::nothing;
  work flops{};
  std::size_t tape_bytes = 0;
  std::size_t workspace_bytes = 0;
  block_layout parameters{};
  block_layout state{};
  bool in_place = false;
  bool fuses = false;
  activation as_activation = activation::none;
};

constexpr stage stage_of(const answers& a, std::size_t element) {
  const auto read = static_cast<unsigned>(a.backward_reads);
  stage s{};
  s.output = {a.outputs * element, 0};
  s.tape = {a.tape_bytes, 0};
  s.forward_workspace = s.evaluation_workspace = s.backward_workspace = {a.workspace_bytes, 0};
  s.reads_input = (read & static_cast<unsigned>(reads::input)) != 0;
  s.reads_output = (read & static_cast<unsigned>(reads::output)) != 0;
  s.in_place_forward = s.in_place_backward = a.in_place;
  s.fuses = a.fuses;
  s.as_activation = static_cast<unsigned char>(a.as_activation);
  s.parameters = a.parameters.numbers;
  s.parameter_block = a.parameters.size;
  s.state_block = a.state.size;
  s.forward_flops = s.tape_flops = a.flops.forward;
  s.backward_flops = a.flops.backward;
  s.input_gradient_flops = a.flops.input_gradient;
  return s;
}

} // namespace detail

// A layer as a stage of a plan: numbers, for an input of shape `in` and elements of `element` bytes. A network may have
// hundreds of layers: so each is asked in one function, and only what it says.
template <layer L>
constexpr stage describe(const shape& in, std::size_t element) {
  detail::answers a;
  a.outputs = L::output_shape(in).size();
  a.backward_reads = L::backward_reads;
  if constexpr (requires { L::flops(in); }) a.flops = L::flops(in);
  else a.flops = {a.outputs, a.outputs, a.outputs};
  if constexpr (requires { L::tape_bytes(in, element); }) a.tape_bytes = L::tape_bytes(in, element);
  if constexpr (requires { L::workspace_bytes(in, element); })
    a.workspace_bytes = L::workspace_bytes(in, element);
  if constexpr (requires { L::parameters(in); }) a.parameters = {L::parameters(in), element};
  if constexpr (requires { L::state(in); }) a.state = {L::state(in), element};
  if constexpr (requires { requires L::in_place; }) a.in_place = true;
  if constexpr (requires { requires L::fuses; }) a.fuses = true;
  if constexpr (requires { L::as_activation; }) a.as_activation = L::as_activation;
  return detail::stage_of(a, element);
}

} // namespace cairn
