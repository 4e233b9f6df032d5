// SPDX-License-Identifier: MIT
#include "depth.hpp"

namespace depth_study {

using namespace cairn;

// recompute_all would run every block 50 times, and the compiler would plan all of them.
std::vector<candidate> depth_100() { return candidates<100, store_all, sqrt_n, revolve<7>, two_mebibytes>(); }

} // namespace depth_study
