// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/view.hpp>
#include <cairn/ops/channel_statistics/channel_statistics.hpp>
#include <cairn/ops/elementwise/run_tile.hpp>
#include <cairn/ops/elementwise/sums.hpp>
#include <cairn/ops/elementwise/widened_row.hpp>

CAIRN_KERNELS_BEGIN

// Loops over a tile of a map, row by row, that are the same for every channel. Channels are taken 16 at a time, then 4, then
// one: the width of a dense block's map is a multiple of 12.
namespace cairn::detail {

// Calls f.block<N>(j) for the columns [0, count).
template <class F>
[[gnu::always_inline]] inline void for_each_block(const F& f, std::size_t count) {
  std::size_t j = 0;
  for (; j + 16 <= count; j += 16) f.template block<16>(j);
  for (; j + 4 <= count; j += 4) f.template block<4>(j);
  for (; j < count; ++j) f.template block<1>(j);
}

// Prefetches a row that is read `rows_ahead` rows later: the rows of some channels of a map are pages apart, which no processor
// foresees. The last rows of a tile prefetch the next tile; prefetches beyond the map have no effect.
inline constexpr std::size_t rows_ahead = 8;
template <class T>
[[gnu::always_inline]] inline void ask_for_row(matrix<const T> m, std::size_t row) {
  if (m.data == nullptr) return;
  const T* const first = m.data + row * m.stride;
  for (std::size_t j = 0; j < m.columns; j += 64 / sizeof(T)) __builtin_prefetch(first + j, 0, 3);
  __builtin_prefetch(first + m.columns - 1, 0, 3);
}

// A norm, ready to be applied: y = (x - mean) factor + bias, three arrays with an element per channel.
template <class T>
struct channel_scales {
  const T* mean = nullptr;
  const T* factor = nullptr;
  const T* bias = nullptr;

  channel_scales() = default;
  // Written to `room` of 3 x channels elements. E is the type of the map's elements, and T that of their sums.
  template <class E>
  channel_scales(T* room, std::size_t channels, const channel_norm<E>& norm)
      : mean(room), factor(room + channels), bias(room + 2 * channels) {
    for (std::size_t c = 0; c < channels; ++c) {
      const double deviation = std::sqrt(static_cast<double>(norm.variance[norm.step * c]) + norm.eps);
      room[c] = static_cast<T>(norm.mean[norm.step * c]);
      room[channels + c] = static_cast<T>(static_cast<double>(norm.weight[c]) / deviation);
      room[2 * channels + c] = static_cast<T>(norm.bias[c]);
    }
  }
  channel_scales from(std::size_t column) const {
    channel_scales out = *this;
    out.mean += column, out.factor += column, out.bias += column;
    return out;
  }
};

// y = relu(norm(x)); NaN stays.
template <class T>
struct normalize_tile {
  matrix<T> y;
  matrix<const T> x;
  channel_scales<T> by;

  [[gnu::always_inline]] inline void run() const {
    for (std::size_t r = 0; r < y.rows; ++r) {
      ask_for_row(x, r + rows_ahead);
      for_each_block(row{y.data + r * y.stride, x.data + r * x.stride, by}, y.columns);
    }
  }
  struct row {
    T* __restrict to;
    const T* __restrict from;
    channel_scales<T> by;
    template <std::size_t N>
    [[gnu::always_inline]] inline void block(std::size_t j) const {
      T v[N];
      for (std::size_t i = 0; i < N; ++i) v[i] = (from[j + i] - by.mean[j + i]) * by.factor[j + i] + by.bias[j + i];
      for (std::size_t i = 0; i < N; ++i) to[j + i] = v[i] < T{0} ? T{0} : v[i];
    }
  };
};

// The same of a map of any elements: those of 16 bits are widened, a piece at a time.
template <class T>
void normalize_rows(matrix<accumulated<T>> y, matrix<const T> x, const channel_scales<accumulated<T>>& by) {
  using wide = accumulated<T>;
  if constexpr (!is_narrow<T>) {
    run_tile(normalize_tile<T>{y, x, by});
  } else {
    constexpr std::size_t room = 4 * strip;
    alignas(64) wide own[room];
    const std::size_t widest = std::clamp<std::size_t>(x.columns, 1, room), most = room / widest;
    for (std::size_t c = 0; c < x.columns; c += widest)
      for (std::size_t r = 0; r < x.rows; r += most) {
        const std::size_t rows = std::min(most, x.rows - r), columns = std::min(widest, x.columns - c);
        widen_rows(own, matrix<const T>{x.data + r * x.stride + c, rows, columns, x.stride});
        run_tile(normalize_tile<wide>{{y.data + r * y.stride + c, rows, columns, y.stride}, {own, rows, columns}, by.from(c)});
      }
  }
}

// y = dy + first[c] + second[c] (x - mean[c]). dy may be absent.
template <class T>
struct add_linear_tile {
  matrix<T> y;
  matrix<const T> dy, x;
  const T* mean;
  const T* first;
  const T* second;

