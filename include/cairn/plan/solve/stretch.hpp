// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/plan/solve/cost_table.hpp>
#include <cairn/plan/solve/grouping.hpp>

namespace cairn::detail {

// How a stretch of the chain stands when its walk begins.
//   owns: value `first` belongs to it: it counts the value's bytes, and may drop or overwrite it after its last read.
//         Else the value is stored, and counted, beside the stretch.
//   kept: the forward of stage `last` has run, and what its backward reads besides its input is there; its bytes count
//         until that backward.
struct standing {
  bool owns = false;
  bool kept = false;

  constexpr std::size_t index() const { return (owns ? 1U : 0U) + (kept ? 2U : 0U); }
};
inline constexpr std::size_t standings = 4;
constexpr standing standing_of(std::size_t index) { return {(index & 1U) != 0, (index & 2U) != 0}; }

// The stages [first, last] of a chain: value `first` is there, and the gradient of the last stage's output, unless the
// stretch reaches the loss, which stands behind the stages as stage n. Walking it back makes the gradient of value `first`.
struct stretch {
  std::size_t first = 0;
  std::size_t last = 0;
  standing how{};
};

// One way to begin a stretch: forwards of some stages, then the part above is walked back, then the part below. If it
// tapes, the last of these forwards keeps what its backward reads. Or at_once: the backward of the last stage, and then
// the part below.
struct division {
  stretch upper{};
  stretch lower{};
  std::size_t more = 0;  // bytes that are kept while the upper part is walked, and that it does not count
  std::size_t bytes = 0; // the most of these first ops
  std::uint64_t cost = 0;
};

// What one stretch needs by itself.
struct need {
  std::size_t bytes = 0;
  std::uint64_t cost = 0;
};

// The ways to walk a stretch back.
//
// A stretch runs forward to some stage, storing nothing on the way except, perhaps, what the backward of the last of
// these forwards reads; then the part above is walked back, and then the part below, with value `first` at hand again
// (Beaumont, Eyraud-Dubois, Herrmann, Joly, Shilova: Optimal checkpointing for heterogeneous chains, Inria RR-9302,
// arXiv 1911.13214, which has the first of the two; the second also lets what a stage stores serve as the checkpoint of
// the part below it). Bytes are those that live while the ops run, as lifetimes.hpp counts them, with values made in
// place, workspaces, tapes without a value, and windows of gradients. What is stored stays until its backward: among such
// schedules the best division of every stretch gives the best schedule. One that drops something for a while may beat it:
// against all schedules of chains of three to seven stages it is the cheapest for 98 % of the budgets of random chains and
// of MLPs, at worst 1.23 times as dear, and for every budget of equal stages and of residual blocks; and one random chain
// in 500 can do with fewer bytes (tests/plan/solve/solver.cpp, tests/bench/RESULTS.md).
template <std::size_t Stages>
class divisions {
public:
  constexpr divisions(const cost_table<Stages>& table, std::size_t stages, const grouping<Stages>& groups)
      : table_(table), stages_(stages), groups_(groups) {}

  constexpr const cost_table<Stages>& table() const { return table_; }

  // No way to walk the stretch costs less: nothing runs twice. Unless the last backward reads nothing.
  constexpr std::uint64_t least_cost(const stretch& s) const {
    return base({s.last, s.last, {true, s.how.kept}}).cost + groups_.of.items[s.last].below -
           groups_.of.items[s.first].below;
  }

  // Some stretches are no part of any other: what a stage has not stored cannot be there, the chain's input belongs to no
  // stretch, and a value is stored beside one only if the stage that made it reads it. See grouping.hpp for the others.
  constexpr bool is_asked_for(const stretch& s) const {
    const group& first = groups_.of.items[s.first];
    const group& last = groups_.of.items[s.last];
    if (s.how.kept && (s.last == stages_ || table_.items[s.last].kept() == 0)) return false;
    if (!first.starts && !last.ends && first.last != last.last) return false;
    if (s.how.owns) return s.first > 0;
    return s.first == 0 || table_.items[s.first - 1].reads_output;
  }
  constexpr bool is_base(const stretch& s) const { return s.first == s.last; }
  // Nothing but the gradient is missing for the last backward: it may be next. Or else, if its gradient is the smaller
  // one, forwards below it come first.
  constexpr bool is_at_once(const stretch& s) const {
    const entry& last = table_.items[s.last];
    return s.first != s.last && s.last != stages_ &&
           (reads_nothing(last) || (s.how.kept && !last.reads_input));
  }
  // Does the walk of one stage begin with its forward?
  constexpr bool base_runs_forward(const stretch& s) const {
    return s.first != stages_ && !s.how.kept && table_.items[s.first].kept() != 0;
  }

  // One stage, or the loss.
  constexpr need base(const stretch& s) const {
    const entry& e = table_.items[s.first];
    const std::size_t own = owned(s);
    if (s.first == stages_) return {own > e.input_gradient ? own : e.input_gradient, 0};
    need out{during_backward(e, e.reads_input ? own : 0), e.cost.backward};
    if (!base_runs_forward(s)) return out;
    out.cost += e.reads_output ? e.cost.forward : e.cost.tape;
    const bool in_place = e.reads_output && e.in_place_forward && s.how.owns && !e.reads_input;
    const std::size_t made = in_place || (!e.reads_output && e.tape_alone) ? 0 : e.output;
    const std::size_t bytes = own + e.output_gradient + made + e.tape + e.tape_workspace + e.windows;
    if (out.bytes < bytes) out.bytes = bytes;
    return out;
  }

