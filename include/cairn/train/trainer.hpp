// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

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
#include <cairn/train/parameter_groups.hpp>
#include <cairn/train/parameters.hpp>
#include <cairn/train/reduction.hpp>
#include <cairn/train/replica.hpp>
#include <cairn/train/samples.hpp>
#include <cairn/train/taken_loss.hpp>
#include <cairn/train/training_options.hpp>
#include <cairn/train/wrong_trainer.hpp>

namespace cairn {

// Trains one replica of a network: owns its parameters, their gradients, the optimizer's state and the one arena in
// which every step takes place. All of it is allocated here, at the start; a step allocates nothing.
//
// Model is a network, a checkpoint<Policy, network>, a fused_update of one of these or a ddp<..., Communicator>; Batch is
// batch<N>, the most samples in a step. A step takes any number of them from 1 to N. T is float if left out, Device is
// cpu.
template <class Model, class Loss, class Optimizer, class Batch, class T, class Device>
class trainer {
  using distribution = detail::replica<Model>;
  using queue = typename Device::queue;

public:
  using plan = blueprint_of<typename distribution::model, Batch::size, T, typename distribution::update>;
  static constexpr bool fused = plan::fused;
  using communicator_type = typename distribution::communicator_type;
  static constexpr shape input_shape = plan::input_shape;
  static constexpr shape output_shape = plan::output_shape;
  static constexpr std::size_t targets_per_sample = Loss::targets_per_sample(output_shape);

  // The buckets of the gradients, in the order in which they leave: spans of the flat buffer, or of its order.
  static constexpr std::size_t most_bucket_bytes =
      fused ? distribution::update::bytes : distribution::options::bytes;
  static constexpr const auto& buckets = plan::template buckets<most_bucket_bytes, fused>;

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
    detail::compare_builds(comm, compute(), is_solved() ? detail::with_schedule(print, code_.training.ops) : print,
                   detail::settings_of(options_.loss, optimizer_, max_norm(), fused, options_.learning_rate));
    auto& learnt = replica_.parameter_memory();
    auto& kept = replica_.buffer_memory();
    detail::broadcast(comm, compute(), {learnt.data(), learnt.size()});
    if (kept.size() > 0) detail::broadcast(comm, compute(), {kept.data(), kept.size()});
  }

  trainer(const trainer&) = delete;
  trainer& operator=(const trainer&) = delete;

  // The inputs of these calls are numbers that lie one after another, or, for a network of several tensors,
  // inputs(hidden, mask): an array for each tensor and each constant, in the order of its Inputs<...>.
  //
  // One training step on these samples, and on those that were accumulated since the last: forward, loss, backward,
  // reduction over the ranks, update. Returns this rank's loss, the mean over its samples. An exception out of it leaves
  // the parameters as they were, if it came before the first update: with a fused update that is inside of backward, so
  // that a rank that fails during one leaves the others with some parameters updated and some not.
  template <step_inputs Inputs, numbers Targets>
  double step(const Inputs& inputs, const Targets& targets) {
    reducing_ = true;
    const double loss = micro_batch(inputs, targets);
    update();
    return loss;
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
    reducing_ = false;
    return micro_batch(inputs, targets);
  }

  // The network's outputs for these samples in evaluation mode: (rows, output_shape), valid until the next call.
  template <step_inputs Inputs>
  tensor_view<const T> evaluate(const Inputs& inputs) {
    return replica_.evaluate(inputs, "trainer::evaluate, inputs");
  }

  // The mean loss over these samples in evaluation mode.
  template <step_inputs Inputs, numbers Targets>
  double evaluate_loss(const Inputs& inputs, const Targets& targets) {
    constexpr const char* where = "trainer::evaluate_loss, inputs";
    rows_of(inputs, targets, where);
    const tensor_view<const T> outputs = replica_.evaluate(inputs, where);
    return take_loss(outputs.rows(), targets, outputs.data(), nullptr);
  }

