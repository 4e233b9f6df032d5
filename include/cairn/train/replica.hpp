// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/random.hpp>
#include <cairn/core/view.hpp>
#include <cairn/data/owned_tensor.hpp>
#include <cairn/device/device.hpp>
#include <cairn/device/wait_on_host.hpp>
#include <cairn/net/blueprint.hpp>
#include <cairn/net/execute.hpp>
#include <cairn/net/function_of.hpp>
#include <cairn/ops/copy/copy.hpp>
#include <cairn/ops/cpu.hpp>
#include <cairn/ops/transfer/transfer.hpp>
#include <cairn/train/host_copy.hpp>
#include <cairn/train/input_arrays.hpp>
#include <cairn/train/parameters.hpp>
#include <cairn/train/staging_slots.hpp>
#include <cairn/train/working_copy.hpp>
#include <cairn/train/wrong_arguments.hpp>

namespace cairn {

namespace detail {

// The device of a replica: its own, or one that it shares with another.
template <class Device>
class held_device {
public:
  held_device(const device_options& options = {}) : own_(std::make_unique<Device>(options)), device_(own_.get()) {}
  explicit held_device(Device& shared) : device_(&shared) {}

  Device& operator*() const { return *device_; }
  Device* operator->() const { return device_; }

private:
  std::unique_ptr<Device> own_;
  Device* device_;
};

// How a replica waits for its device where nothing else has to be looked at.
template <class Device>
struct plain_wait {
  Device& device;

  void operator()(const typename Device::event& event) const {
    wait_on_host(device.compute(), event, longest_wait, [] {});
  }
};

// What a model and a trainer have in common: parameters and buffers on a device, the arena, and evaluation in it. Plan is
// the blueprint of Net; if it Trains, its training step is compiled too.
//
// Where the host cannot read the device's memory, inputs go there through slots, each with `more` bytes behind them for
// what else a step has to tell.
template <class Plan, class Net, class T, class Device, bool Trains>
class replica_of {
public:
  using plan = Plan;
  using sum = accumulated<T>; // of parameters, buffers, inputs and outputs as they are shown
  using queue = typename Device::queue;
  using memory = typename Device::memory;
  static constexpr bool is_apart = !shares_memory<Device>;
  using working_type = working_copy<plan, T, Device>;

  static_assert(plan::right_ties || true); // what is wrong says so itself

  replica_of(held_device<Device> device, seed s, std::size_t arena_bytes, std::size_t more = 0)
      : device_(std::move(device)), parameters_(device_->allocate(plan::parameter_block * sizeof(sum))),
        buffers_(device_->allocate(plan::state_block * sizeof(sum))), arena_(device_->allocate(arena_of(arena_bytes))),
        slots_(make_slots(*device_, more)), working_(*device_) {
    if constexpr (Trains && plan::tie_count > 0) tied_gradients_ = device_->allocate(plan::ties.elements * sizeof(sum));
    host_copy<sum, Device> learnt(*device_, parameters()), kept(*device_, buffers());
    initialize(code(), learnt.numbers(), kept.numbers(), s);
    learnt.give_back();
    kept.give_back();
  }
  replica_of(const replica_of&) = delete;
  replica_of& operator=(const replica_of&) = delete;

  static constexpr std::size_t arena_of(std::size_t asked) {
    return asked > plan::evaluated::arena ? asked : plan::evaluated::arena;
  }
  // Everything that it allocates on the device.
  static constexpr std::size_t bytes(std::size_t arena, std::size_t more) {
    std::size_t all = (plan::parameter_block + plan::state_block) * sizeof(sum) + arena_of(arena) + working_type::bytes;
    if constexpr (Trains && plan::tie_count > 0) all += plan::ties.elements * sizeof(sum);
    if constexpr (is_apart) all += 2 * (taken_inputs<plan, T>::bytes + more);
    return all;
  }

  static constexpr const program<T, queue>& code() {
    if constexpr (Trains) return program_of<plan, T, queue>;
    else return evaluation_of<plan, T, queue>;
  }

