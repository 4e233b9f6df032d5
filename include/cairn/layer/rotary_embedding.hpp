// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/layer/kept_tokens.hpp>
#include <cairn/layer/layer.hpp>
#include <cairn/ops/rotation/rotation.hpp>

namespace cairn::detail {

struct rotary_message {
  template <class Layer>
  static constexpr bool right() {
    static_assert(Layer::options_are_right,
                  "RotaryEmbedding: it needs at least one head, as many query heads as key heads or a multiple of that, a base "
                  "above 1 and an even number of rotated elements; write RotaryEmbedding<Heads> or RotaryEmbedding<Heads, "
                  "KeyHeads, Base, Rotated>");
    return Layer::options_are_right;
  }
};

} // namespace cairn::detail

namespace cairn {

// Rotates the queries and the keys of attention by their positions (Su et al.: RoFormer, 2021. arXiv:2104.09864), between the
// projection that makes them and the attention. A sequence is (T, (Heads + 2 KeyHeads) D): Heads queries of D elements, KeyHeads
// keys, KeyHeads values. Values pass unchanged.
//
// Element i of a head and element i + R / 2 are a pair, as in GPT-NeoX and Llama of Hugging Face (rotate_half), not neighbours as
// in the paper and in Meta's files. At position t, from 0 on, it turns by t Base^(-2i / R) radians. R is Rotated, or D for 0;
// elements of a head from R on pass unchanged (rotary_pct of GPT-NeoX).
//
// Nothing is learnt or kept: sines are computed in double at each call, once for all samples and heads. Backward rotates the
// gradient back.
template <std::size_t Heads, std::size_t KeyHeads = Heads, std::size_t Base = 10000, std::size_t Rotated = 0>
struct RotaryEmbedding : detail::rotary_message {
  static constexpr bool options_are_right = Heads > 0 && KeyHeads > 0 &&
                                            Heads % (KeyHeads > 0 ? KeyHeads : 1) == 0 && Base > 1 && Rotated % 2 == 0;

  static constexpr reads backward_reads = reads::nothing;
  static constexpr bool in_place = true;
  static constexpr bool takes_tokens_apart = true;

  static constexpr bool accepts(const arguments& in) {
    if (!in[0].is_real() || in[0].rank() != 2 || in[0].last() % all_heads != 0) return false;
    const ops::rotation how = rotation_of(in[0]);
    return how.turned > 0 && how.turned % 2 == 0 && how.turned <= how.width;
  }
  static constexpr tensor outputs(const arguments& in) { return in[0]; }
  // Four products and two sums of each pair.
  static constexpr work flops(const arguments& in) {
    const ops::rotation how = rotation_of(in[0]);
    const std::size_t operations = 3 * how.length * how.heads * how.turned;
    return {operations, operations, operations};
  }

  template <class T, detail::rotation_runs_on<T> Queue>
  static void forward(Queue& queue, const forward_call<T>& call) {
    const ops::rotation how = rotation_of(call.in(0));
    const std::size_t first = detail::first_position(call);
    if constexpr (detail::keeps_tokens_on<Queue>) rotate(queue, how, false, call.rows, call.outputs[0], call.inputs[0], first);
    else rotate(queue, how, false, call.rows, call.outputs[0], call.inputs[0]);
  }

  template <class T, detail::rotation_runs_on<T> Queue>
  static void backward(Queue& queue, const backward_call<T>& call) {
    if (!call.input_gradients) return;
    rotate(queue, rotation_of(call.in(0)), true, call.rows, call.input_gradients[0], call.output_gradients[0]);
  }

private:
  static constexpr std::size_t all_heads = Heads + 2 * KeyHeads;
  static constexpr ops::rotation rotation_of(const tensor& in) {
    const std::size_t width = in.last() / (all_heads > 0 ? all_heads : 1);
    return {in[0], in.last(), Heads + KeyHeads, width, Rotated > 0 ? Rotated : width, static_cast<double>(Base)};
  }
};

} // namespace cairn
