// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/core/config.hpp>

namespace cairn::ops {

// The weight (n, k) of products (m, k) x (n, k)^T a second time, in the order in which the kernels of this machine read it. It
// belongs to the weight at `of`, and has as many elements. A product of few rows spends most of its time to bring its weight
// into this order; an owner of weights that seldom change does it once.
template <class T>
struct packed_weight {
  const T* of = nullptr;
  const T* data = nullptr; // null: there is none

  // Whether it can be read in place of that weight.
  bool replaces(const T* weight) const { return data != nullptr && of == weight; }
};

} // namespace cairn::ops
