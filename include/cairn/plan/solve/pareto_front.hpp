// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cairn::detail {

// One way to walk a stretch of the chain back: the most bytes that live meanwhile, what it costs, and how it begins. It
// is split after its first `split` stages; `upper` and `lower` are the ways chosen for its two parts. A split of 0 is
// the backward of the last stage at once; then there is only a lower part.
struct way {
  std::size_t bytes = 0;
  std::uint64_t cost = 0;
  std::uint32_t split = 0;
  bool tapes = false; // the last forward below the split keeps what its backward reads
  std::uint32_t upper = 0;
  std::uint32_t lower = 0;
};

// The ways of a part of a stretch, and what else is kept while it is walked.
struct part_front {
  const std::vector<way>& ways;
  std::size_t more = 0;

  std::size_t size() const { return ways.size(); }
  std::size_t bytes(std::size_t i) const { return ways[i].bytes + more; }
};

// Adds one more division to what is known of a stretch. Its two parts run one after the other and so share the memory:
// bytes are the most of both and of `begin`, costs add up. `known` and `out` are fronts: no way is as good as another in
// both bytes and cost; the more bytes, the less cost. Ways of more than `most` bytes are left out.
inline void join(const std::vector<way>& known, const part_front& upper, const part_front& lower,
                 const way& begin, std::size_t most, std::vector<way>& out) {
  out.clear();
  std::size_t k = 0, u = 0, l = 0;
  bool more = upper.size() > 0 && lower.size() > 0;
  std::size_t bytes = begin.bytes;
  const auto grow = [&] { // the best pair within the bytes of this one
    if (bytes < upper.bytes(u)) bytes = upper.bytes(u);
    if (bytes < lower.bytes(l)) bytes = lower.bytes(l);
    while (u + 1 < upper.size() && upper.bytes(u + 1) <= bytes) ++u;
    while (l + 1 < lower.size() && lower.bytes(l + 1) <= bytes) ++l;
    more = bytes <= most;
  };
  const auto take = [&](const way& w) {
    if (!out.empty() && w.cost >= out.back().cost) return;
    if (!out.empty() && w.bytes == out.back().bytes) out.back() = w;
    else out.push_back(w);
  };
  if (more) grow();
  while (more || k < known.size()) {
    if (!more || (k < known.size() && known[k].bytes <= bytes)) {
      take(known[k++]);
      continue;
    }
    way w = begin;
    w.bytes = bytes;
    w.cost += upper.ways[u].cost + lower.ways[l].cost;
    w.upper = static_cast<std::uint32_t>(u);
    w.lower = static_cast<std::uint32_t>(l);
    take(w);
    const bool up = u + 1 < upper.size();
    const bool down = l + 1 < lower.size();
    more = up || down;
    if (!more) continue;
    if (up && (!down || upper.bytes(u + 1) <= lower.bytes(l + 1))) ++u;
    else ++l;
    grow();
  }
}

} // namespace cairn::detail
