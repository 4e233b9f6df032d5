// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/core/plain_array.hpp>
#include <cairn/plan/chain.hpp>
#include <cairn/plan/route.hpp>
#include <cairn/plan/solve/cost_table.hpp>
#include <cairn/plan/solve/search_states.hpp>

namespace cairn::detail {

// Chains of at most so many stages are searched where the solvers, which keep what they keep until its backward, find
// nothing that fits. The states of such a chain are few because a tight budget holds few things at once: of seven stages
// mostly less than 300, and 4000 at worst; of eight about as many at worst, and more in the mean.
inline constexpr std::size_t longest_searched = 8;
static_assert(longest_searched <= search_state::most_stages);
constexpr bool is_searched(std::size_t stages) { return stages > 0 && stages <= longest_searched; }

// The cheapest of all schedules of a short chain whose live bytes keep a budget: whatever is held may be dropped, be
// overwritten in place, and be made again.
//
// A state is a set of values, a set of tapes, and how far the way back has come; an op leads from one to the next, and
// Dijkstra's algorithm finds the cheapest way through them. Three rules keep the states few, and lose no schedule:
//   1. Nothing is dropped while the next op fits. Who holds more can do whatever who holds less can, for the same cost.
//   2. A tape is held from the forward that makes it to its backward: a forward in between would make it anew. So the
//      stage does not run, and a value that its backward reads stays.
//   3. A state is left out from which some backward can no longer get what it reads, or no longer fits beside the tapes.
// And one rule keeps it honest: a value that was made in place, beside a tape, is read by somebody. Else nobody would
// ask for it, and the forward would need another place for it. A stage that reads nothing on the way back does not count:
// it reads its input for whoever reads its output.
//
// Capacity: how many states there is room for, or at_run_time; then there is always room.
template <std::size_t Capacity>
class short_search {
public:
  // The entries are the cost table of the chain, and outlive the search.
  constexpr short_search(const chain& c, const entry* entries, std::size_t budget)
      : entries_(entries), stages_(static_cast<std::uint32_t>(c.size())),
        lowest_(static_cast<std::uint32_t>(c.lowest_backward())), lent_(c.lent), budget_(budget) {
    for (std::uint32_t i = lowest_; i < stages_; ++i) {
      const entry& e = entries_[i];
      if (e.tape != 0) taped_ |= bit(i);
      if (e.reads_output) read_back_ |= bit(i);
      alone_[i] = e.output_gradient + (e.in_place_backward ? 0 : e.input_gradient) + e.backward_workspace +
                  e.kept() + (e.reads_input && i > 0 ? e.input : 0);
    }
    reach({{0, 0, 0, stages_ + 1}, 0, 0, 0, 0, stays}, {0, none, 0, 0, 0, 0, stays}, none);
  }

  // Goes on with a search that has stopped, with more room.
  template <std::size_t Other>
  constexpr explicit short_search(const short_search<Other>& other)
      : entries_(other.entries_), stages_(other.stages_), lowest_(other.lowest_), lent_(other.lent_),
        budget_(other.budget_), taped_(other.taped_), read_back_(other.read_back_), end_(other.end_),
        states_(other.states_) {
    for (std::size_t i = 0; i < longest_searched; ++i) alone_[i] = other.alone_[i];
  }

  // Looks at so many states more at most.
  constexpr void run(std::size_t most = static_cast<std::size_t>(-1)) {
    for (; most > 0 && states_.waiting() > 0 && end_ == none && !full_; --most) {
      const std::uint32_t at = states_.take();
      const state s = state::of(states_[at].key);
      if (s.left == lowest_) end_ = at;
      else expand(at, s);
      if (full_) states_.put_back(at); // it is looked at again when there is more room
    }
  }
  constexpr bool is_full() const { return full_; }
  constexpr bool is_done() const { return end_ != none || (states_.waiting() == 0 && !full_); }
  constexpr std::size_t size() const { return states_.size(); } // states

  // Of the schedule that is found. It needs bytes() at most: what still fits is not dropped as soon as nobody reads it.
  constexpr bool found() const { return end_ != none; }
  constexpr std::size_t bytes() const { return states_[end_].most; }
  constexpr std::uint64_t cost() const {
    std::uint64_t sum = states_[end_].cost;
    for (std::uint32_t i = lowest_; i < stages_; ++i) sum += entries_[i].cost.backward;
    return sum;
  }
  constexpr void write(route& out) const {
    plain_array<std::uint32_t, Capacity> way(states_.size());
    std::size_t length = 0;
    for (std::uint32_t at = end_; at != none; at = states_[at].from) way[length++] = at;
    while (length > 0) {
      const std::uint8_t did = states_[way[--length]].did;
      if (did == stays) continue;
      if (did % 2 != 0) out.backward(did / 2U);
      else out.forward(did / 2U);
    }
    out.backward(0, lowest_); // they do nothing
  }

private:
  template <std::size_t Other>
  friend class short_search;

