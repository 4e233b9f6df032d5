// SPDX-License-Identifier: MIT
#include <cairn/ops/copy/copy.hpp>
#include <cairn/ops/copy/cpu.hpp>

#include <vector>

#include <doctest/doctest.h>

using namespace cairn;

TEST_CASE("copy: one part and several, on several threads, and onto itself") {
  for (const std::size_t threads : {1U, 2U}) {
    cpu device({.threads = threads});
    for (const std::size_t count : {0U, 1U, 1000U, 600001U}) {
      std::vector<float> from(count + 1), to(count + 1, -1.0F);
      for (std::size_t i = 0; i < count; ++i) from[i] = static_cast<float>(i % 1001);
      copy(device.compute(), count, to.data(), from.data());
      CHECK(to[count] == -1.0F);
      to[count] = from[count];
      CHECK(to == from);
      copy(device.compute(), count, to.data(), to.data());
      CHECK(to == from);
    }
  }
}
