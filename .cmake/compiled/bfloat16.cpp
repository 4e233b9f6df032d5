// SPDX-License-Identifier: MIT
#define CAIRN_COMPILES bfloat16
#include <cairn/net/execute.hpp>