  using state = search_state;
  using node = search_node;
  static constexpr std::uint32_t none = node::none;
  static constexpr std::uint8_t stays = node::stays;

  // What one op makes of a state.
  struct step {
    state after{};
    std::size_t beside = 0; // bytes that live while it runs, besides those that are held
    std::size_t made = 0;   // bytes that are held more
    std::size_t lost = 0;   // ... and that are held no more
    std::uint64_t cost = 0;
    std::uint8_t did = stays;
  };

  static constexpr std::uint32_t bit(std::uint32_t i) { return 1U << i; }
  static constexpr bool has(std::uint32_t set, std::uint32_t i) { return (set >> i & 1U) != 0; }

  // Can the rest still be done? See rule 3.
  constexpr bool is_alive(const state& s) const {
    const bool up = s.left > stages_;
    const std::uint32_t end = up ? stages_ : s.left;
    bool is_had = true; // value i is there, or can be made
    std::size_t tapes = 0;
    for (std::uint32_t i = 0; i < end; ++i) {
      const entry& e = entries_[i];
      const bool lacks = has(taped_ & ~s.tapes, i) || has(read_back_ & ~s.values, i);
      if (i >= lowest_ && ((!is_had && (e.reads_input || lacks)) || alone_[i] + tapes > budget_))
        return false;
      if (has(s.tapes, i)) tapes += e.tape;
      is_had = has(s.values, i) || (is_had && !has(s.tapes, i));
    }
    return is_had || !up; // the turn reads the last value
  }

  // Takes all ways out of a state.
  constexpr void expand(std::uint32_t at, const state& s) {
    const node from = states_[at];
    const std::uint32_t kept = s.unread | (s.tapes & read_back_); // may not be dropped
    const bool up = s.left > stages_;
    if (up && !lent_ && has(s.values, stages_ - 1)) turn(at, from, s, kept);
    if (!up) backward(at, from, s, kept);
    if (s.left == stages_ && !lent_) return; // the turn comes right before the first backward
    const std::uint32_t end = up ? stages_ : s.left;
    for (std::uint32_t i = 0; i < end; ++i)
      if ((i == 0 || has(s.values, i - 1)) && !has(s.tapes, i)) forward(at, from, s, kept, i);
  }

  // The gradient of the last value comes in: in its place, unless that is read once more.
  constexpr void turn(std::uint32_t at, const node& from, const state& s, std::uint32_t kept) {
    const std::uint32_t last = bit(stages_ - 1);
    const bool is_read = (read_back_ & last) != 0;
    const std::size_t value = is_read ? 0 : entries_[stages_ - 1].output;
    const std::size_t gradient = entries_[stages_].input_gradient;
    const state after{is_read ? s.values : s.values & ~last, s.tapes, s.unread & ~last, stages_};
    take(at, from, kept | last, s,
         {after, gradient > value ? gradient - value : 0, gradient, value, 0, stays});
  }

