// SPDX-License-Identifier: MIT
#include <type_traits>

#include <cairn/layer/gelu.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/net/block_ways.hpp>
#include <cairn/net/checkpoint.hpp>
#include <cairn/net/dense/dense_block.hpp>
#include <cairn/net/gated.hpp>
#include <cairn/net/residual.hpp>
#include <doctest/doctest.h>

namespace block_ways_tests {

using namespace cairn;

namespace {

using Norm = Residual<Linear<16, 16>, GELU>;
using Unit = Gated<Sequential<Linear<16, 16>, GELU>, Linear<16, 16>>;
template <class Block, std::size_t Chain, std::size_t Way, class Policy>
constexpr bool takes = std::is_same_v<typename detail::policy_in_way<Block, Chain, Way>::type, Policy>;

} // namespace

TEST_CASE("block_ways: a policy that was typed stays") {
  CHECK(detail::offers_ways<Norm>);
  CHECK(detail::offers_ways<Unit>);
  CHECK(detail::offers_ways<DenseBlock<4, 12>>);
  CHECK(!detail::offers_ways<checkpoint<store_all, Norm>>);
  CHECK(!detail::offers_ways<DenseBlock<4, 12, recompute_all>>);
  CHECK(!detail::offers_ways<Linear<16, 16>>);
}

TEST_CASE("block_ways: each stores less than the one before it") {
  CHECK(takes<Norm, 0, 0, store_all>);
  CHECK(takes<Norm, 0, 1, recompute_cheap>);
  CHECK(takes<Unit, 1, 2, detail::recompute_whole>);
  CHECK(takes<DenseBlock<4, 12>, 1, 1, detail::recompute_bottleneck>);
  CHECK(takes<DenseBlock<4, 12>, 2, 1, store_all>);
  CHECK(takes<DenseBlock<4, 12>, 3, 2, detail::recompute_bottleneck>);
}

} // namespace block_ways_tests
