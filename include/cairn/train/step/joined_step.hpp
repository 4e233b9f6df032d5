// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include <cairn/comm/call_purpose.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/error.hpp>
#include <cairn/ops/elementwise/elementwise.hpp>
#include <cairn/plan/step/left_behind.hpp>
#include <cairn/plan/step/step_op.hpp>
#include <cairn/plan/step/step_walk.hpp>
#include <cairn/train/ranks/handshake.hpp>
#include <cairn/train/ranks/rank_sums.hpp>
#include <cairn/train/ranks/step_facts.hpp>
#include <cairn/train/settings.hpp>
#include <cairn/train/step/step_rows.hpp>
#include <cairn/train/step/training.hpp>

namespace cairn::detail {

// -0.0, the neutral element of addition: adding +0.0 would turn -0.0 into +0.0.
struct nothing_to_add {
  template <class Number>
  CAIRN_HOST_DEVICE Number operator()(Number) const {
    return static_cast<Number>(-0.0);
  }
};

// The steps of other ranks on a rank that has no samples left: trainer::join(). It makes the same calls of the communicator as
// they do. Its step facts say 0 micro-batches. The loop ends when all ranks say so.
template <class Training>
class joined_walk {
  using types = typename Training::types;
  using sum = typename types::sum;
  using facts_type = typename types::facts;
  static constexpr bool fused = types::fused;

public:
  explicit joined_walk(Training& t) : t_(t), rest_(t) {}

  // Runs one step. Whether the others make a step is known before more than the first bucket is sent. If not, all ranks have
  // joined: nothing is updated, and it returns false on all ranks.
  bool run() {
    is_step_ = join_micro_batches();
    if constexpr (types::summed > 0)
      if (is_step_) t_.sums.begin_join_backward();
    t_.walk = step_walk(t_.template list<step_kind::joined>(), rows(), this);
    t_.walk.run();
    return makes_step_;
  }

private:
  using self = joined_walk;
  template <void (self::*Make)(const step_op&), void (self::*Count)() = nullptr>
  static void row(void* me, const step_op& o) {
    (static_cast<self*>(me)->*Make)(o);
    if constexpr (Count != nullptr) (static_cast<self*>(me)->*Count)();
  }
  static const std::array<step_row, step_op_kinds>& rows() {
    static constexpr std::array<step_row, step_op_kinds> all = [] {
      std::array<step_row, step_op_kinds> out{};
      const auto at = [&out](step_op_kind kind) -> step_row& { return out[static_cast<std::size_t>(kind)]; };
      at(step_op_kind::facts) = &row<&self::facts>;
      at(step_op_kind::find) = &row<&self::find>;
      at(step_op_kind::statistics) = &row<&self::statistics>;
      at(step_op_kind::reduce) = &row<&self::reduce>;
      at(step_op_kind::wait) = &row<&self::wait>;
      at(step_op_kind::compare) = &row<&self::compare, &self::count_step>;
      if constexpr (!fused) {
        at(step_op_kind::norm) = &row<&self::norm>;
        at(step_op_kind::check) = &row<&self::check_gradients>;
        at(step_op_kind::clip) = &row<&self::clip_gradients>;
      }
      at(step_op_kind::update) = &row<&self::update>;
      return out;
    }();
    return all;
  }

  // Makes the calls of layers that sum over the ranks, which come before there are gradients: those of the others'
  // micro-batches up to the backward of the last, and then returns true. Returns false if no rank has samples, or if there are
  // no such layers or no other ranks.
  bool join_micro_batches() {
    if constexpr (types::summed > 0) {
      if (t_.ranks.count() < 2) return false;
      while (true) {
        const summed_run found = t_.sums.join_forward(t_.waiting());
        if (found == summed_run::last_micro_batch) return true;
        if (found == summed_run::nothing) return false;
        if (found == summed_run::micro_batch) join_backward_of_all();
      }
    } else return false;
  }
  void join_backward_of_all() {
    t_.sums.begin_join_backward();
    for (const step_op& o : t_.template list<step_kind::joined>())
      if (o.kind == step_op_kind::statistics) t_.sums.join_backward(o.index);
  }

