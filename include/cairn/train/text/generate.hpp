// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/train/text/drawn_tokens.hpp>
#include <cairn/train/text/text_session.hpp>

namespace cairn::text {

// Writes on after a prompt, which has one token or more: draws each token from the softmax of the scores of a text::session, and
// returns those that it wrote. A seed is a text, on any number of threads and with any batch of the model. told(token), if it is
// given, gets each token as soon as it is drawn, and stops the text by returning false.
//
//   model<GPT, batch<1>> net;
//   net.copy_parameters(train);
//   const std::vector<std::int32_t> written = text::generate(net, letters.encode("ROMEO:"), {.tokens = 500, .temperature = 0.8});
//   std::puts(letters.decode(written).c_str());
//
// A network sees a limited number T of tokens: of a longer prompt the last T, and when they are T, the text goes on from the last
// T / 2, which are taken anew. Throws input_error for an empty prompt and for an option that is out of range.
template <class Model, class Told>
std::vector<std::int32_t> generate(const Model& net, std::span<const std::int32_t> prompt, const types::generate_options& how,
                                   Told told) {
  using session_type = session<Model>;
  constexpr std::size_t capacity = session_type::capacity;
  if (prompt.empty())
    throw input_error("text::generate: expected a prompt of at least one token, found none; a line break begins a text");
  detail::drawn_tokens tokens(session_type::vocabulary, how);
  session_type own(net, {.threads = how.threads});
  std::vector<std::int32_t> all(prompt.end() - static_cast<std::ptrdiff_t>(std::min(prompt.size(), capacity)), prompt.end());
  const std::size_t written = all.size();
  std::span<const std::int32_t> next = all;
  while (all.size() < written + how.tokens) {
    if (next.size() > capacity - own.size()) {
      own.clear();
      next = std::span(all).last(std::max<std::size_t>(1, capacity / 2));
    }
    const std::int32_t token = tokens.draw(own.take(next), all.size() - written);
    if (token == how.end_of_text) break;
    all.push_back(token);
    if constexpr (requires {
                    { told(token) } -> std::convertible_to<bool>;
                  }) {
      if (!told(token)) break;
    } else {
      told(token);
    }
    next = std::span(all).last(1);
  }
  all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(written));
  return all;
}
template <class Model>
std::vector<std::int32_t> generate(const Model& net, std::span<const std::int32_t> prompt,
                                   const types::generate_options& how = {}) {
  return generate(net, prompt, how, [](std::int32_t) {});
}

} // namespace cairn::text
