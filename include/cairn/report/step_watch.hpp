// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <cairn/comm/exchange.hpp>
#include <cairn/device/wait_on_host.hpp>
#include <cairn/net/execute.hpp>
#include <cairn/plan/op.hpp>
#include <cairn/plan/step/step_op.hpp>
#include <cairn/report/watched_layers.hpp>

namespace cairn::detail {

template <class Clock>
std::int64_t nanoseconds_of() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count();
}

// Watches one training step. It puts marks into the queue, between the ops of the step and around the calls of layers in
// blocks; the device's clock is read at the marks (device/device.hpp: a stopwatch). The results are those of an unwatched
// step, bit for bit: it runs the same list in the same way. It takes the place of unwatched_step
// (train/step/training_step.hpp) for one step, and waits for the device before and after the step.
template <class Clock, class T, class Queue>
class step_watch : public watched_layers<T, Queue> {
  using base = watched_layers<T, Queue>;

public:
  struct moments {
    std::int64_t begin = 0; // nanoseconds of the clock
    std::int64_t end = 0;
  };
  // A bucket in flight: from when its gradients were complete until this rank saw that it was back. This is checked after
  // every op if the communicator can say it; otherwise it is known after the rank has waited for it.
  struct way {
    std::int64_t sent = 0;
    std::int64_t back = 0;
    std::size_t bytes = 0;
    std::size_t op = 0; // of the schedule, during which it was sent; one past the last: afterwards
  };
  // A call of a layer in a block, inside an op.
  struct layer_call {
    std::uint32_t leaf;
    layer_pass what;
    moments at;
  };
  // An event inside an op, or inside the update.
  struct inner {
    enum class kind : unsigned char { send, use, wait } what;
    std::size_t bucket;
    moments at;
  };

  step_watch() : base(true) {}

  // Until the step is over, times of the device are indices of marks.
  std::vector<op> ops;         // of the schedule
  std::vector<moments> took{}; // by each
  moments waiting{};           // for gradients, after the last op
  moments updating{};          // the parameters; with a fused update those that are left
  std::vector<way> buckets{};
  std::vector<inner> inside{};
  std::vector<layer_call> calls{};

  const program<T, Queue>& program_of(const program<T, Queue>& own, Queue&) { return base::watched(own); }
  template <class Reduction>
  void begin(const program<T, Queue>& p, Queue& queue, const frame<T>& lent, const Reduction& reduction) {
    base::begin_layers(lent);
    ops.assign(p.training.ops.begin(), p.training.ops.end());
    took.assign(ops.size(), {});
    buckets_on_the_way_ = std::make_unique<buckets_of<Reduction>>(reduction);
    clock_.emplace(queue, 4 * (ops.size() + base::layers().size()));
    finish_on_host(queue); // earlier work
    put_mark();
    finish_on_host(queue);
    start_ = nanoseconds_of<Clock>();
  }
  void before(const step_op& o) {
    if (o.is_scheduled()) took[at_ = o.index].begin = last_;
    else if (o.kind == step_op_kind::reduce || o.kind == step_op_kind::wait) begin_ = put_mark();
  }
  void after(const step_op& o) {
    if (o.is_scheduled()) {
      took[at_++].end = waiting.begin = waiting.end = put_mark();
      for (std::size_t b = 0; b < buckets.size(); ++b)
        if (buckets[b].back == 0 && buckets_on_the_way_->is_back(b)) buckets[b].back = nanoseconds_of<Clock>();
    } else if (o.kind == step_op_kind::reduce) {
      buckets.push_back({begin_, 0, buckets_on_the_way_->bytes(o.index), at_});
      if (!fused_) inside.push_back({inner::kind::send, o.index, {begin_, put_mark()}});
    } else if (o.kind == step_op_kind::wait) {
      if (buckets[o.index].back == 0) buckets[o.index].back = nanoseconds_of<Clock>(); // no later than the end of the wait
      if (!fused_) waiting.end = put_mark();
      if (!fused_) inside.push_back({inner::kind::wait, o.index, {begin_, waiting.end}});
    } else if (o.kind == step_op_kind::update && fused_) {
      inside.push_back({inner::kind::use, o.index, {begin_, put_mark()}});
    }
  }
  template <class Communicator>
  void end(Communicator& comm, Queue& queue) {
    updating = {waiting.end, put_mark()};
    wait_on_host(queue, queue.record(), longest_wait, [&] { tell_check(comm); });
    tell_times();
    clock_.reset();
    buckets_on_the_way_.reset();
  }

  // To be called for a fused update: gradients are used bucket by bucket, during the backward pass.
  void is_fused() { fused_ = true; }
  bool fused() const { return fused_; }

private:
  struct reduced_buckets {
    virtual ~reduced_buckets() = default;
    virtual std::size_t bytes(std::size_t bucket) const = 0;
    virtual bool is_back(std::size_t bucket) const = 0;
  };
  template <class Reduction>
  struct buckets_of final : reduced_buckets {
    explicit buckets_of(const Reduction& r) : reduction(r) {}
    std::size_t bytes(std::size_t b) const override { return reduction.span_of(b).size_bytes(); }
    bool is_back(std::size_t b) const override { return reduction.is_back(b); }

    const Reduction& reduction;
  };

  std::size_t mark() override { return clock_->mark(); }
  void ran(const layer_run& r) override {
    calls.push_back({r.leaf, r.what, {static_cast<std::int64_t>(r.begin), static_cast<std::int64_t>(r.end)}});
  }
  std::int64_t put_mark() { return last_ = static_cast<std::int64_t>(mark()); }
  // Replaces marks by times, once the step is over.
  void tell_times() {
    const auto tell = [this](std::int64_t& mark) { mark = start_ + clock_->nanoseconds(static_cast<std::size_t>(mark)); };
    const auto tell_both = [&](moments& m) { tell(m.begin), tell(m.end); };
    for (moments& m : took) tell_both(m);
    for (inner& i : inside) tell_both(i.at);
    for (layer_call& c : calls) tell_both(c.at);
    for (way& w : buckets) {
      tell(w.sent);
      w.back = std::max(w.back, w.sent); // by the host's clock
    }
    tell_both(waiting);
    tell_both(updating);
  }

  std::optional<typename Queue::stopwatch> clock_{};
  std::unique_ptr<reduced_buckets> buckets_on_the_way_{};
  std::size_t at_ = 0;     // op of the schedule
  std::int64_t start_ = 0; // nanoseconds of the host's clock, at the first mark
  std::int64_t last_ = 0;  // mark
  std::int64_t begin_ = 0; // mark at which a bucket was sent, or the wait for it began
  bool fused_ = false;
};

} // namespace cairn::detail
