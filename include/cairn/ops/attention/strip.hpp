// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <cairn/core/config.hpp>
#include <cairn/core/view.hpp>
#include <cairn/ops/attention/attention.hpp>
#include <cairn/ops/elementwise/blend.hpp>
#include <cairn/ops/elementwise/cpu.hpp>
#include <cairn/ops/elementwise/elementary.hpp>
#include <cairn/ops/elementwise/run_tile.hpp>
#include <cairn/ops/matmul/reduction.hpp>

CAIRN_KERNELS_BEGIN

// A strip of queries: a few neighbouring rows of the scores of one head, over all keys that any of them may look at. Each
// function object here works on one with the instructions of one set, as run_tile() compiles it.
namespace cairn::detail {

// The most queries of a strip. Their scores over 1024 keys take 128 KiB. Measured at 64, 256 and 1024 tokens, strips of 16 take
// 0.93 to 1.08 of the time, and strips of 64 take 1.04 to 1.2 of it.
inline constexpr std::size_t strip_queries = 32;

// A number for each query of a strip.
template <class T>
using per_query = std::array<T, strip_queries>;

// Scores and other numbers for each query and key.
template <class T>
struct strip_of_numbers {
  T* data;
  std::size_t rows, columns, stride; // whole blocks of columns
};

// The queries and the keys [begin, end) of a strip. `begin` is a multiple of a chain's length: the chains of a sum over keys
// begin at the same keys wherever the strip begins.
struct strip_of_queries {
  std::size_t first = 0, rows = 0; // queries
  std::size_t begin = 0, end = 0;  // keys

  constexpr strip_of_queries(const attention_extents& of, std::size_t query, std::size_t most)
      : first(query), rows(std::min(most, of.queries - query)),
        begin(of.band.begin(of.first_place + query, of.keys) / reduction_chain * reduction_chain),
        end(of.band.end(of.first_place + query + rows - 1, of.keys)) {}

  // Over those of its keys that are in [first_key, last_key) alone. The sums over queries are there as in the whole strip.
  constexpr strip_of_queries over(std::size_t first_key, std::size_t last_key) const {
    strip_of_queries out = *this;
    out.begin = std::clamp(begin, first_key, last_key);
    out.end = std::clamp(end, out.begin, last_key);
    return out;
  }

  constexpr std::size_t keys() const { return end - begin; }
  constexpr std::size_t columns() const { return (keys() + element_block - 1) / element_block * element_block; }
  constexpr std::size_t stride() const { return columns() + element_block; }
  template <class T>
  constexpr strip_of_numbers<T> of(T* data) const {
    return {data, rows, columns(), stride()};
  }
};

// Sets the scores that a query may not look at, and the columns after the last key, to minus infinity.
template <class T>
void mask_scores(const attention_extents& of, const strip_of_queries& s, T* scores) {
  constexpr T none = -std::numeric_limits<T>::infinity();
  for (std::size_t i = 0; i < s.rows; ++i) {
    T* const row = scores + i * s.stride();
    const std::size_t place = of.first_place + s.first + i;
    const std::size_t begin = std::clamp(of.band.begin(place, of.keys), s.begin, s.end);
    std::fill(row, row + (begin - s.begin), none);
    std::fill(row + (std::clamp(of.band.end(place, of.keys), begin, s.end) - s.begin), row + s.columns(), none);
  }
}

// The first of some lanes becomes their sum, in four steps.
template <std::size_t Lanes = element_block, class T>
[[gnu::always_inline]] inline T sum_of_lanes(T* lane) {
  if constexpr (Lanes == 1) return lane[0];
  else {
    for (std::size_t k = 0; k < Lanes / 2; ++k) lane[k] += lane[k + Lanes / 2];
    return sum_of_lanes<Lanes / 2>(lane);
  }
}

// The sum of blocks of numbers, and the greatest of them, in 16 lanes, of which those that are half of them apart are joined in
// the end. They are named vectors: of an array g++ makes single numbers with -O3. Vectors of 16 bytes can be compared on every
// machine; those of 32 bytes are split where it has no such registers.
#if defined(__CUDACC__) // nvcc hands a local vector to the compiler of the host as one number: the same sums, in arrays
class sum_of_blocks {
public:
  template <class T>
  void add(const T* block) {
    for (std::size_t k = 0; k < element_block; ++k) lane_[k] += static_cast<double>(block[k]);
  }
  double sum() {
    for (std::size_t half = element_block / 2; half > 2; half /= 2)
      for (std::size_t k = 0; k < half; ++k) lane_[k] += lane_[k + half];
    return (lane_[0] + lane_[2]) + (lane_[1] + lane_[3]);
  }

private:
  double lane_[element_block] = {};
};
template <class T>
class greatest_of_blocks {
public:
  explicit greatest_of_blocks(T least) : greatest_(least) {}

