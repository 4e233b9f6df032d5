// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>

#include <cairn/core/tensors.hpp>
#include <cairn/net/made_of.hpp>
#include <cairn/ops/add/add.hpp>

// The common part of blocks of several chains: each chain takes the first tensor of the block and makes one tensor.
namespace cairn::detail {

constexpr bool makes_one_tensor(const description& chain) {
  return chain.takes == 1 && chain.gives == 1 && contains(chain.depends[0], 0) && chain.after[0].is_real();
}

// Describes a block that makes the tensor `made` of the first one.
constexpr void describe_one_tensor(const value_list& value, const tensor& made, description& out) {
  out.accepts = true;
  out.after.push_back(made);
  out.pass_by(value);
  out.depends[0] = 1;
}

// Describes a block whose result is made element by element: its chains make tensors of one shape.
constexpr void join_alike(const value_list& value, std::span<const description> chains, description& out) {
  for (const description& chain : chains)
    if (!makes_one_tensor(chain) || !(chain.after[0] == chains[0].after[0])) return;
  describe_one_tensor(value, chains[0].after[0], out);
}

// Runs the backward of chain c, after those of the later chains. The last chain writes the gradient of the input. The first
// layer of any other chain adds to it, or else the block does, as add_chain() counts it.
template <class Queue, class Chains, class Frame>
void backward_in_turn(Queue& queue, const Chains& chains, std::size_t c, Frame inside) {
  const auto& chain = chains[c];
  auto* const sum = c + 1 < chains.size() ? inside.input_gradients[0] : nullptr;
  auto* const part = inside.in_workspace();
  const std::size_t bytes = gradient_beside(chain.code->ends, chain.input_bytes());
  if (sum != nullptr && bytes == 0) inside.gradient_addend = sum;
  else if (sum != nullptr) inside.input_gradients = one_tensor(part);
  if (c + 1 < chains.size()) inside.workspace += bytes;
  backward_chain(queue, chain, inside);
  if (sum != nullptr && bytes > 0) add(queue, (*chain.code->inputs)[0].elements(inside.rows), sum, sum, part);
}

} // namespace cairn::detail
