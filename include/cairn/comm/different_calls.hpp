// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <cairn/core/config.hpp>

namespace cairn::detail {

// The call that one rank makes where ranks make different ones: its number, from 0, and its description, empty if it is not
// known.
struct told_call {
  std::uint64_t number = 0;
  std::string text{};
  bool operator==(const told_call&) const = default;
};

// "the ranks make different calls: call 2 is A on ranks 0 and 2, but B on rank 1": calls that more ranks make come first, the odd
// ones last.
inline std::string text_of_different_calls(std::span<const told_call> of_ranks) {
  struct group {
    told_call call;
    std::vector<std::size_t> ranks;
  };
  std::vector<group> groups;
  for (std::size_t rank = 0; rank < of_ranks.size(); ++rank) {
    if (of_ranks[rank].text.empty()) continue;
    const auto same = std::ranges::find_if(groups, [&](const group& g) { return g.call == of_ranks[rank]; });
    if (same != groups.end()) same->ranks.push_back(rank);
    else groups.push_back({of_ranks[rank], {rank}});
  }
  std::ranges::sort(groups, [](const group& a, const group& b) {
    return a.ranks.size() != b.ranks.size() ? a.ranks.size() > b.ranks.size() : a.ranks[0] < b.ranks[0];
  });
  std::string text = "the ranks make different calls: ";
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const group& g = groups[i];
    if (i > 0) text += ", but ";
    if (i == 0 || g.call.number != groups[0].call.number) text += "call " + std::to_string(g.call.number + 1) + " is ";
    text += g.call.text + (g.ranks.size() == 1 ? " on rank " : " on ranks ");
    for (std::size_t r = 0; r < g.ranks.size(); ++r)
      text += (r == 0 ? "" : r + 1 == g.ranks.size() ? " and " : ", ") + std::to_string(g.ranks[r]);
  }
  return text;
}

} // namespace cairn::detail
