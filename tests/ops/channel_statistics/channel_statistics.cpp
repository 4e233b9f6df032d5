// SPDX-License-Identifier: MIT
#include <cairn/ops/channel_statistics/channel_statistics.hpp>

#include <cairn/ops/channel_statistics/cpu.hpp>
#include <cairn/ops/channel_statistics/reference.hpp>
#include <doctest/doctest.h>

#include "../made_up.hpp"
#include "../narrow.hpp"

namespace channel_statistics_channel_statistics_tests {

using namespace cairn;

namespace {

template <class T>
struct results {
  std::vector<T> statistics, dx;
  bool operator==(const results&) const = default;
};

// Runs on the first columns of a wider map.
template <class T>
results<T> run(std::size_t rows, std::size_t channels, std::size_t threads, bool plain) {
  cpu::queue queue(threads);
  const std::size_t stride = channels + 5;
  const auto x = made_up<T>(rows * stride, 0.7, 30), dy = made_up<T>(rows * channels, 0.3), by = made_up<T>(2 * channels, 1.1);
  results<T> out{std::vector<T>(2 * channels), std::vector<T>(rows * stride, T{9})};
  const ops::matrix<const T> map{x.data(), rows, channels, stride}, of_y{dy.data(), rows, channels};
  const ops::matrix<T> dx{out.dx.data(), rows, channels, stride};
  if (plain) {
    detail::channel_statistics_reference(map, out.statistics.data());
    detail::channel_statistics_backward_reference(dx, of_y, map, out.statistics.data(), by.data());
  } else {
    channel_statistics(queue, map, out.statistics.data());
    channel_statistics_backward(queue, dx, of_y, map, out.statistics.data(), by.data());
  }
  return out;
}

} // namespace

TEST_CASE_TEMPLATE("channel_statistics: the formulas, for any size, and any number of threads", T, float, double) {
  const double close = sizeof(T) == 4 ? 3e-6 : 1e-12;
  for (const std::size_t rows : {0U, 1U, 3U, 130U, 2000U})
    for (const std::size_t channels : {1U, 12U, 29U, 600U}) {
      CAPTURE(rows);
      CAPTURE(channels);
      const auto quick = run<T>(rows, channels, 1, false), plain = run<T>(rows, channels, 1, true);
      CHECK(relative_difference(quick.statistics, plain.statistics) < close);
      CHECK(relative_difference(quick.dx, plain.dx) < close);
      CHECK(run<T>(rows, channels, 3, false) == quick);
    }
}

TEST_CASE("channel_statistics: of 16-bit elements they are those of float, and a gradient is rounded once") {
  for (const std::size_t rows : {1U, 40U, 300U})
    for (const std::size_t channels : {5U, 29U, 520U})
      for (const bool alone : {false, true}) {
        const auto x = narrow::normal<bfloat16>(rows * channels, 1), dy = narrow::normal<bfloat16>(rows * channels, 2);
        const auto by = narrow::normal<bfloat16>(2 * channels, 3);
        cpu::queue queue(2);
        std::vector<float> own(2 * channels), wide(2 * channels), wide_dx(rows * channels);
        std::vector<bfloat16> own_dx(rows * channels);
        channel_statistics(queue, ops::matrix<const bfloat16>{x.own.data(), rows, channels}, own.data());
        channel_statistics(queue, ops::matrix<const float>{x.wide.data(), rows, channels}, wide.data());
        CHECK(own == wide);
        const auto differentiate = [&]<class T>(T* dx, const T* of_y, const T* map) {
          channel_statistics_backward(queue, ops::matrix<T>{dx, rows, channels},
                                      alone ? ops::matrix<const T>{} : ops::matrix<const T>{of_y, rows, channels},
                                      ops::matrix<const T>{map, rows, channels}, wide.data(), by.wide.data());
        };
        differentiate(own_dx.data(), dy.own.data(), x.own.data());
        differentiate(wide_dx.data(), dy.wide.data(), x.wide.data());
        CHECK(narrow::wrong(own_dx, wide_dx) == 0);
      }
}

TEST_CASE("channel_statistics: running statistics move as those of batch_norm") {
  cpu::queue queue(1);
  const double statistics[] = {5, 1, 7, 4};
  double mean[] = {0, 0}, variance[] = {1, 1};
  channel_statistics_update(queue, 2, 2, 0.25, mean, variance, statistics);
  CHECK(mean[0] == 1.25);
  CHECK(variance[0] == 1.25); // 0.75 + 0.25 of the unbiased variance of two rows, 2
  CHECK(variance[1] == 2.75);
  channel_statistics_update(queue, 1, 2, 0.5, mean, variance, statistics); // one row has no variance
  CHECK(mean[0] == 3.125);
  CHECK(variance[0] == 1.25);
}

} // namespace channel_statistics_channel_statistics_tests
