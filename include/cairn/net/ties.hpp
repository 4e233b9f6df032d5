// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <cairn/core/explain.hpp>
#include <cairn/layer/description.hpp>
#include <cairn/plan/chain.hpp>

namespace cairn::detail {

// A stage of a chain that takes its first parameter from an earlier stage: see layer/tied.hpp.
struct tie {
  std::uint32_t user = 0;
  std::uint32_t owner = 0;
  std::size_t waits_at = 0; // where the user's gradient waits for the owner's, in elements of the memory for all ties
};

template <std::size_t Count>
struct ties_of_chain {
  std::array<tie, Count> of{};
  std::size_t elements = 0; // of the memory in which gradients wait
  bool right = true;        // has each exactly one owner, an earlier stage?
};

template <std::size_t Count, std::size_t Elements, std::size_t Stages, class Order>
constexpr ties_of_chain<Count> find_ties(const std::array<element_facts, Elements>& facts, const Order& order,
                                         const std::array<stage, Stages>& stages) {
  ties_of_chain<Count> out{};
  std::size_t next = 0;
  for (std::size_t i = 0; i < Stages; ++i) {
    const char* const owner = facts[order[i]].tied_to;
    if (owner == nullptr) continue;
    tie& t = out.of[next++];
    std::size_t found = 0;
    for (std::size_t j = 0; j < Stages; ++j) {
      if (!same_spelling(stages[j].type, owner)) continue;
      t.owner = static_cast<std::uint32_t>(j);
      ++found;
    }
    out.right = out.right && found == 1 && t.owner < i;
    t.user = static_cast<std::uint32_t>(i);
    t.waits_at = out.elements;
    out.elements += facts[order[t.owner]].parameter_ends[0];
  }
  return out;
}

struct tie_message {
  template <class Network>
  static constexpr bool right() {
    static_assert(is_right<Network>,
                  "Tied: its owner is a layer that stands once in the same Sequential, before it, and that one is the whole "
                  "network's; see untied<network>");
    return false;
  }
};
template <class Network>
struct untied : tie_message {};

} // namespace cairn::detail
