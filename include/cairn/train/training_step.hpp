// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include <cairn/comm/exchange.hpp>
#include <cairn/comm/loopback.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/tensors.hpp>
#include <cairn/core/view.hpp>
#include <cairn/data/checksum.hpp>
#include <cairn/net/blueprint.hpp>
#include <cairn/net/execute.hpp>
#include <cairn/net/solved_step.hpp>
#include <cairn/ops/cpu.hpp>
#include <cairn/plan/buckets.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/handshake.hpp>
#include <cairn/train/input_arrays.hpp>
#include <cairn/train/rank_texts.hpp>
#include <cairn/train/replica_owner.hpp>
#include <cairn/train/settings.hpp>
#include <cairn/train/step_facts.hpp>
#include <cairn/train/step_gradients.hpp>
#include <cairn/train/step_guard.hpp>
#include <cairn/train/training_options.hpp>
#include <cairn/train/updates.hpp>

namespace cairn::detail {

template <class Model, class Batch, class T, class Device>
using trained_replica =
    replica_owner<blueprint_of<typename replica<Model>::model, Batch::size, T, typename replica<Model>::update>,
                  typename replica<Model>::model, T, Device, true>;

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
class training_step : public trained_replica<Model, Batch, T, Device> {
  using base = trained_replica<Model, Batch, T, Device>;
  using distribution = replica<Model>;

public:
  using base::buffers, base::parameters;
  using typename base::plan;
  static constexpr bool fused = plan::fused;
  using communicator_type = typename distribution::communicator_type;

  // The buckets of the gradients, in the order in which they leave: spans of the flat buffer, or of its order.
  static constexpr std::size_t most_bucket_bytes = fused ? distribution::update::bytes : distribution::options::bytes;
  static constexpr const auto& buckets = plan::template buckets<most_bucket_bytes, fused>;

  static_assert(plan::trained::arena <= place::most_bytes,
                "trainer: this network and batch need an arena of more than 256 GiB; take a smaller batch");

  // What every rank of a job must share with the others, unless it takes a schedule solved at run time.
  static constexpr fingerprint print = fingerprint_of<plan, T>(buckets.buckets());

  // Schedules that are solved when the program runs, from a budget of bytes: curve{}.within(3_MiB).
  using curve = memory_curve<typename distribution::model, Batch::size, T, typename plan::update>;
  using solved = solved_step_of<typename distribution::model, Batch::size, T, typename plan::update>;
  using options = training_options<Loss, solved, fused>;

protected:
  friend struct replica_access;
  using queue = typename Device::queue;
  using base::replica_;
  using flat_gradients = step_gradients<plan, buckets, communicator_type, T, Device>;

  training_step(communicator_type* comm, Optimizer optimizer, options given)
      : base(typename Device::options{(given.check(), given.threads_beside(comm))}, seed{given.seed},
             is_solved(given) ? given.schedule.plan.memory.arena : plan::trained::memory.arena),
        comm_(comm), options_(std::move(given)), updates_(optimizer, replica_.device(), plan::parameter_block),
        gradients_(replica_.device(), static_cast<std::size_t>(this->comm().size()),
                   is_solved(options_) ? flat_gradients::places_in(options_.schedule.plan.memory)
                                       : flat_gradients::places_in(plan::trained::memory),
                   replica_.arena_memory().data()),
        learning_rate_(optimizer.learning_rate), settings_(settings()) {
    if constexpr (plan::gives_input_gradient) input_gradient_ = replica_.device().allocate(plan::whole.gradient_bytes(0));
    if (is_solved(options_)) code_.training = walk_of_plan<T, queue>(options_.schedule.plan);
    if constexpr (divides_parameters<Optimizer>)
      this->for_each([this](const named_parameter<T>& q) {
        if (!q.is_frozen) updates_.add(q, parameters().data());
      });
  }

