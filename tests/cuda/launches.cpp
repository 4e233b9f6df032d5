// SPDX-License-Identifier: MIT
// Kernels that a step launches where cuBLASLt has no epilogue for a bias, on the fake runtime. step_counts.cpp counts ten networks.
#include <cstddef>
#include <vector>

#include <cairn/cairn_cuda.cuh>
#include <cairn/train/optimizers/sgd.hpp>
#include <doctest/doctest.h>

#include "fake/fake.hpp"
#include "network.hpp"

namespace cuda_launches_tests {

using namespace cairn;

namespace {

template <class Net>
std::size_t launches(const std::vector<cublasLtEpilogue_t>& refused = {}) {
  constexpr std::size_t rows = 2;
  using type = trainer<Net, CrossEntropyLoss, SGD, batch<rows>, float, cuda>;
  fake::reset();
  for (const cublasLtEpilogue_t which : refused) fake::refuse(which);
  type t{SGD{.learning_rate = 1e-3, .momentum = 0.9}, {.seed = 5, .graphs = false}};
  const std::vector<float> x(rows * type::input_shape.size(), 0.5F);
  const std::vector<int> y(rows, 1);
  t.step(x, y);
  const std::size_t before = fake::counted().launches;
  t.step(x, y);
  const std::size_t found = fake::counted().launches - before;
  t.wait();
  return found;
}

} // namespace

TEST_CASE("cuda: a product without a bias is not asked to serve one, and one with a bias is") {
  using without = Sequential<Linear<8, 16, false>, ReLU, Linear<16, 5, false>>;
  using with = Sequential<Linear<8, 16>, ReLU, Linear<16, 5>>;
  const std::size_t own = launches<without>(), biased = launches<with>();
  const std::vector<cublasLtEpilogue_t> of_bias{CUBLASLT_EPILOGUE_RELU_BIAS, CUBLASLT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_BGRADB};
  CHECK(launches<without>(of_bias) == own);
  CHECK(launches<with>(of_bias) > biased);
}

} // namespace cuda_launches_tests
