// SPDX-License-Identifier: MIT
#include "depth.hpp"

namespace depth_study {

using namespace cairn;

std::vector<candidate> depth_1000() {
  auto out = candidates<1000, store_all, sqrt_n, revolve<10>>();
  out.push_back(solved_now<1000>());
  return out;
}

} // namespace depth_study
