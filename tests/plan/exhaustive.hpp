// SPDX-License-Identifier: MIT
// Searches all schedules of a short chain. It shares no code with the solver, nor with the code that counts a plan's bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include <cairn/core/memory.hpp>
#include <cairn/plan/chain.hpp>
#include <cairn/plan/route.hpp>

namespace cairn::testing {

using namespace plan;

// A schedule of a chain is a path through states. A state says which values and which tapes are held, and how far the backward
// pass is. An op leads from one state to another. A value may be dropped at any time and recomputed any number of times. An op
// is allowed if the bytes alive while it runs are within the budget. Dijkstra's algorithm finds the path with the lowest peak; A*
// finds the cheapest one, where a state still costs at least one forward of each stage whose result is missing.
//
// Paths that a route cannot express are left out:
// - A forward makes anew all of its results that are read later, so a stage does not run while its tape is held.
// - A composite's loss comes as soon as the last value is made, the root's right before the first backward.
// - Every result is read. A tape is held until its backward. A value that was made in place beside a tape must be read, or the
//   value that a stage whose backward reads nothing makes of it: otherwise the forward would need another place for it. At most
//   two such values at once are tried.
// The value that a composite's last value overwrites in place is counted, though a plan may have it in the borrowed output.
class exhaustive {
public:
  struct answer {
    bool found = false;
    std::uint64_t cost = 0; // FLOPs for one sample
    std::vector<route_step> moves;
  };

  explicit exhaustive(const chain& c)
      : c_(c), n_(c.size()), lowest_(c.lowest_backward()), tape_bit_(n_, 0), gradient_(n_ + 1, 0) {
    bool owes = false; // value i may have to be read
    for (std::size_t i = lowest_; i < n_; ++i) {
      if (c[i].keeps_tape()) tape_bit_[i] = 1U << tapes_++;
      owes = c[i].keeps_tape() ? in_place(i) && !c[i].tape_without_output : owes && reads_nothing(i);
      if (!owes) continue;
      for (std::size_t k = owing_.size(); k-- > 0;)
        if ((owing_[k] & (owing_[k] - 1)) == 0) owing_.push_back(owing_[k] | bit(i + 1));
    }
    gradient_[n_] = c.lent || lowest_ == n_ ? 0 : c.value_bytes(n_);
    for (std::size_t k = n_; k-- > 0;) {
      const bool lent = k == 0 && c.lent_input_gradient;
      const bool made = k > lowest_ || (c.lent && k >= lowest_);
      gradient_[k] = lent || !made ? 0 : in_place_back(k) ? gradient_[k + 1] : c.value_bytes(k);
    }
    windows_.assign(n_ + 2, 0);
    opened_.assign(n_, 0);
    for (const detail::gradient_window& w : c.windows) {
      opened_[w.from] += detail::align_up(w.bytes);
      for (std::size_t left = w.to + 1; left <= w.from; ++left) windows_[left] += detail::align_up(w.bytes);
    }
    value_bytes_.assign(std::size_t{1} << n_, 0);
    tape_bytes_.assign(std::size_t{1} << tapes_, 0);
    for (std::uint32_t set = 0; set < value_bytes_.size(); ++set)
      for (std::size_t k = 1; k <= n_; ++k) value_bytes_[set] += (set & bit(k)) != 0 ? own(k) : 0;
    for (std::uint32_t set = 0; set < tape_bytes_.size(); ++set)
      for (std::size_t i = lowest_; i < n_; ++i) tape_bytes_[set] += (set & tape_bit_[i]) != 0 ? c.tape_bytes(i) : 0;
    wanted_values_.assign(n_ + 2, 0);
    wanted_tapes_.assign(n_ + 2, 0);
    for (std::size_t left = lowest_ + 1; left < n_ + 2; ++left) {
      for (std::size_t i = lowest_; i < left && i < n_; ++i) {
        wanted_values_[left] |= (c[i].reads_input ? bit(i) : 0) | (c[i].reads_output ? bit(i + 1) : 0);
        wanted_tapes_[left] |= tape_bit_[i];
      }
      if (left == n_ + 1) wanted_values_[left] |= bit(n_);
    }
    least_cost_.assign(std::size_t{1} << n_, 0);
    for (std::uint32_t set = 1; set < least_cost_.size(); ++set)
      for (std::size_t i = 0; i < n_; ++i)
        if ((set >> i & 1U) != 0)
          least_cost_[set] += c[i].tape_without_output ? std::min(c[i].tape_flops, c[i].forward_flops) : c[i].forward_flops;
    stages_of_tapes_.assign(tape_bytes_.size(), 0);
    for (std::uint32_t set = 0; set < stages_of_tapes_.size(); ++set)
      for (std::size_t i = lowest_; i < n_; ++i) stages_of_tapes_[set] |= (set & tape_bit_[i]) != 0 ? bit(i + 1) : 0;
  }

  // The least budget that some schedule keeps.
  std::size_t least_bytes() { return static_cast<std::size_t>(best_[search(static_cast<std::size_t>(-1), true)]); }

