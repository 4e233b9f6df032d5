// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/memory.hpp>
#include <cairn/core/random.hpp>
#include <cairn/core/view.hpp>
#include <cairn/data/owned_tensor.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/device/device.hpp>
#include <cairn/device/wait_on_host.hpp>
#include <cairn/net/blueprint.hpp>
#include <cairn/net/execute.hpp>
#include <cairn/net/function_of.hpp>
#include <cairn/ops/copy/copy.hpp>
#include <cairn/ops/cpu.hpp>
#include <cairn/train/execution_context.hpp>
#include <cairn/train/host_copy.hpp>
#include <cairn/train/input_arrays.hpp>
#include <cairn/train/parameters.hpp>
#include <cairn/train/updated_weights.hpp>
#include <cairn/train/weights_on_host.hpp>
#include <cairn/train/wrong_arguments.hpp>

namespace cairn::detail {

// Whether concurrent callers have a queue each. For this, ops on the queue of any device object must be able to access the
// memory of any other object of the same type. A cpu promises this; on other devices the calls of a model take turns.
template <class Device>
inline constexpr bool queue_for_each_caller = false;
template <>
inline constexpr bool queue_for_each_caller<cpu> = true;

// The parameters and buffers of a network on a device. Plan is the blueprint of Net; if `Trains`, its step is compiled too.
//
// As with a container, any number of threads may call const members at the same time, and one thread may call others while
// there is no other call. A trainer belongs to one thread altogether.
template <class Plan, class Net, class T, class Device, bool Trains>
class weights_of {
public:
  using plan = Plan;
  using sum = accumulated<T>; // of parameters and buffers as the program sees them
  using queue = typename Device::queue;
  using memory = typename Device::memory;
  static constexpr bool takes_turns = !Trains && !queue_for_each_caller<Device>;

  static_assert(plan::right_ties || true); // wrong ties report their own error

  weights_of(held_device<Device> device, seed s)
      : device_(std::move(device)), parameters_(device_->allocate(plan::parameter_block * sizeof(sum))),
        buffers_(device_->allocate(plan::state_block * sizeof(sum))) {
    host_copy<sum, Device> learnt(*device_, parameters()), kept(*device_, buffers());
    initialize(code(), learnt.numbers(), kept.numbers(), s);
    learnt.give_back();
    kept.give_back();
  }
  weights_of(const weights_of&) = delete;
  weights_of& operator=(const weights_of&) = delete;

  static constexpr std::size_t weight_bytes = (plan::parameter_block + plan::state_block) * sizeof(sum);

  static constexpr const program<T, queue>& code() {
    if constexpr (Trains) return program_of<plan, T, queue>;
    else return evaluation_of<plan, T, queue>;
  }

  Device& device() const { return *device_; }
  std::size_t threads() const {
    if constexpr (requires(queue& q) { q.threads(); }) return device_->compute().threads();
    else return 1;
  }
  std::span<sum> parameters() { return every_parameter(); }
  std::span<const sum> parameters() const { return every_parameter(); }
  std::span<sum> buffers() { return every_buffer(); }
  std::span<const sum> buffers() const { return every_buffer(); }
  std::uint64_t checksum() const {
    [[maybe_unused]] const auto turn = this->turn();
    return detail::checksum(std::as_bytes(host_copy<const sum, Device>(*device_, parameters()).numbers()));
  }
  // All elements, where the host can access them. Those of a const owner may only be read.
  weights_on_host<T, Device> on_host() const {
    [[maybe_unused]] const auto turn = this->turn();
    return {code(), *device_, every_parameter(), every_buffer()};
  }

  // Calls f with every parameter, then with every buffer, in the device's memory. The host may not be able to read it.
  template <class F>
  void for_each(F& f) const {
    const flat_buffers<sum> all{.parameters = every_parameter(), .buffers = every_buffer()};
    walk_parameters<false>(code(), all, f);
    walk_parameters<true>(code(), all, f);
  }

  template <class Plan2, class Net2, bool Trains2>
  void copy_from(const weights_of<Plan2, Net2, T, Device, Trains2>& other) {
    using own = function_of<Net>;
    using others = function_of<Net2>;
    if constexpr (!same_layers<Net, Net2>) {
      refuse<other_function<own, others>>();
    } else {
      // Copies name by name, as the parameters of a frozen block lie elsewhere. Waits for both devices.
      [[maybe_unused]] const auto turn = other.turn();
      finish_on_host(other.device().compute());
      std::vector<named_parameter<sum>> from;
      const auto collect = [&](const named_parameter<sum>& q) { from.push_back(q); };
      other.for_each(collect);
      std::size_t next = 0;
      if constexpr (!std::is_same_v<own, others>) {
        const auto compare = [&](const named_parameter<sum>& q) { expect_rows_of(q, from[next++]); };
        for_each(compare); // before any is copied
        next = 0;
      }
      const auto take = [&](const named_parameter<sum>& q) {
        copy(device_->compute(), q.numbers.size(), q.numbers.data(), from[next++].numbers.data());
      };
      for_each(take);
      finish_on_host(device_->compute());
    }
  }

