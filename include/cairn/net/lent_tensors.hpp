// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>

#include <cairn/core/bundle.hpp>
#include <cairn/layer/bundle_layer.hpp>
#include <cairn/plan/chain.hpp>

namespace cairn {

// The tensors at the ends of a chain of bundles, as they are lent to it, and its constants. At the root the caller's
// inputs may lie anywhere; the other ends of a root are in its arena.
template <class T>
struct lent_tensors {
  tensor_pointers<const T> inputs{}, constants{}, output_gradients{};
  tensor_pointers<T> outputs{}, input_gradients{}; // null: not wanted
};

namespace detail {

// Where the tensors of a value or a gradient lie in a buffer that begins at `start` and was laid out for those of
// `room` at this batch. Only those of `there` are given; all are null if there is no buffer.
template <class T>
tensor_pointers<T> tensors_in(std::byte* start, const parts& value, std::size_t batch, tensor_set room,
                              tensor_set there) {
  tensor_pointers<T> out{};
  if (start == nullptr) return out;
  for (std::size_t k = 0; k < most_tensors; ++k)
    if (has(there, k) && value.per_sample[k] != 0)
      out[k] = reinterpret_cast<T*>(start + value.offset(k, batch, room));
  return out;
}

// Which of these are there.
template <class T>
constexpr tensor_set set_of(const tensor_pointers<T>& tensors) {
  unsigned set = 0;
  for (std::size_t k = 0; k < most_tensors; ++k)
    if (tensors[k] != nullptr) set |= 1U << k;
  return static_cast<tensor_set>(set);
}

} // namespace detail

} // namespace cairn
