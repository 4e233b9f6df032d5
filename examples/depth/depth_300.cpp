// SPDX-License-Identifier: MIT
#include "depth.hpp"

using namespace cairn;

std::vector<candidate> depth_300() { return candidates<300, store_all, sqrt_n, revolve<9>>(); }
