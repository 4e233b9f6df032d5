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
#include <cairn/train/losses/taken_loss.hpp>
#include <cairn/train/optimizers/optimizer.hpp>
#include <cairn/train/ranks/meeting.hpp>
#include <cairn/train/samples.hpp>
#include <cairn/train/state/training_state.hpp>
#include <cairn/train/step/joined_step.hpp>
#include <cairn/train/step/judges.hpp>
#include <cairn/train/step/step_hooks.hpp>
#include <cairn/train/step/training_step.hpp>
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
class trainer : public detail::constructed_trainer<trainer<Model, Loss, Optimizer, Batch, T, Device>, Model, Loss, Optimizer,
                                                   Batch, T, Device> {
  using base = detail::constructed_trainer<trainer, Model, Loss, Optimizer, Batch, T, Device>;
  using types = detail::training_types<Model, Loss, Optimizer, Batch, T, Device>;
  using sum = accumulated<T>; // what the program sees: see core/accumulated.hpp

public:
  using base::inside, base::is_apart, base::output_shape;
  using base::step, base::accumulate, base::evaluate_loss; // with arguments that they do not take
  using typename base::communicator_type, typename base::options, typename base::plan, typename base::training_type;
  using optimizer_type = Optimizer;
  using loss_type = detail::loss_of_step<Device>; // what step() returns
  using curve = typename types::curve;
  using lists = typename types::lists;
  static constexpr bool fused = types::fused;
  static constexpr const auto& buckets = types::buckets;
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
  //
  // Behind all else, these calls and those below take hooks, callables at named moments of the step: before_op<Kind>(f),
  // after_op<Kind>(f); see step_hooks.hpp.
  template <step_inputs Inputs, numbers Targets, detail::step_hook... Hooks>
  loss_type step(const Inputs& inputs, const Targets& targets, const Hooks&... hooks) {
    static_assert(is_judged_by_first());
    return make_step(inputs, judged_by_loss<Targets>{{inside()}, targets}, hooks...);
  }

  // Adds a micro-batch to the gradients of the step that follows; nothing is reduced or updated yet. The step then
  // averages over its micro-batches, as it does over ranks.
  template <step_inputs Inputs, numbers Targets, detail::step_hook... Hooks>
  loss_type accumulate(const Inputs& inputs, const Targets& targets, const Hooks&... hooks) {
    static_assert(can_accumulate() && is_judged_by_first());
    return make_micro_batch(inputs, judged_by_loss<Targets>{{inside()}, targets}, hooks...);
  }
  // Forgets the micro-batches since the last step, as if they had not been.
  void drop_micro_batches() {
    inside().replica.expect_whole_step();
    inside().counters.micro_batches = 0;
  }

  // This rank has no samples left: it takes part in the steps of the others until all ranks have called it, and comes back on
  // all at once; as torch's Join. Its gradients are zeros, it applies the updates of the others, and a mean is over the ranks
  // that have samples: N ranks are still one rank that sees the same samples. (A rank draws the random numbers of its own
  // number, whether those below it have samples or not.) gradients() are zeros behind it, and if a rank was finished before
  // others, layers' buffers are those of the lowest rank of the last step. Returns how many steps the others made.
  std::uint64_t join() {
    inside().replica.expect_whole_step();
    return detail::join_others(inside());
  }

  // The network's first output for these samples in training mode, as the next step or accumulate() makes it: Dropout draws
  // the same numbers, BatchNorm takes the batch's own statistics, and those that it keeps do not move. With step_from() it
  // is for losses that are known only when the output is. Of a with_all_outputs<Net> it gives an array of all outputs.
  template <step_inputs Inputs>
  auto forward(const Inputs& inputs) {
    const std::size_t rows = detail::taken_inputs<plan, T>::rows(inputs, Batch::size, "trainer::forward, inputs");
    detail::run_forward_alone(inside(), rows, inputs);
    return inside().replica.fetched_outputs(inside().at_loss().input, rows, inside().waiting());
  }

  // As step() and accumulate(), with the gradient of the network's first output in place of a loss: (rows, output_shape), the
  // derivatives of the number that is to be lowered, a mean over these samples. As torch's output.backward(gradient): a
  // generator takes its discriminator's input_gradient(), several losses the sum of their gradients.
  template <step_inputs Inputs, numbers Gradient, detail::step_hook... Hooks>
  void step_from(const Inputs& inputs, const Gradient& gradient, const Hooks&... hooks) {
    static_assert(is_judged_by_first());
    make_step(inputs, given_gradient<Gradient>{{inside()}, gradient}, hooks...);
  }
  template <step_inputs Inputs, numbers Gradient, detail::step_hook... Hooks>
  void accumulate_from(const Inputs& inputs, const Gradient& gradient, const Hooks&... hooks) {
    static_assert(can_accumulate() && is_judged_by_first());
    make_micro_batch(inputs, given_gradient<Gradient>{{inside()}, gradient}, hooks...);
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
  template <step_inputs Inputs, class F, detail::step_hook... Hooks>
  loss_type step_by(const Inputs& inputs, F&& f, const Hooks&... hooks) {
    return make_step(inputs, judged_by_function<F>{{inside()}, f}, hooks...);
  }
  template <step_inputs Inputs, class F, detail::step_hook... Hooks>
  loss_type accumulate_by(const Inputs& inputs, F&& f, const Hooks&... hooks) {
    static_assert(can_accumulate());
    return make_micro_batch(inputs, judged_by_function<F>{{inside()}, f}, hooks...);
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
      const training_type& parts = inside();
      const std::size_t at = parts.code.gradient_at[0][K];
      const tensor_view<const T> there{reinterpret_cast<const T*>(parts.input_gradient.data() + at), parts.counters.rows,
                                       plan::inputs[K].extents};
      if constexpr (is_apart || detail::is_narrow<T>) {
        auto& waits = const_cast<training_type&>(parts); // which changes nothing that can be seen
        if constexpr (!detail::is_narrow<T>) return waits.replica.fetched(there, waits.waiting());
        else {
          const auto own = waits.replica.fetched(there, waits.waiting());
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
    training_type& parts = inside();
    parts.replica.expect_whole_step();
    detail::finish_on_host(parts.compute()); // a step that failed is over, and of no interest any more
    parts.outcomes.forget();
    if constexpr (requires(communicator_type& c) { c.recover(); }) parts.comm().recover();
    detail::take_replica_of(parts, root, "synchronize");
    parts.guard.clear();
    parts.counters.micro_batches = 0;
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
    training_type& parts = inside();
    const judged_by_loss<Targets> judge{{parts}, targets};
    parts.replica.expect_whole_step();
    const std::size_t rows = judge.rows(inputs, where);
    parts.begin_outcome();
    const auto write = [&](std::byte* to) { judge.write(rows, to); };
    return parts.replica.with_inputs(rows, inputs, pass::evaluate, parts.waiting(), write, [&](const detail::frame<T>& lent) {
      detail::run_forward(parts.replica.code(), parts.compute(), lent);
      const tensor_view<const T> made = parts.replica.evaluated(rows);
      const tensor_view<const sum> outputs = parts.replica.shown(made);
      judge(rows, made.data(), nullptr, parts.judged());
      const double loss = parts.loss_now();
      if constexpr (is_apart) {
        const owned_tensor<sum> own = parts.replica.fetched(outputs, parts.waiting());
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
    const std::span<sum> all = this->shown(inside().gradients.all());
    inside().take_mean(all);
    return all;
  }
  // The same by the names of their parameters, from the first layer to the last: f(named_parameter<T>).
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
  // The same by the names of the parameters, buffer after buffer: f(i, named_parameter<T>).
  template <class F>
  void for_each_optimizer_state(F&& f) {
    auto all = inside().states_on_host();
    for (std::size_t i = 0; i < all.states(); ++i) all.for_each_of_state(i, [&](const named_parameter<sum>& q) { f(i, q); });
    all.give_back();
  }

  // What this trainer does in a step, op by op in the order in which it happens; or in a micro-batch, a forward pass alone, an
  // evaluation, or a step of other ranks that it joins. It is a constant, unless the schedule was solved when the program ran.
  template <step_kind Kind = step_kind::step>
  std::span<const step_op> step_ops() const {
    return inside().template list<Kind>();
  }

  // Micro-batches that were accumulated since the last step.
  std::size_t micro_batches() const { return inside().counters.micro_batches; }
  std::span<std::byte> arena() { return this->shown(std::span{inside().replica.arena_memory().data(), arena_bytes()}); }
  // f(bytes) with the arena, which f may fill; on a device whose memory is not the host's a copy, which is brought over then.
  template <class F>
  void with_arena(F&& f) {
    wait();
    auto& replica = inside().replica;
    detail::host_copy<std::byte, Device> all(replica.device(), {replica.arena_memory().data(), arena_bytes()});
    f(all.numbers());
    all.give_back();
  }
  std::size_t arena_bytes() { return inside().replica.arena_memory().size(); }

  // What a trainer of so many ranks, whose optimizer has so many states, allocates on its device: parameters, buffers, gradients,
  // states, the arena, and where the device's memory is not the host's the slots of its batches. Not what the device keeps for
  // itself, nor a larger arena of a schedule that was solved at run time. See device_bytes.
  static constexpr std::size_t bytes_on_device(std::size_t states, std::size_t ranks = 1) { return types::bytes(states, ranks); }

  std::uint64_t steps() const { return inside().counters.steps; } // updates so far

  // What the trainer is besides parameters, buffers and the optimizer's state. Who gives all of them to another trainer makes
  // the same steps there: save_state() and load_state() (train/state/saved_state.hpp) do it through a file. Micro-batches since
  // the last step are forgotten. Of the words restore() takes nothing: whether they fit is for the caller to compare.
  training_state state() { return inside().state(); }
  void restore(const training_state& s) { inside().restore(s); }

  // Asks every rank to stop: the news goes with the next step's gradients, or with join(), and when that is made
  // stop_requested() is true on all ranks, whichever asked. So all leave their loops after the same step. The step behind it
  // knows nothing of it.
  void request_stop() { inside().counters.wants_to_stop = true; }
  bool stop_requested() const { return inside().counters.stops; }
  // Of the next step; where the options gave a schedule, that decides.
  double learning_rate() const { return inside().learning_rate_now(); }
  // Of the step behind so many, if the program sets no other.
  double learning_rate_at(std::uint64_t steps) const { return inside().learning_rate_at(steps); }
  void learning_rate(double rate) { inside().set_learning_rate(rate); }
  // The optimizer, and another one of as many states from the next step on: other momentum, weight decay or betas. A
  // learning_rate that is not that of the one before is the rate from now on; where the options gave a schedule, which would
  // decide all the same, it is an input_error. The loss likewise. With ddp every rank gives the same: the next step compares.
  const Optimizer& optimizer() const { return inside().updates.optimizer(); }
  void optimizer(const Optimizer& other) { inside().set_optimizer(other); }
  const Loss& loss() const { return inside().options.loss; }
  void loss(const Loss& other) { inside().set_loss(other); }
  // Of the last step, over all ranks and micro-batches, before clipping. Only known with clipping. On a device whose work is done
  // later it waits for the step.
  double gradient_norm() {
    wait();
    return inside().counters.gradient_norm;
  }
  // Comes back when all steps are done, and throws what went wrong in them: to look at the clock, or before the ranks part. On
  // a cpu they are done when step() returns.
  void wait() { inside().wait_for_all(); }
  // Called with every place in the arena that a step discards: first byte and how many; with a fused update with a
  // bucket's too, when it was used. For tests and for the curious.
  void on_discard(detail::callback<std::byte*, std::size_t> listener) { inside().discarded = listener; }

private:
  // The judges of a step: see train/step/judges.hpp.
  template <class Targets>
  using judged_by_loss = detail::judged_by_loss<training_type, Targets>;
  template <class Gradient>
  using given_gradient = detail::given_gradient<training_type, Gradient>;
  template <class F>
  using judged_by_function = detail::judged_by_function<training_type, std::remove_reference_t<F>>;
  template <class Inputs, class Judge, class... Hooks>
  loss_type make_step(const Inputs& inputs, const Judge& judge, const Hooks&... hooks) {
    const detail::watch_of<trainer, Hooks...> watch(*this, hooks...);
    return detail::make_step<step_kind::step>(inside(), inputs, judge, watch);
  }
  template <class Inputs, class Judge, class... Hooks>
  loss_type make_micro_batch(const Inputs& inputs, const Judge& judge, const Hooks&... hooks) {
    const detail::watch_of<trainer, Hooks...> watch(*this, hooks...);
    return detail::make_step<step_kind::micro_batch>(inside(), inputs, judge, watch);
  }
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
