// SPDX-License-Identifier: MIT
// A network of tokens that does not say how many there are.
// expect: error: .*Sequential: the first layer takes integers
// expect: put Inputs<integers<10>> before it
// expect: begins_with_integers<Embedding<100, 16>>
#include <cairn/layer/embedding.hpp>
#include <cairn/layer/flatten.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/net/blueprint.hpp>

using namespace cairn;

#ifdef EXPECT_SUCCESS
using Net = Sequential<Inputs<integers<10>>, Embedding<100, 16>, Flatten, Linear<160, 4>>;
#else
using Net = Sequential<Embedding<100, 16>, Flatten, Linear<160, 4>>;
#endif

static_assert(peak_activation_bytes<Net, 64> < 4_MiB);
