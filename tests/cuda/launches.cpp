// SPDX-License-Identifier: MIT
// Counts what the steps of three networks put on a GPU's queues, on the fake runtime.
#include <cstddef>
#include <vector>

#include <cairn/cairn_cuda.cuh>
#include <cairn/layer/adaptive_avg_pool2d.hpp>
#include <cairn/layer/conv2d.hpp>
#include <cairn/layer/flatten.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/net/repeat.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <doctest/doctest.h>

#include "fake/fake.hpp"
#include "network.hpp"

namespace cuda_launches_tests {

using namespace cairn;

namespace {

using mlp = Sequential<Linear<20, 16>, ReLU, Repeat<7, Sequential<Linear<16, 16>, ReLU>>, Linear<16, 10>>;
using chain = Sequential<Repeat<100, Residual<Linear<8, 8>, ReLU, Linear<8, 8>>>, Linear<8, 10>>;

template <std::size_t From, std::size_t To, class... Stride>
using Conv3x3 = Sequential<Conv2d<From, To, 3, padding<1>, no_bias, Stride...>, BatchNorm2d<To>>;
template <std::size_t Channels>
using Block = Sequential<Residual<Conv3x3<Channels, Channels>, ReLU, Conv3x3<Channels, Channels>>, ReLU>;
template <std::size_t From, std::size_t To>
using Half = Sequential<Residual<shortcut<Conv2d<From, To, 1, stride<2>, no_bias>, BatchNorm2d<To>>, Conv3x3<From, To, stride<2>>,
                                 ReLU, Conv3x3<To, To>>,
                        ReLU>;
using resnet_20 = Sequential<Input<8, 8, 3>, Conv3x3<3, 4>, ReLU, Repeat<3, Block<4>>, Half<4, 8>, Repeat<2, Block<8>>,
                             Half<8, 16>, Repeat<2, Block<16>>, AdaptiveAvgPool2d<1>, Flatten, Linear<16, 10>>;

struct counted_step {
  std::size_t launches, products, copies, waits;
};

template <class Net>
counted_step count(const std::vector<cublasLtEpilogue_t>& refused = {}) {
  constexpr std::size_t rows = 2;
  using type = trainer<Net, CrossEntropyLoss, SGD, batch<rows>, float, cuda>;
  fake::reset();
  for (const cublasLtEpilogue_t which : refused) fake::refuse(which);
  type t{SGD{.learning_rate = 1e-3, .momentum = 0.9}, {.seed = 5}};
  const std::vector<float> x(rows * type::input_shape.size(), 0.5F);
  const std::vector<int> y(rows, 1);
  t.step(x, y);
  const fake::counts before = fake::counted();
  t.step(x, y);
  const fake::counts after = fake::counted();
  const counted_step found{after.launches - before.launches, after.products - before.products, after.copies - before.copies,
                           after.waits - before.waits};
  t.wait();
  return found;
}

} // namespace

// A step of a GPU costs at least what its launches do, a few microseconds each: a network of small layers waits for them.
TEST_CASE("cuda: the launches of a step, of kernels and of products, are those of this list") {
  const counted_step of_mlp = count<mlp>(), of_chain = count<chain>(), of_resnet = count<resnet_20>();
  CHECK(of_mlp.launches == 11); // 8 masks of ReLU, 2 of the loss, 1 update
  CHECK(of_mlp.products == 26);
  CHECK(of_chain.launches == 103); // 100 masks
  CHECK(of_chain.products == 602);
  CHECK(of_resnet.launches == 221); // 62 of convolutions, 126 of BatchNorm, 19 of ReLU, 9 sums of residual blocks
  CHECK(of_resnet.products == 3);
  for (const counted_step& s : {of_mlp, of_chain, of_resnet}) {
    CHECK(s.copies == 2); // samples and targets
    CHECK(s.waits == 0);
  }
}

TEST_CASE("cuda: a product without a bias is not asked to serve one, and one with a bias is") {
  using without = Sequential<Linear<8, 16, false>, ReLU, Linear<16, 5, false>>;
  using with = Sequential<Linear<8, 16>, ReLU, Linear<16, 5>>;
  const std::size_t own = count<without>().launches, biased = count<with>().launches;
  const std::vector<cublasLtEpilogue_t> of_bias{CUBLASLT_EPILOGUE_RELU_BIAS, CUBLASLT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_BGRADB};
  CHECK(count<without>(of_bias).launches == own);
  CHECK(count<with>(of_bias).launches > biased);
}

} // namespace cuda_launches_tests
