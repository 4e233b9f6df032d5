// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/core/random.hpp>
#include <cairn/core/view.hpp>
#include <cairn/device/wait_on_host.hpp>
#include <cairn/net/execute.hpp>
#include <cairn/ops/transfer/transfer.hpp>
#include <cairn/plan/step/left_behind.hpp>
#include <cairn/plan/step/step_op.hpp>
#include <cairn/plan/step/step_walk.hpp>
#include <cairn/train/input_arrays.hpp>
#include <cairn/train/losses/taken_loss.hpp>
#include <cairn/train/ranks/handshake.hpp>
#include <cairn/train/ranks/rank_texts.hpp>
#include <cairn/train/settings.hpp>
#include <cairn/train/state/training_state.hpp>
#include <cairn/train/step/loss_scale_of_steps.hpp>
#include <cairn/train/step/step_counters.hpp>
#include <cairn/train/step/step_guard.hpp>
#include <cairn/train/step/step_loss.hpp>
#include <cairn/train/step/training_types.hpp>

namespace cairn::detail {

// The parts of a trainer, and what several of them do together. Steps are made with them in training_step.hpp and
// joined_step.hpp; files, fit and reports reach them by trainer::inside(). Types is a training_types<...>.
template <class Types>
struct training {
  using types = Types;
  using plan = typename Types::plan;
  using T = typename Types::element;
  using sum = typename Types::sum;
  using device_type = typename Types::device;
  using queue = typename Types::queue;
  using facts_type = typename Types::facts;
  using options_type = typename Types::options;
  using optimizer_type = typename Types::optimizer;
  using communicator_type = typename Types::communicator_type;
  using outcome = typename Types::outcomes::outcome;
  static constexpr bool is_apart = Types::is_apart;

  // `comm` is null where the model is no ddp.
  training(held_device<device_type> on, communicator_type* comm, const optimizer_type& chosen, options_type given)
      : options(std::move(given)),
        replica(std::move(on), seed{options.seed}, is_solved() ? options.schedule.plan.memory.arena : plan::trained::memory.arena,
                Types::target_bytes),
        ranks(replica.device(), comm, Types::calls_of_step, Types::most_bytes_on_the_way(Types::ranks::count_of(comm)),
              options.deadline),
        updates(chosen, replica.device(), plan::parameter_block),
        gradients(replica.device(), this->comm(),
                  is_solved() ? Types::gradients::places_in(options.schedule.plan.memory)
                              : Types::gradients::places_in(plan::trained::memory),
                  replica.arena_memory().data()),
        sums(replica.device(), this->comm(), code), scale(replica.device()),
        outcomes(replica.device(), gradients.facts_of(ranks.count())) {
    counters.learning_rate = chosen.learning_rate;
    begin_loss_scale(*this);
    settings = current_settings();
    if constexpr (Types::input_gradient_bytes > 0) input_gradient = replica.device().allocate(Types::input_gradient_bytes);
    accumulation = replica.device().allocate(Types::accumulation_bytes);
    loss_constants = replica.device().allocate(Types::constant_bytes);
    send_constants();
    if (is_solved()) {
      code.training = walk_of_plan<T, queue>(options.schedule.plan);
      code.order = plan::order; // it was solved for the blocks as they were typed
      code.stages = plan::typed_stages;
      solved_lists = Types::lists::solved(options.schedule.plan.training);
    }
    if constexpr (divides_parameters<optimizer_type>) {
      const auto add = [this](const named_parameter<sum>& q) {
        if (!q.is_frozen) updates.add(q);
      };
      replica.on_host().for_each_parameter(add);
    }
    updates.check_groups();
  }
  training(const training&) = delete;
  training& operator=(const training&) = delete;
  // Waits for the queues, whose ops use memory that this destructor frees. Errors are dropped here: steps and losses report
  // them. Where gradients go through the host, no queue waits for other ranks, but gradients that a failed step left in flight
  // are still read.
  ~training() {
    try {
      if constexpr (Types::ranks::through) {
        compute().wait(downloads_of(replica.device()).record());
        wait_on_host(compute(), compute().record(), options.deadline, [] {});
      } else {
        waiting()(compute().record());
      }
    } catch (...) {
    }
  }

