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

#include <cairn/comm/communicator.hpp>
#include <cairn/core/batch.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/view.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/net/blueprint.hpp>
#include <cairn/net/execute.hpp>
#include <cairn/net/function_of.hpp>
#include <cairn/net/memory_curve.hpp>
#include <cairn/ops/copy/copy.hpp>
#include <cairn/ops/cpu.hpp>
#include <cairn/plan/buckets.hpp>
#include <cairn/train/checked_training.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/input_arrays.hpp>
#include <cairn/train/loss.hpp>
#include <cairn/train/meeting.hpp>
#include <cairn/train/optimizer.hpp>
#include <cairn/train/parameters.hpp>
#include <cairn/train/reduction.hpp>
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
  using replica = detail::replica<Model>;
  using queue = typename Device::queue;

public:
  using plan = blueprint_of<typename replica::model, Batch::size, T, typename replica::update>;
  static constexpr bool fused = plan::fused;
  using options = std::conditional_t<fused, fused_training_options, training_options>;
  using communicator_type = typename replica::communicator_type;
  static constexpr shape input_shape = plan::input_shape;
  static constexpr shape output_shape = plan::output_shape;
  static constexpr std::size_t targets_per_sample = Loss::targets_per_sample(output_shape);

  // The buckets of the gradients, in the order in which they leave: spans of the flat buffer, or of its order.
  static constexpr std::size_t most_bucket_bytes = fused ? replica::update::bytes : replica::options::bytes;
  static constexpr const auto& buckets = plan::template buckets<most_bucket_bytes, fused>;

  // What every rank of a job must share with the others, unless it takes a schedule solved at run time.
  static constexpr fingerprint print = fingerprint_of<plan, T>(buckets.buckets());

  // Schedules that are solved when the program runs, from a budget of bytes: curve{}.within(3_MiB).
  using curve = memory_curve<typename replica::model, Batch::size, T, typename plan::update>;
  using solved = typename curve::step;

  // One process, one rank. Without a solved step, the schedule is that of the model's policy.
  explicit trainer(Optimizer optimizer, seed s = {}, options given = {},
                   solved step = {}) requires(!replica::distributed)
      : trainer(nullptr, optimizer, s, given, std::move(step)) {}

  // One of several ranks. Compares what the ranks were built from, and takes rank 0's parameters.
  explicit trainer(communicator_type& comm, Optimizer optimizer, seed s = {}, options given = {},
                   solved step = {}) requires(replica::distributed)
      : trainer(&comm, optimizer, s, given, std::move(step)) {
    meet(comm, device_.compute(), is_solved() ? with_schedule(print, code_.training.ops) : print,
         settings_of<Loss>(optimizer_, max_norm(), fused));
    share(comm, device_.compute(), {parameters_.data(), parameters_.size()});
    if (state_.size() > 0) share(comm, device_.compute(), {state_.data(), state_.size()});
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
    if (accumulation_.size() == 0) accumulation_ = device_.allocate(plan::largest_block * sizeof(T));
    reducing_ = false;
    return micro_batch(inputs, targets);
  }

  // The network's outputs for these samples in evaluation mode: (rows, output_shape), valid until the next call.
  template <step_inputs Inputs>
  tensor_view<const T> evaluate(const Inputs& inputs) {
    const std::size_t rows = run_evaluation(inputs);
    return {numbers_at(evaluated().input), rows, output_shape};
  }

  // The mean loss over these samples in evaluation mode.
  template <step_inputs Inputs, numbers Targets>
  double evaluate_loss(const Inputs& inputs, const Targets& targets) {
    const std::size_t rows = rows_of(inputs, targets, "trainer::evaluate_loss, inputs");
    run_evaluation(inputs);
    return take_loss(rows, targets, numbers_at(evaluated().input), nullptr);
  }

  // The flat buffers; parameters and gradients lie in the order in which backward finishes them. A fused update has no
  // gradients to show.
  std::span<T> parameters() { return {reinterpret_cast<T*>(parameters_.data()), plan::parameter_block}; }
  std::span<const T> parameters() const {
    return {reinterpret_cast<const T*>(parameters_.data()), plan::parameter_block};
  }
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
  std::span<const T> state() const { return {reinterpret_cast<const T*>(state_.data()), plan::state_block}; }
  std::span<T> state() { return {reinterpret_cast<T*>(state_.data()), plan::state_block}; }
  std::span<std::byte> arena() { return {arena_.data(), arena_.size()}; }

  // Takes the parameters of a trainer whose network computes the same function, and its state that is no parameter.
  // Policy, ddp, batch, loss and optimizer may be others: evaluate at another batch, go on under another policy. What
  // computes something else does not compile, whatever its size. The optimizer's state stays; with ddp every rank does it.
  template <class Model2, class Loss2, class Optimizer2, class Batch2>
  void copy_parameters(const trainer<Model2, Loss2, Optimizer2, Batch2, T, Device>& other) {
    using own = function_of<typename replica::model>;
    using others = function_of<typename detail::replica<Model2>::model>;
    if constexpr (!std::is_same_v<own, others>) {
      detail::refuse<other_function<own, others>>();
    } else {
      copy(device_.compute(), plan::parameter_block, parameters().data(), other.parameters().data());
      copy(device_.compute(), plan::state_block, state().data(), other.state().data());
    }
  }

  // Every parameter by its name, from the first layer to the last: f(named_parameter<T>).
  template <class F>
  void for_each(F&& f) {
    for_each_parameter(code(), parameters(), std::forward<F>(f));
  }

  std::uint64_t steps() const { return steps_; } // updates so far
  double learning_rate() const { return learning_rate_; }
  void learning_rate(double rate) { learning_rate_ = rate; }
  // Of the last step, over all ranks and micro-batches, before clipping. Only known with clipping.
  double gradient_norm() const { return gradient_norm_; }
  Device& device() { return device_; }

  // A 64-bit number of all parameters' bits: see checksum().
  std::uint64_t checksum() const { return cairn::checksum({parameters_.data(), parameters_.size()}); }

  // Told of every place in the arena that a step discards: first byte and how many; with a fused update of a bucket's
  // too, when it was used. For tests and for the curious.
  void on_discard(told<std::byte*, std::size_t> listener) { discarded_ = listener; }

