// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <cairn/data/sample_order.hpp>

namespace cairn {

// Every sample once, from the first to the last, in every epoch: for evaluation. Models sample_order.
class sequential_sampler {
public:
  std::size_t count(std::size_t samples) const { return samples; }

  void order(std::size_t samples, std::uint64_t /*epoch*/, std::vector<std::size_t>& indices) const {
    indices.resize(samples);
    for (std::size_t i = 0; i < samples; ++i) indices[i] = i;
  }
};

} // namespace cairn