  [[gnu::always_inline]] inline void run() const {
    for (std::size_t r = 0; r < y.rows; ++r) {
      ask_for_row(x, r + rows_ahead);
      ask_for_row(dy, r + rows_ahead);
      for_each_block(
          row{y.data + r * y.stride, dy.data == nullptr ? nullptr : dy.data + r * dy.stride, x.data + r * x.stride, *this},
          y.columns);
    }
  }
  struct row {
    T* to; // may be dy
    const T* dy;
    const T* x;
    const add_linear_tile& by;
    template <std::size_t N>
    [[gnu::always_inline]] inline void block(std::size_t j) const {
      T v[N];
      for (std::size_t i = 0; i < N; ++i) v[i] = by.first[j + i] + by.second[j + i] * (x[j + i] - by.mean[j + i]);
      if (dy != nullptr)
        for (std::size_t i = 0; i < N; ++i) v[i] += dy[j + i];
      for (std::size_t i = 0; i < N; ++i) to[j + i] = v[i];
    }
  };
};

// Two sums over rows for each column: chains of sum_chain rows in T, which are added in double.
inline constexpr std::size_t most_summed_columns = 512;
template <class T>
struct two_chains {
  double first[most_summed_columns] = {};
  double second[most_summed_columns] = {};
};

// sum_row adds a row to the chains, end_chains adds the chains to the totals.
template <class T, class Row>
struct sum_row {
  Row row;
  T* a;
  T* b;
  template <std::size_t N>
  [[gnu::always_inline]] inline void block(std::size_t j) const {
    T first[N], second[N];
    for (std::size_t i = 0; i < N; ++i) first[i] = a[j + i];
    for (std::size_t i = 0; i < N; ++i) second[i] = b[j + i];
    row.template block<N>(j, first, second);
    for (std::size_t i = 0; i < N; ++i) a[j + i] = first[i];
    for (std::size_t i = 0; i < N; ++i) b[j + i] = second[i];
  }
};
template <class T>
struct end_chains {
  const T* __restrict chains;
  double* __restrict totals;
  template <std::size_t N>
  [[gnu::always_inline]] inline void block(std::size_t j) const {
    for (std::size_t i = 0; i < N; ++i) totals[j + i] += static_cast<double>(chains[j + i]);
  }
};

// Adds to `to` the values that tile.at(r).block<N>(j, a, b) adds to a[0 … N) and b[0 … N), for all rows.
template <class T, class Tile>
[[gnu::always_inline]] inline void add_chains(const Tile& tile, std::size_t rows, std::size_t columns, two_chains<T>& to) {
  alignas(64) T a[most_summed_columns], b[most_summed_columns];
  for (std::size_t r = 0; r < rows;) {
    for (std::size_t j = 0; j < columns; ++j) a[j] = b[j] = T{0};
    for (const std::size_t end = std::min(rows, r + sum_chain); r < end; ++r)
      for_each_block(sum_row<T, typename Tile::row>{tile.at(r), a, b}, columns);
    for_each_block(end_chains<T>{a, to.first}, columns);
    for_each_block(end_chains<T>{b, to.second}, columns);
  }
}

// The sums of x - shift[c], and of its square.
template <class T>
struct sum_distances_tile {
  matrix<const T> x;
  const T* shift;
  two_chains<T>* sums;

  [[gnu::always_inline]] inline void run() const { add_chains(*this, x.rows, x.columns, *sums); }
  struct row {
    const T* x;
    const T* shift;
    template <std::size_t N>
    [[gnu::always_inline]] inline void block(std::size_t j, T* a, T* b) const {
      T d[N];
      for (std::size_t i = 0; i < N; ++i) d[i] = x[j + i] - shift[j + i];
      for (std::size_t i = 0; i < N; ++i) a[i] += d[i];
      for (std::size_t i = 0; i < N; ++i) b[i] += d[i] * d[i];
    }
  };
  [[gnu::always_inline]] inline row at(std::size_t r) const { return {x.data + r * x.stride, shift}; }
};

// The backward of a norm with its ReLU, in one pass: with m the gradient where the ReLU let its input pass, else 0,
//   dx = addend + factor m,  and the sums of m and of m (x - mean).
// If `Masked`, the gradient already has the zeros. The addend and dx may be absent; dx may be the gradient or the addend.
template <class T, bool Masked, bool Adds>
struct norm_backward_tile {
  matrix<T> dx;
  matrix<const T> gradient, x, addend;
  channel_scales<T> by;
  two_chains<T>* sums;