  // The flat buffers; parameters and gradients lie in the order in which backward finishes them. A fused update has no
  // gradients to show.
  std::span<T> parameters() { return replica_.parameters(); }
  std::span<const T> parameters() const { return replica_.parameters(); }
  std::span<const T> gradients() const {
    static_assert(
        !fused,
        "fused_update: gradients() shows all gradients after a step, and with a fused update there are "
        "never all of them; train without fused_update to look at them");
    return {reinterpret_cast<const T*>(gradients_.data()), plan::parameter_block};
  }
  // Buffer i of the optimizer's state, laid out like the parameters: for SGD the momentum.
  std::span<const T> optimizer_state(std::size_t i) const {
    return {reinterpret_cast<const T*>(optimizer_state_[i].data()), optimizer_state_[i].size() / sizeof(T)};
  }
  std::span<const T> buffers() const { return replica_.buffers(); }
  std::span<T> buffers() { return replica_.buffers(); }
  std::span<std::byte> arena() { return {replica_.arena_memory().data(), replica_.arena_memory().size()}; }

  // Takes the parameters and buffers of a trainer or a model whose network computes the same function. Policy, ddp, batch,
  // loss and optimizer may be others: evaluate at another batch, go on under another policy. What computes something else
  // does not compile, whatever its size. The optimizer's state stays; with ddp every rank does it.
  template <class Other>
  void copy_parameters(const Other& other) {
    replica_.copy_from(detail::replica_access::of(other));
  }

  // Every parameter by its name, from the first layer to the last: f(named_parameter<T>); and every buffer.
  template <class F>
  void for_each(F&& f) {
    detail::for_each_parameter(code_, parameters(), buffers(), std::forward<F>(f));
  }
  template <class F>
  void for_each_buffer(F&& f) {
    detail::for_each_buffer(code_, parameters(), buffers(), std::forward<F>(f));
  }

  std::uint64_t steps() const { return steps_; } // updates so far
  // Of the next step; where the options gave a schedule, that decides.
  double learning_rate() const { return options_.learning_rate ? options_.learning_rate.at(steps_) : learning_rate_; }
  void learning_rate(double rate) {
    options_.learning_rate = {};
    learning_rate_ = rate;
  }
  // Of the last step, over all ranks and micro-batches, before clipping. Only known with clipping.
  double gradient_norm() const { return gradient_norm_; }
  Device& device() { return replica_.device(); }

  // A 64-bit number of all parameters' bits: see checksum().
  std::uint64_t checksum() const { return replica_.checksum(); }

  // Called with every place in the arena that a step discards: first byte and how many; with a fused update with a
  // bucket's too, when it was used. For tests and for the curious.
  void on_discard(detail::callback<std::byte*, std::size_t> listener) { discarded_ = listener; }

private:
  friend struct detail::replica_access;
  using replica = detail::replica_of<plan, typename distribution::model, T, Device, true>;

  // Where each bucket lies, in elements: in the arena if the update is fused, else in the flat buffer.
  using places = std::array<std::size_t, buckets.size() + 1>;
  template <class Memory>
  static places places_in([[maybe_unused]] const Memory& memory) {
    places at{};
    for (std::size_t b = 0; b != buckets.size(); ++b)
      if constexpr (fused) at[b] = memory.windows[plan::windows.of_bucket[b]].offset() / sizeof(T);
      else at[b] = buckets[b].begin;
    return at;
  }

