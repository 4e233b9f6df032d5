// SPDX-License-Identifier: MIT
#include <array>
#include <cstddef>
#include <type_traits>

#include <cairn/layer/gelu.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/net/block_ways.hpp>
#include <cairn/net/checkpoint.hpp>
#include <cairn/net/dense/dense_block.hpp>
#include <cairn/net/gated.hpp>
#include <cairn/net/residual.hpp>
#include <cairn/plan/chain.hpp>
#include <cairn/plan/route.hpp>
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
  CHECK(takes<Norm, 0, 2, detail::recompute_without_parameters>);
  CHECK(takes<Unit, 1, 3, detail::recompute_whole>);
  CHECK(takes<DenseBlock<4, 12>, 1, 1, detail::recompute_bottleneck>); // two of four stay
  CHECK(takes<DenseBlock<4, 12>, 2, 1, store_all>);
  CHECK(takes<DenseBlock<4, 12>, 2, 2, detail::recompute_bottleneck>); // one
  CHECK(takes<DenseBlock<4, 12>, 3, 2, store_all>);
  CHECK(takes<DenseBlock<4, 12>, 3, 3, detail::recompute_bottleneck>); // none
}

namespace {

// Products of width 8 to 64 and back, with a GELU between them, as a chain inside a network.
constexpr plan::stage product(std::size_t in, std::size_t out) {
  plan::stage s{};
  s.output.per_sample = out * sizeof(float);
  s.reads_input = true;
  s.parameters = in * out;
  s.forward_flops = 2 * in * out;
  s.backward_flops = 4 * in * out;
  return s;
}
constexpr plan::stage gelu(std::size_t width) {
  plan::stage s{};
  s.output.per_sample = width * sizeof(float);
  s.reads_input = s.in_place_forward = s.in_place_backward = true;
  s.forward_flops = s.backward_flops = 20 * width;
  return s;
}
constexpr std::array<plan::stage, 4> stages{product(8, 8), product(8, 64), gelu(64), product(64, 8)};
constexpr plan::chain inside{.stages = stages, .batch = 4, .input = {.per_sample = 8 * sizeof(float)}, .lent = true};

template <class Policy>
std::size_t forwards_of(std::size_t position) {
  std::array<plan::route_step, 64> moves{};
  plan::route out{inside, moves.data()};
  Policy::plan(inside, out);
  std::size_t count = 0;
  for (std::size_t k = 0; k < out.size(); ++k) count += !moves[k].backward && moves[k].position == position ? 1U : 0U;
  return count;
}

} // namespace

TEST_CASE("block_ways: what is recomputed before the backward pass of a chain") {
  CHECK(forwards_of<detail::recompute_whole>(1) == 2);
  CHECK(forwards_of<detail::recompute_without_parameters>(1) == 1);
  CHECK(forwards_of<detail::recompute_without_parameters>(2) == 2);
}

} // namespace block_ways_tests
