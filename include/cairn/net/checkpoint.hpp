// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/plan/policies.hpp>

namespace cairn {

// The same function as Net, with another schedule: Policy decides which activations are stored between forward and
// backward and which are made again. Not one bit of any output or gradient depends on it.
//
// Around a whole network it plans all of it. Inside one it makes a block that keeps, between its forward and its
// backward, only what its own policy keeps.
template <class Policy, class Net>
struct checkpoint {};

} // namespace cairn
