// SPDX-License-Identifier: MIT
// long to compile
#include <cstddef>
#include <vector>

#include <doctest/doctest.h>

#include <cairn/ops/rms_norm/cpu.hpp>

#include "../narrow.hpp"

namespace rms_norm_narrow_tests {

using namespace cairn;

namespace {

template <class T>
void check() {
  constexpr std::size_t rows = 21, features = 37, count = rows * features;
  cpu device({.threads = 2});
  auto& queue = device.compute();
  const auto x = narrow::normal<T>(count, 1), dy = narrow::normal<T>(count, 2);
  const auto w = narrow::normal<T>(features, 3);
  std::vector<T> own(count);
  std::vector<float> wide(count), own_tape(rows), wide_tape(rows);
  rms_norm_forward(queue, rows, features, 1e-5, own.data(), own_tape.data(), x.own.data(), w.own.data());
  rms_norm_forward(queue, rows, features, 1e-5, wide.data(), wide_tape.data(), x.wide.data(), w.wide.data());
  CHECK(narrow::wrong(own, wide, 1e-6F) == 0);
  for (std::size_t i = 0; i < own_tape.size(); ++i) CHECK(own_tape[i] == doctest::Approx(wide_tape[i]).epsilon(1e-6));

  std::vector<float> own_sums(features), wide_sums(features);
  const float* const tape = wide_tape.data();
  rms_norm_backward(queue, rows, features, own.data(), own_sums.data(), dy.own.data(), x.own.data(), tape, w.own.data());
  rms_norm_backward(queue, rows, features, wide.data(), wide_sums.data(), dy.wide.data(), x.wide.data(), tape, w.wide.data());
  CHECK(narrow::wrong(own, wide, 2e-6F) == 0);
  CHECK(narrow::wrong(own_sums, wide_sums, 1e-5F) == 0);

  own = dy.own; // in place, without the weight's gradient
  float* const unwanted = nullptr;
  rms_norm_backward(queue, rows, features, own.data(), unwanted, static_cast<const T*>(own.data()), x.own.data(), tape,
                    w.own.data());
  CHECK(narrow::wrong(own, wide, 2e-6F) == 0);
}

} // namespace

TEST_CASE("rms_norm: of 16-bit elements it is that of float, rounded once, and inverses and sums are float") {
  check<bfloat16>();
  check<float16>();
}

} // namespace rms_norm_narrow_tests
