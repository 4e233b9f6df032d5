// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include <cairn/core/element.hpp>
#include <cairn/core/memory.hpp>
#include <cairn/core/shape.hpp>

namespace cairn {

// The initial values of a parameter or a buffer, by the laws of torch.nn.init's functions of these names.
struct initial {
  enum class law : unsigned char { constant, uniform, normal, truncated_normal };

  law how = law::constant;
  double scale = 0;                           // the constant; the bound of [-bound, bound]; the standard deviation
  double mean = 0;                            // of the two normal laws
  std::size_t zeros_begin = 0, zeros_end = 0; // elements that start at 0 whatever the law

  static constexpr initial constant(double value) { return {law::constant, value, 0}; }
  static constexpr initial uniform(double bound) { return {law::uniform, bound, 0}; }
  static constexpr initial normal(double deviation, double mean = 0) { return {law::normal, deviation, mean}; }
  // Normal, cut off two deviations from the mean.
  static constexpr initial truncated_normal(double deviation, double mean = 0) {
    return {law::truncated_normal, deviation, mean};
  }
  // The same, with 0 in the elements [begin, end).
  constexpr initial with_zeros(std::size_t begin, std::size_t end) const {
    initial out = *this;
    out.zeros_begin = begin;
    out.zeros_end = end;
    return out;
  }
};

// The description of one tensor: an input, an output, a parameter, a buffer, a tape or a workspace. It has no memory.
struct tensor {
  shape extents{}; // of one sample, or of the whole tensor if it is per batch
  element type = element::real;
  bool per_batch = false;         // one for all samples of a batch, not one for each
  bool has_gradient = true;       // inputs and outputs only; integers have none
  bool has_channels_last = false; // parameters only: torch has its last extent second
  std::string_view name{};        // parameters and buffers only, as in a state_dict
  initial start{};                // parameters and buffers only

  constexpr tensor() = default;
  constexpr tensor(const shape& s) : extents(s) {}
  constexpr tensor(std::initializer_list<std::size_t> list) : extents(list) {}
  constexpr tensor(std::string_view called, const shape& s, initial starts = {}) : extents(s), name(called), start(starts) {}

  // The same with another element type.
  constexpr tensor of(element e) const {
    tensor out = *this;
    out.type = e;
    if (e == element::int32) out.has_gradient = false;
    return out;
  }
  // The same, one for the whole batch.
  constexpr tensor once() const {
    tensor out = *this;
    out.per_batch = true;
    return out;
  }
  // The same without a gradient.
  constexpr tensor constant() const {
    tensor out = *this;
    out.has_gradient = false;
    return out;
  }
  // The same as a parameter that is (out, height, width, in) here and (out, in, height, width) in a state_dict.
  constexpr tensor with_channels_last() const {
    tensor out = *this;
    out.has_channels_last = true;
    return out;
  }
  // The same with another innermost extent.
  constexpr tensor with_last(std::size_t extent) const {
    tensor out = *this;
    out.extents = extents.with_last(extent);
    return out;
  }

  constexpr std::size_t size() const { return extents.size(); } // elements of one sample
  constexpr std::size_t rank() const { return extents.rank; }
  constexpr std::size_t last() const { return extents.last(); }
  constexpr std::size_t operator[](std::size_t axis) const { return extents[axis]; }

  constexpr bool is_real() const { return type == element::real && !per_batch; }
  constexpr std::size_t elements(std::size_t batch) const { return per_batch ? size() : detail::counted(size(), batch); }

  // May one be used where the other is expected? Names and initial values do not count.
  constexpr bool operator==(const tensor& other) const {
    return extents == other.extents && type == other.type && per_batch == other.per_batch && has_gradient == other.has_gradient;
  }
};

} // namespace cairn

namespace cairn::detail {

// A list of at most `Most` tensors. All code identifies a tensor by its index in its list.
template <std::size_t Most>
struct tensors_up_to {
  static constexpr std::size_t most = Most;

  std::array<tensor, Most> items{};
  std::size_t count = 0;

