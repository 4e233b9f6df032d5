// SPDX-License-Identifier: MIT
#include "depth.hpp"

using namespace cairn;

// Without revolve<10>: planning it takes more steps of one constant evaluation than clang allows by default.
std::vector<candidate> depth_1000() { return candidates<1000, store_all, sqrt_n>(); }
