// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/tensors.hpp>
#include <cairn/data/checksum.hpp>
#include <cairn/net/execute.hpp>
#include <cairn/ops/checksum/checksum.hpp>
#include <cairn/ops/clip/clip.hpp>
#include <cairn/ops/copy/copy.hpp>
#include <cairn/ops/mean_factor/mean_factor.hpp>
#include <cairn/ops/squared_norm/squared_norm.hpp>
#include <cairn/plan/step/step_op.hpp>
#include <cairn/plan/step/step_walk.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/input_arrays.hpp>
#include <cairn/train/losses/taken_loss.hpp>
#include <cairn/train/ranks/step_facts.hpp>
#include <cairn/train/settings.hpp>
#include <cairn/train/step/step_loss.hpp>
#include <cairn/train/step/trained_replica.hpp>

namespace cairn::detail {

// What watches a step is told before and after each of its ops, and may have the layers run by functions of its own. It is a
// parameter of the function that makes a step, so that a program in which nothing is watched has no instruction for it.
struct unwatched_step {
  struct at_work { // as long as the step is made
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

// How a trainer makes its steps: forward, what judges the output, backward, reduction over the ranks, update. What a user may
// ask for is in trainer.hpp.
template <class Model, class Loss, class Optimizer, class Batch, class T, class Device>
class training_step : public trained_replica<Model, Loss, Optimizer, Batch, T, Device> {
  using base = trained_replica<Model, Loss, Optimizer, Batch, T, Device>;
  using distribution = replica<Model>;

public:
  using base::buckets, base::fused, base::is_apart;
  using typename base::plan;

protected:
  using base::base;
  friend struct replica_access;
  using base::accumulation_, base::applied_scale_, base::code_, base::discarded_, base::gradient_norm_, base::gradients_;
  using base::accumulation_bytes, base::comm, base::compute, base::learning_rate_now, base::max_norm;
  using base::guard_, base::input_gradient_, base::is_scale_late_, base::last_micro_batches_, base::last_samples_;
  using base::learning_rate_;
  using base::micro_batches_, base::options_, base::outcomes_, base::replica_, base::rows_, base::settings_, base::steps_;
  using base::stops_, base::summed, base::sums_, base::updates_, base::wants_to_stop_;
  using base::target_bytes, base::waiting;
  using typename base::communicator_type;
  using typename base::sum;

  static constexpr unwatched_step unwatched{};

