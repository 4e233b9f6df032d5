// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/batch.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/view.hpp>
#include <cairn/data/owned_tensor.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/net/execute.hpp>
#include <cairn/net/with_input_gradient.hpp>
#include <cairn/ops/convert/convert.hpp>
#include <cairn/ops/cpu.hpp>
#include <cairn/ops/transfer/transfer.hpp>
#include <cairn/train/checked_training.hpp>
#include <cairn/train/handshake.hpp>
#include <cairn/train/host_copy.hpp>
#include <cairn/train/input_arrays.hpp>
#include <cairn/train/joined_step.hpp>
#include <cairn/train/loss.hpp>
#include <cairn/train/optimizer.hpp>
#include <cairn/train/samples.hpp>
#include <cairn/train/settings.hpp>
#include <cairn/train/taken_loss.hpp>
#include <cairn/train/training_state.hpp>
#include <cairn/train/wrong_trainer.hpp>

namespace cairn {

// Trains one replica of a network: owns its parameters, their gradients, the optimizer's state and the one arena in
// which every step takes place. All of it is allocated here, at the start; a step allocates nothing.
//
// Model is a network, a checkpoint<Policy, network>, a fused_update or with_input_gradient of one of these or a ddp<...,
// Communicator>; Batch is batch<N>, the most samples in a step. A step takes any number of them from 1 to N. T, the type
// of the network's elements, is float if left out, Device is cpu.
//
// Of bfloat16 and float16 activations and their gradients are made, and a copy of the parameters that layers read. What the
// program gives and sees stays float: inputs, outputs, parameters, their gradients, the optimizer's state.
template <class Model, class Loss, class Optimizer, class Batch, class T, class Device>
class trainer : public detail::joined_step<Model, Loss, Optimizer, Batch, T, Device> {
  using base = detail::joined_step<Model, Loss, Optimizer, Batch, T, Device>;
  using distribution = detail::replica<Model>;
  using sum = accumulated<T>; // what the program sees: see core/accumulated.hpp

public:
  using base::fused, base::is_apart, base::output_shape;
  using typename base::communicator_type;
  using optimizer_type = Optimizer;
  using loss_type = detail::loss_of_step<Device>; // what step() returns
  using typename base::options;
  using typename base::plan;
  static constexpr std::size_t targets_per_sample = Loss::targets_per_sample(output_shape);

  // One process, one rank.
  explicit trainer(const Optimizer& optimizer, const options& given = {})
    requires(!distribution::distributed)
      : base(base::made_device(given, nullptr), nullptr, optimizer, given) {}

  // One of several ranks. Compares what the ranks were built from, and takes rank 0's parameters.
  explicit trainer(communicator_type& comm, const Optimizer& optimizer, const options& given = {})
    requires(distribution::distributed)
      : base(base::made_device(given, &comm), &comm, optimizer, given) {
    this->meet();
  }

  // The same on a device that another trainer or model of this program uses too, on the same thread. It has to live longer;
  // `threads` and `ordinal` are its own.
  explicit trainer(Device& shared, const Optimizer& optimizer, const options& given = {})
    requires(!distribution::distributed)
      : base((given.check(), detail::held_device<Device>(shared)), nullptr, optimizer, given) {}
  explicit trainer(Device& shared, communicator_type& comm, const Optimizer& optimizer, const options& given = {})
    requires(distribution::distributed)
      : base((given.check(), detail::held_device<Device>(shared)), &comm, optimizer, given) {
    this->meet();
  }

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
    return this->take_step(inputs, judged_by_loss<Targets>{*this, targets});
  }

  // Adds a micro-batch to the gradients of the step that follows; nothing is reduced or updated yet. The step then
  // averages over its micro-batches, as it does over ranks. On a cpu the first call allocates the largest stage's gradients.
  template <step_inputs Inputs, numbers Targets>
  detail::loss_of_step<Device> accumulate(const Inputs& inputs, const Targets& targets) {
    static_assert(!fused, "fused_update: accumulate() keeps all gradients from one micro-batch to the next, and with a "
                          "fused update there are never all of them; use step(), or train without fused_update");
    return this->take_micro_batch(inputs, judged_by_loss<Targets>{*this, targets});
  }
  // Forgets the micro-batches since the last step, as if they had not been.
  void drop_micro_batches() { micro_batches_ = 0; }

  // This rank has no samples left: it takes part in the steps of the others until all ranks have called it, and comes back on
  // all at once; as torch's Join. Its gradients are zeros, it applies the updates of the others, and a mean is over the ranks
  // that have samples: N ranks are still one rank that sees the same samples. (A rank draws the random numbers of its own
  // number, whether those below it have samples or not.) gradients() are zeros behind it, and if a rank was finished before
  // others, layers' buffers are those of the lowest rank of the last step. Returns how many steps the others made.
  std::uint64_t join() { return this->join_others(); }

