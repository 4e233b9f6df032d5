// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/core/config.hpp>
#include <cairn/device/cuda/quad.cuh>

namespace cairn::detail {

// Sums that are computed together.
template <std::size_t Sums>
struct sums_of {
  double at[Sums];
};

// Threads that work together on one item, such as a row: a whole block, or 32 threads, several of which share a block. Code of
// a kernel outside of each(), sum() and greatest() is executed by all threads of the team alike. A number written by one thread
// may be read by the others after the next sum() or greatest().
//
// The order of a sum does not depend on where it runs. Thread t adds up the terms t, t + Threads, ... one after another. Then
// the sums of neighbours 16, 8, 4, 2 and 1 apart are added within each 32 threads, and the sums of the 32s from the first to
// the last. There are no atomic additions, whose order varies. In sums over quads a thread has the elements of quad t,
// t + Threads, ...; the terms of four quads are added up as T's, and the sums of fours as doubles: on most GPUs an addition of
// doubles takes 64 times as long as one of floats, on some 2 times.
//
// Without a CUDA compiler the host does the same, thread after thread, so that tests of kernels run without a GPU.
template <unsigned Threads>
class team {
  static_assert(Threads % 32 == 0 && Threads <= 1024, "team: threads come in 32s, at most 1024 of them");
  static constexpr std::size_t chain = 4;

public:
  static constexpr unsigned threads = Threads;
  static constexpr unsigned in_block = Threads == 32 ? 4 : 1; // blocks of 32 would leave half of a GPU idle

#if defined(__CUDACC__)
  // Calls f(i) for every i in [0, count).
  template <class F>
  __device__ void each(std::size_t count, const F& f) const {
    for (std::size_t i = own(); i < count; i += Threads) f(i);
  }
  // Calls f(i) for every i in [0, count), rounded up to a multiple of Threads, in all threads together, as each_that()
  // requires.
  template <class F>
  __device__ void each_together(std::size_t count, const F& f) const {
    for (std::size_t first = 0; first < count; first += Threads) f(first + own());
  }
  // Calls f(found, n), in all threads alike, for those i in [0, count) for which test(i) holds: up to Most of them at once, in
  // order. Each group of 32 threads tests 32 of them, so all threads of the team must call it.
  template <unsigned Most, class Test, class F>
  __device__ void each_that(std::uint32_t count, const Test& test, const F& f) const {
    const std::uint32_t lane = threadIdx.x % 32;
    for (std::uint32_t first = 0; first < count; first += 32) {
      unsigned left = __ballot_sync(0xFFFFFFFFU, first + lane < count && test(first + lane));
      while (left != 0) {
        std::uint32_t found[Most];
        unsigned n = 0;
#pragma unroll
        for (unsigned k = 0; k < Most; ++k)
          if (left != 0) found[k] = first + static_cast<unsigned>(__ffs(static_cast<int>(left))) - 1, left &= left - 1, n = k + 1;
        f(found, n);
      }
    }
  }
  // Calls f() in one of the threads.
  template <class F>
  __device__ void once(const F& f) const {
    if (own() == 0) f();
  }
  // The sum of term(i) over [0, count), of the type that term returns.
  template <class Term>
  __device__ auto sum(std::size_t count, const Term& term) const {
    using number = decltype(term(count));
    number mine{};
    for (std::size_t i = own(); i < count; i += Threads) mine += term(i);
    return joined(mine, [](number a, number b) { return a + b; });
  }
  // The greatest of term(0) to term(count - 1), count > 0, with the result of a loop that begins with term(0).
  template <class Term>
  __device__ auto greatest(std::size_t count, const Term& term) const {
    using number = decltype(term(count));
    number mine = term(0);
    for (std::size_t i = own(); i < count; i += Threads) {
      const number other = term(i);
      mine = other > mine ? other : mine;
    }
    return joined(mine, [](number a, number b) { return b > a ? b : a; });
  }
  // The sums of the values that add(q, sums) adds to an array of T's for every quad q in [0, quads).
  template <class T, std::size_t Sums, class Add>
  __device__ sums_of<Sums> sums_over_quads(std::size_t quads, const Add& add) const {
    constexpr int copies = sizeof(T) == sizeof(float) ? chain : 1; // not unrolled for double: too few registers
    sums_of<Sums> all{};
    for (std::size_t q = own(); q < quads; q += chain * Threads) {
      T some[Sums] = {};
#pragma unroll(copies)
      for (std::size_t turn = 0; turn < chain; ++turn)
        if (q + turn * Threads < quads) add(q + turn * Threads, some);
      for (std::size_t s = 0; s < Sums; ++s) all.at[s] += static_cast<double>(some[s]);
    }
    for (std::size_t s = 0; s < Sums; ++s) all.at[s] = joined(all.at[s], [](double a, double b) { return a + b; });
    return all;
  }

private:
  static __device__ unsigned own() { return threadIdx.x % Threads; }

