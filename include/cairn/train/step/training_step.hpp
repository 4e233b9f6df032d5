// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include <cairn/comm/call_purpose.hpp>
#include <cairn/core/error.hpp>
#include <cairn/layer/loss_in_strips.hpp>
#include <cairn/net/execute.hpp>
#include <cairn/ops/copy/copy.hpp>
#include <cairn/plan/step/step_op.hpp>
#include <cairn/plan/step/step_walk.hpp>
#include <cairn/train/input_arrays.hpp>
#include <cairn/train/losses/taken_loss.hpp>
#include <cairn/train/ranks/rank_sums.hpp>
#include <cairn/train/settings.hpp>
#include <cairn/train/step/loss_scale_of_steps.hpp>
#include <cairn/train/step/step_rows.hpp>
#include <cairn/train/step/training.hpp>

// The steps of a trainer: forward, loss, backward, reduction over the ranks, update. What a user can call is in trainer.hpp.
namespace cairn::detail {

// The default watcher: runs each part of a step unchanged. A watcher is called before and after each op of a step, and may
// have the layers run by functions of its own. It is a parameter of the function that makes a step, so that a program without
// watchers has no instruction for them.
struct unwatched_step {
  struct at_work { // lives while the step is made
    explicit at_work(const unwatched_step&) {}
  };
  template <class T, class Queue>
  const program<T, Queue>& program_of(const program<T, Queue>& own, Queue&) const {
    return own;
  }
  template <class T, class Queue, class Reduction>
  void begin(const program<T, Queue>&, Queue&, const frame<T>&, const Reduction&) const {}
  void before(const step_op&) const {}
  void after(const step_op&) const {}
  template <class Communicator, class Queue>
  void end(Communicator&, Queue&) const {}
};

// Runs the ops of a micro-batch, each by the row of its kind. The last micro-batch of a step has all rows.
template <class Training, step_kind Kind, class Judge, class Watch>
class micro_batch_walk {
  using types = typename Training::types;
  using T = typename types::element;

public:
  micro_batch_walk(Training& t, frame<T>& lent, const Judge& judge, Watch& watch)
      : t_(t), lent_(lent), judge_(judge), at_(t.judged()), watch_(watch),
        tell_{.finished = {&finished, this}, .discarded = t.discarded},
        layers_(watch.program_of(t.code, t.compute()), t.compute(), lent), rest_(t) {
    lent.tell = &tell_;
    if constexpr (types::plan::head::in_strips) lent.strips = &strips_;
    t.walk = step_walk(t.template list<Kind>(), rows(), this);
  }
  void run() {
    [[maybe_unused]] const typename std::remove_const_t<Watch>::at_work here(watch_);
    watch_.begin(t_.code, t_.compute(), lent_, t_.gradients.on_the_way());
    t_.walk.run();
    watch_.end(t_.comm(), t_.compute());
  }

private:
  using self = micro_batch_walk;
  // A row. Count is called after Make, if that did not throw.
  template <void (self::*Make)(const step_op&), void (self::*Count)() = nullptr>
  static void row(void* me, const step_op& o) {
    auto& now = *static_cast<self*>(me);
    now.watch_.before(o);
    (now.*Make)(o);
    now.watch_.after(o);
    if constexpr (Count != nullptr) (now.*Count)();
  }
  static const std::array<step_row, step_op_kinds>& rows() {
    static constexpr std::array<step_row, step_op_kinds> all = [] {
      std::array<step_row, step_op_kinds> out{};
      for (step_row& r : out) r = &row<&self::nothing>;
      const auto at = [&out](step_op_kind kind) -> step_row& { return out[static_cast<std::size_t>(kind)]; };
      for (const auto kind : {step_op_kind::forward, step_op_kind::recompute, step_op_kind::backward, step_op_kind::discard})
        at(kind) = &row<&self::scheduled>;
      at(step_op_kind::loss) = &row<&self::loss, &self::count_micro_batch>;
      if constexpr (Kind == step_kind::step) {
        at(step_op_kind::facts) = &row<&self::facts>;
        at(step_op_kind::reduce) = &row<&self::reduce>;
        at(step_op_kind::wait) = &row<&self::wait>;
        at(step_op_kind::compare) = &row<&self::compare, &self::count_step>;
        if constexpr (!types::fused) {
          at(step_op_kind::norm) = &row<&self::norm>;
          at(step_op_kind::check) = &row<&self::check_gradients>;
          at(step_op_kind::clip) = &row<&self::clip_gradients>;
        }
        at(step_op_kind::update) = &row<&self::update>;
      }
      return out;
    }();
    return all;
  }

  void nothing(const step_op&) {} // inputs were taken; layers that sum over the ranks make these calls themselves
  static constexpr bool in_strips = types::plan::head::in_strips;
  void scheduled(const step_op& o) {
    layers_.run(o.index);
    if constexpr (in_strips) // the last layer's backward has made the loss
      if (o.kind == step_op_kind::backward && o.stage + 1 == types::plan::size) check_loss();
  }
  void loss(const step_op&) {
    const operands& at = t_.at_loss();
    const std::size_t rows = t_.counters.rows;
    keep_input_gradient_scale(t_);
    T *const output = t_.replica.elements_at(at.input), *const gradient = t_.replica.elements_at(at.output_gradient);
    if constexpr (in_strips) return copy(t_.compute(), rows * elements_before_head, gradient, static_cast<const T*>(output));
    else judge_(rows, output, gradient, at_);
    check_loss();
  }
  static void strip(const void* me, const typename loss_in_strips<T>::strip& of) {
    const auto& now = *static_cast<const self*>(me);
    if constexpr (in_strips && requires { now.judge_.strip(of, now.at_); }) now.judge_.strip(of, now.at_); // else an error
  }
  // In strips, the last layer's input in place of its output.
  static constexpr std::size_t elements_before_head = types::plan::values.input(types::plan::head::element)[0].size();
  void check_loss() {
    if constexpr (Judge::tells_loss)
      if (t_.options.check_loss) check(t_.loss_now());
  }
  void count_micro_batch() {
    ++t_.counters.micro_batches;
    t_.counters.is_scaled = false; // the gradients are new
  }
  void facts(const step_op&) { rest_.facts(t_.counters.micro_batches); }
  void reduce(const step_op& o) { rest_.reduce(o.index); }
  void wait(const step_op& o) { rest_.wait(o.index); }
  void compare(const step_op&) { rest_.compare(); }
  void count_step() { rest_.count(); }
  void norm(const step_op&) { rest_.norm(); }
  void check_gradients(const step_op&) { rest_.check(); }
  void clip_gradients(const step_op&) { rest_.clip_gradients(); }
  void update(const step_op& o) { rest_.update(o.index); }

