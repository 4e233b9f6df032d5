// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include <cairn/comm/communicator.hpp>
#include <cairn/core/batch.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/view.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/net/blueprint.hpp>
#include <cairn/net/execute.hpp>
#include <cairn/net/function_of.hpp>
#include <cairn/net/solved_step.hpp>
#include <cairn/ops/copy/copy.hpp>
#include <cairn/ops/cpu.hpp>
#include <cairn/plan/buckets.hpp>
#include <cairn/train/checked_training.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/handshake.hpp>
#include <cairn/train/input_arrays.hpp>
#include <cairn/train/loss.hpp>
#include <cairn/train/optimizer.hpp>
#include <cairn/train/replica_owner.hpp>
#include <cairn/train/samples.hpp>
#include <cairn/train/settings.hpp>
#include <cairn/train/step_facts.hpp>
#include <cairn/train/step_gradients.hpp>
#include <cairn/train/step_guard.hpp>
#include <cairn/train/taken_loss.hpp>
#include <cairn/train/training_options.hpp>
#include <cairn/train/updates.hpp>
#include <cairn/train/wrong_trainer.hpp>

namespace cairn {

namespace detail {

template <class Model, class Batch, class T, class Device>
using trained_replica =
    replica_owner<blueprint_of<typename replica<Model>::model, Batch::size, T, typename replica<Model>::update>,
                  typename replica<Model>::model, T, Device, true>;

} // namespace detail

// Trains one replica of a network: owns its parameters, their gradients, the optimizer's state and the one arena in
// which every step takes place. All of it is allocated here, at the start; a step allocates nothing.
//
// Model is a network, a checkpoint<Policy, network>, a fused_update of one of these or a ddp<..., Communicator>; Batch is
// batch<N>, the most samples in a step. A step takes any number of them from 1 to N. T is float if left out, Device is
// cpu.
template <class Model, class Loss, class Optimizer, class Batch, class T, class Device>
class trainer : public detail::trained_replica<Model, Batch, T, Device> {
  using base = detail::trained_replica<Model, Batch, T, Device>;
  using distribution = detail::replica<Model>;
  using queue = typename Device::queue;

public:
  using typename base::plan;
  using base::buffers, base::output_shape, base::parameters;
  static constexpr bool fused = plan::fused;
  using communicator_type = typename distribution::communicator_type;
  static constexpr std::size_t targets_per_sample = Loss::targets_per_sample(output_shape);

  // The buckets of the gradients, in the order in which they leave: spans of the flat buffer, or of its order.
  static constexpr std::size_t most_bucket_bytes =
      fused ? distribution::update::bytes : distribution::options::bytes;
  static constexpr const auto& buckets = plan::template buckets<most_bucket_bytes, fused>;

  static_assert(plan::trained::arena <= detail::place::most_bytes,
                "trainer: this network and batch need an arena of more than 256 GiB; take a smaller batch");

  // What every rank of a job must share with the others, unless it takes a schedule solved at run time.
  static constexpr detail::fingerprint print = detail::fingerprint_of<plan, T>(buckets.buckets());

  // Schedules that are solved when the program runs, from a budget of bytes: curve{}.within(3_MiB).
  using curve = memory_curve<typename distribution::model, Batch::size, T, typename plan::update>;
  using solved = detail::solved_step_of<typename distribution::model, Batch::size, T, typename plan::update>;
  using options = training_options<Loss, solved, fused>;

  // One process, one rank.
  explicit trainer(Optimizer optimizer, options given = {}) requires(!distribution::distributed)
      : trainer(nullptr, optimizer, std::move(given)) {}

  // One of several ranks. Compares what the ranks were built from, and takes rank 0's parameters.
  explicit trainer(communicator_type& comm, Optimizer optimizer, options given = {}) requires(distribution::distributed)
      : trainer(&comm, optimizer, std::move(given)) {
    detail::compare_builds(comm, compute(), is_solved(options_) ? detail::with_schedule(print, code_.training.ops) : print,
                           settings_, detail::texts_of<plan, typename distribution::model>(options_, updates_.optimizer(),
                                                                                           buckets.size(), most_bucket_bytes));
    broadcast_replica(0);
  }

