// SPDX-License-Identifier: MIT
#include <cstddef>
#include <span>
#include <vector>

#include <cairn/train/replica.hpp>

#include "training.hpp"

namespace replica_tests {

using namespace cairn;

namespace {

using Net = Sequential<Linear<10, 16>, testing::Witness, Linear<16, 4>>;
using plan = blueprint_of<Net, 6>;
using replica = detail::replica<plan, Net, float, cpu>;

} // namespace

TEST_CASE("replica: its arena has room for an evaluation, and for more if that is asked for") {
  constexpr std::size_t least = plan::evaluated::arena;
  CHECK(replica({}, seed{1}, 0).arena_memory().size() == least);
  CHECK(replica({}, seed{1}, least + detail::alignment).arena_memory().size() == least + detail::alignment);
}

TEST_CASE("replica: weights without training have no schedule of a training step") {
  using alone = detail::weights_of<plan, Net, float, cpu, false>;
  CHECK(alone::code().training.ops.empty());
  CHECK(!replica::code().training.ops.empty());
  CHECK(alone::code().evaluation.ops.size() == replica::code().evaluation.ops.size());
}

TEST_CASE("replica: it lends what the whole network shares, and the inputs where the caller has them") {
  replica own({}, seed{1}, 0);
  const std::vector<float> x(3 * 10, 1.0F);
  const auto nothing = [](auto&&...) {};
  own.with_inputs(replica::rows_of(x, "here"), x, pass::evaluate, nothing, nothing, [&](const detail::frame<float>& lent) {
    CHECK(lent.rows == 3);
    CHECK(lent.inputs[0] == x.data());
    CHECK(!lent.constants);
    CHECK(lent.parameters == own.parameters().data());
    CHECK(lent.buffers == own.buffers().data());
    CHECK(lent.workspace == own.arena_memory().data());
    CHECK(lent.why == pass::evaluate);
  });
  CHECK(!own.lend(3, pass::forward).inputs);
}

} // namespace replica_tests
