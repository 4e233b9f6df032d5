// SPDX-License-Identifier: MIT
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <cairn/train/text/drawn_tokens.hpp>
#include <doctest/doctest.h>

namespace drawn_tokens_tests {

using namespace cairn;

namespace {

// How often each token is drawn from these scores, out of 4000 draws.
std::vector<std::size_t> counts(const std::vector<float>& scores, types::generate_options how) {
  how.seed = 7;
  detail::drawn_tokens tokens(scores.size(), how);
  std::vector<std::size_t> out(scores.size());
  for (std::uint64_t n = 0; n < 4000; ++n) ++out[static_cast<std::size_t>(tokens.draw(std::span<const float>(scores), n))];
  return out;
}

} // namespace

TEST_CASE("drawn_tokens: tokens come as often as their probabilities say") {
  const std::vector<float> scores{std::log(1.0F), std::log(4.0F), std::log(3.0F), std::log(2.0F)};
  const auto about = [](std::size_t count, double share) {
    return std::abs(static_cast<double>(count) - 4000 * share) < 4 * std::sqrt(4000 * share * (1 - share)) + 1;
  };
  const auto all = counts(scores, {});
  CHECK((about(all[0], 0.1) && about(all[1], 0.4) && about(all[2], 0.3) && about(all[3], 0.2)));
  const auto colder = counts(scores, {.temperature = 0.5}); // squares of the probabilities, 1 : 16 : 9 : 4
  CHECK((about(colder[0], 1 / 30.0) && about(colder[1], 16 / 30.0) && about(colder[2], 9 / 30.0) && about(colder[3], 4 / 30.0)));
  const auto two = counts(scores, {.top_k = 2});
  CHECK((two[0] == 0 && two[3] == 0 && about(two[1], 4 / 7.0)));
  const auto nucleus = counts(scores, {.top_p = 0.69}); // 0.4 and 0.3 are the fewest of so much
  CHECK((nucleus[0] == 0 && nucleus[3] == 0 && about(nucleus[1], 4 / 7.0)));
  const auto more = counts(scores, {.top_p = 0.71});
  CHECK((more[0] == 0 && about(more[3], 2 / 9.0)));
  const auto both = counts(scores, {.top_k = 3, .top_p = 0.5}); // of 4 : 3 : 2 the first two are more than half
  CHECK((both[0] == 0 && both[3] == 0 && both[2] > 0));
  const auto first = counts(scores, {.vocabulary = 2});
  CHECK((first[2] == 0 && first[3] == 0 && about(first[1], 4 / 5.0)));
  CHECK(counts(scores, {.temperature = 0})[1] == 4000);
  CHECK(counts({2, 5, 5, 1}, {.temperature = 0})[1] == 4000); // the lower of two tokens
  CHECK(counts({2, 5, 5, 1}, {.top_k = 1})[1] == 4000);
}

} // namespace drawn_tokens_tests
