// SPDX-License-Identifier: MIT
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <cairn/data/xtensor.hpp>
#include <cairn/train/losses/mse_loss.hpp>
#include <cairn/train/trainer.hpp>

#include "../training.hpp"

namespace trainer_evaluate_tests {

using namespace cairn;
using testing::Net;
using testing::samples;

namespace {

using net_trainer = trainer<checkpoint<sqrt_n, Net>, CrossEntropyLoss, SGD, batch<6>>;
constexpr std::size_t wide = 16 * 6 * sizeof(float);

} // namespace

TEST_CASE("trainer: evaluation needs the memory of two activations") {
  using Wide = Linear<16, 16>;
  using Mlp = Sequential<Wide, ReLU, Wide, ReLU, Wide, ReLU, Wide, ReLU, Wide, ReLU, Wide>;
  static_assert(blueprint_of<Mlp, 6>::evaluated::memory.arena == 2 * wide);
  static_assert(blueprint_of<checkpoint<recompute_all, Mlp>, 6>::evaluated::memory.arena == 2 * wide);
  using mlp_trainer = trainer<Mlp, MSELoss, SGD, batch<6>>;
  mlp_trainer t{SGD{}, {.seed = 1}};
  // The arena above these two is not touched.
  for (std::byte& b : t.arena()) b = std::byte{0xA5};
  t.evaluate(std::vector<float>(6 * 16, 1.0F));
  for (std::size_t i = 2 * wide; i < t.arena().size(); ++i) REQUIRE(t.arena()[i] == std::byte{0xA5});
}

TEST_CASE("trainer: evaluation changes nothing that lasts") {
  net_trainer t{testing::momentum, {.seed = 3}};
  const samples a(6, 1), b(5, 2);
  t.step(a.x, a.y);
  const std::uint64_t before = t.checksum();
  const std::vector<float> state(t.buffers().begin(), t.buffers().end());
  const std::vector<float> gradients(t.gradients().begin(), t.gradients().end());
  t.evaluate(b.x);
  t.evaluate_loss(b.x, b.y);
  CHECK(t.checksum() == before);
  CHECK(std::vector<float>(t.buffers().begin(), t.buffers().end()) == state);
  CHECK(std::vector<float>(t.gradients().begin(), t.gradients().end()) == gradients);
  CHECK(t.steps() == 1);
}

TEST_CASE("trainer: Dropout is off in evaluation") {
  using Dropped = Sequential<Linear<testing::features, 16>, Dropout<percent<90>>, Linear<16, testing::classes>>;
  using Whole = Sequential<Linear<testing::features, 16>, Dropout<percent<0>>, Linear<16, testing::classes>>;
  trainer<Dropped, CrossEntropyLoss, SGD, batch<6>> a{SGD{.learning_rate = 0}, {.seed = 3}};
  trainer<Whole, CrossEntropyLoss, SGD, batch<6>> b{SGD{.learning_rate = 0}, {.seed = 3}};
  const samples s(6, 1);
  CHECK(a.evaluate_loss(s.x, s.y) == b.evaluate_loss(s.x, s.y));
  CHECK(a.step(s.x, s.y) != b.step(s.x, s.y));
}

TEST_CASE("trainer: evaluate gives the outputs of the rows, and a row does not depend on the others") {
  net_trainer t{testing::momentum, {.seed = 3}};
  const samples s(6, 1);
  const auto all = t.evaluate(s.x);
  CHECK(all.rows() == 6);
  CHECK(all.sample_shape() == shape{testing::classes});
  const std::vector<float> outputs(all.begin(), all.end());
  for (std::size_t r = 0; r < 6; ++r) {
    const auto one = t.evaluate(std::span(s.x).subspan(r * testing::features, testing::features));
    REQUIRE(one.rows() == 1);
    for (std::size_t c = 0; c < testing::classes; ++c) CHECK(one[c] == outputs[r * testing::classes + c]);
  }
}

TEST_CASE("trainer: its outputs are an xtensor array without a copy") {
  net_trainer t{testing::momentum, {.seed = 3}};
  const samples s(6, 1);
  const auto view = t.evaluate(s.x);
  const auto array = as_xtensor(view);
  CHECK(array.dimension() == 2);
  CHECK(array.shape()[0] == 6);
  CHECK(array.shape()[1] == testing::classes);
  CHECK(&array(0, 0) == view.data());
  CHECK(&array(5, 3) == view.data() + 23);
}

TEST_CASE("trainer: what an evaluation returned stays, and another can be written where the caller wants it") {
  net_trainer t{testing::momentum, {.seed = 3}};
  const samples s(6, 1), other(6, 2);
  const auto first = t.evaluate(s.x);
  const std::vector<float> copied(first.begin(), first.end());
  t.step(other.x, other.y);
  const auto second = t.evaluate(other.x);
  CHECK(std::vector<float>(first.begin(), first.end()) == copied);
  std::vector<float> into(6 * testing::classes);
  const tensor_view<const float> written = t.evaluate(other.x, into);
  CHECK(written.data() == into.data());
  CHECK(written.rows() == 6);
  CHECK(into == std::vector<float>(second.begin(), second.end()));
  into.resize(5);
  CHECK(testing::has(testing::text_of([&] { t.evaluate(other.x, into); }), "expected room for 24 outputs, found 5"));
}

} // namespace trainer_evaluate_tests
