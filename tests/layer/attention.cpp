// SPDX-License-Identifier: MIT
#include <cairn/layer/attention.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include <cairn/layer/gradient_check.hpp>
#include <cairn/ops/cpu.hpp>
#include <doctest/doctest.h>

#include "given.hpp"
#include "reference_check.hpp"

namespace attention_layer_tests {

using namespace cairn;
using attention::core;
using attention::key_heads;
using attention::stored_probabilities;

static_assert(layer<core<2>>);
static_assert(core<2>::accepts(given{{5, 12}}) && !core<2>::accepts(given{{5, 10}}) && !core<2>::accepts(given{{12}}));
static_assert(core<4, key_heads<2>>::accepts(given{{5, 16}}) && !core<4, key_heads<2>>::accepts(given{{5, 12}}));
static_assert(!core<2>::accepts(given{{131073, 6}}) && !core<2>::accepts(given{{tensor{5, 12}.of(element::int32)}}));
static_assert(core<2>::outputs(given{{5, 12}}) == tensor{5, 4} && core<4, key_heads<1>>::outputs(given{{5, 12}}) == tensor{5, 8});
static_assert(core<3>::tape(given{{5, 18}}) == tensor_list{tensor{3, 5}.of(element::accumulated)});

static_assert(core<3, stored_probabilities>::tape(given{{5, 18}}) == tensor_list{tensor{3, 5, 5}});

// A mask of a program's own.
struct nearby {
  static constexpr ops::key_band keys{.before = 1, .after = 1};
};

// Pairs of 5 tokens, with 2 columns a head: 2 products of 2 pairs 2 operations, and 20 for softmax.
static_assert(core<1>::flops(given{{5, 6}}).forward == 25 * (2 * 2 * 2 + 20));
static_assert(core<1, attention::causal>::flops(given{{5, 6}}).forward == 15 * (2 * 2 * 2 + 20));
static_assert(core<3, attention::window<2>>::flops(given{{5, 18}}).forward == 3 * 9 * (2 * 2 * 2 + 20));
static_assert(core<1, nearby>::flops(given{{5, 6}}).backward == 13 * (5 * 2 * 2 + 25));
static_assert(core<1, attention::window<2>>::flops(given{{1, 6}}).forward == 1 * (2 * 2 * 2 + 20));
static_assert(core<1, attention::causal, stored_probabilities>::flops(given{{5, 6}}).forward == 15 * (2 * 2 * 2 + 21));
static_assert(core<1, nearby, stored_probabilities>::flops(given{{5, 6}}).backward == 13 * (4 * 2 * 2 + 5));

TEST_CASE("attention: gradients") {
  CHECK(gradient_fault<core<2>>({{3, 12}}) == "");
  CHECK(gradient_fault<core<1, attention::causal>>({{1, 6}}) == "");
  CHECK(gradient_fault<core<2, attention::causal>>({{5, 6}}) == "");
  CHECK(gradient_fault<core<2, attention::window<2>>>({{4, 12}}) == "");
  CHECK(gradient_fault<core<4, key_heads<2>, attention::causal>>({{3, 16}}) == "");
  CHECK(gradient_fault<core<2, key_heads<1>, nearby>>({{5, 8}}) == "");
  CHECK(gradient_fault<core<1, attention::window<3>>>({{35, 3}}) == ""); // more than a strip
}

TEST_CASE("attention: gradients with stored probabilities") {
  CHECK(gradient_fault<core<2, stored_probabilities>>({{3, 12}}) == "");
  CHECK(gradient_fault<core<1, attention::causal, stored_probabilities>>({{1, 6}}) == "");
  CHECK(gradient_fault<core<4, stored_probabilities, key_heads<2>, attention::causal>>({{3, 16}}) == "");
  CHECK(gradient_fault<core<1, attention::window<3>, stored_probabilities>>({{35, 3}}) == ""); // more than a strip
}

TEST_CASE("attention: PyTorch's numbers") {
  CHECK(distance_from_torch<core<4, key_heads<2>, attention::causal>, double>("attention_core", {9, 24}) < 1e-13);
  CHECK(distance_from_torch<core<4, key_heads<2>, attention::causal>, float>("attention_core", {9, 24}) < 5e-6);
  CHECK(distance_from_torch<core<3, key_heads<1>, attention::window<5>>, double>("attention_core_window", {33, 10}) < 1e-13);
  CHECK(distance_from_torch<core<3, key_heads<1>, attention::window<5>>, float>("attention_core_window", {33, 10}) < 5e-6);
  using stored = core<4, stored_probabilities, key_heads<2>, attention::causal>;
  CHECK(distance_from_torch<stored, double>("attention_core", {9, 24}) < 1e-13);
  CHECK(distance_from_torch<stored, float>("attention_core", {9, 24}) < 5e-6);
}

namespace {

// Causal self-attention of rows of queries, keys and values, head after head, whose probabilities are its tape.
template <std::size_t Heads>
struct OwnAttention {
  static constexpr reads backward_reads = reads::input;
  static constexpr bool accepts(const arguments& in) { return in[0].rank() == 2 && in[0].last() % (3 * Heads) == 0; }
  static constexpr tensor outputs(const arguments& in) { return in[0].with_last(in[0].last() / 3); }
  static constexpr tensor_list tape(const arguments& in) { return tensor{Heads, in[0][0], in[0][0]}; }
  // For the derivatives, and for the probabilities if no backward follows.
  static constexpr tensor_list workspace(const arguments& in, pass why) {
    if (why == pass::backward || why == pass::evaluate) return tape(in);
    return {};
  }

