// SPDX-License-Identifier: MIT
// A loss for each of two heads, on a GPU: what a cpu computes, up to rounding, and no bit differs with a scale of the loss.
#include <cstddef>
#include <vector>

#include <cairn/cairn_cuda.cuh>
#include <doctest/doctest.h>

#include "fake/fake.hpp"
#include "network.hpp"

namespace cuda_heads_tests {

using namespace cairn;

namespace {

using Net = Sequential<Linear<testing::features, 16>, ReLU,
                       multi::Heads<Linear<16, testing::classes>, Sequential<Linear<16, 8>, Tanh, Linear<8, 3>, Tanh>>>;
using both = multi::losses<CrossEntropyLoss, MSELoss>;
template <class Device, class Model = with_all_outputs<checkpoint<sqrt_n, Net>>>
using training = trainer<Model, both, AdamW, batch<testing::most_rows>, float, Device>;
const both weighted{{CrossEntropyLoss{.label_smoothing = 0.1, .weight = {1, 2, 0.5, 1, 1}}, MSELoss{}}, {0.5, 2}};

} // namespace

TEST_CASE("cuda, losses of heads: what a cpu computes, in steps, micro-batches and evaluations") {
  fake::reset();
  training<cuda> there{AdamW{.learning_rate = 0.02}, {.seed = 5, .ordinal = 0, .loss = weighted}};
  training<cuda> scaled{AdamW{.learning_rate = 0.02},
                        {.seed = 5, .ordinal = 0, .loss_scale = fixed_scale{256}, .loss = weighted}};
  training<cpu> here{AdamW{.learning_rate = 0.02}, {.seed = 5, .loss = weighted}};
  for (std::size_t step = 0; step < 6; ++step) {
    const testing::samples s(testing::most_rows - step % 3, step);
    std::vector<float> boxes(3 * s.y.size());
    for (std::size_t i = 0; i < boxes.size(); ++i) boxes[i] = 0.1F * static_cast<float>(i % 7);
    const auto targets = multi::targets(s.y, boxes);
    if (step > 2) {
      const double loss = there.accumulate(s.x, targets);
      CHECK(loss == doctest::Approx(double(here.accumulate(s.x, targets))).epsilon(1e-4));
      CHECK(loss == double(scaled.accumulate(s.x, targets)));
    }
    const double loss = there.step(s.x, targets);
    CHECK(loss == doctest::Approx(double(here.step(s.x, targets))).epsilon(1e-4));
    CHECK(loss == double(scaled.step(s.x, targets)));
    CHECK(there.checksum() == scaled.checksum());
    for (std::size_t head = 0; head < 2; ++head)
      CHECK(there.head_losses()[head] == doctest::Approx(here.head_losses()[head]).epsilon(1e-4));
    std::size_t shown = 0;
    const double evaluated = there.evaluate_loss(s.x, targets, [&](const auto& outputs, const auto& losses) {
      shown = outputs[0].size() + outputs[1].size();
      CHECK(losses.heads[1] == there.head_losses()[1]);
    });
    CHECK(shown == (testing::classes + 3) * s.y.size());
    CHECK(evaluated == doctest::Approx(here.evaluate_loss(s.x, targets)).epsilon(1e-4));
  }
}

} // namespace cuda_heads_tests
