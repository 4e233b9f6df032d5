// SPDX-License-Identifier: MIT
#define CAIRN_COMPILES float16
#define CAIRN_COMPILES_SUMS
#include <cairn/net/execute.hpp>
