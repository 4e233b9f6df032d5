// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/core/plain_array.hpp>
#include <cairn/plan/solve/checkpoint_grid.hpp>
#include <cairn/plan/solve/cost_table.hpp>

namespace cairn::detail {

// The state of a segment of the chain when its walk begins.
//   owns: value `first` belongs to it: it counts the value's bytes, and may drop or overwrite it after its last read.
//         Else the value is stored, and counted, outside the segment.
//   kept: the forward of stage `last` has run, and everything that its backward reads besides its input is there; those bytes
//         count until that backward.
struct segment_state {
  bool owns = false;
  bool kept = false;

  constexpr std::size_t index() const { return (owns ? 1U : 0U) + (kept ? 2U : 0U); }
};
inline constexpr std::size_t segment_states = 4;
constexpr segment_state segment_state_of(std::size_t index) { return {(index & 1U) != 0, (index & 2U) != 0}; }

// The stages [first, last] of a chain. Value `first` is there, and so is the gradient of the last stage's output, unless the
// segment reaches the loss, which counts as stage n, after all others. Walking the segment back makes the gradient of value
// `first`.
struct segment {
  std::size_t first = 0;
  std::size_t last = 0;
  segment_state how{};
};

// One way to begin a segment: forwards of some stages, then the part above is walked back, then the part below. If it tapes,
// the last of these forwards keeps what its backward reads. The alternative is at_once: the backward of the last stage, and
// then the part below.
struct division {
  segment upper{};
  segment lower{};
  std::size_t more = 0;  // bytes that are kept while the upper part is walked, and that it does not count
  std::size_t bytes = 0; // the most during these first ops
  std::uint64_t cost = 0;
};

// The bytes and the cost of one segment by itself.
struct need {
  std::size_t bytes = 0;
  std::uint64_t cost = 0;
};

// The ways to walk a segment back.
//
// A segment runs forward to some stage. It stores nothing on the way except, perhaps, what the backward of the last of these
// forwards reads. Then the part above is walked back, and then the part below, with value `first` at hand again. The first of
// these two ways, which stores nothing, is that of Beaumont, Eyraud-Dubois, Herrmann, Joly, Shilova: Optimal checkpointing for
// heterogeneous chains, Inria RR-9302, arXiv 1911.13214. In the second, what a stage stores for its backward also serves as the
// checkpoint of the part above it. Bytes are those alive while the ops run, as lifetimes.hpp counts them, with values made in
// place, input gradients on their inputs, workspaces, tapes without a value, and windows of gradients.
//
// Stored items stay until their backward: among such schedules the best division of every segment gives the best schedule. A
// schedule that drops something for a while may beat it. Compared with all schedules of chains of three to seven stages, it is
// the cheapest for every budget of equal stages and of residual blocks, and for 98 % of the budgets of random chains and of
// MLPs, at worst 1.25 times as dear; and one random chain in 150 can do with fewer bytes (tests/plan/solve/solver.cpp,
// tests/bench/RESULTS.md).
template <std::size_t Stages>
class divisions {
public:
  // A segment has at most `most_units` units, see checkpoint_grid.hpp; if the whole chain has no more, every segment is solved.
  constexpr divisions(const cost_table<Stages>& costs, std::size_t stages, std::size_t most_units, bool solves_beginnings = true)
      : table(costs), grid(table.items, stages, most_units, solves_beginnings), stages_(stages), forwards_(stages + 2),
        all_(stages + 2), stored_(stages + 2), plain_(stages + 2), tapes_far_(stages + 2) {
    for (std::size_t i = 0; i < stages; ++i) {
      const entry& e = table.items[i];
      forwards_.items[i + 1] = forwards_.items[i] + e.cost.forward;
      all_.items[i + 1] = all_.items[i] + e.cost.forward + e.cost.backward;
      const bool stores_input = e.reads_input && (i == 0 || !table.items[i - 1].reads_output);
      stored_.items[i + 1] = stored_.items[i] + e.kept() + (stores_input ? e.input : 0);
      plain_.items[i] = e.input + (e.in_place_forward ? 0 : e.output) + e.plain_workspace;
      tapes_far_.items[i] = grid.levels == 1 || !e.reads_input || 2 * e.kept() <= e.input;
    }
  }

