// SPDX-License-Identifier: MIT
#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <cairn/plan/step/step_list.hpp>

namespace step_list_tests {

using namespace cairn;
using namespace cairn::detail;

namespace {

// Three stages with 10, 20 and 30 gradients. Backward finishes the last one first; the one in the middle is recomputed.
constexpr std::array<op, 9> ops{op{.position = 0},
                                op{.position = 1},
                                op{.position = 2},
                                op{.kind = op_kind::loss, .position = 3},
                                op{.kind = op_kind::backward, .position = 2},
                                op{.recomputes = true, .position = 1},
                                op{.kind = op_kind::backward, .position = 1},
                                op{.kind = op_kind::discard_value, .position = 1},
                                op{.kind = op_kind::backward, .position = 0}};
constexpr std::array<std::size_t, 4> begin{50, 30, 0, 60};
constexpr std::array<bucket, 3> buckets{bucket{0, 30, 0}, bucket{30, 40, 1}, bucket{40, 60, 2}};
constexpr step_parts plain{.ops = ops, .loss = 3, .gradient_begin = begin, .buckets = buckets};

std::string words(const step_parts& of, step_kind kind) {
  std::string out;
  const auto list = write_step<at_run_time>(of, kind);
  CHECK(list.count <= most_step_ops(of));
  for (const step_op& o : list.ops()) {
    out += out.empty() ? "" : o.is_inside ? " > " : ", ";
    out += name_of(o.kind);
    if (o.is_scheduled() || (o.kind >= step_op_kind::statistics && o.kind <= step_op_kind::wait) ||
        o.kind == step_op_kind::update)
      out += " " + std::to_string(o.index);
  }
  return out;
}

} // namespace

TEST_CASE("step_list: buckets leave inside of the backward that completes them, and are used when all are back") {
  CHECK(words(plain, step_kind::step) ==
        "take inputs, forward 0, forward 1, forward 2, loss 3, facts, backward 4 > reduce 0, recompute 5, backward 6 > reduce 1, "
        "discard 7, backward 8 > reduce 2, wait 0, wait 1, wait 2, compare, norm, check, clip, update 0, update 1, update 2");
  step_parts later = plain;
  later.overlaps = false;
  CHECK(
      words(later, step_kind::step) ==
      "take inputs, forward 0, forward 1, forward 2, loss 3, facts, backward 4, recompute 5, backward 6, discard 7, backward 8, "
      "reduce 0, reduce 1, reduce 2, wait 0, wait 1, wait 2, compare, norm, check, clip, update 0, update 1, update 2");
}
TEST_CASE("step_list: a fused update uses a bucket when as many have left after it as there is room for") {
  step_parts fused = plain;
  fused.fused = true;
  CHECK(words(fused, step_kind::step) ==
        "take inputs, forward 0, forward 1, forward 2, loss 3, facts, backward 4 > compare > reduce 0 > wait 0 > update 0, "
        "recompute 5, backward 6 > reduce 1 > wait 1 > update 1, discard 7, backward 8 > reduce 2 > wait 2 > update 2");
  fused.in_flight = 2;
  CHECK(words(fused, step_kind::step) ==
        "take inputs, forward 0, forward 1, forward 2, loss 3, facts, backward 4 > compare > reduce 0, recompute 5, "
        "backward 6 > reduce 1 > wait 0 > update 0, discard 7, backward 8 > reduce 2 > wait 1 > update 1, wait 2, update 2");
  fused.buckets = {};
  CHECK(words(fused, step_kind::step) == "take inputs, forward 0, forward 1, forward 2, loss 3, facts, backward 4, recompute 5, "
                                         "backward 6, discard 7, backward 8, compare");
}
TEST_CASE("step_list: statistics stand where their layer has finished what is above it") {
  // The stage in the middle is a block of two layers: the upper one begins when 35 gradients are complete.
  constexpr std::array<summed_stage, 3> sums{summed_stage{0, false, 50}, summed_stage{1, true, 40}, summed_stage{1, true, 35}};
  step_parts summing = plain;
  summing.sums = sums;
  CHECK(words(summing, step_kind::step) ==
        "take inputs, forward 0 > statistics 0, forward 1 > statistics 1 > statistics 2, forward 2, loss 3, facts, "
        "backward 4 > reduce 0, recompute 5, backward 6 > statistics 2 > reduce 1 > statistics 1, discard 7, "
        "backward 8 > reduce 2, wait 0, wait 1, wait 2, compare, norm, check, clip, update 0, update 1, update 2");
  CHECK(words(summing, step_kind::joined) == "facts > reduce 0 > find > statistics 2 > reduce 1 > statistics 1 > reduce 2, wait "
                                             "0, wait 1, wait 2, compare, norm, check, clip, "
                                             "update 0, update 1, update 2");
}
TEST_CASE("step_list: what is no whole step ends before the gradients leave") {
  CHECK(words(plain, step_kind::micro_batch) ==
        "take inputs, forward 0, forward 1, forward 2, loss 3, backward 4, recompute 5, backward 6, discard 7, backward 8");
  CHECK(words(plain, step_kind::forward_alone) == "take inputs, forward 0, forward 1, forward 2");
  CHECK(words(plain, step_kind::evaluation) == "take inputs, forward 0, forward 1, forward 2, loss 3");
}

} // namespace step_list_tests
