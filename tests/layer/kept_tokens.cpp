// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <cairn/layer/embedding.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/kept_tokens.hpp>
#include <cairn/layer/layer.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/net/residual.hpp>
#include <cairn/net/sequential.hpp>
#include <cairn/train/model.hpp>
#include <cairn/train/text/text_session.hpp>
#include <doctest/doctest.h>

namespace kept_tokens_tests {

using namespace cairn;

namespace {

// A layer of a user's own that looks at earlier tokens: the sums of all rows up to each. It keeps its last row.
struct SumsSoFar {
  static constexpr bool takes_tokens_apart = true;
  static constexpr reads backward_reads = reads::nothing;
  static constexpr bool accepts(const arguments& in) { return in[0].rank() == 2; }
  static constexpr tensor outputs(const arguments& in) { return in[0]; }
  static constexpr std::size_t keeps_per_token(const arguments& in) { return in[0].last(); }
  static constexpr work flops(const arguments& in) { return {in[0].size(), 0, in[0].size()}; }

  template <class Queue, class T>
  static void forward(Queue&, const forward_call<T>& call) {
    const std::size_t tokens = call.in(0)[0], width = call.in(0).last();
    for (std::size_t s = 0; s < call.rows; ++s)
      for (std::size_t t = 0; t < tokens; ++t)
        for (std::size_t j = 0; j < width; ++j) {
          const std::size_t at = (s * tokens + t) * width + j;
          T before = t > 0 ? call.outputs[0][at - width] : T{0};
          if (call.kept != nullptr && t == 0 && call.kept->taken > 0)
            before = call.kept->of(call.random.position)[(call.kept->taken - 1) * width + j];
          call.outputs[0][at] = before + call.inputs[0][at];
          if (call.kept != nullptr) call.kept->of(call.random.position)[(call.kept->taken + t) * width + j] = call.outputs[0][at];
        }
  }
  template <class Queue, class T>
  static void backward(Queue&, const backward_call<T>& call) {
    if (!call.input_gradients) return;
    const std::size_t tokens = call.in(0)[0], width = call.in(0).last();
    for (std::size_t s = 0; s < call.rows; ++s)
      for (std::size_t t = tokens; t-- > 0;)
        for (std::size_t j = 0; j < width; ++j) {
          const std::size_t at = (s * tokens + t) * width + j;
          call.input_gradients[0][at] =
              call.output_gradients[0][at] + (t + 1 < tokens ? call.input_gradients[0][at + width] : T{0});
        }
  }
};

} // namespace

TEST_CASE("kept_tokens: a layer of one's own keeps what it needs of earlier tokens, each in its own memory") {
  using net_type =
      Sequential<Inputs<integers<40>>, Embedding<7, 6>, SumsSoFar, Residual<Sequential<Linear<6, 6>, SumsSoFar>>, Linear<6, 7>>;
  const model<net_type, batch<1>> net{{.seed = 3}};
  using session_type = text::session<model<net_type, batch<1>>>;
  static_assert(session_type::kept_bytes == 2 * 40 * 6 * sizeof(float));
  std::array<std::int32_t, 40> tokens{};
  for (std::size_t t = 0; t < tokens.size(); ++t) tokens[t] = static_cast<std::int32_t>(t * t % 7);
  const auto all = net.evaluate(tokens);
  for (const std::size_t together : {std::size_t{1}, std::size_t{3}, std::size_t{36}}) {
    session_type own(net);
    while (own.size() < tokens.size()) {
      const auto scores = own.take(std::span(tokens).subspan(own.size(), std::min(together, tokens.size() - own.size())));
      CHECK(std::equal(scores.begin(), scores.end(), all.data() + (own.size() - 1) * 7));
    }
  }
}

TEST_CASE("kept_tokens: the first position is the number of tokens that were taken, and 0 where none are kept") {
  const std::array<std::size_t, 3> begin{0, 0, 12};
  std::array<float, 20> memory{};
  const detail::kept_tokens<float> kept{.taken = 5, .memory = memory.data(), .begin = begin.data()};
  CHECK(kept.of(1) == memory.data());
  CHECK(kept.of(2) == memory.data() + 12);
  forward_call<float> call;
  CHECK(detail::first_position(call) == 0);
  call.kept = &kept;
  CHECK(detail::first_position(call) == 5);
}

} // namespace kept_tokens_tests
