// SPDX-License-Identifier: MIT
// long to compile
#include <cairn/net/dense/dense_block.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include <cairn/layer/batch_norm.hpp>
#include <cairn/layer/conv2d.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/checkpoint.hpp>
#include <cairn/net/concat.hpp>
#include <cairn/net/frozen.hpp>
#include <cairn/net/function_of.hpp>
#include <cairn/net/residual.hpp>
#include <doctest/doctest.h>

#include "../planned.hpp"

namespace dense_block_tests {

using namespace cairn;

namespace {

template <std::size_t C>
using Layer = Concat<Input<5, 5, C>, Sequential<BatchNorm2d<C>, ReLU, Conv2d<C, 16, 1, no_bias>, BatchNorm2d<16>, ReLU,
                                                Conv2d<16, 4, 3, padding<1>, no_bias>>>;
using Plain = Sequential<Input<5, 5, 3>, Conv2d<3, 6, 1>, Layer<6>, Layer<10>, Layer<14>, Conv2d<18, 2, 1>>;

template <class Block>
using Net = Sequential<Input<5, 5, 3>, Conv2d<3, 6, 1>, Block, Conv2d<18, 2, 1>>;
using Dense = DenseBlock<3, 4>;

template <class T>
struct results {
  testing::made<T> step;
  std::vector<T> evaluated;
  std::vector<std::string> names;
};

template <class Model, class T>
results<T> run(std::size_t threads = 1, bool by_place = false) {
  const auto p = testing::plan<Model, 4, T>();
  testing::queue q{threads};
  testing::replica<T> r(p);
  results<T> out;
  // Fills parameters by their place in the network, as the plain network has more layers than the block.
  std::uint32_t stream = 50;
  std::vector<T> none(p.buffers);
  const auto fill = [&](const types::named_parameter<T>& n) {
    for (std::size_t i = 0; i < n.numbers.size(); ++i) n.numbers[i] = testing::number<T>(stream, i);
    ++stream;
  };
  if (by_place) detail::for_each_parameter(*p.code, std::span<T>(r.parameters().data(), p.parameters), std::span<T>(none), fill);
  out.step = r.step(q, 3, true);
  out.evaluated = r.evaluate(q, 3);
  // Sorts them in the order of the walk, as blocks lie differently in the flat buffers.
  const auto sort = [&](std::vector<T>& parameters, std::vector<T>& buffers) {
    std::vector<T> a, b;
    detail::for_each_parameter(*p.code, std::span<T>(parameters), std::span<T>(buffers), [&](const types::named_parameter<T>& n) {
      a.insert(a.end(), n.numbers.begin(), n.numbers.end());
      out.names.push_back(n.name);
    });
    detail::for_each_buffer(*p.code, std::span<T>(parameters), std::span<T>(buffers),
                            [&](const types::named_parameter<T>& n) { b.insert(b.end(), n.numbers.begin(), n.numbers.end()); });
    parameters = a;
    buffers = b;
  };
  sort(out.step.gradients, out.step.buffers);
  return out;
}

template <class T>
double distance(const std::vector<T>& a, const std::vector<T>& b) {
  REQUIRE(a.size() == b.size());
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double d = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    most = std::isnan(d) ? 1e9 : std::max(most, d);
  }
  return most;
}

} // namespace

TEST_CASE("DenseBlock: it computes what its plain layers compute") {
  const auto a = run<Net<Dense>, double>(1, true), b = run<Plain, double>(1, true);
  CHECK(distance(a.step.output, b.step.output) < 1e-12);
  CHECK(distance(a.step.buffers, b.step.buffers) < 1e-12);
  CHECK(distance(a.step.gradients, b.step.gradients) < 1e-12);
  CHECK(distance(a.evaluated, b.evaluated) < 1e-9); // running statistics after one step make large numbers
  CHECK(a.names[2] == "1.denselayer1.norm1.weight");
  CHECK(a.names[19] == "1.denselayer3.conv2.weight");
}