  trainer(communicator_type* comm, Optimizer optimizer, options given)
      : comm_(comm), optimizer_(optimizer), options_(std::move(given)),
        replica_(typename Device::options{options_.threads}, seed{options_.seed},
                 is_solved() ? options_.schedule.plan.memory.arena : plan::trained::memory.arena),
        gradients_(replica_.device().allocate(fused ? alignment : plan::parameter_block * sizeof(T))),
        bucket_places_(is_solved() ? places_in(options_.schedule.plan.memory) : places_in(plan::trained::memory)),
        reduction_(buckets.buckets(), bucket_places_,
                   reinterpret_cast<T*>(fused ? replica_.arena_memory().data() : gradients_.data())),
        learning_rate_(optimizer.learning_rate) {
    if (is_solved()) code_.training = detail::walk_of_plan<T, queue>(options_.schedule.plan);
    if (optimizer_.states() > most_optimizer_states)
      throw error("trainer: expected an optimizer of at most " + std::to_string(most_optimizer_states) +
                  " states, found " + std::to_string(optimizer_.states()));
    if (!fused) place_.start = reinterpret_cast<T*>(gradients_.data());
    for (std::size_t i = 0; i < optimizer_.states(); ++i)
      optimizer_state_[i] = replica_.device().allocate(plan::parameter_block * sizeof(T));
    if constexpr (detail::divides_parameters<Optimizer>) divide();
  }

  // The flat buffer by kinds of parameters, the padding behind a tensor included. A parameter never lies in two buckets.
  void divide() {
    for_each([this](const named_parameter<T>& q) {
      if (q.is_frozen) return;
      const auto begin = static_cast<std::size_t>(q.numbers.data() - parameters().data());
      const std::size_t size = detail::align_up(q.numbers.size() * sizeof(T)) / sizeof(T);
      spans_.push_back({begin, begin + size, Optimizer::is_special(*q.facts)});
    });
    std::sort(spans_.begin(), spans_.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  }

  bool is_solved() const { return options_.schedule.plan.training.count > 0; }
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
    const std::size_t rows = replica::rows_of(inputs, where);
    detail::check_targets<Loss, T>(rows, targets, targets_per_sample, Batch::size);
    return rows;
  }

  template <numbers Targets>
  double take_loss(std::size_t rows, const Targets& targets, const T* output, T* gradient) {
    return detail::take_loss(options_.loss, compute(), rows, output_shape, targets, output, gradient);
  }

  template <step_inputs Inputs, numbers Targets>
  double micro_batch(const Inputs& inputs, const Targets& targets) {
    const std::size_t rows = rows_of(inputs, targets, "trainer::step, inputs");
    const detail::callbacks tell{.finished = {&finished, this}, .discarded = discarded_};
    random_step_ = (steps_ * micro_batch_stride) +
                   micro_batches_ * static_cast<std::uint64_t>(comm().size()) +
                   static_cast<std::uint64_t>(comm().rank());
    detail::frame<T> lent = replica_.lend(rows, inputs, pass::forward);
    lent.gradients = &place_;
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
    reduction_.begin();
    if constexpr (fused) begin_updates();
    detail::run_backward(code_, compute(), lent);
    ++micro_batches_;
    return loss;
  }

  // Called by the executor when the gradients below `end` are complete: buckets leave.
  static void finished(void* self, std::size_t end) {
    auto* const me = static_cast<trainer*>(self);
    if constexpr (fused) me->use_finished(end);
    else if (me->reducing_ && distribution::options::overlaps)
      me->reduction_.send(me->comm(), me->compute(), end);
  }

  // A fused update: gradients are written where the bucket is of which they are part. When it is complete it leaves, and
  // the one that has been on its way for long enough comes back and is used.
  void begin_updates() {
    begin_update();
    updated_ = 0;
    go_to_bucket(0);
  }
  void go_to_bucket(std::size_t b) {
    if (b < buckets.size())
      place_ = {reduction_.span_of(b).data(), buckets[b].begin, reinterpret_cast<T*>(gradients_.data())};
  }
  void use_finished(std::size_t end) {
    const std::size_t before = reduction_.left();
    reduction_.send(comm(), compute(), end);
    if (reduction_.left() == before) return; // a layer inside a bucket
    while (updated_ + distribution::update::in_flight <= reduction_.left()) use_bucket(updated_++);
    go_to_bucket(reduction_.left());
  }
  void use_bucket(std::size_t b) {
    update_bucket(b, 1.0 / static_cast<double>(comm().size()), true);
    const auto used = std::as_writable_bytes(reduction_.span_of(b));
    discarded_(used.data(), used.size());
  }

