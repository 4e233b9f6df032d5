// SPDX-License-Identifier: MIT
#include <cairn/net/dense/dense_policies.hpp>

#include <cstddef>
#include <type_traits>

#include <cairn/net/dense/dense_block.hpp>

namespace dense_policies_tests {

using namespace cairn;
using detail::stored_bottlenecks;

static_assert(stored_bottlenecks<recompute_all> == 0 && stored_bottlenecks<store_last<5>> == 5);
static_assert(stored_bottlenecks<store_all> >= 1000 && stored_bottlenecks<store_last<static_cast<std::size_t>(-1)>> >= 1000);
static_assert(stored_bottlenecks<every<2>> == detail::no_bottlenecks); // says nothing of bottlenecks

// store_last stores the last ones.
template <class Policy>
using of_three = typename detail::made_of<DenseBlock<3, 4, Policy>>::policies;
static_assert(
    std::is_same_v<of_three<store_last<1>>, detail::pack<detail::recompute_bottleneck, detail::recompute_bottleneck, store_all>>);
static_assert(std::is_same_v<of_three<store_last<7>>, of_three<store_all>>);

} // namespace dense_policies_tests
