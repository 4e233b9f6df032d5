// SPDX-License-Identifier: MIT
#include <cstddef>

#include <cairn/device/cpu.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/execute.hpp>
#include <cairn/net/program.hpp>
#include <doctest/doctest.h>

#include "../layer/several_layers.hpp"
#include "layers.hpp"

namespace program_tests {

using namespace cairn;
using namespace cairn::detail;

namespace {

using Net = Sequential<Linear<6, 16>, ReLU, Repeat<3, Residual<Linear<16, 16>, ReLU>>, Linear<16, 2>>;

template <class Model>
constexpr const auto& code = program_of<blueprint_of<Model, 4>, float, cpu::queue>;

} // namespace

TEST_CASE("program: it is a constant with an entry for each distinct element") {
  constexpr const auto& p = code<Net>;
  static_assert(p.is_root && p.batch == 4);
  static_assert(*p.inputs == value_list{tensor({6})} && *p.outputs == value_list{tensor({2})});
  static_assert(p.constants->size() == 0);
  CHECK(p.size() == 6);
  CHECK(p.elements.size() == 4);
  CHECK(&p.at(2) == &p.at(3));
  CHECK(&p.at(3) == &p.at(4));
  CHECK(bool(p.at(0).forward));
  CHECK(p.at(0).chains.empty());
  CHECK(p.at(1).as == ops::activation::relu);
  CHECK(p.at(0).parameters.size() == 2);
}

TEST_CASE("program: a block has a program of its own") {
  REQUIRE(code<Net>.at(2).chains.size() == 1);
  CHECK(!code<Net>.at(2).forward);
  CHECK(bool(code<Net>.at(2).block_forward));
  const auto* const inner = code<Net>.at(2).chains[0].code;
  CHECK(!inner->is_root);
  CHECK(inner->size() == 2);
  CHECK(*inner->inputs == value_list{tensor({16})});
  CHECK(!inner->ends.output);        // a ReLU does not add
  CHECK(inner->ends.input_gradient); // a Linear does
}

TEST_CASE("program: the layers' functions do not depend on policy and batch") {
  constexpr const auto& other = program_of<blueprint_of<checkpoint<recompute_all, Net>, 9>, float, cpu::queue>;
  CHECK((code<Net>.at(0).forward == other.at(0).forward));
  CHECK((code<Net>.at(5).backward == other.at(5).backward));
}

TEST_CASE("program: evaluation keeps nothing") {
  for (const op& o : code<Net>.evaluation.ops) {
    CHECK(o.kind != op_kind::backward);
    CHECK(!o.wants_tape);
  }
}

TEST_CASE("program: what a layer works on has a place for each tensor") {
  using Mixed = Sequential<Linear<9, 9>, testing::Split, testing::Split, testing::Mix>;
  constexpr const auto& p = code<Mixed>;
  // Mix takes three tensors of 4 x 9 floats, which are 144 bytes and are aligned to lines of 64.
  const auto& mix = p.at(3);
  CHECK(mix.takes == 3);
  CHECK(mix.gives == 3);
  CHECK(mix.arrives->size() == 3);
  CHECK(mix.tape.offsets[1] == 192);
  CHECK(mix.backward_workspace.offsets[2] == 384);
  CHECK(p.value_at[3][2] == 384);
  CHECK(mix.parameters[0].name == "weight");
  CHECK(mix.uses[0b001] == 0b011);
  // Buffers are in one block, each aligned.
  const auto& witness = code<Sequential<Linear<9, 9>, testing::Witness>>.at(1);
  CHECK(witness.buffers.size() == 2);
  CHECK(witness.buffer_layout.offsets[1] == 64);
}

TEST_CASE("program: of a network that is only evaluated the training step is not planned") {
  constexpr const auto& p = evaluation_of<blueprint_of<Net, 4>, float, cpu::queue>;
  CHECK(p.training.ops.empty());
  CHECK(p.evaluation.ops.size() == code<Net>.evaluation.ops.size());
  CHECK((p.at(0).forward == code<Net>.at(0).forward));
}

} // namespace program_tests