  // Finds the cheapest schedule within a budget.
  answer cheapest(std::size_t budget) {
    const std::uint32_t end = search(budget, false);
    if (end == none) return {};
    answer out{.found = true, .cost = best_[end], .moves = {}};
    for (std::uint32_t s = end; from_[s].state != none; s = from_[s].state)
      if (from_[s].moves) out.moves.insert(out.moves.begin(), from_[s].made);
    for (std::size_t i = lowest_; i < n_; ++i) out.cost += backward_flops(i);
    // A route contains all backwards, also those of the lowest stages, which do nothing.
    for (std::size_t i = lowest_; i-- > 0;) out.moves.push_back({static_cast<std::uint32_t>(i), true});
    return out;
  }

private:
  static constexpr std::uint32_t none = static_cast<std::uint32_t>(-1);

  // `left`: the backwards of the stages below this one have not run. It is n before the first backward, n + 1 before the loss.
  struct state {
    std::uint32_t values = 0; // bit k - 1: value k is held
    std::uint32_t tapes = 0;
    std::size_t left = 0;
    std::uint32_t unread = 0; // subset of values: each must be read before it is dropped
  };
  struct step {
    std::uint32_t state = none;
    bool moves = false; // false: it only drops something, or is the loss
    route_step made{};
  };

  std::uint32_t number(const state& s) const {
    std::size_t owes = 0;
    while (owes < owing_.size() && s.unread != owing_[owes]) ++owes;
    if (owes == owing_.size()) return none;
    return static_cast<std::uint32_t>((((owes * (n_ + 2) + s.left) << tapes_ | s.tapes) << n_) | s.values);
  }
  state of(std::uint32_t number) const {
    const std::size_t rest = number >> (n_ + tapes_);
    return {number & ((1U << n_) - 1), (number >> n_) & ((1U << tapes_) - 1), rest % (n_ + 2), owing_[rest / (n_ + 2)]};
  }
  static std::uint32_t bit(std::size_t value) { return value == 0 ? 0 : 1U << (value - 1); }

  bool reads_nothing(std::size_t i) const { return !c_[i].reads_input && !c_[i].reads_output && !c_[i].keeps_tape(); }
  bool in_place(std::size_t i) const { return i > 0 && c_[i].in_place_forward && c_.value_bytes(i) == c_.value_bytes(i + 1); }
  bool in_place_back(std::size_t i) const {
    const stage& s = c_[i];
    const bool kept = c_.lent && c_.keeps_output_gradient && i + 1 == n_;
    return s.in_place_backward && c_.value_bytes(i) == c_.value_bytes(i + 1) && !kept;
  }
  std::uint64_t backward_flops(std::size_t i) const {
    const bool wants = i > lowest_ || c_.lent;
    return c_[i].backward_flops - (wants ? 0 : c_[i].input_gradient_flops);
  }
  std::size_t own(std::size_t value) const { return value == n_ && c_.lent_output ? 0 : c_.value_bytes(value); }
  std::size_t held(const state& s) const {
    return (s.left <= n_ ? gradient_[s.left] : 0) + windows_[s.left] + value_bytes_[s.values] + tape_bytes_[s.tapes];
  }

  // The least that is still to be paid from a state: a stage runs again whose value or tape a backward reads and is not held.
  std::uint64_t least_after(const state& s) const {
    return least_cost_[(wanted_values_[s.left] & ~s.values) | stages_of_tapes_[wanted_tapes_[s.left] & ~s.tapes]];
  }

  // Calls reach(state, live bytes, cost, step) for every possible step from a state.
  template <class Reach>
  void all_from(const state& s, const Reach& reach) const {
    for (std::size_t k = 1; k <= n_; ++k)
      if ((s.values & ~s.unread & bit(k)) != 0) reach(state{s.values & ~bit(k), s.tapes, s.left, s.unread}, 0, 0, step{});
    if (s.left == n_ + 1 && (s.values & bit(n_)) != 0) {
      const std::uint32_t unread = s.unread & ~bit(n_);
      reach(state{s.values, s.tapes, n_, unread}, held(s) + gradient_[n_], 0, step{});
      // The value is not read again: its gradient takes its place.
      reach(state{s.values & ~bit(n_), s.tapes, n_, unread}, held(s), 0, step{});
    }
    const bool turns = c_.lent ? s.left == n_ + 1 && (s.values & bit(n_)) != 0 : s.left == n_;
    for (std::size_t i = 0; !turns && i < n_ && i < s.left; ++i)
      if ((i == 0 || (s.values & bit(i)) != 0) && (s.tapes & tape_bit_[i]) == 0 && (s.unread & bit(i + 1)) == 0)
        forward(s, i, reach);
    if (s.left <= n_ && s.left > lowest_) backward(s, s.left - 1, reach);
  }

