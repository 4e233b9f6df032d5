// SPDX-License-Identifier: MIT
// long to compile
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include <cairn/comm/threads/threads.hpp>
#include <cairn/layer/dropout.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/layer_norm.hpp>
#include <cairn/net/frozen.hpp>
#include <cairn/net/memory_curve.hpp>
#include <cairn/net/with_input_gradient.hpp>
#include <cairn/plan/solve/budget.hpp>
#include <cairn/train/losses/mse_loss.hpp>
#include <cairn/train/trainer.hpp>

#include "../../layer/several_layers.hpp"
#include "../training.hpp"

namespace trainer_input_gradient_tests {

using namespace cairn;
using testing::classes;
using testing::copy_of;
using testing::features;
using testing::Net;
using testing::samples;

namespace {

template <class Model, class T = float>
using training = trainer<Model, CrossEntropyLoss, SGD, batch<6>, T>;

// A network as in practice: it begins with a block, and has activations and in-place layers.
using Deep =
    Sequential<Residual<LayerNorm<features>, Linear<features, features>, ReLU, Dropout<percent<20>>>, Linear<features, 9>, ReLU,
               checkpoint<sqrt_n, Repeat<3, Residual<Linear<9, 9>, ReLU>>>, Linear<9, classes>>;

// The input gradients of three steps, which must have the same bits as steps without input gradient. The tests compare the
// gradients under every policy, with and without a fused update.
template <class Model>
std::vector<float> gradients_of() {
  training<typename detail::without_ways<Model>::type> plain{testing::momentum, {.seed = 3}};
  training<Model> shown{testing::momentum, {.seed = 3, .threads = 2}};
  CHECK(shown.input_gradient().rows() == 0);
  std::vector<float> all;
  for (std::uint32_t step = 0; step < 3; ++step) {
    const samples s(step == 1 ? 4 : 6, step);
    CHECK(shown.step(s.x, s.y) == plain.step(s.x, s.y));
    CHECK(shown.checksum() == plain.checksum());
    const auto gradient = shown.input_gradient();
    CHECK(gradient.rows() == s.y.size());
    CHECK(gradient.sample_shape() == shape{features});
    shown.evaluate_loss(s.x, s.y); // the gradient stays
    all.insert(all.end(), gradient.begin(), gradient.end());
  }
  return all;
}

// The bias gradient of an identity Linear before the network: for one sample, it is the network's input gradient.
template <class... Layers>
std::vector<float> by_identity(const samples<float>& s, std::uint64_t seed) {
  training<Sequential<Layers...>> net{testing::momentum, {.seed = seed}};
  training<Sequential<Linear<features, features>, Layers...>> longer{testing::momentum, {.seed = seed}};
  std::vector<std::span<float>> own;
  net.for_each([&](const types::named_parameter<float>& p) { own.push_back(p.numbers); });
  std::size_t at = 0;
  longer.for_each([&](const types::named_parameter<float>& p) {
    if (p.leaf == 0) {
      std::fill(p.numbers.begin(), p.numbers.end(), 0.0F);
      for (std::size_t i = 0; p.numbers.size() > features && i < features; ++i) p.numbers[i * features + i] = 1;
    } else {
      std::copy(own[at].begin(), own[at].end(), p.numbers.begin());
      ++at;
    }
  });
  REQUIRE(at == own.size());
  longer.accumulate(s.x, s.y);
  std::vector<float> bias;
  longer.for_each_gradient([&](const types::named_parameter<float>& p) {
    if (p.leaf == 0 && p.numbers.size() == features) bias = copy_of(p.numbers);
  });
  return bias;
}

} // namespace

TEST_CASE("input_gradient: it is that of a product with the identity before the network") {
  for (std::uint32_t stream = 0; stream < 4; ++stream) {
    const samples s(1, stream);
    training<with_input_gradient<Sequential<Linear<features, 9>, ReLU, Linear<9, classes>>>> t{testing::momentum, {.seed = 5}};
    const std::uint64_t before = t.checksum();
    t.accumulate(s.x, s.y);
    CHECK(copy_of(t.input_gradient()) == by_identity<Linear<features, 9>, ReLU, Linear<9, classes>>(s, 5));
    t.drop_micro_batches();
    CHECK(t.checksum() == before);
  }
}

TEST_CASE("input_gradient: every policy, a fused update and two threads give the same bits, and change none") {
  const std::vector<float> stored = gradients_of<with_input_gradient<Deep>>();
  CHECK(std::any_of(stored.begin(), stored.end(), [](float g) { return g != 0; }));
  CHECK(gradients_of<with_input_gradient<checkpoint<sqrt_n, Deep>>>() == stored);
  CHECK(gradients_of<with_input_gradient<checkpoint<budget_fraction<80>, Deep>>>() == stored);
  CHECK(gradients_of<fused_update<with_input_gradient<checkpoint<sqrt_n, Deep>>>>() == stored);
#ifdef CAIRN_LONG_TESTS
  CHECK(gradients_of<with_input_gradient<checkpoint<recompute_all, Deep>>>() == stored);
  CHECK(gradients_of<with_input_gradient<fused_update<Deep>>>() == stored);
#endif
}

TEST_CASE("input_gradient: a schedule that is solved when the program runs gives it too") {
  using Model = with_input_gradient<Deep>;
  using curve = training<Model>::curve;
  training<Model> stored{testing::momentum, {.seed = 3}};
  const curve solved;
  training<Model> within{testing::momentum, {.seed = 3, .schedule = solved.within(solved[0].bytes)}};
  CHECK(within.arena().size() < stored.arena().size());
  for (std::uint32_t step = 0; step < 2; ++step) {
    const samples s(6, step);
    CHECK(within.step(s.x, s.y) == stored.step(s.x, s.y));
    CHECK(copy_of(within.input_gradient()) == copy_of(stored.input_gradient()));
  }
}

TEST_CASE("input_gradient: each rank has that of its own samples") {
  std::vector<std::vector<float>> of(2);
  threads{2}.run([&](threads::rank& rank) {
    trainer<ddp<with_input_gradient<Net>, threads::rank>, CrossEntropyLoss, SGD, batch<6>> t{
        rank, testing::momentum, {.seed = 3}};
    const samples s(6, static_cast<std::uint32_t>(rank.rank()));
    t.step(s.x, s.y);
    of[static_cast<std::size_t>(rank.rank())] = copy_of(t.input_gradient());
  });
  training<with_input_gradient<Net>> alone{testing::momentum, {.seed = 3}};
  for (std::uint32_t r = 0; r < 2; ++r) {
    const samples s(6, r);
    alone.accumulate(s.x, s.y);
    CHECK(of[r] == copy_of(alone.input_gradient()));
  }
}

TEST_CASE("input_gradient: a frozen network computes it and nothing else") {
  using Model = with_input_gradient<Sequential<frozen<Net>>>;
  static_assert(training<Model>::plan::parameter_block == 0);
  training<Model> still{testing::momentum, {.seed = 3}};
  training<with_input_gradient<Net>> learning{testing::momentum, {.seed = 3}};
  const samples s(6, 1);
  still.step(s.x, s.y);
  learning.step(s.x, s.y);
  CHECK(copy_of(still.input_gradient()) == copy_of(learning.input_gradient()));
  static_assert(flops(training<Model>::plan::whole, training<Model>::plan::training.ops()) <
                flops(training<with_input_gradient<Net>>::plan::whole, training<with_input_gradient<Net>>::plan::training.ops()));
}

TEST_CASE("input_gradient: of several tensors each has its own, and it is the quotient of differences") {
  using Two = Sequential<Inputs<dims<features>, dims<features>>, testing::GatedPair, Linear<features, classes>>;
  trainer<with_input_gradient<Two>, CrossEntropyLoss, SGD, batch<6>, double> t{testing::momentum, {.seed = 3}};
  samples<double> value(5, 1);
  samples<double> gate(5, 2);
  t.accumulate(inputs(value.x, gate.x), value.y);
  t.drop_micro_batches();
  const auto loss = [&] { return t.evaluate_loss(inputs(value.x, gate.x), value.y); };
  const auto check = [&](std::vector<double>& x, const auto& gradient) {
    REQUIRE(gradient.rows() == 5);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double middle = x[i];
      const double step = 1e-6;
      x[i] = middle + step;
      const double above = loss();
      x[i] = middle - step;
      const double below = loss();
      x[i] = middle;
      CHECK(gradient.data()[i] == doctest::Approx((above - below) / (2 * step)).epsilon(1e-6));
    }
  };
  check(value.x, t.input_gradient<0>());
  check(gate.x, t.input_gradient<1>());
}

} // namespace trainer_input_gradient_tests
