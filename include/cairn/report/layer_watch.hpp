// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <cairn/comm/exchange.hpp>
#include <cairn/device/wait_on_host.hpp>
#include <cairn/net/execute.hpp>
#include <cairn/plan/step/step_op.hpp>
#include <cairn/report/watched_layers.hpp>

namespace cairn::detail {

// Watches training steps, one after another: reads the device's clock before and after every call of a layer, at any depth of
// blocks. It takes the place of unwatched_step (train/step/training_step.hpp). The results are those of an unwatched step,
// bit for bit.
template <class T, class Queue>
class layer_watch : public watched_layers<T, Queue> {
  using base = watched_layers<T, Queue>;

public:
  // The parts of a step that belong to no layer.
  enum part : unsigned char { loss_part, gradients_part, update_part };
  struct layer_sums {
    std::int64_t nanoseconds[3] = {0, 0, 0}; // of each layer_pass
    std::uint64_t flops = 0;                 // for one sample
  };

  // A step of one rank has no sums over ranks to wait for. With a fused update gradients are summed and used layer by layer.
  layer_watch(bool is_alone, bool is_fused) : base(false), waits_(!is_alone && !is_fused), is_fused_(is_fused) {}

  // The times of each layer in the last step, and of the other parts.
  const std::vector<layer_sums>& sums() const { return sums_; }
  std::int64_t nanoseconds(part p) const { return others_[p]; }

  const program<T, Queue>& program_of(const program<T, Queue>& own, Queue& queue) {
    const program<T, Queue>& out = base::watched(own);
    if (!clock_) {
      constexpr std::size_t most_runs = 6; // of a layer, usually
      clock_.emplace(queue, 2 * most_runs * (base::layers().size() + 1));
      runs_.reserve(most_runs * (base::layers().size() + 1));
    }
    return out;
  }
  template <class Reduction>
  void begin(const program<T, Queue>&, Queue&, const frame<T>& lent, const Reduction&) {
    base::begin_layers(lent);
    runs_.clear();
    rest_.clear();
    sums_.assign(base::layers().size(), {});
    is_behind_ = false;
    clock_->restart();
    clock_->mark(); // times count from here
  }
  void before(const step_op& o) {
    if (is_timed(o)) {
      begin_ = clock_->mark();
    } else if (is_behind(o)) {
      const std::size_t now = is_behind_ && !ends_wait(o) ? 0 : clock_->mark();
      if (is_behind_ && ends_wait(o)) rest_.push_back({gradients_part, behind_, now});
      if (!std::exchange(is_behind_, true) || ends_wait(o)) behind_ = now;
    }
  }
  void after(const step_op& o) {
    if (is_timed(o))
      rest_.push_back({o.kind == step_op_kind::loss ? loss_part
                       : is_fused_                  ? update_part
                                                    : gradients_part,
                       begin_, clock_->mark()});
  }
  template <class Communicator>
  void end(Communicator& comm, Queue& queue) {
    if (is_behind_) rest_.push_back({update_part, behind_, clock_->mark()});
    wait_on_host(queue, queue.record(), longest_wait, [&] { tell_check(comm); });
    add_up();
  }

private:
  struct rest {
    part what;
    std::size_t begin, end; // marks
  };

  std::size_t mark() override { return clock_->mark(); }
  void ran(const layer_run& r) override { runs_.push_back(r); }

  // The loss and, inside backward, the communication with other ranks or the update.
  bool is_timed(const step_op& o) const {
    return o.kind == step_op_kind::loss || (o.is_inside && o.kind != step_op_kind::statistics && (waits_ || is_fused_));
  }
  // After backward there is one part, or two: the wait for gradients and, from the comparison on, the update.
  static bool is_behind(const step_op& o) { return o.kind >= step_op_kind::reduce && !o.is_inside; }
  bool ends_wait(const step_op& o) const { return waits_ && o.kind == step_op_kind::compare; }

  // Adds up the times of a step; to be called when the device is done with it.
  void add_up() {
    const auto took = [this](const auto& r) { return clock_->nanoseconds(r.end) - clock_->nanoseconds(r.begin); };
    for (const layer_run& r : runs_) {
      sums_[r.leaf].nanoseconds[static_cast<std::size_t>(r.what)] += took(r);
      sums_[r.leaf].flops += r.flops;
      sums_[r.beside].flops += r.beside_flops;
    }
    for (std::int64_t& sum : others_) sum = 0;
    for (const rest& r : rest_) others_[r.what] += took(r);
  }

  bool waits_;
  bool is_fused_;
  std::optional<typename Queue::stopwatch> clock_{};
  std::vector<layer_run> runs_{};
  std::vector<rest> rest_{};
  std::vector<layer_sums> sums_{};
  std::int64_t others_[3] = {0, 0, 0};
  std::size_t begin_ = 0, behind_ = 0; // marks
  bool is_behind_ = false;             // backward is over
};

} // namespace cairn::detail
