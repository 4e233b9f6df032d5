// SPDX-License-Identifier: MIT
// The same calls over every communicator, for tests that compare what ranks see.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <cairn/comm/lent_memory.hpp>

namespace testing {

struct near_queue {};

inline float number_of(int rank, std::size_t i, int round) {
  return 1.0F / static_cast<float>(1 + (i * 13 + static_cast<std::size_t>(rank * 101 + round)) % 997);
}

// Makes calls of all kinds and several sizes, some of them open at the same time, and returns everything that the rank has seen.
template <class Rank>
std::vector<float> mixed_calls(Rank& rank) {
  near_queue queue;
  std::vector<float> seen;
  for (int round = 0; round < 12; ++round) {
    std::vector<std::vector<float>> spans;
    std::vector<typename Rank::ticket> open;
    for (const std::size_t count : {0U, 5U, 300U, 3000U, 40'000U}) {
      std::vector<float> span(count + static_cast<std::size_t>(round));
      for (std::size_t i = 0; i < span.size(); ++i) span[i] = number_of(rank.rank(), i, round);
      spans.push_back(std::move(span));
    }
    std::vector<double> wide(5000, 0.1 * (rank.rank() + 1));
    // Two adjacent spans, in memory of the communicator if it provides some.
    constexpr std::size_t near = 12'345, far = 700'001;
    std::vector<float> spare(near + far);
    const cairn::types::lent_memory lent = cairn::detail::ask_for_memory(rank, spare.size() * sizeof(float));
    float* const flat = lent.data() == nullptr ? spare.data() : reinterpret_cast<float*>(lent.data());
    if (round % 4 == 0)
      for (std::size_t i = 0; i < spare.size(); ++i) flat[i] = number_of(rank.rank(), i, round);
    for (auto& span : spans) open.push_back(rank.all_reduce(queue, std::span<float>(span)));
    open.push_back(rank.all_reduce(queue, std::span<double>(wide)));
    if (round % 4 == 0) open.push_back(rank.all_reduce(queue, std::span<float>(flat, near)));
    open.push_back(rank.broadcast(queue, {}, 0));
    if (round % 4 == 0) open.push_back(rank.all_reduce(queue, std::span<float>(flat + near, far)));
    for (auto& ticket : open) ticket.wait(queue);
    auto sent = rank.broadcast(queue, std::as_writable_bytes(std::span(spans[4])), round % rank.size());
    sent.wait(queue);
    for (const auto& span : spans) seen.insert(seen.end(), span.begin(), span.end());
    if (round % 4 == 0) seen.insert(seen.end(), flat, flat + spare.size());
    for (const double w : wide) seen.push_back(static_cast<float>(w));
    const auto own = static_cast<float>(rank.rank() + round);
    std::vector<float> all(static_cast<std::size_t>(rank.size()));
    rank.exchange(std::as_bytes(std::span(&own, 1)), std::as_writable_bytes(std::span(all)));
    seen.insert(seen.end(), all.begin(), all.end());
  }
  return seen;
}

} // namespace testing
