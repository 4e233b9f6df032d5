// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/batch.hpp>
#include <cairn/core/view.hpp>
#include <cairn/data/owned_tensor.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/net/execute.hpp>
#include <cairn/net/summed_layers.hpp>
#include <cairn/net/with_all_outputs.hpp>
#include <cairn/net/with_input_gradient.hpp>
#include <cairn/ops/cpu.hpp>
#include <cairn/train/checked_training.hpp>
#include <cairn/train/host_copy.hpp>
#include <cairn/train/input_arrays.hpp>
#include <cairn/train/losses/loss.hpp>
#include <cairn/train/losses/taken_loss.hpp>
#include <cairn/train/optimizers/optimizer.hpp>
#include <cairn/train/ranks/handshake.hpp>
#include <cairn/train/samples.hpp>
#include <cairn/train/settings.hpp>
#include <cairn/train/state/training_state.hpp>
#include <cairn/train/step/judges.hpp>
#include <cairn/train/step/step_hooks.hpp>
#include <cairn/train/trainer_arguments.hpp>
#include <cairn/train/wrong_trainer.hpp>

namespace cairn {

// Trains one replica of a network: owns its parameters, their gradients, the optimizer's state and the one arena in
// which every step takes place. All of it is allocated here, at the start; a step allocates nothing. One thread uses it.
//
// Model is a network, a checkpoint<Policy, network>, a fused_update, with_input_gradient or with_all_outputs of one of these or a
// ddp<..., Communicator>; Batch is batch<N>, the most samples in a step. A step takes any number of them from 1 to N. T, the type
// of the network's elements, is float if left out, Device is cpu.
//
// Of bfloat16 and float16 activations and their gradients are made, and a copy of the parameters that layers read. What the
// program gives and sees stays float: inputs, outputs, parameters, their gradients, the optimizer's state.
template <class Model, class Loss, class Optimizer, class Batch, class T, class Device>
class trainer : public detail::constructed_trainer<Model, Loss, Optimizer, Batch, T, Device> {
  using base = detail::constructed_trainer<Model, Loss, Optimizer, Batch, T, Device>;
  using distribution = detail::replica<Model>;
  using sum = accumulated<T>; // what the program sees: see core/accumulated.hpp

public:
  using base::fused, base::is_apart, base::output_shape;
  using base::step, base::accumulate, base::evaluate_loss; // with arguments that they do not take
  using typename base::communicator_type;
  using optimizer_type = Optimizer;
  using loss_type = detail::loss_of_step<Device>; // what step() returns
  using typename base::options;
  using typename base::plan;
  static constexpr std::size_t targets_per_sample = Loss::targets_per_sample(output_shape);

  // trainer(optimizer, options), of a ddp trainer(rank, optimizer, options): see trainer_arguments.hpp.
  using base::base;
  trainer(const trainer&) = delete;
  trainer& operator=(const trainer&) = delete;

  // The inputs of these calls are numbers that lie one after another, or, for a network of several tensors,
  // inputs(hidden, mask): an array for each tensor and each constant, in the order of its Inputs<...>.
  //
  // One training step on these samples, and on those that were accumulated since the last: forward, loss, backward,
  // reduction over the ranks, update. Returns this rank's loss, the mean over its samples: a double, or on a device whose work
  // is done later a step_loss, which becomes one.
  //
  // Parameters are updated when the gradients of all ranks have arrived, and when the ranks are found to make the same step:
  // equally many micro-batches, one learning rate, and every `check_every` steps the same parameters. An
  // exception out of a step leaves the parameters of all ranks as they were, and drops the micro-batches. Once gradients
  // were on their way, the trainer refuses every further step with the first failure's text, until synchronize(). With a
  // fused update parameters change during backward, and a step that fails leaves some updated and some not.
  template <step_inputs Inputs, numbers Targets>
  detail::loss_of_step<Device> step(const Inputs& inputs, const Targets& targets) {
    static_assert(is_judged_by_first());
    return this->take_step(inputs, judged_by_loss<Targets>{{*this}, targets});
  }
  // The same with callables at named moments of the step: before_op<Kind>(f), after_op<Kind>(f); see step_hooks.hpp.
  template <step_inputs Inputs, numbers Targets, detail::step_hook... Hooks>
    requires(sizeof...(Hooks) > 0)
  detail::loss_of_step<Device> step(const Inputs& inputs, const Targets& targets, const Hooks&... hooks) {
    static_assert(is_judged_by_first());
    const detail::hooked_step<trainer, Hooks...> watch(*this, hooks...);
    return this->take_step(inputs, judged_by_loss<Targets>{{*this}, targets}, watch);
  }

