// SPDX-License-Identifier: MIT
#include <cairn/data/more_targets.hpp>

#include <array>
#include <cstddef>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include <cairn/data/batches_of_heads.hpp>
#include <cairn/data/sequential_sampler.hpp>
#include <cairn/data/subset.hpp>
#include <cairn/data/tensor_dataset.hpp>
#include <doctest/doctest.h>

namespace more_targets_tests {

using namespace cairn;

namespace {

const std::vector<float> boxes{0, 1, 10, 11, 20, 21};
const std::vector<double> weights{0.5, 1.5, 2.5};
tensor_dataset<float, int> labelled() { return {shape{2, 1}, {1, 2, 3, 4, 5, 6}, 1, {7, 8, 9}}; }

} // namespace

TEST_CASE("more_targets: the targets of the dataset, then the others, of any types") {
  const auto whole = labelled();
  const multi::more_targets data{whole, tensor_view<const float>{boxes.data(), 3, shape{2}}};
  static_assert(dataset<decltype(data)>);
  static_assert(std::is_same_v<decltype(data)::input_type, types::input_types<float, int>>);
  CHECK(&data.whole() == &whole);
  CHECK(data.sample_shapes() == std::array{shape{2, 1}, shape{}});
  const multi::more_targets three{data, tensor_view<const double>{weights.data(), 3, shape{}}};
  const subset last{three, {2, 1}};
  auto batches = multi::batches<3>(last, sequential_sampler{}, batch<2>{});
  std::size_t found = 0;
  for (const auto& [x, targets] : batches) {
    const auto& [label, box, weight] = targets;
    CHECK(x.sample_shape() == shape{2, 1});
    CHECK((x[0] == 5 && label[0] == 9 && box.row(0)[1] == 21 && weight[0] == 2.5));
    CHECK((x.row(1)[1] == 4 && label[1] == 8 && box.row(1)[0] == 10 && weight[1] == 1.5));
    found += x.rows();
  }
  CHECK(found == 2);
}

TEST_CASE("more_targets: a row for each sample") {
  const auto whole = labelled();
  std::string text;
  try {
    const multi::more_targets data{whole, tensor_view<const float>{boxes.data(), 2, shape{2}}};
  } catch (const input_error& wrong) {
    text = wrong.what();
  }
  CHECK(text.find("expected one row of targets for each of 3 samples, found 2") != std::string::npos);
}

} // namespace more_targets_tests
