// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string_view>

#include <cairn/core/tensors.hpp>
#include <cairn/core/view.hpp>
#include <cairn/net/made_of.hpp>
#include <cairn/net/several_chains.hpp>
#include <cairn/ops/copy/copy.hpp>
#include <cairn/plan/policies.hpp>

namespace cairn {

// y = (f(x), g(x), ...) side by side along the last extent, as torch.cat of the branches with dim = -1. A branch is a layer
// or a Sequential; all of them take the first tensor, and their results differ in the last extent only.
//
// A branch whose last layer is strided (a Linear) writes into its columns of the result and reads their gradient there; the
// result of any other branch is copied. The gradient of the input is summed from the last branch to the first.
template <class... Branches>
struct Concat {};

} // namespace cairn

namespace cairn::detail {

struct concat_message {
  template <class Wrong>
  static constexpr bool right() {
    static_assert(is_right<Wrong>,
                  "Concat: it has at least one branch, no branch is empty, and each makes one tensor of its input; all "
                  "these tensors differ in their last extent only; see wrong_concat<type, what it takes>");
    return false;
  }
};

// A Concat whose branches do not fit together.
template <class Block, class Takes = void>
struct wrong_concat : concat_message {};

template <class... Branches>
struct made_of<Concat<Branches...>> {
  static constexpr part_kind as = part_kind::block;
  static constexpr std::string_view name = "Concat";
  static constexpr std::size_t branches = sizeof...(Branches);
  static constexpr bool is_right = branches > 0;
  using parts = pack<Branches...>;
  using policy = store_all;
  using wrong = wrong_concat<Concat<Branches...>>;
  using empty = wrong;
  template <class Takes, class...>
  using wrong_ends = wrong_concat<Concat<Branches...>, Takes>;
  template <class... Parts>
  using with = Concat<Parts...>;

  static constexpr void join(const value_list& value, const description* chains, description& out) {
    tensor sum = chains[0].after[0].with_last(0);
    for (std::size_t c = 0; c < branches; ++c) {
      const tensor& made = chains[c].after[0];
      if (!makes_one_tensor(chains[c]) || made.rank() == 0 || !(made.with_last(0) == sum.with_last(0))) return;
      sum = sum.with_last(sum.last() + made.last());
    }
    describe_one_tensor(value, sum, out);
  }

  static constexpr chain_ends ends(const element_facts&, const element_facts& last) {
    return {.output = last.strided && !last.as_stage.reads_output && !last.as_stage.in_place_forward};
  }

  static constexpr stage as_stage(const chain_facts* chains) {
    stage s = stage_without_chains();
    for (std::size_t c = 0; c < branches; ++c) // backward begins with the last branch, which writes where the others add
      add_chain(s, chains[c],
                {.backward = gradient_of_output(chains[c].ends, chains[c].output_bytes), .adds_gradient = c + 1 < branches});
    return s;
  }

  template <class Queue, class Chains, class Frame>
  static void forward(Queue& queue, const Chains& chains, const Frame& block, bool tape, bool output) {
    const std::size_t width = width_of(chains);
    std::size_t column = 0;
    for (const auto& chain : chains) {
      const tensor& own = (*chain.code->outputs)[0];
      Frame inside = chain.enter(block);
      inside.outputs = {};
      if (output && chain.code->ends.output) {
        inside.outputs = one_tensor(block.outputs[0] + column);
        inside.output_stride = width;
      }
      const auto made = forward_chain(queue, chain, inside, tape, output);
      if (output && !chain.code->ends.output)
        copy_matrix(queue, columns_of(block.outputs[0], block.rows, own, column, width),
                    matrix(made[0], block.rows * rows_of(own), own.last()));
      column += own.last();
    }
  }

  template <class Queue, class Chains, class Frame>
  static void backward(Queue& queue, const Chains& chains, const Frame& block) {
    const std::size_t width = width_of(chains);
    std::size_t column = width;
    for (std::size_t c = chains.size(); c-- > 0;) {
      const auto& chain = chains[c];
      const tensor& own = (*chain.code->outputs)[0];
      column -= own.last();

      Frame inside = chain.enter(block);
      inside.outputs = {};
      if (chain.code->ends.output) {
        inside.output_gradients = one_tensor(block.output_gradients[0] + column);
        inside.output_stride = width;
      } else {
        copy_matrix(queue, matrix(block.in_workspace(), block.rows * rows_of(own), own.last()),
                    columns_of(block.output_gradients[0], block.rows, own, column, width));
        inside.output_gradients = one_tensor<const typename Frame::element>(block.in_workspace());
      }
      inside.workspace += gradient_of_output(chain.code->ends, chain.output_bytes());
      backward_in_turn(queue, chains, c, inside);
    }
  }

private:
  // Bytes of workspace besides a chain's own in its backward: a contiguous copy of its output's gradient.
  static constexpr std::size_t gradient_of_output(const chain_ends& ends, std::size_t output_bytes) {
    return ends.output ? 0 : output_bytes;
  }

  static std::size_t rows_of(const tensor& t) { return t.size() / t.last(); } // of one sample
  template <class Chains>
  static std::size_t width_of(const Chains& chains) {
    std::size_t sum = 0;
    for (const auto& chain : chains) sum += (*chain.code->outputs)[0].last();
    return sum;
  }
  // The columns of one branch in the whole tensor.
  template <class T>
  static matrix<T> columns_of(T* whole, std::size_t rows, const tensor& own, std::size_t column, std::size_t width) {
    return {whole + column, rows * rows_of(own), own.last(), width};
  }
};

} // namespace cairn::detail