  void add(const T* block) {
    for (std::size_t k = 0; k < element_block; ++k) greatest_ = block[k] > greatest_ ? block[k] : greatest_;
  }
  T greatest() const { return greatest_; }

private:
  T greatest_;
};
#else
class sum_of_blocks {
public:
  template <class T>
  [[gnu::always_inline]] inline void add(const T* block) {
    double wide[element_block];
    four v[4];
    for (std::size_t k = 0; k < element_block; ++k) wide[k] = static_cast<double>(block[k]);
    __builtin_memcpy(v, wide, sizeof v);
    a_ += v[0], b_ += v[1], c_ += v[2], d_ += v[3];
  }
  // Once: it adds them up in place.
  [[gnu::always_inline]] inline double sum() {
    a_ += c_, b_ += d_;
    a_ += b_;
    return (a_[0] + a_[2]) + (a_[1] + a_[3]);
  }

private:
  typedef double four __attribute__((vector_size(32)));
  four a_{}, b_{}, c_{}, d_{};
};
template <class T>
class greatest_of_blocks {
public:
  [[gnu::always_inline]] inline explicit greatest_of_blocks(T least) : a_(some{} + least), b_(a_), c_(a_), d_(a_) {}

  // A NaN is ignored.
  [[gnu::always_inline]] inline void add(const T* block) {
    some v[element_block / width];
    __builtin_memcpy(v, block, sizeof v);
    for (std::size_t k = 0; k < element_block / width; k += 4) {
      a_ = v[k] > a_ ? v[k] : a_;
      b_ = v[k + 1] > b_ ? v[k + 1] : b_;
      c_ = v[k + 2] > c_ ? v[k + 2] : c_;
      d_ = v[k + 3] > d_ ? v[k + 3] : d_;
    }
  }
  [[gnu::always_inline]] inline T greatest() const {
    some s = c_ > a_ ? c_ : a_;
    const some t = d_ > b_ ? d_ : b_;
    s = t > s ? t : s;
    T most = s[0];
    for (std::size_t k = 1; k < width; ++k) most = s[k] > most ? s[k] : most;
    return most;
  }

private:
  typedef T some __attribute__((vector_size(16)));
  static constexpr std::size_t width = 16 / sizeof(T);
  some a_, b_, c_, d_;
};
#endif

// Replaces each score s of a row by e^(scale s - shift), where shift is the greatest of the scaled scores, and leaves the row's
// sum and shift. A row that is masked as a whole has a sum of 0.
template <class T>
struct exponentials_of_scores {
  strip_of_numbers<T> scores;
  T scale;
  per_query<T>*sums, *shifts;

  [[gnu::always_inline]] inline void run() const {
    constexpr T none = -std::numeric_limits<T>::infinity();
    for (std::size_t i = 0; i < scores.rows; ++i) {
      T* const row = scores.data + i * scores.stride;
      greatest_of_blocks<T> most(none);
      for (std::size_t j = 0; j < scores.columns; j += element_block) most.add(row + j);
      const T greatest = most.greatest(), shift = greatest > none ? greatest * scale : T{0};
      sum_of_blocks sum;
      for (std::size_t j = 0; j < scores.columns; j += element_block) {
        T v[element_block];
        for (std::size_t k = 0; k < element_block; ++k) v[k] = exponential_or_zero(row[j + k] * scale - shift);
        for (std::size_t k = 0; k < element_block; ++k) row[j + k] = v[k];
        sum.add(v);
      }
      (*sums)[i] = static_cast<T>(sum.sum());
      (*shifts)[i] = shift;
    }
  }
};

// 1 / sum, or 0 where that is 0.
template <class T>
struct inverses_of_sums {
  per_query<T>* inverses;
  const per_query<T>* sums;