  constexpr tensors_up_to() = default;
  constexpr tensors_up_to(const tensor& only) { push_back(only); }
  constexpr tensors_up_to(std::initializer_list<tensor> list) {
    for (const tensor& t : list) push_back(t);
  }
  // The first `first` tensors of another list.
  template <std::size_t Other>
  constexpr explicit(Other > Most) tensors_up_to(const tensors_up_to<Other>& from, std::size_t first = Other) {
    for (std::size_t k = 0; k < from.count && k < first; ++k) push_back(from.items[k]);
  }

  // Past `most` this is no constant expression, so a layer with more does not compile.
  constexpr void push_back(const tensor& t) { items[count++] = t; }

  constexpr std::size_t size() const { return count; }
  constexpr const tensor& operator[](std::size_t k) const { return items[k]; }
  constexpr tensor& operator[](std::size_t k) { return items[k]; }
  constexpr const tensor* begin() const { return items.data(); }
  constexpr const tensor* end() const { return items.data() + count; }

  // The number of elements of one sample, of all tensors or of the first `first`.
  constexpr std::size_t elements(std::size_t first = Most) const {
    std::size_t sum = 0;
    for (std::size_t k = 0; k < count && k < first; ++k) sum += items[k].size();
    return sum;
  }
  constexpr bool operator==(const tensors_up_to& other) const {
    if (count != other.count) return false;
    for (std::size_t k = 0; k < count; ++k)
      if (!(items[k] == other.items[k])) return false;
    return true;
  }
};

} // namespace cairn::detail

namespace cairn {

// A list in a layer's description.
using tensor_list = detail::tensors_up_to<8>;

} // namespace cairn

namespace cairn::detail {

// The most tensors that one stage may hand to the next, and the list of them: a value.
inline constexpr std::size_t most_tensors = 4;
using value_list = tensors_up_to<most_tensors>;

// A set of tensors of a list: bit k stands for tensor k.
using tensor_set = std::uint8_t;

constexpr bool contains(tensor_set set, std::size_t k) { return ((set >> k) & 1U) != 0; }
constexpr tensor_set first_tensors(std::size_t count) { return static_cast<tensor_set>((1U << count) - 1U); }
inline constexpr tensor_set all_tensors = 0xFF;

// The tensors of a list that have a gradient.
template <std::size_t Most>
constexpr tensor_set with_gradient(const tensors_up_to<Most>& list) {
  unsigned set = 0;
  for (std::size_t k = 0; k < list.count; ++k)
    if (list.items[k].has_gradient) set |= 1U << k;
  return static_cast<tensor_set>(set);
}

// The offsets of the tensors of a list in one block, in bytes: one after another, each aligned. Only the tensors in `there`
// have a place.
struct tensor_layout {
  std::array<std::size_t, tensor_list::most> offsets{};
  std::size_t size = 0;

  constexpr tensor_layout() = default;
  template <std::size_t Most>
  constexpr tensor_layout(const tensors_up_to<Most>& list, const element_sizes& sizes, std::size_t batch,
                          tensor_set there = all_tensors) {
    for (std::size_t k = 0; k < list.count; ++k) {
      offsets[k] = size;
      const tensor& t = list.items[k];
      if (contains(there, k)) size += align_up(t.elements(batch) * sizes[t.type]);
    }
  }
};

} // namespace cairn::detail

namespace cairn {

// The arguments that a layer describes itself for, at compile time: the tensors that it takes, and the constants of the network
// (a mask, positions), which every layer sees.
struct arguments {
  const tensor* taken = nullptr;
  std::size_t count = 0;
  const tensor_list* of_network = nullptr;

  constexpr arguments(const tensor* first, std::size_t size, const tensor_list& constants)
      : taken(first), count(size), of_network(&constants) {}

  constexpr std::size_t size() const { return count; }
  constexpr const tensor& operator[](std::size_t k) const { return taken[k]; }
  constexpr const tensor_list& constants() const { return *of_network; }

  // Is there a constant of this index with the extents and the element type of this tensor?
  constexpr bool has_constant(std::size_t index, const tensor& like) const {
    return index < of_network->count && (*of_network)[index].extents == like.extents && (*of_network)[index].type == like.type;
  }
};

} // namespace cairn
