// SPDX-License-Identifier: MIT
#include <cstddef>
#include <span>
#include <utility>

#include <cairn/ops/transfer/cpu.hpp>
#include <cairn/train/host_copy.hpp>
#include <doctest/doctest.h>

#include "apart_ops.hpp"

namespace host_copy_tests {

using namespace cairn;

TEST_CASE("host_copy: where memory is shared it is the numbers themselves") {
  cpu device;
  auto block = device.allocate(16);
  const std::span<float> there{reinterpret_cast<float*>(block.data()), 4};
  detail::host_copy<float, cpu> copy(device, there);
  CHECK(copy.numbers().data() == there.data());
}

TEST_CASE("host_copy: elsewhere it is a copy, and what was changed goes back when that is asked for") {
  apart::device device(types::device_options{});
  auto block = device.allocate(16);
  const std::span<float> there{reinterpret_cast<float*>(block.data()), 4};
  {
    detail::host_copy<float, apart::device> first(device, there);
    CHECK(first.numbers()[3] == 0);
    first.numbers()[3] = 5;
    detail::host_copy<float, apart::device> moved(std::move(first));
    moved.give_back();
  }
  detail::host_copy<const float, apart::device> second(device, there);
  CHECK(second.numbers()[3] == 5);
  detail::host_copy<float, apart::device> third(device, there);
  third.numbers()[3] = 6; // never given back
  detail::host_copy<float, apart::device> fourth(device, there);
  CHECK(fourth.numbers()[3] == 5);
}

} // namespace host_copy_tests
