// SPDX-License-Identifier: MIT
#include <cairn/ops/embedding/cpu.hpp>
#include <cairn/ops/embedding/embedding.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "../../reference/differences.hpp"
#include "../../reference/values.hpp"
#include "../elementwise/shifted_cuts.hpp"

namespace embedding_embedding_tests {

using namespace cairn;

namespace {

template <class T>
double distance_from_torch() {
  cpu device;
  const auto indices = reference_numbers<std::int32_t>("embedding/input");
  const auto weight = reference_numbers<T>("embedding/parameter0"), dy = reference_numbers<T>("embedding/output_gradient");
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
  constexpr std::size_t vocabulary = 50, count = 700;
  std::vector<std::int32_t> indices(count);
  for (std::size_t i = 0; i < count; ++i) indices[i] = static_cast<std::int32_t>(i * i % 37); // 37 … 49 never occur
  for (const std::size_t width : {1U, 17U, 700U}) {
    const auto weight = steps<float>(-1, 1, vocabulary * width), dy = steps<float>(1, 1e-3, count * width);
    std::vector<float> expected_y(count * width), chain(vocabulary * width, 0.0F), expected(vocabulary * width);
    std::vector<double> total(vocabulary * width, 0.0);
    std::vector<std::size_t> seen(vocabulary);
    for (std::size_t i = 0; i < count; ++i) {
      const auto row = static_cast<std::size_t>(indices[i]);
      const bool full = ++seen[row] % detail::sum_chain == 0;
      for (std::size_t j = 0; j < width; ++j) {
        const std::size_t at = row * width + j;
        expected_y[i * width + j] = weight[at];
        chain[at] += dy[i * width + j];
        if (full) total[at] += static_cast<double>(std::exchange(chain[at], 0.0F));
      }
    }
    CHECK(*std::max_element(seen.begin(), seen.end()) > 2 * detail::sum_chain); // one word has several chains, others have one
    for (std::size_t at = 0; at < total.size(); ++at)
      expected[at] = static_cast<float>(total[at] + static_cast<double>(chain[at]));
    for (const std::size_t threads : {1U, 3U}) {
      cpu device({.threads = threads});
      std::vector<float> y(count * width), dw(vocabulary * width, 5.0F);
      embedding_forward(device.compute(), count, vocabulary, width, y.data(), weight.data(), indices.data());
      embedding_backward(device.compute(), count, vocabulary, width, dw.data(), dy.data(), indices.data());
      CHECK((y == expected_y && dw == expected));
    }
  }
}

// A single chain of floats would have errors of 4e-4 and 1e-2.
TEST_CASE("embedding: a word that comes a million times, among others") {
  for (const std::size_t count : {std::size_t{65'536}, std::size_t{1} << 20}) {
    cpu device;
    std::vector<std::int32_t> indices(count, 2);
    for (std::size_t i = 0; i < count; i += 1000) indices[i] = static_cast<std::int32_t>(3 + i / 1000 % 7);
    const auto often = static_cast<double>(std::count(indices.begin(), indices.end(), 2));
    const std::vector<float> dy(count * 2, 0.1F);
    std::vector<float> dw(10 * 2, 5.0F);
    embedding_backward(device.compute(), count, 10, 2, dw.data(), dy.data(), indices.data());
    CHECK(dw[0] == 0);
    CHECK(static_cast<double>(dw[4]) == doctest::Approx(often * static_cast<double>(0.1F)).epsilon(1e-6).scale(0));
    double all = 0;
    for (std::size_t v = 0; v < 10; ++v) all += static_cast<double>(dw[2 * v + 1]);
    CHECK(all == doctest::Approx(static_cast<double>(count) * static_cast<double>(0.1F)).epsilon(1e-6).scale(0));
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
    CHECK(said.find("Embedding: index 2 is " + std::to_string(wrong) + ", but the vocabulary is 0 to 2") == 0);
    CHECK((y == std::vector<float>(3 * 4, 7.0F)));
  }
}

} // namespace embedding_embedding_tests
