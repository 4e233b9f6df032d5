// SPDX-License-Identifier: MIT
#include <cairn/layer/checked_layer.hpp>
#include <cairn/layer/linear.hpp>
#include <doctest/doctest.h>

using namespace cairn;

// The sentences are in tests/compile_fail/own_layer_*.cpp and no_layer.cpp.
TEST_CASE("checked_layer: a layer has no fault, and says nothing") {
  using checked = checked_layer<Linear<2, 3>>;
  static_assert(checked::fault == layer_fault::none && checked::right<checked>());
  static_assert(checked_layer<int>::fault == layer_fault::no_layer);
}