  trainer(const trainer&) = delete;
  trainer& operator=(const trainer&) = delete;

  // The inputs of these calls are numbers that lie one after another, or, for a network of several tensors,
  // inputs(hidden, mask): an array for each tensor and each constant, in the order of its Inputs<...>.
  //
  // One training step on these samples, and on those that were accumulated since the last: forward, loss, backward,
  // reduction over the ranks, update. Returns this rank's loss, the mean over its samples.
  //
  // Parameters are updated when the gradients of all ranks have arrived, and when the ranks are found to make the same step:
  // equally many micro-batches, one learning rate, and every `check_every` steps the same parameters. An
  // exception out of a step leaves the parameters of all ranks as they were, and drops the micro-batches. Once gradients
  // were on their way, the trainer refuses every further step with the first failure's text, until synchronize(). With a
  // fused update parameters change during backward, and a step that fails leaves some updated and some not.
  template <step_inputs Inputs, numbers Targets>
  double step(const Inputs& inputs, const Targets& targets) {
    return guard_.run(
        steps_ + 1,
        [&] {
          const double loss = micro_batch(inputs, targets, true);
          update();
          return loss;
        },
        [this] { abandon(); });
  }

  // Adds a micro-batch to the gradients of the step that follows; nothing is reduced or updated yet. The step then
  // averages over its micro-batches, as it does over ranks. The first call allocates the largest stage's gradients.
  template <step_inputs Inputs, numbers Targets>
  double accumulate(const Inputs& inputs, const Targets& targets) {
    static_assert(
        !fused, "fused_update: accumulate() keeps all gradients from one micro-batch to the next, and with a "
                "fused update there are never all of them; use step(), or train without fused_update");
    if (accumulation_.size() == 0)
      accumulation_ = replica_.device().allocate(plan::largest_block * sizeof(T));
    return guard_.run(steps_ + 1, [&] { return micro_batch(inputs, targets, false); }, [this] { abandon(); });
  }

  // Every rank takes the parameters, buffers, optimizer's states and number of steps of rank `root`, and micro-batches are
  // dropped; called by all ranks. After it the trainers go on, also after a step that failed, if the communicator can: that
  // is said in its own docs. Whoever loads weights on one rank calls it too.
  void synchronize(int root = 0) {
    if constexpr (requires(communicator_type& c) { c.recover(); }) comm().recover();
    broadcast_replica(root);
    guard_.clear();
    micro_batches_ = 0;
  }

  // The mean loss over these samples in evaluation mode.
  template <step_inputs Inputs, numbers Targets>
  double evaluate_loss(const Inputs& inputs, const Targets& targets) {
    constexpr const char* where = "trainer::evaluate_loss, inputs";
    rows_of(inputs, targets, where);
    const tensor_view<const T> outputs = replica_.evaluate(inputs, where);
    return take_loss(outputs.rows(), targets, outputs.data(), nullptr);
  }

  // The gradients that the last step applied: means over its samples, all ranks and micro-batches, clipped. Between
  // accumulate() and step() they are sums of means, one for each micro-batch so far. A fused update has none to show.
  std::span<T> gradients() {
    static_assert(!fused, "fused_update: gradients() shows all gradients after a step, and with a fused update there are "
                          "never all of them; train without fused_update to look at them");
    if (applied_scale_ != 1)
      for (T& g : gradients_.all()) g *= static_cast<T>(applied_scale_);
    applied_scale_ = 1;
    return gradients_.all();
  }
  // The same by the names of their parameters, from the first layer to the last: f(named_parameter<T>).
  template <class F>
  void for_each_gradient(F&& f) {
    this->for_each([&](named_parameter<T> q) {
      if (q.is_frozen) return;
      q.numbers = {gradients().data() + (q.numbers.data() - parameters().data()), q.numbers.size()};
      f(q);
    });
  }
  // Buffer i of the optimizer's state, laid out like the parameters: for SGD the momentum.
  std::span<const T> optimizer_state(std::size_t i) const { return updates_.state(i); }
  std::span<std::byte> arena() { return {replica_.arena_memory().data(), replica_.arena_memory().size()}; }

