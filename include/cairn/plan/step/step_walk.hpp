// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include <cairn/plan/step/step_op.hpp>

namespace cairn::detail {

// A function that runs ops of one kind.
using step_row = void (*)(void* self, const step_op&);

// Walks a list of ops: for each it calls its row in a table of functions. The walk can stop after any op and continue later.
class step_walk {
public:
  constexpr step_walk() = default;
  // The list and the rows, one for each kind of op, belong to the caller. Rows are called with `self`.
  constexpr step_walk(std::span<const step_op> list, const std::array<step_row, step_op_kinds>& rows, void* self)
      : list_(list), rows_(rows.data()), self_(self) {}

  constexpr bool is_over() const { return begun_ == list_.size(); }
  // The op that comes next.
  constexpr const step_op& next() const { return list_.data()[begun_]; }
  constexpr void run_one() {
    const step_op& o = list_.data()[begun_++];
    rows_[static_cast<std::size_t>(o.kind)](self_, o);
  }
  constexpr void run() {
    while (!is_over()) run_one();
  }
  // Called inside the running op when the gradients below `complete` are complete. Runs the ops that wait only for these.
  constexpr void finished(std::size_t complete) {
    while (!is_over() && next().is_inside && next().complete <= complete) run_one();
  }
  // Leaves out the rest of the list.
  constexpr void stop() { list_ = list_.first(begun_); }

  constexpr std::span<const step_op> list() const { return list_; }
  // The number of ops that have begun. While an exception passes, the last of them is the one that threw it.
  constexpr std::size_t begun() const { return begun_; }

private:
  std::span<const step_op> list_{};
  std::size_t begun_ = 0;
  const step_row* rows_ = nullptr;
  void* self_ = nullptr;
};

} // namespace cairn::detail
