// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>

#include <cairn/core/accumulated.hpp>
#include <cairn/net/frame.hpp>
#include <cairn/train/working_copy.hpp>

namespace cairn::detail {

// The working copy of a trainer's weights, where layers read another type than the master copy has. Every update writes it too,
// so neither the micro-batches of a step nor evaluations make one, and an update that is skipped leaves it as it is. After any
// other change of the weights the next pass makes it anew. For float and double there is none.
//
// Once the program has had a span, by which it can write to the weights at any later time, every pass makes it anew: such writes
// cannot be noticed.
template <class Plan, class T, class Device, bool Narrow = is_narrow<T>>
class updated_weights {
public:
  static constexpr std::size_t bytes = 0;

  explicit updated_weights(Device&) {}

  void changed() {}
  void opened() {}
  template <class Queue>
  void lend(Queue&, frame<T>& f, const T* parameters, const T*) {
    f.parameters = parameters;
  }
  template <class Queue, class Update>
  void update(Queue&, const T*, std::size_t begin, std::size_t end, const Update& apply) {
    apply(begin, end);
  }
};

template <class Plan, class T, class Device>
class updated_weights<Plan, T, Device, true> {
  using sum = accumulated<T>;
  using copy_type = working_weights<Plan, T, Device>;

public:
  static constexpr std::size_t bytes = copy_type::bytes;

  explicit updated_weights(Device& device) : copy_(device) {}

  // The weights have changed, or are about to, outside of update(); or the program may change them at any later time.
  void changed() { is_current_ = false; }
  void opened() { is_open_ = true; }

  template <class Queue>
  void lend(Queue& queue, frame<T>& f, const sum* parameters, const sum* buffers) {
    if (is_open_ || !is_current_) copy_.make(queue, parameters, buffers);
    is_current_ = true;
    copy_.lend(f, parameters);
  }

  // Calls apply(begin, end), which updates these elements of the parameters, and rounds what it has written. On a cpu both are
  // done in pieces, so that the new values are still in the cache: measured with 13 million parameters, rounding takes 13 ms
  // in place of 23. An exception leaves a copy that is not current.
  template <class Queue, class Update>
  void update(Queue& queue, const sum* parameters, std::size_t begin, std::size_t end, const Update& apply) {
    if (is_open_ || !is_current_) return apply(begin, end);
    is_current_ = false;
    const std::size_t piece = elements_at_once(queue, end - begin);
    for (std::size_t i = begin; i < end; i += piece) {
      const std::size_t behind = std::min(end, i + piece);
      apply(i, behind);
      copy_.make(queue, parameters, i, behind);
    }
    is_current_ = true;
  }

private:
  // With several threads an op is cut into parts of 65536 elements.
  template <class Queue>
  static std::size_t elements_at_once([[maybe_unused]] Queue& queue, std::size_t all) {
    if constexpr (requires { queue.threads(); }) return queue.threads() == 1 ? 16384 : 65536 * queue.threads();
    else return std::max<std::size_t>(all, 1);
  }

  copy_type copy_;
  bool is_current_ = false;
  bool is_open_ = false;
};

} // namespace cairn::detail
