// SPDX-License-Identifier: MIT
// What the sources that tests/checks/random_networks.py writes include, and the only file that knows how one of their
// networks is planned and run: a network is a type there, made of names that a user types and of the tests' own layers.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include <cairn/layer/dropout.hpp>
#include <cairn/layer/gelu.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/layer_norm.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/layer/sigmoid.hpp>
#include <cairn/layer/tanh.hpp>
#include <cairn/net/checkpoint.hpp>
#include <cairn/plan/policies.hpp>
#include <cairn/plan/revolve.hpp>
#include <cairn/plan/solve/budget.hpp>

#include "../layer/several_layers.hpp"
#include "layers.hpp"
#include "planned.hpp"

namespace testing {

// Has a training step of this model the bits of the oracle of Net, which is the model itself, and does it keep to its arena?
// Where this test is tested, Net is another network, or so many bytes of the arena are missing.
template <class Model, class Net = Model>
void check_random_network(std::size_t missing = 0) {
  constexpr std::size_t batch = 5;
  auto p = plan<Model, batch, float>();
  queue q{1};
  p.arena -= missing;
  for (const std::size_t rows : {batch - 2, batch}) compare(p, q, rows, expected<Net, float>(p, q, rows));
  // Buffers of odd sizes may leave a line of a right arena unused; one that is too small has none to spare.
  const std::size_t touched = touched_bytes(p, q, true);
  CHECK((missing == 0 ? touched <= p.arena : touched == p.arena));
  CHECK(touched_bytes(p, q, false) <= p.evaluation_arena);
}

} // namespace testing
