// SPDX-License-Identifier: MIT
// long to compile
#include <cairn/train/fit/of_head.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <cairn/comm/threads/threads.hpp>
#include <cairn/data/batches_of_heads.hpp>
#include <cairn/data/distributed_sampler.hpp>
#include <cairn/data/sequential_sampler.hpp>
#include <cairn/data/tensor_dataset.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/tanh.hpp>
#include <cairn/net/heads.hpp>
#include <cairn/net/with_all_outputs.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/fit/fit.hpp>
#include <cairn/train/fit/validation.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/losses/mse_loss.hpp>
#include <cairn/train/optimizers/adamw.hpp>
#include <cairn/train/state/saved_states.hpp>
#include <cairn/train/trainer.hpp>
#include <doctest/doctest.h>

#include "../../data/folder.hpp"

namespace of_head_tests {

using namespace cairn;

namespace {

// Points of the plane: the quadrant of each, and its distance from two corners.
struct points {
  std::vector<float> x, distances;
  std::vector<int> quadrants;

  explicit points(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const float a = static_cast<float>(i * 7 % 19) / 9.5F - 0.95F, b = static_cast<float>(i * 5 % 23) / 11.5F - 0.95F;
      x.insert(x.end(), {a, b});
      quadrants.push_back((a > 0 ? 1 : 0) + (b > 0 ? 2 : 0));
      distances.insert(distances.end(), {a + b, a - b});
    }
  }
  auto dataset() const {
    return tensor_dataset{sample_array{shape{2}, x}, sample_array{shape{}, quadrants}, sample_array{shape{2}, distances}};
  }
};
using Net = Sequential<Linear<2, 16>, Tanh, multi::Heads<Linear<16, 4>, Sequential<Linear<16, 8>, Tanh, Linear<8, 2>>>>;
using both = multi::losses<CrossEntropyLoss, MSELoss>;
template <class Model>
using training = trainer<Model, both, AdamW, batch<16>>;
constexpr AdamW adamw{.learning_rate = 0.01};

} // namespace

TEST_CASE("of_head: the head's outputs, targets and loss, and a name") {
  const std::vector<float> right{0, 1, 3, 2}, made{1, 1, 1, 1};
  const std::vector<int> labels{1, 1};
  const std::array<tensor_view<const float>, 2> outputs{tensor_view<const float>{right.data(), 2, shape{2}},
                                                        tensor_view<const float>{made.data(), 2, shape{2}}};
  const types::loss_of_heads<2> loss{7, {3, 4}};
  const auto accuracy = metrics::of_head<0>(metrics::Accuracy{});
  const auto targets = multi::targets(labels, right);
  CHECK(accuracy.name() == "head_0_accuracy");
  CHECK(accuracy.value(accuracy.add(outputs, targets, loss)) == 0.5);
  const auto error = metrics::of_head<1>(metrics::MeanAbsoluteError{}, "box");
  CHECK(error.name() == "box_mean_absolute_error");
  CHECK(error.value(error.add(outputs, targets, loss)) == 1);
  const auto its_loss = metrics::of_head<1>(metrics::MeanLoss{});
  CHECK(its_loss.value(its_loss.add(outputs, targets, loss)) == 4);
}

TEST_CASE("of_head: fit learns two things at once, each with its metrics") {
  const auto data = points(160).dataset();
  auto batches = multi::batches<2>(data, sampler{}, batch<16>{});
  auto held_out = multi::batches<2>(data, sequential_sampler{}, batch<16>{});
  training<with_all_outputs<Net>> train{adamw, {.seed = 3, .loss = {.weights = {1, 0.5}}}};
  const auto result = fit(train, batches, {.max_epochs = 40},
                          validation{held_out, metrics::of_head<0>(metrics::Accuracy{}, "quadrant"),
                                     metrics::of_head<1>(metrics::MeanAbsoluteError{}), metrics::of_head<0>(metrics::MeanLoss{}),
                                     metrics::of_head<1>(metrics::MeanLoss{})});
  CHECK(result.metric("val_quadrant_accuracy") > 0.9);
  CHECK(result.metric("val_head_1_mean_absolute_error") < 0.1);
  CHECK(result.metric("val_loss") ==
        doctest::Approx(result.metric("val_head_0_loss") + 0.5 * result.metric("val_head_1_loss")).epsilon(1e-12));
}

TEST_CASE("of_head: a run that is resumed in the middle of an epoch has the same weights") {
  const folder here;
  const auto data = points(96).dataset();
  const auto run = [&](std::uint64_t steps, const std::string& states) {
    auto batches = multi::batches<2>(data, sampler{}, batch<16>{});
    training<with_all_outputs<Net>> train{adamw, {.seed = 3}};
    fit(train, batches, {.max_steps = steps, .val_check_interval = 4}, saved_states{(here.path / states).string()});
    CHECK(train.steps() == steps);
    return train.checksum();
  };
  const std::uint64_t at_once = run(16, "a");
  CHECK(run(8, "b") != at_once);
  CHECK(run(16, "b") == at_once);
}

TEST_CASE("of_head: ranks that share the samples learn together, and have the metrics of all") {
  const auto data = points(64).dataset();
  const auto metric = [](const auto& result) { return result.metric("val_head_0_accuracy"); };
  double expected = 0;
  threads{2}.run([&](threads::rank& rank) {
    auto batches = multi::batches<2>(data, sampler{rank}, batch<16>{});
    auto held_out = multi::batches<2>(data, sampler{rank}, batch<16>{});
    training<ddp<with_all_outputs<Net>, threads::rank>> train{rank, adamw, {.seed = 3}};
    const auto result = fit(train, batches, {.max_epochs = 3}, validation{held_out, metrics::of_head<0>(metrics::Accuracy{})});
    if (rank.rank() == 0) expected = metric(result);
    CHECK(train.steps() == 6);
  });
  CHECK(expected > 0.25);
}

} // namespace of_head_tests
