// SPDX-License-Identifier: MIT
#include <cstddef>
#include <vector>

#include <doctest/doctest.h>

#include <cairn/core/bfloat16.hpp>
#include <cairn/ops/convert/cpu.hpp>

#include "../narrow.hpp"

namespace convert_convert_tests {

using namespace cairn;

TEST_CASE("convert: every element is rounded, and widened again it is the same, whatever the number of threads") {
  constexpr std::size_t count = 70000; // more than one part
  const auto x = narrow::normal<bfloat16>(count, 1);
  for (const std::size_t threads : {1U, 3U}) {
    cpu device({.threads = threads});
    std::vector<float> wide(count);
    convert(device.compute(), count, wide.data(), x.own.data());
    CHECK(wide == x.wide);
    for (float& w : wide) w *= 1.001F;
    std::vector<bfloat16> back(count);
    convert(device.compute(), count, back.data(), wide.data());
    CHECK(narrow::wrong(back, wide) == 0);
  }
}

} // namespace convert_convert_tests