  template <class Number, class F>
  static __device__ Number joined(Number mine, const F& f) {
    constexpr unsigned all = 0xFFFFFFFFU, warps = Threads / 32;
    for (unsigned half = 16; half > 0; half /= 2) mine = f(mine, __shfl_down_sync(all, mine, half));
    if constexpr (warps == 1) {
      __syncwarp(); // earlier reads are done, and earlier writes are visible
      return __shfl_sync(all, mine, 0);
    } else {
      __shared__ Number of_warp[warps];
      __syncthreads(); // of_warp of the previous call may still be read
      if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = mine;
      __syncthreads();
      Number result = of_warp[0];
      for (unsigned w = 1; w < warps; ++w) result = f(result, of_warp[w]);
      return result;
    }
  }
#else
  template <class F>
  void each(std::size_t count, const F& f) const {
    for (std::size_t t = 0; t < Threads; ++t)
      for (std::size_t i = t; i < count; i += Threads) f(i);
  }
  template <class F>
  void each_together(std::size_t count, const F& f) const {
    for (std::size_t i = 0; i < (count + Threads - 1) / Threads * Threads; ++i) f(i);
  }
  template <unsigned Most, class Test, class F>
  void each_that(std::uint32_t count, const Test& test, const F& f) const {
    std::uint32_t found[Most] = {};
    unsigned n = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
      if (!test(i)) continue;
      found[n++] = i;
      if (n == Most) f(found, n), n = 0;
    }
    if (n != 0) f(found, n);
  }
  template <class F>
  void once(const F& f) const {
    f();
  }
  template <class Term>
  auto sum(std::size_t count, const Term& term) const {
    using number = decltype(term(count));
    number own[Threads] = {};
    each(count, [&](std::size_t i) { own[i % Threads] += term(i); });
    return joined(own, [](number a, number b) { return a + b; });
  }
  template <class Term>
  auto greatest(std::size_t count, const Term& term) const {
    using number = decltype(term(count));
    number own[Threads];
    for (number& n : own) n = term(0);
    each(count, [&](std::size_t i) {
      const number other = term(i);
      own[i % Threads] = other > own[i % Threads] ? other : own[i % Threads];
    });
    return joined(own, [](number a, number b) { return b > a ? b : a; });
  }
  template <class T, std::size_t Sums, class Add>
  sums_of<Sums> sums_over_quads(std::size_t quads, const Add& add) const {
    double own[Sums][Threads] = {};
    for (std::size_t t = 0; t < Threads; ++t)
      for (std::size_t q = t; q < quads;) {
        T some[Sums] = {};
        for (std::size_t turn = 0; turn < chain && q < quads; ++turn, q += Threads) add(q, some);
        for (std::size_t s = 0; s < Sums; ++s) own[s][t] += static_cast<double>(some[s]);
      }
    sums_of<Sums> all{};
    for (std::size_t s = 0; s < Sums; ++s) all.at[s] = joined(own[s], [](double a, double b) { return a + b; });
    return all;
  }

private:
  template <class Number, class F>
  static Number joined(Number (&own)[Threads], const F& f) {
    for (unsigned warp = 0; warp < Threads; warp += 32)
      for (unsigned half = 16; half > 0; half /= 2)
        for (unsigned lane = 0; lane < half; ++lane) own[warp + lane] = f(own[warp + lane], own[warp + lane + half]);
    Number result = own[0];
    for (unsigned warp = 32; warp < Threads; warp += 32) result = f(result, own[warp]);
    return result;
  }
#endif
};

} // namespace cairn::detail
