// SPDX-License-Identifier: MIT
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include <doctest/doctest.h>

#include <cairn/plan/step/step_walk.hpp>

namespace step_walk_tests {

using namespace cairn;
using namespace cairn::detail;

namespace {

// Records the ops that it runs. A backward reports gradients as finished up to 10, then up to 20.
struct told {
  std::string words;
  step_walk* walk = nullptr;

  static void row(void* self, const step_op& o) {
    auto& me = *static_cast<told*>(self);
    me.words += std::string(name_of(o.kind)) + " " + std::to_string(o.index) + "; ";
    if (o.kind != step_op_kind::backward) return;
    me.walk->finished(10);
    me.words += "on; ";
    me.walk->finished(20);
    me.words += "done; ";
  }
};
constexpr auto rows = [] {
  std::array<step_row, step_op_kinds> out{};
  for (step_row& r : out) r = &told::row;
  return out;
}();

constexpr std::array list{step_op{step_op_kind::loss, 0},
                          step_op{step_op_kind::backward, 1},
                          step_op{step_op_kind::reduce, 0, 0, true, 10},
                          step_op{step_op_kind::reduce, 1, 0, true, 15},
                          step_op{step_op_kind::reduce, 2, 0, true, 21},
                          step_op{step_op_kind::wait, 0, 0, false, 10}};

} // namespace

TEST_CASE("step_walk: ops inside of another begin when their gradients are complete, the rest behind it") {
  told t;
  step_walk walk(list, rows, &t);
  t.walk = &walk;
  walk.run();
  CHECK(t.words == "loss 0; backward 1; reduce 0; on; reduce 1; done; reduce 2; wait 0; ");
  CHECK(walk.is_over());
}
TEST_CASE("step_walk: it can be left after any op and gone on with, and its rest be left out") {
  told t;
  step_walk walk(list, rows, &t);
  t.walk = &walk;
  walk.run_one();
  CHECK(t.words == "loss 0; ");
  CHECK(walk.next().kind == step_op_kind::backward);
  walk.run_one();
  CHECK(walk.next() == list[4]);
  walk.stop();
  CHECK(walk.is_over());
  walk.run();
  CHECK(t.words == "loss 0; backward 1; reduce 0; on; reduce 1; done; ");
}

} // namespace step_walk_tests
