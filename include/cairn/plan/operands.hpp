// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/core/memory.hpp>

namespace cairn::detail {

// The memory that a place is in. The root has one arena, `workspace`. A composite has two slices of the enclosing arena: `tape`
// is its own from its forward to its backward, `workspace` during one call. The other regions belong to the enclosing chain.
enum class region : std::uint32_t { none, input, output, output_gradient, input_gradient, tape, workspace };
inline constexpr std::size_t regions = 7;

// A place in memory: a region, and the distance from its start in units of the alignment.
struct place {
  static constexpr std::size_t most_bytes = alignment << 32; // 256 GiB in one region

  region where = region::none;
  std::uint32_t line = 0;

  constexpr std::size_t offset() const { return std::size_t{line} * alignment; }
  constexpr bool operator==(const place&) const = default;
};

// One item for each operand that an op reads or makes. The loss has its value as `input` and the value's gradient as
// `output_gradient`. A discard has as `input` the memory that is free from now on: none if it lives on under another name, or
// if others own it.
template <class Item>
struct operands_of {
  Item input{}, output{}, tape{}, workspace{}, output_gradient{}, input_gradient{};

  constexpr bool operator==(const operands_of&) const = default;
};
using operands = operands_of<place>;

} // namespace cairn::detail