  [[gnu::always_inline]] inline void run() const {
    for (std::size_t i = 0; i < strip_queries; ++i) {
      const T sum = sums->data()[i];
      inverses->data()[i] = blend(sum == T{0}, T{0}, T{1} / blend(sum == T{0}, T{1}, sum));
    }
  }
};

// The logarithm of x >= 1, within 3e-7 of the greater of it and 1, or infinity for 0.
[[gnu::always_inline]] inline float logarithm_of_sum(float x) {
  const auto bits = __builtin_bit_cast(std::uint32_t, x);
  const auto exponent = static_cast<float>(static_cast<std::int32_t>(bits >> 23) - 127);
  const float mantissa = __builtin_bit_cast(float, (bits & 0x7FFFFFU) | 127U << 23);
  const float found = exponent * 0.693147182F + logarithm_of_one_plus(mantissa - 1.0F);
  return blend(x == 0.0F, std::numeric_limits<float>::infinity(), blend(x > 0.0F, found, x)); // NaN stays
}
inline double logarithm_of_sum(double x) { return x == 0 ? std::numeric_limits<double>::infinity() : std::log(x); }

// Replaces each sum by the logarithm of the sum of the exponentials that were not shifted.
template <class T>
struct logarithms_of_sums {
  per_query<T>* sums;
  const per_query<T>* shifts;

  [[gnu::always_inline]] inline void run() const {
    for (std::size_t i = 0; i < strip_queries; ++i) sums->data()[i] = shifts->data()[i] + logarithm_of_sum(sums->data()[i]);
  }
};

// Replaces each score s by its probability p = e^(scale s - log sum), and the derivative dp by p by ds = p (dp - dot) slope.
template <class T>
struct derivatives_of_scores {
  strip_of_numbers<T> scores;
  T* derivatives; // as the scores lie
  T scale, slope;
  const T* log_sums;
  const per_query<T>* dots;

  [[gnu::always_inline]] inline void run() const {
    for (std::size_t i = 0; i < scores.rows; ++i) {
      T *const row = scores.data + i * scores.stride, *const d = derivatives + i * scores.stride;
      const T log_sum = log_sums[i], dot = dots->data()[i];
      for (std::size_t j = 0; j < scores.columns; j += element_block) {
        T p[element_block], ds[element_block];
        for (std::size_t k = 0; k < element_block; ++k) ds[k] = d[j + k];
        for (std::size_t k = 0; k < element_block; ++k) p[k] = exponential_or_zero(row[j + k] * scale - log_sum);
        for (std::size_t k = 0; k < element_block; ++k) ds[k] = p[k] * (ds[k] - dot) * slope;
        for (std::size_t k = 0; k < element_block; ++k) row[j + k] = p[k];
        for (std::size_t k = 0; k < element_block; ++k) d[j + k] = ds[k];
      }
    }
  }
};

// The dot product of each row of x with the same row of y.
template <class T>
struct dots_of_rows {
  matrix<const T> x, y;
  per_query<T>* dots;

  [[gnu::always_inline]] inline void run() const {
    for (std::size_t i = 0; i < x.rows; ++i) {
      const T *const a = x.data + i * x.stride, *const b = y.data + i * y.stride;
      double sum[element_block] = {};
      std::size_t j = 0;
      for (; j + element_block <= x.columns; j += element_block)
        for (std::size_t k = 0; k < element_block; ++k) sum[k] += static_cast<double>(a[j + k]) * static_cast<double>(b[j + k]);
      for (std::size_t k = 0; j + k < x.columns; ++k) sum[k] += static_cast<double>(a[j + k]) * static_cast<double>(b[j + k]);
      dots->data()[i] = static_cast<T>(sum_of_lanes(sum));
    }
  }
};

// Multiplies each row by its factor.
template <class T>
struct scaled_rows {
  matrix<T> x;
  const per_query<T>* factors;

  [[gnu::always_inline]] inline void run() const {
    for (std::size_t i = 0; i < x.rows; ++i) {
      T* const row = x.data + i * x.stride;
      const T factor = factors->data()[i];
      std::size_t j = 0;
      for (; j + element_block <= x.columns; j += element_block)
        for (std::size_t k = 0; k < element_block; ++k) row[j + k] *= factor;
      for (; j < x.columns; ++j) row[j] *= factor;
    }
  }
};

} // namespace cairn::detail

CAIRN_KERNELS_END
