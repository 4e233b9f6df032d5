// SPDX-License-Identifier: MIT
#include <cairn/data/batches_of_heads.hpp>

#include <cstddef>
#include <span>
#include <tuple>
#include <type_traits>
#include <vector>

#include <cairn/data/sequential_sampler.hpp>
#include <cairn/data/tensor_dataset.hpp>
#include <doctest/doctest.h>

namespace batches_of_heads_tests {

using namespace cairn;

namespace {

// Five samples: two inputs, a class and a box.
struct arrays {
  std::vector<float> x, box;
  std::vector<int> mask, label;
  arrays() {
    for (int i = 0; i < 5; ++i) {
      label.push_back(i);
      mask.push_back(10 * i);
      for (int k = 0; k < 3; ++k) x.push_back(static_cast<float>(i + 100 * k));
      for (int k = 0; k < 2; ++k) box.push_back(static_cast<float>(-i - 100 * k));
    }
  }
};
struct Twice {
  void operator()(std::span<float> x, const shape& its, const types::random_key&) const {
    for (std::size_t i = 0; i < its.size(); ++i) x[i] *= 2;
  }
};

} // namespace

TEST_CASE("batches of heads: the last arrays are targets, the only one before them is the input") {
  const arrays a;
  const tensor_dataset data{sample_array{shape{3}, a.x}, sample_array{shape{}, a.label}, sample_array{shape{2}, a.box}};
  auto batches = multi::batches<2>(data, sequential_sampler{}, batch<2>{});
  static_assert(decltype(batches)::most_rows == 2);
  CHECK(batches.size() == 3);
  std::size_t row = 0;
  for (const auto& [x, targets] : batches) {
    const auto& [labels, boxes] = targets;
    static_assert(std::is_same_v<decltype(x), const tensor_view<const float>>);
    for (std::size_t r = 0; r < x.rows(); ++r, ++row) {
      CHECK(x.row(r)[2] == a.x[3 * row + 2]);
      CHECK(labels.row(r)[0] == a.label[row]);
      CHECK(boxes.row(r)[1] == a.box[2 * row + 1]);
    }
    if (row == 2) CHECK(batches.place().batch == 1);
  }
  CHECK(row == 5);
  batches.go_to({.epoch = 0, .batch = 2});
  for (const auto& batch : batches) CHECK(batch.rows() == 1);
}

TEST_CASE("batches of heads: several inputs, and a transform that gets the inputs only") {
  const arrays a;
  const tensor_dataset both{sample_array{shape{3}, a.x}, sample_array{shape{}, a.mask}, sample_array{shape{2}, a.box},
                            sample_array{shape{}, a.label}};
  auto batches = multi::batches<2>(both, sequential_sampler{}, batch<5>{});
  for (const auto& [inputs, targets] : batches) {
    CHECK(std::get<1>(inputs)[4] == 40);
    CHECK(std::get<0>(targets).row(4)[0] == -4);
    CHECK(std::get<1>(targets)[4] == 4);
  }
  const tensor_dataset one{sample_array{shape{3}, a.x}, sample_array{shape{2}, a.box}, sample_array{shape{}, a.label}};
  auto changed = multi::batches<2>(one, sequential_sampler{}, batch<5>{}, {.prefetch = 0}, Twice{});
  for (const auto& [x, targets] : changed) {
    CHECK(x.row(4)[1] == 208);
    CHECK(std::get<0>(targets).row(4)[0] == -4);
  }
}

} // namespace batches_of_heads_tests