  void check(double loss) {
    if (!std::isfinite(loss))
      throw error("trainer: expected a finite loss, found " + std::to_string(loss) + " on rank " +
                  std::to_string(t_.comm().rank()) + " at step " + std::to_string(t_.counters.steps + 1) +
                  "; lower the learning rate, clip the gradients, or look at the inputs");
  }
  static void finished(void* me, std::size_t end) { static_cast<self*>(me)->t_.walk.finished(end); }

  Training& t_;
  frame<T>& lent_;
  const Judge& judge_;
  const judged_at at_;
  Watch& watch_;
  const callbacks tell_;
  const loss_in_strips<T> strips_{&strip, this};
  executor<T, typename types::queue> layers_;
  step_rows<Training> rest_;
};

// Calls f(frame) with these inputs, everything that the network shares, and the layers' sums over the ranks.
template <class Training, step_inputs Inputs, class Write, class F>
void with_frame(Training& t, std::size_t rows, const Inputs& inputs, pass why, summed_run what, const Write& write, const F& f) {
  using types = typename Training::types;
  t.replica.with_inputs(rows, inputs, why, t.waiting(), write, [&](const frame<typename types::element>& given) {
    frame<typename types::element> lent = t.with_random(given);
    if constexpr (types::summed > 0) lent.sums = t.sums.begin(what);
    f(lent);
  });
}

// Makes a step whose last micro-batch these inputs are, or one more micro-batch of the next step, as Kind says.
// judge.rows(inputs) checks all arguments and returns the number of samples. judge(rows, output, gradient, at) puts ops on the
// queue that write the gradient of the output, and the loss. Output and gradient may be the same memory. judge.write(rows,
// bytes) copies the targets to where ops can read them, if ops cannot read the program's array, and returns their bytes.
template <step_kind Kind, class Training, step_inputs Inputs, class Judge, class Watch>
loss_of_step<typename Training::device_type> make_step(Training& t, const Inputs& inputs, const Judge& judge, Watch& watch) {
  using types = typename Training::types;
  constexpr bool is_last = Kind == step_kind::step;
  t.replica.expect_whole_step();
  const auto make = [&] {
    t.walk = {};
    t.counters.rows = judge.rows(inputs);
    if (is_last) check_number("trainer: expected a schedule's learning rate of 0 or more", t.learning_rate_now());
    t.begin_outcome();
    const auto write = [&](std::byte* to) { return judge.write(t.counters.rows, to); };
    const summed_run what = is_last ? summed_run::last_micro_batch : summed_run::micro_batch;
    with_frame(t, t.counters.rows, inputs, pass::forward, what, write, [&](auto& lent) {
      lent.gradients = &t.gradients.place();
      if (t.counters.micro_batches > 0) lent.accumulation = reinterpret_cast<typename types::sum*>(t.accumulation.data());
      if constexpr (types::plan::gives_input_gradient)
        lent.input_gradients = {t.input_gradient.data(), t.code.gradient_at[0].data(), t.code.gradients[0]};
      micro_batch_walk<Training, Kind, Judge, Watch>(t, lent, judge, watch).run();
    });
    return t.told();
  };
  const auto guarded = [&] { return t.guard.run(t.counters.steps + 1, make, [&t] { return t.left(); }, [&t] { t.abandon(); }); };
  if constexpr (is_last) {
    const calls_for now(t.comm(), {.word = "step", .number = t.counters.steps + 1});
    return guarded();
  } else {
    return guarded();
  }
}
// The forward pass alone, as the next micro-batch makes it.
template <class Training, step_inputs Inputs>
void run_forward_alone(Training& t, std::size_t rows, const Inputs& inputs) {
  using types = typename Training::types;
  t.replica.expect_whole_step();
  const auto run = [&] {
    t.walk = {};
    with_frame(
        t, rows, inputs, pass::recompute, summed_run::forward_alone, [](std::byte*) { return std::size_t{0}; },
        [&t](auto& lent) {
          using executor_type = executor<typename types::element, typename types::queue>;
          static constexpr std::array<step_row, step_op_kinds> rows_of_forward = [] {
            std::array<step_row, step_op_kinds> out{};
            for (step_row& r : out)
              r = [](void* layers, const step_op& o) {
                if (o.is_scheduled()) static_cast<executor_type*>(layers)->run(o.index);
              };
            return out;
          }();
          executor_type layers(t.code, t.compute(), lent);
          t.walk = step_walk(t.template list<step_kind::forward_alone>(), rows_of_forward, &layers);
          t.walk.run();
        });
    return true;
  };
  if constexpr (types::summed > 0) t.guard.run(t.counters.steps + 1, run, [&t] { return t.left(); }, [&t] { t.abandon(); });
  else run();
}

} // namespace cairn::detail
