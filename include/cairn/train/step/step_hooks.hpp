// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/pack.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/plan/step/step_op.hpp>
#include <cairn/train/parameters.hpp>
#include <cairn/train/replica.hpp>
#include <cairn/train/step/training_step.hpp>

namespace cairn::types {

// A moment of a step, as a hook sees it: the op that comes next or has just ended, and gradients. The program may read them
// and, before they are sent or used, change them. Every rank must change them in the same way.
//
// After a backward they are this rank's gradients of that stage, not yet summed or averaged over the ranks (none with a fused
// update). Before a reduce they are this rank's gradients of a bucket. After its wait, and around its update, they are the
// sums over all ranks and micro-batches. At other ops there are none.
template <class Trainer>
class step_moment {
public:
  using number = accumulated<typename Trainer::plan::element>;

  step_moment(Trainer& trainer, const plan::step_op& o) : op(o), trainer_(trainer) {
    auto& all = trainer.inside().gradients;
    if (o.kind == plan::step_op_kind::reduce || o.kind == plan::step_op_kind::wait || o.kind == plan::step_op_kind::update) {
      begin_ = types::buckets[o.index].begin;
      gradients = all.on_the_way().span_of(o.index);
    } else if (!types::fused && o.kind == plan::step_op_kind::backward) {
      const auto& begin = types::plan::parameter_begin; // from the last stage to the first
      begin_ = begin[o.stage];
      gradients = all.all().subspan(begin_, (o.stage > 0 ? begin[o.stage - 1] : types::plan::parameter_block) - begin_);
    }
  }

  const plan::step_op& op;
  // In the device's memory. Where the host cannot read it, put ops on queue() that do.
  std::span<number> gradients{};

  auto& queue() const { return trainer_.inside().compute(); }
  // Calls f(named_parameter) for each parameter whose gradient is among them: its `numbers` are the gradient. The names
  // allocate memory.
  template <class F>
  void for_each_gradient(F&& f) const {
    if (gradients.empty()) return;
    const auto take = [&](named_parameter<number> q) {
      if (q.is_frozen || q.place < begin_ || q.place >= begin_ + gradients.size()) return;
      q.numbers = gradients.subspan(q.place - begin_, q.numbers.size());
      f(std::as_const(q));
    };
    auto& weights = trainer_.inside().replica;
    const detail::flat_buffers<number> all{.parameters = weights.parameters(), .buffers = weights.buffers()};
    detail::walk_parameters<false>(weights.code(), all, take);
  }

private:
  using types = typename Trainer::training_type::types;

  Trainer& trainer_;
  std::size_t begin_ = 0; // of the gradients in the flat buffer, in elements
};

} // namespace cairn::types

namespace cairn::detail {

template <step_op_kind Kind, class F>
struct op_hook {
  F function;
  bool is_before;

  static constexpr step_op_kind kind = Kind;
};

} // namespace cairn::detail

namespace cairn {

// A callable at a named moment of a step: before or after each op of a kind.
//
//   train.step(images, labels, after_op<plan::step_op_kind::wait>([&](const auto& now) { ... now.gradients ... }));
//
// It is a type, so that a step without hooks has no instruction for them. An exception from a hook comes out of the step, like
// any other failure in a step. A step or an evaluation of the trainer that a hook asks for is an input_error.
template <plan::step_op_kind Kind, class F>
constexpr detail::op_hook<Kind, F> before_op(F f) {
  return {std::move(f), true};
}
template <plan::step_op_kind Kind, class F>
constexpr detail::op_hook<Kind, F> after_op(F f) {
  return {std::move(f), false};
}

} // namespace cairn

namespace cairn::detail {

template <class H>
concept step_hook = requires(const H& h) {
  { h.function };
  { h.is_before } -> std::convertible_to<bool>;
  { H::kind } -> std::convertible_to<step_op_kind>;
};

// The watcher that calls the hooks of a step.
template <class Trainer, class... Hooks>
class hooked_step : public unwatched_step {
public:
  hooked_step(Trainer& trainer, const Hooks&... hooks) : trainer_(trainer), hooks_(hooks...) {}

  void before(const step_op& o) const { call(o, true); }
  void after(const step_op& o) const { call(o, false); }

private:
  void call(const step_op& o, bool is_before) const {
    std::apply([&](const auto&... hook) { (call_one(hook, o, is_before), ...); }, hooks_);
  }
  template <class Hook>
  void call_one(const Hook& hook, const step_op& o, bool is_before) const {
    if (o.kind != Hook::kind || hook.is_before != is_before) return;
    const auto until_it_returns = trainer_.inside().replica.in_half_step();
    hook.function(step_moment<Trainer>(trainer_, o));
  }

  Trainer& trainer_;
  std::tuple<const Hooks&...> hooks_;
};
// The watcher of a step without hooks: it does nothing.
struct step_without_hooks : unwatched_step {
  template <class Trainer>
  explicit step_without_hooks(Trainer&) {}
};
template <class Trainer, class... Hooks>
using watch_of = typename std::conditional_t<sizeof...(Hooks) == 0, type_of<step_without_hooks>,
                                             type_of<hooked_step<Trainer, Hooks...>>>::type;

} // namespace cairn::detail
