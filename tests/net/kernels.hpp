// SPDX-License-Identifier: MIT
// The kernels that most networks use, and the executor, are compiled once, in tests/kernels.cpp, and not in every file that
// runs a network: that is half of what such a file costs the compiler.
#pragma once

#include <cstddef>
#include <span>

#include <cairn/device/cpu.hpp>
#include <cairn/net/execute.hpp>
#include <cairn/ops/cpu.hpp>

#ifdef CAIRN_TEST_KERNELS
#define CAIRN_TEST_EXTERN
#else
#define CAIRN_TEST_EXTERN extern
#endif

#define CAIRN_TEST_KERNELS_OF(T)                                                                                                 \
  CAIRN_TEST_EXTERN template void add<T>(cpu::queue&, std::size_t, T*, const T*, const T*);                                      \
  CAIRN_TEST_EXTERN template void relu_forward<T>(cpu::queue&, std::size_t, T*, const T*);                                       \
  CAIRN_TEST_EXTERN template void relu_backward<T>(cpu::queue&, std::size_t, T*, const T*, const T*);                            \
  CAIRN_TEST_EXTERN template void gelu_forward<T>(cpu::queue&, std::size_t, T*, const T*);                                       \
  CAIRN_TEST_EXTERN template void gelu_backward<T>(cpu::queue&, std::size_t, T*, const T*, const T*);                            \
  CAIRN_TEST_EXTERN template void tanh_forward<T>(cpu::queue&, std::size_t, T*, const T*);                                       \
  CAIRN_TEST_EXTERN template void tanh_backward<T>(cpu::queue&, std::size_t, T*, const T*, const T*);                            \
  CAIRN_TEST_EXTERN template void dropout<T>(cpu::queue&, std::size_t, T*, const T*, const random_key&, const dropout_rate&);    \
  CAIRN_TEST_EXTERN template void layer_norm_forward<T>(cpu::queue&, std::size_t, std::size_t, double, T*, T*, const T*,         \
                                                        const T*, const T*);                                                     \
  CAIRN_TEST_EXTERN template void layer_norm_backward<T>(cpu::queue&, std::size_t, std::size_t, T*, T*, T*, const T*, const T*,  \
                                                         const T*, const T*);                                                    \
  CAIRN_TEST_EXTERN template void sgd<T>(cpu::queue&, std::size_t, T*, T*, const T*, const sgd_coefficients<T>&);                \
  CAIRN_TEST_EXTERN template void softmax_cross_entropy<T, int>(cpu::queue&, double*, T*, matrix<const T>, const int*);          \
  CAIRN_TEST_EXTERN template void softmax_cross_entropy<T, int>(cpu::queue&, double*, T*, matrix<const T>, const int*,           \
                                                                const cross_entropy_options<T>&);                                \
  namespace detail {                                                                                                             \
  CAIRN_TEST_EXTERN template void multiply_for<T>(instruction_set, const product<T>&, const rectangle&, std::span<std::byte>);   \
  CAIRN_TEST_EXTERN template class executor<T, cpu::queue>;                                                                      \
  }

namespace cairn {

CAIRN_TEST_KERNELS_OF(float)
CAIRN_TEST_KERNELS_OF(double)

} // namespace cairn

#undef CAIRN_TEST_KERNELS_OF
#undef CAIRN_TEST_EXTERN
