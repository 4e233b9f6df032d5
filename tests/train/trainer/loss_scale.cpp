// SPDX-License-Identifier: MIT
// long to compile
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <cairn/core/bfloat16.hpp>
#include <cairn/core/float16.hpp>
#include <cairn/layer/head_in_strips.hpp>
#include <cairn/net/with_input_gradient.hpp>
#include <cairn/train/losses/bce_with_logits_loss.hpp>
#include <cairn/train/losses/mse_loss.hpp>
#include <cairn/train/losses/smooth_l1_loss.hpp>
#include <cairn/train/losses/soft_cross_entropy_loss.hpp>
#include <cairn/train/optimizers/adamw.hpp>
#include <cairn/train/trainer.hpp>
#include <doctest/doctest.h>

#include "../apart_ops.hpp"
#include "../training.hpp"

namespace trainer_loss_scale_tests {

using namespace cairn;
using testing::classes;
using testing::features;
using testing::Net;
using samples = testing::samples<float>;
using testing::text_of;

namespace {

using Plain = Sequential<Linear<features, 8>, ReLU, Linear<8, classes>>;
template <class Model, class Loss = CrossEntropyLoss, class T = float>
using training = trainer<Model, Loss, AdamW, batch<6>, T>;

samples overflowing(std::uint32_t stream) {
  samples s(6, stream);
  s.x[7] = std::numeric_limits<float>::infinity();
  return s;
}

template <class Trainer>
std::vector<float> everything(Trainer& t) {
  std::vector<float> all{t.parameters().begin(), t.parameters().end()};
  for (std::size_t i = 0; i < 2; ++i) all.insert(all.end(), t.optimizer_state(i).begin(), t.optimizer_state(i).end());
  return all;
}
template <class Trainer>
std::vector<float> gradients_of(Trainer& t) {
  return {t.gradients().begin(), t.gradients().end()};
}

// Two steps with a micro-batch before each, where a scale that is a power of two must change no bit.
template <class Loss, class Targets>
void check_loss_of(const Loss& loss, const Targets& targets_of) {
  using type = training<Plain, Loss>;
  type plain{AdamW{}, {.seed = 3, .loss = loss}};
  type scaled{AdamW{}, {.seed = 3, .loss_scale = dynamic_scale{.growth_interval = 1}, .loss = loss}};
  for (std::uint32_t step = 0; step < 2; ++step) {
    const samples first(6, 2 * step), second(5, 2 * step + 1);
    CHECK(plain.accumulate(first.x, targets_of(first)) == scaled.accumulate(first.x, targets_of(first)));
    CHECK(plain.step(second.x, targets_of(second)) == scaled.step(second.x, targets_of(second)));
    CHECK(gradients_of(plain) == gradients_of(scaled));
    CHECK(everything(plain) == everything(scaled));
  }
  CHECK(scaled.loss_scale() == 4 * 65536);
}

} // namespace

TEST_CASE("loss scaling: a power of two changes no bit of float, for every loss") {
  const auto classes_of = [](const samples& s) { return s.y; };
  const auto numbers_of = [](const samples& s) {
    std::vector<float> out(s.y.size() * classes);
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = 0.25F * static_cast<float>((i * 7 + static_cast<std::size_t>(s.y[0])) % 5);
    return out;
  };
  check_loss_of(CrossEntropyLoss{}, classes_of);
  check_loss_of(CrossEntropyLoss{.ignore_index = 1, .label_smoothing = 0.1}, classes_of);
  check_loss_of(MSELoss{}, numbers_of);
  check_loss_of(L1Loss{}, numbers_of);
  check_loss_of(SmoothL1Loss{}, numbers_of);
  check_loss_of(SmoothL1Loss{.beta = 0}, numbers_of);
  check_loss_of(BCEWithLogitsLoss{}, numbers_of);
  check_loss_of(BCEWithLogitsLoss{.pos_weight = {1, 2, 3, 4}}, numbers_of);
  check_loss_of(SoftCrossEntropyLoss{}, numbers_of);
}

TEST_CASE("loss scaling: nor does it in strips, with a gradient or a loss of the program, nor in an input gradient") {
  using Body = Sequential<Linear<features, 8>, LayerNorm<8>, head_in_strips<Linear<8, classes>, 4>>;
  const samples s(6, 1);
  {
    training<Body> plain{AdamW{}, {.seed = 3}}, scaled{AdamW{}, {.seed = 3, .loss_scale = fixed_scale{1024}}};
    CHECK(plain.step(s.x, s.y) == scaled.step(s.x, s.y));
    CHECK(everything(plain) == everything(scaled));
  }
  using Deep = with_input_gradient<Net>;
  training<Deep> plain{AdamW{}, {.seed = 3}}, scaled{AdamW{}, {.seed = 3, .loss_scale = fixed_scale{1024}}};
  const std::vector<float> given(6 * classes, 0.125F);
  const auto own_loss = [](const auto& outputs, const auto& gradient) {
    for (std::size_t i = 0; i < outputs.size(); ++i) gradient.data()[i] = outputs[i] / 8;
    return 1.5;
  };
  const auto compare = [&] {
    CHECK(everything(plain) == everything(scaled));
    const auto mine = plain.input_gradient(), other = scaled.input_gradient();
    CHECK(std::equal(mine.begin(), mine.end(), other.begin()));
    const auto again = scaled.input_gradient();
    CHECK(std::equal(mine.begin(), mine.end(), again.begin()));
  };
  CHECK(plain.step(s.x, s.y) == scaled.step(s.x, s.y));
  compare();
  plain.step_from(s.x, given);
  scaled.step_from(s.x, given);
  compare();
  CHECK(plain.step_by(s.x, own_loss) == 1.5);
  CHECK(scaled.step_by(s.x, own_loss) == 1.5);
  compare();
}

TEST_CASE("loss scaling: an input gradient of 16 bits is divided by the scale") {
  training<with_input_gradient<Plain>, CrossEntropyLoss, float16> plain{AdamW{}, {.seed = 3}},
      scaled{AdamW{}, {.seed = 3, .loss_scale = fixed_scale{64}}};
  const samples s(6, 1);
  plain.step(s.x, s.y);
  scaled.step(s.x, s.y);
  const auto mine = plain.input_gradient(), other = scaled.input_gradient();
  float most = 0, largest = 0;
  for (std::size_t i = 0; i < mine.size(); ++i) {
    most = std::max(most, std::abs(mine[i] - other[i]));
    largest = std::max(largest, std::abs(mine[i]));
  }
  CHECK(largest > 1e-3F);
  CHECK(most < 0.02F * largest);
}

TEST_CASE_TEMPLATE("loss scaling: an update that is skipped leaves no trace in what is learnt", T, float, bfloat16, float16) {
  using type = training<Plain, CrossEntropyLoss, T>;
  type without{AdamW{}, {.seed = 3, .clip = {0.5}, .loss_scale = fixed_scale{256}}};
  type with{AdamW{}, {.seed = 3, .clip = {0.5}, .loss_scale = fixed_scale{256}}};
  for (std::uint32_t step = 0; step < 5; ++step) {
    const samples s(6, step);
    if (step == 1 || step == 3) {
      const std::vector<float> before = everything(with);
      const samples bad = overflowing(step);
      with.step(bad.x, bad.y);
      CHECK(everything(with) == before);
      CHECK(!std::isfinite(with.gradient_norm()));
      const std::vector<float> shown = gradients_of(with); // as they are, so that the layer that overflowed can be found
      CHECK(std::any_of(shown.begin(), shown.end(), [](float g) { return !std::isfinite(g); }));
    }
    CHECK(without.step(s.x, s.y) == with.step(s.x, s.y));
    CHECK(everything(without) == everything(with));
    CHECK(without.gradient_norm() == with.gradient_norm());
  }
  CHECK((with.steps() == 7 && with.skipped_updates() == 2 && without.skipped_updates() == 0));
}

TEST_CASE("loss scaling: the micro-batches of a step have one scale, and one that overflows skips the step") {
  using type = training<Plain, CrossEntropyLoss, float16>;
  type t{AdamW{}, {.seed = 3, .loss_scale = dynamic_scale{.growth_interval = 2}}};
  const samples good(6, 0), bad = overflowing(1);
  const std::vector<float> before = everything(t);
  t.accumulate(bad.x, bad.y);
  CHECK(t.loss_scale() == 65536);
  t.accumulate(good.x, good.y);
  t.step(good.x, good.y);
  CHECK(everything(t) == before);
  CHECK((t.loss_scale() == 32768 && t.skipped_updates() == 1));
  t.accumulate(good.x, good.y);
  t.step(good.x, good.y);
  CHECK(everything(t) != before);
  CHECK(t.loss_scale() == 32768);
  t.step(good.x, good.y);
  CHECK(t.loss_scale() == 65536);
}

TEST_CASE("loss scaling: float16 gradients below 6e-8 are learnt from, and without it they are zeros") {
  constexpr std::size_t outputs = 1024, rows = 64;
  using type = trainer<Sequential<Linear<4, outputs>>, MSELoss, AdamW, batch<rows>, float16>;
  std::vector<float> x(rows * 4), y(rows * outputs);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = i % 2 == 0 ? 1.0F : -0.5F;
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = i % 2 == 0 ? 8e-4F : -4e-4F; // 2 x 8e-4 / 65,536 is 2.4e-8
  const auto learn = [&](const detail::loss_scaling& how, std::vector<float>& gradients) {
    type t{AdamW{.learning_rate = 2e-5, .weight_decay = 0}, {.clip = {1e9}, .loss_scale = how}};
    std::fill(t.parameters().begin(), t.parameters().end(), 0.0F);
    double loss = 0;
    for (int step = 0; step < 25; ++step) {
      loss = t.step(x, y);
      if (step == 0) gradients = gradients_of(t);
    }
    return loss;
  };
  std::vector<float> lost, kept;
  const double first = 4e-7, without = learn({}, lost), with = learn(dynamic_scale{}, kept);
  CHECK(std::all_of(lost.begin(), lost.end(), [](float g) { return g == 0; }));
  CHECK(std::count_if(kept.begin(), kept.end(), [](float g) { return g != 0; }) >= static_cast<long>(5 * outputs));
  CHECK(without == doctest::Approx(first).epsilon(0.01));
  CHECK(with < 0.1 * first);
}

TEST_CASE("loss scaling: where each step overflows, the scale is not at fault, and the trainer says so") {
  training<Net> t{AdamW{}, {.loss_scale = dynamic_scale{.max_skips = 3}}};
  const samples bad = overflowing(0), good(6, 0);
  for (int step = 0; step < 3; ++step) t.step(bad.x, bad.y);
  t.step(good.x, good.y);
  for (int step = 0; step < 3; ++step) t.step(bad.x, bad.y);
  const std::vector<float> before = everything(t);
  const std::string text = text_of([&] { t.step(bad.x, bad.y); });
  CHECK(testing::has(text, "expected finite gradients in one of 4 steps, found none, up to step 8"));
  CHECK(testing::has(text, "down to 512"));
  CHECK(everything(t) == before);
  CHECK(testing::has(text_of([&] { t.step(good.x, good.y); }), "found none, up to step 8")); // until synchronize()
  t.synchronize();
  t.step(good.x, good.y);
  CHECK(everything(t) != before);
  training<Net> patient{AdamW{}, {.loss_scale = fixed_scale{.scale = 8, .max_skips = 0}}};
  for (int step = 0; step < 30; ++step) patient.step(bad.x, bad.y);
  CHECK(patient.skipped_updates() == 30);
}

TEST_CASE("loss scaling: nothing of it without the option") {
  training<Net> t{AdamW{}, {.clip = {1}}};
  const samples bad = overflowing(0);
  t.step(bad.x, bad.y);
  CHECK((t.loss_scale() == 1 && t.skipped_updates() == 0));
  CHECK(std::any_of(t.parameters().begin(), t.parameters().end(), [](float p) { return std::isnan(p); }));
}

namespace {

// A loss that does not know the scale.
struct halved_sum {
  static constexpr bool accepts(const shape&) { return true; }
  static constexpr std::size_t targets_per_sample(const shape&) { return 1; }
  template <class, class Target>
  static constexpr bool takes = std::is_same_v<Target, int>;
  template <class Queue, class T, class Target>
  static void run(Queue&, const loss_call<T, Target>& call) {
    *call.loss = 0.5;
    if (call.output_gradient == nullptr) return;
    std::fill_n(call.output_gradient, call.rows * call.output_shape->size(), static_cast<T>(0.5F));
  }
};
using fused_training = trainer<fused_update<Net>, CrossEntropyLoss, SGD, batch<6>>;
static_assert(std::is_empty_v<decltype(fused_training::options::loss_scale)>);

} // namespace

TEST_CASE("loss scaling: a loss that does not know the scale, and numbers that make no sense") {
  const std::string text = text_of([] { training<Net, halved_sum> t{AdamW{}, {.loss_scale = fixed_scale{8}}}; });
  CHECK(testing::has(text, "static constexpr bool scales_gradient = true; found "));
  CHECK(testing::has(text, "halved_sum"));
  training<Net, halved_sum> plain{AdamW{}};
  const samples s(6, 0);
  CHECK(plain.step(s.x, s.y) == 0.5);
  CHECK(testing::has(text_of([] { training<Net> t{AdamW{}, {.loss_scale = fixed_scale{0}}}; }), "expected a loss_scale from"));
}

} // namespace trainer_loss_scale_tests
