// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <type_traits>

#include <cairn/core/config.hpp>
#include <cairn/device/cuda.cuh>
#include <cairn/device/cuda/team.cuh>

#if !defined(__CUDACC__) && !CAIRN_KERNELS_ON_HOST
#error "cairn_cuda.cuh needs a compiler of CUDA: name the source .cu, and link the CMake target cairn::cuda"
#endif

namespace cairn::detail {

// Kernels are function objects that hold what they need: addresses of the GPU, counts, coefficients. They are copied byte by
// byte. There are two kinds here, and a third in blocks.cuh,
//   void operator()(std::size_t i) const                      launch_each: for every i of a range, in any order
//   void operator()(const Team&, std::size_t i) const         launch_teams: for every i, by a team of threads, in any order
// Kernels are started only by these functions, so a C++ compiler can turn the same kernels into loops on the host; tests
// run them that way.

template <class Body>
struct each_of {
  Body body;
  std::size_t count;
};
inline constexpr unsigned each_threads = 256;
// The minimum number of blocks per multiprocessor, which leaves a thread 80 registers. Left to itself, the compiler takes fewer
// registers on some GPUs, and spills, or so many that only two blocks fit.
inline constexpr unsigned each_blocks = 768 / each_threads;
// Teams of 32 threads share a block: as many as make 128 threads.
template <unsigned Threads>
inline constexpr unsigned team_threads = Threads * team<Threads>::in_block;
template <unsigned Threads, class Body>
constexpr unsigned team_blocks() {
  if constexpr (requires { Body::resident_threads; }) return Body::resident_threads / team_threads<Threads>;
  else return 768 / team_threads<Threads>;
}

template <class Body>
struct teams_of {
  Body body;
  std::size_t count;
};

#if defined(__CUDACC__)
template <class Body>
__global__ void __launch_bounds__(each_threads, each_blocks) run_each(const each_of<Body> work) {
  const std::size_t i = std::size_t{blockIdx.x} * each_threads + threadIdx.x;
  if (i < work.count) work.body(i);
}
template <unsigned Threads, class Body>
__global__ void __launch_bounds__(team_threads<Threads>, (team_blocks<Threads, Body>())) run_team(const teams_of<Body> work) {
  const std::size_t i = std::size_t{blockIdx.x} * team<Threads>::in_block + threadIdx.x / Threads;
  if (i < work.count) work.body(team<Threads>{}, i);
}
template <class Body>
const void* each_kernel() {
  return reinterpret_cast<const void*>(&run_each<Body>);
}
template <unsigned Threads, class Body>
const void* team_kernel() {
  return reinterpret_cast<const void*>(&run_team<Threads, Body>);
}
#else
// A kernel compiled by a C++ compiler: `bytes` is the size of its argument, and run() does the work of a GPU, in ascending or
// descending order.
struct kernel_of_host {
  std::size_t bytes;
  void (*run)(const void* given, std::size_t blocks, bool backwards);
};
template <class F>
void in_order(std::size_t count, bool backwards, const F& f) {
  for (std::size_t i = 0; i < count; ++i) f(backwards ? count - 1 - i : i);
}
template <class Body>
inline constexpr kernel_of_host each_of_host{sizeof(each_of<Body>), [](const void* given, std::size_t, bool backwards) {
                                               const auto& work = *static_cast<const each_of<Body>*>(given);
                                               in_order(work.count, backwards, work.body);
                                             }};
template <unsigned Threads, class Body>
inline constexpr kernel_of_host team_of_host{sizeof(teams_of<Body>), [](const void* given, std::size_t, bool backwards) {
                                               const auto& work = *static_cast<const teams_of<Body>*>(given);
                                               in_order(work.count, backwards,
                                                        [&](std::size_t i) { work.body(team<Threads>{}, i); });
                                             }};
template <class Body>
const void* each_kernel() {
  return &each_of_host<Body>;
}
template <unsigned Threads, class Body>
const void* team_kernel() {
  return &team_of_host<Threads, Body>;
}
#endif

// Runs body(i) for every i in [0, count).
template <class Body>
void launch_each(cuda::queue& queue, const char* op, std::size_t count, const Body& body) {
  static_assert(std::is_trivially_copyable_v<Body>, "a kernel is copied to the GPU byte by byte");
  if (count == 0) return;
  each_of<Body> work{body, count};
  queue.start(op, each_kernel<Body>(), (count + each_threads - 1) / each_threads, each_threads, &work);
}

// Runs body(team, i) for every i in [0, count).
template <unsigned Threads, class Body>
void launch_teams(cuda::queue& queue, const char* op, std::size_t count, const Body& body) {
  static_assert(std::is_trivially_copyable_v<Body>, "a kernel is copied to the GPU byte by byte");
  if (count == 0) return;
  constexpr std::size_t in_block = team<Threads>::in_block;
  teams_of<Body> work{body, count};
  queue.start(op, team_kernel<Threads, Body>(), (count + in_block - 1) / in_block, team_threads<Threads>, &work);
}
// The same, with a team size that suits work of this length.
template <class Body>
void launch_teams_for(std::size_t length, cuda::queue& queue, const char* op, std::size_t count, const Body& body) {
  if (length <= 256) launch_teams<32>(queue, op, count, body);
  else launch_teams<256>(queue, op, count, body);
}

} // namespace cairn::detail
