// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include <cairn/plan/schedule.hpp>

namespace cairn {

// What is wrong with a schedule, if anything, and at which op.
struct verdict {
  const char* fault = nullptr;
  std::size_t at = 0;

  constexpr explicit operator bool() const { return fault == nullptr; }
};

enum class journey : unsigned char { training, evaluation };

// Proves a schedule by walking it: every value, tape and gradient is there when it is read; each stage that has a
// backward has it once, from the last to the first; nothing is made that nobody reads; at the end nothing is left
// over. It shares no code with what makes schedules, and knows nothing of how one was made.
template <std::size_t Stages>
constexpr verdict prove(const chain& c, std::span<const op> ops, journey whole = journey::training) {
  enum : unsigned char { absent, unread, read };
  struct item {
    unsigned char state = absent;

    constexpr bool reads() { return state == absent ? false : (state = read, true); }
    constexpr bool makes() { return state == unread ? false : (state = unread, true); } // never over what is unread
    constexpr bool drops() { return state != read ? false : (state = absent, true); }
  };
  const std::size_t n = c.size();
  std::array<item, Stages + 1> value{};
  std::array<item, Stages + 1> gradient{};
  std::array<item, Stages> tape{};
  std::array<bool, Stages> ran{};
  std::size_t below = n; // backwards are done from here up
  bool turned = false;
  value[0].state = read;

  for (std::size_t t = 0; t < ops.size(); ++t) {
    const op& o = ops[t];
    const std::size_t i = o.position;
    const bool of_stage = o.kind == op_kind::forward || o.kind == op_kind::backward || o.kind == op_kind::discard_tape;
    if (i > n || (of_stage && i == n)) return {"a position outside the chain", t};
    switch (o.kind) {
    case op_kind::forward:
      if (!value[i].reads()) return {"a forward reads a value that is not there", t};
      if (o.recomputes != ran[i]) return {"a forward is marked as the other kind of pass", t};
      if (!o.recomputes && turned) return {"a first forward after the turn", t};
      if (!o.wants_output && !o.wants_tape) return {"a forward of which nothing is wanted", t};
      if (o.wants_output && !value[i + 1].makes()) return {"a value is made again before it was read", t};
      if (o.wants_tape && !tape[i].makes()) return {"a tape is made again before it was read", t};
      ran[i] = true;
      break;
    case op_kind::turn:
      if (turned) return {"a second turn", t};
      turned = true;
      if (!value[n].reads()) return {"the turn reads an output that is not there", t};
      gradient[n].makes();
      break;
    case op_kind::backward:
      if (!turned) return {"a backward before the turn", t};
      if (i >= below) return {"a backward for the second time, or out of order", t};
      if (i + 1 != below) return {"a backward is missing", t};
      below = i;
      if (!gradient[i + 1].reads()) return {"a backward reads a gradient that is not there", t};
      if (c[i].reads_input && !value[i].reads()) return {"a backward reads an input that is not there", t};
      if (c[i].reads_output && !value[i + 1].reads()) return {"a backward reads an output that is not there", t};
      if (c[i].keeps_tape() && !tape[i].reads()) return {"a backward reads a tape that is not there", t};
      if (o.wants_input_gradient) gradient[i].makes();
      if (o.wants_input_gradient != (i > c.lowest_backward() || c.lent))
        return {"an input gradient is made that nobody reads, or is not made that somebody reads", t};
      break;
    case op_kind::discard_value:
      if (i == 0 || (c.lent_output && i == n)) return {"a value is discarded that others own", t};
      if (!value[i].drops()) return {"a value is discarded that is not there or was never read", t};
      break;
    case op_kind::discard_tape:
      if (!tape[i].drops()) return {"a tape is discarded that is not there or was never read", t};
      break;
    case op_kind::discard_gradient:
      if (c.lent && i == n) return {"a gradient is discarded that others own", t};
      if (!gradient[i].drops()) return {"a gradient is discarded that is not there or was never read", t};
      break;
    }
  }
  if (!turned) return {"no turn", ops.size()};
  const bool back = whole == journey::training && c.lowest_backward() < n;
  if (back && below != c.lowest_backward()) return {"a backward is missing", ops.size()};
  for (std::size_t k = 1; k <= n; ++k) {
    if (tape[k - 1].state != absent) return {"a tape is left over", ops.size()};
    if (value[k].state != absent && !(c.lent_output && k == n)) return {"a value is left over", ops.size()};
    if (back && gradient[k].state != absent && !(c.lent && k == n)) return {"a gradient is left over", ops.size()};
  }
  return {};
}

} // namespace cairn