  void begin_update() {
    learning_rate_ = learning_rate();
    ++steps_;
  }

  // Waits for each bucket just before its update. With clipping all have to be there first.
  void update() requires(!fused) {
    auto& q = compute();
    reduction_.send(comm(), q, plan::parameter_block);
    double scale = 1.0 / (static_cast<double>(micro_batches_) * static_cast<double>(comm().size()));
    micro_batches_ = 0;
    begin_update();
    const bool clips = max_norm() > 0;
    if (clips) {
      for (std::size_t b = 0; b != buckets.size(); ++b) reduction_.wait(q, b);
      double squares = 0;
      squared_norm(q, &squares, gradients().data(), plan::parameter_block);
      gradient_norm_ = std::sqrt(squares) * scale;
      scale *= options_.clip.scale(gradient_norm_);
    }
    for (std::size_t b = 0; b != buckets.size(); ++b) update_bucket(b, scale, !clips);
  }
  void update() requires(fused) { // what is still on its way at the end
    while (updated_ < buckets.size()) use_bucket(updated_++);
    micro_batches_ = 0;
  }

  void update_bucket(std::size_t b, double scale, bool waits) {
    if (waits) reduction_.wait(compute(), b);
    if constexpr (!detail::divides_parameters<Optimizer>) {
      update_span(b, {buckets[b].begin, buckets[b].end}, scale);
    } else {
      for (const detail::update_span& s : spans_)
        if (s.begin >= buckets[b].begin && s.begin < buckets[b].end) update_span(b, s, scale);
    }
  }
  void update_span(std::size_t b, const detail::update_span& s, double scale) {
    update_call<T> call{};
    call.count = s.end - s.begin;
    call.parameters = parameters().data() + s.begin;
    call.gradients = reduction_.span_of(b).data() + (s.begin - buckets[b].begin);
    for (std::size_t i = 0; i < optimizer_.states(); ++i)
      call.states[i] = reinterpret_cast<T*>(optimizer_state_[i].data()) + s.begin;
    call.is_special = s.is_special;
    call.scale = scale;
    call.learning_rate = learning_rate_;
    call.step = steps_;
    optimizer_.update(compute(), call);
  }

  // Random numbers differ between the micro-batches of a step, and N ranks draw those of N micro-batches.
  static constexpr std::uint64_t micro_batch_stride = 1U << 16;

  communicator_type* comm_ = nullptr;
  [[no_unique_address]] std::conditional_t<distribution::distributed, std::monostate, loopback> alone_{};
  Optimizer optimizer_;
  options options_;
  detail::program<T, queue> code_ = detail::program_of<plan, T, queue>;
  replica replica_;
  typename Device::memory gradients_; // of a fused update, which has no such buffer: a cache line of zeros
  typename Device::memory accumulation_;
  std::array<typename Device::memory, most_optimizer_states> optimizer_state_;
  places bucket_places_;
  std::vector<detail::update_span> spans_; // of an optimizer that divides parameters
  detail::reduction<communicator_type, T, queue, plan::tensors + 1>
      reduction_; // after the gradients, so it goes first
  detail::gradient_place<T> place_{};
  std::size_t updated_ = 0; // buckets of this step, if the update is fused
  std::size_t micro_batches_ = 0;
  std::uint64_t steps_ = 0;
  std::uint64_t random_step_ = 0;
  double learning_rate_;
  double gradient_norm_ = 0;
  bool reducing_ = false;
  detail::callback<std::byte*, std::size_t> discarded_{};
};

} // namespace cairn
