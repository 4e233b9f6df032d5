// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <cairn/core/plain_array.hpp>
#include <cairn/plan/chain.hpp>
#include <cairn/plan/fusion.hpp>
#include <cairn/plan/op.hpp>
#include <cairn/plan/route.hpp>

namespace cairn::detail {

// The results of one step that the rest of the route reads, and the items that this step is the last to read: a sum of these. A
// step with 0 is left out.
enum demand : unsigned {
  wants_output = 1,
  wants_tape = 2,
  runs_backward = 4,
  wants_input_gradient = 8,
  ends_input = 16,
  ends_output = 32,
  ends_tape = 64,
};

// The demands on a whole route.
template <std::size_t Moves>
struct demands {
  plain_array<unsigned char, plus(Moves, 1)> of{};
  std::size_t up = 0;            // steps before the loss
  bool loss_ends_output = false; // the loss is the last to read the last value
  std::size_t lasting = 0;       // the stages below this one make something that the backward pass reads
  bool lasting_output = false;   // ... and of the last of them the backward pass reads the value
};

// Follows a route from its end to its beginning. The first reader that it meets is the last to read an item; an item without a
// reader at the forward that makes it is never read.
template <std::size_t Stages, std::size_t Moves>
constexpr demands<Moves> look_back(const chain& c, std::span<const route_step> route) {
  demands<Moves> out{};
  out.of.make_room(route.size() + 1);
  const route_step* const moves = route.data();
  const std::size_t count = route.size();
  const stage* const stages = c.stages.data();
  const std::size_t n = c.size();
  plain_array<char, plus(Stages, 1)> value(n + 1); // wanted later: 1
  plain_array<char, plus(Stages, 1)> tape(n + 1);
  const std::size_t lowest = c.lowest_backward();
  const bool lent = c.lent;
  const bool gives = c.gives_input_gradient();
  const std::size_t lent_stage = c.lent_output ? n - 1 : n;
  const auto loss = [&] {
    for (std::size_t k = n; k > 0 && out.lasting == 0; --k)
      if (tape.items[k - 1] != 0 || (value.items[k] != 0 && !(c.lent_output && k == n))) {
        out.lasting = k;
        out.lasting_output = value.items[k] != 0;
      }
    out.loss_ends_output = value.items[n] == 0;
    value.items[n] = 1;
  };

  const auto is_back = [&](std::size_t m) { return lent ? m > 0 && moves[m - 1].position + 1 == n : moves[m].backward; };
  std::size_t up = 0;
  while (up < count && !is_back(up)) ++up;
  out.up = up;
  if (up == count) loss();
  for (std::size_t m = count; m-- > 0;) {
    const std::size_t i = moves[m].position;
    unsigned d = 0;
    if (!moves[m].backward) {
      if (i != lent_stage || m < up) { // an output that others own stays where it is: the backward pass does not make it again
        if (value.items[i + 1] != 0) d = wants_output;
        value.items[i + 1] = 0;
      }
      if (tape.items[i] != 0) d |= wants_tape;
      tape.items[i] = 0;
      if (d != 0 && value.items[i] == 0) {
        d |= ends_input;
        value.items[i] = 1;
      }
    } else if (i >= lowest) {
      const stage& s = stages[i];
      d = i > lowest || gives ? runs_backward | wants_input_gradient : runs_backward;
      if (s.reads_input && value.items[i] == 0) {
        d |= ends_input;
        value.items[i] = 1;
      }
      if (s.reads_output && value.items[i + 1] == 0) {
        d |= ends_output;
        value.items[i + 1] = 1;
      }
      if (s.tape.per_sample + s.tape.per_batch != 0) { // its tape is read by this op alone
        d |= ends_tape;
        tape.items[i] = 1;
      }
    }
    out.of.items[m] = static_cast<unsigned char>(d);
    if (m == up) loss();
  }
  return out;
}

// Writes the ops, each followed by the discards of the items that it is the last to read. Values of others are never discarded.
template <std::size_t Capacity, std::size_t Stages, std::size_t Moves>
constexpr schedule<Capacity> write_ops(const chain& c, std::span<const route_step> route, const demands<Moves>& wanted) {
  const std::size_t n = c.size();
  schedule<Capacity> out{};
  out.storage.make_room(2 * route.size() + 3 * n + 2); // see complete()
  plain_array<char, plus(Stages, 1)> ran(n + 1);
  const route_step* const moves = route.data();
  const std::size_t move_count = route.size();
  const unsigned char* const demanded = wanted.of.items;
  op* const ops = out.storage.items; // zeros
  const std::size_t lent_value = c.lent_output ? n : n + 1;
  const std::size_t lent_gradient = c.lent ? n : n + 1;
  const std::size_t up = wanted.up;
  std::size_t count = 0;
  const auto loss = [&] {
    out.loss = count;
    ops[count++] = {.kind = op_kind::loss, .position = static_cast<std::uint32_t>(n)};
    if (wanted.loss_ends_output && n != lent_value && n > 0)
      ops[count++] = {.kind = op_kind::discard_value, .position = static_cast<std::uint32_t>(n)};
  };

  for (std::size_t m = 0; m < move_count; ++m) {
    if (m == up) loss();
    const unsigned d = demanded[m];
    if (d == 0) continue;
    const std::uint32_t i = moves[m].position;
    op& o = ops[count++];
    o.position = i;
    if ((d & runs_backward) == 0) {
      o.wants_output = (d & wants_output) != 0;
      o.wants_tape = (d & wants_tape) != 0;
      if (ran.items[i] != 0) o.recomputes = true;
      ran.items[i] = 1;
      if (m < up && i < wanted.lasting) {
        out.lasting = count;
        out.lasting_output = i + 1 == wanted.lasting ? wanted.lasting_output : o.wants_output;
      }
    } else {
      o.kind = op_kind::backward;
      o.wants_input_gradient = (d & wants_input_gradient) != 0;
      if ((d & ends_tape) != 0) {
        ops[count].kind = op_kind::discard_tape;
        ops[count++].position = i;
      }
      if ((d & ends_output) != 0 && i + 1 != lent_value) {
        ops[count].kind = op_kind::discard_value;
        ops[count++].position = i + 1;
      }
    }
    if ((d & ends_input) != 0 && i > 0) {
      ops[count].kind = op_kind::discard_value;
      ops[count++].position = i;
    }
    if ((d & runs_backward) != 0 && i + 1 != lent_gradient) {
      ops[count].kind = op_kind::discard_gradient;
      ops[count++].position = i + 1;
    }
  }
  if (up == move_count) loss();
  out.count = count;
  fuse(c, {ops, count});
  return out;
}

// Makes a schedule from a route: leaves out steps whose results are not read, marks which results of each op are wanted, and
// puts a discard right after the last op that reads a value, a tape or a gradient. `Stages` and `Moves` are upper bounds, or
// at_run_time.
template <std::size_t Stages, std::size_t Moves>
constexpr auto complete(const chain& c, std::span<const route_step> moves) {
  // A forward may be the last to read one value, a backward two, a tape and a gradient.
  constexpr std::size_t most = Moves == at_run_time ? at_run_time : 2 * Moves + 3 * Stages + 2;
  const auto wanted = look_back<Stages, Moves>(c, moves);
  return write_ops<most, Stages>(c, moves, wanted);
}

// The forward pass alone, storing nothing: for evaluation, and for a forward whose backward starts from a recomputation.
struct forward_pass {
  static constexpr void plan(const chain& c, route& out) { out.forward(0, c.size()); }
};

} // namespace cairn::detail