  Device& device() { return *device_; }
  std::size_t threads() {
    if constexpr (requires(queue& q) { q.threads(); }) return device_->compute().threads();
    else return 1;
  }
  memory& arena_memory() { return arena_; }
  std::span<sum> parameters() { return {reinterpret_cast<sum*>(parameters_.data()), plan::parameter_block}; }
  std::span<const sum> parameters() const { return {reinterpret_cast<const sum*>(parameters_.data()), plan::parameter_block}; }
  std::span<sum> buffers() { return {reinterpret_cast<sum*>(buffers_.data()), plan::state_block}; }
  std::span<const sum> buffers() const { return {reinterpret_cast<const sum*>(buffers_.data()), plan::state_block}; }
  std::uint64_t checksum() const {
    return detail::checksum(std::as_bytes(host_copy<const sum, Device>(*device_, parameters()).numbers()));
  }

  // Every parameter, then every buffer, where it lies: the host may not be able to read it.
  template <class F>
  void for_each(F& f) const {
    const flat_buffers<sum> all{.parameters = {reinterpret_cast<sum*>(parameters_.data()), plan::parameter_block},
                                .buffers = {reinterpret_cast<sum*>(buffers_.data()), plan::state_block}};
    walk_parameters<false>(code(), all, f);
    walk_parameters<true>(code(), all, f);
  }

  // Everything of a frame that the whole network shares, without its inputs.
  frame<T> lend(std::size_t rows, pass why) {
    frame<T> f;
    f.rows = rows;
    f.workspace = arena_.data();
    working_.lend_parameters(device_->compute(), f, parameters().data(), buffers().data());
    f.buffers = buffers().data();
    f.tied_gradients = reinterpret_cast<sum*>(tied_gradients_.data());
    f.why = why;
    return f;
  }
  // f(frame) with inputs too. Where ops cannot read them from where the program has them they go through a slot, whose rest
  // write(bytes) fills; what f puts on the queue may read all of it. `wait` waits for an event.
  template <step_inputs Inputs, class Wait, class Write, class F>
  auto with_inputs(std::size_t rows, const Inputs& inputs, pass why, [[maybe_unused]] const Wait& wait,
                   [[maybe_unused]] const Write& write, const F& f) {
    if constexpr (is_apart) {
      slots_.turn(wait);
      const typename staging_slots<Device>::use in_use(slots_);
      taken_inputs<plan, T>::copy(inputs, rows, slots_.here());
      write(slots_.here() + taken_inputs<plan, T>::bytes);
      slots_.send();
      inputs_.take_copied(slots_.there());
      return f(lend_taken(rows, why));
    } else {
      inputs_.take(inputs);
      return f(lend_taken(rows, why));
    }
  }
  const std::byte* behind_inputs() const { return slots_.there() + taken_inputs<plan, T>::bytes; }

  // The first output of these samples in evaluation mode, on the device and in the arena; `where` is for errors.
  template <step_inputs Inputs, class Wait>
  tensor_view<const T> evaluate(const Inputs& inputs, const char* where, const Wait& wait) {
    const std::size_t rows = rows_of(inputs, where);
    with_inputs(
        rows, inputs, pass::evaluate, wait, [](std::byte*) {},
        [this](const frame<T>& lent) { run_forward(code(), device_->compute(), lent); });
    return evaluated(rows);
  }
  tensor_view<const T> evaluated(std::size_t rows) {
    const operands& at = plan::evaluated::memory.at[plan::evaluated::schedule.loss];
    return {elements_at(at.input), rows, plan::output_shape};
  }
  // The same in memory of its own, or in that of the caller.
  template <step_inputs Inputs, class Wait>
  owned_tensor<sum> evaluate_apart(const Inputs& inputs, const char* where, const Wait& wait) {
    return fetched(shown(evaluate(inputs, where, wait)), wait);
  }
  template <step_inputs Inputs, class Wait>
  tensor_view<const sum> evaluate_into(const Inputs& inputs, std::span<sum> into, const char* where, const Wait& wait) {
    const std::size_t needed = rows_of(inputs, where) * plan::output_shape.size();
    if (into.size() < needed)
      throw input_error(std::string(where) + ": expected room for " + std::to_string(needed) + " outputs, found " +
                        std::to_string(into.size()));
    const tensor_view<const sum> outputs = shown(evaluate(inputs, where, wait));
    fetch(needed, into.data(), outputs.data(), wait);
    return {into.data(), outputs.rows(), outputs.sample_shape()};
  }
  // What lies on the device, in memory of the host.
  template <class U, class Wait>
  owned_tensor<U> fetched(const tensor_view<const U>& there, const Wait& wait) {
    owned_tensor<U> own(there.rows(), there.sample_shape());
    fetch(own.size(), own.data(), there.data(), wait);
    return own;
  }
  template <class U, class Wait>
  void fetch(std::size_t count, U* to, const U* from, const Wait& wait) {
    download(device_->compute(), count, to, from);
    wait(device_->compute().record());
  }
  // Outputs as the program sees them, on the device.
  tensor_view<const sum> shown(const tensor_view<const T>& outputs) { return working_.shown(device_->compute(), outputs); }
  auto& working() { return working_; }
  T* elements_at(const place& p) { return reinterpret_cast<T*>(arena_.data() + p.offset()); }

