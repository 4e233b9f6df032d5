// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <type_traits>

#include <cairn/core/config.hpp>
#include <cairn/device/cuda.cuh>
#include <cairn/device/cuda/launch.cuh>

namespace cairn::detail {

// A third kind of kernel beside those of launch.cuh: blocks of threads that share memory. It is a function object
//   void operator()(Block& block, shared& memory, std::size_t i) const
// with the types `own`, the variables of a thread, and `shared`, the memory of a block, both without constructors; `threads` is
// the number of threads of a block, `blocks` the least number of blocks that a multiprocessor must have room for. The operator is
// a sequence of phases: block.phase(f) calls f(t, own) in each thread t, and ends when all threads have come to its end, so that
// a phase may read what another thread wrote in an earlier one. Within a phase threads run in any order. Code outside of phases
// is executed by all threads alike.
//
// Without a CUDA compiler the host runs a phase thread after thread, so that tests of kernels run without a GPU.
template <unsigned Threads, class Own>
class thread_block {
  static_assert(std::is_trivially_default_constructible_v<Own>, "variables of a thread are not initialised");

public:
#if defined(__CUDACC__)
  template <class F>
  __device__ void phase(const F& f) {
    f(threadIdx.x, own_);
    __syncthreads();
  }

private:
  Own own_;
#else
  explicit thread_block(bool backwards) : backwards_(backwards) {}

  template <class F>
  void phase(const F& f) {
    in_order(Threads, backwards_, [&](std::size_t t) { f(static_cast<unsigned>(t), own_[t]); });
  }

private:
  Own own_[Threads] = {};
  bool backwards_;
#endif
};

#if defined(__CUDACC__)
template <class Body>
__global__ void __launch_bounds__(Body::threads, Body::blocks) run_block(const Body body) {
  __shared__ typename Body::shared memory;
  thread_block<Body::threads, typename Body::own> block;
  body(block, memory, blockIdx.x);
}
template <class Body>
const void* block_kernel() {
  return reinterpret_cast<const void*>(&run_block<Body>);
}
#else
template <class Body>
inline constexpr kernel_of_host block_of_host{sizeof(Body), [](const void* given, std::size_t blocks, bool backwards) {
                                                in_order(blocks, backwards, [&](std::size_t i) {
                                                  typename Body::shared memory;
                                                  thread_block<Body::threads, typename Body::own> block(backwards);
                                                  (*static_cast<const Body*>(given))(block, memory, i);
                                                });
                                              }};
template <class Body>
const void* block_kernel() {
  return &block_of_host<Body>;
}
#endif

// Runs body(block, memory, i) for every i in [0, count), each by a block of threads, in any order.
template <class Body>
void launch_blocks(cuda::queue& queue, const char* op, std::size_t count, const Body& body) {
  static_assert(std::is_trivially_copyable_v<Body>, "a kernel is copied to the GPU byte by byte");
  if (count == 0) return;
  Body work = body;
  queue.start(op, block_kernel<Body>(), count, Body::threads, &work);
}

} // namespace cairn::detail
