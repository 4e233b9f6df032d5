// SPDX-License-Identifier: MIT
// Networks in training that together have every layer and block which dense.cu and network.hpp do not have.
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

#include <cairn/cairn_cuda.cuh>
#include <doctest/doctest.h>

#include "../layer/several_layers.hpp"
#include "agree.hpp"

namespace cuda_blocks_tests {

using namespace cairn;

namespace {

constexpr std::size_t most_rows = 4;

using Branches = Concat<Conv2d<8, 4, 1>, Sequential<Conv2d<8, 4, 3, padding<1>>, GELU>>;
using Depthwise = Residual<Conv2d<8, 8, 3, padding<1>, groups<8>>, Tanh>;
using Pictures = Sequential<Input<6, 6, 2>, Conv2d<2, 8, 3, padding<1>>, MaxPool2d<2>, Branches, GroupNorm<2, 8>,
                            Repeat<2, Depthwise>, AvgPool2d<2>, Conv2d<8, 16, 1>, AdaptiveAvgPool2d<1>, Flatten, Linear<16, 4>>;

using Table = Embedding<9, 8>;
using Words = Sequential<Inputs<integers<5>>, Table, Gated<Sequential<Linear<8, 8>, Sigmoid>, Linear<8, 8>>,
                         Repeat<2, Residual<LayerNorm<8>, Linear<8, 16>, GELU, Linear<16, 8>, Dropout<percent<10>>>>,
                         Tied<Linear<8, 9>, Table>>;

using Recurrent = Sequential<Inputs<integers<5>>, Table, Unroll<5, GRUCell<8, 6>>, RMSNorm<6>, Unroll<5, LSTMCell<6, 8>, sqrt_n>,
                             Residual<Linear<8, 8>, SiLU, Softmax>, Tied<Linear<8, 9>, Table>>;

// Constants of integers, which go to the GPU with the samples.
using Chosen = Sequential<Inputs<dims<6, 4>, integer_constant<3>, batch_integer_constant<4>, integer_constant<>>, Linear<4, 8>,
                          testing::Gathered<0>, GELU, testing::Gathered<1>, Residual<Linear<8, 8>, Tanh>, testing::Gathered<2>,
                          Linear<8, 4>>;

template <class T>
struct pictures {
  std::vector<T> x;
  std::vector<int> y;
  pictures(std::size_t rows, std::uint32_t which) : x(rows * 72), y(rows) {
    const types::random_key key{.seed = 11, .position = which};
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(2 * ops::random_uniform<float>(key, i) - 1);
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<int>(ops::random_bits(key, 100'000 + i) % 4);
  }
};
struct words {
  std::vector<int> x, y;
  words(std::size_t rows, std::uint32_t which) : x(rows * 5), y(rows * 5) {
    const types::random_key key{.seed = 11, .position = which};
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<int>(ops::random_bits(key, i) % 9);
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<int>(ops::random_bits(key, 100'000 + i) % 9);
  }
};
template <class T>
struct choices {
  std::tuple<std::vector<T>, std::vector<int>, std::vector<int>, std::vector<int>> x;
  std::vector<int> y;
  choices(std::size_t rows, std::uint32_t which) : y(rows) {
    const types::random_key key{.seed = 11, .position = which};
    std::get<0>(x).resize(rows * 24);
    for (std::size_t i = 0; i < rows * 24; ++i) std::get<0>(x)[i] = static_cast<T>(2 * ops::random_uniform<float>(key, i) - 1);
    for (std::size_t i = 0; i < rows * 3; ++i) std::get<1>(x).push_back(static_cast<int>(ops::random_bits(key, 1'000 + i) % 6));
    for (std::size_t i = 0; i < 4; ++i) std::get<2>(x).push_back(static_cast<int>(ops::random_bits(key, 2'000 + i) % 3));
    for (std::size_t i = 0; i < rows; ++i) std::get<3>(x).push_back(static_cast<int>(ops::random_bits(key, 3'000 + i) % 4));
    for (std::size_t i = 0; i < rows; ++i) y[i] = static_cast<int>(ops::random_bits(key, 4'000 + i) % 4);
  }
};

// Trains for three steps, of which one has fewer samples. The result: the losses, the parameters, and an evaluation.
template <class Model, class Samples, class T, class Device>
std::vector<T> trained() {
  trainer<Model, CrossEntropyLoss, SGD, batch<most_rows>, T, Device> train{{.learning_rate = 0.05, .momentum = 0.9}, {.seed = 5}};
  std::vector<T> seen;
  for (std::uint32_t step = 0; step < 3; ++step) {
    const Samples given(step == 1 ? 3 : most_rows, step);
    seen.push_back(static_cast<T>(double{train.step(given.x, given.y)}));
  }
  train.for_each([&](const auto& q) { seen.insert(seen.end(), q.numbers.begin(), q.numbers.end()); });
  const auto scores = train.evaluate(Samples(most_rows, 100).x);
  seen.insert(seen.end(), scores.begin(), scores.end());
  return seen;
}

template <class Net, class Samples, class T>
void check_bits() {
  const auto expected = trained<Net, Samples, T, cuda>();
  CHECK(trained<checkpoint<sqrt_n, Net>, Samples, T, cuda>() == expected);
  CHECK(trained<checkpoint<recompute_all, Net>, Samples, T, cuda>() == expected);
  CHECK(trained<checkpoint<budget_fraction<90>, Net>, Samples, T, cuda>() == expected);
  CHECK(trained<fused_update<checkpoint<recompute_cheap, Net>>, Samples, T, cuda>() == expected);
}

} // namespace

TEST_CASE("cuda: networks of all blocks train to the numbers of a cpu in double") {
  const auto compare = [](const char* name, const auto& in_float, const auto& in_double, const std::vector<double>& expected) {
    CHECK(testing::within(name, testing::distance(in_float, expected), testing::distance(in_double, expected)));
  };
  compare("steps of pictures", trained<Pictures, pictures<float>, float, cuda>(),
          trained<Pictures, pictures<double>, double, cuda>(), trained<Pictures, pictures<double>, double, cpu>());
  compare("steps of words", trained<Words, words, float, cuda>(), trained<Words, words, double, cuda>(),
          trained<Words, words, double, cpu>());
  compare("steps of cells", trained<Recurrent, words, float, cuda>(), trained<Recurrent, words, double, cuda>(),
          trained<Recurrent, words, double, cpu>());
  compare("steps of choices", trained<Chosen, choices<float>, float, cuda>(), trained<Chosen, choices<double>, double, cuda>(),
          trained<Chosen, choices<double>, double, cpu>());
}

TEST_CASE("cuda: networks of all blocks have the same bits under every policy") {
  check_bits<Pictures, pictures<float>, float>();
  check_bits<Words, words, float>();
  check_bits<Recurrent, words, float>();
  check_bits<Chosen, choices<float>, float>();
}

} // namespace cuda_blocks_tests
