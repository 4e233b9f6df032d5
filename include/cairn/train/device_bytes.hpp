// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/config.hpp>

namespace cairn {

// The number of bytes that a trainer allocates on its device, a constant like peak_activation_bytes<...>, which is one part of
// it. It counts parameters, buffers, gradients, the optimizer's states, the arena, and where the device's memory is not the
// host's the slots that batches go through. All of it is allocated by the constructor. Memory that a device keeps for itself,
// such as scratch for matrix products, is not counted.
//
// `States` is the number of the optimizer's states [that of a default optimizer], `Ranks` the number of ranks of the job.
//
//   device_bytes<trainer<Net, CrossEntropyLoss, AdamW, batch<64>>>
template <class Trainer, std::size_t States = typename Trainer::optimizer_type{}.states(), std::size_t Ranks = 1>
inline constexpr std::size_t device_bytes = Trainer::bytes_on_device(States, Ranks);

} // namespace cairn
