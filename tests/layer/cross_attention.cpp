// SPDX-License-Identifier: MIT
#include <cairn/layer/cross_attention.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include <cairn/core/tensor_types.hpp>
#include <cairn/layer/gradient_check.hpp>
#include <cairn/ops/cpu.hpp>
#include <doctest/doctest.h>

#include "alone.hpp"
#include "given.hpp"

namespace cross_attention_layer_tests {

using namespace cairn;
using attention::added_mask;
using attention::causal;
using attention::cross_core;
using attention::dropout;
using attention::key_heads;
using attention::key_lengths;
using attention::window;

constexpr tensor mask = constant<3, 5>::value, length = integer_constant<>::value;

static_assert(layer<cross_core<2>>);
static_assert(cross_core<2>::accepts(given{{5, 4}, {7, 8}}) && !cross_core<2>::accepts(given{{5, 4}, {7, 4}}));
static_assert(!cross_core<2>::accepts(given{{5, 3}, {7, 6}}) && !cross_core<2>::accepts(given{{4}, {7, 8}}));
static_assert(cross_core<4, key_heads<2>>::accepts(given{{5, 8}, {7, 8}}));
static_assert(!cross_core<2>::accepts(given{{5, 4}, {131073, 8}}) && !cross_core<2>::accepts(given{{5, 4}, {8}}));
static_assert(!cross_core<2>::accepts(given{{5, 4}, tensor{7, 8}.of(element::int32)}));
static_assert(cross_core<2, key_lengths>::accepts(given({{3, 4}, {5, 8}}, {length})));
static_assert(!cross_core<2, key_lengths>::accepts(given{{3, 4}, {5, 8}}));
static_assert(cross_core<2, added_mask>::accepts(given({{3, 4}, {5, 8}}, {mask})));
static_assert(cross_core<2, added_mask>::lacks_constant(given({{5, 4}, {3, 8}}, {mask})));
static_assert(!cross_core<2, attention::stored_probabilities>::options_are_right);
static_assert(cross_core<2>::outputs(given{{5, 4}, {7, 8}}) == tensor{5, 4});
static_assert(cross_core<2>::tape(given{{5, 4}, {7, 8}}) == tensor_list{tensor{2, 5}.of(element::accumulated)});
static_assert(cross_core<2>::workspace(given{{5, 4}, {7, 8}}, pass::backward).size() == 0);
static_assert(cross_core<2>::workspace(given{tensor{5, 4}.constant(), {7, 8}}, pass::backward) == tensor_list{{5, 4}});
static_assert(cross_core<2>::workspace(given{{5, 4}, tensor{7, 8}.constant()}, pass::backward) == tensor_list{{7, 8}});

namespace {

// The layer with memory for a gradient that is not wanted, which the gradient checker asks for.
template <class Core>
struct lent : Core {
  static constexpr tensor_list workspace(const arguments& in, pass why) {
    if (why != pass::backward) return {};
    return {tensor(in[0].extents), tensor(in[1].extents)};
  }
  template <class T>
  static void backward(cpu::queue& queue, const backward_call<T>& call) {
    if (!call.input_gradients) return;
    backward_call<T> both = call;
    both.input_gradients = call.workspace;
    Core::backward(queue, both);
    for (std::size_t k = 0; k < 2; ++k)
      if (call.input_gradients[k] != nullptr)
        std::copy_n(call.workspace[k], call.rows * call.in(k).size(), call.input_gradients[k]);
  }
};
template <class Core>
std::string fault(const tensor& queries, const tensor& keys) {
  return gradient_fault<lent<Core>>({queries, keys});
}

// A mask of a program's own.
struct nearby {
  static constexpr ops::key_band keys{.before = 1, .after = 2};
};

// The pairs of a band, one by one.
constexpr bool are_counted(std::size_t queries, std::size_t keys, const ops::key_band& band) {
  std::size_t sum = 0;
  for (std::size_t i = 0; i < queries; ++i) sum += band.end(i, keys) - band.begin(i, keys);
  return detail::pairs_in_band(queries, keys, band) == sum;
}
template <class... Masks>
constexpr bool are_counted() {
  bool all = true;
  for (std::size_t queries = 1; queries < 9; ++queries)
    for (std::size_t keys = 1; keys < 9; ++keys) all = all && (are_counted(queries, keys, Masks::keys) && ...);
  return all;
}

} // namespace

static_assert(are_counted<attention::full, causal, window<1>, window<2>, window<5>, nearby>());
static_assert(cross_core<1>::flops(given{{5, 2}, {7, 4}}).forward == 35 * (2 * 2 * 2 + 20));
static_assert(cross_core<3, causal>::flops(given{{5, 6}, {3, 12}}).backward == 3 * (1 + 2 + 3 + 3 + 3) * (5 * 2 * 2 + 25));

TEST_CASE("cross_core: gradients, for more queries than keys and for fewer") {
  CHECK(fault<cross_core<2>>({3, 4}, {5, 8}) == "");
  CHECK(fault<cross_core<2>>({5, 4}, {2, 8}) == "");
  CHECK(fault<cross_core<1>>({1, 2}, {1, 4}) == "");
  CHECK(fault<cross_core<4, key_heads<2>>>({3, 8}, {4, 8}) == "");
  CHECK(fault<cross_core<2, causal>>({3, 4}, {5, 8}) == "");
  CHECK(fault<cross_core<2, causal, key_heads<1>>>({5, 4}, {3, 4}) == "");
  CHECK(fault<cross_core<1, nearby>>({6, 2}, {3, 4}) == "");      // the last query has no key
  CHECK(fault<cross_core<1, window<3>>>({35, 1}, {34, 2}) == ""); // more than a strip
}

TEST_CASE("cross_core: gradients with dropout, and with constants: the last that fit") {
  CHECK(fault<cross_core<2, dropout<percent<40>>>>({3, 4}, {5, 8}) == "");
  using masked = lent<cross_core<2, key_lengths, added_mask, dropout<percent<20>>>>;
  CHECK(gradient_fault<masked>({{3, 4}, {5, 8}}, {mask, length}) == "");
  CHECK(gradient_fault<masked>({{3, 4}, {5, 8}}, {batch_constant<2, 3, 5>::value, length}) == "");
}

TEST_CASE("cross_core: the lengths of its memory are the network's last, as those of the other sequence may be the first") {
  const auto output = [](std::int32_t first, std::int32_t last) {
    alone<cross_core<1, key_lengths>, double> own({{2, 1}, {3, 2}}, 1, {length, length});
    own.constants.view().integers(0)[0] = first;
    own.constants.view().integers(1)[0] = last;
    return own.forward(own.some_inputs()).values();
  };
  CHECK(output(1, 3) == output(2, 3));
  CHECK(output(1, 3) != output(1, 2));
}

TEST_CASE("cross_core: one of the two has no gradient, and one gradient alone is refused") {
  CHECK(gradient_fault<cross_core<2>>({{3, 4}, tensor{5, 8}.constant()}) == "");
  CHECK(gradient_fault<cross_core<2, causal>>({tensor{3, 4}.constant(), {5, 8}}) == "");
  CHECK_THROWS_WITH_AS(gradient_fault<cross_core<2>>({{3, 4}, {5, 8}}), doctest::Contains("the gradients of both tensors"),
                       error);
}

} // namespace cross_attention_layer_tests
