// SPDX-License-Identifier: MIT
// One file for all depths: the compiler reads and compiles what they share, mainly the kernels, once.
#include "depth.hpp"

namespace depth_study {

using namespace cairn;

std::vector<candidate> depth_10() { return candidates<10, store_all, recompute_all, sqrt_n, revolve<4>, two_mebibytes>(); }

std::vector<candidate> depth_30() { return candidates<30, store_all, recompute_all, sqrt_n, revolve<5>, two_mebibytes>(); }

// recompute_all would run every block 50 times, and the compiler would plan all of them.
std::vector<candidate> depth_100() { return candidates<100, store_all, sqrt_n, revolve<7>, two_mebibytes>(); }

std::vector<candidate> depth_300() {
  auto out = candidates<300, store_all, sqrt_n, revolve<9>>();
  out.push_back(solved_now<300>());
  return out;
}

std::vector<candidate> depth_1000() {
  auto out = candidates<1000, store_all, sqrt_n, revolve<10>>();
  out.push_back(solved_now<1000>());
  return out;
}

} // namespace depth_study
