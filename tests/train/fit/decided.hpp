// SPDX-License-Identifier: MIT
// Outputs and targets whose metrics torchmetrics 1.9 computed.
#pragma once

#include <cstddef>
#include <vector>

#include <cairn/core/shape.hpp>
#include <cairn/core/view.hpp>

namespace testing {

// 23 rows of 4 outputs and more classes that are never found; class 3 is no target.
struct decided {
  explicit decided(std::size_t all_classes = 4) : classes(all_classes), scores(rows * all_classes, -1.F) {
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t k = 0; k < 4; ++k)
        scores[i * classes + k] = static_cast<float>((i * 7 + k * 5 + i * k) % 13) + 0.1F * static_cast<float>(k);
      targets.push_back(static_cast<int>((i * i + 1) % 5 % 4));
    }
  }
  cairn::tensor_view<const float> outputs() const { return part(0, rows); }
  cairn::tensor_view<const float> part(std::size_t begin, std::size_t count) const {
    return {scores.data() + begin * classes, count, cairn::shape{classes}};
  }
  std::vector<int> targets_of(std::size_t begin, std::size_t count) const {
    return {targets.data() + begin, targets.data() + begin + count};
  }

  static constexpr std::size_t rows = 23;
  std::size_t classes;
  std::vector<float> scores;
  std::vector<int> targets{};
};

// 40 logits of "yes" with many equal ones.
struct decided_logits {
  decided_logits() {
    for (std::size_t i = 0; i < 40; ++i) {
      logits.push_back((static_cast<float>(i * 37 % 29) - 14) * 0.25F);
      targets.push_back((i * i * 3 + i) % 7 < 3 ? 1 : 0);
    }
  }
  std::vector<float> logits{};
  std::vector<int> targets{};
};

} // namespace testing
