// SPDX-License-Identifier: MIT
// long to compile
#include <cstddef>
#include <vector>

#include <doctest/doctest.h>

#include <cairn/ops/softmax/cpu.hpp>

#include "../narrow.hpp"

namespace softmax_narrow_tests {

using namespace cairn;

namespace {

template <class T>
void check() {
  for (const std::size_t columns : {37U, 1100U}) { // one strip of a row, and three
    constexpr std::size_t rows = 21;
    const std::size_t count = rows * columns;
    cpu device({.threads = 2});
    auto& queue = device.compute();
    const auto x = narrow::normal<T>(count, 1), dy = narrow::normal<T>(count, 2);
    std::vector<T> own(count);
    std::vector<float> wide(count);
    softmax_forward(queue, rows, columns, own.data(), x.own.data());
    softmax_forward(queue, rows, columns, wide.data(), x.wide.data());
    CHECK(narrow::wrong(own, wide, 1e-6F) == 0);
    softmax_backward(queue, rows, columns, own.data(), dy.own.data(), x.own.data());
    softmax_backward(queue, rows, columns, wide.data(), dy.wide.data(), x.wide.data());
    CHECK(narrow::wrong(own, wide, 2e-6F) == 0);
    own = x.own; // in place
    softmax_forward(queue, rows, columns, own.data(), static_cast<const T*>(own.data()));
    softmax_forward(queue, rows, columns, wide.data(), x.wide.data());
    CHECK(narrow::wrong(own, wide, 1e-6F) == 0);
  }
}

} // namespace

TEST_CASE("softmax: of 16-bit elements it is that of float, rounded once") {
  check<bfloat16>();
  check<float16>();
}

} // namespace softmax_narrow_tests
