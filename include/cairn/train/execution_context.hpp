// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/view.hpp>
#include <cairn/data/owned_tensor.hpp>
#include <cairn/device/device.hpp>
#include <cairn/device/wait_on_host.hpp>
#include <cairn/net/blueprint.hpp>
#include <cairn/net/execute.hpp>
#include <cairn/ops/transfer/transfer.hpp>
#include <cairn/train/input_arrays.hpp>
#include <cairn/train/network_outputs.hpp>
#include <cairn/train/staging_slots.hpp>
#include <cairn/train/working_copy.hpp>

namespace cairn::detail {

// A device that is owned, or one that is shared with another owner.
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

// The device of a trainer; with several ranks, that of this rank.
template <class Device, class Options, class Communicator>
held_device<Device> device_of(const Options& given, const Communicator* comm) {
  given.check();
  device_options on = given.on_device(comm);
  if constexpr (counted_device<Device>)
    if (const int devices = Device::count(); given.ordinal < 0 && devices > 0) on.ordinal %= devices;
  return held_device<Device>(on);
}

// Waits for a device, without checking anything else meanwhile.
template <class Device>
struct plain_wait {
  Device& device;

  void operator()(const typename Device::event& event) const {
    wait_on_host(device.compute(), event, longest_wait, [] {});
  }
};

// All memory that the passes of one caller write: the arena, and inputs and outputs in transit. The weights are not part of
// it. A trainer has one context, a model has one for each concurrent evaluation.
//
// One thread at a time uses a context and the queue of its device. Where the host cannot access the device's memory, inputs go
// there through slots. Each slot has `more` bytes after the inputs, for other data of a step such as targets.
//
// `lend(rows)` below returns a frame with the weights, made by blank().
template <class Plan, class T, class Device>
class execution_context {
public:
  using plan = Plan;
  using sum = accumulated<T>; // of inputs and outputs as the program sees them
  using queue = typename Device::queue;
  using memory = typename Device::memory;
  static constexpr bool is_apart = !shares_memory<Device>;
  using working_type = working_copy<plan, T, Device>;
  using outputs_type = network_outputs<plan, T>;

  execution_context(held_device<Device> device, std::size_t arena_bytes, std::size_t more = 0)
      : device_(std::move(device)), arena_(device_->allocate(arena_of(arena_bytes))), slots_(make_slots(*device_, more)),
        working_(*device_) {}
  execution_context(const execution_context&) = delete;
  execution_context& operator=(const execution_context&) = delete;

  // The arena of a trainer's context is that of its steps and of its evaluations. With a head_in_strips only an evaluation has
  // whole outputs: the first one then allocates memory of its own.
  static constexpr std::size_t arena_of(std::size_t asked) {
    if (plan::head::in_strips && asked > 0) return asked;
    return asked > plan::evaluated::arena ? asked : plan::evaluated::arena;
  }
  // What it allocates besides the arena: on the device, and in the host's memory.
  static constexpr std::size_t bytes_of_batches(std::size_t more) { return staging_bytes(more) + working_type::bytes; }
  static constexpr std::size_t staging_bytes(std::size_t more) {
    if constexpr (is_apart) return staging_slots<Device>::count * (taken_inputs<plan, T>::bytes + more);
    else return 0;
  }

  Device& device() const { return *device_; }
  queue& compute() const { return device_->compute(); }
  std::size_t threads() const {
    if constexpr (requires(queue& q) { q.threads(); }) return compute().threads();
    else return 1;
  }
  plain_wait<Device> wait() const { return {*device_}; }
  memory& arena_memory() { return arena_; }
  auto& working() { return working_; }
  T* elements_at(const place& p) { return reinterpret_cast<T*>(arena_.data() + p.offset()); }
  const std::byte* behind_inputs() const { return slots_.there() + taken_inputs<plan, T>::bytes; }

  template <step_inputs Inputs>
  static std::size_t rows_of(const Inputs& inputs, const char* where) {
    return taken_inputs<plan, T>::rows(inputs, plan::batch, where);
  }

  // A frame in this memory, without weights and inputs.
  frame<T> blank(std::size_t rows, pass why) {
    frame<T> f;
    f.rows = rows;
    f.workspace = why == pass::evaluate ? evaluation_arena().data() : arena_.data();
    f.why = why;
    return f;
  }
  // Calls f(frame) with a frame that has the inputs too. Where ops cannot read the program's arrays, the inputs are copied
  // through a slot, and write(bytes) fills the rest of that slot and returns how many bytes it wrote. Only what was written goes
  // to the device. Ops that f puts on the queue may read the whole slot. `wait` waits for an event.
  template <step_inputs Inputs, class Lend, class Wait, class Write, class F>
  auto take_inputs(std::size_t rows, const Inputs& inputs, const Lend& lend, [[maybe_unused]] const Wait& wait,
                   [[maybe_unused]] const Write& write, const F& f) {
    [[maybe_unused]] const auto now = in_use(*device_);
    if constexpr (is_apart) {
      slots_.turn(wait);
      const typename staging_slots<Device>::use in_use(slots_);
      taken_inputs<plan, T>::copy(inputs, rows, slots_.here());
      constexpr std::size_t behind = taken_inputs<plan, T>::bytes;
      const std::size_t more = write(slots_.here() + behind);
      slots_.send([&](const auto& put) {
        taken_inputs<plan, T>::each_copied(rows, put);
        put(behind, more);
      });
      inputs_.take_copied(slots_.there());
      return f(with_taken(rows, lend));
    } else {
      inputs_.take(inputs);
      return f(with_taken(rows, lend));
    }
  }