  std::uint64_t steps() const { return steps_; } // updates so far
  // Of the next step; where the options gave a schedule, that decides.
  double learning_rate() const { return options_.learning_rate ? options_.learning_rate.at(steps_) : learning_rate_; }
  void learning_rate(double rate) {
    detail::check_number("trainer: expected a learning rate of 0 or more", rate);
    options_.learning_rate = {};
    learning_rate_ = rate;
  }
  // The optimizer, and another one of as many states from the next step on: other momentum, weight decay or betas. Its
  // learning_rate plays no part any more. The loss likewise. With ddp every rank gives the same: the next step compares.
  const Optimizer& optimizer() const { return updates_.optimizer(); }
  void optimizer(const Optimizer& other) {
    updates_.change(other);
    settings_ = settings();
  }
  const Loss& loss() const { return options_.loss; }
  void loss(const Loss& other) {
    options_.loss = other;
    settings_ = settings();
  }
  // Of the last step, over all ranks and micro-batches, before clipping. Only known with clipping.
  double gradient_norm() const { return gradient_norm_; }
  // Called with every place in the arena that a step discards: first byte and how many; with a fused update with a
  // bucket's too, when it was used. For tests and for the curious.
  void on_discard(detail::callback<std::byte*, std::size_t> listener) { discarded_ = listener; }

private:
  friend struct detail::replica_access;
  using base::replica_;
  using flat_gradients = detail::step_gradients<plan, buckets, communicator_type, T, Device>;

  trainer(communicator_type* comm, Optimizer optimizer, options given)
      : base(typename Device::options{(given.check(), given.threads_beside(comm))}, seed{given.seed},
             is_solved(given) ? given.schedule.plan.memory.arena : plan::trained::memory.arena),
        comm_(comm), options_(std::move(given)), updates_(optimizer, replica_.device(), plan::parameter_block),
        gradients_(replica_.device(), static_cast<std::size_t>(this->comm().size()),
                   is_solved(options_) ? flat_gradients::places_in(options_.schedule.plan.memory)
                               : flat_gradients::places_in(plan::trained::memory),
                   replica_.arena_memory().data()),
        learning_rate_(optimizer.learning_rate), settings_(settings()) {
    if (is_solved(options_)) code_.training = detail::walk_of_plan<T, queue>(options_.schedule.plan);
    if constexpr (detail::divides_parameters<Optimizer>)
      this->for_each([this](const named_parameter<T>& q) {
        if (!q.is_frozen) updates_.add(q, parameters().data());
      });
  }

