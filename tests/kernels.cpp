// SPDX-License-Identifier: MIT
// The kernels that the tests of networks share.
#define CAIRN_TEST_KERNELS
#include "net/kernels.hpp"