private:
  // Where each bucket lies, in numbers: in the arena if the update is fused, else in the flat buffer.
  using places = std::array<std::size_t, buckets.size() + 1>;
  template <class Memory>
  static places places_in([[maybe_unused]] const Memory& memory) {
    places at{};
    for (std::size_t b = 0; b != buckets.size(); ++b)
      if constexpr (fused) at[b] = memory.windows[plan::windows.of_bucket[b]].offset() / sizeof(T);
      else at[b] = buckets[b].begin;
    return at;
  }

  trainer(communicator_type* comm, Optimizer optimizer, seed s, options given, solved step)
      : comm_(comm), optimizer_(optimizer), options_(given), seed_(s), solved_(std::move(step)),
        device_(typename Device::options{given.threads}),
        parameters_(device_.allocate(plan::parameter_block * sizeof(T))),
        gradients_(device_.allocate(fused ? alignment : plan::parameter_block * sizeof(T))),
        state_(device_.allocate(plan::state_block * sizeof(T))),
        arena_(device_.allocate(std::max(
            is_solved() ? solved_.plan.memory.arena : plan::trained::memory.arena, plan::evaluated::arena))),
        bucket_places_(is_solved() ? places_in(solved_.plan.memory) : places_in(plan::trained::memory)),
        reduction_(buckets.buckets(), bucket_places_,
                   reinterpret_cast<T*>(fused ? arena_.data() : gradients_.data())),
        learning_rate_(optimizer.learning_rate) {
    if (is_solved()) code_.training = walk_of<T, queue>(solved_.plan);
    if (!fused) place_.start = reinterpret_cast<T*>(gradients_.data());
    for (std::size_t i = 0; i < optimizer_.states(); ++i)
      optimizer_state_[i] = device_.allocate(plan::parameter_block * sizeof(T));
    initialize(code(), parameters(), s);
  }

  bool is_solved() const { return solved_.plan.training.count > 0; }
  const program<T, queue>& code() const { return code_; }

  communicator_type& comm() {
    if constexpr (replica::distributed) return *comm_;
    else return alone_;
  }

  double max_norm() const { // 0: nothing is clipped
    if constexpr (fused) return 0;
    else return options_.clip.max_norm;
  }

  T* numbers_at(const place& p) { return reinterpret_cast<T*>(arena_.data() + p.offset()); }
  const operands& turned() const { return code_.training.at[code_.training.turn]; }
  static const operands& evaluated() { return plan::evaluated::memory.at[plan::evaluated::schedule.turn]; }

  frame<T> lend(std::size_t rows, const T* inputs, pass why, const events* tell) {
    frame<T> f;
    f.rows = rows;
    f[region::input] = const_cast<std::byte*>(reinterpret_cast<const std::byte*>(inputs)); // only read
    f[region::workspace] = arena_.data();
    f.parameters = parameters().data();
    f.state = state().data();
    f.gradients = &place_;
    f.accumulation = micro_batches_ > 0 ? reinterpret_cast<T*>(accumulation_.data()) : nullptr;
    f.random = {.seed = seed_.value, .step = random_step_, .position = 0};
    f.why = why;
    f.tell = tell;
    if constexpr (plan::several) f.several = &inputs_.ends;
    return f;
  }

  template <step_inputs Inputs>
  static std::size_t rows_of(const Inputs& inputs, const char* where) {
    return detail::taken_inputs<plan, T>::rows(inputs, Batch::size, where);
  }

  template <step_inputs Inputs, numbers Targets>
  static std::size_t rows_of(const Inputs& inputs, const Targets& targets, const char* where) {
    const std::size_t rows = rows_of(inputs, where);
    detail::check_targets<Loss, T>(rows, targets, targets_per_sample, Batch::size);
    return rows;
  }

  template <step_inputs Inputs>
  std::size_t run_evaluation(const Inputs& inputs) {
    const std::size_t rows = rows_of(inputs, "trainer::evaluate, inputs");
    run_up(code(), device_.compute(), lend(rows, inputs_.take(inputs), pass::evaluate, nullptr));
    return rows;
  }

  template <numbers Targets>
  double take_loss(std::size_t rows, const Targets& targets, const T* output, T* gradient) {
    return detail::take_loss<Loss>(device_.compute(), rows, output_shape, targets, output, gradient);
  }

  template <step_inputs Inputs, numbers Targets>
  double micro_batch(const Inputs& inputs, const Targets& targets) {
    const std::size_t rows = rows_of(inputs, targets, "trainer::step, inputs");
    const events tell{.finished = {&finished, this}, .discarded = discarded_};
    random_step_ = (steps_ * micro_batch_stride) +
                   micro_batches_ * static_cast<std::uint64_t>(comm().size()) +
                   static_cast<std::uint64_t>(comm().rank());
    const frame<T> lent = lend(rows, inputs_.take(inputs), pass::forward, &tell);
    run_up(code(), device_.compute(), lent);
    const double loss =
        take_loss(rows, targets, numbers_at(turned().input), numbers_at(turned().output_gradient));
    if (options_.check_loss && !std::isfinite(loss))
      throw error("trainer: expected a finite loss, found " + std::to_string(loss) + " on rank " +
                  std::to_string(comm().rank()) + " at step " + std::to_string(steps_ + 1) +
                  "; lower the learning rate, clip the gradients, or look at the inputs");
    reduction_.begin();
    if constexpr (fused) begin_updates();
    run_back(code(), device_.compute(), lent);
    ++micro_batches_;
    return loss;
  }

  // Called by the executor when the gradients below `end` are complete: buckets leave.
  static void finished(void* self, std::size_t end) {
    auto* const me = static_cast<trainer*>(self);
    if constexpr (fused) me->use_finished(end);
    else if (me->reducing_ && replica::options::overlaps)
      me->reduction_.send(me->comm(), me->device_.compute(), end);
  }

  // A fused update: gradients are written where the bucket is of which they are part. When it is complete it leaves, and
  // the one that has been on its way for long enough comes back and is used.
  void begin_updates() {
    ++steps_;
    updated_ = 0;
    go_to_bucket(0);
  }
  void go_to_bucket(std::size_t b) {
    if (b < buckets.size())
      place_ = {reduction_.span_of(b).data(), buckets[b].begin, reinterpret_cast<T*>(gradients_.data())};
  }
  void use_finished(std::size_t end) {
    const std::size_t before = reduction_.left();
    reduction_.send(comm(), device_.compute(), end);
    if (reduction_.left() == before) return; // a layer inside a bucket
    while (updated_ + replica::update::in_flight <= reduction_.left()) use_bucket(updated_++);
    go_to_bucket(reduction_.left());
  }
  void use_bucket(std::size_t b) {
    update_bucket(b, 1.0 / static_cast<double>(comm().size()), true);
    const auto used = std::as_writable_bytes(reduction_.span_of(b));
    discarded_(used.data(), used.size());
  }

  // Waits for each bucket just before its update. With clipping all have to be there first.
  void update() requires(!fused) {
    auto& q = device_.compute();
    reduction_.send(comm(), q, plan::parameter_block);
    double scale = 1.0 / (static_cast<double>(micro_batches_) * static_cast<double>(comm().size()));
    micro_batches_ = 0;
    ++steps_;
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
    auto& q = device_.compute();
    if (waits) reduction_.wait(q, b);
    update_call<T> call{};
    call.count = buckets[b].size();
    call.parameters = parameters().data() + buckets[b].begin;
    call.gradients = reduction_.span_of(b).data();
    for (std::size_t i = 0; i < optimizer_.states(); ++i)
      call.states[i] = reinterpret_cast<T*>(optimizer_state_[i].data()) + buckets[b].begin;
    call.scale = scale;
    call.learning_rate = learning_rate_;
    call.step = steps_;
    optimizer_.update(q, call);
  }

  // Random numbers differ between the micro-batches of a step, and N ranks draw those of N micro-batches.
  static constexpr std::uint64_t micro_batch_stride = 1U << 16;

  communicator_type* comm_ = nullptr;
  [[no_unique_address]] std::conditional_t<replica::distributed, std::monostate, loopback> alone_{};
  Optimizer optimizer_;
  options options_;
  seed seed_;
  solved solved_; // empty: the schedule is the compiled one
  program<T, queue> code_ = program_of<plan, T, queue>;
  Device device_;
  typename Device::memory parameters_;
  typename Device::memory gradients_; // of a fused update, which has no such buffer: a cache line of zeros
  typename Device::memory state_;
  typename Device::memory arena_;
  typename Device::memory accumulation_;
  std::array<typename Device::memory, 2> optimizer_state_;
  places bucket_places_;
  reduction<communicator_type, T, queue, plan::tensors + 1>
      reduction_; // after the gradients, so it goes first
  gradient_place<T> place_{};
  std::size_t updated_ = 0; // buckets of this step, if the update is fused
  std::size_t micro_batches_ = 0;
  std::uint64_t steps_ = 0;
  std::uint64_t random_step_ = 0;
  double learning_rate_;
  double gradient_norm_ = 0;
  bool reducing_ = false;
  told<std::byte*, std::size_t> discarded_{};
  detail::taken_inputs<plan, T> inputs_{};
};

} // namespace cairn
