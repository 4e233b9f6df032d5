// SPDX-License-Identifier: MIT
// Gradients of a whole trainer from difference quotients.
#pragma once

#include <vector>

#include <cairn/train/parameters.hpp>

namespace testing {

// Returns the derivatives of loss() by all parameters of a trainer of doubles, in the order of for_each. Restores them.
template <class Trainer, class Loss>
std::vector<double> quotients_of(Trainer& train, const Loss& loss) {
  constexpr double h = 1e-5;
  std::vector<double> out;
  train.for_each([&](const cairn::types::named_parameter<double>& p) {
    for (double& w : p.numbers) {
      const double before = w;
      w = before + h;
      const double above = loss();
      w = before - h;
      const double below = loss();
      w = before;
      out.push_back((above - below) / (2 * h));
    }
  });
  return out;
}

} // namespace testing
