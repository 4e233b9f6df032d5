// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/config.hpp>

namespace cairn {

// How many bytes a trainer allocates on its device, a constant beside peak_activation_bytes<...>, which is one part of it:
// parameters, buffers, gradients, the optimizer's states, the arena, and where the device's memory is not the host's the slots
// that batches go through. All of it is allocated by the constructor; only a cpu allocates the gradients of micro-batches, the
// largest stage's, when accumulate() is first called. What a device keeps for itself, as scratch of its products, is not counted.
//
// States is how many the optimizer has [those of its default], Ranks how many share the job.
//
//   device_bytes<trainer<Net, CrossEntropyLoss, AdamW, batch<64>>>
template <class Trainer, std::size_t States = typename Trainer::optimizer_type{}.states(), std::size_t Ranks = 1>
inline constexpr std::size_t device_bytes = Trainer::bytes_on_device(States, Ranks);

} // namespace cairn
