// SPDX-License-Identifier: MIT
// A thousand equal blocks under POLICY, and a layer on either side.
#include <cairn/layer/layer_norm.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/blueprint.hpp>
#include <cairn/net/repeat.hpp>
#include <cairn/net/residual.hpp>
#include <cairn/plan/policies.hpp>
#include <cairn/plan/revolve.hpp>

using namespace cairn;
#if RESIDUAL
using Block = Residual<LayerNorm<64>, Linear<64, 64>, ReLU>;
#else
using Block = Linear<64, 64>;
#endif
using Net = Sequential<Linear<32, 64>, Repeat<1000, Block>, Linear<64, 10>>;
static_assert(peak_activation_bytes<checkpoint<POLICY, Net>, 64> > 0);