  cost_table<Stages> table;
  checkpoint_grid<Stages> grid;

  constexpr std::size_t stages() const { return stages_; }

  // The least possible cost of walking the segment: nothing runs twice. It is 0 if the last backward reads nothing, or comes
  // first.
  constexpr std::uint64_t least_cost(const segment& s) const {
    if (reads_nothing(table.items[s.last]) || is_at_once(s)) return 0;
    return base({s.last, s.last, {true, s.how.kept}}).cost + all_.items[s.last] - all_.items[s.first];
  }
  // The bytes that all stages of [first, end) store, if all of them do.
  constexpr std::size_t stored(std::size_t first, std::size_t end) const { return stored_.items[end] - stored_.items[first]; }

  // Can the segment be a part of another one? Some cannot: items that a stage has not stored cannot be there, the chain's input
  // belongs to no segment, and a value is stored outside a segment only if the stage that made it reads it.
  constexpr bool is_asked_for(const segment& s) const {
    if (s.how.kept && (s.last == stages_ || !may_tape(s.first, s.last))) return false;
    if (s.how.owns) return s.first > 0;
    return s.first == 0 || table.items[s.first - 1].reads_output;
  }
  // May a split of a segment tape stage i? The stages from the first one to it run again for its input, if its backward reads
  // that. So in a long chain it may be far only if it reads no input, or keeps little beside it, as LayerNorm does.
  constexpr bool may_tape(std::size_t first, std::size_t i) const {
    return table.items[i].kept() != 0 && (i <= first + 1 || tapes_far_.items[i]);
  }
  constexpr bool is_base(const segment& s) const { return s.first == s.last; }
  // Does the last backward need only the gradient, as all else is there? Then it may be next. Alternatively, if its gradient is
  // the smaller one, forwards below it come first.
  constexpr bool is_at_once(const segment& s) const {
    const entry& last = table.items[s.last];
    return s.first != s.last && s.last != stages_ && (reads_nothing(last) || (s.how.kept && !last.reads_input)) &&
           grid.solves(s.first, s.last);
  }
  // Does the walk of one stage begin with its forward?
  constexpr bool base_runs_forward(const segment& s) const {
    return s.first != stages_ && !s.how.kept && table.items[s.first].kept() != 0;
  }

  // The need of one stage, or of the loss.
  constexpr need base(const segment& s) const {
    const entry& e = table.items[s.first];
    const std::size_t own = owned(s);
    if (s.first == stages_) return {own > e.input_gradient ? own : e.input_gradient, 0};
    // Its backward is the last op that reads an input which belongs to the segment: the input gradient may take its place.
    need out{during_backward(e, e.reads_input && !e.input_gradient_on_input ? own : 0), e.cost.backward};
    if (!base_runs_forward(s)) return out;
    out.cost += e.reads_output ? e.cost.forward : e.cost.tape;
    const bool in_place = e.reads_output && e.in_place_forward && s.how.owns && !e.reads_input;
    const std::size_t made = in_place || (!e.reads_output && e.tape_alone) ? 0 : e.output;
    const std::size_t bytes = own + e.output_gradient + made + e.tape + e.tape_workspace + e.windows;
    if (out.bytes < bytes) out.bytes = bytes;
    return out;
  }

  constexpr division at_once(const segment& s) const {
    const entry& last = table.items[s.last];
    division d{};
    d.lower = {s.first, s.last - 1, {s.how.owns, false}};
    d.bytes = during_backward(last, owned(s));
    d.cost = last.cost.backward;
    return d;
  }