  std::uint64_t settings() const {
    return detail::settings_of(options_.loss, updates_.optimizer(), max_norm(), fused, options_.learning_rate);
  }
  void broadcast_replica(int root) {
    detail::broadcast(comm(), compute(), std::as_writable_bytes(parameters()), root);
    detail::broadcast(comm(), compute(), std::as_writable_bytes(buffers()), root);
    for (std::size_t i = 0; i < updates_.states(); ++i)
      detail::broadcast(comm(), compute(), std::as_writable_bytes(updates_.state(i)), root);
    detail::broadcast(comm(), compute(), std::as_writable_bytes(std::span{&steps_, 1}), root);
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

  template <step_inputs Inputs, numbers Targets>
  static std::size_t rows_of(const Inputs& inputs, const Targets& targets, const char* where) {
    const std::size_t rows = detail::taken_inputs<plan, T>::rows(inputs, Batch::size, where);
    detail::check_targets<Loss, T>(rows, targets, targets_per_sample, Batch::size);
    return rows;
  }

  template <numbers Targets>
  double take_loss(std::size_t rows, const Targets& targets, const T* output, T* gradient) {
    return detail::take_loss(options_.loss, compute(), rows, output_shape, targets, output, gradient);
  }

  template <step_inputs Inputs, numbers Targets>
  double micro_batch(const Inputs& inputs, const Targets& targets, bool is_last) {
    const std::size_t rows = rows_of(inputs, targets, "trainer::step, inputs");
    if (is_last) detail::check_number("trainer: expected a schedule's learning rate of 0 or more", learning_rate());
    const detail::callbacks tell{.finished = {&finished, this}, .discarded = discarded_};
    random_step_ = (steps_ * micro_batch_stride) +
                   micro_batches_ * static_cast<std::uint64_t>(comm().size()) +
                   static_cast<std::uint64_t>(comm().rank());
    detail::frame<T> lent = replica_.lend(rows, inputs, pass::forward);
    lent.gradients = &gradients_.place();
    lent.accumulation = micro_batches_ > 0 ? reinterpret_cast<T*>(accumulation_.data()) : nullptr;
    lent.random = {.seed = options_.seed, .step = random_step_, .position = 0};
    lent.tell = &tell;
    detail::run_forward(code_, compute(), lent);
    const detail::operands& at = code_.training.at[code_.training.loss];
    const double loss =
        take_loss(rows, targets, replica_.elements_at(at.input), replica_.elements_at(at.output_gradient));
    if (options_.check_loss && !std::isfinite(loss))
      throw error("trainer: expected a finite loss, found " + std::to_string(loss) + " on rank " +
                  std::to_string(comm().rank()) + " at step " + std::to_string(steps_ + 1) +
                  "; lower the learning rate, clip the gradients, or look at the inputs");
    reducing_ = is_last;
    ++micro_batches_;
    applied_scale_ = 1;
    guard_.enter(is_last && (fused || distribution::distributed));
    if (is_last) gradients_.on_the_way().begin(comm(), compute(), facts());
    if constexpr (fused) begin_updates();
    detail::run_backward(code_, compute(), lent);
    return loss;
  }

  detail::step_facts facts() {
    detail::step_facts own{.steps = steps_, .micro_batches = micro_batches_, 
                           .learning_rate = learning_rate(), .settings = settings_};
    if (gradients_.has_facts() && options_.check_every > 0 && steps_ % options_.check_every == 0)
      own.parameters = detail::quick_checksum(std::as_bytes(parameters()));
    return own;
  }

  // While an exception passes that came after the first gradients.
  void abandon() {
    gradients_.on_the_way().abandon();
    micro_batches_ = 0;
  }

  // Called by the executor when the gradients below `end` are complete: buckets leave.
  static void finished(void* self, std::size_t end) {
    auto* const me = static_cast<trainer*>(self);
    if constexpr (fused) me->use_finished(end);
    else if (me->reducing_ && distribution::options::overlaps)
      me->gradients_.on_the_way().send(me->comm(), me->compute(), end);
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
    micro_batches_ = 0;
    guard_.leave();
    gradients_.on_the_way().compare(comm(), compute());
    guard_.enter(true);
    learning_rate_ = learning_rate();
    ++steps_;
  }

  // When everything has arrived: what fails on the way leaves no parameter updated.
  void update() requires(!fused) {
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
  void update() requires(fused) { // what is still on its way at the end
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

  communicator_type* comm_ = nullptr;
  [[no_unique_address]] std::conditional_t<distribution::distributed, std::monostate, loopback> alone_{};
  options options_;
  detail::program<T, queue> code_ = detail::program_of<plan, T, queue>;
  detail::updates<Optimizer, T, Device> updates_;
  typename Device::memory accumulation_;
  flat_gradients gradients_;
  std::size_t updated_ = 0; // buckets of this step, if the update is fused
  detail::step_guard guard_{};
  std::size_t micro_batches_ = 0;
  std::uint64_t steps_ = 0;
  std::uint64_t random_step_ = 0;
  double learning_rate_;
  std::uint64_t settings_;
  double gradient_norm_ = 0;
  double applied_scale_ = 1; // what gradients() still has to multiply by
  bool reducing_ = false;
  detail::callback<std::byte*, std::size_t> discarded_{};
};

} // namespace cairn
