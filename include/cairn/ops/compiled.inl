// SPDX-License-Identifier: MIT
// With cairn::compiled the ops on a cpu come from a library, for every element type. ops/cpu.hpp ends with this file, which
// declares them; a source of the library that defines CAIRN_COMPILES as the type defines them. Ops that call a function of the
// program (elementwise) are compiled in the program, and so are plain loops, such as convert and checksum.

// EXTERN is empty where they are defined. One group of lines for each op, in the order of ops/cpu.hpp.
#define CAIRN_COMPILED_OPS(EXTERN, T)                                                                                            \
  EXTERN template void add<T>(cpu::queue&, std::size_t, T*, const T*, const T*);                                                 \
  EXTERN template void add_matrix<T>(cpu::queue&, matrix<T>, matrix<const T>, matrix<const T>);                                  \
  EXTERN template void attention_forward<T>(cpu::queue&, const attention_extents&, T*, accumulated<T>*,                          \
                                            const attention_operands<const T>&);                                                 \
  EXTERN template void attention_backward<T>(cpu::queue&, const attention_extents&, const attention_operands<T>&, const T*,      \
                                             const T*, const accumulated<T>*, const attention_operands<const T>&);               \
  EXTERN template void attention_forward<T>(cpu::queue&, const attention_extents&, T*, accumulated<T>*,                          \
                                            const attention_operands<const T>&, const attention_extras<T>&);                     \
  EXTERN template void attention_backward<T>(cpu::queue&, const attention_extents&, const attention_operands<T>&, const T*,      \
                                             const T*, const accumulated<T>*, const attention_operands<const T>&,                \
                                             const attention_extras<T>&);                                                        \
  EXTERN template void stored_attention_forward<T>(cpu::queue&, const attention_extents&, T*, T*,                                \
                                                   const attention_operands<const T>&);                                          \
  EXTERN template void stored_attention_backward<T>(cpu::queue&, const attention_extents&, const attention_operands<T>&,         \
                                                    const T*, const T*, const T*, const attention_operands<const T>&);           \
  EXTERN template void avg_pool2d_forward<T>(cpu::queue&, const window&, mean_of, std::size_t, std::size_t, T*, const T*);       \
  EXTERN template void avg_pool2d_backward<T>(cpu::queue&, const window&, mean_of, std::size_t, std::size_t, T*, const T*);      \
  EXTERN template void batch_norm_forward<T>(cpu::queue&, std::size_t, std::size_t, double, T*, accumulated<T>*, const T*,       \
                                             const T*, const T*, activation, const running_statistics<T>&);                      \
  EXTERN template void batch_norm_evaluate<T>(cpu::queue&, std::size_t, std::size_t, double, T*, const T*,                       \
                                              const accumulated<T>*, const accumulated<T>*, const T*, const T*, activation);     \
  EXTERN template void batch_norm_backward<T>(cpu::queue&, std::size_t, std::size_t, double, T*, accumulated<T>*,                \
                                              accumulated<T>*, const T*, const T*, const accumulated<T>*, const T*, activation); \
  EXTERN template void batch_norm_sums<T>(cpu::queue&, std::size_t, std::size_t, double*, const T*);                             \
  EXTERN template void batch_norm_gradient_sums<T>(cpu::queue&, std::size_t, std::size_t, double, double*, accumulated<T>*,      \
                                                   accumulated<T>*, const T*, const T*, const accumulated<T>*);                  \
  EXTERN template void batch_norm_input_gradient<T>(cpu::queue&, std::size_t, std::size_t, double, T*, const T*, const T*,       \
                                                    const accumulated<T>*, const T*, const double*, activation);                 \
  EXTERN template void bce_with_logits<T>(cpu::queue&, double*, T*, std::size_t, const T*, const accumulated<T>*,                \
                                          const accumulated<T>*, std::size_t, const double*);                                    \
  EXTERN template void channel_statistics<T>(cpu::queue&, matrix<const T>, accumulated<T>*);                                     \
  EXTERN template void channel_statistics_backward<T>(cpu::queue&, matrix<T>, matrix<const T>, matrix<const T>,                  \
                                                      const accumulated<T>*, const accumulated<T>*);                             \
  EXTERN template void conv2d_forward<T>(cpu::queue&, const convolution&, std::size_t, matrix<T>, const T*, const T*,            \
                                         const epilogue<T>&);                                                                    \
  EXTERN template void conv2d_input_gradient<T>(cpu::queue&, const convolution&, std::size_t, T*, matrix<const T>, const T*,     \
                                                const epilogue<T>&);                                                             \
  EXTERN template void conv2d_weight_gradient<T>(cpu::queue&, const convolution&, std::size_t, accumulated<T>*, accumulated<T>*, \
                                                 matrix<const T>, const T*);                                                     \
  EXTERN template void copy<T>(cpu::queue&, std::size_t, T*, const T*);                                                          \
  EXTERN template void copy_matrix<T>(cpu::queue&, matrix<T>, matrix<const T>);                                                  \
  EXTERN template void dropout<T>(cpu::queue&, std::size_t, T*, const T*, const types::random_key&, const dropout_rate&);        \
  EXTERN template void embedding_forward<T>(cpu::queue&, std::size_t, std::size_t, std::size_t, T*, const T*,                    \
                                            const std::int32_t*);                                                                \
  EXTERN template void embedding_backward<T>(cpu::queue&, std::size_t, std::size_t, std::size_t, accumulated<T>*, const T*,      \
                                             const std::int32_t*);                                                               \
  EXTERN template void group_norm_forward<T>(cpu::queue&, const channel_groups&, double, T*, accumulated<T>*, const T*,          \
                                             const T*, const T*);                                                                \
  EXTERN template void group_norm_backward<T>(cpu::queue&, const channel_groups&, T*, accumulated<T>*, accumulated<T>*,          \
                                              const T*, const T*, const accumulated<T>*, const T*);                              \
  EXTERN template void layer_norm_forward<T>(cpu::queue&, std::size_t, std::size_t, double, T*, accumulated<T>*, const T*,       \
                                             const T*, const T*);                                                                \
  EXTERN template void layer_norm_backward<T>(cpu::queue&, std::size_t, std::size_t, T*, accumulated<T>*, accumulated<T>*,       \
                                              const T*, const T*, const accumulated<T>*, const T*);                              \
  EXTERN template void matmul<T>(cpu::queue&, matrix<T>, matrix<const T>, matrix<const T>, transpose, const epilogue<T>&);       \
  EXTERN template void max_pool2d_forward<T>(cpu::queue&, const window&, std::size_t, std::size_t, T*, const T*);                \
  EXTERN template void max_pool2d_backward<T>(cpu::queue&, const window&, std::size_t, std::size_t, T*, const T*, const T*);     \
  EXTERN template void normalized_conv2d_forward<T>(cpu::queue&, const convolution&, std::size_t, matrix<T>, accumulated<T>*,    \
                                                    const T*, const channel_norm<T>&, const T*, accumulated<T>*,                 \
                                                    accumulated<T>*);                                                            \
  EXTERN template void normalized_conv2d_backward<T>(cpu::queue&, const convolution&, std::size_t,                               \
                                                     const normalized_conv2d_gradients<T>&, matrix<const T>, const T*,           \
                                                     const channel_norm<T>&, const T*, accumulated<T>*, accumulated<T>*);        \
  EXTERN template void normalized_product_forward<T>(cpu::queue&, matrix<T>, accumulated<T>*, matrix<const T>,                   \
                                                     const channel_norm<T>&, const T*, const normalized_product_memory<T>&);     \
  EXTERN template void normalized_product_backward<T>(cpu::queue&, const normalized_product_gradients<T>&, matrix<const T>,      \
                                                      matrix<const T>, const accumulated<T>*, const accumulated<T>*,             \
                                                      matrix<const T>, const channel_norm<T>&, const T*, accumulated<T>*);       \
  EXTERN template void add_positions<T>(cpu::queue&, std::size_t, std::size_t, T*, const T*, const T*);                          \
  EXTERN template void positions_gradient<T>(cpu::queue&, std::size_t, std::size_t, std::size_t, accumulated<T>*, const T*);     \
  EXTERN template void add_sinusoids<T>(cpu::queue&, std::size_t, std::size_t, std::size_t, T*, const T*, std::size_t);          \
  EXTERN template void rotate<T>(cpu::queue&, const rotation&, bool, std::size_t, T*, const T*, std::size_t);                    \
  EXTERN template void rms_norm_forward<T>(cpu::queue&, std::size_t, std::size_t, double, T*, accumulated<T>*, const T*,         \
                                           const T*);                                                                            \
  EXTERN template void rms_norm_backward<T>(cpu::queue&, std::size_t, std::size_t, T*, accumulated<T>*, const T*, const T*,      \
                                            const accumulated<T>*, const T*);                                                    \
  EXTERN template void soft_cross_entropy<T>(cpu::queue&, double*, T*, matrix<const T>, const accumulated<T>*,                   \
                                             const accumulated<T>*, double, const double*);                                      \
  EXTERN template void softmax_forward<T>(cpu::queue&, std::size_t, std::size_t, T*, const T*);                                  \
  EXTERN template void softmax_backward<T>(cpu::queue&, std::size_t, std::size_t, T*, const T*, const T*);                       \
  EXTERN template void softmax_cross_entropy<T, int>(cpu::queue&, double*, T*, matrix<const T>, const int*);                     \
  EXTERN template void softmax_cross_entropy<T, int>(cpu::queue&, double*, T*, matrix<const T>, const int*,                      \
                                                     const cross_entropy_options<T>&);                                           \
  EXTERN template void softmax_cross_entropy<T, int>(cpu::queue&, double*, T*, matrix<const T>, const int*,                      \
                                                     const cross_entropy_options<T>&, const strip_of_rows&);                     \
  EXTERN template void squared_norm<T>(cpu::queue&, double*, const T*, std::size_t);                                             \
  EXTERN template void standardize<T>(cpu::queue&, std::size_t, std::size_t, T*, const T*, const accumulated<T>*,                \
                                      const accumulated<T>*);                                                                    \
  EXTERN template void standardize_backward<T>(cpu::queue&, std::size_t, std::size_t, T*, const T*, const accumulated<T>*);

