// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include <cairn/plan/step/step_op.hpp>

namespace cairn::detail {

// What makes ops of one kind.
using step_row = void (*)(void* self, const step_op&);

// Walks a list of ops: calls the row of each in a table of functions, and knows no more of it. It can be left after any op and
// gone on with.
class step_walk {
public:
  // List and rows, one for each kind of op, stay with the caller. Rows are called with `self`.
  constexpr step_walk(std::span<const step_op> list, const std::array<step_row, step_op_kinds>& rows, void* self)
      : at_(list.data()), end_(list.data() + list.size()), rows_(rows.data()), self_(self) {}

  constexpr bool is_over() const { return at_ == end_; }
  // The op that comes next.
  constexpr const step_op& next() const { return *at_; }
  constexpr void run_one() {
    const step_op& o = *at_++;
    rows_[static_cast<std::size_t>(o.kind)](self_, o);
  }
  constexpr void run() {
    while (!is_over()) run_one();
  }
  // Inside of the op that is at work, the gradients below `complete` are: the ops that wait for no more begin.
  constexpr void finished(std::size_t complete) {
    while (!is_over() && at_->is_inside && at_->complete <= complete) run_one();
  }
  // Leaves the rest out.
  constexpr void stop() { at_ = end_; }

private:
  const step_op* at_;
  const step_op* end_;
  const step_row* rows_;
  void* self_;
};

} // namespace cairn::detail
