// SPDX-License-Identifier: MIT
// Loss scaling on a device whose work is done later.
// expect: error: .*trainer: loss_scale is for devices whose memory the host shares
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/training_options.hpp>

using namespace cairn;

struct no_step {};
#ifdef EXPECT_SUCCESS
constexpr bool is_apart = false;
#else
constexpr bool is_apart = true;
#endif

types::training_options<CrossEntropyLoss, no_step, false, is_apart> options{.seed = 7, .loss_scale = fixed_scale{128}};