  // The network's first output for these samples in training mode, as the next step or accumulate() makes it: Dropout draws
  // the same numbers, BatchNorm takes the batch's own statistics, and those that it keeps do not move. With step_from() it
  // is for losses that are known only when the output is.
  template <step_inputs Inputs>
  owned_tensor<sum> forward(const Inputs& inputs) {
    const std::size_t rows = detail::taken_inputs<plan, T>::rows(inputs, Batch::size, "trainer::forward, inputs");
    this->run_forward_alone(rows, inputs);
    const tensor_view<const T> made{replica_.elements_at(this->at_loss().input), rows, output_shape};
    return replica_.fetched(replica_.shown(made), this->waiting());
  }

  // As step() and accumulate(), with the gradient of the network's first output in place of a loss: (rows, output_shape), the
  // derivatives of the number that is to be lowered, a mean over these samples. As torch's output.backward(gradient): a
  // generator takes its discriminator's input_gradient(), several losses the sum of their gradients.
  template <step_inputs Inputs, numbers Gradient>
  void step_from(const Inputs& inputs, const Gradient& gradient) {
    this->take_step(inputs, given_gradient<Gradient>{*this, gradient});
  }
  template <step_inputs Inputs, numbers Gradient>
  void accumulate_from(const Inputs& inputs, const Gradient& gradient) {
    this->take_micro_batch(inputs, given_gradient<Gradient>{*this, gradient});
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
    const judged_by_loss<Targets> judge{*this, targets};
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

  // What the trainer is besides parameters, buffers and the optimizer's state. Who gives all of them to another trainer makes
  // the same steps there: save_state() and load_state() (train/state_file.hpp) do it through a file. Micro-batches since the last
  // step are forgotten. Of the words restore() takes nothing: whether they fit is for the caller to compare.
  training_state state() {
    return {.steps = steps_,
            .seed = options_.seed,
            .ranks = static_cast<std::uint64_t>(this->comm().size()),
            .micro_batches = last_micro_batches_,
            .learning_rate = learning_rate(),
            .rate_was_set = rate_was_set_,
            .words = detail::words_of<typename distribution::model, T>(options_, updates_.optimizer())};
  }
  void restore(const training_state& s) {
    steps_ = s.steps;
    options_.seed = s.seed;
    if (s.rate_was_set) learning_rate(s.learning_rate);
    rate_was_set_ = s.rate_was_set;
    micro_batches_ = 0;
    applied_scale_ = 1;
    is_scale_late_ = false;
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
  // The optimizer, and another one of as many states from the next step on: other momentum, weight decay or betas. Its
  // learning_rate plays no part any more. The loss likewise. With ddp every rank gives the same: the next step compares.
  const Optimizer& optimizer() const { return updates_.optimizer(); }
  void optimizer(const Optimizer& other) {
    updates_.change(other);
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
  // What judges the output of a step: see training_step::take_step.
  template <class Targets>
  struct judged_by_loss {
    trainer& own;
    const Targets& targets;

    template <step_inputs Inputs>
    std::size_t rows(const Inputs& inputs, const char* where = "trainer::step, inputs") const {
      const std::size_t rows = detail::taken_inputs<plan, T>::rows(inputs, Batch::size, where);
      detail::check_targets<Loss, T>(own.options_.loss, rows, targets, output_shape, Batch::size);
      return rows;
    }
    void write(std::size_t rows, std::byte* to) const {
      std::memcpy(to, detail::first_number(targets), rows * targets_per_sample * sizeof(target));
    }
    void operator()(std::size_t rows, const T* output, T* gradient, const detail::judged_at& at) const {
      const auto* const first = is_apart ? static_cast<const target*>(at.targets) : detail::first_number(targets);
      detail::take_loss(own.options_.loss, own.compute(), rows, output_shape, first, at, output, gradient);
    }

  private:
    using target = detail::number_of<Targets>;
  };
  template <class Gradient>
  struct given_gradient {
    trainer& own;
    const Gradient& given;

    template <step_inputs Inputs>
    std::size_t rows(const Inputs& inputs) const {
      static_assert(std::is_same_v<detail::number_of<Gradient>, sum>,
                    "trainer::step_from: expected a gradient of the same type of numbers as the network's outputs");
      const std::size_t rows = detail::taken_inputs<plan, T>::rows(inputs, Batch::size, "trainer::step_from, inputs");
      const std::size_t found = detail::count_rows(given, output_shape, Batch::size, "trainer::step_from, gradient");
      if (found != rows)
        throw input_error("trainer::step_from: expected the gradient of " + std::to_string(rows) +
                          " outputs, as many as there are inputs, found that of " + std::to_string(found));
      return rows;
    }
    void write(std::size_t, std::byte*) const {}
    // The program's array may be gone when this returns, so a device whose work is done later is waited for.
    void operator()(std::size_t rows, const T*, T* gradient, const detail::judged_at&) const {
      const std::size_t count = rows * output_shape.size();
      if constexpr (!std::is_same_v<detail::number_of<Gradient>, sum>) return; // there has been an error
      else if constexpr (detail::is_narrow<T>) {
        sum* const there = own.replica_.working().given_outputs();
        upload(own.compute(), count, there, detail::first_number(given));
        convert(own.compute(), count, gradient, static_cast<const sum*>(there));
      } else upload(own.compute(), count, gradient, detail::first_number(given));
      if constexpr (is_apart) own.waiting()(own.compute().record());
    }
  };
};

} // namespace cairn
