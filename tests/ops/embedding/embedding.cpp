// SPDX-License-Identifier: MIT
#include <cairn/ops/embedding/cpu.hpp>
#include <cairn/ops/embedding/embedding.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "../../reference/differences.hpp"
#include "../../reference/values.hpp"
#include "../elementwise/shifted_cuts.hpp"

using namespace cairn;

namespace {

template <class T>
double distance_from_torch() {
  cpu device;
  const auto indices = reference_numbers<std::int32_t>("embedding/input");
  const auto weight = reference_numbers<T>("embedding/parameter0"),
             dy = reference_numbers<T>("embedding/output_gradient");
  std::vector<T> y(indices.size() * 6), dw(11 * 6, T{9});
  embedding_forward(device.compute(), indices.size(), 11, 6, y.data(), weight.data(), indices.data());
  embedding_backward(device.compute(), indices.size(), 11, 6, dw.data(), dy.data(), indices.data());
  return std::max(largest_difference(y, reference_values("embedding/output")),
                  largest_difference(dw, reference_values("embedding/gradient0")));
}

} // namespace

TEST_CASE("embedding: PyTorch's numbers, also of a word that comes several times or not at all") {
  CHECK(distance_from_torch<float>() < 1e-6);
  CHECK(distance_from_torch<double>() < 1e-15);
}

TEST_CASE("embedding: rows are added in their order, on any number of threads") {
  constexpr std::size_t vocabulary = 50, count = 400;
  std::vector<std::int32_t> indices(count);
  for (std::size_t i = 0; i < count; ++i)
    indices[i] = static_cast<std::int32_t>(i * i % 37); // 37 … 49 never come
  for (const std::size_t width : {1U, 17U, 700U}) {
    const auto weight = steps<float>(-1, 1, vocabulary * width), dy = steps<float>(1, 1e-3, count * width);
    std::vector<float> expected_y(count * width), expected(vocabulary * width, 0.0F);
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t j = 0; j < width; ++j) {
        const auto row = static_cast<std::size_t>(indices[i]);
        expected_y[i * width + j] = weight[row * width + j];
        expected[row * width + j] += dy[i * width + j];
      }
    for (const std::size_t threads : {1U, 3U}) {
      cpu device({.threads = threads});
      std::vector<float> y(count * width), dw(vocabulary * width, 5.0F);
      embedding_forward(device.compute(), count, vocabulary, width, y.data(), weight.data(), indices.data());
      embedding_backward(device.compute(), count, vocabulary, width, dw.data(), dy.data(), indices.data());
      CHECK((y == expected_y && dw == expected));
    }
  }
}

TEST_CASE("embedding: an index without a row is an error that says which, and nothing is written") {
  cpu device;
  const std::vector<float> weight(3 * 4);
  for (const std::int32_t wrong : {3, -1}) {
    const std::vector<std::int32_t> indices{0, 2, wrong};
    std::vector<float> y(3 * 4, 7.0F);
    std::string said;
    try {
      embedding_forward(device.compute(), 3, 3, 4, y.data(), weight.data(), indices.data());
    } catch (const error& e) {
      said = e.what();
    }
    CHECK(said.find("Embedding: index 2 is " + std::to_string(wrong) + ", but the vocabulary is 0 to 2") ==
          0);
    CHECK((y == std::vector<float>(3 * 4, 7.0F)));
  }
}
