// SPDX-License-Identifier: MIT
#define CAIRN_COMPILES float16
#include <cairn/net/execute.hpp>
