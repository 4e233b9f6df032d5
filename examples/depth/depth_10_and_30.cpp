// SPDX-License-Identifier: MIT
#include "depth.hpp"

namespace depth_study {

using namespace cairn;

std::vector<candidate> depth_10() {
  return candidates<10, store_all, recompute_all, sqrt_n, revolve<4>, two_mebibytes>();
}

std::vector<candidate> depth_30() {
  return candidates<30, store_all, recompute_all, sqrt_n, revolve<5>, two_mebibytes>();
}

} // namespace depth_study
