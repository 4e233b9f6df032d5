// SPDX-License-Identifier: MIT
#include <cstddef>
#include <vector>

#include <cairn/train/execution_context.hpp>
#include <cairn/train/replica.hpp>

#include "training.hpp"

namespace execution_context_tests {

using namespace cairn;

namespace {

using Net = Sequential<Linear<testing::features, 16>, testing::Witness, Linear<16, testing::classes>>;
using plan = blueprint_of<Net, 6>;
using context = detail::execution_context<plan, float, cpu>;

} // namespace

TEST_CASE("execution_context: two of them evaluate the same weights side by side") {
  detail::weights_of<plan, Net, float, cpu, false> weights({}, seed{1});
  context a(detail::held_device<cpu>(types::device_options{.threads = 2}), 0), b({}, 0);
  CHECK(a.threads() == 2);
  CHECK(b.threads() == 1);
  CHECK(&a.device() != &b.device());
  const testing::samples<> s(6, 1), other(6, 2);
  const auto lend_in = [&](context& own) {
    return [&](std::size_t rows) {
      detail::frame<float> f = own.blank(rows, pass::evaluate);
      f.parameters = weights.parameters().data();
      f.buffers = weights.buffers().data();
      return f;
    };
  };
  const auto first = a.evaluate(weights.code(), s.x, lend_in(a), "here", a.wait());
  const std::vector<float> before(first.begin(), first.end());
  const auto second = b.evaluate(weights.code(), other.x, lend_in(b), "here", b.wait());
  CHECK(first.data() != second.data());
  CHECK(std::vector<float>(first.begin(), first.end()) == before);
  CHECK(std::vector<float>(second.begin(), second.end()) != before);
  const auto again = b.evaluate(weights.code(), s.x, lend_in(b), "here", b.wait());
  CHECK(again.data() == second.data());
  CHECK(std::vector<float>(again.begin(), again.end()) == before);
}

TEST_CASE("execution_context: it allocates nothing for batches where the device reads the program's memory") {
  static_assert(context::bytes_of_batches(100) == 0);
  static_assert(context::staging_bytes(100) == 0);
}

} // namespace execution_context_tests
