// SPDX-License-Identifier: MIT
#include <cairn/layer/dense/dense_growth.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include <cairn/layer/gradient_check.hpp>
#include <doctest/doctest.h>

#include "../given.hpp"
#include "../positive_variance.hpp"

namespace dense_growth_tests {

using namespace cairn;
using growth = detail::dense_growth<3>;

static_assert(layer<growth> && growth::strided);
static_assert(growth::parameters(given{{5, 3, 7}})[2].extents == shape{3, 3, 3, 7});
static_assert(growth::buffers(given{{5, 3, 7}})[0].name == "norm2.running_mean");

namespace {

// Gives the layer the gradient of its map in memory that it may write to, as a block does.
template <class L>
struct with_own_gradient : L {
  static constexpr tensor_list workspace(const arguments& in, pass why) {
    tensor_list all = L::workspace(in, why);
    if (why == pass::backward) all.push_back(L::outputs(in)[0]);
    return all;
  }
  template <class Queue, class T>
  static void backward(Queue& queue, backward_call<T> call) {
    const tensor made = L::outputs(*call.given)[0];
    T* const own = call.workspace[L::workspace(*call.given, pass::backward).count];
    const types::tensors<const T> from = call.output_gradients;
    const std::size_t width = made.last(), stride = call.output_stride == 0 ? width : call.output_stride;
    for (std::size_t row = 0; row < call.rows * made.size() / width; ++row)
      if (from[0] != nullptr) std::copy_n(from[0] + row * stride, width, own + row * width);
      else std::fill_n(own + row * width, width, T{0});
    const detail::dense_strides strides{.output_gradient = width};
    call.dense = &strides;
    std::array<std::size_t, 2> at{0, reinterpret_cast<std::uintptr_t>(from.sums(1)) - reinterpret_cast<std::uintptr_t>(own)};
    call.output_gradients = {reinterpret_cast<const std::byte*>(own), at.data(),
                             static_cast<detail::tensor_set>(from.there | 1U)};
    L::backward(queue, call);
  }
};

} // namespace

TEST_CASE("dense_growth: gradients, by statistics too") {
  CHECK(gradient_fault<of_positive_variance<with_own_gradient<growth>>>({{3, 2, 2}, detail::dense_half::statistics_of(2)}) == "");
}

} // namespace dense_growth_tests
