// SPDX-License-Identifier: MIT
// A layer of which nothing uses what it makes: the layer after it leaves that tensor out.
// expect: error: .*Sequential: what the layer at this position makes is used by no layer after it
// expect: unused<1, Linear<16, 16>>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/linear.hpp>
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
using Net = Sequential<Inputs<dims<16>, dims<8>>, Second, Linear<8, 4>>;
#else
using Net = Sequential<Inputs<dims<16>, dims<8>>, Linear<16, 16>, Second, Linear<8, 4>>;
#endif

static_assert(peak_activation_bytes<Net, 32> < 1_MiB);
