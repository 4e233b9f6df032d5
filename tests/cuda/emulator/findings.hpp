// SPDX-License-Identifier: MIT
// The mistakes that the emulator has found. Each is printed once for each kernel and instruction, when it is first found; a
// program that has found one ends with status 3.
#pragma once

#include <cstddef>
#include <string>

namespace emulator {

void report(const std::string& where, const std::string& what);
// The number of different findings since the last call of forget_findings().
std::size_t findings();
void forget_findings();

} // namespace emulator
