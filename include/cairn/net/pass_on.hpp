// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/tensor.hpp>
#include <cairn/core/tensors.hpp>
#include <cairn/ops/copy/copy.hpp>

namespace cairn::detail {

// Copies tensor `from_index` of one list to a place in another, unless it is already there or one of the two has no memory.
template <class Queue, class T, class From>
void pass_on(Queue& queue, std::size_t rows, const tensor& what, const tensors<T>& to, std::size_t to_index, const From& from,
             std::size_t from_index) {
  const auto move = [&](auto* target, const auto* source) {
    if (target != nullptr && source != nullptr && target != source) copy(queue, what.elements(rows), target, source);
  };
  if (what.type == element::int32) move(to.integers(to_index), from.integers(from_index));
  else move(to[to_index], from[from_index]);
}

} // namespace cairn::detail