  queue& compute() { return replica.device().compute(); }
  auto& comm() { return ranks.comm(); }
  bool is_solved() const { return options.schedule.plan.training.count > 0; }
  // The list of ops of this kind: a constant, unless the schedule was solved at run time.
  template <step_kind Kind>
  std::span<const step_op> list() const {
    if (Kind != step_kind::evaluation && is_solved()) return solved_lists[static_cast<std::size_t>(Kind)].ops();
    return Types::lists::template list<Kind>.ops();
  }
  const operands& at_loss() const { return code.training.at[code.training.loss]; }

  double max_norm() const { // 0: nothing is clipped
    if constexpr (Types::fused) return 0;
    else return options.clip.max_norm;
  }
  // Whether the loss is multiplied by a scale.
  bool scales_loss() const { return options.loss_scale.is_on(); }
  // The learning rate of the next step, and that of the step after `steps` updates if the program sets no other.
  double learning_rate_now() const {
    return options.learning_rate && !counters.rate_was_set ? options.learning_rate.at(counters.steps) : counters.learning_rate;
  }
  double learning_rate_at(std::uint64_t steps) const {
    return options.learning_rate ? options.learning_rate.at(steps) : updates.optimizer().learning_rate;
  }
  void set_learning_rate(double rate) {
    check_number("trainer: expected a learning rate of 0 or more", rate);
    counters.rate_was_set = true;
    counters.learning_rate = rate;
  }
  void set_optimizer(const optimizer_type& other) {
    const double before = updates.optimizer().learning_rate;
    const bool has_rate = is_another_rate(options.learning_rate && !counters.rate_was_set, before, other.learning_rate);
    updates.change(other);
    if (has_rate) set_learning_rate(other.learning_rate);
    settings = current_settings();
  }
  void set_loss(const typename Types::loss& other) {
    options.loss = other;
    send_constants();
    settings = current_settings();
  }

  training_memory memory() const {
    training_memory all = Types::memory(
        {.ranks = ranks.here(), .all_ranks = ranks.count(), .states = updates.states(), .threads = replica.threads()},
        is_solved() ? options.schedule.plan.memory.arena : plan::trained::memory.arena);
    all.shared = ranks.shared_bytes();
    return all;
  }

  // The state of the trainer besides parameters, buffers and the optimizer's state.
  training_state state() {
    replica.expect_whole_step();
    know_loss_scale(*this);
    const step_counters& c = counters;
    const bool is_told = told_micro_batches > 0;
    return {.steps = c.steps,
            .seed = options.seed,
            .ranks = ranks.count(),
            .micro_batches = is_told ? told_micro_batches : std::max(c.last_micro_batches, c.micro_batches_before),
            .micro_batches_are_told = is_told,
            .learning_rate = learning_rate_now(),
            .rate_was_set = c.rate_was_set,
            .loss_scale = c.loss_scale,
            .words = words_of<typename Types::network, T>(options, updates.optimizer(), ranks.count() > 1 ? Types::summed : 0)};
  }
  void restore(const training_state& s) {
    check_number("trainer: expected a learning rate of 0 or more", s.learning_rate);
    counters.begin_at(s.steps);
    options.seed = s.seed;
    counters.last_micro_batches = counters.micro_batches_before = static_cast<std::size_t>(s.micro_batches);
    if (s.rate_was_set) counters.learning_rate = s.learning_rate;
    counters.rate_was_set = s.rate_was_set;
    loss_scale_state saved = s.loss_scale;
    saved.scale = options.loss_scale.resumed(saved.scale);
    set_loss_scale(*this, saved);
  }
  weights_on_host<T, device_type> states_on_host() {
    auto all = replica.on_host();
    for (std::size_t i = 0; i < updates.states(); ++i) all.add_state(updates.state(i));
    return all;
  }

