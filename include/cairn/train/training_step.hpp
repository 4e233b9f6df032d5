// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

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
#include <cairn/plan/buckets.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/input_arrays.hpp>
#include <cairn/train/settings.hpp>
#include <cairn/train/step_facts.hpp>
#include <cairn/train/step_loss.hpp>
#include <cairn/train/taken_loss.hpp>
#include <cairn/train/trained_replica.hpp>

namespace cairn::detail {

// How the parts of a step are made where nothing watches it: as they are. What watches a step has the same four members and
// makes each part itself (report/step_watch.hpp makes it op by op). It is a parameter of the function that makes a step, so
// that a program in which nothing is watched has no instruction for it.
struct unwatched_step {
  template <class T, class Queue, class Reduction>
  void forward(const program<T, Queue>& p, Queue& queue, const frame<T>& lent, Reduction&) const {
    run_forward(p, queue, lent);
  }
  template <class Judge>
  double loss(const Judge& judge) const {
    return judge();
  }
  template <class T, class Queue>
  void backward(const program<T, Queue>& p, Queue& queue, const frame<T>& lent) const {
    run_backward(p, queue, lent);
  }
  template <class Update, class Communicator, class Queue, class Reduction>
  void update(const Update& update, Communicator&, Queue&, Reduction&) const {
    update();
  }
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
    return guard_.run(
        steps_ + 1,
        [&] {
          const double loss = micro_batch(inputs, judge, true, watch);
          watch.update([this] { update(); }, comm(), compute(), gradients_.on_the_way());
          return this->told(loss);
        },
        [this] { abandon(); });
  }
  template <step_inputs Inputs, class Judge>
  loss_of_step<Device> take_micro_batch(const Inputs& inputs, const Judge& judge) {
    if constexpr (!is_apart) // where it waits for nothing, memory that few programs need is allocated when it is needed
      if (accumulation_.size() == 0) accumulation_ = replica_.device().allocate(accumulation_bytes);
    return guard_.run(
        steps_ + 1, [&] { return this->told(micro_batch(inputs, judge, false, unwatched)); }, [this] { abandon(); });
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
            run_forward(code_, compute(), lent);
          });
      return true;
    };
    if constexpr (summed > 0) guard_.run(steps_ + 1, run, [this] { abandon(); });
    else run();
  }

private:
  template <step_inputs Inputs, class Judge, class Watch>
  double micro_batch(const Inputs& inputs, const Judge& judge, bool is_last, Watch& watch) {
    rows_ = judge.rows(inputs);
    if (is_last) check_number("trainer: expected a schedule's learning rate of 0 or more", learning_rate_now());
    this->begin_outcome();
    const auto write = [&](std::byte* to) {
      judge.write(rows_, to);
      if (is_last && gradients_.on_the_way().compares()) write_facts(to + target_bytes, micro_batches_ + 1);
    };
    return replica_.with_inputs(rows_, inputs, pass::forward, waiting(), write, [&](const frame<T>& lent) {
      double loss = 0;
      return on_device(this->with_random(lent), this->judged(loss), judge, is_last, watch);
    });
  }

  // Everything of a micro-batch that is put on the queue, up to the update.
  template <class Judge, class Watch>
  double on_device(frame<T> lent, const judged_at& at, const Judge& judge, bool is_last, Watch& watch) {
    const callbacks tell{.finished = {&finished, this}, .discarded = discarded_};
    lent.gradients = &gradients_.place();
    lent.accumulation = micro_batches_ > 0 ? reinterpret_cast<sum*>(accumulation_.data()) : nullptr;
    lent.tell = &tell;
    if constexpr (summed > 0) {
      lent.sums = sums_.begin(is_last ? summed_run::last_micro_batch : summed_run::micro_batch);
      guard_.enter(lent.sums != nullptr); // the other ranks see this step from its first sums on
    }
    if constexpr (plan::gives_input_gradient)
      lent.input_gradients = {input_gradient_.data(), code_.gradient_at[0].data(), code_.gradients[0]};
    watch.forward(code_, compute(), lent, gradients_.on_the_way());
    const double loss = watch.loss([&] {
      judge(rows_, replica_.elements_at(this->at_loss().input), replica_.elements_at(this->at_loss().output_gradient), at);
      return options_.check_loss || !is_apart ? this->loss_now(at) : 0;
    });
    if (options_.check_loss && !std::isfinite(loss))
      throw error("trainer: expected a finite loss, found " + std::to_string(loss) + " on rank " + std::to_string(comm().rank()) +
                  " at step " + std::to_string(steps_ + 1) +
                  "; lower the learning rate, clip the gradients, or look at the inputs");
    reducing_ = is_last;
    ++micro_batches_;
    begin_scale();
    guard_.enter(lent.sums != nullptr || (is_last && (fused || distribution::distributed)));
    if (is_last) begin_reduction();
    if constexpr (fused) begin_updates();
    watch.backward(code_, compute(), lent);
    return loss;
  }

