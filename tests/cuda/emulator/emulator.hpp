// SPDX-License-Identifier: MIT
// A GPU made of software, linked in place of the CUDA runtime: it executes the PTX that nvcc has made of a program's kernels, and
// checks what a GPU does not tell. The host code is nvcc's too; products are those of the fake cuBLASLt.
//
// Reported are: accesses out of bounds, to memory that was given back or is another GPU's, or not aligned to their size; races of
// threads on shared and on global memory, and of ops of streams that no event and no wait puts in order; memory and registers
// that are read and were never written; barriers that not all threads reach, masks that name lanes which have ended, shuffles
// from lanes that take no part; divisions of whole numbers by 0; threads that wait for ever. Threads and blocks run in a random
// order. Not known: functions that are called, atomic operations, local memory.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "traffic.hpp"

namespace emulator {

// Does the work and returns the costs of the kernels that it has launched, by their names in PTX, and of its products.
std::map<std::string, cost> costs_of(const std::function<void()>& work);

} // namespace emulator
