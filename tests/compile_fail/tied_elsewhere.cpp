// SPDX-License-Identifier: MIT
// A weight of a layer that stands inside a block.
// expect: error: .*Tied: its owner is a layer that stands once in the same Sequential, before it
#include <cairn/layer/embedding.hpp>
#include <cairn/layer/flatten.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/tied.hpp>
#include <cairn/train/model.hpp>

using namespace cairn;

using Table = Embedding<100, 8>;
#ifdef EXPECT_SUCCESS
using First = Table;
#else
using First = checkpoint<sqrt_n, Sequential<Table>>;
#endif
using Net = Sequential<Inputs<integers<4>>, First, Flatten, Linear<32, 8>, Tied<Linear<8, 100>, Table>>;

std::uint64_t start() { return model<Net, batch<16>>{}.checksum(); }