  // Adds a micro-batch to the gradients of the step that follows; nothing is reduced or updated yet. The step then
  // averages over its micro-batches, as it does over ranks. On a cpu the first call allocates the largest stage's gradients.
  template <step_inputs Inputs, numbers Targets>
  detail::loss_of_step<Device> accumulate(const Inputs& inputs, const Targets& targets) {
    static_assert(can_accumulate() && is_judged_by_first());
    return this->take_micro_batch(inputs, judged_by_loss<Targets>{{*this}, targets});
  }
  // Forgets the micro-batches since the last step, as if they had not been.
  void drop_micro_batches() {
    replica_.expect_whole_step();
    micro_batches_ = 0;
  }

  // This rank has no samples left: it takes part in the steps of the others until all ranks have called it, and comes back on
  // all at once; as torch's Join. Its gradients are zeros, it applies the updates of the others, and a mean is over the ranks
  // that have samples: N ranks are still one rank that sees the same samples. (A rank draws the random numbers of its own
  // number, whether those below it have samples or not.) gradients() are zeros behind it, and if a rank was finished before
  // others, layers' buffers are those of the lowest rank of the last step. Returns how many steps the others made.
  std::uint64_t join() {
    replica_.expect_whole_step();
    return this->join_others();
  }

  // The network's first output for these samples in training mode, as the next step or accumulate() makes it: Dropout draws
  // the same numbers, BatchNorm takes the batch's own statistics, and those that it keeps do not move. With step_from() it
  // is for losses that are known only when the output is. Of a with_all_outputs<Net> it gives an array of all outputs.
  template <step_inputs Inputs>
  auto forward(const Inputs& inputs) {
    const std::size_t rows = detail::taken_inputs<plan, T>::rows(inputs, Batch::size, "trainer::forward, inputs");
    this->run_forward_alone(rows, inputs);
    return replica_.fetched_outputs(this->at_loss().input, rows, this->waiting());
  }

  // As step() and accumulate(), with the gradient of the network's first output in place of a loss: (rows, output_shape), the
  // derivatives of the number that is to be lowered, a mean over these samples. As torch's output.backward(gradient): a
  // generator takes its discriminator's input_gradient(), several losses the sum of their gradients.
  template <step_inputs Inputs, numbers Gradient>
  void step_from(const Inputs& inputs, const Gradient& gradient) {
    static_assert(is_judged_by_first());
    this->take_step(inputs, given_gradient<Gradient>{{*this}, gradient});
  }
  template <step_inputs Inputs, numbers Gradient>
  void accumulate_from(const Inputs& inputs, const Gradient& gradient) {
    static_assert(can_accumulate() && is_judged_by_first());
    this->take_micro_batch(inputs, given_gradient<Gradient>{{*this}, gradient});
  }

