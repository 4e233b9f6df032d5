// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <cairn/core/plain_array.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/plan/chain.hpp>

namespace cairn::detail {

// The kinds of ops in a schedule. There is one `loss`, between the forward pass and the backward pass: there the output is
// handed out and its gradient comes in (at the root, the loss is computed). Discards do no work: they mark that something is
// not read any more.
enum class op_kind : unsigned char { forward, loss, backward, discard_value, discard_tape, discard_gradient };

// One op. For a discard, `position` is the index of the value or the gradient, or the stage of the tape.
struct op {
  op_kind kind = op_kind::forward;
  bool recomputes = false;           // a forward that ran before in this step
  bool wants_output = false;         // of a forward: its value is read later
  bool wants_tape = false;           // of a forward: its tape is read later
  bool wants_input_gradient = false; // of a backward
  bool takes_next = false;           // does the work of the activation at the next op too, in place
  bool absorbed = false;             // its work is done by the op before it
  std::uint32_t position = 0;

  constexpr bool is_discard() const { return kind >= op_kind::discard_value; }
  constexpr bool operator==(const op&) const = default;
};

// The ops of one training step in order, and where the loss is. `Capacity` is an upper bound, or at_run_time.
template <std::size_t Capacity>
struct schedule {
  plain_array<op, Capacity> storage{};
  std::size_t count = 0;
  std::size_t loss = 0; // index of the op between the two passes
  // The first `lasting` ops make everything that the backward pass reads; forwards between them and the loss only make
  // the output. If lasting_output, the backward pass reads the output of the last of them too.
  std::size_t lasting = 0;
  bool lasting_output = false;

  constexpr std::span<const op> ops() const { return {storage.data(), count}; }
};

} // namespace cairn::detail

namespace cairn::plan {

// Floating-point operations of some ops for one sample.
constexpr std::uint64_t flops(const chain& c, std::span<const detail::op> ops) {
  std::uint64_t sum = 0;
  for (const detail::op& o : ops) {
    if (o.kind == detail::op_kind::forward) {
      const stage& s = c[o.position];
      sum += o.wants_output || !s.tape_without_output ? s.forward_flops : s.tape_flops;
    } else if (o.kind == detail::op_kind::backward) {
      const stage& s = c[o.position];
      sum += s.backward_flops - (o.wants_input_gradient ? 0 : s.input_gradient_flops);
    }
  }
  return sum;
}

} // namespace cairn::plan
