// SPDX-License-Identifier: MIT
// Stages, chains and networks for the tests of the plan.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <cairn/plan/chain.hpp>
#include <cairn/plan/route.hpp>

namespace cairn::testing {

using namespace plan;

// A layer with a weight matrix. It fuses; its backward reads its input, where its input gradient may lie.
constexpr stage dense(std::size_t in, std::size_t out) {
  stage s{};
  s.output = {4 * out, 0};
  s.reads_input = s.input_gradient_on_input = true;
  s.fuses = true;
  s.parameters = in * out + out;
  s.forward_flops = 2 * in * out;
  s.backward_flops = 4 * in * out;
  s.input_gradient_flops = 2 * in * out;
  return s;
}
constexpr stage relu(std::size_t width) {
  stage s{};
  s.output = {4 * width, 0};
  s.reads_output = s.in_place_forward = s.in_place_backward = true;
  s.as_activation = 1;
  s.forward_flops = s.backward_flops = s.input_gradient_flops = width;
  return s;
}
// An activation whose backward reads its input.
constexpr stage gelu(std::size_t width) {
  stage s{};
  s.output = {4 * width, 0};
  s.reads_input = true;
  s.in_place_backward = true;
  s.forward_flops = s.backward_flops = s.input_gradient_flops = 10 * width;
  return s;
}
// Dropout: the tape is a bit mask.
constexpr stage dropout(std::size_t width) {
  stage s{};
  s.output = {4 * width, 0};
  s.tape = {(width + 7) / 8, 0};
  s.in_place_forward = s.in_place_backward = true;
  s.forward_flops = s.backward_flops = s.input_gradient_flops = width;
  return s;
}
// A residual block as the chain around it sees it, with a tape of `kept` values.
constexpr stage block(std::size_t width, std::size_t kept) {
  stage s{};
  s.output = {4 * width, 0};
  s.reads_input = true;
  s.tape = {4 * width * kept, 0};
  s.forward_workspace = {4 * width, 0};
  s.evaluation_workspace = {8 * width, 0};
  s.backward_workspace = {8 * width, 0};
  s.in_place_forward = false;
  s.tape_without_output = true;
  s.parameters = width * width;
  s.forward_flops = 4 * width * width;
  s.tape_flops = 2 * width * width;
  s.backward_flops = 8 * width * width;
  s.leaves = 3;
  return s;
}

// A fixed pseudorandom sequence, the same on every platform.
class dice {
public:
  constexpr explicit dice(std::uint64_t seed) : state_(seed * 2 + 1) {}
  constexpr std::size_t below(std::size_t n) {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::size_t>(state_ >> 33) % n;
  }
  constexpr bool coin() { return below(2) == 1; }

private:
  std::uint64_t state_;
};

// A chain that owns its stages.
struct network {
  std::string name;
  std::vector<stage> stages;
  chain along{};

  chain look() const {
    chain c = along;
    c.stages = stages;
    return c;
  }
};

template <class Policy>
std::vector<route_step> moves_of(const chain& c) {
  route counted{c};
  Policy::plan(c, counted);
  std::vector<route_step> moves(counted.size());
  route written{c, moves.data()};
  Policy::plan(c, written);
  return moves;
}

} // namespace cairn::testing