  // As step() and accumulate(), with a loss of the program's own, in one pass: f(outputs, gradient) is called between forward and
  // backward. `outputs` is a tensor_view<const T> of the network's first output in training mode, (rows, output_shape);
  // `gradient`, a tensor_view<T> of as many numbers, all 0, is for the derivatives of the loss by them, and the loss is what f
  // returns: means over these samples, as they are averaged over micro-batches and ranks. T is float where the trainer's is one
  // of 16 bits. Of a with_all_outputs<Net> both are arrays with one for each output, std::array<tensor_view<...>, N>, each of its
  // own shape: [](const auto& outputs, const auto& gradients) { const auto& [classes, boxes] = outputs; ... }.
  //
  // f runs on the host on every device. A step, an evaluation or a state of the trainer that it asks for is an input_error. What
  // it throws comes out of the step, as what fails in a step does. The first call allocates the gradients' memory.
  template <step_inputs Inputs, class F>
  detail::loss_of_step<Device> step_by(const Inputs& inputs, F&& f) {
    return this->take_step(inputs, judged_by_function<std::remove_reference_t<F>>{{*this}, f});
  }
  template <step_inputs Inputs, class F>
  detail::loss_of_step<Device> accumulate_by(const Inputs& inputs, F&& f) {
    static_assert(can_accumulate());
    return this->take_micro_batch(inputs, judged_by_function<std::remove_reference_t<F>>{{*this}, f});
  }

  // The gradient of the last micro-batch's loss by tensor K of its inputs, of a with_input_gradient<...>: (rows, shape of
  // the tensor), neither averaged over ranks nor clipped: a tensor_view, which stays until the next step() or accumulate(), or an
  // owned_tensor where the device's memory is not the host's or T is one of 16 bits. To have it and leave the parameters
  // alone: accumulate(), look at it, drop_micro_batches().
  template <std::size_t K = 0>
  auto input_gradient() const {
    static_assert(plan::gives_input_gradient,
                  "trainer: this network's input gradient is not made; write trainer<with_input_gradient<Net>, ...>");
    if constexpr (plan::gives_input_gradient) {
      static_assert(detail::contains(plan::values.gradients[0], K), "trainer: input K has no gradient; is it of integers?");
      const std::size_t at = code_.gradient_at[0][K];
      const tensor_view<const T> there{reinterpret_cast<const T*>(input_gradient_.data() + at), rows_, plan::inputs[K].extents};
      if constexpr (is_apart || detail::is_narrow<T>) {
        auto* const self = const_cast<trainer*>(this); // to wait changes nothing that can be seen
        if constexpr (!detail::is_narrow<T>) return self->replica_.fetched(there, self->waiting());
        else {
          const auto own = self->replica_.fetched(there, self->waiting());
          owned_tensor<sum> wide(own.rows(), own.sample_shape());
          for (std::size_t i = 0; i < own.size(); ++i) wide.data()[i] = static_cast<sum>(own[i]);
          return wide;
        }
      } else return there;
    } else return tensor_view<const T>{};
  }

  // Every rank takes the parameters, buffers, optimizer's states and number of steps of rank `root`, and micro-batches are
  // dropped; called by all ranks. After it the trainers go on, also after a step that failed, if the communicator can: that
  // is said in its own docs. Whoever loads weights on one rank calls it too.
  void synchronize(int root = 0) {
    replica_.expect_whole_step();
    if constexpr (is_apart) { // a step that failed is over, and of no interest any more
      detail::finish_on_host(compute());
      this->outcomes_.forget();
    }
    if constexpr (requires(communicator_type& c) { c.recover(); }) this->comm().recover();
    this->broadcast_replica(root);
    guard_.clear();
    micro_batches_ = 0;
  }