  constexpr division at_once(const stretch& s) const {
    const entry& last = table_.items[s.last];
    division d{};
    d.lower = {s.first, s.last - 1, {s.how.owns, false}};
    d.bytes = during_backward(last, owned(s));
    d.cost = last.cost.backward;
    return d;
  }

  // Calls offer(i, tapes, more, bytes, cost) for every way to split behind stage i: see division. Numbers only, and no
  // calls in the loop: a compiler that solves a chain comes by here ten thousand times. Groups between the first and the
  // last are passed as a whole.
  template <class Offer>
  constexpr void splits(const stretch& s, Offer offer) const {
    const entry& last = table_.items[s.last];
    const std::size_t own = owned(s);
    const std::size_t always = own + last.output_gradient + (s.how.kept ? last.kept() : 0) + last.windows;
    std::size_t idle = s.last + 1; // the inputs of the stages from this one on are not read above
    if (is_at_once(s))
      for (--idle; idle > s.first + 1 && reads_nothing(table_.items[idle - 1]);) --idle;
    std::size_t walked = 0; // the most bytes, besides `always`, of forwards that keep nothing
    std::uint64_t cost = 0;
    const std::size_t first_group = groups_.of.items[s.first].last;
    const std::size_t last_group = groups_.of.items[s.last].last;
    const bool starts = groups_.of.items[s.first].starts;
    const bool ends = groups_.of.items[s.last].ends;
    for (std::size_t i = s.first; i < s.last; ++i) {
      const group& g = groups_.of.items[i];
      if (i > first_group && g.last != last_group) {
        if (walked < g.walked) walked = g.walked;
        cost += g.cost;
        i = g.last;
      } else if (i > first_group && !starts) {
        break;
      }
      const bool unread = i + 1 >= idle;
      const entry& e = table_.items[i];
      const bool at_first = i == s.first; // whose input is counted already
      const std::size_t input = at_first ? 0 : e.input;
      const std::size_t plain = input + (!at_first && e.in_place_forward ? 0 : e.output) + e.plain_workspace;
      const std::size_t below = walked;
      if (walked < plain) walked = plain;
      cost += e.cost.forward;
      if (!ends && groups_.of.items[i + 1].last != last_group) continue;

      // The input of stage i + 1 is the checkpoint; stage i will run again if its backward reads what that makes. If that
      // reads nothing at all, value `first` is not read again, and may be overwritten.
      const std::size_t kept = e.tape + (e.reads_output ? e.output : 0);
      const bool frees = at_first && !e.reads_input;
      const bool is_read_no_more = frees && kept == 0 && s.how.owns;
      const std::size_t most = is_read_no_more && e.in_place_forward ? e.plain_workspace : walked;
      if (!unread) offer(i, false, is_read_no_more ? 0 : own, always + most, cost);
      if (kept == 0) continue;

      // What the backward of stage i reads is kept from this forward on, and so serves as the checkpoint.
      const bool overwrites =
          e.in_place_forward && (!at_first || (frees && s.how.owns)) && !(unread && !e.reads_output);
      const std::size_t taped = input + (overwrites ? 0 : e.output) + e.tape + e.tape_workspace;
      offer(i, true, (frees ? 0 : own) + kept, always + (below > taped ? below : taped), cost);
    }
  }

  // The parts of the stretch if it is split behind stage i.
  constexpr stretch upper(const stretch& s, std::size_t i, bool tapes) const {
    return {i + 1, s.last, {!(tapes && table_.items[i].reads_output), s.how.kept}};
  }
  constexpr stretch lower(const stretch& s, std::size_t i, bool tapes) const {
    return {s.first, i, {s.how.owns, tapes}};
  }

  // One of the divisions again.
  constexpr division split_at(const stretch& s, std::size_t split, bool tapes) const {
    const std::size_t at = s.first + split - 1;
    division d{};
    splits(s, [&](std::size_t i, bool t, std::size_t more, std::size_t bytes, std::uint64_t cost) {
      if (i == at && t == tapes) d = {upper(s, i, t), lower(s, i, t), more, bytes, cost};
    });
    return d;
  }

private:
  static constexpr bool reads_nothing(const entry& e) { return e.kept() == 0 && !e.reads_input; }
  constexpr std::size_t owned(const stretch& s) const { return s.how.owns ? table_.items[s.first].input : 0; }

  // The backward of a stage while `beside` bytes live that are not its own.
  static constexpr std::size_t during_backward(const entry& e, std::size_t beside) {
    return beside + e.output_gradient + (e.in_place_backward ? 0 : e.input_gradient) + e.kept() +
           e.backward_workspace;
  }

  const cost_table<Stages>& table_;
  std::size_t stages_;
  const grouping<Stages>& groups_;
};

} // namespace cairn::detail