  // A forward with its value, its tape, or both; the value beside its input, or in its place. A composite's turn is right
  // behind the first forward of the last stage, and brings in a gradient that is lent: that forward does both.
  constexpr void forward(std::uint32_t at, const node& from, const state& s, std::uint32_t kept,
                         std::uint32_t i) {
    const entry& e = entries_[i];
    const std::uint32_t own = bit(i);
    const std::uint32_t input = i == 0 ? 0 : own >> 1U;
    const bool is_last = i + 1 == stages_;
    const bool turns = lent_ && is_last && s.left > stages_;
    const bool is_read = i + 1 < s.left || (e.reads_output && !is_last); // the value, later
    const bool in_place = i > 0 && e.in_place_forward;
    const std::size_t old = has(s.values, i) ? e.output : 0; // it is made anew
    const bool leaves = turns && !e.reads_output;            // only the turn reads it
    const std::size_t made = leaves ? 0 : e.output;
    const auto did = static_cast<std::uint8_t>(2 * i);
    if (has(s.unread, i)) return;

    state after{leaves ? s.values & ~own : s.values | own, s.tapes, s.unread & ~input,
                turns ? stages_ : s.left};
    kept |= input;
    if (is_read && !has(s.values, i)) {
      state plain = after;
      const bool passes = !e.reads_input && e.kept() == 0; // reads its input for whoever reads its output
      if (passes && (s.unread & input) != 0 && !turns) plain.unread |= own;
      take(at, from, kept, s, {plain, e.output + e.plain_workspace, made, 0, e.cost.forward, did});
      plain.values &= ~input;
      if (in_place) take(at, from, kept, s, {plain, e.plain_workspace, made, e.input, e.cost.forward, did});
    }
    if (!has(taped_, i)) return;
    after.tapes |= own;
    kept |= own;
    const std::size_t tape = e.tape + e.tape_workspace;
    if (is_read) {
      take(at, from, kept, s, {after, e.output + tape - old, made + e.tape, old, e.cost.forward, did});
      if (in_place) {
        state over = after;
        over.values &= ~input;
        if (!e.tape_alone && !e.reads_output && !turns) over.unread |= own;
        take(at, from, kept, s, {over, tape - old, made + e.tape, old + e.input, e.cost.forward, did});
      }
    }
    // Of the last stage the turn reads the value; a composite's may then make its tape alone.
    if (e.reads_output || (is_last && (s.left > stages_ || !e.tape_alone))) return;
    after.values &= ~own;
    take(at, from, kept, s,
         {after, (e.tape_alone ? 0 : e.output) + tape - old, e.tape, old,
          e.tape_alone ? e.cost.tape : e.cost.forward, did});
  }

  // The next backward. What nobody can read after it is dropped.
  constexpr void backward(std::uint32_t at, const node& from, const state& s, std::uint32_t kept) {
    const std::uint32_t i = s.left - 1;
    const entry& e = entries_[i];
    const std::uint32_t input = i > 0 && e.reads_input ? bit(i - 1) : 0;
    const std::uint32_t reads = input | (read_back_ & bit(i));
    if ((s.values & reads) != reads || has(taped_ & ~s.tapes, i)) return;
    std::uint32_t readable = bit(i) - 1;
    if (i > 0 && !entries_[i - 1].reads_output) readable &= ~bit(i - 1);
    const state after{s.values & readable, s.tapes & ~bit(i), s.unread & ~reads, i};
    if ((after.unread & ~readable) != 0) return;
    std::size_t lost = e.output_gradient + (has(s.tapes, i) ? e.tape : 0);
    if (has(s.values, i)) lost += e.output;
    if (i > 0 && has(s.values & ~readable, i - 1)) lost += e.input;
    take(at, from, kept | reads, s,
         {after, (e.in_place_backward ? 0 : e.input_gradient) + e.backward_workspace, e.input_gradient, lost,
          0, static_cast<std::uint8_t>(2 * i + 1)});
  }

  // Reaches the state behind an op, if it fits; else those in front of it with one value less. Values of `kept` stay.
  constexpr void take(std::uint32_t at, const node& from, std::uint32_t kept, const state& s,
                      const step& op) {
    const std::size_t live = from.held + op.beside;
    if (live <= budget_) return reach(op, from, at, live);
    const std::uint32_t free = s.values & ~kept;
    std::size_t least = live;
    for (std::uint32_t i = 0; i < stages_; ++i)
      if (has(free, i)) least -= entries_[i].output;
    if (least > budget_) return;
    for (std::uint32_t i = 0; i < stages_; ++i) {
      if (!has(free, i)) continue;
      const state fewer{s.values & ~bit(i), s.tapes, s.unread, s.left};
      reach({fewer, 0, 0, entries_[i].output, 0, stays}, from, at, 0);
    }
  }

  constexpr void reach(const step& op, const node& from, std::uint32_t at, std::size_t live = 0) {
    const std::uint32_t key = op.after.key();
    const std::uint64_t cost = from.cost + op.cost;
    const std::uint32_t to = states_.find(key);
    if (to == none ? !is_alive(op.after) : states_[to].cost <= cost) return;
    const std::size_t most = from.most < live ? live : from.most;
    const node next{key, at, cost, from.held + op.made - op.lost, most, 0, op.did};
    if (to != none) states_.improve(to, next);
    else full_ = !states_.add(next) || full_;
  }

  const entry* entries_;
  std::uint32_t stages_;
  std::uint32_t lowest_;
  bool lent_;
  bool full_ = false;
  std::size_t budget_;
  std::uint32_t taped_ = 0;               // stages that have a tape
  std::uint32_t read_back_ = 0;           // stages whose backward reads their output
  std::size_t alone_[longest_searched]{}; // what a backward needs if nothing else is held
  std::uint32_t end_ = none;
  search_states<Capacity> states_{};
};

} // namespace cairn::detail
