// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/core/memory.hpp>

namespace cairn::detail {

// Which memory a place is in. The root has one arena, `workspace`. A composite has two slices of the arena around
// it: `tape` is its own from its forward to its backward, `workspace` during one call; the others belong to the chain around it.
enum class region : std::uint32_t { none, input, output, output_gradient, input_gradient, tape, workspace };
inline constexpr std::size_t regions = 7;

// Where something lies: a region and how many times the alignment from its start.
struct place {
  static constexpr std::size_t most_bytes = alignment << 32; // 256 GiB in one region

  region where = region::none;
  std::uint32_t line = 0;

  constexpr std::size_t offset() const { return std::size_t{line} * alignment; }
  constexpr bool operator==(const place&) const = default;
};

// One item for each thing that an op reads or makes. The loss has its value as `input` and the value's gradient as
// `output_gradient`. A discard has as `input` what is free from now on; nothing if it lives on under another name,
// or if others own it.
template <class Item>
struct operands_of {
  Item input{}, output{}, tape{}, workspace{}, output_gradient{}, input_gradient{};

  constexpr bool operator==(const operands_of&) const = default;
};
using operands = operands_of<place>;

} // namespace cairn::detail
