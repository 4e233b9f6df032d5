// SPDX-License-Identifier: MIT
#pragma once

#include <initializer_list>

#include <cairn/core/tensor.hpp>

// The tensors that a test asks a layer about: ReLU::outputs(given{{2, 3}}).
struct given {
  cairn::tensor_list taken;
  cairn::tensor_list constants;

  constexpr given(std::initializer_list<cairn::tensor> list) : taken(list) {}
  constexpr given(std::initializer_list<cairn::tensor> list, std::initializer_list<cairn::tensor> of_network)
      : taken(list), constants(of_network) {}

  constexpr operator cairn::arguments() const { return {taken.items.data(), taken.count, constants}; }
};