// Products and convolutions by packed weights, and products in parts of ops, are of float or double.
#define CAIRN_COMPILED_PRODUCTS(EXTERN, T)                                                                                       \
  EXTERN template void conv2d_forward<T>(cpu::queue&, const convolution&, std::size_t, matrix<T>, const T*, const T*,            \
                                         packed_weight<T>, const epilogue<T>&);                                                  \
  EXTERN template void matmul<T>(cpu::queue&, matrix<T>, matrix<const T>, matrix<const T>, packed_weight<T>,                     \
                                 const epilogue<T>&);                                                                            \
  EXTERN template void matmul_in_part<T>(std::span<std::byte>, matrix<T>, matrix<const T>, matrix<const T>, transpose,           \
                                         const epilogue<T>&);

// How a model packs its weights for them.
#define CAIRN_COMPILED_WEIGHTS(EXTERN, T)                                                                                        \
  EXTERN template void pack_weight<T>(instruction_set, ops::weight_format, void*, matrix<const T>);

// Products of 16-bit elements that are sums.
#define CAIRN_COMPILED_SUMS(EXTERN, T)                                                                                           \
  EXTERN template void matmul<T>(cpu::queue&, matrix<accumulated<T>>, matrix<const T>, matrix<const T>, transpose,               \
                                 const epilogue<T>&);

