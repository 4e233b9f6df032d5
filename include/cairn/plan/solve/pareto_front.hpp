// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <cairn/plan/solve/segment.hpp>

namespace cairn::detail {

// One way to walk a segment back: its cost, the most bytes alive meanwhile, and how it begins (recurrence.hpp).
struct front_point {
  std::uint64_t cost = 0;
  std::uint64_t bytes : 44 = 0; // up to 16 TiB
  std::uint64_t begin : 20 = 0; // up to half a million stages
};

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion" // g++ 11 does not see that the numbers are cut to their fields
constexpr front_point front_point_of(std::uint64_t cost, std::size_t bytes, std::size_t begin) {
  return {cost, bytes & ((std::size_t{1} << 44) - 1), begin & ((std::size_t{1} << 20) - 1)};
}
#pragma GCC diagnostic pop

// The ways of a segment for which no other is as good in both bytes and cost: the more bytes, the less cost.
struct front_view {
  const front_point* ways = nullptr;
  std::size_t count = 0;

  // The beginning of the cheapest way within `bytes`.
  std::size_t within(std::size_t bytes) const { return ways[up_to(bytes) - 1].begin; }

  need cheapest() const {
    if (count == 0) return {0, static_cast<std::uint64_t>(-1) / 4};
    return {ways[count - 1].bytes, ways[count - 1].cost};
  }

  // The number of ways of at most `bytes`.
  std::size_t up_to(std::size_t bytes) const {
    std::size_t begin = 0;
    for (std::size_t end = count; begin < end;) {
      const std::size_t middle = (begin + end) / 2;
      if (ways[middle].bytes <= bytes) begin = middle + 1;
      else end = middle;
    }
    return begin;
  }
};

// The front of one segment while it is being found: every way, or only the cheapest of those whose bytes lie between two
// samples, and always the way of the least bytes. A template, so that a file that includes it and solves nothing does not pay
// for it.
template <class Way>
class basic_pareto_front {
public:
  // Ways of more than `most` bytes are left out. Each octave of bytes has 2^samples samples; none if `samples` is negative.
  explicit basic_pareto_front(std::size_t most, int samples) : most_(most), samples_(samples) {}

  front_view view() const { return {known_.data(), known_.size()}; }

  void be(const need& only) {
    known_.clear();
    if (only.bytes <= most_) known_.push_back(front_point_of(only.cost, only.bytes, 0));
  }
  void clear(std::uint64_t /*cheapest*/) { known_.clear(); }
  // The front of an empty part.
  static front_view nothing() {
    static constexpr Way none{};
    return {&none, 1};
  }

  // Offers one more division. Its parts run one after the other and so share the memory: its bytes are the most of both and of
  // the first ops, and costs add up.
  void offer(const front_view& upper, std::size_t more, const front_view& lower, const need& own, std::size_t begin) {
    if (upper.count == 0 || lower.count == 0) return;
    const Way* u = upper.ways;
    const Way* l = lower.ways;
    const Way* const last_u = u + upper.count - 1;
    const Way* const last_l = l + lower.count - 1;
    const std::uint64_t least = own.cost + last_u->cost + last_l->cost;
    std::size_t bytes = own.bytes;
    if (bytes < u->bytes + more) bytes = u->bytes + more;
    if (bytes < l->bytes) bytes = l->bytes;
    if (bytes > most_) return;
    if (const std::size_t within = view().up_to(bytes); within > 0 && known_[within - 1].cost <= least) return;
    next_.clear();
    const Way* k = known_.data();
    const Way* const end = k + known_.size();
    for (bool goes_on = true; goes_on;) {
      while (u != last_u && u[1].bytes + more <= bytes) ++u; // the best pair within these bytes
      while (l != last_l && l[1].bytes <= bytes) ++l;
      while (k != end && k->bytes <= bytes) take(*k++);
      const std::uint64_t cost = own.cost + u->cost + l->cost;
      take(front_point_of(cost, bytes, begin));
      constexpr std::size_t never = static_cast<std::size_t>(-1);
      const std::size_t up = u != last_u ? u[1].bytes + more : never;
      const std::size_t down = l != last_l ? l[1].bytes : never;
      bytes = up < down ? up : down;
      goes_on = (u != last_u || l != last_l) && bytes <= most_ && cost > least;
    }
    while (k != end) take(*k++);
    known_.swap(next_);
  }
  void finish() {}

private:
  std::size_t sample(std::size_t bytes) const {
    const int shift = samples_ < 0 ? 0 : static_cast<int>(std::bit_width(bytes)) - 1 - samples_;
    return shift <= 0 ? bytes : (static_cast<std::size_t>(shift) << (samples_ + 1)) + (bytes >> shift);
  }
  void take(const Way& w) {
    if (!next_.empty() && w.cost >= next_.back().cost) return;
    const bool replaces =
        !next_.empty() && (w.bytes == next_.back().bytes || (next_.size() > 1 && sample(w.bytes) == sample(next_.back().bytes)));
    if (replaces) next_.back() = w;
    else next_.push_back(w);
  }

  std::size_t most_;
  int samples_;
  std::vector<Way> known_, next_;
};
using pareto_front = basic_pareto_front<front_point>;

} // namespace cairn::detail