  // One step whose last micro-batch these inputs are. judge.rows(inputs) checks all that is given and says how many samples
  // it is; judge(rows, output, gradient, at) puts on the queue what writes the gradient of the output, and the loss. The two may
  // be the same memory. judge.write(bytes) is asked for the targets where ops cannot read them from where they are.
  template <step_inputs Inputs, class Judge, class Watch = const unwatched_step>
  loss_of_step<Device> take_step(const Inputs& inputs, const Judge& judge, Watch& watch = unwatched) {
    replica_.expect_whole_step();
    const calls_for now(comm(), {.word = "step", .number = steps_ + 1});
    return guard_.run(
        steps_ + 1,
        [&] {
          const double loss = micro_batch<step_kind::step>(inputs, judge, watch);
          if constexpr (!fused) set_applied_scale();
          return this->told(loss);
        },
        [this] { abandon(); });
  }
  template <step_inputs Inputs, class Judge>
  loss_of_step<Device> take_micro_batch(const Inputs& inputs, const Judge& judge) {
    replica_.expect_whole_step();
    if constexpr (!is_apart) // where it waits for nothing, memory that few programs need is allocated when it is needed
      if (accumulation_.size() == 0) accumulation_ = replica_.device().allocate(accumulation_bytes);
    return guard_.run(
        steps_ + 1, [&] { return this->told(micro_batch<step_kind::micro_batch>(inputs, judge, unwatched)); },
        [this] { abandon(); });
  }
  // The forward pass alone, as the next micro-batch makes it.
  template <step_inputs Inputs>
  void run_forward_alone(std::size_t rows, const Inputs& inputs) {
    const auto run = [&] {
      replica_.with_inputs(
          rows, inputs, pass::recompute, waiting(), [](std::byte*) {},
          [this](const frame<T>& given) {
            frame<T> lent = this->with_random(given);
            if constexpr (summed > 0) {
              lent.sums = sums_.begin(summed_run::forward_alone);
              guard_.enter(lent.sums != nullptr);
            }
            executor<T, typename Device::queue> ops(code_, compute(), lent);
            for (const step_op& o : this->template list<step_kind::forward_alone>())
              if (o.is_scheduled()) ops.run(o.index);
          });
      return true;
    };
    if constexpr (summed > 0) guard_.run(steps_ + 1, run, [this] { abandon(); });
    else run();
  }

private:
  template <step_kind Kind, step_inputs Inputs, class Judge, class Watch>
  double micro_batch(const Inputs& inputs, const Judge& judge, Watch& watch) {
    constexpr bool is_last = Kind == step_kind::step;
    rows_ = judge.rows(inputs);
    if (is_last) check_number("trainer: expected a schedule's learning rate of 0 or more", learning_rate_now());
    this->begin_outcome();
    const auto write = [&](std::byte* to) {
      judge.write(rows_, to);
      if (is_last && gradients_.on_the_way().compares()) write_facts(to + target_bytes, micro_batches_ + 1);
    };
    return replica_.with_inputs(rows_, inputs, pass::forward, waiting(), write, [&](const frame<T>& given) {
      double loss = 0;
      frame<T> lent = this->with_random(given);
      lent.gradients = &gradients_.place();
      lent.accumulation = micro_batches_ > 0 ? reinterpret_cast<sum*>(accumulation_.data()) : nullptr;
      if constexpr (summed > 0) {
        lent.sums = sums_.begin(is_last ? summed_run::last_micro_batch : summed_run::micro_batch);
        guard_.enter(lent.sums != nullptr); // the other ranks see this step from its first sums on
      }
      if constexpr (plan::gives_input_gradient)
        lent.input_gradients = {input_gradient_.data(), code_.gradient_at[0].data(), code_.gradients[0]};
      running<Kind, Judge, Watch> now(*this, lent, judge, this->judged(loss), watch);
      return now.run();
    });
  }

  // The ops of a micro-batch, each by the row of its kind.
  template <step_kind Kind, class Judge, class Watch>
  class running {
  public:
    running(training_step& me, frame<T>& lent, const Judge& judge, const judged_at& at, Watch& watch)
        : me_(me), lent_(lent), judge_(judge), at_(at), watch_(watch),
          tell_{.finished = {&finished, this}, .discarded = me.discarded_},
          ops_(watch.program_of(me.code_, me.compute()), me.compute(), lent), walk_(me.template list<Kind>(), rows(), this) {
      lent.tell = &tell_;
    }
    double run() {
      [[maybe_unused]] const typename std::remove_const_t<Watch>::at_work here(watch_);
      watch_.begin(me_.code_, me_.compute(), lent_, me_.gradients_.on_the_way());
      walk_.run();
      watch_.end(me_.comm(), me_.compute());
      return loss_;
    }

  private:
    template <void (running::*Make)(const step_op&)>
    static void row(void* self, const step_op& o) {
      auto& now = *static_cast<running*>(self);
      now.watch_.before(o);
      (now.*Make)(o);
      now.watch_.after(o);
    }
    template <void (training_step::*Make)(std::size_t)>
    void of_trainer(const step_op& o) {
      (me_.*Make)(o.index);
    }
    static const std::array<step_row, step_op_kinds>& rows() {
      static constexpr std::array<step_row, step_op_kinds> all = [] {
        std::array<step_row, step_op_kinds> out{};
        for (step_row& r : out) r = &row<&running::nothing>;
        const auto at = [&out](step_op_kind kind) -> step_row& { return out[static_cast<std::size_t>(kind)]; };
        for (const auto kind : {step_op_kind::forward, step_op_kind::recompute, step_op_kind::backward, step_op_kind::discard})
          at(kind) = &row<&running::scheduled>;
        at(step_op_kind::loss) = &row<&running::loss>;
        if constexpr (Kind == step_kind::step) {
          at(step_op_kind::facts) = &row<&running::template of_trainer<&training_step::begin_reduction>>;
          at(step_op_kind::reduce) = &row<&running::template of_trainer<&training_step::reduce>>;
          at(step_op_kind::wait) = &row<&running::template of_trainer<&training_step::wait>>;
          at(step_op_kind::compare) = &row<&running::template of_trainer<&training_step::begin_update>>;
          if constexpr (!fused) {
            at(step_op_kind::norm) = &row<&running::template of_trainer<&training_step::norm>>;
            at(step_op_kind::clip) = &row<&running::template of_trainer<&training_step::clip_gradients>>;
          }
          at(step_op_kind::update) = &row<&running::template of_trainer<&training_step::update>>;
        }
        return out;
      }();
      return all;
    }

