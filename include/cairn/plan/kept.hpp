// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include <cairn/plan/op.hpp>

namespace cairn::detail {

// The items that are stored between the forward pass and the backward pass: value k, the tape of stage i. Items of others are
// not included: the input of the chain, and a composite's output.
template <std::size_t Stages>
struct kept_items {
  std::array<bool, Stages + 1> value{};
  std::array<bool, Stages + 1> tape{};
};

// Returns these items for a training schedule; `Stages` is an upper bound. A value that the loss is the last to read is not
// stored: its discard directly follows the loss.
template <std::size_t Stages>
constexpr kept_items<Stages> kept_over_loss(const chain& c, std::span<const op> ops) {
  kept_items<Stages> out{};
  bool after_loss = false;
  for (const op& o : ops) {
    if (after_loss && !o.is_discard()) break;
    after_loss = after_loss || o.kind == op_kind::loss;
    if (o.kind == op_kind::forward) {
      if (o.wants_output) out.value[o.position + 1] = true;
      if (o.wants_tape) out.tape[o.position] = true;
    }
    if (o.kind == op_kind::discard_value) out.value[o.position] = false;
    if (o.kind == op_kind::discard_tape) out.tape[o.position] = false;
  }
  if (c.lent_output) out.value[c.size()] = false;
  return out;
}

} // namespace cairn::detail
