// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include <cairn/comm/call_purpose.hpp>
#include <cairn/comm/exchange.hpp>
#include <cairn/comm/loopback.hpp>
#include <cairn/comm/through_host.hpp>
#include <cairn/core/accumulated.hpp>
#include <cairn/core/error.hpp>
#include <cairn/device/wait_on_host.hpp>
#include <cairn/net/blueprint.hpp>
#include <cairn/net/execute.hpp>
#include <cairn/net/solved_step.hpp>
#include <cairn/ops/cpu.hpp>
#include <cairn/ops/transfer/transfer.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/input_arrays.hpp>
#include <cairn/train/losses/taken_loss.hpp>
#include <cairn/train/optimizers/updates.hpp>
#include <cairn/train/ranks/handshake.hpp>
#include <cairn/train/ranks/rank_sums.hpp>
#include <cairn/train/ranks/rank_texts.hpp>
#include <cairn/train/ranks/step_facts.hpp>
#include <cairn/train/replica_owner.hpp>
#include <cairn/train/settings.hpp>
#include <cairn/train/state/training_state.hpp>
#include <cairn/train/step/step_gradients.hpp>
#include <cairn/train/step/step_guard.hpp>
#include <cairn/train/step/step_lists.hpp>
#include <cairn/train/step/step_loss.hpp>
#include <cairn/train/step/step_outcomes.hpp>
#include <cairn/train/training_options.hpp>
#include <cairn/train/wrong_arguments.hpp>

namespace cairn::detail {

template <class Model, class Batch, class T, class Device>
using owner_in_training =
    replica_owner<blueprint_of<typename replica<Model>::model, Batch::size, T, typename replica<Model>::update>,
                  typename replica<Model>::model, T, Device, true>;

// A replica in training, without its steps: what it has besides the replica, how it tells the program of work that may still be
// going on, and what it has in common with the other ranks.
template <class Model, class Loss, class Optimizer, class Batch, class T, class Device>
class trained_replica : public owner_in_training<Model, Batch, T, Device> {
  using distribution = replica<Model>;
  using base = owner_in_training<Model, Batch, T, Device>;

public:
  using base::buffers, base::parameters;
  using typename base::plan;
  static constexpr bool fused = plan::fused;
  using communicator_type = typename distribution::communicator_type;

  using lists = step_lists<Model, Batch::size, T>;
  static constexpr const auto& buckets = lists::buckets;

  static_assert(has_possible_size<plan::parameter_block>());
  static_assert(plan::trained::arena <= place::most_bytes,
                "trainer: this network and batch need an arena of more than 256 GiB; take a smaller batch");

  static constexpr std::size_t summed = lists::summed; // layers whose statistics are those of all ranks

  // Schedules that are solved when the program runs, from a budget of bytes: curve{}.within(3_MiB).
  using curve = memory_curve<typename distribution::model, Batch::size, T, typename plan::update>;
  using solved = solved_step_of<typename distribution::model, Batch::size, T, typename plan::update>;
  using options = training_options<Loss, solved, fused>;

  // What the trainer is besides parameters, buffers and the optimizer's state. Who gives all of them to another trainer makes
  // the same steps there: save_state() and load_state() (train/state/saved_state.hpp) do it through a file. Micro-batches since
  // the last step are forgotten. Of the words restore() takes nothing: whether they fit is for the caller to compare.
  training_state state() {
    replica_.expect_whole_step();
    const bool is_told = told_micro_batches_ > 0;
    return {.steps = steps_,
            .seed = options_.seed,
            .ranks = static_cast<std::uint64_t>(comm().size()),
            .micro_batches = is_told ? told_micro_batches_ : std::max(last_micro_batches_, micro_batches_before_),
            .micro_batches_are_told = is_told,
            .learning_rate = learning_rate_now(),
            .rate_was_set = rate_was_set_,
            .words = words_of<typename distribution::model, T>(options_, updates_.optimizer(), comm().size() > 1 ? summed : 0)};
  }
  void restore(const training_state& s) {
    check_number("trainer: expected a learning rate of 0 or more", s.learning_rate);
    steps_ = s.steps;
    options_.seed = s.seed;
    last_micro_batches_ = micro_batches_before_ = static_cast<std::size_t>(s.micro_batches);
    if (s.rate_was_set) learning_rate_ = s.learning_rate;
    rate_was_set_ = s.rate_was_set;
    micro_batches_ = 0;
    applied_scale_ = 1;
    is_scale_late_ = false;
  }

protected:
  friend struct replica_access;
  using queue = typename Device::queue;
  using sum = accumulated<T>; // of gradients, facts and what is learnt
  struct no_outcomes {};
  using outcomes_type = std::conditional_t<base::is_apart, step_outcomes<sum, Device>, no_outcomes>;
  static outcomes_type make_outcomes([[maybe_unused]] Device& device, [[maybe_unused]] std::size_t facts) {
    if constexpr (base::is_apart) return outcomes_type(device, facts);
    else return {};
  }
  using base::replica_;
  // As this device's queues can be given to it.
  using comm_type = typename communicator_on<communicator_type, Device>::type;
  static constexpr bool through = !std::is_same_v<comm_type, communicator_type>;
  using flat_gradients = step_gradients<plan, buckets, comm_type, sum, Device>;
  struct no_sums { // every rank has its own
    static constexpr std::size_t bytes = 0, most_bytes = 0, calls = 0;
    no_sums(Device&, comm_type&, const program<T, queue>&) {}
    const sums_of_layers* begin(summed_run) { return nullptr; }
  };
  using sums_type =
      typename std::conditional_t<(summed > 0), type_of<rank_sums<plan, comm_type, T, Device>>, type_of<no_sums>>::type;

