// SPDX-License-Identifier: MIT
#define CAIRN_COMPILES bfloat16
#define CAIRN_COMPILES_SUMS
#include <cairn/net/execute.hpp>
