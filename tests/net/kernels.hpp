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
  CAIRN_TEST_EXTERN template void copy<T>(cpu::queue&, std::size_t, T*, const T*);                                               \
  CAIRN_TEST_EXTERN template void squared_norm<T>(cpu::queue&, double*, const T*, std::size_t);                                  \
  CAIRN_TEST_EXTERN template void adam<T>(cpu::queue&, std::size_t, T*, T*, T*, const T*, const adam_coefficients<T>&);          \
  CAIRN_TEST_EXTERN template void matmul<T>(cpu::queue&, matrix<T>, matrix<const T>, matrix<const T>, transpose,                 \
                                            const epilogue<T>&);                                                                 \
  namespace detail {                                                                                                             \
  CAIRN_TEST_EXTERN template void multiply_for<T>(instruction_set, const product<T>&, const rectangle&, std::span<std::byte>);   \
  CAIRN_TEST_EXTERN template class executor<T, cpu::queue>;                                                                      \
  }

// Those of images.
#define CAIRN_TEST_IMAGE_KERNELS_OF(T)                                                                                           \
  CAIRN_TEST_EXTERN template void conv2d_forward<T>(cpu::queue&, const convolution&, std::size_t, matrix<T>, const T*, const T*, \
                                                    const epilogue<T>&);                                                         \
  CAIRN_TEST_EXTERN template void conv2d_input_gradient<T>(cpu::queue&, const convolution&, std::size_t, T*, matrix<const T>,    \
                                                           const T*, const epilogue<T>&);                                        \
  CAIRN_TEST_EXTERN template void conv2d_weight_gradient<T>(cpu::queue&, const convolution&, std::size_t, accumulated<T>*,       \
                                                            accumulated<T>*, matrix<const T>, const T*);                         \
  CAIRN_TEST_EXTERN template void batch_norm_forward<T>(cpu::queue&, std::size_t, std::size_t, double, T*, accumulated<T>*,      \
                                                        const T*, const T*, const T*);                                           \
  CAIRN_TEST_EXTERN template void batch_norm_evaluate<T>(cpu::queue&, std::size_t, std::size_t, double, T*, const T*,            \
                                                         const accumulated<T>*, const accumulated<T>*, const T*, const T*);      \
  CAIRN_TEST_EXTERN template void batch_norm_backward<T>(cpu::queue&, std::size_t, std::size_t, double, T*, accumulated<T>*,     \
                                                         accumulated<T>*, const T*, const T*, const accumulated<T>*, const T*);  \
  CAIRN_TEST_EXTERN template void batch_norm_sums<T>(cpu::queue&, std::size_t, std::size_t, double*, const T*);                  \
  CAIRN_TEST_EXTERN template void batch_norm_gradient_sums<T>(cpu::queue&, std::size_t, std::size_t, double, double*,            \
                                                              accumulated<T>*, accumulated<T>*, const T*, const T*,              \
                                                              const accumulated<T>*);                                            \
  CAIRN_TEST_EXTERN template void batch_norm_input_gradient<T>(cpu::queue&, std::size_t, std::size_t, double, T*, const T*,      \
                                                               const T*, const accumulated<T>*, const T*, const double*);        \
  CAIRN_TEST_EXTERN template void group_norm_forward<T>(cpu::queue&, const channel_groups&, double, T*, accumulated<T>*,         \
                                                        const T*, const T*, const T*);                                           \
  CAIRN_TEST_EXTERN template void group_norm_backward<T>(cpu::queue&, const channel_groups&, T*, accumulated<T>*,                \
                                                         accumulated<T>*, const T*, const T*, const accumulated<T>*, const T*);  \
  CAIRN_TEST_EXTERN template void max_pool2d_forward<T>(cpu::queue&, const window&, std::size_t, std::size_t, T*, const T*);     \
  CAIRN_TEST_EXTERN template void max_pool2d_backward<T>(cpu::queue&, const window&, std::size_t, std::size_t, T*, const T*,     \
                                                         const T*);                                                              \
  CAIRN_TEST_EXTERN template void avg_pool2d_forward<T>(cpu::queue&, const window&, mean_of, std::size_t, std::size_t, T*,       \
                                                        const T*);                                                               \
  CAIRN_TEST_EXTERN template void avg_pool2d_backward<T>(cpu::queue&, const window&, mean_of, std::size_t, std::size_t, T*,      \
                                                         const T*);                                                              \
  CAIRN_TEST_EXTERN template void channel_statistics<T>(cpu::queue&, matrix<const T>, accumulated<T>*);                          \
  CAIRN_TEST_EXTERN template void channel_statistics_backward<T>(cpu::queue&, matrix<T>, matrix<const T>, matrix<const T>,       \
                                                                 const accumulated<T>*, const accumulated<T>*);                  \
  CAIRN_TEST_EXTERN template void normalized_product_forward<T>(cpu::queue&, matrix<T>, accumulated<T>*, matrix<const T>,        \
                                                                const channel_norm<T>&, const T*,                                \
                                                                const normalized_product_memory<T>&);                            \
  CAIRN_TEST_EXTERN template void normalized_product_backward<T>(                                                                \
      cpu::queue&, const normalized_product_gradients<T>&, matrix<const T>, matrix<const T>, const accumulated<T>*,              \
      const accumulated<T>*, matrix<const T>, const channel_norm<T>&, const T*, T*);                                             \
  CAIRN_TEST_EXTERN template void normalized_conv2d_forward<T>(cpu::queue&, const convolution&, std::size_t, matrix<T>,          \
                                                               accumulated<T>*, const T*, const channel_norm<T>&, const T*, T*,  \
                                                               accumulated<T>*);                                                 \
  CAIRN_TEST_EXTERN template void normalized_conv2d_backward<T>(                                                                 \
      cpu::queue&, const convolution&, std::size_t, const normalized_conv2d_gradients<T>&, matrix<const T>, const T*,            \
      const channel_norm<T>&, const T*, T*, accumulated<T>*);

namespace cairn {

CAIRN_TEST_KERNELS_OF(float)
CAIRN_TEST_KERNELS_OF(double)
CAIRN_TEST_IMAGE_KERNELS_OF(float)
CAIRN_TEST_IMAGE_KERNELS_OF(double)

} // namespace cairn

#undef CAIRN_TEST_IMAGE_KERNELS_OF
#undef CAIRN_TEST_KERNELS_OF
#undef CAIRN_TEST_EXTERN
