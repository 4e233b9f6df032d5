// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <type_traits>

#include <cairn/core/explain.hpp>
#include <cairn/layer/layer.hpp>
#include <cairn/ops/attention/attention.hpp>

// Options of attention, and attention without its projections. MultiheadAttention (net/multihead_attention.hpp) has both.
namespace cairn::attention {

// Masks: the tokens that each token may look at. A mask of one's own is a type with such a member: the band of keys around the
// token's own place.
struct full { // all of them
  static constexpr ops::key_band keys{};
};
struct causal { // itself and those before it
  static constexpr ops::key_band keys{.after = 0};
};
// Itself and the N - 1 before it.
template <std::size_t N>
struct window {
  static constexpr ops::key_band keys{.before = N == 0 ? ops::most_keys : N - 1, .after = 0};
};

// The number of heads of keys and values, each of which several heads of queries share (Ainslie et al.: GQA. arXiv:2305.13245).
template <std::size_t Count>
struct key_heads {};

} // namespace cairn::attention

namespace cairn::detail {

template <class Option>
concept attention_mask = std::is_same_v<decltype(Option::keys), const ops::key_band>;

template <class Option>
inline constexpr ops::key_band band_of{};
template <attention_mask Option>
inline constexpr ops::key_band band_of<Option> = Option::keys;

template <class Option>
inline constexpr std::size_t key_heads_of = 0; // for a type that is no such option
template <std::size_t Count>
inline constexpr std::size_t key_heads_of<attention::key_heads<Count>> = Count;
template <class Option>
inline constexpr bool is_empty_window = false;
template <>
inline constexpr bool is_empty_window<attention::window<0>> = true;

// The options of an attention of so many heads.
template <std::size_t Heads, class... Options>
struct attention_options {
  static constexpr std::size_t masks = (std::size_t{0} + ... + (attention_mask<Options> ? 1 : 0));
  static constexpr std::size_t counts = (std::size_t{0} + ... + (key_heads_of<Options> > 0 ? 1 : 0));
  static constexpr std::size_t key_heads = counts == 0 ? Heads : (std::size_t{0} + ... + key_heads_of<Options>);
  static constexpr bool are_known = masks < 2 && counts < 2 && masks + counts == sizeof...(Options);
  static constexpr bool are_right = Heads > 0 && are_known&& Heads % key_heads == 0 && !(is_empty_window<Options> || ...);

  static constexpr ops::key_band band = [] {
    constexpr bool is_mask[] = {false, attention_mask<Options>...};
    constexpr ops::key_band bands[] = {{}, band_of<Options>...};
    ops::key_band found{};
    for (std::size_t k = 0; k <= sizeof...(Options); ++k)
      if (is_mask[k]) found = bands[k];
    return found;
  }();
};

struct attention_message {
  template <class Wrong>
  static constexpr bool right() {
    static_assert(
        is_right<Wrong>,
        "attention: its options are at most one mask (attention::full, causal, window<N> with N above 0) and at most one "
        "attention::key_heads<N>, where N divides the number of heads; write attention::core<8, attention::causal>");
    return false;
  }
};

} // namespace cairn::detail

namespace cairn::attention {

// Scaled dot-product attention of Heads heads, without parameters: (T, (Heads + 2 KeyHeads) D) becomes (T, Heads D). The columns of
// a row are the token's queries, head after head, then its keys, then its values, as a projection makes them; D follows from the
// input. It is torch's scaled_dot_product_attention without dropout, for the three parts of such a matrix.
//
// Kept for backward is one number for each token and head, which makes the probabilities again; the T x T matrix is never in
// memory, neither here nor in the plan.
template <std::size_t Heads, class... Options>
struct core : detail::attention_message {
  using options = detail::attention_options<Heads, Options...>;
  static constexpr bool options_are_right = options::are_right;
  static constexpr std::size_t key_heads = options_are_right ? options::key_heads : 1;
  static constexpr std::size_t parts = Heads + 2 * key_heads; // of a row, of D columns each

  static constexpr reads backward_reads = reads::both;

  static constexpr bool accepts(const arguments& in) {
    return in[0].is_real() && in[0].rank() == 2 && in[0].last() % parts == 0 && in[0].last() > 0 && in[0][0] <= ops::most_keys;
  }
  static constexpr tensor outputs(const arguments& in) { return in[0].with_last(in[0].last() / parts * Heads); }
  static constexpr tensor_list tape(const arguments& in) { return tensor{Heads, in[0][0]}.of(element::accumulated); }

  // Two products forward. Backward makes the scores again and has four more. Softmax is about 20 operations a score.
  static constexpr work flops(const arguments& in) {
    const std::size_t scores = Heads * scores_of(in[0][0]), product = 2 * scores * (in[0].last() / parts);
    return {2 * product + 20 * scores, 5 * product + 25 * scores, 5 * product + 25 * scores};
  }

  template <class T, detail::attention_runs_on<T> Queue>
  static void forward(Queue& queue, const forward_call<T>& call) {
    attention_forward(queue, extents(call), call.outputs[0], call.tape.sums(0), columns(call, call.inputs[0]));
  }

  template <class T, detail::attention_runs_on<T> Queue>
  static void backward(Queue& queue, const backward_call<T>& call) {
    if (!call.input_gradients) return;
    attention_backward(queue, extents(call), columns(call, call.input_gradients[0]), call.output_gradients[0], call.outputs[0],
                       call.tape.sums(0), columns(call, call.inputs[0]));
  }

private:
  // The number of pairs of tokens of which one looks at the other.
  static constexpr std::size_t scores_of(std::size_t tokens) {
    const std::size_t before = options::band.before < tokens ? options::band.before : tokens - 1;
    const std::size_t after = options::band.after < tokens ? options::band.after : tokens - 1;
    const auto outside = [tokens](std::size_t reach) { return (tokens - 1 - reach) * (tokens - reach) / 2; };
    return tokens * tokens - outside(before) - outside(after);
  }
  template <class Call>
  static ops::attention_extents extents(const Call& call) {
    const std::size_t tokens = call.in(0)[0];
    return {.samples = call.rows,
            .queries = tokens,
            .keys = tokens,
            .heads = Heads,
            .key_heads = key_heads,
            .width = call.in(0).last() / parts,
            .band = options::band};
  }
  template <class Call, class T>
  static ops::attention_operands<T> columns(const Call& call, T* rows) {
    const std::size_t stride = call.in(0).last(), width = stride / parts;
    return {rows, rows + Heads * width, rows + (Heads + key_heads) * width, stride, stride};
  }
};

} // namespace cairn::attention
