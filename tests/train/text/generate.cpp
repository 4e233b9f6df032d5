// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/net/transformers.hpp>
#include <cairn/train/model.hpp>
#include <cairn/train/text/generate.hpp>
#include <doctest/doctest.h>

#include "weights_of_text.hpp"

namespace generate_tests {

using namespace cairn;
using testing::own_weights;
using tokens_type = std::vector<std::int32_t>;

namespace {

using gpt = transformers::gpt2<13, 16, 32, 4, 2>;
constexpr std::size_t capacity = 16, vocabulary = 13;

// What text::generate() says that it writes, without anything that is kept: the whole network looks at the whole window each time.
tokens_type written_plainly(const model<gpt, batch<1>>& net, const tokens_type& prompt, const types::generate_options& how) {
  tokens_type window(prompt.end() - static_cast<std::ptrdiff_t>(std::min(prompt.size(), capacity)), prompt.end()), out;
  detail::drawn_tokens tokens(vocabulary, how);
  while (out.size() < how.tokens) {
    if (window.size() > capacity) window.erase(window.begin(), window.end() - capacity / 2);
    tokens_type seen = window;
    seen.resize(capacity);
    const auto all = net.evaluate(seen);
    out.push_back(tokens.draw(std::span(all.data() + (window.size() - 1) * vocabulary, vocabulary), out.size()));
    window.push_back(out.back());
  }
  return out;
}

} // namespace

TEST_CASE(
    "text::generate: a text is the one without anything kept, also from a long prompt, and where it goes on from half a window") {
  model<gpt, batch<1>> net;
  own_weights(net);
  tokens_type longer;
  for (std::size_t t = 0; t < 21; ++t) longer.push_back(testing::token_at(t, vocabulary));
  for (const tokens_type& prompt : {tokens_type{3}, tokens_type{1, 2, 3, 4}, longer})
    for (const types::generate_options& how : {types::generate_options{.tokens = 50, .seed = 1},
                                               types::generate_options{.tokens = 50, .temperature = 0.5, .top_k = 4, .seed = 2},
                                               types::generate_options{.tokens = 50, .top_p = 0.7, .seed = 3},
                                               types::generate_options{.tokens = 50, .temperature = 0}})
      CHECK(text::generate(net, prompt, how) == written_plainly(net, prompt, how));
}

TEST_CASE("text::generate: a seed is a text, on any number of threads and with any batch of the model") {
  model<gpt, batch<1>> net;
  model<gpt, batch<4>> other;
  own_weights(net);
  own_weights(other);
  const tokens_type prompt{5, 6};
  const tokens_type one = text::generate(net, prompt, {.tokens = 40, .seed = 1});
  CHECK(one.size() == 40);
  CHECK(text::generate(net, prompt, {.tokens = 40, .seed = 1, .threads = 2}) == one);
  CHECK(text::generate(other, prompt, {.tokens = 40, .seed = 1}) == one);
  CHECK(text::generate(net, prompt, {.tokens = 40, .seed = 2}) != one);
  CHECK(text::generate(net, prompt, {.tokens = 9, .seed = 1}) == tokens_type(one.begin(), one.begin() + 9));
}

TEST_CASE("text::generate: the text ends before its end token, and when the one who is told says so") {
  model<gpt, batch<1>> net;
  own_weights(net);
  const tokens_type prompt{5, 6};
  const tokens_type all = text::generate(net, prompt, {.tokens = 40, .seed = 4});
  const std::int32_t end = all[7];
  const auto first = std::find(all.begin(), all.end(), end);
  CHECK(text::generate(net, prompt, {.tokens = 40, .seed = 4, .end_of_text = end}) == tokens_type(all.begin(), first));
  tokens_type told;
  CHECK(text::generate(net, prompt, {.tokens = 40, .seed = 4}, [&](std::int32_t token) {
          told.push_back(token);
          return told.size() < 5;
        }) == tokens_type(all.begin(), all.begin() + 5));
  CHECK(told == tokens_type(all.begin(), all.begin() + 5));
  told.clear();
  text::generate(net, prompt, {.tokens = 6, .seed = 4}, [&](std::int32_t token) { told.push_back(token); });
  CHECK(told == tokens_type(all.begin(), all.begin() + 6));
}

TEST_CASE("text::generate: an empty prompt, options out of range and scores that are no numbers are refused") {
  model<gpt, batch<1>> net;
  own_weights(net);
  const tokens_type prompt{1};
  CHECK_THROWS_WITH_AS(text::generate(net, tokens_type{}), doctest::Contains("a prompt of at least one token, found none"),
                       input_error);
  CHECK_THROWS_WITH_AS(text::generate(net, prompt, {.temperature = -1}), doctest::Contains(".temperature of 0 or more, found -1"),
                       input_error);
  CHECK_THROWS_AS(text::generate(net, prompt, {.temperature = std::numeric_limits<double>::quiet_NaN()}), input_error);
  CHECK_THROWS_WITH_AS(text::generate(net, prompt, {.top_p = 0}), doctest::Contains(".top_p above 0 and at most 1, found 0"),
                       input_error);
  CHECK_THROWS_AS(text::generate(net, prompt, {.top_p = 1.5}), input_error);
  CHECK_THROWS_WITH_AS(text::generate(net, prompt, {.vocabulary = 14}),
                       doctest::Contains(".vocabulary of 0 to the network's 13, found 14"), input_error);
  net.parameters()[0] = std::numeric_limits<float>::quiet_NaN();
  CHECK_THROWS_WITH_AS(text::generate(net, tokens_type{0}), doctest::Contains("found NaN at token"), error);
}

} // namespace generate_tests
