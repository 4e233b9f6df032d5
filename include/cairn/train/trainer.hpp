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
#include <cairn/net/with_all_outputs.hpp>
#include <cairn/net/with_input_gradient.hpp>
#include <cairn/ops/cpu.hpp>
#include <cairn/train/checked_training.hpp>
#include <cairn/train/host_copy.hpp>
#include <cairn/train/input_arrays.hpp>
#include <cairn/train/losses/loss.hpp>
#include <cairn/train/losses/losses_of_heads.hpp>
#include <cairn/train/losses/taken_loss.hpp>
#include <cairn/train/optimizers/optimizer.hpp>
#include <cairn/train/ranks/meeting.hpp>
#include <cairn/train/samples.hpp>
#include <cairn/train/state/training_state.hpp>
#include <cairn/train/step/joined_step.hpp>
#include <cairn/train/step/judged_by_losses.hpp>
#include <cairn/train/step/judges.hpp>
#include <cairn/train/step/step_hooks.hpp>
#include <cairn/train/step/training_step.hpp>
#include <cairn/train/target_arrays.hpp>
#include <cairn/train/trainer_arguments.hpp>
#include <cairn/train/wrong_trainer.hpp>

namespace cairn {

// Trains one replica of a network. It owns the parameters, their gradients, the optimizer's state and the one arena in which
// every step takes place. The constructor allocates all of it; a step allocates nothing. A trainer belongs to one thread.
//
// Model is a network, a checkpoint<Policy, network>, a fused_update, with_input_gradient or with_all_outputs of one of these,
// or a ddp<..., Communicator>. Batch is batch<N>: a step takes from 1 to N samples. T, the type of the network's elements, is
// float if left out, Device is cpu.
//
// With bfloat16 or float16, activations, their gradients and a working copy of the parameters have 16 bits. Everything that
// the program gives and sees stays float: inputs, outputs, parameters, their gradients, the optimizer's state. Updates write the
// working copy too; once the program has had a span that it may write to, every pass makes it anew (updated_weights.hpp).
template <class Model, class Loss, class Optimizer, class Batch, class T, class Device>
class trainer : public detail::constructed_trainer<trainer<Model, Loss, Optimizer, Batch, T, Device>, Model, Loss, Optimizer,
                                                   Batch, T, Device> {
  using base = detail::constructed_trainer<trainer, Model, Loss, Optimizer, Batch, T, Device>;
  using types = detail::training_types<Model, Loss, Optimizer, Batch, T, Device>;
  using sum = accumulated<T>; // the type that the program sees: see core/accumulated.hpp

public:
  using base::inside, base::is_apart, base::output_shape;
  using base::step, base::accumulate, base::evaluate_loss; // overloads for arguments that do not fit
  using typename base::communicator_type, typename base::options, typename base::plan, typename base::training_type;
  using optimizer_type = Optimizer;
  using loss_type = detail::loss_of_step<Device>; // what step() returns
  using curve = typename types::curve;
  using lists = typename types::lists;
  static constexpr bool fused = types::fused;
  static constexpr const auto& buckets = types::buckets;
  static constexpr std::size_t targets_per_sample = types::judged::targets_per_sample; // of all heads

  // trainer(optimizer, options), or with ddp trainer(rank, optimizer, options): see trainer_arguments.hpp.
  using base::base;
  trainer(const trainer&) = delete;
  trainer& operator=(const trainer&) = delete;

  // The inputs of these calls are contiguous numbers or, for a network of several tensors, inputs(hidden, mask): an array for
  // each tensor and each constant, in the order of its Inputs<...>. The targets are contiguous numbers or, with multi::losses,
  // multi::targets(labels, boxes): an array for each loss.
  //
  // Makes one training step on these samples, and on those that were accumulated since the last step: forward, loss, backward,
  // reduction over the ranks, update. Returns this rank's loss, the mean over these samples: a double, or on an asynchronous
  // device a step_loss, which converts to double.
  //
  // Parameters are updated when the gradients of all ranks have arrived, and when the ranks are found to make the same step:
  // equally many micro-batches, one learning rate, and every `check_every` steps the same parameters. An exception from a step
  // leaves the parameters of all ranks as they were, and drops the micro-batches. If gradients were already on their way, the
  // trainer refuses every further step with the first failure's text, until synchronize(). With a fused update, parameters
  // change during backward, and a step that fails leaves some updated and some not.
  //
  // As their last arguments, these calls and those below take hooks, callables at named moments of the step:
  // before_op<Kind>(f), after_op<Kind>(f); see step_hooks.hpp.
  template <detail::step_inputs Inputs, detail::targets_of<Loss> Targets, detail::step_hook... Hooks>
  loss_type step(const Inputs& inputs, const Targets& targets, const Hooks&... hooks) {
    static_assert(is_judged_by_loss());
    return make_step(inputs, judged_by_loss<Targets>{{inside()}, targets}, hooks...);
  }

  // Adds a micro-batch to the gradients of the next step. Nothing is reduced or updated yet. The step then averages over its
  // micro-batches, as it does over ranks.
  template <detail::step_inputs Inputs, detail::targets_of<Loss> Targets, detail::step_hook... Hooks>
  loss_type accumulate(const Inputs& inputs, const Targets& targets, const Hooks&... hooks) {
    static_assert(can_accumulate() && is_judged_by_loss());
    return make_micro_batch(inputs, judged_by_loss<Targets>{{inside()}, targets}, hooks...);
  }
  // Drops the micro-batches since the last step.
  void drop_micro_batches() {
    inside().replica.expect_whole_step();
    inside().counters.micro_batches = 0;
  }

  // Call it when this rank has no samples left, as torch's Join: this rank then takes part in the steps of the others until
  // all ranks have called it, and the call returns on all ranks together. This rank's gradients are zeros, it applies the
  // updates of the others, and means are over the ranks that have samples: N ranks are still equal to one rank that sees the
  // same samples. (A rank draws the random numbers of its own number, whether lower ranks have samples or not.) gradients()
  // are zeros afterwards. If a rank was finished before others, layers' buffers are those of the lowest rank that had samples
  // in the last step. Returns how many steps the others made.
  std::uint64_t join() {
    inside().replica.expect_whole_step();
    return detail::join_others(inside());
  }

  // Returns the network's first output for these samples in training mode, as the next step() or accumulate() makes it:
  // Dropout draws the same numbers, BatchNorm uses the batch's own statistics, and the running statistics do not change. With
  // step_from() it is for losses that can be computed only from the output. With a with_all_outputs<Net> it returns an array
  // of all outputs.
  template <detail::step_inputs Inputs>
  auto forward(const Inputs& inputs) {
    static_assert(has_whole_outputs());
    const std::size_t rows = detail::taken_inputs<plan, T>::rows(inputs, Batch::size, "trainer::forward, inputs");
    detail::run_forward_alone(inside(), rows, inputs);
    return inside().replica.fetched_outputs(inside().at_loss().input, rows, inside().waiting());
  }

  // Like step() and accumulate(), with the gradient of the network's first output in place of a loss: (rows, output_shape),
  // the derivatives of the number to be minimized, a mean over these samples. This is torch's output.backward(gradient): a
  // generator passes its discriminator's input_gradient(), several losses the sum of their gradients.
  template <detail::step_inputs Inputs, detail::numbers Gradient, detail::step_hook... Hooks>
  void step_from(const Inputs& inputs, const Gradient& gradient, const Hooks&... hooks) {
    static_assert(is_judged_by_first() && has_whole_outputs());
    make_step(inputs, given_gradient<Gradient>{{inside()}, gradient}, hooks...);
  }
  template <detail::step_inputs Inputs, detail::numbers Gradient, detail::step_hook... Hooks>
  void accumulate_from(const Inputs& inputs, const Gradient& gradient, const Hooks&... hooks) {
    static_assert(can_accumulate() && is_judged_by_first() && has_whole_outputs());
    make_micro_batch(inputs, given_gradient<Gradient>{{inside()}, gradient}, hooks...);
  }

  // Like step() and accumulate(), with a loss of the program's own, in one pass: f(outputs, gradient) is called between
  // forward and backward and returns the loss. `outputs` is a tensor_view<const T> of the network's first output in training
  // mode, (rows, output_shape). `gradient` is a tensor_view<T> of as many numbers, all 0, to which f writes the derivatives of
  // the loss with respect to the outputs. Loss and derivatives are means over these samples, as they are averaged over
  // micro-batches and ranks. T is float where the trainer's is a 16-bit type. With a with_all_outputs<Net> both are arrays
  // with one view for each output, std::array<tensor_view<...>, N>, each of its own shape:
  //   [](const auto& outputs, const auto& gradients) { const auto& [classes, boxes] = outputs; ... }
  //
  // f runs on the host, whatever the device. A step, an evaluation or a state of the trainer that f asks for is an
  // input_error. An exception from f comes out of the step, like any other failure in a step. The first call allocates the
  // gradients' memory.
  template <detail::step_inputs Inputs, class F, detail::step_hook... Hooks>
  loss_type step_by(const Inputs& inputs, F&& f, const Hooks&... hooks) {
    static_assert(has_whole_outputs());
    return make_step(inputs, judged_by_function<F>{{inside()}, f}, hooks...);
  }
  template <detail::step_inputs Inputs, class F, detail::step_hook... Hooks>
  loss_type accumulate_by(const Inputs& inputs, F&& f, const Hooks&... hooks) {
    static_assert(can_accumulate() && has_whole_outputs());
    return make_micro_batch(inputs, judged_by_function<F>{{inside()}, f}, hooks...);
  }

  // The gradient of the last micro-batch's loss with respect to tensor K of its inputs, for a with_input_gradient<...>: (rows,
  // shape of the tensor), neither averaged over ranks nor clipped. It is a tensor_view, valid until the next step() or
  // accumulate(), or an owned_tensor where the device's memory is not the host's or T has 16 bits. To get it without changing
  // the parameters: accumulate(), read it, drop_micro_batches().
  template <std::size_t K = 0>
  auto input_gradient() const {
    static_assert(plan::gives_input_gradient,
                  "trainer: this network's input gradient is not made; write trainer<with_input_gradient<Net>, ...>");
    if constexpr (plan::gives_input_gradient) {
      static_assert(detail::contains(plan::values.gradients[0], K), "trainer: input K has no gradient; is it of integers?");
      const training_type& parts = inside();
      const std::size_t at = parts.code.gradient_at[0][K];
      const tensor_view<const T> there{reinterpret_cast<const T*>(parts.input_gradient.data() + at), parts.counters.rows,
                                       plan::inputs[K].extents};
      if constexpr (is_apart || detail::is_narrow<T>) {
        auto& waits = const_cast<training_type&>(parts); // no visible change
        auto own = waits.replica.fetched(there, waits.waiting());
        const auto unscaled = static_cast<sum>(1 / input_gradient_scale(waits));
        if constexpr (!detail::is_narrow<T>) {
          if (unscaled != 1)
            for (std::size_t i = 0; i < own.size(); ++i) own.data()[i] *= unscaled;
          return own;
        } else {
          cairn::types::owned_tensor<sum> wide(own.rows(), own.sample_shape());
          for (std::size_t i = 0; i < own.size(); ++i) wide.data()[i] = unscaled * static_cast<sum>(own[i]);
          return wide;
        }
      } else {
        const_cast<training_type&>(parts).unscale_input_gradient();
        return there;
      }
    } else return tensor_view<const T>{};
  }

  // Copies the parameters, buffers, optimizer's states and number of steps of rank `root` to every rank, and drops
  // micro-batches. All ranks must call it. Training can then go on, also after a step that failed if the communicator can
  // recover: its own docs say so. Call it too after weights were loaded on one rank only.
  void synchronize(int root = 0) {
    training_type& parts = inside();
    parts.replica.expect_whole_step();
    parts.let_end();
    parts.outcomes.forget();
    if constexpr (requires(communicator_type& c) { c.recover(); }) parts.comm().recover();
    detail::take_replica_of(parts, root, "synchronize");
    parts.guard.clear();
    parts.counters.micro_batches = 0;
  }

  // Returns the mean loss over these samples in evaluation mode. The second overload calls f(outputs, loss) before the memory
  // of the outputs is used again, so that metrics need no second evaluation. With multi::losses the outputs are an array, and the
  // loss is a types::loss_of_heads: the total, as which it converts, and the loss of each head.
  template <detail::step_inputs Inputs, detail::targets_of<Loss> Targets>
  double evaluate_loss(const Inputs& inputs, const Targets& targets) {
    return evaluate_loss(inputs, targets, [](const auto&, double) {});
  }
  template <detail::step_inputs Inputs, detail::targets_of<Loss> Targets, class F>
  double evaluate_loss(const Inputs& inputs, const Targets& targets, F&& f) {
    constexpr const char* where = "trainer::evaluate_loss, inputs";
    training_type& parts = inside();
    const judged_by_loss<Targets> judge{{parts}, targets};
    parts.replica.expect_whole_step();
    const std::size_t rows = judge.rows(inputs, where);
    parts.begin_outcome();
    const auto write = [&](std::byte* to) { return judge.write(rows, to); };
    return parts.replica.with_inputs(rows, inputs, pass::evaluate, parts.waiting(), write, [&](const detail::frame<T>& lent) {
      detail::run_forward(parts.replica.code(), parts.compute(), lent);
      const tensor_view<const T> made = parts.replica.evaluated(rows);
      const tensor_view<const sum> outputs = parts.replica.shown(made);
      judge(rows, made.data(), nullptr, parts.judged());
      const double loss = parts.loss_now();
      if constexpr (detail::are_losses<Loss>) detail::show_heads(parts, rows, made.data(), loss, f);
      else if constexpr (is_apart) {
        const cairn::types::owned_tensor<sum> own = parts.replica.fetched(outputs, parts.waiting());
        f(tensor_view<const sum>(own), loss);
      } else f(outputs, loss);
      return loss;
    });
  }

  // The loss of each head in the last step, micro-batch or evaluation, in the order of the multi::losses and without their
  // weights: the mean over these samples. On an asynchronous device it waits for that.
  auto head_losses() {
    static_assert(detail::are_losses<Loss>, "trainer: head_losses() are those of a trainer with multi::losses<...>");
    return detail::losses_of_heads(inside());
  }

  // The gradients that the last step applied: means over its samples, all ranks and micro-batches, clipped. Between
  // accumulate() and step() they are sums of means, one for each micro-batch so far, times the scale of the loss. Not
  // available with a fused update.
  std::span<sum> gradients() {
    static_assert(!fused, "fused_update: gradients() shows all gradients after a step, and with a fused update there are "
                          "never all of them; train without fused_update to look at them");
    const std::span<sum> all = this->shown(inside().gradients.all());
    inside().take_mean(all);
    return all;
  }
  // Calls f(named_parameter<T>) with the same by the names of their parameters, from the first layer to the last.
  template <class F>
  void for_each_gradient(F&& f) {
    static_assert(!fused, "fused_update: there are never all gradients; train without fused_update to look at them");
    auto all = inside().replica.on_host();
    all.add_state(inside().gradients.all());
    inside().take_mean(all.state(0));
    all.for_each_of_state(0, std::forward<F>(f));
    all.give_back();
  }
  // Buffer i of the optimizer's state, laid out like the parameters: for SGD the momentum.
  std::span<const sum> optimizer_state(std::size_t i) const {
    return this->shown(std::span<const sum>(inside().updates.state(i)));
  }
  // Calls f(i, named_parameter<T>) with the same by the names of the parameters, buffer after buffer.
  template <class F>
  void for_each_optimizer_state(F&& f) {
    auto all = inside().states_on_host();
    for (std::size_t i = 0; i < all.states(); ++i)
      all.for_each_of_state(i, [&](const cairn::types::named_parameter<sum>& q) { f(i, q); });
    all.give_back();
  }

  // The ops of this trainer's step, in order; or those of a micro-batch, a forward pass alone, an evaluation, or a step of
  // other ranks that it joins. The list is a constant, unless the schedule was solved at run time.
  template <cairn::plan::step_kind Kind = cairn::plan::step_kind::step>
  std::span<const cairn::plan::step_op> step_ops() const {
    return inside().template list<Kind>();
  }

  // Micro-batches that were accumulated since the last step.
  std::size_t micro_batches() const { return inside().counters.micro_batches; }
  std::span<std::byte> arena() { return this->shown(std::span{inside().replica.arena_memory().data(), arena_bytes()}); }
  // Calls f(bytes) with the arena, which f may write. On a device whose memory is not the host's, f gets a copy, which is
  // written back afterwards.
  template <class F>
  void with_arena(F&& f) {
    wait();
    auto& replica = inside().replica;
    detail::host_copy<std::byte, Device> all(replica.device(), {replica.arena_memory().data(), arena_bytes()});
    f(all.numbers());
    all.give_back();
  }
  std::size_t arena_bytes() { return inside().replica.arena_memory().size(); }

  // All memory of this trainer and of the other ranks on its machine; training_bytes<trainer<...>>() is the same before there
  // is one.
  cairn::types::training_memory memory() const { return inside().memory(); }

  std::uint64_t steps() const { return inside().counters.steps; } // updates so far

  // The state of the trainer besides parameters, buffers and the optimizer's state. A trainer that is restored from all of
  // these makes the same steps; save_state() and load_state() (train/state/saved_state.hpp) do it through a file.
  // Micro-batches since the last step are dropped. restore() ignores `words`; compare them first if the trainers may differ.
  detail::training_state state() { return inside().state(); }
  void restore(const detail::training_state& s) { inside().restore(s); }

  // Asks every rank to stop. The request is sent with the next step's gradients, or with join(). After that step
  // stop_requested() is true on all ranks, whichever asked, so that all leave their loops after the same step. The request is
  // cleared by the following step.
  void request_stop() { inside().counters.wants_to_stop = true; }
  bool stop_requested() const { return inside().counters.stops; }
  // The learning rate of the next step: the schedule's, if the options gave one and the program has not set a rate.
  double learning_rate() const { return inside().learning_rate_now(); }
  // The learning rate of the step after `steps` updates, unless the program sets one.
  double learning_rate_at(std::uint64_t steps) const { return inside().learning_rate_at(steps); }
  void learning_rate(double rate) { inside().set_learning_rate(rate); }
  // Returns the optimizer. The second replaces it from the next step on, for another momentum, weight decay or betas; the new
  // one must have the same number of states. If its learning_rate differs from the one before, that is the rate from now on;
  // where the options gave a schedule, which would override it, this is an input_error. The loss likewise. With ddp every rank
  // must make the same change: the next step compares.
  const Optimizer& optimizer() const { return inside().updates.optimizer(); }
  void optimizer(const Optimizer& other) { inside().set_optimizer(other); }
  const Loss& loss() const { return inside().options.loss; }
  void loss(const Loss& other) { inside().set_loss(other); }
  // The norm of the gradients of the last step, over all ranks and micro-batches, before clipping. Only known with clipping.
  // On an asynchronous device it waits for the step.
  double gradient_norm() {
    wait();
    return inside().counters.gradient_norm;
  }
  // The scale of the next step's loss, 1 without the option loss_scale, and the number of updates that were skipped so far:
  // steps() and schedules count them, the optimizer does not. On an asynchronous device they wait for the last step.
  double loss_scale() const { return inside().scales_loss() ? known_scale().scale : 1; }
  std::uint64_t skipped_updates() const { return known_scale().skipped; }
  // Waits until all steps are done, and throws the errors of failed ones. Call it before you read the clock, or before the
  // ranks end. On a cpu, steps are done when step() returns.
  void wait() { inside().wait_for_all(); }
  // Sets a callback for every place in the arena that a step discards, given its first byte and its size. With a fused update
  // it is called for every bucket too, after its use. For tests and inspection.
  void on_discard(detail::callback<std::byte*, std::size_t> listener) { inside().discarded = listener; }

private:
  const detail::loss_scale_state& known_scale() const {
    know_loss_scale(const_cast<training_type&>(inside())); // no visible change
    return inside().counters.loss_scale;
  }
  // The judges of a step: see train/step/judges.hpp.
  template <class Targets>
  using judged_by_loss = typename detail::judge_of_targets<training_type, Targets>::type;
  template <class Gradient>
  using given_gradient = detail::given_gradient<training_type, Gradient>;
  template <class F>
  using judged_by_function = detail::judged_by_function<training_type, std::remove_reference_t<F>>;
  template <class Inputs, class Judge, class... Hooks>
  loss_type make_step(const Inputs& inputs, const Judge& judge, const Hooks&... hooks) {
    const detail::watch_of<trainer, Hooks...> watch(*this, hooks...);
    return detail::make_step<cairn::plan::step_kind::step>(inside(), inputs, judge, watch);
  }
  template <class Inputs, class Judge, class... Hooks>
  loss_type make_micro_batch(const Inputs& inputs, const Judge& judge, const Hooks&... hooks) {
    const detail::watch_of<trainer, Hooks...> watch(*this, hooks...);
    return detail::make_step<cairn::plan::step_kind::micro_batch>(inside(), inputs, judge, watch);
  }
  // Micro-batches need all gradients at once.
  static constexpr bool can_accumulate() {
    static_assert(!fused, "fused_update: accumulate() keeps all gradients from one micro-batch to the next, and with a "
                          "fused update there are never all of them; use step(), or train without fused_update");
    return true;
  }
  // A head_in_strips makes only strips of the outputs of a step.
  static constexpr bool has_whole_outputs() {
    if constexpr (plan::head::in_strips) detail::whole_outputs<Model>::template right<detail::whole_outputs<Model>>();
    return true;
  }
  static constexpr bool is_judged_by_loss() {
    if constexpr (!detail::are_losses<Loss>) return is_judged_by_first();
    else return true;
  }
  static constexpr bool is_judged_by_first() {
    if constexpr (plan::all_outputs) detail::judged_by_first<Model>::template right<detail::judged_by_first<Model>>();
    return true;
  }
};

} // namespace cairn
