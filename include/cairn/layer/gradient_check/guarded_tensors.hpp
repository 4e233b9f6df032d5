// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include <cairn/core/memory.hpp>
#include <cairn/core/tensor.hpp>
#include <cairn/core/tensors.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/layer/gradient_check/test_values.hpp>

namespace cairn::detail {

// The memory of a list of tensors for a number of rows; no element is written yet. After each tensor is a guard that must not
// be written.
template <class T>
class guarded_tensors {
public:
  guarded_tensors(const tensor_list& list, std::size_t rows) : list_(list), rows_(rows) {
    std::size_t end = 0;
    for (std::size_t k = 0; k < list.count; ++k) {
      offsets_[k] = end;
      end += align_up(bytes(k) + guard);
    }
    block_ = cpu::memory(end);
    if (end > 0) std::memset(block_.data(), mark, end);
    clear();
  }
  guarded_tensors(guarded_tensors&&) noexcept = default;
  guarded_tensors& operator=(guarded_tensors&&) noexcept = default;
  guarded_tensors(const guarded_tensors& other)
      : list_(other.list_), rows_(other.rows_), offsets_(other.offsets_), block_(other.block_.size()) {
    if (block_.size() > 0) std::memcpy(block_.data(), other.block_.data(), block_.size());
  }

  const tensor_list& list() const { return list_; }
  std::size_t size(std::size_t k) const { return list_[k].elements(rows_); }
  std::size_t bytes(std::size_t k) const { return size(k) * sizes_of<T>[list_[k].type]; }
  tensors<T> view(tensor_set there = all_tensors) const {
    return {list_.count == 0 ? nullptr : block_.data(), offsets_.data(), there};
  }

  T* operator[](std::size_t k) const { return view()[k]; }
  std::vector<T> values(std::size_t k = 0) const { return {(*this)[k], (*this)[k] + size(k)}; }
  void assign(std::size_t k, const std::vector<T>& values) {
    for (std::size_t i = 0; i < size(k); ++i) (*this)[k][i] = values[i];
  }

  void clear() {
    for (std::size_t k = 0; k < list_.count; ++k)
      each(k, [](auto& x, std::size_t) { x = unwritten<std::decay_t<decltype(x)>>(); });
  }
  // Fills tensor k with the numbers of stream + k.
  void fill(std::uint32_t stream) {
    for (std::size_t k = 0; k < list_.count; ++k)
      each(k, [at = stream + static_cast<std::uint32_t>(k)](auto& x, std::size_t i) {
        x = some_number<std::decay_t<decltype(x)>>(at, i);
      });
  }
  // The same, but with the initial constant of a tensor that has one.
  void start(std::uint32_t stream) {
    fill(stream);
    for (std::size_t k = 0; k < list_.count; ++k)
      if (const initial& first = list_[k].start; first.how == initial::law::constant)
        each(k, [&first](auto& x, std::size_t) { x = static_cast<std::decay_t<decltype(x)>>(first.scale); });
  }

  bool intact() const {
    for (std::size_t k = 0; k < list_.count; ++k)
      for (std::size_t i = offsets_[k] + bytes(k); i < offsets_[k] + align_up(bytes(k) + guard); ++i)
        if (block_.data()[i] != std::byte{mark}) return false;
    return true;
  }
  bool written() const {
    bool all = true;
    for (std::size_t k = 0; k < list_.count; ++k) each(k, [&all](auto& x, std::size_t) { all = all && !is_unwritten(x); });
    return all;
  }
  // Whether these tensors have the same bits: a NaN equals itself, and 0 differs from -0. A longer list is compared as far as
  // the shorter one goes.
  bool same_bits(const guarded_tensors& other, tensor_set set = all_tensors) const {
    for (std::size_t k = 0; k < list_.count && k < other.list_.count; ++k) {
      if (!contains(set, k) || (bytes(k) == 0 && other.bytes(k) == 0)) continue;
      if (bytes(k) != other.bytes(k)) return false;
      if (std::memcmp(block_.data() + offsets_[k], other.block_.data() + other.offsets_[k], bytes(k)) != 0) return false;
    }
    return true;
  }

private:
  static constexpr std::size_t guard = alignment;
  static constexpr unsigned char mark = 0x5A;

  // f(element, index) for every element of tensor k.
  template <class F>
  void each(std::size_t k, const F& f) const {
    const auto walk = [&](auto* elements) {
      for (std::size_t i = 0; i < size(k); ++i) f(elements[i], i);
    };
    if (list_[k].type == element::int32) walk(view().integers(k));
    else if (list_[k].type == element::accumulated) walk(view().sums(k));
    else walk((*this)[k]);
  }

  tensor_list list_;
  std::size_t rows_;
  std::array<std::size_t, tensor_list::most> offsets_{};
  cpu::memory block_;
};

} // namespace cairn::detail
