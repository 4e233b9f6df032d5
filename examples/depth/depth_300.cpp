// SPDX-License-Identifier: MIT
#include "depth.hpp"

namespace depth_study {

using namespace cairn;

std::vector<candidate> depth_300() {
  auto out = candidates<300, store_all, sqrt_n, revolve<9>>();
  out.push_back(solved_now<300>());
  return out;
}

} // namespace depth_study
