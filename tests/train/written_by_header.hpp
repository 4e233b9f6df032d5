// SPDX-License-Identifier: MIT
// Written by cairn::write_header(): a trained network and its weights.
// clang-format off
#pragma once

#include <array>
#include <cstddef>

#include <cairn/cairn.hpp>

namespace written_by_header {

using network = cairn::Sequential<cairn::Linear<3, 4>, cairn::BatchNorm1d<4>, cairn::ReLU, cairn::Linear<4, 2>>;

alignas(64) inline constexpr std::array<float, 96> parameters{
    0x1.c00004p+0F, 0x1.d9999ep+0F, 0x1.f33338p+0F, 0x1.066668p+1F, 0x1.133334p+1F, 0x1.2p+1F, 0x1.2cccccp+1F,
    0x1.399998p+1F, 0.0F, 0.0F, 0.0F, 0.0F, 0.0F, 0.0F, 0.0F, 0.0F, 0x1.466664p+1F, 0x1.53333p+1F, 0.0F, 0.0F,
    0.0F, 0.0F, 0.0F, 0.0F, 0.0F, 0.0F, 0.0F, 0.0F, 0.0F, 0.0F, 0.0F, 0.0F, 0x1.e6666ap-1F, 0x1.0ccccep+0F,
    0x1.266668p+0F, 0x1.400002p+0F, 0.0F, 0.0F, 0.0F, 0.0F, 0.0F, 0.0F, 0.0F, 0.0F, 0.0F, 0.0F, 0.0F, 0.0F,
    0x1.59999cp+0F, 0x1.733336p+0F, 0x1.8cccdp+0F, 0x1.a6666ap+0F, 0.0F, 0.0F, 0.0F, 0.0F, 0.0F, 0.0F, 0.0F,
    0.0F, 0.0F, 0.0F, 0.0F, 0.0F, -0x1.4cccccp-1F, -0x1.199998p-1F, -0x1.cccccap-2F, -0x1.666664p-2F, -0x1.fffffcp-3F,
    -0x1.33333p-3F, -0x1.99998cp-5F, 0x1.9999a8p-5F, 0x1.333338p-3F, 0x1.000002p-2F, 0x1.666668p-2F, 0x1.cccccep-2F,
    0.0F, 0.0F, 0.0F, 0.0F, 0x1.19999ap-1F, 0x1.4ccccep-1F, 0x1.800002p-1F, 0x1.b33336p-1F, 0.0F, 0.0F, 0.0F,
    0.0F, 0.0F, 0.0F, 0.0F, 0.0F, 0.0F, 0.0F, 0.0F, 0.0F};
alignas(64) inline constexpr std::array<float, 32> buffers{
    0x1.5ffffcp+1F, 0x1.6cccc8p+1F, 0x1.799994p+1F, 0x1.86666p+1F, 0.0F, 0.0F, 0.0F, 0.0F, 0.0F, 0.0F, 0.0F,
    0.0F, 0.0F, 0.0F, 0.0F, 0.0F, 0x1.93332cp+1F, 0x1.9ffff8p+1F, 0x1.acccc4p+1F, 0x1.b9999p+1F, 0.0F, 0.0F,
    0.0F, 0.0F, 0.0F, 0.0F, 0.0F, 0.0F, 0.0F, 0.0F, 0.0F, 0.0F};

static_assert(cairn::constant_model<network, cairn::batch<1>>::layout == 0x574ad554953ebd42U,
              "this version of Cairn has another order of weights, or `network` is another type: call write_header() again");

// For batches of up to Rows samples: cairn::fixed_session own{written_by_header::trained<1>};
template <std::size_t Rows = 1>
inline constexpr cairn::constant_model<network, cairn::batch<Rows>> trained{parameters, buffers};

} // namespace written_by_header
