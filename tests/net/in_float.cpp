// SPDX-License-Identifier: MIT
#include <cairn/net/in_float.hpp>

#include <cstddef>
#include <string>
#include <vector>

#include <cairn/core/bfloat16.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/layer/gelu.hpp>
#include <cairn/layer/layer_norm.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/blueprint.hpp>
#include <cairn/net/execute.hpp>
#include <cairn/net/initialized.hpp>
#include <cairn/net/repeat.hpp>
#include <cairn/ops/cpu.hpp>
#include <cairn/train/parameters.hpp>
#include <doctest/doctest.h>

namespace in_float_tests {

using namespace cairn;
using namespace cairn::detail;

namespace {

using Plain = Sequential<Linear<64, 32>, ReLU, LayerNorm<32>, Linear<32, 32>, GELU, Linear<32, 32>>;
using Mixed = Sequential<Linear<64, 32>, ReLU, in_float<LayerNorm<32>, Linear<32, 32>, GELU>, in_float<Linear<32, 32>>>;
template <class Net, class T>
using plan = blueprint_of<Net, 16, T>;

// In float and double a border lies where its input lies, unless the layer before it reads that in its backward pass: here ReLU.
template <class T>
inline constexpr bool is_same = plan<Mixed, T>::parameters == plan<Plain, T>::parameters &&
                                plan<Mixed, T>::trained::arena == plan<Plain, T>::trained::arena + 16 * 32 * sizeof(T) &&
                                plan<Mixed, T>::evaluated::arena == plan<Plain, T>::evaluated::arena;
static_assert(is_same<float> && is_same<double>);
static_assert(plan<Mixed, bfloat16>::parameters == plan<Plain, bfloat16>::parameters);

// With 16 bits the values inside take 4 bytes an element. Every tensor here is a multiple of 64 bytes.
static_assert(plan<Mixed, bfloat16>::stages[2].output.at(16) == 16 * 32 * 4); // of the first border
static_assert(plan<Mixed, bfloat16>::stages[4].output.at(16) == 16 * 32 * 4);
static_assert(plan<Mixed, bfloat16>::stages[6].output.at(16) == 16 * 32 * 2); // of the second
static_assert(plan<Mixed, bfloat16>::trained::arena > plan<Plain, bfloat16>::trained::arena);

// Small values of both types take one cache line: even then none lies on the other.
using Small = Sequential<Linear<8, 8>, in_float<LayerNorm<8>>>;
static_assert(!blueprint_of<Small, 1, bfloat16>::stages[1].in_place_forward &&
              !blueprint_of<Small, 1, bfloat16>::stages[3].in_place_forward);
static_assert(blueprint_of<Small, 1, float>::stages[1].in_place_forward &&
              blueprint_of<Small, 1, float>::stages[3].in_place_forward);

template <class Net>
std::vector<std::string> names() {
  using code = plan<Net, bfloat16>;
  std::vector<std::string> out;
  std::vector<float> parameters(code::parameter_block), buffers(code::state_block);
  for_each_parameter(evaluation_of<code, bfloat16, cpu::queue>, std::span<float>(parameters), std::span<float>(buffers),
                     [&](const types::named_parameter<float>& q) { out.push_back(q.name); });
  return out;
}

} // namespace

TEST_CASE("in_float: parameters have the names that they have without it") {
  CHECK(names<Mixed>() == names<Plain>());
  CHECK(names<Sequential<Linear<8, 8>, Repeat<2, Sequential<ReLU, in_float<Linear<8, 8>>>>>>() ==
        names<Sequential<Linear<8, 8>, Repeat<2, Sequential<ReLU, Linear<8, 8>>>>>());
  CHECK(names<Sequential<in_float<Linear<8, 8>, Sequential<ReLU, Linear<8, 4>>, Repeat<2, LayerNorm<4>>>, Linear<4, 4>>>() ==
        names<Sequential<Linear<8, 8>, Sequential<ReLU, Linear<8, 4>>, Repeat<2, LayerNorm<4>>, Linear<4, 4>>>());
}

TEST_CASE("in_float: layers inside may have another start") {
  using Started = initialized<Mixed, normal_weights<percent<2>>>;
  using code = plan<Started, bfloat16>;
  static_assert(code::parameters == plan<Mixed, bfloat16>::parameters);
  CHECK(names<Started>() == names<Mixed>());
  std::vector<float> parameters(code::parameter_block), buffers(code::state_block);
  const auto& own = evaluation_of<code, bfloat16, cpu::queue>;
  initialize(own, std::span<float>(parameters), std::span<float>(buffers), seed{1});
  std::size_t biases = 0;
  for_each_parameter(own, std::span<float>(parameters), std::span<float>(buffers), [&](const types::named_parameter<float>& q) {
    if (!q.name.ends_with("bias")) return;
    for (const float b : q.numbers) CHECK(b == 0);
    ++biases;
  });
  CHECK(biases == 4);
}

// What cannot be inside.
static_assert(!made_of<in_float<>>::is_right && !made_of<in_float<Residual<Linear<8, 8>>>>::is_right);
static_assert(made_of<in_float<Repeat<2, Sequential<Linear<8, 8>, ReLU>>>>::is_right);

} // namespace in_float_tests
