// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace cairn::detail {

// The ranks of a job in groups of equal ranks, the smallest group first. Groups of the same size are in the order of their
// lowest ranks.
class rank_groups {
public:
  // same(a, b) returns whether ranks a and b belong to the same group.
  template <class Same>
  rank_groups(std::size_t ranks, const Same& same) : ranks_(ranks) {
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const auto its = std::find_if(groups_.begin(), groups_.end(), [&](const auto& group) { return same(group.front(), rank); });
      if (its != groups_.end()) its->push_back(rank);
      else groups_.push_back({rank});
    }
    // An insertion sort keeps the order of equals. (std::stable_sort of g++ 12 gives a warning with clang 19.)
    for (std::size_t i = 1; i < groups_.size(); ++i)
      for (std::size_t k = i; k > 0 && groups_[k].size() < groups_[k - 1].size(); --k) groups_[k].swap(groups_[k - 1]);
  }

  std::size_t ranks() const { return ranks_; }
  std::size_t size() const { return groups_.size(); }
  const std::vector<std::size_t>& operator[](std::size_t group) const { return groups_[group]; }

  // The ranks outside the largest group; all ranks if no group is larger than every other.
  std::vector<std::size_t> outnumbered() const {
    const bool one_is_largest = size() > 1 && groups_[size() - 2].size() < groups_.back().size();
    std::vector<std::size_t> out(one_is_largest ? 0 : ranks_);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = i;
    for (std::size_t group = 0; one_is_largest && group + 1 < size(); ++group)
      out.insert(out.end(), groups_[group].begin(), groups_[group].end());
    std::sort(out.begin(), out.end());
    return out;
  }

  // "rank 3", or "ranks 0, 1 and 2". At most 8 ranks are listed, then the number of the others.
  static std::string text(const std::vector<std::size_t>& ranks) {
    constexpr std::size_t most = 8; // a job may have a thousand
    std::vector<std::string> items;
    for (std::size_t i = 0; i < std::min(most, ranks.size()); ++i) items.push_back(std::to_string(ranks[i]));
    if (ranks.size() > most) items.push_back(std::to_string(ranks.size() - most) + " more");
    return (ranks.size() == 1 ? "rank " : "ranks ") + joined(items);
  }
  // "a, b and c"
  static std::string joined(const std::vector<std::string>& items) {
    std::string out;
    for (std::size_t i = 0; i < items.size(); ++i) out += (i == 0 ? "" : i + 1 == items.size() ? " and " : ", ") + items[i];
    return out;
  }

private:
  std::size_t ranks_;
  std::vector<std::vector<std::size_t>> groups_;
};

} // namespace cairn::detail