  // The mean loss over these samples in evaluation mode. The second calls f(outputs, loss) before the memory of the outputs is
  // used again, so that metrics cost no second evaluation.
  template <step_inputs Inputs, numbers Targets>
  double evaluate_loss(const Inputs& inputs, const Targets& targets) {
    return evaluate_loss(inputs, targets, [](const tensor_view<const sum>&, double) {});
  }
  template <step_inputs Inputs, numbers Targets, class F>
  double evaluate_loss(const Inputs& inputs, const Targets& targets, F&& f) {
    constexpr const char* where = "trainer::evaluate_loss, inputs";
    const judged_by_loss<Targets> judge{{*this}, targets};
    replica_.expect_whole_step();
    const std::size_t rows = judge.rows(inputs, where);
    this->begin_outcome();
    const auto write = [&](std::byte* to) { judge.write(rows, to); };
    return replica_.with_inputs(rows, inputs, pass::evaluate, this->waiting(), write, [&](const detail::frame<T>& lent) {
      detail::run_forward(replica_.code(), compute(), lent);
      const tensor_view<const T> made = replica_.evaluated(rows);
      const tensor_view<const sum> outputs = replica_.shown(made);
      double loss = 0;
      const detail::judged_at at = this->judged(loss);
      judge(rows, made.data(), nullptr, at);
      loss = this->loss_now(at);
      if constexpr (is_apart) {
        const owned_tensor<sum> own = replica_.fetched(outputs, this->waiting());
        f(tensor_view<const sum>(own), loss);
      } else f(outputs, loss);
      return loss;
    });
  }

  // The gradients that the last step applied: means over its samples, all ranks and micro-batches, clipped. Between
  // accumulate() and step() they are sums of means, one for each micro-batch so far. A fused update has none to show.
  std::span<sum> gradients() {
    static_assert(!fused, "fused_update: gradients() shows all gradients after a step, and with a fused update there are "
                          "never all of them; train without fused_update to look at them");
    const std::span<sum> all = this->shown(gradients_.all());
    scale(all);
    return all;
  }
  // The same by the names of their parameters, from the first layer to the last: f(named_parameter<T>).
  template <class F>
  void for_each_gradient(F&& f) {
    static_assert(!fused, "fused_update: there are never all gradients; train without fused_update to look at them");
    auto all = this->on_host();
    all.add_state(gradients_.all());
    scale(all.state(0));
    all.for_each_of_state(0, std::forward<F>(f));
    all.give_back();
  }
  // Buffer i of the optimizer's state, laid out like the parameters: for SGD the momentum.
  std::span<const sum> optimizer_state(std::size_t i) const { return this->shown(std::span<const sum>(updates_.state(i))); }
  // The same by the names of the parameters, buffer after buffer: f(i, named_parameter<T>).
  template <class F>
  void for_each_optimizer_state(F&& f) {
    auto all = this->states_on_host();
    for (std::size_t i = 0; i < all.states(); ++i) all.for_each_of_state(i, [&](const named_parameter<sum>& q) { f(i, q); });
    all.give_back();
  }

  // What this trainer does in a step, op by op in the order in which it happens; or in a micro-batch, a forward pass alone, an
  // evaluation, or a step of other ranks that it joins. It is a constant, unless the schedule was solved when the program ran.
  template <step_kind Kind = step_kind::step>
  std::span<const step_op> step_ops() const {
    return this->template list<Kind>();
  }

  // Micro-batches that were accumulated since the last step.
  std::size_t micro_batches() const { return micro_batches_; }
  std::span<std::byte> arena() { return this->shown(std::span{replica_.arena_memory().data(), arena_bytes()}); }
  // f(bytes) with the arena, which f may fill; on a device whose memory is not the host's a copy, which is brought over then.
  template <class F>
  void with_arena(F&& f) {
    this->wait_for_all();
    detail::host_copy<std::byte, Device> all(replica_.device(), {replica_.arena_memory().data(), arena_bytes()});
    f(all.numbers());
    all.give_back();
  }
  std::size_t arena_bytes() { return replica_.arena_memory().size(); }

  // What a trainer of so many ranks, whose optimizer has so many states, allocates on its device: parameters, buffers, gradients,
  // states, the arena, and where the device's memory is not the host's the slots of its batches. Not what the device keeps for
  // itself, nor a larger arena of a schedule that was solved at run time. See device_bytes.
  static constexpr std::size_t bytes_on_device(std::size_t states, std::size_t ranks = 1) {
    return base::all_bytes(states, ranks);
  }

  std::uint64_t steps() const { return steps_; } // updates so far

