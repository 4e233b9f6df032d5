// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <type_traits>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/shape.hpp>
#include <cairn/train/losses/loss.hpp>

namespace cairn::detail {

// A loss that is a mean over all elements of all rows: each has a target of its own.
struct element_loss {
  static constexpr bool accepts(const shape&) { return true; }
  static constexpr std::size_t targets_per_sample(const shape& output) { return output.size(); }

  template <class T, class Target>
  static constexpr bool takes = floating_element<T> && std::is_same_v<accumulated<T>, Target>;

protected:
  template <floating_element T>
  static std::size_t elements(const loss_call<T, accumulated<T>>& call) {
    return call.rows * call.output_shape->size();
  }
};

} // namespace cairn::detail