  // A head of a sample.
  struct one {
    std::size_t sample, head, tokens, width; // the columns of a head
    one(const auto& call, std::size_t part)
        : sample(part / Heads), head(part % Heads), tokens(call.in(0)[0]), width(call.in(0).last() / (3 * Heads)) {}

    // Its columns of rows that have `kinds` times those of all heads; the queries are kind 0, the keys 1 and the values 2.
    template <class T>
    ops::matrix<T> columns(T* rows, std::size_t kind, std::size_t kinds = 3) const {
      const std::size_t stride = kinds * Heads * width;
      return {rows + sample * tokens * stride + (kind * Heads + head) * width, tokens, width, stride};
    }
    template <class T>
    ops::matrix<T> square(T* all) const {
      return {all + (sample * Heads + head) * tokens * tokens, tokens, tokens};
    }
    template <class T>
    T scale() const {
      return 1 / std::sqrt(static_cast<T>(width));
    }
  };

  template <std::floating_point T>
  static void forward(cpu::queue& queue, const forward_call<T>& call) {
    queue.parallel_for(call.rows * Heads, [&](std::size_t part, std::span<std::byte> scratch) {
      const one o(call, part);
      const T* const x = call.inputs[0];
      const auto products = scratch.last(ops::matmul_scratch_bytes);
      const ops::matrix<T> p = o.square(call.tape ? call.tape[0] : call.workspace[0]);
      ops::matmul_in_part(products, p, o.columns(x, 0), o.columns(x, 1), ops::transpose::second);
      for (std::size_t i = 0; i < o.tokens; ++i)
        std::fill(&p(i, i) + 1, &p(i, 0) + o.tokens, -std::numeric_limits<T>::infinity());
      ops::softmax_in_part(p, o.template scale<T>());
      ops::matmul_in_part(products, o.columns(call.outputs[0], 0, 1), p, o.columns(x, 2), ops::transpose::none);
    });
  }
  template <std::floating_point T>
  static void backward(cpu::queue& queue, const backward_call<T>& call) {
    if (!call.input_gradients) return;
    queue.parallel_for(call.rows * Heads, [&](std::size_t part, std::span<std::byte> scratch) {
      const one o(call, part);
      const T* const x = call.inputs[0];
      T* const dx = call.input_gradients[0];
      const auto products = scratch.last(ops::matmul_scratch_bytes);
      const ops::matrix<const T> p = o.square(call.tape[0]), dy = o.columns(call.output_gradients[0], 0, 1);
      const ops::matrix<T> ds = o.square(call.workspace[0]);
      ops::matmul_in_part(products, o.columns(dx, 2), p, dy, ops::transpose::first);
      ops::matmul_in_part(products, ds, dy, o.columns(x, 2), ops::transpose::second);
      ops::softmax_gradient_in_part(ds, p, o.template scale<T>());
      ops::matmul_in_part(products, o.columns(dx, 0), ds, o.columns(x, 1), ops::transpose::none);
      ops::matmul_in_part(products, o.columns(dx, 1), ds, o.columns(x, 0), ops::transpose::first);
    });
  }
};

// The largest difference of the outputs and the input gradients of two layers.
template <class A, class B, class T>
double distance_of(const tensor& in, std::size_t rows) {
  alone<A, T> a(in, rows);
  alone<B, T> b(in, rows);
  const auto x = a.some_inputs();
  const auto dy = a.some_outputs();
  const auto y = a.forward(x), other = b.forward(x);
  const auto wide = [](const std::vector<T>& v) { return std::vector<double>(v.begin(), v.end()); };
  return std::max(largest_difference(y.values(), wide(other.values())),
                  largest_difference(a.backward(x, y, dy).values(), wide(b.backward(x, other, dy).values())));
}

} // namespace

TEST_CASE("attention: one of a program's own, by products and rows of softmax within a part, is the library's") {
  CHECK(gradient_fault<OwnAttention<2>>({{5, 12}}) == "");
  CHECK(gradient_fault<OwnAttention<1>>({{1, 3}}) == "");
  for (const std::size_t tokens : {1U, 20U, 70U}) {
    CHECK(distance_of<OwnAttention<3>, core<3, attention::causal>, double>({tokens, 36}, 2) < 1e-13);
    CHECK(distance_of<OwnAttention<3>, core<3, attention::causal>, float>({tokens, 36}, 2) < 1e-5);
  }
}

} // namespace attention_layer_tests
