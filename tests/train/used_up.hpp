// SPDX-License-Identifier: MIT
// An optimizer that spoils everything that must not be read after an update.
#pragma once

#include <cstddef>
#include <limits>

#include <cairn/train/optimizers/optimizer.hpp>

namespace testing {

// Writes the gradients to its state, and NaNs over the parameters and the gradients.
struct used_up {
  double learning_rate = 1;

  std::size_t states() const { return 1; }

  template <class Queue, class T>
  void update(Queue&, const cairn::update_call<T>& call) const {
    for (std::size_t i = 0; i < call.count; ++i) {
      call.states[0][i] = call.gradients[i];
      call.parameters[i] = const_cast<T*>(call.gradients)[i] = std::numeric_limits<T>::quiet_NaN();
    }
  }
};

static_assert(cairn::optimizer<used_up>);

} // namespace testing