  // Returns the first output of these samples in evaluation mode, on the device until the next pass; `where` is for errors.
  template <class Code, step_inputs Inputs, class Lend, class Wait>
  tensor_view<const sum> evaluate(const Code& code, const Inputs& inputs, const Lend& lend, const char* where, const Wait& wait) {
    const std::size_t rows = rows_of(inputs, where);
    take_inputs(
        rows, inputs, lend, wait, [](std::byte*) { return std::size_t{0}; },
        [&](const frame<T>& lent) { run_forward(code, compute(), lent); });
    return shown(evaluated(rows));
  }
  tensor_view<const T> evaluated(std::size_t rows) {
    const std::byte* const made = evaluation_arena().data() + place_of_output<plan>().offset();
    return outputs_type::view(reinterpret_cast<const T*>(made), 0, rows, outputs_type::values);
  }
  // The same in memory of its own (with a with_all_outputs, an array of all outputs), or in the caller's memory.
  template <class Code, step_inputs Inputs, class Lend, class Wait>
  typename outputs_type::template given<owned_tensor<sum>> evaluate_apart(const Code& code, const Inputs& inputs,
                                                                          const Lend& lend, const char* where, const Wait& wait) {
    const tensor_view<const sum> first = evaluate(code, inputs, lend, where, wait);
    if constexpr (!plan::all_outputs) return fetched(first, wait);
    else return fetched_outputs(place_of_output<plan>(), first.rows(), wait);
  }
  template <class Code, step_inputs Inputs, class Lend, class Wait>
  tensor_view<const sum> evaluate_into(const Code& code, const Inputs& inputs, std::span<sum> into, const Lend& lend,
                                       const char* where, const Wait& wait) {
    const std::size_t needed = rows_of(inputs, where) * plan::output_shape.size();
    if (into.size() < needed)
      throw input_error(std::string(where) + ": expected room for " + std::to_string(needed) + " outputs, found " +
                        std::to_string(into.size()));
    const tensor_view<const sum> made = evaluate(code, inputs, lend, where, wait);
    fetch(needed, into.data(), made.data(), wait);
    return {into.data(), made.rows(), made.sample_shape()};
  }
  // Outputs as the program sees them, on the device.
  tensor_view<const sum> shown(const tensor_view<const T>& made, std::size_t k = 0) { return working_.shown(compute(), made, k); }
  // The outputs that a pass left at this place, in memory of their own.
  template <class Wait>
  typename outputs_type::template given<owned_tensor<sum>> fetched_outputs(const place& p, std::size_t rows, const Wait& wait) {
    const auto one = [&](std::size_t k) {
      return fetched(shown(outputs_type::view(static_cast<const T*>(elements_at(p)), k, rows, outputs_type::values), k), wait);
    };
    if constexpr (!plan::all_outputs) return one(0);
    else {
      std::array<owned_tensor<sum>, outputs_type::count> all;
      for (std::size_t k = 0; k < outputs_type::count; ++k) all[k] = one(k);
      return all;
    }
  }
  // Copies elements from the device to memory of the host, and waits for the copy.
  template <class U, class Wait>
  owned_tensor<U> fetched(const tensor_view<const U>& there, const Wait& wait) {
    owned_tensor<U> own(there.rows(), there.sample_shape());
    fetch(own.size(), own.data(), there.data(), wait);
    return own;
  }
  template <class U, class Wait>
  void fetch(std::size_t count, U* to, const U* from, const Wait& wait) {
    download(compute(), count, to, from);
    wait(compute().record());
  }

private:
  memory& evaluation_arena() {
    if constexpr (plan::head::in_strips) {
      if (arena_.size() >= plan::evaluated::arena) return arena_;
      if (evaluation_.size() == 0) evaluation_ = device_->allocate(plan::evaluated::arena);
      return evaluation_;
    } else return arena_;
  }
  template <class Lend>
  frame<T> with_taken(std::size_t rows, const Lend& lend) {
    frame<T> f = lend(rows);
    f.inputs = working_.lend_inputs(compute(), rows, inputs_.tensors_taken());
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
  memory arena_;
  memory evaluation_{}; // see arena_of
  [[no_unique_address]] slots_type slots_;
  [[no_unique_address]] working_type working_;
  taken_inputs<plan, T> inputs_{};
};

} // namespace cairn::detail