// Updates work on parameters as they are stored: as float where elements have 16 bits.
#define CAIRN_COMPILED_UPDATES(EXTERN, T)                                                                                        \
  EXTERN template void adam<T>(cpu::queue&, std::size_t, T*, T*, T*, const T*, const adam_coefficients<T>&);                     \
  EXTERN template void sgd<T>(cpu::queue&, std::size_t, T*, T*, const T*, const sgd_coefficients<T>&);

namespace cairn::ops {

#ifdef CAIRN_COMPILES
CAIRN_COMPILED_OPS(, CAIRN_COMPILES)
#ifdef CAIRN_COMPILES_UPDATES
CAIRN_COMPILED_PRODUCTS(, CAIRN_COMPILES)
CAIRN_COMPILED_UPDATES(, CAIRN_COMPILES)
#endif
#ifdef CAIRN_COMPILES_SUMS
CAIRN_COMPILED_SUMS(, CAIRN_COMPILES)
#endif
#else
CAIRN_COMPILED_OPS(extern, float)
CAIRN_COMPILED_OPS(extern, double)
CAIRN_COMPILED_OPS(extern, bfloat16)
CAIRN_COMPILED_OPS(extern, float16)
CAIRN_COMPILED_PRODUCTS(extern, float)
CAIRN_COMPILED_PRODUCTS(extern, double)
CAIRN_COMPILED_SUMS(extern, bfloat16)
CAIRN_COMPILED_SUMS(extern, float16)
CAIRN_COMPILED_UPDATES(extern, float)
CAIRN_COMPILED_UPDATES(extern, double)
#endif

} // namespace cairn::ops

namespace cairn::detail {

#ifndef CAIRN_COMPILES
CAIRN_COMPILED_WEIGHTS(extern, float)
CAIRN_COMPILED_WEIGHTS(extern, double)
#elif defined(CAIRN_COMPILES_UPDATES)
CAIRN_COMPILED_WEIGHTS(, CAIRN_COMPILES)
#endif

} // namespace cairn::detail

#undef CAIRN_COMPILED_UPDATES
#undef CAIRN_COMPILED_SUMS
#undef CAIRN_COMPILED_WEIGHTS
#undef CAIRN_COMPILED_PRODUCTS
#undef CAIRN_COMPILED_OPS
