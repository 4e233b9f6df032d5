// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>

#include <cairn/core/plain_array.hpp>
#include <cairn/plan/layout/buffer.hpp>
#include <cairn/plan/layout/equal_slots.hpp>
#include <cairn/plan/layout/one_by_one.hpp>
#include <cairn/plan/layout/stack_first.hpp>

namespace cairn::detail {

// The ways to arrange, in the order in which they are tried: the linear ones, one pass in each order of importance, then several
// rounds that improve an order.
enum class attempt : unsigned char { slots, stack, life, peak, size, life_rounds, peak_rounds };
inline constexpr attempt first_of_rounds = attempt::life_rounds;
inline constexpr attempt last_attempt = attempt::peak_rounds;
constexpr attempt next(attempt how) { return static_cast<attempt>(static_cast<unsigned char>(how) + 1); }
// One pass looks at pairs of buffers. With more buffers it would come near a compiler's limits.
inline constexpr std::size_t most_in_one_pass = 512;

// The rounds that a quadratic attempt may take, at most 200: about `effort` looks at a buffer in all.
constexpr std::size_t rounds_for(std::size_t count, std::size_t effort) {
  const std::size_t rounds = effort / (count * count + 1);
  return rounds < 200 ? rounds : 200;
}

// Makes one attempt. Returns the extent, or the largest number if there are too many buffers for it.
template <std::size_t Capacity>
constexpr std::size_t arrange_by(attempt how, buffer* buffers, std::size_t count, std::size_t bound, std::size_t fence,
                                 std::size_t effort) {
  if (how == attempt::slots) return equal_slots<Capacity>(buffers, count).place(bound);
  if (how == attempt::stack) return stack_first<Capacity>(buffers, count, fence).place(bound, 8);
  const bool improves = how >= first_of_rounds;
  const std::size_t rounds = improves ? rounds_for(count, effort) : 0;
  if (improves ? rounds == 0 : count > most_in_one_pass) return no_fence;
  const auto by = how == attempt::size                                  ? importance::size
                  : how == attempt::life || how == attempt::life_rounds ? importance::life
                                                                        : importance::peak;
  return one_by_one<Capacity>(buffers, count, fence, by).place(bound, rounds);
}

// Sets the offsets of buffers, given in the order of their births, so that no two that live at the same time overlap. Returns
// the extent, the least that it finds. `bound` is the most bytes alive at once. Pinned buffers stay where they are, and no
// other lies across `fence`, where one slice of memory ends and the next begins.
//
// Packing is NP-hard in general. For buffers of one size it is not, and the first attempt is for these. The lifetimes of a
// training step are nearly nested: for these the second attempt, which is linear too, is nearly always tight. The others are
// tried only if it is not, and if there are few enough buffers for the compilers' default limits: one pass by life, by peak or by
// size is tight for nearly all of the rest.
template <std::size_t Capacity>
constexpr std::size_t arrange(std::span<buffer> buffers, std::size_t bound, std::size_t fence = no_fence,
                              std::size_t effort = 50'000) {
  plain_array<std::size_t, plus(Capacity, 1)> offsets(buffers.size() + 1);
  std::size_t best = no_fence;
  for (auto how = attempt::slots; how <= last_attempt && best > bound; how = next(how)) {
    const std::size_t now = arrange_by<Capacity>(how, buffers.data(), buffers.size(), bound, fence, effort);
    if (now >= best) continue;
    best = now;
    for (std::size_t i = 0; i < buffers.size(); ++i) offsets[i] = buffers[i].offset;
  }
  for (std::size_t i = 0; i < buffers.size(); ++i) buffers[i].offset = offsets[i];
  return best;
}

} // namespace cairn::detail
