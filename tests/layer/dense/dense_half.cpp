// SPDX-License-Identifier: MIT
#include <cairn/layer/dense/dense_half.hpp>

#include "../given.hpp"

namespace dense_half_tests {

using namespace cairn;
using detail::dense_half;

// It accepts a map and its own statistics only.
static_assert(dense_half::accepts(given{{4, 2, 6}, dense_half::statistics_of(6)}));
static_assert(!dense_half::accepts(given{{4, 2, 6}, dense_half::statistics_of(5)}));
static_assert(!dense_half::accepts(given{{8, 6}, dense_half::statistics_of(6)}));
static_assert(!dense_half::accepts(given{tensor{4, 2, 6}.of(element::int32), dense_half::statistics_of(6)}));
static_assert(dense_half::statistics_of(6).elements(50) == 12); // of the batch, not of each sample
static_assert(dense_half::outputs({4, 2, 6}, 3)[0].extents == shape{4, 2, 3});

} // namespace dense_half_tests