  std::uint64_t settings() const {
    return settings_of(options_.loss, updates_.optimizer(), max_norm(), fused, options_.learning_rate);
  }
  // At the start of several ranks: throws on all if they were built or set differently, and takes rank 0's parameters.
  void meet() {
    tell_reserve(comm(), gradients_.on_the_way().most_bytes());
    compare_builds(
        comm(), compute(), is_solved(options_) ? with_schedule(print, code_.training.ops) : print, settings_,
        texts_of<plan, typename distribution::model>(options_, updates_.optimizer(), buckets.size(), most_bucket_bytes));
    broadcast_replica(0);
  }
  void broadcast_replica(int root) {
    broadcast(comm(), compute(), std::as_writable_bytes(parameters()), root);
    broadcast(comm(), compute(), std::as_writable_bytes(buffers()), root);
    for (std::size_t i = 0; i < updates_.states(); ++i)
      broadcast(comm(), compute(), std::as_writable_bytes(updates_.state(i)), root);
    broadcast_on_host(comm(), compute(), std::as_writable_bytes(std::span{&steps_, 1}), root);
  }

  static bool is_solved(const options& given) { return given.schedule.plan.training.count > 0; }
  queue& compute() { return replica_.device().compute(); }

  communicator_type& comm() {
    if constexpr (distribution::distributed) return *comm_;
    else return alone_;
  }

  double max_norm() const { // 0: nothing is clipped
    if constexpr (fused) return 0;
    else return options_.clip.max_norm;
  }

  double learning_rate_now() const {
    return options_.learning_rate && !rate_was_set_ ? options_.learning_rate.at(steps_) : learning_rate_;
  }

  static constexpr unwatched_step unwatched{};

  // One step whose last micro-batch these inputs are. judge.rows(inputs) checks all that is given and says how many samples
  // it is; judge(rows, output, gradient) writes the gradient of the output, and returns the loss. The two may be the same
  // memory.
  template <step_inputs Inputs, class Judge, class Watch = const unwatched_step>
  double take_step(const Inputs& inputs, const Judge& judge, Watch& watch = unwatched) {
    return guard_.run(
        steps_ + 1,
        [&] {
          const double loss = micro_batch(inputs, judge, true, watch);
          watch.update([this] { update(); }, comm(), compute(), gradients_.on_the_way());
          return loss;
        },
        [this] { abandon(); });
  }
  template <step_inputs Inputs, class Judge>
  double take_micro_batch(const Inputs& inputs, const Judge& judge) {
    if (accumulation_.size() == 0) accumulation_ = replica_.device().allocate(plan::largest_block * sizeof(T));
    return guard_.run(steps_ + 1, [&] { return micro_batch(inputs, judge, false, unwatched); }, [this] { abandon(); });
  }

  // What the forward pass of the next micro-batch works with.
  template <step_inputs Inputs>
  frame<T> lend(std::size_t rows, const Inputs& inputs, pass why) {
    const auto ranks = static_cast<std::uint64_t>(comm().size());
    const auto rank = static_cast<std::uint64_t>(comm().rank());
    frame<T> lent = replica_.lend(rows, inputs, why);
    lent.random = {.seed = options_.seed, .step = steps_ * micro_batch_stride + micro_batches_ * ranks + rank, .position = 0};
    return lent;
  }
  const operands& at_loss() const { return code_.training.at[code_.training.loss]; }

private:
  template <step_inputs Inputs, class Judge, class Watch>
  double micro_batch(const Inputs& inputs, const Judge& judge, bool is_last, Watch& watch) {
    rows_ = judge.rows(inputs);
    if (is_last) check_number("trainer: expected a schedule's learning rate of 0 or more", learning_rate_now());
    const callbacks tell{.finished = {&finished, this}, .discarded = discarded_};
    frame<T> lent = lend(rows_, inputs, pass::forward);
    lent.gradients = &gradients_.place();
    lent.accumulation = micro_batches_ > 0 ? reinterpret_cast<T*>(accumulation_.data()) : nullptr;
    lent.tell = &tell;
    if constexpr (plan::gives_input_gradient)
      lent.input_gradients = {input_gradient_.data(), code_.gradient_at[0].data(), code_.gradients[0]};
    watch.forward(code_, compute(), lent, gradients_.on_the_way());
    const double loss = watch.loss(
        [&] { return judge(rows_, replica_.elements_at(at_loss().input), replica_.elements_at(at_loss().output_gradient)); });
    if (options_.check_loss && !std::isfinite(loss))
      throw error("trainer: expected a finite loss, found " + std::to_string(loss) + " on rank " + std::to_string(comm().rank()) +
                  " at step " + std::to_string(steps_ + 1) +
                  "; lower the learning rate, clip the gradients, or look at the inputs");
    reducing_ = is_last;
    ++micro_batches_;
    applied_scale_ = 1;
    guard_.enter(is_last && (fused || distribution::distributed));
    if (is_last) gradients_.on_the_way().begin(comm(), compute(), facts());
    if constexpr (fused) begin_updates();
    watch.backward(code_, compute(), lent);
    return loss;
  }

