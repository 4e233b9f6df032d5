// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
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
#include <cairn/train/packed_weights.hpp>
#include <cairn/train/replica.hpp>
#include <cairn/train/working_copy.hpp>

namespace cairn::detail {

// Something that is made of a model's weights, by the first evaluation after these have changed, for all evaluations.
class made_of_weights {
public:
  void changed() { is_made_.store(false, std::memory_order_relaxed); }
  // Calls make() if that was not done since the last change. Other threads wait meanwhile.
  template <class F>
  void ensure(const F& make) const {
    if (is_made_.load(std::memory_order_acquire)) return;
    const std::lock_guard lock(mutex_);
    if (is_made_.load(std::memory_order_relaxed)) return;
    make();
    is_made_.store(true, std::memory_order_release);
  }

private:
  mutable std::atomic<bool> is_made_{false};
  mutable std::mutex mutex_;
};

// A model's weights as its evaluations read them. For float and double these are the weights themselves and, if the model packs
// them, the packed weights of products. All evaluations share these, made by the first evaluation after the weights have changed.
//
// Once the program has had a span, by which it can write to the parameters at any later time, such writes cannot be noticed. The
// packed weights are then not read any more; or, where they are of fewer bytes and so have numbers of their own, every evaluation
// makes its own.
template <class Plan, class T, class Device, bool Narrow = is_narrow<T>>
class prepared_weights {
  using packed_type = packed_weights<Plan, T, Device>;
  using code_type = program<T, typename Device::queue>;

public:
  prepared_weights(Device& device, const code_type& code, const packing& how) : code_(code), how_(how) {
    if (how.packs) packed_.emplace(device, code, how.format);
  }

  void changed() { made_.changed(); }
  void opened() { is_open_ = true; }
  // The context's own.
  using own_copy = std::unique_ptr<packed_type>;
  void prepare(Device&, const T* parameters, const T*) const {
    if (!is_open_ && bytes() > 0) made_.ensure([&] { packed_->make(parameters); });
  }
  void lend(Device& device, own_copy& own, frame<T>& f, const T* parameters, const T* buffers) const {
    f.parameters = parameters;
    const bool is_optional = how_.format == ops::weight_format::own;
    if (bytes() == 0 || (is_optional && (is_open_ || f.rows > most_rows_by_packed))) return;
    if (is_open_) {
      if (own == nullptr) own = std::make_unique<packed_type>(device, code_, how_.format);
      own->make(parameters);
      f.packed = own->lent();
    } else {
      prepare(device, parameters, buffers);
      f.packed = packed_->lent();
    }
  }
  std::size_t bytes() const { return packed_ ? packed_->bytes() : 0; }

private:
  const code_type& code_;
  packing how_;
  bool is_open_ = false;
  mutable std::optional<packed_type> packed_;
  made_of_weights made_;
};

// Where layers read another type than the master copy has: the working copy of the weights, which all evaluations share. After
// the program has had a span every evaluation makes a working copy of its own.
template <class Plan, class T, class Device>
class prepared_weights<Plan, T, Device, true> {
  using sum = accumulated<T>;
  using copy_type = working_weights<Plan, T, Device>;

public:
  template <class Code>
  prepared_weights(Device& device, const Code&, const packing&) : shared_(device) {}

  void changed() { made_.changed(); }
  void opened() { is_open_ = true; }

  using own_copy = std::unique_ptr<copy_type>;
  void prepare(Device& device, const sum* parameters, const sum* buffers) const {
    if (is_open_) return;
    made_.ensure([&] {
      shared_.make(device.compute(), parameters, buffers);
      finish_on_host(device.compute()); // other queues read it
    });
  }
  void lend(Device& device, own_copy& own, frame<T>& f, const sum* parameters, const sum* buffers) const {
    if (is_open_) {
      if (own == nullptr) own = std::make_unique<copy_type>(device);
      own->make(device.compute(), parameters, buffers);
      own->lend(f, parameters);
    } else {
      prepare(device, parameters, buffers);
      shared_.lend(f, parameters);
    }
  }
  std::size_t bytes() const { return copy_type::bytes; }

private:
  bool is_open_ = false;
  mutable copy_type shared_;
  made_of_weights made_;
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

  shared_weights(held_device<Device> device, seed s, int ordinal, const packing& packs)
      : learnt(std::move(device), s), ordinal_(ordinal), prepared_(this->device(), this->code(), packs),
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

  // Lends the weights of now to a frame that stays, on a device that callers do not take turns on, with the caller's own copy of
  // the weights, if it needs one.
  using own_weights = typename prepared_weights<Plan, T, Device>::own_copy;
  void lend(frame<T>& f, own_weights& own) const {
    prepared_.lend(this->device(), own, f, this->parameters().data(), this->buffers().data());
    f.buffers = this->every_buffer().data(); // which an evaluation only reads
  }
  // Makes what evaluations read besides the weights, unless it is there.
  void prepare() const {
    [[maybe_unused]] const auto turn = this->turn();
    prepared_.prepare(this->device(), this->parameters().data(), this->buffers().data());
  }
  // The bytes of that.
  std::size_t prepared_bytes() const { return prepared_.bytes(); }

  // All memory of the device that there is for the weights and for the model's own contexts.
  std::size_t device_bytes() const {
    return learnt::weight_bytes + prepared_bytes() + contexts_.size() * (context::arena_of(0) + context::bytes_of_batches(0));
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
