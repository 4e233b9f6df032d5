// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>

#include <cairn/core/memory.hpp>
#include <cairn/layer/layer.hpp>
#include <cairn/plan/chain.hpp>

namespace cairn {

// What a layer says of itself, with the default for everything that it may leave unsaid.
template <layer L>
struct described {
  static constexpr bool accepts(const shape& in) {
    if constexpr (requires { L::accepts(in); }) return L::accepts(in);
    else return true;
  }
  static constexpr parameter_list parameters(const shape& in) {
    if constexpr (requires { L::parameters(in); }) return L::parameters(in);
    else return {};
  }
  static constexpr parameter_list state(const shape& in) {
    if constexpr (requires { L::state(in); }) return L::state(in);
    else return {};
  }
  static constexpr work flops(const shape& in) {
    if constexpr (requires { L::flops(in); }) return L::flops(in);
    else return {L::output_shape(in).size(), L::output_shape(in).size(), L::output_shape(in).size()};
  }
  static constexpr std::size_t tape_bytes(const shape& in, std::size_t element) {
    if constexpr (requires { L::tape_bytes(in, element); }) return L::tape_bytes(in, element);
    else return 0;
  }
  static constexpr std::size_t workspace_bytes(const shape& in, std::size_t element) {
    if constexpr (requires { L::workspace_bytes(in, element); }) return L::workspace_bytes(in, element);
    else return 0;
  }
  static constexpr bool in_place = requires { requires L::in_place; };
  static constexpr bool fuses = requires { requires L::fuses; };
  static constexpr bool adds = requires { requires L::adds; };
  static constexpr activation as_activation = [] {
    if constexpr (requires { L::as_activation; }) return L::as_activation;
    else return activation::none;
  }();
  static constexpr bool knows_input = requires { L::input_shape; };
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

// What every layer says of itself as a stage, of one tensor or of several. Facts answer for its input `in`.
template <class Facts, class In>
constexpr stage stage_of(const In& in, std::size_t outputs, reads backward_reads, std::size_t element) {
  const auto read = static_cast<unsigned>(backward_reads);
  const work w = Facts::flops(in);
  const block_layout block{Facts::parameters(in), element};
  stage s{};
  s.output = {outputs * element, 0};
  s.tape = {Facts::tape_bytes(in, element), 0};
  s.forward_workspace = s.evaluation_workspace =
      s.backward_workspace = {Facts::workspace_bytes(in, element), 0};
  s.reads_input = (read & static_cast<unsigned>(reads::input)) != 0;
  s.reads_output = (read & static_cast<unsigned>(reads::output)) != 0;
  s.in_place_forward = s.in_place_backward = Facts::in_place;
  s.parameters = block.numbers;
  s.parameter_block = block.size;
  s.state_block = block_layout{Facts::state(in), element}.size;
  s.forward_flops = s.tape_flops = w.forward;
  s.backward_flops = w.backward;
  s.input_gradient_flops = w.input_gradient;
  return s;
}

} // namespace detail

// A layer as a stage of a plan: numbers, for an input of shape `in` and elements of `element` bytes.
template <layer L>
constexpr stage describe(const shape& in, std::size_t element) {
  using facts = described<L>;
  stage s = detail::stage_of<facts>(in, L::output_shape(in).size(), L::backward_reads, element);
  s.fuses = facts::fuses;
  s.as_activation = static_cast<unsigned char>(facts::as_activation);
  return s;
}

} // namespace cairn