  struct nothing_through {};
  using through_type = std::conditional_t<through, comm_type, nothing_through>;
  // Room for the calls of a step, and for one that sends all that a rank has.
  through_type make_through() {
    if constexpr (!through) return {};
    else {
      const std::size_t step =
          (flat_gradients::facts_of(ranks_of(comm_)) + plan::parameter_block) * sizeof(sum) + sums_type::bytes;
      const std::size_t calls = buckets.size() + 2 + sums_type::calls;
      return comm_type(replica_.device(), *comm_, calls, std::max(step, plan::state_block * sizeof(sum)), options_.deadline);
    }
  }

  using base::is_apart;
  using typename base::replica_type;

  trained_replica(held_device<Device> device, communicator_type* comm, Optimizer optimizer, options given)
      : base(std::move(device), seed{given.seed},
             is_solved(given) ? given.schedule.plan.memory.arena : plan::trained::memory.arena, more_staged(ranks_of(comm))),
        comm_(comm), options_(std::move(given)), through_(make_through()),
        updates_(optimizer, replica_.device(), plan::parameter_block),
        gradients_(replica_.device(), this->comm(),
                   is_solved(options_) ? flat_gradients::places_in(options_.schedule.plan.memory)
                                       : flat_gradients::places_in(plan::trained::memory),
                   replica_.arena_memory().data()),
        sums_(replica_.device(), this->comm(), code_),
        outcomes_(make_outcomes(replica_.device(), gradients_.facts_of(ranks_of(comm)))), learning_rate_(optimizer.learning_rate),
        settings_(settings()) {
    if constexpr (plan::gives_input_gradient) input_gradient_ = replica_.device().allocate(plan::whole.gradient_bytes(0));
    if constexpr (is_apart) {
      accumulation_ = replica_.device().allocate(accumulation_bytes);
      loss_constants_ = replica_.device().allocate(most_constants<Loss>(base::output_shape) * sizeof(sum));
      send_constants();
    }
    if (is_solved(options_)) {
      code_.training = walk_of_plan<T, queue>(options_.schedule.plan);
      solved_lists_ = lists::solved(options_.schedule.plan.training);
    }
    if constexpr (divides_parameters<Optimizer>)
      this->for_each([this](const named_parameter<sum>& q) {
        if (!q.is_frozen) updates_.add(q);
      });
    updates_.check_groups();
  }
  // What is on the queues works with memory that is about to be freed. What went wrong is told where a step or a loss is asked
  // for; here nothing can be done about it. Where gradients go through the host, no queue waits for other ranks, and those that
  // a failed step left on their way are still read.
  ~trained_replica() {
    if constexpr (is_apart) {
      try {
        if constexpr (through) {
          compute().wait(replica_.device().transfers().record());
          wait_on_host(compute(), compute().record(), options_.deadline, [] {});
        } else {
          waiting()(compute().record());
        }
      } catch (...) {
      }
    }
  }

  static std::size_t ranks_of(const communicator_type* comm) {
    return comm == nullptr ? 1 : static_cast<std::size_t>(comm->size());
  }

  // Behind the inputs of a slot: targets, of the widest numbers there are, and this rank's facts.
  static constexpr std::size_t target_bytes =
      align_up(Batch::size * Loss::targets_per_sample(base::output_shape) * sizeof(std::uint64_t));
  static constexpr std::size_t more_staged(std::size_t ranks) {
    return target_bytes + align_up(flat_gradients::facts_of(ranks) * sizeof(sum));
  }
  static constexpr std::size_t all_bytes(std::size_t states, std::size_t ranks) {
    std::size_t all = replica_type::bytes(plan::trained::memory.arena, more_staged(ranks)) + accumulation_bytes +
                      flat_gradients::bytes(ranks) + states * plan::parameter_block * sizeof(sum);
    if (plan::gives_input_gradient) all += plan::whole.gradient_bytes(0);
    if (ranks > 1) all += sums_type::bytes;
    if constexpr (is_apart) all += most_constants<Loss>(base::output_shape) * sizeof(sum) + 2 * outcomes_type::bytes_of(0);
    return all;
  }
  static constexpr std::size_t accumulation_bytes = fused ? 0 : plan::largest_block * sizeof(sum);