  // A frame for the forward pass of the next micro-batch, with its random key. Random numbers differ between the micro-batches
  // of a step, and N ranks draw those of N micro-batches.
  frame<T> with_random(frame<T> lent) {
    const auto rank = static_cast<std::uint64_t>(comm().rank());
    lent.random = key_of_micro_batch(options.seed, counters.steps, counters.micro_batches * ranks.count() + rank);
    return lent;
  }
  // The places where ops read targets and constants for the inputs just taken, and where they write the loss.
  judged_at judged() {
    judged_at at{.loss = &outcomes.latest().numbers()->loss};
    if constexpr (Types::can_scale_loss)
      if (scales_loss()) at.gradient_scale = loss_scale_for_ops(*this);
    if constexpr (is_apart) at.targets = replica.behind_inputs(); // else they are read in place
    if (!constants_of<sum>(options.loss).empty()) at.constants = loss_constants.data();
    return at;
  }

  // Begins a micro-batch or an evaluation.
  void begin_outcome() {
    outcomes.begin([this](outcome& before) { settle(before); }).step = counters.steps + 1;
  }
  // Ends a micro-batch. Returns the loss for the program: a number, or a step_loss.
  loss_of_step<device_type> told() {
    outcome& o = outcomes.latest();
    outcomes.end(compute(), o, gradients.on_the_way().facts().data());
    if constexpr (is_apart) return step_loss(this, o.call, &read_loss);
    else {
      settle(o); // it is over
      return outcomes.loss_of(o.call);
    }
  }
  // Waits for the loss that the queue is about to write, and returns it.
  double loss_now() {
    outcome& o = outcomes.latest();
    outcomes.fetch_numbers(compute(), o);
    waiting()(compute().record());
    return o.told().loss;
  }
  // Takes the facts of all ranks, where the host can read them. Throws input_error on all ranks if their steps differ.
  void learn(std::span<const sum> facts) {
    facts_type::compare(facts, ranks.count());
    counters.stops = facts_type::any_asks_to_stop(facts, ranks.count());
    counters.last_samples = facts_type::samples_of(facts, ranks.count());
    if (counters.stops) counters.wants_to_stop = false;
  }
  // Waits for a micro-batch and takes its results: the loss, the norm of its gradients, and whether the ranks agree.
  void settle(outcome& o) {
    try {
      waiting()(o.done);
    } catch (const device_error& failed) { // perhaps in a later op of the queue
      const std::uint64_t last = outcomes.latest().step;
      throw failed.in_step(step_guard::name_of(o.step) + (last > o.step ? " or " + std::to_string(last) : ""));
    }
    outcomes.close(o);
    if (o.has_norm) counters.gradient_norm = std::sqrt(o.told().squares) * o.mean();
    if (o.updates) counters.scale = o.has_norm ? o.scale * o.told().factor : o.mean();
    if constexpr (Types::scales_on_device)
      if (o.updates && scales_loss()) learn_loss_scale(*this, o.step, o.told().loss_scale);
    if (!o.has_facts) return;
    try {
      learn(outcomes.facts(o));
    } catch (const error& differ) {
      guard.fail(differ.what());
      throw;
    }
  }
  // Waits until all work is done and its results are known.
  void wait_for_all() {
    outcomes.settle([](outcome&) { return true; }, [this](outcome& o) { settle(o); });
    waiting()(compute().record());
  }
  // Returns a function that waits for an event of the device, and checks meanwhile that the other ranks are still there.
  auto waiting() {
    return [this](const typename device_type::event& event) {
      wait_on_host(compute(), event, options.deadline, [this] { tell_check(comm()); });
    };
  }

  // Lets a failed step end, whose results are dropped; it may wait for a rank that does not come.
  void let_end() {
    try {
      waiting()(compute().record());
    } catch (const error&) { // the communicator has given its calls up, so that nothing waits for them
      finish_on_host(compute());
    }
  }