  [[gnu::always_inline]] inline void run() const { add_chains(*this, gradient.rows, gradient.columns, *sums); }
  struct row {
    T* dx;
    const T* gradient;
    const T* x;
    const T* addend;
    channel_scales<T> by;
    template <std::size_t N>
    [[gnu::always_inline]] inline void block(std::size_t j, T* a, T* b) const {
      T m[N], distance[N], v[N];
      for (std::size_t i = 0; i < N; ++i) m[i] = gradient[j + i];
      for (std::size_t i = 0; i < N; ++i) distance[i] = x[j + i] - by.mean[j + i];
      if constexpr (!Masked) {
        for (std::size_t i = 0; i < N; ++i) v[i] = distance[i] * by.factor[j + i] + by.bias[j + i];
        for (std::size_t i = 0; i < N; ++i) m[i] = v[i] <= T{0} ? T{0} : m[i];
      }
      for (std::size_t i = 0; i < N; ++i) a[i] += m[i];
      for (std::size_t i = 0; i < N; ++i) b[i] += m[i] * distance[i];
      for (std::size_t i = 0; i < N; ++i) v[i] = by.factor[j + i] * m[i];
      if constexpr (Adds)
        for (std::size_t i = 0; i < N; ++i) v[i] += addend[j + i];
      if (dx != nullptr)
        for (std::size_t i = 0; i < N; ++i) dx[j + i] = v[i];
    }
  };
  [[gnu::always_inline]] inline row at(std::size_t r) const {
    if constexpr (Adds) ask_for_row(addend, r + rows_ahead);
    return {dx.data == nullptr ? nullptr : dx.data + r * dx.stride, gradient.data + r * gradient.stride, x.data + r * x.stride,
            Adds ? addend.data + r * addend.stride : nullptr, by};
  }
};

// Writes the gradients of weight and bias of channel c, and of its mean and variance, from the sums of m and of m (x - mean).
// Each may be null.
template <class T>
void norm_gradients(double sum, double products, const channel_norm<T>& norm, std::size_t c, accumulated<T>* of_weight,
                    accumulated<T>* of_bias, accumulated<T>* of_statistics) {
  using A = accumulated<T>;
  const double inverse = 1 / std::sqrt(static_cast<double>(norm.variance[norm.step * c]) + norm.eps);
  const double weight = static_cast<double>(norm.weight[c]);
  if (of_weight != nullptr) of_weight[c] = static_cast<A>(products * inverse);
  if (of_bias != nullptr) of_bias[c] = static_cast<A>(sum);
  if (of_statistics == nullptr) return;
  of_statistics[2 * c] = static_cast<A>(-weight * inverse * sum);
  of_statistics[2 * c + 1] = static_cast<A>(-0.5 * weight * inverse * inverse * inverse * products);
}

// The statistics of a tile, and those of many rows from their tiles: (mean, sum of squared distances from it) of each tile,
// combined in double in the order of the tiles (Chan, Golub, LeVeque: Updating formulae, 1979).
template <class T>
void tile_statistics(matrix<const T> x, accumulated<T>* partial) {
  for (std::size_t begin = 0; begin < x.columns; begin += most_summed_columns) {
    const std::size_t columns = std::min(most_summed_columns, x.columns - begin);
    const matrix<const T> part{x.data + begin, x.rows, columns, x.stride};
    two_chains<accumulated<T>> sums;
    if constexpr (!is_narrow<T>) {
      run_tile(sum_distances_tile<T>{part, part.data, &sums});
    } else { // whole chains at a time
      constexpr std::size_t room = sum_chain * most_summed_columns;
      alignas(64) accumulated<T> own[room];
      widened_row<T, most_summed_columns> shift;
      const accumulated<T>* const first = shift.read(part.data, columns);
      const std::size_t most = std::max(sum_chain, room / 2 / columns / sum_chain * sum_chain);
      for (std::size_t row = 0; row < x.rows; row += most) {
        const matrix<const T> some{part.data + row * x.stride, std::min(most, x.rows - row), columns, x.stride};
        widen_rows(own, some);
        run_tile(sum_distances_tile<accumulated<T>>{{own, some.rows, columns}, first, &sums});
      }
    }
    const auto rows = static_cast<double>(x.rows);
    for (std::size_t j = 0; j < columns; ++j) {
      const double distance = sums.first[j] / rows, spread = sums.second[j] - distance * sums.first[j];
      partial[2 * (begin + j)] = static_cast<accumulated<T>>(static_cast<double>(x.data[begin + j]) + distance);
      partial[2 * (begin + j) + 1] = static_cast<accumulated<T>>(spread < 0 ? 0 : spread); // NaN stays
    }
  }
}
template <class A>
void combine_statistics(const A* partial, std::size_t tiles, std::size_t rows_of_tile, std::size_t rows, std::size_t channels,
                        A* statistics) {
  for (std::size_t c = 0; c < channels; ++c) {
    double count = 0, mean = 0, squares = 0;
    for (std::size_t t = 0; t < tiles; ++t) {
      const auto here = static_cast<double>(std::min(rows_of_tile, rows - t * rows_of_tile));
      const A* const of_tile = partial + 2 * (t * channels + c);
      const double distance = static_cast<double>(of_tile[0]) - mean, all = count + here;
      mean += distance * (here / all);
      squares += static_cast<double>(of_tile[1]) + distance * distance * (count * here / all);
      count = all;
    }
    statistics[2 * c] = static_cast<A>(mean);
    statistics[2 * c + 1] = static_cast<A>(count == 0 ? 0 : squares / count);
  }
}

} // namespace cairn::detail

CAIRN_KERNELS_END
