// SPDX-License-Identifier: MIT
// How often a step on a GPU calls the runtime, for eleven networks, with ops put there one by one and with graphs: each call costs
// the host microseconds. They run on the fake runtime, and step_counts.txt is what they must find. With the environment variable
// CAIRN_WRITE the test writes that file anew.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <cairn/cairn_cuda.cuh>
#include <doctest/doctest.h>

#include "fake/fake.hpp"

namespace cuda_step_counts_tests {

using namespace cairn;

namespace {

// As in tests/bench/gpu/steps.cu, and in examples/resnet and examples/densenet, but not as wide: the calls are the same.
using Mlp = Sequential<Linear<24, 16>, ReLU, Repeat<7, Sequential<Linear<16, 16>, ReLU>>, Linear<16, 10>>;
template <std::size_t Depth>
using Chain = Sequential<Repeat<Depth, Residual<Linear<16, 16>, ReLU, Linear<16, 16>>>, Linear<16, 10>>;

template <std::size_t From, std::size_t To, class... Stride>
using Conv3x3 = Sequential<Conv2d<From, To, 3, padding<1>, no_bias, Stride...>, BatchNorm2d<To>>;
template <std::size_t Channels>
using Block = Sequential<Residual<Conv3x3<Channels, Channels>, ReLU, Conv3x3<Channels, Channels>>, ReLU>;
template <std::size_t From, std::size_t To>
using Half = Sequential<Residual<shortcut<Conv2d<From, To, 1, stride<2>, no_bias>, BatchNorm2d<To>>, Conv3x3<From, To, stride<2>>,
                                 ReLU, Conv3x3<To, To>>,
                        ReLU>;
using ResNet20 = Sequential<Input<8, 8, 3>, Conv3x3<3, 4>, ReLU, Repeat<3, Block<4>>, Half<4, 8>, Repeat<2, Block<8>>,
                            Half<8, 16>, Repeat<2, Block<16>>, AdaptiveAvgPool2d<1>, Flatten, Linear<16, 10>>;
using DenseNet = Sequential<Input<4, 4, 3>, Conv2d<3, 8, 3, padding<1>, no_bias>, DenseBlock<3, 4>, DenseTransition<10>,
                            AvgPool2d<2>, DenseBlock<3, 4>, BatchNorm2d<22>, ReLU, AdaptiveAvgPool2d<1>, Flatten, Linear<22, 10>>;
using Vgg = Sequential<Input<8, 8, 3>, Conv2d<3, 8, 3, padding<1>>, ReLU, MaxPool2d<2>, Conv2d<8, 16, 3, padding<1>>, ReLU,
                       MaxPool2d<2>, Flatten, Linear<64, 32>, ReLU, Dropout<>, Linear<32, 10>>;
using Norms = Sequential<Linear<24, 16>, Repeat<4, Residual<LayerNorm<16>, Linear<16, 64>, GELU, Linear<64, 16>, Dropout<>>>,
                         LayerNorm<16>, Linear<16, 10>>;
using Groups = Sequential<Input<8, 8, 4>, Conv2d<4, 8, 3, padding<1>>, GroupNorm<2, 8>, ReLU, AvgPool2d<2>,
                          Conv2d<8, 16, 3, padding<1>>, GroupNorm<4, 16>, Tanh, Flatten, Linear<256, 10>>;
using Words =
    Sequential<Inputs<integers<6>>, Embedding<20, 8>, Residual<LayerNorm<8>, Linear<8, 8>, Sigmoid>, Flatten, Linear<48, 10>>;
using Table = Embedding<20, 8>;
using Gpt = Sequential<Inputs<integers<6>>, Table, LearnedPositions<6, 8>,
                       Repeat<2, TransformerEncoderLayer<8, 2, 32, attention::norm_first, GELU, attention::causal>>, LayerNorm<8>,
                       Tied<Linear<8, 20, false>, Table>>;

struct counts {
  std::size_t launches = 0, products = 0, copies = 0, ordered = 0, waits = 0, graphs = 0;
};
// Since reset(). `ordered`: streams that wait for another; `waits`: of the host; `graphs`: launches of graphs.
counts counted() {
  const fake::counts& now = fake::counted();
  return {now.launches, now.products, now.copies, fake::calls("cudaStreamWaitEvent"), now.waits, now.graphs};
}

constexpr std::size_t rows = 4;

// What steps count after some that make their graphs, with inputs of this type.
template <class Model, class Input, class Optimizer>
counts counted_by(const std::string& name, const Optimizer& optimizer, double max_norm, const detail::loss_scaling& scale,
                  bool graphs) {
  using type = trainer<Model, CrossEntropyLoss, Optimizer, batch<rows>, float, cuda>;
  fake::reset();
  typename type::options given{.seed = 5, .graphs = graphs, .loss_scale = scale};
  if (max_norm > 0) given.clip.max_norm = max_norm;
  type t{optimizer, given};
  const std::vector<Input> x(rows * type::input_shape.size(), Input{1});
  std::vector<int> y(rows * CrossEntropyLoss::targets_per_sample(type::output_shape));
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<int>(i % 4);
  for (int step = 0; step < 4; ++step) t.step(x, y);
  const counts before = counted();
  constexpr std::size_t steps = 4;
  for (std::size_t step = 0; step < steps; ++step) t.step(x, y);
  const counts after = counted();
  t.wait();
  counts of_step;
  for (const auto member :
       {&counts::launches, &counts::products, &counts::copies, &counts::ordered, &counts::waits, &counts::graphs}) {
    const std::size_t all = after.*member - before.*member;
    CHECK_MESSAGE(all % steps == 0, name); // each step makes as many as the others
    of_step.*member = all / steps;
  }
  return of_step;
}

template <class Model, class Input = float, class Optimizer>
std::string line_of(const std::string& name, const Optimizer& optimizer, double max_norm = 0,
                    const detail::loss_scaling& scale = {}) {
  const counts one_by_one = counted_by<Model, Input>(name, optimizer, max_norm, scale, false),
               in_graphs = counted_by<Model, Input>(name, optimizer, max_norm, scale, true);
  CHECK_MESSAGE(one_by_one.graphs == 0, name);
  std::string line;
  for (const std::size_t count :
       {one_by_one.launches, one_by_one.products, one_by_one.copies, one_by_one.ordered, one_by_one.waits, in_graphs.graphs,
        in_graphs.launches + in_graphs.products, in_graphs.copies}) {
    const std::string number = std::to_string(count);
    line += std::string(9 - number.size(), ' ') + number;
  }
  return line + "  " + name + '\n';
}

std::string found() {
  std::string all =
      "# Calls of the CUDA runtime in a step; written by the test of step_counts.cpp with CAIRN_WRITE=1. ordered: "
      "a stream waits\n"
      "# for another one. waits: the host waits for a stream. The last three are those of a step with graphs: launches "
      "of graphs, ops\n"
      "# besides, copies.\n"
      " launches products   copies  ordered    waits   graphs      ops   copies  network\n";
  const SGD sgd{.learning_rate = 0.01, .momentum = 0.9};
  all += line_of<Mlp>("mlp, SGD", sgd);
  all += line_of<checkpoint<sqrt_n, Mlp>>("mlp, sqrt_n, SGD", sgd);
  all += line_of<Chain<100>>("chain 100, SGD", sgd);
  all += line_of<ResNet20>("ResNet-20, SGD", sgd);
  all += line_of<DenseNet>("dense blocks, SGD", sgd);
  all += line_of<Vgg>("convolutions and max pools, Adam", Adam{});
  all += line_of<Norms>("layer norms, AdamW, clipped", AdamW{}, 1.0);
  all += line_of<Norms>("layer norms, AdamW, scaled", AdamW{}, 0.0, dynamic_scale{});
  all += line_of<Norms>("layer norms, AdamW, clipped, scaled", AdamW{}, 1.0, dynamic_scale{});
  all += line_of<checkpoint<recompute_all, Norms>>("layer norms, recompute_all, AdamW, clipped", AdamW{}, 1.0);
  all += line_of<Groups>("group norms, AdamW", AdamW{});
  all += line_of<Words, int>("embedding, AdamW", AdamW{});
  all += line_of<Gpt, int>("GPT of 2 layers, AdamW, clipped", AdamW{}, 1.0);
  return all;
}

} // namespace

TEST_CASE("cuda: a step launches, copies and waits as often as the table says, for eleven networks") {
  const std::filesystem::path table = std::filesystem::path(__FILE__).parent_path() / "step_counts.txt";
  const std::string now = found();
  if (std::getenv("CAIRN_WRITE") != nullptr) std::ofstream(table) << now;
  std::ifstream from(table);
  const std::string expected{std::istreambuf_iterator<char>(from), {}};
  CHECK_MESSAGE(now == expected, table.string(), ": expected\n", expected, "found\n", now, "write it anew with CAIRN_WRITE=1");
}

} // namespace cuda_step_counts_tests
