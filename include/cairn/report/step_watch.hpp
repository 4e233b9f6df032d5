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

namespace cairn::detail {

// Watches one training step: has the executor make it op by op, and marks the places between them in the queue, at which the
// device's clock is looked at (device/device.hpp: a stopwatch). What is computed is what an unwatched step computes, bit for bit:
// the ops, and the calls of the communicator, are the same in the same order. It takes the place of unwatched_step
// (train/training_step.hpp), for one step, and waits for the device before the step and behind it.
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
  // after every op, where the communicator can tell; else it is known when the rank has waited for it, or used it in a fused
  // update.
  struct way {
    std::int64_t sent = 0;
    std::int64_t back = 0;
    std::size_t bytes = 0;
    std::size_t op = 0; // during which it was sent; one behind the last: afterwards
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

  template <class T, class Queue, class Reduction>
  void forward(const program<T, Queue>& p, Queue& queue, const frame<T>& lent, Reduction& reduction) {
    ops.assign(p.training.ops.begin(), p.training.ops.end());
    took.assign(ops.size(), {});
    step_ = std::make_unique<step_of<T, Queue, Reduction>>(p, queue, lent, reduction, *this);
    finish_on_host(queue); // what was there before
    mark();
    finish_on_host(queue);
    start_ = now();
    for (at_ = 0; at_ < p.training.loss; ++at_) run();
  }
  template <class Judge>
  double loss(const Judge& judge) {
    took[at_].begin = last_;
    const double value = judge();
    took[at_++].end = mark();
    return value;
  }
  template <class T, class Queue>
  void backward(const program<T, Queue>&, Queue&, const frame<T>&) {
    for (; at_ < ops.size(); ++at_) run();
  }
  // The wait is taken apart, bucket by bucket; a second wait for one, by the update itself, returns at once. With a fused
  // update every bucket is waited for where it is used.
  template <class Update, class Communicator, class Queue, class Reduction>
  void update(const Update& update, Communicator& comm, Queue& queue, Reduction& reduction) {
    step_->look();
    waiting.begin = last_;
    if (!fused_) {
      send([&] { reduction.send(comm, queue, static_cast<std::size_t>(-1)); }, reduction);
      for (std::size_t b = 0; b < buckets.size(); ++b) {
        const std::int64_t begin = mark();
        reduction.wait(queue, b);
        const std::int64_t end = mark();
        if (buckets[b].back == 0) buckets[b].back = now();
        inside.push_back({inner::kind::wait, b, {begin, end}});
      }
    }
    waiting.end = updating.begin = used_until_ = mark();
    update();
    updating.end = mark();
    wait_on_host(queue, queue.record(), longest_wait, [&] { tell_check(comm); });
    tell_times();
    step_.reset();
  }

  // The trainer's gradients are used bucket by bucket, during the backward pass.
  void is_fused() { fused_ = true; }
  bool fused() const { return fused_; }
  // Called with what the step discards: a bucket too, where it was used.
  static void discarded(void* self, std::byte* bytes, std::size_t count) {
    auto* const me = static_cast<step_watch*>(self);
    me->listener(bytes, count);
    if (me->fused_ && me->step_ != nullptr) me->step_->used(bytes);
  }
  callback<std::byte*, std::size_t> listener{}; // another one, of the trainer's user

private:
  struct step_in_progress {
    virtual ~step_in_progress() = default;
    virtual void run(std::size_t t) = 0;
    virtual void used(const std::byte* bytes) = 0;
    virtual void look() = 0;
    virtual std::int64_t mark() = 0;
    virtual std::int64_t nanoseconds(std::int64_t mark) const = 0;
  };
  // The ops of a step write their gradients and tell of them as ever; this listens in between.
  template <class T, class Queue, class Reduction>
  struct step_of final : step_in_progress {
    step_of(const program<T, Queue>& p, Queue& queue, const frame<T>& given, Reduction& r, step_watch& w)
        : lent(given), tell(*given.tell), own(tell), reduction(r), watch(w), clock(queue, 4 * p.training.ops.size()),
          executes(p, queue, lent) {
      own.finished = {&finished, this};
      lent.tell = &own;
    }
    static void finished(void* self, std::size_t end) {
      auto* const me = static_cast<step_of*>(self);
      me->watch.used_until_ = me->watch.mark();
      me->watch.send([&] { me->tell.finished(end); }, me->reduction);
    }
    void run(std::size_t t) override { executes.run(t); }
    void used(const std::byte* bytes) override {
      watch.note_sent(reduction);
      // Buckets are used in the order in which they were sent.
      const std::size_t b = watch.used_count_;
      if (b == watch.buckets.size() || reinterpret_cast<const std::byte*>(reduction.span_of(b).data()) != bytes) return;
      ++watch.used_count_;
      const std::int64_t end = watch.mark();
      if (watch.buckets[b].back == 0) watch.buckets[b].back = now();
      watch.inside.push_back({inner::kind::use, b, {std::exchange(watch.used_until_, end), end}});
    }
    void look() override {
      for (std::size_t b = 0; b < watch.buckets.size(); ++b)
        if (watch.buckets[b].back == 0 && reduction.is_back(b)) watch.buckets[b].back = now();
    }

    std::int64_t mark() override { return static_cast<std::int64_t>(clock.mark()); }
    std::int64_t nanoseconds(std::int64_t mark) const override { return clock.nanoseconds(static_cast<std::size_t>(mark)); }

    frame<T> lent;
    callbacks tell; // the trainer's
    callbacks own;
    Reduction& reduction;
    step_watch& watch;
    typename Queue::stopwatch clock;
    executor<T, Queue> executes;
  };

  std::int64_t mark() { return last_ = step_->mark(); }
  void run() {
    took[at_].begin = last_;
    step_->run(at_);
    took[at_].end = mark();
    if (!buckets.empty()) step_->look();
  }
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

  // What f sends is on its way from when f was called. A bucket may be used before f is back.
  template <class F, class Reduction>
  void send(const F& f, const Reduction& reduction) {
    sending_ = mark();
    f();
    note_sent(reduction);
  }
  template <class Reduction>
  void note_sent(const Reduction& reduction) {
    for (std::size_t b = buckets.size(); b < reduction.left(); ++b) {
      buckets.push_back({sending_, 0, reduction.span_of(b).size_bytes(), at_});
      if (!fused_) inside.push_back({inner::kind::send, b, {sending_, mark()}});
    }
  }

  std::unique_ptr<step_in_progress> step_{};
  std::size_t at_ = 0;
  std::int64_t start_ = 0; // nanoseconds of the host's clock, at the first mark
  std::int64_t last_ = 0;  // mark
  std::int64_t sending_ = 0;
  std::int64_t used_until_ = 0;
  std::size_t used_count_ = 0;
  bool fused_ = false;
};

} // namespace cairn::detail
