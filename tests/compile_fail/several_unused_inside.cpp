// SPDX-License-Identifier: MIT
// A layer inside a block that works for nothing: the block's output is made without it.
// expect: error: .*Sequential: what the layer at this position makes is used by no layer after it
// expect: unused<0, Linear<16, 16>>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/blueprint.hpp>

using namespace cairn;

// y = b of (a, b).
struct Second {
  static constexpr reads backward_reads = reads::nothing;
  static constexpr std::size_t takes = 2;
  static constexpr tensor outputs(const arguments& in) { return in[1]; }
  static constexpr bool depends(std::size_t, std::size_t input) { return input == 1; }
};

#ifdef EXPECT_SUCCESS
using Block = checkpoint<sqrt_n, Sequential<Second, Linear<8, 8>>>;
#else
using Block = checkpoint<sqrt_n, Sequential<Linear<16, 16>, Second, Linear<8, 8>>>;
#endif
using Net = Sequential<Inputs<dims<16>, dims<8>>, Block, ReLU, Linear<8, 4>>;

static_assert(peak_activation_bytes<Net, 32> < 1_MiB);
