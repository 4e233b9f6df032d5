// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/channel_statistics/channel_statistics.hpp>
#include <cairn/ops/channel_statistics/columns.hpp>
#include <cairn/ops/elementwise/cpu.hpp>
#include <cairn/ops/elementwise/cuts.hpp>
#include <cairn/ops/elementwise/widened_row.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// add_linear_tile for one element, with and without a gradient to add to.
struct linear_element {
  template <class T>
  [[gnu::always_inline]] inline void operator()(T& x, T mean, T first, T second) const {
    x = first + second * (x - mean);
  }
};
struct add_linear_element {
  template <class T>
  [[gnu::always_inline]] inline void operator()(T& dy, T x, T mean, T first, T second) const {
    const T v = first + second * (x - mean);
    dy += v;
  }
};

} // namespace cairn::detail

namespace cairn::ops {

template <class T>
void channel_statistics(cpu::queue& queue, matrix<const T> x, std::type_identity_t<accumulated<T>>* statistics) {
  using A = accumulated<T>;
  detail::for_each_strip(queue, x.rows, x.columns, [&](std::size_t begin, std::size_t columns) {
    A* const out = statistics + 2 * begin;
    if (x.rows == 0) return static_cast<void>(std::fill_n(out, 2 * columns, A{0}));
    detail::tile_statistics<T>({x.data + begin, x.rows, columns, x.stride}, out);
    for (std::size_t j = 0; j < columns; ++j)
      out[2 * j + 1] = static_cast<A>(static_cast<double>(out[2 * j + 1]) / static_cast<double>(x.rows));
  });
}

template <class T>
void channel_statistics_backward(cpu::queue& queue, matrix<T> dx, std::type_identity_t<matrix<const T>> dy,
                                 std::type_identity_t<matrix<const T>> x, const std::type_identity_t<accumulated<T>>* statistics,
                                 const std::type_identity_t<accumulated<T>>* gradient) {
  using A = accumulated<T>;
  constexpr std::size_t piece = detail::is_narrow<T> ? detail::strip : 64,
                        grain = 256; // columns whose factors lie on the stack; rows
  queue.parallel_for((dx.rows + grain - 1) / grain, [&](std::size_t part, auto) {
    const std::size_t row = part * grain, rows = std::min(grain, dx.rows - row);
    for (std::size_t begin = 0; begin < dx.columns; begin += piece) {
      const std::size_t columns = std::min(piece, dx.columns - begin);
      A mean[piece], first[piece], second[piece];
      for (std::size_t j = 0; j < columns; ++j) {
        mean[j] = statistics[2 * (begin + j)];
        first[j] = static_cast<A>(static_cast<double>(gradient[2 * (begin + j)]) / static_cast<double>(dx.rows));
        second[j] = static_cast<A>(2 * static_cast<double>(gradient[2 * (begin + j) + 1]) / static_cast<double>(dx.rows));
      }
      const auto at = [&](auto m) {
        if (m.data != nullptr) m.data += row * m.stride + begin;
        m.rows = rows;
        m.columns = columns;
        return m;
      };
      const matrix<T> to = at(dx);
      const matrix<const T> of_y = at(dy), of_x = at(x);
      if constexpr (!detail::is_narrow<T>) {
        detail::run_tile(detail::add_linear_tile<T>{to, of_y, of_x, mean, first, second});
      } else {
        const detail::instruction_set set = detail::widest_for_elements();
        for (std::size_t r = 0; r < rows; ++r) {
          const T* const from = of_x.data + r * of_x.stride;
          const detail::written result{to.data + r * to.stride};
          if (of_y.data == nullptr)
            detail::run_narrow(set, detail::linear_element{}, columns, result,
                               detail::taken{from, &mean[0], &first[0], &second[0]});
          else
            detail::run_narrow(set, detail::add_linear_element{}, columns, result,
                               detail::taken{of_y.data + r * of_y.stride, from, &mean[0], &first[0], &second[0]});
        }
      }
    }
  });
}

template <class T>
void channel_statistics_update(cpu::queue&, std::size_t rows, std::size_t channels, double momentum, T* running_mean,
                               T* running_variance, const T* statistics) {
  const auto moved = [momentum](T running, double now) {
    return static_cast<T>((1 - momentum) * static_cast<double>(running) + momentum * now);
  };
  const auto count = static_cast<double>(rows);
  for (std::size_t c = 0; c < channels && rows > 0; ++c)
    running_mean[c] = moved(running_mean[c], static_cast<double>(statistics[2 * c]));
  for (std::size_t c = 0; c < channels && rows > 1; ++c)
    running_variance[c] = moved(running_variance[c], static_cast<double>(statistics[2 * c + 1]) * (count / (count - 1)));
}

} // namespace cairn::ops

CAIRN_KERNELS_END
