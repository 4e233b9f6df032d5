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
  constexpr step_walk() = default;
  // List and rows, one for each kind of op, stay with the caller. Rows are called with `self`.
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
  // Inside of the op that is at work, the gradients below `complete` are: the ops that wait for no more begin.
  constexpr void finished(std::size_t complete) {
    while (!is_over() && next().is_inside && next().complete <= complete) run_one();
  }
  // Leaves the rest out.
  constexpr void stop() { list_ = list_.first(begun_); }

  constexpr std::span<const step_op> list() const { return list_; }
  // How many ops have begun: while an exception passes, the last of them is the one in which it came.
  constexpr std::size_t begun() const { return begun_; }

private:
  std::span<const step_op> list_{};
  std::size_t begun_ = 0;
  const step_row* rows_ = nullptr;
  void* self_ = nullptr;
};

} // namespace cairn::detail