  // Asks every rank to stop: the news goes with the next step's gradients, or with join(), and when that is made
  // stop_requested() is true on all ranks, whichever asked. So all leave their loops after the same step. The step behind it
  // knows nothing of it.
  void request_stop() { wants_to_stop_ = true; }
  bool stop_requested() const { return stops_; }
  // Of the next step; where the options gave a schedule, that decides.
  double learning_rate() const { return this->learning_rate_now(); }
  // Of the step behind so many, if the program sets no other.
  double learning_rate_at(std::uint64_t steps) const {
    return options_.learning_rate ? options_.learning_rate.at(steps) : updates_.optimizer().learning_rate;
  }
  void learning_rate(double rate) {
    detail::check_number("trainer: expected a learning rate of 0 or more", rate);
    rate_was_set_ = true;
    learning_rate_ = rate;
  }
  // The optimizer, and another one of as many states from the next step on: other momentum, weight decay or betas. A
  // learning_rate that is not that of the one before is the rate from now on; where the options gave a schedule, which would
  // decide all the same, it is an input_error. The loss likewise. With ddp every rank gives the same: the next step compares.
  const Optimizer& optimizer() const { return updates_.optimizer(); }
  void optimizer(const Optimizer& other) {
    const double before = updates_.optimizer().learning_rate;
    const bool has_rate = detail::is_another_rate(options_.learning_rate && !rate_was_set_, before, other.learning_rate);
    updates_.change(other);
    if (has_rate) learning_rate(other.learning_rate);
    settings_ = this->settings();
  }
  const Loss& loss() const { return options_.loss; }
  void loss(const Loss& other) {
    options_.loss = other;
    this->send_constants();
    settings_ = this->settings();
  }
  // Of the last step, over all ranks and micro-batches, before clipping. Only known with clipping. On a device whose work is done
  // later it waits for the step.
  double gradient_norm() {
    this->wait_for_all();
    return gradient_norm_;
  }
  // Comes back when all steps are done, and throws what went wrong in them: to look at the clock, or before the ranks part. On
  // a cpu they are done when step() returns.
  void wait() { this->wait_for_all(); }
  // Called with every place in the arena that a step discards: first byte and how many; with a fused update with a
  // bucket's too, when it was used. For tests and for the curious.
  void on_discard(detail::callback<std::byte*, std::size_t> listener) { discarded_ = listener; }

private:
  friend struct detail::replica_access;
  using base::applied_scale_, base::discarded_, base::gradient_norm_, base::last_micro_batches_, base::learning_rate_;
  using base::compute, base::code_, base::guard_, base::gradients_, base::input_gradient_, base::is_scale_late_;
  using base::late_scale_, base::micro_batches_;
  using base::options_, base::rate_was_set_, base::replica_;
  using base::rows_, base::settings_, base::steps_, base::stops_, base::updates_, base::wants_to_stop_;

  // The gradients that were applied: those of all ranks times what made a mean of them.
  void scale(std::span<sum> all) {
    if (std::exchange(is_scale_late_, false)) {
      this->wait_for_all();
      applied_scale_ = late_scale_;
    }
    if (applied_scale_ != 1)
      for (sum& g : all) g *= static_cast<sum>(applied_scale_);
    applied_scale_ = 1;
  }
  // The judges of a step: see train/step/judges.hpp.
  template <class Targets>
  using judged_by_loss = detail::judged_by_loss<trainer, Targets>;
  template <class Gradient>
  using given_gradient = detail::given_gradient<trainer, Gradient>;
  template <class F>
  using judged_by_function = detail::judged_by_function<trainer, F>;
  // Micro-batches need all gradients at once.
  static constexpr bool can_accumulate() {
    static_assert(!fused, "fused_update: accumulate() keeps all gradients from one micro-batch to the next, and with a "
                          "fused update there are never all of them; use step(), or train without fused_update");
    return true;
  }
  static constexpr bool is_judged_by_first() {
    if constexpr (plan::all_outputs) detail::judged_by_first<Model>::template right<detail::judged_by_first<Model>>();
    return true;
  }
};

} // namespace cairn