  template <step_inputs Inputs>
  static std::size_t rows_of(const Inputs& inputs, const char* where) {
    return taken_inputs<plan, T>::rows(inputs, plan::batch, where);
  }

  template <class Plan2, class Net2, bool Trains2>
  void copy_from(const replica_of<Plan2, Net2, T, Device, Trains2>& other) {
    using own = function_of<Net>;
    using others = function_of<Net2>;
    if constexpr (!std::is_same_v<own, others>) {
      refuse<other_function<own, others>>();
    } else {
      // Name by name, as a frozen block's parameters lie elsewhere. Neither trainer goes on before it is done.
      finish_on_host(other.device_->compute());
      std::vector<std::span<sum>> from;
      const auto collect = [&](const named_parameter<sum>& q) { from.push_back(q.numbers); };
      other.for_each(collect);
      std::size_t next = 0;
      const auto take = [&](const named_parameter<sum>& q) {
        copy(device_->compute(), q.numbers.size(), q.numbers.data(), from[next++].data());
      };
      for_each(take);
      finish_on_host(device_->compute());
    }
  }

  template <class, class, class, class, bool>
  friend class replica_of;

private:
  frame<T> lend_taken(std::size_t rows, pass why) {
    frame<T> f = lend(rows, why);
    f.inputs = working_.lend_inputs(device_->compute(), rows, inputs_.tensors_taken());
    f.constants = inputs_.constants_taken();
    return f;
  }

  struct no_slots {};
  using slots_type = std::conditional_t<is_apart, staging_slots<Device>, no_slots>;
  static slots_type make_slots(Device& device, [[maybe_unused]] std::size_t more) {
    if constexpr (is_apart) return slots_type(device, taken_inputs<plan, T>::bytes + more);
    else return {};
  }

  held_device<Device> device_;
  memory parameters_;
  memory buffers_;
  memory arena_;
  memory tied_gradients_;
  [[no_unique_address]] slots_type slots_;
  [[no_unique_address]] working_type working_;
  taken_inputs<plan, T> inputs_{};
};

// How others reach the replica of a model or a trainer, what joins a trainer with the other ranks, and what tells how it makes
// its steps.
struct replica_access {
  template <class Owner>
  static auto& of(Owner& owner) {
    return owner.replica_;
  }
  // Its numbers where the host may use them: of a model, or of a trainer with its optimizer's states.
  template <class Owner>
  static auto weights(Owner& owner) {
    return owner.on_host();
  }
  template <class Trainer>
  static auto weights_and_states(Trainer& trainer) {
    return trainer.states_on_host();
  }
  template <class Trainer>
  static auto& comm(Trainer& trainer) {
    return trainer.comm();
  }
  template <class Trainer>
  static auto& compute(Trainer& trainer) {
    return trainer.compute();
  }
  template <class Trainer>
  static const auto& options(const Trainer& trainer) {
    return trainer.options_;
  }
  // One step of the others, of a rank without samples: see joined_step.hpp.
  template <class Trainer>
  static bool take_part(Trainer& trainer) {
    return trainer.take_part();
  }
  template <class Trainer>
  static auto on_discard(const Trainer& trainer) {
    return trainer.discarded_;
  }
  // trainer.step(inputs, targets) with something that watches it: see training_step.hpp.
  template <class Trainer, class Inputs, class Targets, class Watch>
  static auto step(Trainer& trainer, const Inputs& inputs, const Targets& targets, Watch& watch) {
    return trainer.take_step(inputs, typename Trainer::template judged_by_loss<Targets>{trainer, targets}, watch);
  }
};

} // namespace detail

} // namespace cairn