  template <class Reach>
  void forward(const state& s, std::size_t i, const Reach& reach) const {
    const stage& does = c_[i];
    const route_step made{static_cast<std::uint32_t>(i), false};
    const state before{s.values & ~bit(i + 1), s.tapes, s.left, s.unread & ~bit(i)};
    for (const bool output : {true, false})
      for (const bool tape : {true, false}) {
        if ((tape && tape_bit_[i] == 0) || (!tape && !output)) continue;
        const bool writes = output || !does.tape_without_output;
        const std::uint64_t cost = writes ? does.forward_flops : does.tape_flops;
        const std::size_t beside =
            (tape ? does.forward_workspace : does.evaluation_workspace).at(c_.batch) + (tape ? c_.tape_bytes(i) : 0);
        state after = before;
        if (output) after.values |= bit(i + 1);
        if (tape) after.tapes |= tape_bit_[i];
        if (reads_nothing(i) && (s.unread & bit(i)) != 0) after.unread |= bit(i + 1);
        const std::size_t result = !writes ? 0 : output ? own(i + 1) : c_.value_bytes(i + 1);
        reach(after, held(before) + beside + result, cost, step{none, true, made});
        if (!output || !in_place(i)) continue;
        after.values &= ~bit(i);
        if (tape && !does.tape_without_output) after.unread |= bit(i + 1);
        reach(after, held(before) + beside, cost, step{none, true, made});
      }
  }

  template <class Reach>
  void backward(const state& s, std::size_t i, const Reach& reach) const {
    const stage& does = c_[i];
    if (does.reads_input && i > 0 && (s.values & bit(i)) == 0) return;
    if (does.reads_output && (s.values & bit(i + 1)) == 0) return;
    if ((s.tapes & tape_bit_[i]) != tape_bit_[i]) return;
    const std::uint32_t unread = s.unread & ~(does.reads_input ? bit(i) : 0) & ~(does.reads_output ? bit(i + 1) : 0);
    if (unread >= bit(i + 1)) return;
    const std::size_t made = in_place_back(i) ? 0 : gradient_[i];
    state after{s.values & (bit(i + 1) - 1), s.tapes, i, unread};
    for (std::size_t j = i; j < n_; ++j) after.tapes &= ~tape_bit_[j]; // tapes above are not read any more
    const step ran{none, true, {static_cast<std::uint32_t>(i), true}};
    const std::size_t always = held(s) + opened_[i] + does.backward_workspace.at(c_.batch);
    reach(after, always + made, 0, ran);
    // The value is not read again: its gradient takes its place, and has its size.
    if (i == 0 || i == lowest_ || !does.reads_input || !does.input_gradient_on_input || in_place_back(i)) return;
    after.values &= ~bit(i);
    reach(after, always, 0, ran);
  }

  // Returns the number of the best final state, or `none`. Backwards cost the same on every path and are left out.
  std::uint32_t search(std::size_t budget, bool by_bytes) {
    const std::size_t states = (owing_.size() * (n_ + 2)) << (n_ + tapes_);
    best_.assign(states, static_cast<std::uint64_t>(-1));
    from_.assign(states, step{});
    using item = std::pair<std::uint64_t, std::uint32_t>;
    std::priority_queue<item, std::vector<item>, std::greater<>> open;
    const std::uint32_t begin = number({0, 0, n_ + 1, 0});
    best_[begin] = 0;
    open.push({by_bytes ? 0 : least_after(of(begin)), begin});
    while (!open.empty()) {
      const std::uint64_t key = open.top().first;
      const std::uint32_t at = open.top().second;
      open.pop();
      const state s = of(at);
      const std::uint64_t now = best_[at];
      if (key != now + (by_bytes ? 0 : least_after(s))) continue;
      if (s.left == lowest_) return at;
      all_from(s, [&](const state& next, std::size_t live, std::uint64_t cost, const step& how) {
        if (live > budget) return;
        const std::uint64_t then = !by_bytes ? now + cost : now > live ? now : live;
        const std::uint32_t to = number(next);
        if (to == none || then >= best_[to]) return;
        best_[to] = then;
        from_[to] = {at, how.moves, how.made};
        open.push({then + (by_bytes ? 0 : least_after(next)), to});
      });
    }
    return none;
  }

  const chain& c_;
  std::size_t n_;
  std::size_t lowest_;
  std::size_t tapes_ = 0;
  std::vector<std::uint32_t> tape_bit_;        // 0: the stage has no tape that is read
  std::vector<std::uint32_t> owing_{0};        // all possible `unread` sets
  std::vector<std::size_t> gradient_;          // bytes of each; 0 if it is borrowed, made in place of a borrowed one, or not made
  std::vector<std::size_t> windows_;           // bytes of the windows that are open before the backward below `left`
  std::vector<std::size_t> opened_;            // bytes of the windows that the backward of each stage opens
  std::vector<std::size_t> value_bytes_;       // of each set of values
  std::vector<std::size_t> tape_bytes_;        // of each set of tapes
  std::vector<std::uint32_t> wanted_values_;   // that the backwards below `left`, and the loss before it, read
  std::vector<std::uint32_t> wanted_tapes_;    // that the backwards below `left` read
  std::vector<std::uint64_t> least_cost_;      // of one forward of each stage of a set: bit i is stage i
  std::vector<std::uint32_t> stages_of_tapes_; // of each set of tapes
  std::vector<std::uint64_t> best_;
  std::vector<step> from_;
};

} // namespace cairn::testing
