// SPDX-License-Identifier: MIT
// With cairn::compiled a program also takes the executor and the functions of elementwise layers from a library:
// net/execute.hpp ends with this file. See ops/compiled.inl.

#define CAIRN_COMPILED_FUNCTION(EXTERN, T, F, READS)                                                                             \
  EXTERN template void elementwise(cpu::queue&, std::size_t, const leaves_result<F>&, const std::array<T*, 1>&,                  \
                                   const std::array<const T*, READS>&);
#define CAIRN_COMPILED_NETWORK(EXTERN, T)                                                                                        \
  EXTERN template class executor<T, cpu::queue>;                                                                                 \
  CAIRN_COMPILED_FUNCTION(EXTERN, T, gelu_value, 1)                                                                              \
  CAIRN_COMPILED_FUNCTION(EXTERN, T, gelu_slope, 2)                                                                              \
  CAIRN_COMPILED_FUNCTION(EXTERN, T, relu_value, 1)                                                                              \
  CAIRN_COMPILED_FUNCTION(EXTERN, T, relu_slope, 2)                                                                              \
  CAIRN_COMPILED_FUNCTION(EXTERN, T, sigmoid_value, 1)                                                                           \
  CAIRN_COMPILED_FUNCTION(EXTERN, T, sigmoid_slope, 2)                                                                           \
  CAIRN_COMPILED_FUNCTION(EXTERN, T, silu_value, 1)                                                                              \
  CAIRN_COMPILED_FUNCTION(EXTERN, T, silu_slope, 2)                                                                              \
  CAIRN_COMPILED_FUNCTION(EXTERN, T, tanh_gelu_value, 1)                                                                         \
  CAIRN_COMPILED_FUNCTION(EXTERN, T, tanh_gelu_slope, 2)                                                                         \
  CAIRN_COMPILED_FUNCTION(EXTERN, T, tanh_value, 1)                                                                              \
  CAIRN_COMPILED_FUNCTION(EXTERN, T, tanh_slope, 2)

namespace cairn::detail {

#ifdef CAIRN_COMPILES
CAIRN_COMPILED_NETWORK(, CAIRN_COMPILES)
#else
CAIRN_COMPILED_NETWORK(extern, float)
CAIRN_COMPILED_NETWORK(extern, double)
CAIRN_COMPILED_NETWORK(extern, bfloat16)
CAIRN_COMPILED_NETWORK(extern, float16)
#endif

} // namespace cairn::detail

#undef CAIRN_COMPILED_NETWORK
#undef CAIRN_COMPILED_FUNCTION
