// SPDX-License-Identifier: MIT
#include <array>
#include <cstddef>
#include <vector>

#include <cairn/device/cpu.hpp>
#include <cairn/net/frame.hpp>
#include <doctest/doctest.h>

namespace frame_tests {

using namespace cairn;
using namespace cairn::detail;

TEST_CASE("frame: a callback calls what it was given, and nothing if it was given nothing") {
  std::vector<std::size_t> seen;
  const callback<std::size_t> tell{
      [](void* self, std::size_t end) { static_cast<std::vector<std::size_t>*>(self)->push_back(end); }, &seen};
  tell(3);
  tell(5);
  callback<std::size_t>{}(7);
  CHECK(seen == std::vector<std::size_t>{3, 5});
}

TEST_CASE("frame: bytes at a place are in the region that belongs to the chain") {
  std::array<std::byte, 512> workspace{}, tape{};
  frame<float> f;
  f.workspace = workspace.data();
  f.tape = tape.data();
  place p{};
  p.where = region::tape;
  CHECK(f.bytes(p) == tape.data() + p.offset());
  p.where = region::workspace;
  CHECK(f.bytes(p) == workspace.data() + p.offset());
  CHECK(f.elements(p) == reinterpret_cast<float*>(workspace.data() + p.offset()));
  p.where = region::input;
  CHECK(f.bytes(p) == nullptr);
}

TEST_CASE("frame: a chain of a block works with its share of what the block has") {
  std::array<float, 64> parameters{}, buffers{};
  std::array<std::byte, 64> tape{};
  const float addend = 0;
  frame<float> block;
  block.rows = 3;
  block.parameters = parameters.data();
  block.buffers = buffers.data();
  block.tape = tape.data();
  block.gradient_begin = 100;
  block.random.position = 4;
  block.output_addend = block.gradient_addend = &addend;
  block.output_stride = 9;
  chain_of_block<float, cpu::queue> chain;
  chain.parameter_begin = 16;
  chain.state_begin = 32;
  chain.tape_begin = 48;
  chain.leaf_begin = 2;
  const frame<float> inside = chain.enter(block);
  CHECK(inside.rows == 3);
  CHECK(inside.parameters == parameters.data() + 16);
  CHECK(inside.buffers == buffers.data() + 32);
  CHECK(inside.tape == tape.data() + 48);
  CHECK(inside.gradient_begin == 116);
  CHECK(inside.random.position == 6);
  // The chain does not see the addends and the stride of the block around it.
  CHECK(inside.output_addend == nullptr);
  CHECK(inside.gradient_addend == nullptr);
  CHECK(inside.output_stride == 0);
  // A forward that keeps nothing has no tape.
  block.tape = nullptr;
  CHECK(chain.enter(block).tape == nullptr);
}

} // namespace frame_tests
