// SPDX-License-Identifier: MIT
// Families of chains for the tests of the solver.
#pragma once

#include <cstddef>
#include <vector>

#include <cairn/plan/chain.hpp>

#include "chains.hpp"

namespace cairn::testing {

using namespace plan;

// A stage with random flags and sizes. The backward of an odd stage may read nothing of the forward pass.
constexpr stage random_stage(dice& d, bool odd = false) {
  const auto sometimes = [&](std::size_t lines) {
    return detail::bytes{d.below(3) == 0 ? detail::alignment * d.below(lines) : 0, 0};
  };
  stage s{};
  s.output = {detail::alignment * (1 + d.below(8)), 0};
  s.tape = sometimes(9);
  s.reads_input = d.coin();
  s.reads_output = d.below(3) == 0;
  if (!odd && !s.reads_output && !s.keeps_tape()) s.reads_input = true;
  s.in_place_forward = d.coin();
  s.in_place_backward = d.coin();
  s.input_gradient_on_input = d.coin();
  s.forward_workspace = sometimes(6);
  s.evaluation_workspace = sometimes(6);
  s.backward_workspace = sometimes(6);
  s.tape_without_output = s.keeps_tape() && d.coin();
  s.parameters = d.below(4) != 0;
  s.forward_flops = 1 + d.below(20);
  s.tape_flops = s.tape_without_output ? 1 + d.below(s.forward_flops) : s.forward_flops;
  s.backward_flops = 1 + d.below(40);
  s.input_gradient_flops = d.below(s.backward_flops + 1);
  return s;
}

inline std::vector<stage> random_stages(dice& d, std::size_t count, bool odd = false) {
  std::vector<stage> list;
  while (list.size() < count) list.push_back(random_stage(d, odd));
  return list;
}

// A root chain, or a composite's chain of which any ends are borrowed.
inline chain random_ends(dice& d, const std::vector<stage>& stages, bool lent) {
  chain c{.stages = stages, .input = {detail::alignment * (1 + d.below(4)), 0}};
  if (!lent) return c;
  c.lent = true;
  c.lent_output = d.coin();
  c.lent_input_gradient = d.coin();
  c.keeps_output_gradient = d.coin();
  return c;
}

// Equal stages. Each keeps as many bytes as `kept` values, one of which may be its output.
inline std::vector<stage> equal_stages(dice& d, std::size_t count, std::size_t kept) {
  stage s{};
  s.output = {detail::alignment, 0};
  s.reads_output = d.coin();
  s.tape = {detail::alignment * (kept - (s.reads_output ? 1 : 0)), 0};
  s.reads_input = d.coin();
  s.in_place_forward = d.coin();
  s.in_place_backward = d.coin();
  s.input_gradient_on_input = d.coin();
  s.parameters = s.forward_flops = s.tape_flops = 1;
  s.backward_flops = 2;
  return std::vector<stage>(count, s);
}

// Linear, ReLU, Linear, ..., with a random width after each Linear.
inline std::vector<stage> mlp_stages(dice& d, std::size_t count) {
  std::vector<stage> list;
  std::size_t width = 16 * (1 + d.below(16));
  while (list.size() < count) {
    const std::size_t next = 16 * (1 + d.below(16));
    list.push_back(list.size() % 2 == 0 ? dense(width, next) : relu(width));
    if (list.size() % 2 == 1) width = next;
  }
  return list;
}

// Residual blocks of one width that keep different numbers of values, mixed with activations and dropouts.
inline std::vector<stage> block_stages(dice& d, std::size_t count) {
  const std::size_t width = 16 * (1 + d.below(4));
  std::vector<stage> list;
  while (list.size() < count) {
    const std::size_t kind = d.below(6);
    list.push_back(kind < 3 ? block(width, 1 + d.below(4)) : kind == 3 ? relu(width) : kind == 4 ? gelu(width) : dropout(width));
  }
  return list;
}

} // namespace cairn::testing