    void scheduled(const step_op& o) { ops_.run(o.index); }
    void nothing(const step_op&) {} // inputs were taken; a layer that sums over the ranks asks for it itself
    void loss(const step_op&) {
      judge_(me_.rows_, me_.replica_.elements_at(me_.at_loss().input), me_.replica_.elements_at(me_.at_loss().output_gradient),
             at_);
      loss_ = me_.options_.check_loss || !is_apart ? me_.loss_now(at_) : 0;
      me_.check(loss_);
      ++me_.micro_batches_;
      me_.begin_scale();
      me_.guard_.enter(lent_.sums != nullptr || (Kind == step_kind::step && (fused || distribution::distributed)));
    }
    static void finished(void* self, std::size_t end) { static_cast<running*>(self)->walk_.finished(end); }

    training_step& me_;
    frame<T>& lent_;
    const Judge& judge_;
    const judged_at at_;
    Watch& watch_;
    const callbacks tell_;
    executor<T, typename Device::queue> ops_;
    step_walk walk_;
    double loss_ = 0;
  };
  void check(double loss) {
    const auto& ranks = comm();
    if (options_.check_loss && !std::isfinite(loss))
      throw error("trainer: expected a finite loss, found " + std::to_string(loss) + " on rank " + std::to_string(ranks.rank()) +
                  " at step " + std::to_string(steps_ + 1) +
                  "; lower the learning rate, clip the gradients, or look at the inputs");
  }

protected:
  // What a step of a rank without samples is made of too: see joined_step.hpp.
  // Every so many steps, and before the first of these at steps 1, 2, 4, …: ranks that round differently, as other builds of the
  // program do, part soon.
  bool compares_parameters() const {
    const std::uint64_t every = options_.check_every;
    return gradients_.has_facts() && every > 0 && (steps_ % every == 0 || (steps_ < every && std::has_single_bit(steps_)));
  }
  step_facts facts(std::size_t micro_batches) {
    return {.steps = steps_,
            .micro_batches = micro_batches,
            .learning_rate = learning_rate_now(),
            .settings = settings_,
            .asks_to_stop = wants_to_stop_};
  }
  // Rows of the list: the facts of this rank's step, and where its gradients go.
  void begin_reduction(std::size_t) {
    auto& gradients = gradients_.on_the_way();
    if constexpr (!is_apart) {
      step_facts own = facts(micro_batches_);
      if (compares_parameters()) own.parameters = quick_checksum(std::as_bytes(replica_.parameters()));
      gradients.begin(comm(), compute(), own);
    } else {
      if (gradients.compares()) {
        const std::span<sum> all = gradients.facts();
        if (micro_batches_ > 0) // else they are there already
          copy(compute(), all.size(), all.data(), reinterpret_cast<const sum*>(replica_.behind_inputs() + target_bytes));
        if (compares_parameters())
          checksum(compute(), all.data() + facts_of_ranks<sum>::place_of_parameters(static_cast<std::size_t>(comm().rank())),
                   static_cast<const sum*>(replica_.parameters().data()), plan::parameter_block);
        outcomes_.latest().has_facts = true;
      }
      gradients.begin(comm(), compute());
    }
    if constexpr (fused) gradients_.go_to_bucket(0);
  }
  void write_facts(std::byte* to, std::size_t micro_batches) {
    facts_of_ranks<sum>::write({reinterpret_cast<sum*>(to), gradients_.on_the_way().facts().size()},
                               static_cast<std::size_t>(comm().rank()), facts(micro_batches));
    wants_to_stop_ = false; // this step carries it
  }

  // While an exception passes that came after the first gradients.
  void abandon() {
    gradients_.on_the_way().abandon();
    micro_batches_ = 0;
  }

