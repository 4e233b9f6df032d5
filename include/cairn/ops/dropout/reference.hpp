// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/random.hpp>
#include <cairn/ops/dropout/dropout.hpp>

namespace cairn::detail {

// Dropout as documented, one element after another: the reference for every kernel.
template <class T>
void dropout_reference(std::size_t count, T* result, const T* x, const random_key& key, const dropout_rate& rate) {
  for (std::size_t i = 0; i < count; ++i)
    result[i] = x[i] * (random_bits(key, i) < rate.threshold ? T{0} : static_cast<T>(rate.scale));
}

} // namespace cairn::detail
