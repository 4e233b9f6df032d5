// SPDX-License-Identifier: MIT
// Everything, without xtensor.
#include <cairn/cairn.hpp>
