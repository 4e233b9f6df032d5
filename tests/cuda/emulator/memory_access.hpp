// SPDX-License-Identifier: MIT
// Loads and stores of a thread.
#pragma once

#include "thread.hpp"

namespace emulator {

void load(thread& x, const instruction& i);
void store(thread& x, const instruction& i);

} // namespace emulator