protected:
  // What a step of a rank without samples is made of too: see joined_step.hpp.
  bool compares_parameters() const {
    return gradients_.has_facts() && options_.check_every > 0 && steps_ % options_.check_every == 0;
  }
  step_facts facts(std::size_t micro_batches) {
    return {.steps = steps_,
            .micro_batches = micro_batches,
            .learning_rate = learning_rate_now(),
            .settings = settings_,
            .asks_to_stop = wants_to_stop_};
  }
  void begin_reduction() {
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

  // Called by the executor when the gradients below `end` are complete: buckets leave.
  static void finished(void* self, std::size_t end) {
    auto* const me = static_cast<training_step*>(self);
    if constexpr (fused) me->use_finished(end);
    else if (me->reducing_ && distribution::options::overlaps) me->gradients_.on_the_way().send(me->comm(), me->compute(), end);
  }

  // A fused update: gradients are written where the bucket is of which they are part. When it is complete it leaves, and
  // the one that has been on its way for long enough comes back and is used.
  void begin_updates() {
    updated_ = 0;
    gradients_.go_to_bucket(0);
  }
  void use_finished(std::size_t end) {
    const std::size_t before = gradients_.on_the_way().left();
    if (before == 0 && buckets.size() > 0 && end >= buckets[0].end) begin_update();
    gradients_.on_the_way().send(comm(), compute(), end);
    if (gradients_.on_the_way().left() == before) return; // a layer inside a bucket
    while (updated_ + distribution::update::in_flight <= gradients_.on_the_way().left()) use_bucket(updated_++);
    gradients_.go_to_bucket(gradients_.on_the_way().left());
  }
  void use_bucket(std::size_t b) {
    gradients_.on_the_way().wait(compute(), b);
    update_bucket(b, mean_.here, mean_.there);
    const auto used = std::as_writable_bytes(gradients_.on_the_way().span_of(b));
    discarded_(used.data(), used.size());
  }

  // When nothing but the facts of the step is on its way, or all is back: what the ranks differ in they all see, and can set
  // right.
  void begin_update() {
    last_micro_batches_ = micro_batches_;
    micro_batches_ = 0;
    guard_.leave();
    if constexpr (is_apart) { // what was found is known when the step is over: see settle()
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
  // Gradients are being made anew: nothing makes a mean of them yet.
  void begin_scale() {
    applied_scale_ = 1;
    is_scale_late_ = false;
  }

  // When everything has arrived: what fails on the way leaves no parameter updated.
  void update()
    requires(!fused)
  {
    auto& q = compute();
    gradients_.on_the_way().send(comm(), q, plan::parameter_block);
    gradients_.on_the_way().wait(q);
    begin_update();
    double scale = mean_.here;
    const double* factor = mean_.there;
    if (max_norm() > 0) {
      double squares = 0;
      if constexpr (is_apart) {
        auto& o = outcomes_.latest();
        squared_norm(q, &o.numbers()->squares, gradients_.all().data(), plan::parameter_block);
        clip(q, &o.numbers()->factor, &o.numbers()->squares, scale, max_norm(), mean_.there);
        factor = &o.numbers()->factor;
        o.has_norm = true;
        is_scale_late_ = true;
      } else {
        squared_norm(q, &squares, gradients_.all().data(), plan::parameter_block);
        gradient_norm_ = std::sqrt(squares) * scale;
        scale *= options_.clip.scale(gradient_norm_);
      }
    }
    for (std::size_t b = 0; b != buckets.size(); ++b) update_bucket(b, scale, factor);
    applied_scale_ = scale;
  }
  void update()
    requires(fused)
  { // what is still on its way at the end
    if (buckets.size() == 0) begin_update();
    while (updated_ < buckets.size()) use_bucket(updated_++);
    guard_.leave();
  }

  void update_bucket(std::size_t b, double scale, const double* factor) {
    updates_.apply(compute(), {scale, factor, learning_rate_, steps_}, replica_.parameters().data(),
                   gradients_.on_the_way().span_of(b).data(), buckets[b].begin, buckets[b].end);
  }

private:
  applied_mean mean_{};     // of this step
  std::size_t updated_ = 0; // buckets of this step, if the update is fused
  bool reducing_ = false;
};

} // namespace cairn::detail
