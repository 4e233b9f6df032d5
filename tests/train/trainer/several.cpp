// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <cairn/layer/gelu.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/tanh.hpp>
#include <cairn/plan/revolve.hpp>
#include <cairn/train/losses/mse_loss.hpp>
#include <cairn/train/trainer.hpp>

#include "../../layer/several_layers.hpp"
#include "../../reference/differences.hpp"
#include "../../reference/values.hpp"
#include "../training.hpp"

namespace trainer_several_tests {

using namespace cairn;

namespace {

// The network of make.py: blocks that pass (hidden, mask) along, then layers that pass (value, gate) along.
using Block = Residual<LayerNorm<8>, Linear<8, 10>, GELU, Linear<10, 8>, testing::Masked<0>>;
using Net = Sequential<Inputs<dims<6>, constant<8>, constant<8>>, Linear<6, 8>, testing::Positioned<1>, Repeat<2, Block>,
                       testing::Split, Linear<8, 8>, Tanh, testing::GatedPair, Linear<8, 3>>;

// The largest difference of the output, the loss and the gradients from PyTorch's.
template <class Model, class T>
double distance() {
  trainer<Model, MSELoss, SGD, batch<4>, T> t{SGD{.learning_rate = 0}, {.seed = 1}};
  std::size_t count = 0;
  t.for_each([&](const types::named_parameter<T>& p) {
    const auto from = reference_numbers<T>("several/parameter" + std::to_string(count++));
    std::copy(from.begin(), from.end(), p.numbers.begin());
  });
  const auto hidden = reference_numbers<T>("several/hidden");
  const auto mask = reference_numbers<T>("several/mask");
  const auto positions = reference_numbers<T>("several/positions");
  const auto targets = reference_numbers<T>("several/targets");
  const auto view = t.evaluate(inputs(hidden, mask, positions));
  const std::vector<T> output(view.data(), view.data() + view.size());
  const std::vector<T> loss{static_cast<T>(t.step(inputs(hidden, mask, positions), targets))};
  double largest = std::max(largest_difference(output, reference_values("several/output")),
                            largest_difference(loss, reference_values("several/loss")));
  // The gradients lie where the parameters do.
  std::size_t index = 0;
  t.for_each([&](const types::named_parameter<T>& p) {
    const auto* const first = t.gradients().data() + (p.numbers.data() - t.parameters().data());
    const std::vector<T> found(first, first + p.numbers.size());
    const std::string name = "several/gradient" + std::to_string(index++);
    largest = std::max(largest, largest_difference(found, reference_values(name)));
  });
  CHECK(count == 20);
  return largest;
}

} // namespace

TEST_CASE("trainer: a network of several tensors has PyTorch's gradients, under every policy") {
  CHECK(distance<Net, double>() < 1e-12);
  CHECK(distance<Net, float>() < 1e-5);
  CHECK(distance<checkpoint<recompute_all, Net>, double>() < 1e-12);
  CHECK(distance<checkpoint<revolve<2>, Net>, float>() < 1e-5);
}

} // namespace trainer_several_tests