  step_facts facts() {
    step_facts own{.steps = steps_,
                   .micro_batches = micro_batches_,
                   .learning_rate = learning_rate_now(),
                   .settings = settings_,
                   .asks_to_stop = wants_to_stop_};
    if (gradients_.has_facts() && options_.check_every > 0 && steps_ % options_.check_every == 0)
      own.parameters = quick_checksum(std::as_bytes(parameters()));
    return own;
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
    update_bucket(b, 1.0 / static_cast<double>(comm().size()));
    const auto used = std::as_writable_bytes(gradients_.on_the_way().span_of(b));
    discarded_(used.data(), used.size());
  }

  // When nothing but the facts of the step is on its way, or all is back: what the ranks differ in they all see, and can set
  // right.
  void begin_update() {
    last_micro_batches_ = micro_batches_;
    micro_batches_ = 0;
    guard_.leave();
    gradients_.on_the_way().compare(comm(), compute());
    stops_ = gradients_.on_the_way().asks_to_stop();
    if (stops_) wants_to_stop_ = false;
    guard_.enter(true);
    learning_rate_ = learning_rate_now();
    ++steps_;
  }

  // When everything has arrived: what fails on the way leaves no parameter updated.
  void update()
    requires(!fused)
  {
    auto& q = compute();
    gradients_.on_the_way().send(comm(), q, plan::parameter_block);
    gradients_.on_the_way().wait(q);
    double scale = 1.0 / (static_cast<double>(micro_batches_) * static_cast<double>(comm().size()));
    begin_update();
    if (max_norm() > 0) {
      double squares = 0;
      squared_norm(q, &squares, gradients_.all().data(), plan::parameter_block);
      gradient_norm_ = std::sqrt(squares) * scale;
      scale *= options_.clip.scale(gradient_norm_);
    }
    for (std::size_t b = 0; b != buckets.size(); ++b) update_bucket(b, scale);
    applied_scale_ = scale;
  }
  void update()
    requires(fused)
  { // what is still on its way at the end
    if (buckets.size() == 0) begin_update();
    while (updated_ < buckets.size()) use_bucket(updated_++);
    guard_.leave();
  }

  void update_bucket(std::size_t b, double scale) {
    updates_.apply(compute(), {scale, learning_rate_, steps_}, parameters().data(), gradients_.on_the_way().span_of(b).data(),
                   buckets[b].begin, buckets[b].end);
  }

  // Random numbers differ between the micro-batches of a step, and N ranks draw those of N micro-batches.
  static constexpr std::uint64_t micro_batch_stride = 1U << 16;

protected:
  friend struct replica_access;

  communicator_type* comm_ = nullptr;
  [[no_unique_address]] std::conditional_t<distribution::distributed, std::monostate, loopback> alone_{};
  options options_;
  program<T, queue> code_ = program_of<plan, T, queue>;
  updates<Optimizer, T, Device> updates_;
  typename Device::memory accumulation_;
  typename Device::memory input_gradient_; // if the network gives it
  flat_gradients gradients_;
  std::size_t updated_ = 0; // buckets of this step, if the update is fused
  step_guard guard_{};
  std::size_t micro_batches_ = 0;      // since the last step
  std::size_t last_micro_batches_ = 1; // of the last step
  std::size_t rows_ = 0;               // samples of the last micro-batch
  std::uint64_t steps_ = 0;
  double learning_rate_;
  bool rate_was_set_ = false; // by the program, whatever the schedule says
  std::uint64_t settings_;
  double gradient_norm_ = 0;
  double applied_scale_ = 1; // what gradients() still has to multiply by
  bool reducing_ = false;
  bool wants_to_stop_ = false; // this rank asks to, from the next step on
  bool stops_ = false;         // a rank asked to in the last step
  callback<std::byte*, std::size_t> discarded_{};
};

} // namespace cairn::detail