  // The effects of an exception that comes out of the current walk.
  left_behind left() const {
    constexpr bool distributed = Types::distribution::distributed;
    return left_behind_by(walk.list(), walk.begun(),
                          {.wait_for_step = distributed, .wait_for_statistics = Types::summed > 0 && ranks.count() > 1});
  }
  // Called while an exception passes, if it left gradients.
  void abandon() {
    gradients.on_the_way().abandon();
    counters.give_up();
  }

  // Scales gradients for the program: the sums over micro-batches and ranks, times the factor of the last step.
  void take_mean(std::span<sum> all) {
    if (!std::exchange(counters.is_scaled, false)) return;
    wait_for_all();
    if (counters.scale == 1) return;
    for (sum& g : all) g *= static_cast<sum>(counters.scale);
  }
  // Divides the input gradient by the scale of its loss, where the program reads it in place.
  void unscale_input_gradient() {
    const auto factor = static_cast<T>(1 / std::exchange(counters.input_gradient_scale, 1.0));
    if (factor == T{1}) return;
    T* const all = reinterpret_cast<T*>(input_gradient.data());
    for (std::size_t i = 0; i < input_gradient.size() / sizeof(T); ++i) all[i] *= factor;
  }
  // The memory of the device that steps change, besides the arena. See kept_training.hpp.
  std::vector<std::span<std::byte>> memory_of_steps() {
    std::vector<std::span<std::byte>> out{std::as_writable_bytes(replica.parameters()),
                                          std::as_writable_bytes(replica.buffers()),
                                          {input_gradient.data(), input_gradient.size()},
                                          scale.memory()};
    for (std::size_t i = 0; i < updates.states(); ++i) out.push_back(std::as_writable_bytes(updates.state(i)));
    if constexpr (!Types::fused) out.push_back(std::as_writable_bytes(gradients.all()));
    return out;
  }

  std::uint64_t current_settings() const {
    return settings_of(options.loss, updates.optimizer(), max_norm(), Types::fused, options.learning_rate, options.seed,
                       options.check_every, options.loss_scale.text());
  }
  // The settings and the state of the loss scale in one number, which ranks compare in each step.
  std::uint64_t settings_now() const {
    if (!scales_loss()) return settings;
    hash64 h;
    h.add(settings);
    add_to(h, Types::scales_on_device ? counters.compared_scale() : counters.loss_scale);
    return h.value();
  }
  void send_constants() {
    if (Types::judged::send(compute(), loss_constants.data(), options.loss)) waiting()(compute().record());
  }
  static double read_loss(void* self, std::uint64_t call, bool wait, bool& is_there) {
    auto& me = *static_cast<training*>(self);
    if (wait && me.outcomes.is_open(call)) me.wait_for_all();
    me.outcomes.settle([&me](outcome& o) { return me.compute().reached(o.done); }, [&me](outcome& o) { me.settle(o); });
    is_there = !me.outcomes.is_open(call);
    return is_there ? me.outcomes.loss_of(call) : 0;
  }

  options_type options;
  typename Types::replica_type replica;
  typename Types::ranks ranks;
  program<T, queue> code = program_of<plan, T, queue>;
  typename Types::lists::of_solved solved_lists{}; // of a schedule that was solved at run time
  typename Types::updates_type updates;
  typename device_type::memory accumulation{};   // the gradients of one stage: not with a fused update
  typename device_type::memory input_gradient{}; // if the network gives it
  typename device_type::memory loss_constants{};
  typename device_type::host_memory own_loss_memory{}; // written by a loss of the program's own; from its first use on
  typename Types::gradients gradients;
  [[no_unique_address]] typename Types::sums sums;
  [[no_unique_address]] typename Types::scale scale;
  typename Types::outcomes outcomes;
  step_guard guard{};
  step_walk walk{}; // of the current step
  step_counters counters{};
  std::uint64_t settings = 0;
  std::size_t told_micro_batches = 0; // of every step but the last of an epoch, set by fit(); 0: not set
  callback<std::byte*, std::size_t> discarded{};
};

} // namespace cairn::detail
