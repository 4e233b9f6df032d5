// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/plan/solve/segment.hpp>

namespace cairn::detail {

// A budget, and equally spaced samples up to it: the last sample is the budget itself, and sample 0 is below 0.
struct budget_samples {
  std::int64_t budget = 0;
  std::int64_t count = 1;
  std::int64_t distance = budget / count + 1;

  constexpr std::int64_t at(std::size_t m) const { return budget - (count - static_cast<std::int64_t>(m)) * distance; }
  // The first sample of at least `bytes`, which are at most the budget.
  constexpr std::size_t above(std::size_t bytes) const {
    return static_cast<std::size_t>(count - (budget - static_cast<std::int64_t>(bytes)) / distance);
  }
};

// The part of a segment's Pareto front that a compiler keeps: for every sample the cheapest schedule found within its bytes, and
// the one of the least bytes. Bytes are exact, so nothing fits by rounding alone, and no error adds up.
template <std::size_t Samples>
struct sampled_front {
  static constexpr std::uint64_t endless = static_cast<std::uint64_t>(-1) / 4;

  std::uint64_t cost[Samples + 1]{};
  std::size_t bytes[Samples + 1]{};
  std::uint16_t begin[Samples + 1]{}; // how the way begins: see recurrence.hpp
  std::size_t low = Samples + 1;      // the first sample that has a way; the sample before it has the way of the least bytes
  std::size_t high = Samples + 1;     // from this sample on nothing runs twice
  need least{};
  std::uint16_t least_begin = 0;
  std::uint64_t full = 0;
  budget_samples all{};

  constexpr sampled_front() = default;
  constexpr explicit sampled_front(const budget_samples& m) : all(m) {}

  // Makes this the front of one way only.
  constexpr void be(const need& only) {
    least = only;
    if (static_cast<std::int64_t>(only.bytes) > all.budget) return;
    low = high = all.above(only.bytes);
    set(low, only, 0);
    finish();
  }

  // Starts a front of several ways, none of which costs less than `cheapest`: offers follow, then finish().
  constexpr void clear(std::uint64_t cheapest) {
    for (std::size_t m = 0; m <= Samples; ++m) cost[m] = endless;
    least = {static_cast<std::size_t>(-1), endless};
    full = cheapest;
  }

  // The front of an empty part.
  constexpr sampled_front nothing() const {
    sampled_front out{all};
    out.be({});
    return out;
  }
  // Offers one more division. Its parts run one after the other and so share the memory: its bytes are the most of both and of
  // the first ops, and costs add up.
  constexpr void offer(const sampled_front& upper, std::size_t more, const sampled_front& lower, const need& own,
                       std::size_t how) {
    join(*this, upper, more, lower, own, static_cast<std::uint16_t>(how));
  }
  constexpr void finish() {
    if (low > Samples) return;
    set(low - 1, least, least_begin);
    for (std::size_t m = high + 1; m <= Samples; ++m) set(m, {bytes[high], cost[high]}, begin[high]);
  }

  // The beginning of the cheapest way within `bytes`, or of the way of the least bytes if none is known.
  constexpr std::uint16_t within(std::size_t given) const {
    if (low > Samples) return least_begin;
    if (static_cast<std::int64_t>(given) >= all.budget) return begin[Samples];
    std::size_t m = all.above(given); // its way may fit or not
    if (bytes[m] > given) --m;
    return m < low ? least_begin : begin[m];
  }

  // The cheapest way. It is found again within these bytes, or more.
  constexpr need cheapest() const {
    if (low > Samples) return {0, endless};
    std::size_t m = Samples;
    while (m > low && cost[m - 1] == cost[Samples]) --m;
    const std::int64_t above = all.at(m - 1) + 1; // the fewest bytes of this sample
    return {static_cast<std::int64_t>(bytes[m]) < above ? static_cast<std::size_t>(above) : bytes[m], cost[m]};
  }

private:
  constexpr void set(std::size_t m, const need& n, std::uint16_t how) {
    cost[m] = n.cost;
    bytes[m] = n.bytes;
    begin[m] = how;
  }

  // The inner loop of the compiler's solver. The positions in the parts' own fronts are computed; a search would take four
  // times as long. Members are read through references, as an evaluator makes a new expression of every pointer.
  static constexpr void join(sampled_front& known, const sampled_front& upper, std::size_t more, const sampled_front& lower,
                             const need& own, std::uint16_t how) {
    const std::uint64_t least_cost = upper.least.cost + lower.least.cost + own.cost;
    std::size_t bytes = own.bytes;
    if (bytes < upper.least.bytes + more) bytes = upper.least.bytes + more;
    if (bytes < lower.least.bytes) bytes = lower.least.bytes;
    if (bytes < known.least.bytes || (bytes == known.least.bytes && least_cost < known.least.cost)) {
      known.least.bytes = bytes;
      known.least.cost = least_cost;
      known.least_begin = how;
    }
    if (static_cast<std::int64_t>(bytes) > known.all.budget) return;
    const std::size_t from = known.all.above(bytes);
    if (from < known.low) known.low = from;
    if (known.high <= from) return;
    // Beside `more`, the upper part has `steps` samples less, or one more than that.
    const auto distance = static_cast<std::size_t>(known.all.distance);
    const auto budget = static_cast<std::size_t>(known.all.budget);
    const std::size_t steps = more / distance;
    const std::uint64_t offered = own.cost;
    // More bytes never cost more: if the last of these samples is no better than the first was, none of them is.
    for (std::size_t first = from; first < known.high;) { // which is at most Samples + 1
      const std::size_t next = first + 4 < known.high ? first + 4 : known.high;
      if (upper.cost[next - 1 - steps] + lower.cost[next - 1] + offered >= known.cost[first]) {
        first = next;
        continue;
      }
      for (; first < next; ++first) {
        std::size_t k = first - steps;
        std::uint64_t now = upper.cost[k] + lower.cost[first] + offered;
        if (now >= known.cost[first]) continue;
        if (upper.bytes[k] + more > budget - (Samples - first) * distance) {
          --k;
          now = upper.cost[k] + lower.cost[first] + offered;
          if (now >= known.cost[first]) continue;
        }
        known.cost[first] = now;
        known.begin[first] = how;
        std::size_t needed = upper.bytes[k] + more;
        if (needed < lower.bytes[first]) needed = lower.bytes[first];
        known.bytes[first] = needed < own.bytes ? own.bytes : needed;
        if (now > known.full) continue;
        known.high = first;
        return;
      }
    }
  }
};

} // namespace cairn::detail
