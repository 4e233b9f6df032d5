// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cstddef>

#include <cairn/ops/matmul/reduction.hpp>

namespace matmul_reduction_tests {

using cairn::detail::longest_reduction_block;
using cairn::detail::reduction_block;

static_assert(reduction_block(0) == 0);
static_assert(reduction_block(1) == 1);
static_assert(reduction_block(784) == 784);
static_assert(reduction_block(1024) == 1024);
static_assert(reduction_block(1025) == 640); // 5 chains of 128
static_assert(reduction_block(4096) == 1024);

TEST_CASE("reduction: blocks are short enough and cover everything, the last one too has something") {
  for (std::size_t k = 1; k < 10000; ++k) {
    const std::size_t block = reduction_block(k);
    REQUIRE(block <= longest_reduction_block);
    REQUIRE((block == k || block % cairn::detail::reduction_chain == 0));
    const std::size_t blocks = (k + block - 1) / block;
    REQUIRE(blocks == (k + longest_reduction_block - 1) / longest_reduction_block);
    REQUIRE((blocks - 1) * block < k);
  }
}

} // namespace matmul_reduction_tests
