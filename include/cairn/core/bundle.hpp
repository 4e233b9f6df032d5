// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include <cairn/core/shape.hpp>

namespace cairn {

// How many tensors one stage may hand to the next, and how many constants a network may have.
inline constexpr std::size_t most_tensors = 4;

// Which tensors of a value: bit k stands for tensor k.
using tensor_set = std::uint8_t;

constexpr bool has(tensor_set set, std::size_t tensor) { return ((set >> tensor) & 1U) != 0; }
constexpr tensor_set first_tensors(std::size_t count) { return static_cast<tensor_set>((1U << count) - 1U); }

// What one stage hands to the next, of one sample: the shapes of its tensors, which have gradients, and of the
// network's constants (a mask, positions), which have none. Constants come in with the network's input and stay as
// they are, so every stage sees the same ones.
struct bundle {
  std::array<shape, most_tensors> tensors{};
  std::array<shape, most_tensors> constants{};
  std::size_t tensor_count = 0;
  std::size_t constant_count = 0;

  constexpr bundle() = default;
  constexpr bundle(std::initializer_list<shape> made) {
    for (const shape& s : made) push_back(s);
  }

  // Past most_tensors this is no constant expression, so a network with more does not compile.
  constexpr void push_back(const shape& s) { tensors[tensor_count++] = s; }
  constexpr void push_constant(const shape& s) { constants[constant_count++] = s; }

  constexpr std::size_t size() const { return tensor_count; }
  constexpr const shape& operator[](std::size_t k) const { return tensors[k]; }

  // Is there a constant of this index, with this shape?
  constexpr bool has_constant(std::size_t index, const shape& s) const {
    return index < constant_count && constants[index] == s;
  }

  // How many numbers all tensors of one sample have; constants do not count, as no stage makes them.
  constexpr std::size_t numbers() const {
    std::size_t sum = 0;
    for (std::size_t k = 0; k < tensor_count; ++k) sum += tensors[k].size();
    return sum;
  }

  // The first `count` tensors, and all constants.
  constexpr bundle front(std::size_t count) const {
    bundle out = *this;
    for (std::size_t k = count; k < tensor_count; ++k) out.tensors[k] = shape{};
    if (count < tensor_count) out.tensor_count = count;
    return out;
  }

  // What it becomes when its first `count` tensors are replaced by those of `made`; the others move up behind them.
  constexpr bundle with_front(std::size_t count, const bundle& made) const {
    bundle out{};
    for (std::size_t k = 0; k < made.tensor_count; ++k) out.push_back(made.tensors[k]);
    for (std::size_t k = count; k < tensor_count; ++k) out.push_back(tensors[k]);
    out.constants = constants;
    out.constant_count = constant_count;
    return out;
  }

  constexpr bool operator==(const bundle& other) const {
    if (tensor_count != other.tensor_count || constant_count != other.constant_count) return false;
    for (std::size_t k = 0; k < tensor_count; ++k)
      if (!(tensors[k] == other.tensors[k])) return false;
    for (std::size_t k = 0; k < constant_count; ++k)
      if (!(constants[k] == other.constants[k])) return false;
    return true;
  }
};

// The shape of a constant as a type, as dims<> is that of a tensor.
template <std::size_t... Extents>
struct constant {
  static constexpr shape value{Extents...};
};

namespace detail {

constexpr void join(bundle& to, const shape& s, bool is_constant) {
  if (is_constant) to.push_constant(s);
  else to.push_back(s);
}

template <class T>
inline constexpr bool is_constant = false;
template <std::size_t... Extents>
inline constexpr bool is_constant<constant<Extents...>> = true;
template <class T>
inline constexpr bool is_dims = false;
template <std::size_t... Extents>
inline constexpr bool is_dims<dims<Extents...>> = true;

} // namespace detail

// A bundle as a type: bundle_of<dims<64>, dims<8>, constant<64>>, tensors before constants.
template <class... Tensors>
struct bundle_of {
  static_assert(
      ((detail::is_dims<Tensors> || detail::is_constant<Tensors>)&&...),
      "bundle_of: a tensor is written dims<extents...>, one without a gradient constant<extents...>");

  static constexpr bundle value = [] {
    bundle out{};
    (detail::join(out, Tensors::value, detail::is_constant<Tensors>), ...);
    return out;
  }();
};

} // namespace cairn