  std::uint64_t settings() const {
    return settings_of(options_.loss, updates_.optimizer(), max_norm(), fused, options_.learning_rate, options_.seed,
                       options_.check_every);
  }
  // At the start of several ranks: throws on all if they were built or set differently, and takes rank 0's parameters.
  void meet() {
    const calls_for handshake(comm(), {.word = "handshake", .may_take_long = true}); // a rank may still read its data
    tell_reserve(comm(), std::max(gradients_.on_the_way().most_bytes(), sums_type::most_bytes));
    fingerprint own = lists::print;
    if (is_solved(options_)) own = with_schedule(own, code_.training.ops, hash_of_calls(list<step_kind::step>()));
    compare_builds(comm(), compute(), with_build(own), settings_, texts_of<lists>(options_, updates_.optimizer()));
    broadcast_replica(0, "handshake");
  }
  void broadcast_replica(int root, const char* word = "synchronize") {
    const calls_for now(comm(), {.word = word});
    broadcast(comm(), compute(), std::as_writable_bytes(replica_.parameters()), root);
    broadcast(comm(), compute(), std::as_writable_bytes(replica_.buffers()), root);
    for (std::size_t i = 0; i < updates_.states(); ++i)
      broadcast(comm(), compute(), std::as_writable_bytes(updates_.state(i)), root);
    broadcast_on_host(comm(), compute(), std::as_writable_bytes(std::span{&steps_, 1}), root);
    last_samples_ = {};
  }

  auto states_on_host() {
    auto all = this->on_host();
    for (std::size_t i = 0; i < updates_.states(); ++i) all.add_state(updates_.state(i));
    return all;
  }

  static bool is_solved(const options& given) { return given.schedule.plan.training.count > 0; }
  queue& compute() { return replica_.device().compute(); }

  comm_type& comm() {
    if constexpr (through) return through_;
    else if constexpr (distribution::distributed) return *comm_;
    else return alone_;
  }

  double max_norm() const { // 0: nothing is clipped
    if constexpr (fused) return 0;
    else return options_.clip.max_norm;
  }

  double learning_rate_now() const {
    return options_.learning_rate && !rate_was_set_ ? options_.learning_rate.at(steps_) : learning_rate_;
  }

  // For the program: the loss, or where it will be.
  loss_of_step<Device> told([[maybe_unused]] double loss) {
    if constexpr (!is_apart) return loss;
    else {
      auto& o = outcomes_.latest();
      outcomes_.end(compute(), o, gradients_.on_the_way().facts().data());
      return step_loss(static_cast<trained_replica*>(this), o.call, &read_loss);
    }
  }
  static double read_loss(void* self, std::uint64_t call, bool wait, bool& is_there)
    requires is_apart
  {
    auto* const me = static_cast<trained_replica*>(self);
    if (wait && me->outcomes_.is_open(call)) me->wait_for_all();
    me->outcomes_.settle([me](auto& o) { return me->compute().reached(o.done); }, [me](auto& o) { me->settle(o); });
    is_there = !me->outcomes_.is_open(call);
    return is_there ? me->outcomes_.loss_of(call) : 0;
  }

  // Waits for the device, and asks meanwhile whether the other ranks are still there.
  auto waiting() {
    return [this](const typename Device::event& event) {
      wait_on_host(compute(), event, options_.deadline, [this] { tell_check(comm()); });
    };
  }
  // A micro-batch is over: its loss, the norm of its gradients, and whether the ranks made the same step.
  void settle(auto& o) {
    try {
      waiting()(o.done);
    } catch (const device_error& failed) { // perhaps at what the queue was given since
      const std::uint64_t last = outcomes_.latest().step;
      throw failed.in_step(step_guard::name_of(o.step) + (last > o.step ? " or " + std::to_string(last) : ""));
    }
    outcomes_.close(o);
    if (o.has_norm) gradient_norm_ = std::sqrt(o.told().squares) * o.mean();
    if (o.has_norm || o.has_mean) late_scale_ = o.has_norm ? o.scale * o.told().factor : o.mean();
    if (!o.has_facts) return;
    const auto ranks = static_cast<std::size_t>(comm().size());
    const std::span<const sum> facts = o.facts(gradients_.on_the_way().facts().size());
    try {
      facts_of_ranks<sum>::compare(facts, ranks);
    } catch (const error& differ) {
      guard_.fail(differ.what());
      throw;
    }
    stops_ = facts_of_ranks<sum>::any_asks_to_stop(facts, ranks);
    last_samples_ = facts_of_ranks<sum>::samples_of(facts, ranks);
  }
  // Comes back when all that was asked for is done and known.
  void wait_for_all() {
    if constexpr (is_apart) {
      outcomes_.settle([](auto&) { return true; }, [this](auto& o) { this->settle(o); });
      waiting()(compute().record());
    }
  }
  // The loss that the queue is about to write; waits for it.
  double loss_now(const judged_at& at) {
    if constexpr (!is_apart) return *at.loss;
    else {
      auto& o = outcomes_.latest();
      download(compute(), sizeof(step_numbers), o.here.data(), static_cast<const std::byte*>(o.there.data()));
      waiting()(compute().record());
      return o.told().loss;
    }
  }
  void send_constants() {
    if constexpr (is_apart) {
      const std::span<const sum> numbers = constants_of<sum>(options_.loss);
      if (numbers.empty()) return;
      if (numbers.size_bytes() > loss_constants_.size())
        throw input_error("trainer: expected a loss with at most " + std::to_string(loss_constants_.size() / sizeof(sum)) +
                          " numbers of its own, found " + std::to_string(numbers.size()));
      upload(compute(), numbers.size(), reinterpret_cast<sum*>(loss_constants_.data()), numbers.data());
      waiting()(compute().record());
    }
  }

