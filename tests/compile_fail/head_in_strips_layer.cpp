// SPDX-License-Identifier: MIT
// Strips of a layer that overwrites its gradients.
// expect: error: .*head_in_strips: expected a layer that can add to its gradients, and strips of at least one row
// expect: head_in_strips<Conv2d<3, 8, 3>
#include <cairn/layer/conv2d.hpp>
#include <cairn/layer/head_in_strips.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/train/model.hpp>

using namespace cairn;

#ifdef EXPECT_SUCCESS
using Net = Sequential<Input<3>, head_in_strips<Linear<3, 8>>>;
#else
using Net = Sequential<Input<6, 6, 3>, head_in_strips<Conv2d<3, 8, 3>>>;
#endif

std::uint64_t start() { return model<Net, batch<16>>{}.checksum(); }
