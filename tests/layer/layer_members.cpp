// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cstddef>

#include <cairn/layer/dropout.hpp>
#include <cairn/layer/layer_members.hpp>
#include <cairn/layer/layer_norm.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>

using namespace cairn;

namespace {

struct Bare {
  static constexpr reads backward_reads = reads::nothing;
  static constexpr shape output_shape(const shape& in) { return in; }
};
struct Overloaded : Bare {
  static constexpr bool accepts(const shape&) { return true; }
  static constexpr bool accepts(int) { return false; }
};
struct Mistaken : Bare {
  static constexpr std::size_t tape_bytes(const shape&) { return 0; }
  static constexpr int adds = 1;
};
struct Last final : Bare {
  static constexpr std::size_t tape_bytes(const shape&) { return 0; }
};

} // namespace

TEST_CASE("layer_members: a right layer has each as it should be, or not at all") {
  static_assert(detail::right_layer<Linear<3, 2>> && detail::right_layer<LayerNorm<4>>);
  static_assert(detail::right_layer<ReLU> && detail::right_layer<Dropout<>> && detail::right_layer<Bare>);
  static_assert(detail::answers_flops<Linear<3, 2>> && detail::right_flops<Linear<3, 2>>);
  CHECK(!detail::answers_flops<ReLU>);
  CHECK(detail::right_flops<ReLU>);
}

TEST_CASE("layer_members: another signature is not taken for a member that is left out") {
  CHECK(detail::right_accepts<Overloaded>);
  CHECK(!detail::right_tape_bytes<Mistaken>);
  CHECK(!detail::right_adds<Mistaken>);
  CHECK(detail::right_workspace_bytes<Mistaken>);
  CHECK(!detail::right_layer<Mistaken>);
}

TEST_CASE("layer_members: of a final class only what answers is seen") { CHECK(detail::right_layer<Last>); }
