// SPDX-License-Identifier: MIT
#include <array>
#include <cstddef>

#include <cairn/net/lent_tensors.hpp>
#include <doctest/doctest.h>

using namespace cairn;

TEST_CASE("lent_tensors: where tensors lie in a buffer that has room for some") {
  alignas(64) std::array<std::byte, 512> memory{};
  constexpr parts value{.per_sample = {16, 4, 8}, .gradients = 0b110};
  const auto at = [&](const float* p) { return reinterpret_cast<const std::byte*>(p) - memory.data(); };
  const auto all = detail::tensors_in<float>(memory.data(), value, 5, 0b1111, 0b1111);
  CHECK(at(all[0]) == 0);
  CHECK(at(all[1]) == 128);
  CHECK(at(all[2]) == 192);
  CHECK(all[3] == nullptr); // there are three
  const auto some = detail::tensors_in<float>(memory.data(), value, 5, value.gradients, 0b100);
  CHECK(some[0] == nullptr);
  CHECK(some[1] == nullptr); // it has room, but is not there
  CHECK(at(some[2]) == 64);
  CHECK(detail::set_of(all) == 0b111);
  CHECK(detail::set_of(some) == 0b100);
  CHECK(detail::set_of(detail::tensors_in<float>(nullptr, value, 5, 0b1111, 0b1111)) == 0);
}