  void facts(const step_op&) {
    rest_.facts(0);
    if constexpr (!fused) add_nothing(t_.gradients.all());
  }
  void find(const step_op&) {
    const std::span<const sum> all = facts_now();
    const ranks_with_samples others = facts_type::samples_of(all, t_.ranks.count());
    rest_.take_micro_batches(others.micro_batches);
    if (others.count > 0) return;
    end_of_all(all);
    makes_step_ = false;
    t_.walk.stop();
  }
  void statistics([[maybe_unused]] const step_op& o) {
    if constexpr (types::summed > 0)
      if (is_step_) t_.sums.join_backward(o.index);
  }
  void reduce(const step_op& o) {
    if constexpr (fused) add_nothing(t_.gradients.on_the_way().span_of(o.index));
    rest_.reduce(o.index);
  }
  void wait(const step_op& o) { rest_.wait(o.index); }
  void compare(const step_op&) { rest_.compare(); }
  void count_step() { rest_.count(); }
  void norm(const step_op&) { rest_.norm(); }
  void check_gradients(const step_op&) { rest_.check(); }
  void clip_gradients(const step_op&) { rest_.clip_gradients(); }
  void update(const step_op& o) { rest_.update(o.index); }

  // The facts of all ranks about this step, where the host can read them.
  std::span<const sum> facts_now() {
    auto& gradients = t_.gradients.on_the_way();
    gradients.wait_for_facts(t_.compute());
    auto& o = t_.outcomes.latest();
    t_.outcomes.fetch_facts(t_.compute(), o, gradients.facts().data());
    t_.waiting()(t_.compute().record());
    return t_.outcomes.facts(o);
  }
  void add_nothing(std::span<sum> gradients) {
    elementwise(t_.compute(), gradients.size(), nothing_to_add{}, gradients.data(), static_cast<const sum*>(gradients.data()));
  }

  // Ends the loop when no rank has samples. Buffers of layers, such as running means, count on rank 0. If some rank was
  // finished before others, all ranks take those of the lowest rank that had samples in the last step, as torch's Join takes
  // those of a rank that joined last.
  void end_of_all(std::span<const sum> all) {
    t_.wait_for_all(); // for the facts of the last step
    auto& c = t_.counters;
    const ranks_with_samples last = c.last_samples;
    const bool stopped = c.stops;
    t_.learn(all);
    c.stops = c.stops || stopped; // a request in the last step remains
    c.tells_stop = false;
    c.last_samples = {};
    if (types::plan::state_block == 0 || last.count == 0 || last.count == t_.ranks.count()) return;
    t_.replica.changed();
    broadcast(t_.comm(), t_.compute(), std::as_writable_bytes(t_.replica.buffers()), static_cast<int>(last.first));
  }

  Training& t_;
  step_rows<Training> rest_;
  bool is_step_ = false;   // the others have samples, as their statistics say
  bool makes_step_ = true; // as their facts say
};

// Takes part in a step of the other ranks on a rank without samples, with gradients that add nothing to theirs. If no rank has
// samples there is no step, and it returns false on all ranks. It waits for the others on every device.
template <class Training>
bool take_part([[maybe_unused]] Training& t) {
  if constexpr (!Training::types::distribution::distributed) return false;
  else {
    if (!t.gradients.on_the_way().compares()) return false; // one rank, or no gradients: there is nothing to take part in
    const calls_for now(t.comm(), {.word = "join, step", .number = t.counters.steps + 1});
    bool has_begun = false; // from then on the others see it
    const auto run = [&] {
      t.walk = {};
      check_number("trainer: expected a schedule's learning rate of 0 or more", t.learning_rate_now());
      t.begin_outcome();
      t.counters.is_scaled = false;
      has_begun = true;
      const bool makes_step = joined_walk<Training>(t).run();
      if (makes_step) t.told();
      return makes_step;
    };
    const auto left = [&] {
      left_behind found = t.left();
      found.gradients = found.is_final = has_begun;
      return found;
    };
    return t.guard.run(t.counters.steps + 1, run, left, [&t] { t.abandon(); });
  }
}

// Takes part in the steps of the others until all ranks have joined. Returns how many steps there were.
template <class Training>
std::uint64_t join_others(Training& t) {
  if (t.counters.micro_batches > 0)
    throw input_error("trainer::join: expected no micro-batches since the last step, found " +
                      std::to_string(t.counters.micro_batches) + "; make a step of them, or call drop_micro_batches()");
  const std::uint64_t before = t.counters.steps;
  while (take_part(t)) {
  }
  return t.counters.steps - before;
}

} // namespace cairn::detail
