// SPDX-License-Identifier: MIT
// long to compile
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include <cairn/core/bfloat16.hpp>
#include <cairn/core/error.hpp>
#include <cairn/layer/dropout.hpp>
#include <cairn/layer/embedding.hpp>
#include <cairn/layer/gelu.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/rms_norm.hpp>
#include <cairn/layer/rotary_embedding.hpp>
#include <cairn/layer/sinusoidal_positions.hpp>
#include <cairn/layer/tanh_gelu.hpp>
#include <cairn/net/checkpoint.hpp>
#include <cairn/net/multihead_attention.hpp>
#include <cairn/net/residual.hpp>
#include <cairn/net/sequential.hpp>
#include <cairn/net/transformer_encoder_layer.hpp>
#include <cairn/net/transformers.hpp>
#include <cairn/ops/matmul/packed_weight.hpp>
#include <cairn/train/model.hpp>
#include <cairn/train/text/text_session.hpp>
#include <doctest/doctest.h>

#include "weights_of_text.hpp"

namespace text_session_tests {

using namespace cairn;
using testing::own_weights;
using testing::token_at;

namespace {

// The number of positions of a text at which the scores of a session, which takes `together` tokens at a time, are other bits than
// those of the whole network. Tokens that are not there yet are other ones each time.
template <class Net, class T = float>
std::size_t differences(std::size_t together, std::size_t threads = 1, ops::weight_format weights = ops::weight_format::own) {
  model<Net, batch<2>, T> net{{.weights = weights}};
  own_weights(net);
  using session_type = text::session<model<Net, batch<2>, T>>;
  constexpr std::size_t capacity = session_type::capacity;
  session_type own(net, {.threads = threads});
  std::array<std::int32_t, capacity> tokens{};
  for (std::size_t t = 0; t < capacity; ++t) tokens[t] = token_at(t, session_type::vocabulary);
  std::vector<typename session_type::number> before;
  std::size_t different = 0;
  while (own.size() < capacity) {
    const std::size_t begin = own.size(), count = std::min(together, capacity - begin);
    const auto scores = own.take(std::span(tokens).subspan(begin, count));
    REQUIRE(own.size() == begin + count);
    std::array<std::int32_t, capacity> seen = tokens;
    for (std::size_t t = own.size(); t < capacity; ++t)
      seen[t] = static_cast<std::int32_t>((t * begin) % session_type::vocabulary);
    const auto all = net.evaluate(seen);
    const auto* const expected = all.data() + (own.size() - 1) * session_type::vocabulary;
    if (!std::equal(scores.begin(), scores.end(), expected)) ++different;
    if (before == std::vector(scores.begin(), scores.end())) ++different; // each token changes the scores
    before.assign(scores.begin(), scores.end());
  }
  return different;
}

// The same for tokens one by one, some at a time, more at a time than a session evaluates together, and with two threads.
template <class Net, class T = float>
std::size_t all_differences() {
  return differences<Net, T>(1) + differences<Net, T>(5) + differences<Net, T>(37) + differences<Net, T>(1, 2);
}

template <class... Parts>
using reader = Sequential<Inputs<integers<40>>, Embedding<11, 24>, Parts..., Linear<24, 11>>;

} // namespace

TEST_CASE("text::session: the scores after each token are those of the whole network, bit for bit, for every type of elements") {
  using gpt = transformers::gpt2<13, 40, 32, 4, 2>;
  CHECK(all_differences<gpt>() == 0);
  CHECK(all_differences<gpt, double>() == 0);
  CHECK(all_differences<gpt, bfloat16>() == 0);
}

TEST_CASE("text::session: likewise with weights that are packed in fewer bytes") {
  using gpt = transformers::gpt2<13, 40, 32, 4, 2>;
  for (const auto format : {ops::weight_format::bfloat16, ops::weight_format::int8})
    CHECK(differences<gpt>(1, 1, format) + differences<gpt>(37, 2, format) == 0);
}

TEST_CASE("text::session: likewise for windows, shared key heads, sinusoidal and rotary positions, and stored probabilities") {
  using narrow = MultiheadAttention<24, 4, attention::window<9>, attention::key_heads<2>>;
  CHECK(all_differences<reader<SinusoidalPositions, narrow, RMSNorm<24>>>() == 0);
  using rotated =
      Sequential<Linear<24, 48>, RotaryEmbedding<4, 2>, attention::core<4, attention::causal, attention::key_heads<2>>>;
  CHECK(all_differences<reader<Residual<rotated>, GELU>>() == 0);
  CHECK(all_differences<reader<rotated>, double>() == 0);
  CHECK(all_differences<reader<MultiheadAttention<24, 3, attention::causal, attention::stored_probabilities>>>() == 0);
}

TEST_CASE("text::session: likewise with norms last, dropout, checkpoints and attention inside blocks") {
  using last = TransformerEncoderLayer<24, 4, 48, attention::causal, attention::dropout<percent<10>>, Dropout<percent<10>>>;
  CHECK(all_differences<reader<last, last>>() == 0);
  using inside = checkpoint<recompute_all,
                            Sequential<last, Residual<Sequential<RMSNorm<24>, MultiheadAttention<24, 2, attention::causal>>>>>;
  CHECK(all_differences<checkpoint<sqrt_n, reader<inside, last>>>() == 0);
}

TEST_CASE("text::session: what is kept is a constant, keys and values of each token, layer and key head") {
  using one = model<reader<MultiheadAttention<24, 4, attention::causal, attention::key_heads<2>>>, batch<1>>;
  static_assert(text::session<one>::kept_bytes == 40 * 2 * (2 * 6) * sizeof(float));
  static_assert(text::session<one>::capacity == 40 && text::session<one>::vocabulary == 11);
  using two = model<transformers::gpt2<13, 8, 32, 4, 3>, batch<1>, bfloat16>;
  static_assert(text::session<two>::kept_bytes == 3 * 8 * 2 * 32 * sizeof(bfloat16));
}

TEST_CASE("text::session: clear() begins a new text, which knows nothing of the one before and has new weights") {
  using net_type = transformers::gpt2<13, 8, 32, 4, 1>;
  model<net_type, batch<1>> net;
  own_weights(net);
  text::session own(net);
  const std::array<std::int32_t, 3> first{1, 2, 3}, second{4, 5, 6};
  const auto scores_of = [&](const auto& tokens) {
    own.clear();
    const auto scores = own.take(tokens);
    return std::vector(scores.begin(), scores.end());
  };
  const auto begun = scores_of(first);
  CHECK(scores_of(second) != begun);
  CHECK(scores_of(first) == begun);
  net.parameters()[0] += 1;
  CHECK(scores_of(first) != begun);
}

TEST_CASE("text::session: no token, more than there is room for, and one that is none are refused, and nothing is taken") {
  model<transformers::gpt2<13, 8, 32, 4, 1>, batch<1>> net;
  own_weights(net);
  text::session own(net), other(net);
  CHECK_THROWS_WITH_AS(own.take({}), doctest::Contains("expected 1 to 8 tokens after the 0 that were taken, found 0"),
                       input_error);
  own.take(std::array<std::int32_t, 6>{1, 2, 3, 4, 5, 6});
  CHECK_THROWS_WITH_AS(
      own.take(std::array<std::int32_t, 3>{1, 2, 3}),
      doctest::Contains("expected 1 to 2 tokens after the 6 that were taken, found 3; clear() begins a new text"), input_error);
  CHECK_THROWS_AS(own.take(std::array<std::int32_t, 2>{7, 13}), error);
  CHECK(own.size() == 6);
  const auto scores = own.take(std::array<std::int32_t, 2>{7, 8});
  const auto expected = other.take(std::array<std::int32_t, 8>{1, 2, 3, 4, 5, 6, 7, 8});
  CHECK(std::equal(scores.begin(), scores.end(), expected.begin()));
}

} // namespace text_session_tests
