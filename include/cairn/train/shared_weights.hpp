// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <utility>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/random.hpp>
#include <cairn/core/view.hpp>
#include <cairn/data/owned_tensor.hpp>
#include <cairn/device/device.hpp>
#include <cairn/device/wait_on_host.hpp>
#include <cairn/net/frame.hpp>
#include <cairn/train/context_pool.hpp>
#include <cairn/train/execution_context.hpp>
#include <cairn/train/replica.hpp>
#include <cairn/train/working_copy.hpp>

namespace cairn::detail {

// The working copy of a model's weights, where layers read another type than the master copy has. All evaluations share one,
// made by the first evaluation after the weights have changed. For float and double there is none.
//
// Once the program has had a span, by which it can write to the parameters at any later time, every evaluation makes a working
// copy of its own: such writes cannot be noticed.
template <class Plan, class T, class Device, bool Narrow = is_narrow<T>>
class prepared_weights {
public:
  explicit prepared_weights(Device&) {}

  void changed() {}
  void opened() {}
  // The context's own copy.
  struct own_copy {};
  void lend(Device&, own_copy&, frame<T>& f, const T* parameters, const T*) const { f.parameters = parameters; }
};

template <class Plan, class T, class Device>
class prepared_weights<Plan, T, Device, true> {
  using sum = accumulated<T>;
  using copy_type = working_weights<Plan, T, Device>;

public:
  explicit prepared_weights(Device& device) : shared_(device) {}

  void changed() { is_made_.store(false, std::memory_order_relaxed); }
  void opened() { is_open_ = true; }

  using own_copy = std::unique_ptr<copy_type>;
  void lend(Device& device, own_copy& own, frame<T>& f, const sum* parameters, const sum* buffers) const {
    if (is_open_) {
      if (own == nullptr) own = std::make_unique<copy_type>(device);
      own->make(device.compute(), parameters, buffers);
      own->lend(f, parameters);
    } else {
      if (!is_made_.load(std::memory_order_acquire)) make(device, parameters, buffers);
      shared_.lend(f, parameters);
    }
  }

private:
  void make(Device& device, const sum* parameters, const sum* buffers) const {
    const std::lock_guard lock(mutex_);
    if (is_made_.load(std::memory_order_relaxed)) return;
    shared_.make(device.compute(), parameters, buffers);
    finish_on_host(device.compute()); // other queues read it
    is_made_.store(true, std::memory_order_release);
  }

  bool is_open_ = false;
  mutable std::atomic<bool> is_made_{false};
  mutable std::mutex mutex_;
  mutable copy_type shared_;
};

// Weights that several threads evaluate at the same time. They are not written meanwhile, and each evaluation writes to a
// context of its own.
template <class Plan, class Net, class T, class Device>
class shared_weights : public weights_of<Plan, Net, T, Device, false> {
  using learnt = weights_of<Plan, Net, T, Device, false>;

public:
  using typename learnt::plan, typename learnt::sum;

  // A context with its own working copy of the weights, if it needs one.
  struct context : execution_context<Plan, T, Device> {
    explicit context(held_device<Device> device) : execution_context<Plan, T, Device>(std::move(device), 0) {}
    typename prepared_weights<Plan, T, Device>::own_copy own_weights{};
  };

  shared_weights(held_device<Device> device, seed s, int ordinal)
      : learnt(std::move(device), s), ordinal_(ordinal), prepared_(this->device()),
        contexts_(std::make_unique<context>(held_device<Device>(this->device())), this->threads() > 1 && !learnt::takes_turns) {}

  template <step_inputs Inputs>
  auto evaluate(const Inputs& inputs, const char* where) const {
    return in_a_context(
        [&](context& own) { return own.evaluate_apart(this->code(), inputs, for_evaluation(own), where, own.wait()); });
  }
  template <step_inputs Inputs>
  tensor_view<const sum> evaluate(const Inputs& inputs, std::span<sum> into, const char* where) const {
    return in_a_context([&](context& own) { return evaluate_in(own, inputs, into, where); });
  }

  // The same in the caller's context.
  template <step_inputs Inputs>
  tensor_view<const sum> evaluate_in(context& own, const Inputs& inputs, std::span<sum> into, const char* where) const {
    return own.evaluate_into(this->code(), inputs, into, for_evaluation(own), where, own.wait());
  }
  // The same, returned in the context's memory and valid until its next evaluation.
  template <step_inputs Inputs>
  tensor_view<const sum> evaluate_in(context& own, const Inputs& inputs, const char* where) const {
    const auto made = own.evaluate(this->code(), inputs, for_evaluation(own), where, own.wait());
    own.wait()(own.compute().record());
    return made;
  }

  // Makes a context with a queue of `threads` threads, or on the model's device where callers take turns.
  std::unique_ptr<context> make_context(std::size_t threads) const {
    if constexpr (learnt::takes_turns) {
      [[maybe_unused]] const auto turn = this->turn();
      return std::make_unique<context>(held_device<Device>(this->device()));
    } else {
      return std::make_unique<context>(held_device<Device>(device_options{.threads = threads, .ordinal = ordinal_}));
    }
  }
  const context_pool<context>& contexts() const { return contexts_; }
  // Holds one of the model's own contexts until the end of the scope, also if an exception is thrown there.
  auto hold_context() const {
    return contexts_.take([this] { return make_context(1); });
  }

  // The program writes to the weights before the next evaluation (changed), or may write at any later time (opened).
  void changed() { prepared_.changed(); }
  void opened() { prepared_.opened(); }

private:
  // Calls f(context) with a context that no other caller uses.
  template <class F>
  auto in_a_context(const F& f) const {
    [[maybe_unused]] const auto turn = this->turn();
    const auto own = hold_context();
    return f(*own);
  }
  auto for_evaluation(context& own) const {
    return [this, &own](std::size_t rows) {
      frame<T> f = own.blank(rows, pass::evaluate);
      prepared_.lend(own.device(), own.own_weights, f, this->parameters().data(), this->buffers().data());
      f.buffers = this->every_buffer().data(); // which an evaluation only reads
      return f;
    };
  }

  int ordinal_;
  prepared_weights<Plan, T, Device> prepared_;
  mutable context_pool<context> contexts_;
};

} // namespace cairn::detail
