// SPDX-License-Identifier: MIT
// A thousand equal layers under POLICY, and another.
#include <cairn/layer/linear.hpp>
#include <cairn/net/blueprint.hpp>
#include <cairn/net/repeat.hpp>
#include <cairn/plan/policies.hpp>
#include <cairn/plan/revolve.hpp>

using namespace cairn;
using Net = Sequential<Repeat<1000, Linear<64, 64>>, Linear<64, 10>>;
static_assert(peak_activation_bytes<checkpoint<POLICY, Net>, 64> > 0);