  // The division at one border.
  constexpr division split(const segment& s, std::size_t at, bool tapes) const {
    division d{};
    const auto take = [&](std::size_t end, bool t, std::size_t more, std::size_t bytes, std::uint64_t cost) {
      if (t != tapes) return;
      d = {{end, s.last, {!(t && table.items[end - 1].reads_output), s.how.kept}},
           {s.first, end - 1, {s.how.owns, t}},
           more,
           bytes,
           cost};
    };
    splits(s, take, at);
    return d;
  }
  // Calls offer(end, tapes, more, bytes, cost) for the ways to split at each border where both parts are solved, or only `at` one
  // border, solved or not: see division. It passes numbers only, as a compiler that solves a chain runs this ten thousand times.
  template <class Offer>
  constexpr void splits(const segment& s, Offer offer, std::size_t at = 0) const {
    const entry& last = table.items[s.last];
    const std::size_t own = owned(s);
    const std::size_t always = own + last.output_gradient + (s.how.kept ? last.kept() : 0) + last.windows;
    const std::size_t to = at == 0 ? s.last : at, top = s.last + 1;
    const std::size_t near = s.first == 0 ? grid.near_end(top) : top; // from here on, the part below may be long
    const std::size_t from = at != 0 ? at : s.first == 0 && grid.is_split_near(top) ? near : s.first + 1;
    std::size_t idle = s.last + 1; // the inputs of the stages from this one on are not read above
    if (is_at_once(s))
      for (--idle; idle > s.first + 1 && reads_nothing(table.items[idle - 1]);) --idle;
    std::size_t walked = 0; // the most bytes of forwards that keep nothing
    for (std::size_t end = s.first + 1; end <= to; ++end) {
      const std::size_t before = walked;
      const bool at_first = end == s.first + 1; // whose input is counted already
      const std::size_t plain =
          at_first ? table.items[end - 1].output + table.items[end - 1].plain_workspace : plain_.items[end - 1];
      if (walked < plain) walked = plain;
      if (end < from) continue;
      if (at == 0 && !(grid.is_short(end, top) && (end >= near || grid.is_short(s.first, end)))) continue;
      const entry& e = table.items[end - 1];
      const std::size_t input = at_first ? 0 : e.input;
      const std::uint64_t cost = forwards_.items[end] - forwards_.items[s.first];

      // The input of stage `end` is the checkpoint. The stage below runs again if its backward reads what it makes. If that
      // backward reads nothing at all, value `first` is not read again, and may be overwritten.
      const std::size_t kept = e.tape + (e.reads_output ? e.output : 0);
      const bool frees = at_first && !e.reads_input;
      const bool is_read_no_more = frees && kept == 0 && s.how.owns;
      const std::size_t passing = is_read_no_more && e.in_place_forward ? e.plain_workspace : walked;
      if (end < idle) offer(end, false, is_read_no_more ? 0 : own, always + passing, cost);
      if (kept == 0 || !(end <= s.first + 2 || tapes_far_.items[end - 1])) continue; // may_tape()

      // The items that the backward of the stage below reads are kept from this forward on, and so serve as the checkpoint.
      const bool overwrites = e.in_place_forward && (!at_first || (frees && s.how.owns)) && !(end >= idle && !e.reads_output);
      const std::size_t taped = input + (overwrites ? 0 : e.output) + e.tape + e.tape_workspace;
      offer(end, true, (frees ? 0 : own) + kept, always + (before > taped ? before : taped), cost);
    }
  }

private:
  static constexpr bool reads_nothing(const entry& e) { return e.kept() == 0 && !e.reads_input; }
  constexpr std::size_t owned(const segment& s) const { return s.how.owns ? table.items[s.first].input : 0; }

  // The bytes of a stage's backward, while `beside` bytes are alive that are not its own.
  static constexpr std::size_t during_backward(const entry& e, std::size_t beside) {
    return beside + e.output_gradient + (e.in_place_backward ? 0 : e.input_gradient) + e.kept() + e.backward_workspace;
  }

  std::size_t stages_;
  plain_array<std::uint64_t, plus(Stages, 2)> forwards_, all_; // costs of all stages below one: forwards; and backwards
  // Bytes: stored by all stages below one; of its forward if it stores nothing.
  plain_array<std::size_t, plus(Stages, 2)> stored_, plain_;
  plain_array<bool, plus(Stages, 2)> tapes_far_; // see may_tape()
};

} // namespace cairn::detail