TEST_CASE("DenseBlock: every policy inside and around it, and any number of threads, gives the same bits") {
  const auto want = run<Net<Dense>, float>();
  const auto same = [&](const results<float>& got) {
    CHECK(testing::same_bits(got.step.output, want.step.output));
    CHECK(testing::same_bits(got.step.gradients, want.step.gradients));
    CHECK(testing::same_bits(got.step.buffers, want.step.buffers));
    CHECK(testing::same_bits(got.evaluated, want.evaluated));
    CHECK(got.names == want.names);
  };
  same(run<Net<Dense>, float>(3));
  same(run<Net<DenseBlock<3, 4, recompute_all>>, float>());
  same(run<Net<DenseBlock<3, 4, store_last<1>>>, float>());
  same(run<checkpoint<recompute_all, Net<Dense>>, float>());
  same(run<checkpoint<every<2>, Net<DenseBlock<3, 4, store_last<2>>>>, float>());
}

TEST_CASE("DenseBlock: at the beginning of a network, with one layer, and frozen") {
  using Small = Sequential<Input<4, 3, 2>, DenseBlock<1, 3>>;
  CHECK(run<Small, float>().step.output.size() == 3 * 4 * 3 * 5);
  using Half = Sequential<Input<5, 5, 3>, Conv2d<3, 6, 1>, frozen<Dense>, Conv2d<18, 2, 1>>;
  const auto all = run<Net<Dense>, float>(), half = run<Half, float>();
  CHECK(testing::same_bits(all.step.output, half.step.output));
  const std::size_t below = 3 * 6 + 6;
  CHECK(distance(std::vector<float>(half.step.gradients.begin(), half.step.gradients.begin() + below),
                 std::vector<float>(all.step.gradients.begin(), all.step.gradients.begin() + below)) == 0);
}

static_assert(peak_activation_bytes<Net<DenseBlock<3, 4, recompute_all>>, 64> < peak_activation_bytes<Net<Dense>, 64>);
static_assert(blueprint_of<Net<Dense>, 4>::network_hash == blueprint_of<Net<DenseBlock<3, 4, recompute_all>>, 4>::network_hash);
static_assert(std::is_same_v<detail::function_of<Net<DenseBlock<3, 4, recompute_all>>>, detail::function_of<Net<Dense>>>);

TEST_CASE("DenseBlock: as the last of a block that reads its output's gradient again, and in one that does not") {
  using Last = Sequential<Input<5, 5, 3>, Conv2d<3, 6, 1>, checkpoint<store_all, Sequential<Dense>>, Conv2d<18, 2, 1>>;
  const auto plain = run<Net<Dense>, float>(), last = run<Last, float>();
  CHECK(testing::same_bits(last.step.output, plain.step.output));
  CHECK(testing::same_bits(last.step.gradients, plain.step.gradients));
  using Around = Sequential<Input<5, 5, 3>, Conv2d<3, 6, 1>, Residual<Dense, Conv2d<18, 6, 1>>,
                            Residual<DenseBlock<1, 6>, Conv2d<12, 6, 1>>>;
  const auto around = run<Around, double>(1, true);
  using Apart =
      Sequential<Input<5, 5, 3>, Conv2d<3, 6, 1>, Residual<Layer<6>, Layer<10>, Layer<14>, Conv2d<18, 6, 1>>,
                 Residual<Concat<Input<5, 5, 6>, Sequential<BatchNorm2d<6>, ReLU, Conv2d<6, 24, 1, no_bias>, BatchNorm2d<24>,
                                                            ReLU, Conv2d<24, 6, 3, padding<1>, no_bias>>>,
                          Conv2d<12, 6, 1>>>;
  const auto apart = run<Apart, double>(1, true);
  CHECK(distance(around.step.output, apart.step.output) < 1e-9);
  CHECK(distance(around.step.gradients, apart.step.gradients) < 1e-6);
}

} // namespace dense_block_tests
