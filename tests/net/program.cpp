// SPDX-License-Identifier: MIT
#include <cstddef>

#include <cairn/device/cpu.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/program.hpp>
#include <doctest/doctest.h>

#include "kernels.hpp"

using namespace cairn;

namespace {

using Net = Sequential<Linear<6, 16>, ReLU, Repeat<3, Residual<Linear<16, 16>, ReLU>>, Linear<16, 2>>;

template <class Model>
constexpr const auto& code = program_of<blueprint_of<Model, 4>, float, cpu::queue>;

} // namespace

TEST_CASE("program: it is a constant with an entry for each distinct element") {
  constexpr const auto& p = code<Net>;
  static_assert(p.as == role::root && p.batch == 4);
  static_assert(p.input_shape == shape{6} && p.output_shape == shape{2});
  CHECK(p.size() == 6);
  CHECK(p.elements.size() == 4);
  CHECK(&p.at(2) == &p.at(3));
  CHECK(&p.at(3) == &p.at(4));
  CHECK(bool(p.at(0).forward));
  CHECK(p.at(0).inner == nullptr);
  CHECK(p.at(1).as == activation::relu);
  CHECK(p.at(0).parameters.count == 2);
}

TEST_CASE("program: a block has a program of its own") {
  const auto* const inner = code<Net>.at(2).inner;
  REQUIRE(inner != nullptr);
  CHECK(!code<Net>.at(2).forward);
  CHECK(inner->as == role::residual);
  CHECK(inner->size() == 2);
  CHECK(inner->input_shape == shape{16});
  CHECK(inner->adds_at_turn); // a ReLU does not add
  CHECK(!inner->adds_at_end); // a Linear does
}

TEST_CASE("program: the layers' functions do not depend on policy and batch") {
  constexpr const auto& other =
      program_of<blueprint_of<checkpoint<recompute_all, Net>, 9>, float, cpu::queue>;
  CHECK((code<Net>.at(0).forward == other.at(0).forward));
  CHECK((code<Net>.at(5).backward == other.at(5).backward));
}

TEST_CASE("program: evaluation keeps nothing") {
  for (const op& o : code<Net>.evaluation.ops) {
    CHECK(o.kind != op_kind::backward);
    CHECK(!o.wants_tape);
  }
}
