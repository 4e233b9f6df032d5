// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/config.hpp>

namespace cairn::detail {

// The message for a batch of a wrong size, which is the diagnostic of an error (core/explain.hpp).
struct batch_message {
  template <class Batch>
  static constexpr bool right() {
    static_assert(Batch::asked > 0, "batch: a batch needs room for at least one sample; write batch<1> or more");
    static_assert(Batch::asked <= Batch::most, "batch: a batch has room for at most 4294967296 samples");
    return Batch::asked > 0 && Batch::asked <= Batch::most;
  }
};

} // namespace cairn::detail

namespace cairn {

// The number of samples that a step has room for, as a type: the memory plan is made for it. It is a capacity; a step takes any
// number of rows from 1 to N.
template <std::size_t N>
struct batch : detail::batch_message {
  static constexpr std::size_t asked = N;
  static constexpr std::size_t most = std::size_t{1} << 32; // beyond, bytes would overflow
  // After the error there is room for one, so that no other error follows.
  static constexpr std::size_t size = batch::template right<batch>() ? N : 1;
};

} // namespace cairn
