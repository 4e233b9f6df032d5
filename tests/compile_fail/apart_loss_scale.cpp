// SPDX-License-Identifier: MIT
// Loss scaling on a device whose work is done later and that cannot decide on updates.
// expect: error: .*trainer: loss_scale needs a device that has the ops check_gradients and clip_checked
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/training_options.hpp>

using namespace cairn;

struct no_step {};
#ifdef EXPECT_SUCCESS
constexpr bool is_unscaled = false;
#else
constexpr bool is_unscaled = true;
#endif

types::training_options<CrossEntropyLoss, no_step, false, is_unscaled> options{.seed = 7, .loss_scale = fixed_scale{128}};
