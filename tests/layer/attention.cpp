// SPDX-License-Identifier: MIT
#include <cairn/layer/attention.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <cairn/core/tensor_types.hpp>
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

// Dropout and constants.
using attention::added_mask;
using attention::causal;
using attention::dropout;
using attention::key_lengths;
constexpr tensor mask = constant<5, 5>::value, length = integer_constant<>::value;
static_assert(core<2, added_mask>::accepts(given({{5, 12}}, {mask})) && !core<2, added_mask>::accepts(given{{5, 12}}));
static_assert(core<2, added_mask>::accepts(given({{5, 12}}, {length, batch_constant<2, 5, 5>::value})));
static_assert(!core<2, added_mask>::accepts(given({{5, 12}}, {constant<3, 5, 5>::value})));
static_assert(core<2, key_lengths>::accepts(given({{5, 12}}, {mask, length})));
static_assert(!core<2, key_lengths>::accepts(given({{5, 12}}, {mask, integer_constant<5>::value})));
static_assert(core<2, added_mask>::lacks_constant(given({{5, 12}}, {length})));
static_assert(!core<2, key_lengths>::lacks_constant(given({{5, 10}}, {length})) && !core<2>::lacks_constant(given{{5, 12}}));
static_assert(core<2, dropout<percent<10>>>::flops(given{{5, 12}}).forward == core<2>::flops(given{{5, 12}}).forward + 20 * 50);
static_assert(core<2, dropout<percent<10>>>::tape(given{{5, 12}}) == core<2>::tape(given{{5, 12}})); // no mask is stored

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

TEST_CASE("attention: gradients with dropout and constants") {
  CHECK(gradient_fault<core<2, dropout<percent<30>>>>({{5, 12}}) == "");
  CHECK(gradient_fault<core<2, causal, dropout<percent<100>>>>({{3, 12}}) == "");
  CHECK(gradient_fault<core<1, dropout<percent<50>>>>({{1, 6}}) == "");
  CHECK(gradient_fault<core<2, added_mask>>({{5, 12}}, {mask}) == "");
  CHECK(gradient_fault<core<2, key_heads<1>, added_mask>>({{5, 8}}, {batch_constant<2, 5, 5>::value}) == "");
  CHECK(gradient_fault<core<2, key_lengths>>({{5, 12}}, {length}) == "");
  CHECK(gradient_fault<core<2, key_lengths, causal, added_mask, dropout<percent<30>>>>({{5, 12}}, {length, mask}) == "");
}

namespace {

// The largest distance from PyTorch's numbers of an attention whose network has one constant.
template <class Layer, class T, class Lend>
double distance_with_constant(const std::string& name, const tensor& in, const tensor& of_network, const Lend& lend) {
  const auto input = reference_numbers<T>(name + "/input");
  alone<Layer, T> own(in, input.size() / in.size(), of_network);
  auto x = own.some_inputs(), dy = own.some_outputs();
  x.assign(0, input);
  dy.assign(0, reference_numbers<T>(name + "/output_gradient"));
  lend(own);
  const auto y = own.forward(x);
  const auto dx = own.backward(x, y, dy);
  return std::max(largest_difference(y.values(), reference_values(name + "/output")),
                  largest_difference(dx.values(), reference_values(name + "/input_gradient")));
}
template <class T>
double distance_with_mask(const std::string& name, const tensor& in, const tensor& of_network) {
  return distance_with_constant<core<2, added_mask>, T>(name, in, of_network, [&](auto& own) {
    std::vector<T> numbers = reference_numbers<T>(name + "/mask");
    REQUIRE(numbers.size() == own.constants.size(0));
    for (T& x : numbers)
      if (x < T(-1e29)) x = -std::numeric_limits<T>::infinity();
    own.constants.assign(0, numbers);
  });
}
template <class T>
double distance_with_lengths() {
  return distance_with_constant<core<2, key_lengths>, T>("attention_lengths", {9, 12}, length, [](auto& own) {
    const std::vector<T> numbers = reference_numbers<T>("attention_lengths/lengths");
    for (std::size_t s = 0; s < 3; ++s) own.constants.view().integers(0)[s] = static_cast<std::int32_t>(numbers[s]);
  });
}

} // namespace

TEST_CASE("attention: PyTorch's numbers with masks that come with the data") {
  CHECK(distance_with_mask<double>("attention_added", {7, 18}, constant<7, 7>::value) < 1e-13);
  CHECK(distance_with_mask<float>("attention_added", {7, 18}, constant<7, 7>::value) < 5e-6);
  CHECK(distance_with_mask<double>("attention_added_of_heads", {34, 12}, batch_constant<2, 34, 34>::value) < 1e-13);
  CHECK(distance_with_mask<float>("attention_added_of_heads", {34, 12}, batch_constant<2, 34, 34>::value) < 5e-6);
  CHECK(distance_with_lengths<double>() < 1e-13);
  CHECK(distance_with_lengths<float>() < 5e-6);
}

TEST_CASE("attention: dropout drops nothing in an evaluation, and draws by seed, step and position") {
  alone<core<2, dropout<percent<50>>>, float> dropped({{40, 12}}, 2);
  alone<core<2>, float> plain({{40, 12}}, 2);
  const auto x = dropped.some_inputs();
  const auto whole = plain.forward(x), first = dropped.forward(x);
  CHECK(dropped.forward(x, {.why = pass::evaluate, .tape = false}).same_bits(whole));
  CHECK(!first.same_bits(whole));
  CHECK(dropped.forward(x, {.why = pass::recompute}).same_bits(first));
  const types::random_key key = dropped.random;
  for (const types::random_key& other :
       {types::random_key{key.seed + 1, key.step, key.position}, types::random_key{key.seed, key.step + 1, key.position},
        types::random_key{key.seed, key.step, key.position + 1}}) {
    dropped.random = other;
    CHECK(!dropped.forward(x).same_bits(first));
  }
}

} // namespace attention_layer_tests
