// SPDX-License-Identifier: MIT
#define CAIRN_COMPILES double
#define CAIRN_COMPILES_UPDATES // parameters of 16 bits are kept as float, so only float and double have updates
#include <cairn/net/execute.hpp>
