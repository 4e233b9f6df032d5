// SPDX-License-Identifier: MIT
#include <array>
#include <cstddef>

#include <cairn/plan/step/left_behind.hpp>
#include <doctest/doctest.h>

namespace left_behind_tests {

using namespace cairn;
using namespace cairn::detail;

namespace {

constexpr std::array step{step_op{step_op_kind::take_inputs},
                          step_op{step_op_kind::forward},
                          step_op{step_op_kind::statistics, 0, 0, true},
                          step_op{step_op_kind::loss, 1},
                          step_op{step_op_kind::facts},
                          step_op{step_op_kind::backward, 2},
                          step_op{step_op_kind::reduce, 0, 0, true, 8},
                          step_op{step_op_kind::wait},
                          step_op{step_op_kind::compare},
                          step_op{step_op_kind::update}};

// The effect of an exception in each op: '.' none, 'g' the gradients are given up, 'a' all ranks see it, 'f' no step may follow.
template <std::size_t N>
constexpr std::array<char, N> fates(const std::array<step_op, N>& list, const other_ranks& others) {
  std::array<char, N> out{};
  for (std::size_t op = 0; op < N; ++op) {
    const left_behind left = left_behind_by(list, op + 1, others);
    out[op] = left.by_all ? 'a' : left.is_final ? 'f' : left.gradients ? 'g' : '.';
  }
  return out;
}

} // namespace

TEST_CASE("left_behind: it follows from the op in which the exception came") {
  static_assert(!left_behind_by(step, 0, {.wait_for_step = true, .wait_for_statistics = true}).gradients);
  CHECK(fates(step, {}) == std::array{'.', '.', '.', '.', 'g', 'g', 'g', 'g', 'a', 'f'});
  CHECK(fates(step, {.wait_for_step = true}) == std::array{'.', '.', '.', '.', 'f', 'f', 'f', 'f', 'a', 'f'});
  // Statistics are reduced inside the forward.
  CHECK(fates(step, {.wait_for_step = true, .wait_for_statistics = true}) ==
        std::array{'.', 'f', 'f', 'f', 'f', 'f', 'f', 'f', 'a', 'f'});
}

TEST_CASE("left_behind: a micro-batch, whose gradients stay on this rank, and a fused update") {
  constexpr std::array micro_batch{step_op{step_op_kind::forward}, step_op{step_op_kind::loss}, step_op{step_op_kind::backward}};
  CHECK(fates(micro_batch, {.wait_for_step = true}) == std::array{'.', '.', 'g'});
  constexpr std::array fused{step_op{step_op_kind::loss},    step_op{step_op_kind::facts},  step_op{step_op_kind::backward},
                             step_op{step_op_kind::compare}, step_op{step_op_kind::reduce}, step_op{step_op_kind::update},
                             step_op{step_op_kind::backward}};
  CHECK(fates(fused, {}) == std::array{'.', 'g', 'g', 'a', 'f', 'f', 'f'});
}

} // namespace left_behind_tests
