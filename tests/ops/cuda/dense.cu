// SPDX-License-Identifier: MIT
#include <cstddef>
#include <optional>
#include <type_traits>
#include <vector>

#include <cairn/ops/cpu.hpp>
#include <cairn/ops/cuda.cuh>

#include "../../cuda/agree.hpp"

namespace ops_cuda_dense_tests {

using namespace cairn;
using testing::normal, testing::over;

namespace {

// The element type of the operands.
template <class G>
using element_of = std::remove_pointer_t<typename decltype(G::out)::value_type>;

} // namespace

TEST_CASE("cuda: statistics of channels agree with the cpu's") {
  for (const std::size_t columns : {1U, 8U, 37U})
    for (const std::size_t rows : {1U, 37U, 700U}) {
      CAPTURE(columns);
      CAPTURE(rows);
      const std::size_t stride = columns + 3;
      const testing::operands all{
          .in = {normal(rows * stride, 1), normal(rows * stride, 2), normal(2 * columns, 3)},
          .out = {normal(2 * columns, 4), normal(rows * stride, 5), normal(columns, 6), normal(columns, 7)}};
      for (const bool without : {false, true})
        CHECK(over("channel_statistics", all, [&](auto& q, const auto& g) {
                using T = element_of<std::remove_cvref_t<decltype(g)>>;
                const ops::matrix<const T> x{g.in[0], rows, columns, stride},
                    dy{without ? nullptr : g.in[1], rows, columns, stride};
                channel_statistics(q, x, g.out[0]);
                const T* const found = g.out[0];
                channel_statistics_backward(q, ops::matrix<T>{g.out[1], rows, columns, stride}, dy, x, found, g.in[2]);
                channel_statistics_update(q, rows, columns, 0.1, g.out[2], g.out[3], found);
              }) <= 1);
    }
}

TEST_CASE("cuda: a norm, a ReLU and a product agree with the cpu's") {
  struct extents {
    std::size_t rows, in, out;
  };
  for (const extents& e : {extents{2, 1, 1}, {70, 24, 48}, {150, 61, 12}, {257, 12, 33}}) {
    CAPTURE(e.rows);
    CAPTURE(e.in);
    const std::size_t stride = e.in + 7;
    const auto room = ops::room_of_normalized_product(e.rows, e.in, e.out);
    const testing::operands all{.in = {normal(e.rows * stride, 1), normal(e.in, 2), normal(e.in, 3), normal(e.in * e.out, 4),
                                       normal(e.rows * e.out, 5), normal(2 * e.out, 6)},
                                .out = {std::vector<double>(e.rows * e.out), std::vector<double>(2 * e.out),
                                        normal(e.rows * stride, 7), std::vector<double>(2 * e.in), std::vector<double>(e.in),
                                        std::vector<double>(e.in), std::vector<double>(e.in * e.out),
                                        std::vector<double>(2 * e.in)}};
    for (const bool whole : {true, false})
      CHECK(over("normalized_product", all, [&](auto& q, const auto& g) {
              using T = element_of<std::remove_cvref_t<decltype(g)>>;
              constexpr bool on_gpu = std::is_same_v<std::remove_cvref_t<decltype(q)>, cuda::queue>;
              const std::vector<T> nothing(room.weight + 2 * room.scales + 3 * (e.in + e.out) + room.partial);
              std::vector<T> here(nothing);
              std::optional<testing::on_gpu<T>> there;
              if constexpr (on_gpu) there.emplace(nothing, 0);
              T* memory = here.data();
              if constexpr (on_gpu) memory = there->data();
              const ops::normalized_product_memory<T> of{memory, memory + room.weight, memory + room.weight + room.scales};
              T* const scales = memory + room.weight + room.scales + room.partial;
              const ops::matrix<const T> x{g.in[0], e.rows, e.in, stride}, dh{g.in[4], e.rows, e.out};
              channel_statistics(q, x, g.out[7]);
              const auto norm = ops::channel_norm<T>::of_batch(g.out[7], 1e-3, g.in[1], g.in[2]);
              const ops::matrix<T> h{g.out[0], e.rows, e.out};
              normalized_product_forward(q, h, g.out[1], x, norm, g.in[3], of);
              const ops::matrix<T> dx{g.out[2], e.rows, e.in, stride};
              ops::normalized_product_gradients<T> to{dx, dx, g.out[3], g.out[4], g.out[5], g.out[6]};
              if (!whole) to.addend = {}, to.norm_weight = nullptr;
              normalized_product_backward(q, to, dh, h, whole ? g.out[1] : nullptr, whole ? g.in[5] : nullptr, x, norm, g.in[3],
                                          scales);
              q.finish();
            }) <= 1);
  }
}

TEST_CASE("cuda: a norm, a ReLU and a convolution agree with the cpu's") {
  struct extents {
    std::size_t samples, height, width, in, out;
  };
  for (const extents& e : {extents{1, 1, 1, 1, 1}, {3, 5, 4, 8, 3}, {2, 8, 8, 20, 12}}) {
    CAPTURE(e.in);
    const std::size_t rows = e.samples * e.height * e.width, stride = e.out + 5, weights = e.out * 9 * e.in;
    const ops::convolution how{{{e.height, e.height, 3, 1, 1, 1}, {e.width, e.width, 3, 1, 1, 1}}, e.in, e.out, 1};
    const testing::operands all{
        .in = {normal(rows * e.in, 1), normal(e.in, 2), normal(e.in, 3), normal(weights, 4), normal(rows * stride, 5)},
        .out = {std::vector<double>(rows * stride), std::vector<double>(2 * e.out), std::vector<double>(rows * e.in),
                std::vector<double>(2 * e.in), std::vector<double>(e.in), std::vector<double>(e.in), std::vector<double>(weights),
                std::vector<double>(2 * e.in)}};
    CHECK(over("normalized_conv2d", all, [&](auto& q, const auto& g) {
            using T = element_of<std::remove_cvref_t<decltype(g)>>;
            constexpr bool on_gpu = std::is_same_v<std::remove_cvref_t<decltype(q)>, cuda::queue>;
            const std::vector<T> nothing(3 * e.in + 2 * (e.in + e.out) * e.samples);
            std::vector<T> here(nothing);
            std::optional<testing::on_gpu<T>> there;
            if constexpr (on_gpu) there.emplace(nothing, 0);
            T* scales = here.data();
            if constexpr (on_gpu) scales = there->data();
            T* const partial = scales + 3 * e.in;
            channel_statistics(q, ops::matrix<const T>{g.in[0], rows, e.in}, g.out[7]);
            const auto norm = ops::channel_norm<T>::of_batch(g.out[7], 1e-3, g.in[1], g.in[2]);
            normalized_conv2d_forward(q, how, e.samples, ops::matrix<T>{g.out[0], rows, e.out, stride}, g.out[1], g.in[0], norm,
                                      g.in[3], scales, partial);
            const ops::normalized_conv2d_gradients<T> to{g.out[2], g.out[3], g.out[4], g.out[5], g.out[6]};
            normalized_conv2d_backward(q, how, e.samples, to, {g.in[4], rows, e.out, stride}, g.in[0], norm, g.in[3], scales,
                                       partial);
            q.finish();
          }) <= 1);
  }
}

} // namespace ops_cuda_dense_tests
