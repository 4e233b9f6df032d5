// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/core/random.hpp>

namespace cairn::types {

// Options of text::generate(), by name: text::generate(net, prompt, {.tokens = 500, .temperature = 0.8, .seed = 3}).
struct generate_options {
  std::size_t tokens = 100;      // to write, at most
  double temperature = 1;        // scores are divided by it; 0: always the token of the highest score
  std::size_t top_k = 0;         // draws from the so many most probable tokens; 0: from all
  double top_p = 1;              // draws from the fewest tokens whose probabilities are so much together
  std::size_t vocabulary = 0;    // draws from the first so many tokens, where a network has more than there are; 0: from all
  std::uint64_t seed = 0;        // a text for each
  std::int32_t end_of_text = -1; // the text ends before this token
  std::size_t threads = 1;       // inside one operation; 0 is one for each core
};

} // namespace cairn::types

namespace cairn::detail {

inline void check(const types::generate_options& how, std::size_t vocabulary) {
  const auto wrong = [](const char* option, const char* expected, double found) {
    throw input_error(std::string("text::generate: expected .") + option + expected + ", found " + std::to_string(found));
  };
  if (!(how.temperature >= 0) || std::isinf(how.temperature)) wrong("temperature", " of 0 or more", how.temperature);
  if (how.vocabulary > vocabulary)
    wrong("vocabulary", (" of 0 to the network's " + std::to_string(vocabulary)).c_str(), static_cast<double>(how.vocabulary));
  if (!(how.top_p > 0 && how.top_p <= 1)) wrong("top_p", " above 0 and at most 1", how.top_p);
}

// Draws tokens from scores. Of equal scores the one of the lower token comes first.
class drawn_tokens {
public:
  drawn_tokens(std::size_t vocabulary, const types::generate_options& how) : how_(how), order_(vocabulary), weights_(vocabulary) {
    check(how, vocabulary);
    if (how.vocabulary > 0) order_.resize(how.vocabulary), weights_.resize(how.vocabulary);
  }

  // `number` is that of the token in its text: each has random numbers of its own.
  template <class T>
  std::int32_t draw(std::span<const T> scores, std::uint64_t number) {
    scores = scores.first(order_.size());
    for (std::size_t i = 0; i < scores.size(); ++i)
      if (!(scores[i] == scores[i]))
        throw error("text::generate: expected numbers as scores, found NaN at token " + std::to_string(i) +
                    "; are the weights those of a training that went well?");
    std::iota(order_.begin(), order_.end(), 0);
    const auto before = [&](std::int32_t a, std::int32_t b) {
      const T x = scores[static_cast<std::size_t>(a)], y = scores[static_cast<std::size_t>(b)];
      return x > y || (x == y && a < b);
    };
    if (how_.temperature == 0) return *std::min_element(order_.begin(), order_.end(), before);
    std::size_t count = scores.size();
    if (how_.top_k > 0 && how_.top_k < count) {
      count = how_.top_k;
      std::partial_sort(order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(count), order_.end(), before);
    } else if (how_.top_p < 1) {
      std::sort(order_.begin(), order_.end(), before);
    }
    const auto score_of = [&](std::size_t k) { return static_cast<double>(scores[static_cast<std::size_t>(order_[k])]); };
    double greatest = score_of(0);
    for (std::size_t k = 1; k < count; ++k) greatest = std::max(greatest, score_of(k));
    double sum = 0;
    for (std::size_t k = 0; k < count; ++k) sum += weights_[k] = std::exp((score_of(k) - greatest) / how_.temperature);
    if (how_.top_p < 1) {
      const double wanted = how_.top_p * sum;
      sum = 0;
      for (std::size_t k = 0; k < count; ++k) {
        sum += weights_[k];
        if (sum >= wanted) count = k + 1;
      }
    }
    double left = sum * ops::random_uniform<double>({.seed = how_.seed, .step = 0, .position = 1}, number);
    std::size_t k = 0;
    while (k + 1 < count && (left -= weights_[k]) >= 0) ++k;
    return order_[k];
  }

private:
  types::generate_options how_;
  std::vector<std::int32_t> order_;
  std::vector<double> weights_;
};

} // namespace cairn::detail