  // Where ops find what judges the outputs of the inputs that were just lent. `loss` is a place for it where the host shares
  // memory; elsewhere it is that of the latest outcome.
  judged_at judged([[maybe_unused]] double& loss) {
    if constexpr (is_apart)
      return {
          .targets = replica_.behind_inputs(), .constants = loss_constants_.data(), .loss = &outcomes_.latest().numbers()->loss};
    else return {.constants = constants_of<sum>(options_.loss).data(), .loss = &loss};
  }
  // A micro-batch or an evaluation begins.
  void begin_outcome() {
    if constexpr (is_apart) outcomes_.begin([this](auto& before) { this->settle(before); }).step = steps_ + 1;
  }

  // What the forward pass of the next micro-batch works with. Random numbers differ between the micro-batches of a step, and N
  // ranks draw those of N micro-batches.
  frame<T> with_random(frame<T> lent) {
    const auto ranks = static_cast<std::uint64_t>(comm().size());
    const auto rank = static_cast<std::uint64_t>(comm().rank());
    lent.random = key_of_micro_batch(options_.seed, steps_, micro_batches_ * ranks + rank);
    return lent;
  }
  // The list of what is done: a constant, unless the schedule was solved when the program ran.
  template <step_kind Kind>
  std::span<const step_op> list() const {
    if (Kind != step_kind::evaluation && is_solved(options_)) return solved_lists_[static_cast<std::size_t>(Kind)].ops();
    return lists::template list<Kind>.ops();
  }
  const operands& at_loss() const { return code_.training.at[code_.training.loss]; }

  communicator_type* comm_ = nullptr;
  [[no_unique_address]] std::conditional_t<distribution::distributed, std::monostate, loopback::rank> alone_{};
  options options_;
  through_type through_;
  program<T, queue> code_ = program_of<plan, T, queue>;
  typename lists::of_solved solved_lists_{}; // of a schedule that was solved when the program ran
  updates<Optimizer, sum, Device> updates_;
  typename Device::memory accumulation_;           // the gradients of one stage: not of a fused update
  typename Device::memory input_gradient_;         // if the network gives it
  typename Device::memory loss_constants_;         // where the host cannot share its own
  typename Device::host_memory own_loss_memory_{}; // what a loss of the program's own writes: from its first use on
  flat_gradients gradients_;
  [[no_unique_address]] sums_type sums_;
  [[no_unique_address]] outcomes_type outcomes_;
  step_guard guard_{};
  std::size_t micro_batches_ = 0;        // since the last step
  std::size_t last_micro_batches_ = 1;   // of the last step
  std::size_t micro_batches_before_ = 1; // of the step before that
  std::size_t told_micro_batches_ = 0;   // of every step but the last of an epoch, as fit() says; 0: nobody has said it
  ranks_with_samples last_samples_{};    // of the last step since the ranks began, or have joined
  std::size_t rows_ = 0;                 // samples of the last micro-batch
  std::uint64_t steps_ = 0;
  double learning_rate_;
  bool rate_was_set_ = false; // by the program, whatever the schedule says
  std::uint64_t settings_;
  double gradient_norm_ = 0;
  double applied_scale_ = 1;   // what gradients() still has to multiply by
  bool is_scale_late_ = false; // it is late_scale_, which is known when the step is over
  double late_scale_ = 1;
  bool wants_to_stop_ = false; // this rank asks to, from the next step on
  bool stops_ = false;         // a rank asked to in the last step
  callback<std::byte*, std::size_t> discarded_{};
};

} // namespace cairn::detail
