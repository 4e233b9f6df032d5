// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/core/explain.hpp>

// A loader without batch<N>, as a diagnostic in an error message (core/explain.hpp).
namespace cairn::detail {

struct third_argument_message {
  template <class Loader>
  static constexpr bool right() {
    static_assert(is_right<Loader>, "loader: its third argument is the most samples in a batch, as a type: write loader{dataset, "
                                    "sampler{}, batch<64>{}}; see loader_without_batch<third argument>");
    return false;
  }
};
// The third argument of a loader that was given no batch<N>.
template <class Third>
struct loader_without_batch : third_argument_message {};

template <class Dataset, class Third>
struct without_batch {};

} // namespace cairn::detail
