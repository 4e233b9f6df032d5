// SPDX-License-Identifier: MIT
#include <cairn/layer/checked_layer.hpp>

#include <string>

#include <cairn/layer/linear.hpp>
#include <doctest/doctest.h>

namespace checked_layer_tests {

using namespace cairn;

namespace {

struct reading {
  static constexpr reads backward_reads = reads::input;
};
struct shaped {
  static constexpr tensor outputs(const arguments& in) { return in[0]; }
};

} // namespace

// The diagnostics are in tests/compile_fail/own_layer_*.cpp and no_layer.cpp.
TEST_CASE("checked_layer: a right layer needs no diagnostic") {
  using checked = detail::checked_layer<Linear<2, 3>>;
  CHECK(checked::right<checked>());
}

TEST_CASE("checked_layer: a type that has nothing of a layer is none") {
  static_assert(detail::is_no_layer<int>() && detail::is_no_layer<std::string>());
  static_assert(reading::backward_reads == reads::input);
  CHECK(!detail::is_no_layer<reading>());
  CHECK(!detail::is_no_layer<shaped>());
}

} // namespace checked_layer_tests
