// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/core/config.hpp>

namespace cairn::detail {

// The square root by Newton's iteration: std::sqrt is no constant expression in C++20.
constexpr double constant_sqrt(double x) {
  double root = x > 1 ? x : 1;
  for (double next = (root + x / root) / 2; next < root; next = (root + x / root) / 2) root = next;
  return root;
}

} // namespace cairn::detail
