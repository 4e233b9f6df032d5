// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include <cairn/core/list.hpp>
#include <cairn/plan/chain.hpp>
#include <cairn/plan/fusion.hpp>
#include <cairn/plan/op.hpp>
#include <cairn/plan/route.hpp>

namespace cairn {

namespace detail {

// What the rest of the route wants of one move, and what it is the last to read.
struct demand {
  bool kept = false; // somebody wants something of it
  bool output = false, tape = false, input_gradient = false;
  bool ends_input = false, ends_output = false, ends_tape = false;
};

// The demands on a whole route.
template <std::size_t Moves>
struct demands {
  list<demand, with(Moves, 1)> of{};
  std::size_t up = 0;            // moves before the turn
  bool turn_ends_output = false; // the turn is the last to read the last value
  std::size_t lasting = 0;       // the stages below this one make something that the way back reads
  bool lasting_output = false;   // ... and of the last of them the value
};

// Follows a route from its end to its beginning: the first reader that we meet is the last that reads, and what
// nobody has asked for by the time that we meet its maker is never asked for.
template <std::size_t Stages, std::size_t Moves>
constexpr demands<Moves> look_back(const chain& c, std::span<const move> route) {
  demands<Moves> out{};
  out.of.make_room(route.size() + 1);
  const move* const moves = route.data(); // pointers, because every call costs the compiler time
  const std::size_t count = route.size();
  const stage* const stages = c.stages.data();
  const std::size_t n = c.size();
  list<char, with(Stages, 1)> wanted_values(n + 1); // wanted later: 1
  list<char, with(Stages, 1)> wanted_tapes(n + 1);
  char* const value = wanted_values.data();
  char* const tape = wanted_tapes.data();
  demand* const demanded = out.of.data();
  const auto read = [](char& wanted) {
    const bool last = wanted == 0;
    wanted = 1;
    return last;
  };
  const std::size_t lowest = c.lowest_backward();
  const auto turn = [&] {
    for (std::size_t k = n; k > 0 && out.lasting == 0; --k)
      if (tape[k - 1] != 0 || (value[k] != 0 && !(c.lent_output && k == n))) {
        out.lasting = k;
        out.lasting_output = value[k] != 0;
      }
    out.turn_ends_output = read(value[n]);
  };

  const auto is_back = [&](std::size_t m) {
    return c.lent ? m > 0 && moves[m - 1].position + 1 == n : moves[m].backward;
  };
  std::size_t up = 0;
  while (up < count && !is_back(up)) ++up;
  out.up = up;
  if (up == count) turn();
  for (std::size_t m = count; m-- > 0;) {
    const std::size_t i = moves[m].position;
    demand& d = demanded[m];
    if (!moves[m].backward) {
      // A lent output stays where it is: on the way back nobody makes it again.
      const bool is_there = c.lent_output && i + 1 == n && m >= up;
      d.output = value[i + 1] != 0 && !is_there;
      d.tape = tape[i] != 0;
      d.kept = d.output || d.tape;
      if (!is_there) value[i + 1] = 0;
      tape[i] = 0;
      if (d.kept) d.ends_input = read(value[i]);
    } else if (i >= lowest) {
      const stage& s = stages[i];
      d.kept = true;
      d.input_gradient = i > lowest || c.lent;
      if (s.reads_input) d.ends_input = read(value[i]);
      if (s.reads_output) d.ends_output = read(value[i + 1]);
      if (s.keeps_tape()) d.ends_tape = read(tape[i]);
    }
    if (m == up) turn();
  }
  return out;
}

// Writes the ops down, each with the discards of what it is the last to read. Lent values are never discarded.
template <std::size_t Capacity, std::size_t Stages, std::size_t Moves>
constexpr schedule<Capacity> write_ops(const chain& c, std::span<const move> route,
                                       const demands<Moves>& wanted) {
  const std::size_t n = c.size();
  schedule<Capacity> out{};
  out.storage.make_room(2 * route.size() + 3 * n + 2); // see complete()
  list<char, with(Stages, 1)> run_before(n + 1);
  char* const ran = run_before.data();
  const move* const moves = route.data();
  const std::size_t move_count = route.size();
  const demand* const demanded = wanted.of.data();
  op* const ops = out.storage.data();
  std::size_t count = 0;
  const auto discard = [&](op_kind kind, std::size_t k) {
    ops[count++] = {.kind = kind, .position = static_cast<std::uint32_t>(k)};
  };
  const auto is_ours = [&](std::size_t k) { return k > 0 && !(c.lent_output && k == n); };
  const auto turn = [&] {
    out.turn = count;
    ops[count++] = {.kind = op_kind::turn, .position = static_cast<std::uint32_t>(n)};
    if (wanted.turn_ends_output && is_ours(n)) discard(op_kind::discard_value, n);
  };

  for (std::size_t m = 0; m < move_count; ++m) {
    if (m == wanted.up) turn();
    const demand& d = demanded[m];
    if (!d.kept) continue;
    const std::uint32_t i = moves[m].position;
    if (!moves[m].backward) {
      ops[count++] = {
          .recomputes = ran[i] != 0, .wants_output = d.output, .wants_tape = d.tape, .position = i};
      ran[i] = 1;
      if (m < wanted.up && i < wanted.lasting) {
        out.lasting = count;
        out.lasting_output = i + 1 == wanted.lasting ? wanted.lasting_output : d.output;
      }
      if (d.ends_input && i > 0) discard(op_kind::discard_value, i);
      continue;
    }
    ops[count++] = {.kind = op_kind::backward, .wants_input_gradient = d.input_gradient, .position = i};
    if (d.ends_tape) discard(op_kind::discard_tape, i);
    if (d.ends_output && is_ours(i + 1)) discard(op_kind::discard_value, i + 1);
    if (d.ends_input && i > 0) discard(op_kind::discard_value, i);
    if (!(c.lent && i + 1 == n)) discard(op_kind::discard_gradient, i + 1);
  }
  if (wanted.up == move_count) turn();
  out.count = count;
  fuse(c, {ops, count});
  return out;
}

} // namespace detail

// From a route to the schedule: leaves out what nobody reads, says of each op what of its results is wanted, and puts
// a discard right after the last op that reads a value, a tape or a gradient. `Stages` and `Moves` are upper bounds, or
// at_run_time.
template <std::size_t Stages, std::size_t Moves>
constexpr auto complete(const chain& c, std::span<const move> moves) {
  // A forward may be the last to read one value, a backward two, a tape and a gradient.
  constexpr std::size_t most = Moves == at_run_time ? at_run_time : 2 * Moves + 3 * Stages + 2;
  const auto wanted = detail::look_back<Stages, Moves>(c, moves);
  return detail::write_ops<most, Stages>(c, moves, wanted);
}

// The size of an array is known by itself. (`Item` stands between the sizes, so that no compiler tries to make an array
// of at_run_time moves.)
template <std::size_t Stages, std::same_as<move> Item, std::size_t Moves>
constexpr auto complete(const chain& c, const std::array<Item, Moves>& moves) {
  return complete<Stages, Moves>(c, std::span<const move>(moves));
}

// How many moves a policy makes on a chain: the size of the array for its route.
template <checkpoint_policy Policy>
constexpr std::size_t count_moves(const chain& c) {
  route r{c};
  Policy::plan(c, r);
  return r.size();
}

// The route of a policy on a chain, with `Moves` = count_moves<Policy>(c).
template <checkpoint_policy Policy, std::size_t Moves>
constexpr std::array<move, Moves> make_moves(const chain& c) {
  std::array<move, Moves> moves{};
  route r{c, moves.data()};
  Policy::plan(c, r);
  return moves;
}

// The schedule of a policy on a chain of `Stages` stages, with `Moves` = count_moves<Policy>(c).
template <checkpoint_policy Policy, std::size_t Stages, std::size_t Moves>
constexpr auto make_schedule(const chain& c) {
  return complete<Stages>(c, make_moves<Policy, Moves>(c));
}

// Only the way up, keeping nothing: evaluation, and a forward whose backward will come from a recomputation.
struct way_up {
  static constexpr void plan(const chain& c, route& out) { out.forward(0, c.size()); }
};

template <std::size_t Stages>
constexpr auto make_evaluation(const chain& c) {
  return make_schedule<way_up, Stages, Stages>(c);
}

} // namespace cairn
