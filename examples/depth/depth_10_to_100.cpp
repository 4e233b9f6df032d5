// SPDX-License-Identifier: MIT
#include "depth.hpp"

using namespace cairn;

std::vector<candidate> depth_10() {
  return candidates<10, store_all, recompute_all, sqrt_n, revolve<4>>();
}

std::vector<candidate> depth_30() {
  return candidates<30, store_all, recompute_all, sqrt_n, revolve<5>>();
}

// recompute_all would run every block 50 times, and the compiler would plan all of them.
std::vector<candidate> depth_100() { return candidates<100, store_all, sqrt_n, revolve<7>>(); }
