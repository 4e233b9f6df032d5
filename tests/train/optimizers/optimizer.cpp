// SPDX-License-Identifier: MIT
#include <cairn/train/optimizers/optimizer.hpp>

#include <doctest/doctest.h>

#include "../../reference/optimizer_check.hpp"

namespace optimizer_tests {

using namespace cairn;

namespace {

// A user's own optimizer: moves every parameter by the learning rate against the sign of its gradient.
struct sign_descent {
  double learning_rate = 0.25;
  std::size_t states() const { return 0; }

  template <class Queue, class T>
  void update(Queue&, const update_call<T>& call) const {
    for (std::size_t i = 0; i < call.count; ++i)
      call.parameters[i] -= static_cast<T>(call.gradients[i] > 0 ? call.learning_rate : -call.learning_rate);
  }
};

struct without_rate {
  std::size_t states() const { return 0; }
};

} // namespace

static_assert(optimizer<sign_descent>);
static_assert(!optimizer<without_rate> && !optimizer<int>);

TEST_CASE("update_call: is enough for an optimizer of one's own") {
  const auto start = reference_numbers<double>("optimizer/start");
  const auto gradients = reference_numbers<double>("optimizer/gradients");
  const auto after = trajectory<double>(sign_descent{});
  for (std::size_t i = 0; i < start.size(); ++i) CHECK(after[i] == start[i] - (gradients[i] > 0 ? 0.25 : -0.25));
}

} // namespace optimizer_tests
