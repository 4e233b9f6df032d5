// SPDX-License-Identifier: MIT
// What host and device share, called from kernels. It is compiled only: no device runs it.
#include <cmath>
#include <cstdint>

#include <cairn/core/random.hpp>
#include <cairn/ops/elementwise/blend.hpp>
#include <cairn/ops/elementwise/elementary.hpp>

// The function object of a user, as for cairn::elementwise.
struct silu {
  CAIRN_HOST_DEVICE auto operator()(auto x) const { return x / (1 + std::exp(-x)); }
};

template <class T>
__global__ void draw(T* y, std::uint32_t* bits, cairn::types::random_key key) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = cairn::ops::random_uniform<T>(key, i);
  bits[i] = cairn::ops::random_bits(key, i);
}
template <class T, class F>
__global__ void transform(T* y, F f) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = cairn::detail::blend(y[i] < T{0}, T{0}, f(y[i]));
}
template <class T>
__global__ void functions(T* y) {
  using namespace cairn::detail;
  const T x = y[threadIdx.x];
  const normal<T> at = normal_at(hyperbolic_tangent(x) + logistic(x));
  y[threadIdx.x] = at.below * at.density + square_root(logarithm_of_one_plus(absolute(x)));
}

template __global__ void draw(float*, std::uint32_t*, cairn::types::random_key);
template __global__ void draw(double*, std::uint32_t*, cairn::types::random_key);
template __global__ void transform(float*, silu);
template __global__ void transform(double*, silu);
template __global__ void functions(float*);
template __global__ void functions(double*);
