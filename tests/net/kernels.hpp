// SPDX-License-Identifier: MIT
// The kernels of the product are compiled once, in tests/kernels.cpp, and not in every file that runs a network.
#pragma once

#include <cstddef>
#include <span>

#include <cairn/ops/cpu.hpp>

#ifdef CAIRN_TEST_KERNELS
#define CAIRN_TEST_EXTERN
#else
#define CAIRN_TEST_EXTERN extern
#endif

namespace cairn::detail {

CAIRN_TEST_EXTERN template void multiply_for<float>(instruction_set, const product<float>&, const rectangle&,
                                                    std::span<std::byte>);
CAIRN_TEST_EXTERN template void multiply_for<double>(instruction_set, const product<double>&,
                                                     const rectangle&, std::span<std::byte>);

} // namespace cairn::detail