  // The next bucket leaves. Of a fused update the gradients of the one after it are written where that one lies.
  void reduce(std::size_t b) {
    gradients_.on_the_way().send_next(comm(), compute());
    if constexpr (fused) gradients_.go_to_bucket(b + 1);
  }
  void wait(std::size_t b) { gradients_.on_the_way().wait(compute(), b); }

  // When nothing but the facts of the step is on its way, or all is back: what the ranks differ in they all see, and can set
  // right.
  void begin_update(std::size_t) {
    this->micro_batches_before_ = last_micro_batches_;
    last_micro_batches_ = micro_batches_;
    micro_batches_ = 0;
    guard_.leave();
    if constexpr (is_apart) { // what was found is known when the step is over: see settle()
      if (!gradients_.on_the_way().compares()) stops_ = std::exchange(wants_to_stop_, false); // no rank but this can ask
      take_micro_batches();
      mean_ = mean_on_device();
    } else {
      gradients_.on_the_way().compare(comm(), compute());
      last_samples_ = gradients_.on_the_way().samples();
      take_micro_batches();
      mean_ = {mean_over(last_samples_.count)};
      stops_ = gradients_.on_the_way().asks_to_stop();
      if (stops_) wants_to_stop_ = false;
    }
    guard_.enter(true);
    learning_rate_ = learning_rate_now();
    ++steps_;
  }

  // What makes a mean of the sum over micro-batches and ranks with samples. Of several ranks whose device's work is done later
  // the host does not know how many have some: an op counts them in the facts, and the update finds the mean there.
  struct applied_mean {
    double here = 1;
    const double* there = nullptr;
  };
  double mean_over(std::size_t ranks) const {
    return 1.0 / (static_cast<double>(last_micro_batches_) * static_cast<double>(ranks));
  }
  void take_micro_batches() { // a rank that has none has seen those of the others
    if (last_micro_batches_ == 0) last_micro_batches_ = static_cast<std::size_t>(gradients_.on_the_way().samples().micro_batches);
  }
  applied_mean mean_on_device() {
    auto& gradients = gradients_.on_the_way();
    auto& o = outcomes_.latest();
    const auto ranks = static_cast<std::size_t>(comm().size());
    if (!gradients.compares()) return {o.scale = mean_over(ranks)};
    gradients.wait_for_facts(compute());
    mean_factor(compute(), &o.numbers()->mean, static_cast<double>(last_micro_batches_), ranks,
                static_cast<const sum*>(gradients.facts().data() + facts_of_ranks<sum>::place_of_micro_batches),
                facts_of_ranks<sum>::each);
    o.has_mean = is_scale_late_ = true;
    return {1, &o.numbers()->mean};
  }
  void set_applied_scale() { applied_scale_ = mean_.here; }
  // Gradients are being made anew: nothing makes a mean of them yet.
  void begin_scale() {
    applied_scale_ = 1;
    is_scale_late_ = false;
  }

  void norm(std::size_t) {
    if (max_norm() == 0) return;
    double* to = &squares_;
    if constexpr (is_apart) to = &outcomes_.latest().numbers()->squares;
    squared_norm(compute(), to, gradients_.all().data(), plan::parameter_block);
  }
  void clip_gradients(std::size_t) {
    if (max_norm() == 0) return;
    if constexpr (is_apart) {
      auto& o = outcomes_.latest();
      clip(compute(), &o.numbers()->factor, &o.numbers()->squares, mean_.here, max_norm(), mean_.there);
      mean_.there = &o.numbers()->factor;
      o.has_norm = is_scale_late_ = true;
    } else {
      gradient_norm_ = std::sqrt(squares_) * mean_.here;
      mean_.here *= options_.clip.scale(gradient_norm_);
    }
  }
  void update(std::size_t b) {
    const std::span<sum> gradients = gradients_.on_the_way().span_of(b);
    updates_.apply(compute(), {mean_.here, mean_.there, learning_rate_, steps_}, replica_.parameters().data(), gradients.data(),
                   buckets[b].begin, buckets[b].end);
    if constexpr (fused) discarded_(reinterpret_cast<std::byte*>(gradients.data()), gradients.size_bytes());
  }

private:
  applied_mean mean_{}; // of this step, clipped
  double squares_ = 0;  // of its gradients
};

} // namespace cairn::detail
