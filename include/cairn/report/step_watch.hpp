// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <cairn/comm/exchange.hpp>
#include <cairn/device/wait_on_host.hpp>
#include <cairn/net/execute.hpp>
#include <cairn/plan/op.hpp>
#include <cairn/plan/step/step_op.hpp>

namespace cairn::detail {

// Watches one training step: marks the places between its ops in the queue, at which the device's clock is looked at
// (device/device.hpp: a stopwatch). What is computed is what an unwatched step computes, bit for bit: it is the same list, and
// walked in the same way. It takes the place of unwatched_step (train/step/training_step.hpp), for one step, and waits for the
// device before the step and behind it.
//
// (It is a template, so that a program that includes it and traces nothing does not compile it.)
template <class Clock>
class step_watch {
public:
  struct moments {
    std::int64_t begin = 0; // nanoseconds of the clock
    std::int64_t end = 0;
  };
  // A bucket on its way: from when its gradients were complete until this rank saw that it was back. Whether it is, is looked at
  // after every op, where the communicator can tell; else it is known when the rank has waited for it.
  struct way {
    std::int64_t sent = 0;
    std::int64_t back = 0;
    std::size_t bytes = 0;
    std::size_t op = 0; // of the schedule, during which it was sent; one behind the last: afterwards
  };
  // What happened inside an op, or inside the update.
  struct inner {
    enum class kind : unsigned char { send, use, wait } what;
    std::size_t bucket;
    moments at;
  };

  static std::int64_t now() {
    const auto since = Clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
  }

  // Until the step is over, times of the device are numbers of marks.
  std::vector<op> ops;         // of the schedule
  std::vector<moments> took{}; // by each
  moments waiting{};           // for gradients, after the last op
  moments updating{};          // the parameters; with a fused update those that are left
  std::vector<way> buckets{};
  std::vector<inner> inside{};

  struct at_work {
    explicit at_work(const step_watch&) {}
  };
  template <class T, class Queue>
  const program<T, Queue>& program_of(const program<T, Queue>& own, Queue&) const {
    return own;
  }
  template <class T, class Queue, class Reduction>
  void begin(const program<T, Queue>& p, Queue& queue, const frame<T>&, const Reduction& reduction) {
    ops.assign(p.training.ops.begin(), p.training.ops.end());
    took.assign(ops.size(), {});
    step_ = std::make_unique<step_of<Queue, Reduction>>(queue, reduction, 4 * ops.size());
    finish_on_host(queue); // what was there before
    mark();
    finish_on_host(queue);
    start_ = now();
  }
  void before(const step_op& o) {
    if (o.is_scheduled()) took[at_ = o.index].begin = last_;
    else if (o.kind == step_op_kind::reduce || o.kind == step_op_kind::wait) begin_ = mark();
  }
  void after(const step_op& o) {
    if (o.is_scheduled()) {
      took[at_++].end = waiting.begin = waiting.end = mark();
      for (std::size_t b = 0; b < buckets.size(); ++b)
        if (buckets[b].back == 0 && step_->is_back(b)) buckets[b].back = now();
    } else if (o.kind == step_op_kind::reduce) {
      buckets.push_back({begin_, 0, step_->bytes(o.index), at_});
      if (!fused_) inside.push_back({inner::kind::send, o.index, {begin_, mark()}});
    } else if (o.kind == step_op_kind::wait) {
      if (buckets[o.index].back == 0) buckets[o.index].back = now(); // no later than the end of the wait
      if (!fused_) waiting.end = mark();
      if (!fused_) inside.push_back({inner::kind::wait, o.index, {begin_, waiting.end}});
    } else if (o.kind == step_op_kind::update && fused_) {
      inside.push_back({inner::kind::use, o.index, {begin_, mark()}});
    }
  }
  template <class Communicator, class Queue>
  void end(Communicator& comm, Queue& queue) {
    updating = {waiting.end, mark()};
    wait_on_host(queue, queue.record(), longest_wait, [&] { tell_check(comm); });
    tell_times();
    step_.reset();
  }

  // The trainer's gradients are used bucket by bucket, during the backward pass.
  void is_fused() { fused_ = true; }
  bool fused() const { return fused_; }

private:
  struct step_in_progress {
    virtual ~step_in_progress() = default;
    virtual std::size_t bytes(std::size_t bucket) const = 0;
    virtual bool is_back(std::size_t bucket) const = 0;
    virtual std::int64_t mark() = 0;
    virtual std::int64_t nanoseconds(std::int64_t mark) const = 0;
  };
  template <class Queue, class Reduction>
  struct step_of final : step_in_progress {
    step_of(Queue& queue, const Reduction& r, std::size_t marks) : reduction(r), clock(queue, marks) {}
    std::size_t bytes(std::size_t b) const override { return reduction.span_of(b).size_bytes(); }
    bool is_back(std::size_t b) const override { return reduction.is_back(b); }
    std::int64_t mark() override { return static_cast<std::int64_t>(clock.mark()); }
    std::int64_t nanoseconds(std::int64_t mark) const override { return clock.nanoseconds(static_cast<std::size_t>(mark)); }

    const Reduction& reduction;
    typename Queue::stopwatch clock;
  };

  std::int64_t mark() { return last_ = step_->mark(); }
  // The step is over: times in place of marks.
  void tell_times() {
    const auto tell = [this](std::int64_t& mark) { mark = start_ + step_->nanoseconds(mark); };
    const auto tell_both = [&](moments& m) { tell(m.begin), tell(m.end); };
    for (moments& m : took) tell_both(m);
    for (inner& i : inside) tell_both(i.at);
    for (way& w : buckets) {
      tell(w.sent);
      w.back = std::max(w.back, w.sent); // by the host's clock
    }
    tell_both(waiting);
    tell_both(updating);
  }

  std::unique_ptr<step_in_progress> step_{};
  std::size_t at_ = 0;     // op of the schedule
  std::int64_t start_ = 0; // nanoseconds of the host's clock, at the first mark
  std::int64_t last_ = 0;  // mark
  std::int64_t begin_ = 0; // mark, at which a bucket was sent, or begins to be waited for
  bool fused_ = false;
};

} // namespace cairn::detail
