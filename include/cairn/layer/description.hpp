// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <cairn/core/tensor.hpp>
#include <cairn/layer/layer.hpp>
#include <cairn/plan/chain.hpp>

namespace cairn::detail {

// The network's element sizes and its batch, which turn the description of a tensor into bytes.
struct scale {
  element_sizes sizes{};
  std::size_t batch = 1;

  template <std::size_t Most>
  constexpr bytes of(const tensors_up_to<Most>& list, tensor_set there = all_tensors) const {
    if (list.count == 0) return {};
    const tensor& first = list.items[0];
    if (list.count > 1 || !contains(there, 0)) return {0, tensor_layout(list, sizes, batch, there).size};
    const std::size_t size = first.size() * sizes[first.type];
    return first.per_batch ? bytes{0, size} : bytes{size, 0};
  }
  // The layout of parameters or buffers, which exist once for all samples.
  constexpr tensor_layout block(const tensor_list& list) const { return {list, sizes.kept(), 1}; }
};

// The effect of one element of a chain, a layer or a block, on the value that arrives there.
struct description {
  bool accepts = false;
  std::uint8_t takes = 1;                         // tensors, from the front
  std::uint8_t gives = 0;                         // tensors that are made of these; the others pass by
  std::array<tensor_set, most_tensors> depends{}; // by output: which of the taken inputs it has a derivative by
  value_list after{};                             // the whole value after the element
  tensor_set idle = 0;                            // outputs of a block that each, alone, do not use every stage inside
  bool together = false;                          // all that it makes must be used, or nothing

  // Appends to the outputs the tensors that pass by.
  constexpr void pass_by(const value_list& value) {
    gives = static_cast<std::uint8_t>(after.count);
    for (std::size_t k = takes; k < value.count; ++k) after.push_back(value.items[k]);
  }
  // The tensors of the value before it that have a gradient if the tensors `behind` of the value after it have one.
  constexpr tensor_set uses(tensor_set behind) const {
    unsigned set = static_cast<unsigned>(behind >> gives) << takes;
    for (std::size_t k = 0; k < gives; ++k)
      if (contains(behind, k)) set |= depends[k];
    return static_cast<tensor_set>(set);
  }
};

// Further properties of an element.
struct element_facts {
  stage as_stage{};
  bool adds = false;
  bool strided = false;
  std::size_t strip = 0;         // bytes of its output in a step that makes it in strips: see layer/head_in_strips.hpp
  const char* tied_to = nullptr; // the spelling of the layer whose first parameter it has: see layer/tied.hpp
  std::size_t parameter_count = 0;
  std::array<std::size_t, tensor_list::most> parameter_ends{}; // in elements of the block of parameters

  constexpr void learns(const tensor_list& list, const scale& to) {
    const tensor_layout block = to.block(list);
    parameter_count = list.count;
    for (std::size_t k = 0; k < list.count; ++k)
      parameter_ends[k] = (k + 1 < list.count ? block.offsets[k + 1] : block.size) / to.sizes.real;
    as_stage.parameters = list.elements();
    as_stage.parameter_block = block.size / to.sizes.real;
  }
  constexpr void works(const work& flops) {
    as_stage.forward_flops = as_stage.tape_flops = flops.forward;
    as_stage.backward_flops = flops.backward;
    as_stage.input_gradient_flops = flops.input_gradient;
  }
};

} // namespace cairn::detail