  // A lock for a const member's use of the device's queue, until the end of the scope; empty where callers do not take turns.
  auto turn() const {
    if constexpr (takes_turns) return std::unique_lock(turns_);
    else return no_turns{};
  }

protected:
  std::span<sum> every_parameter() const { return {reinterpret_cast<sum*>(parameters_.data()), plan::parameter_block}; }
  std::span<sum> every_buffer() const { return {reinterpret_cast<sum*>(buffers_.data()), plan::state_block}; }

private:
  struct no_turns {};

  held_device<Device> device_;
  memory parameters_;
  memory buffers_;
  [[no_unique_address]] mutable std::conditional_t<takes_turns, std::mutex, no_turns> turns_;
};

[[noreturn]] inline void refuse_half_step() {
  throw input_error("trainer: expected the function of step_by() or accumulate_by() to return its loss before the trainer is "
                    "called again, found that it calls the trainer, whose step is half made; make that call before the step or "
                    "after it, or ask a model that has a copy of the weights");
}

// Weights that are trained, with one arena for the passes of a step and for evaluation. A replica belongs to one thread.
template <class Plan, class Net, class T, class Device>
class replica : public weights_of<Plan, Net, T, Device, true>, public execution_context<Plan, T, Device> {
  using learnt = weights_of<Plan, Net, T, Device, true>;
  using context = execution_context<Plan, T, Device>;
  using working_weights_type = updated_weights<Plan, T, Device>;

public:
  using learnt::device, learnt::threads;
  using typename learnt::memory, typename learnt::plan, typename learnt::queue, typename learnt::sum;

  replica(held_device<Device> on, seed s, std::size_t arena_bytes, std::size_t more = 0)
      : learnt(std::move(on), s), context(held_device<Device>(this->device()), arena_bytes, more), working_(this->device()) {
    if constexpr (tied_gradient_bytes > 0) tied_gradients_ = this->device().allocate(tied_gradient_bytes);
  }

  // What it allocates besides: the parameters that layers read, if they are a copy, and the gradients of tied ones.
  static constexpr std::size_t working_weight_bytes = working_weights_type::bytes;
  static constexpr std::size_t tied_gradient_bytes = [] {
    if constexpr (plan::tie_count > 0) return align_up(plan::ties.elements * sizeof(sum));
    else return std::size_t{0};
  }();

  // While it lives, a function of the program reads the outputs of an unfinished step, so the arena must not change.
  class half_step {
  public:
    explicit half_step(replica& of) : of_(of) { of_.is_half_made_ = true; }
    half_step(const half_step&) = delete;
    half_step& operator=(const half_step&) = delete;
    ~half_step() { of_.is_half_made_ = false; }

  private:
    replica& of_;
  };
  half_step in_half_step() { return half_step(*this); }
  // Throws input_error if that function is the caller.
  void expect_whole_step() const {
    if (is_half_made_) refuse_half_step();
  }

  // A frame with everything that the whole network shares, without its inputs.
  frame<T> lend(std::size_t rows, pass why) {
    expect_whole_step();
    frame<T> f = this->blank(rows, why);
    working_.lend(this->compute(), f, this->parameters().data(), this->buffers().data());
    f.buffers = this->buffers().data();
    f.tied_gradients = reinterpret_cast<sum*>(tied_gradients_.data());
    return f;
  }
  template <step_inputs Inputs, class Wait, class Write, class F>
  auto with_inputs(std::size_t rows, const Inputs& inputs, pass why, const Wait& wait, const Write& write, const F& f) {
    const auto given = [&](std::size_t count) { return lend(count, why); };
    return this->take_inputs(rows, inputs, given, wait, write, f);
  }

  template <step_inputs Inputs>
  auto evaluate(const Inputs& inputs, const char* where) {
    return this->evaluate_apart(this->code(), inputs, for_evaluation(), where, this->wait());
  }
  template <step_inputs Inputs>
  tensor_view<const sum> evaluate(const Inputs& inputs, std::span<sum> into, const char* where) {
    return this->evaluate_into(this->code(), inputs, into, for_evaluation(), where, this->wait());
  }

  // Anything but update() writes to the weights before the next pass (changed), or may write at any later time (opened).
  void changed() { working_.changed(); }
  void opened() { working_.opened(); }
  // Calls apply(begin, end) with pieces of [begin, end), to update these elements of the parameters.
  template <class Update>
  void update(std::size_t begin, std::size_t end, const Update& apply) {
    working_.update(this->compute(), this->parameters().data(), begin, end, apply);
  }

private:
  auto for_evaluation() {
    return [this](std::size_t rows) { return lend(rows, pass::evaluate); };
  }

  memory tied_gradients_;
  [[no_unique_address]] working_weights_type working_;
  bool is_half_made_ = false;
};

// The weights of a model or a trainer, and their elements where the host can access them.
template <class Owner>
auto& weights_in(Owner& owner) {
  if constexpr (requires { owner.inside().replica; }) return owner.inside().replica;
  else return owner.inside();
}
template <class Owner>
auto on_host(Owner& owner) {
  auto& weights = weights_in(owner);
  if constexpr (!std::is_const_v<std::remove_reference_t<decltype(weights)>>) weights.changed(); // the caller may change them
  return weights.on_host();
}

} // namespace cairn::detail
