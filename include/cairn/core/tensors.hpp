// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <cairn/core/element.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/core/tensor.hpp>

namespace cairn::types {

// The memory of a list of tensors: the place of each, by its index. Tensor k begins offsets[k] bytes after the start of the
// block; the pointer is null if the tensor is not there. A caller's tensors may lie anywhere: their offsets are then
// differences of addresses, which is why the code adds addresses.
template <class T>
struct tensors {
  using byte = std::conditional_t<std::is_const_v<T>, const std::byte, std::byte>;
  template <class U>
  using like = std::conditional_t<std::is_const_v<T>, const U, U>;

  byte* block = nullptr; // null: none of them is there
  const std::size_t* offsets = nullptr;
  detail::tensor_set there = detail::all_tensors;

  T* operator[](std::size_t k) const { return as<std::remove_const_t<T>>(k); }
  // The same for a tensor of integers, or of accumulated elements.
  like<std::int32_t>* integers(std::size_t k) const { return as<std::int32_t>(k); }
  like<accumulated<std::remove_const_t<T>>>* sums(std::size_t k) const { return as<accumulated<std::remove_const_t<T>>>(k); }
  template <class U>
  like<U>* as(std::size_t k) const {
    if (block == nullptr || !detail::contains(there, k)) return nullptr;
    return reinterpret_cast<like<U>*>(reinterpret_cast<std::uintptr_t>(block) + offsets[k]);
  }

  // Is any of them there?
  explicit operator bool() const { return block != nullptr && there != 0; }

  types::tensors<const T> to_read() const
    requires(!std::is_const_v<T>)
  {
    return {block, offsets, there};
  }
};

} // namespace cairn::types

namespace cairn::detail {

// A list of one tensor, which begins at `first`.
template <class T>
tensors<T> one_tensor(T* first) {
  static constexpr std::size_t offset = 0;
  return {reinterpret_cast<typename tensors<T>::byte*>(first), &offset, 1};
}

} // namespace cairn::detail
