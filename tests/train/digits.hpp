// SPDX-License-Identifier: MIT
// Samples as a dataset, for tests of code that reads a loader.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/data/tensor_dataset.hpp>

#include "training.hpp"

namespace testing {

struct digits {
  samples<> s;
  cairn::tensor_dataset<float, int> data;
  explicit digits(std::size_t count, std::uint32_t stream = 3) : s(count, stream), data(cairn::shape{features}, s.x, 1, s.y) {}
};

} // namespace testing
