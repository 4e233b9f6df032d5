// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include <cairn/core/pack.hpp>
#include <cairn/net/block_ways.hpp>
#include <cairn/plan/chain.hpp>
#include <cairn/plan/checked_policy.hpp>
#include <cairn/plan/plan_of.hpp>
#include <cairn/plan/policies.hpp>

// Under a budget around a whole network, blocks leave the way in which they were typed one after another, those first that save
// the most bytes for a FLOP. The chain is solved as it was typed and after the first step after which everything can be stored,
// or, where there is none, after half of the steps and after all; the cheapest schedule is taken. (Measured, one way for all
// equal blocks is within 0.3 % of a choice block by block, as the solver may recompute a whole block besides.)
namespace cairn::detail {

// The blocks that are one element of a chain move on to this way, in the order of their positions.
struct way_move {
  std::uint32_t element = 0;
  std::uint8_t way = 0;
  double bytes_per_flop = 0;
};

template <class Elements>
struct blocks_with_ways;
template <class... Elements>
struct blocks_with_ways<pack<Elements...>> {
  static constexpr std::array<bool, sizeof...(Elements)> value{offers_ways<Elements>...};
};

// Ways of a chain of blocks. Drawn is its blueprint.
template <class Drawn>
struct ways_of {
  static constexpr std::size_t elements = Drawn::elements::size;
  static constexpr std::size_t size = Drawn::size;
  static constexpr std::span<const bool> offered =
      blocks_with_ways<typename Drawn::elements>::value; // nvcc 13 takes no reference

  static constexpr const stage& stage_of(std::size_t element, std::size_t way) {
    const std::array<const stage*, way_count> in{Drawn::template element_stages_in<0>.data(),
                                                 Drawn::template element_stages_in<1>.data(),
                                                 Drawn::template element_stages_in<2>.data()};
    return in[way][element];
  }

  struct move_list {
    std::array<way_move, 2 * elements + 1> of{};
    std::size_t count = 0;

    constexpr void insert(const way_move& m) { // in order; after its equals
      std::size_t k = count++;
      for (; k > 0 && of[k - 1].bytes_per_flop < m.bytes_per_flop; --k) of[k] = of[k - 1];
      of[k] = m;
    }
  };
  static constexpr move_list moves = [] {
    const auto worth = [](const stage& from, const stage& to) {
      const auto bytes_of = [](const stage& s) { return static_cast<double>(s.tape.at(Drawn::batch)); };
      const double flops = static_cast<double>(to.backward_flops) - static_cast<double>(from.backward_flops);
      return (bytes_of(from) - bytes_of(to)) / (flops < 1 ? 1 : flops);
    };
    move_list out;
    for (std::uint32_t e = 0; e < elements; ++e) {
      if (!offered[e]) continue;
      const stage &all = stage_of(e, 0), &some = stage_of(e, 1), &none = stage_of(e, 2);
      const double first = worth(all, some), second = worth(some, none), both = worth(all, none);
      const bool apart = first > 0 && first >= second;
      if (apart) out.insert({e, 1, first});
      if ((apart ? second : both) > 0) out.insert({e, 2, apart ? second : both});
    }
    return out;
  }();

  // The number of steps: in each, one block moves on.
  static constexpr std::size_t steps = [] {
    std::size_t count = 0;
    for (std::size_t m = 0; m < moves.count; ++m)
      for (std::size_t i = 0; i < size; ++i) count += Drawn::order[i] == moves.of[m].element ? 1 : 0;
    return count;
  }();

  // The chain after a number of steps.
  template <std::size_t Step>
  struct after {
    static constexpr std::array<std::uint8_t, size> way = [] {
      std::array<std::uint8_t, size> out{};
      if constexpr (Step > 0) {
        std::size_t left = Step;
        for (std::size_t m = 0; m < moves.count; ++m)
          for (std::size_t i = 0; i < size && left > 0; ++i) {
            if (Drawn::order[i] != moves.of[m].element) continue;
            out[i] = moves.of[m].way;
            --left;
          }
      }
      return out;
    }();
    static constexpr std::array<stage, size> stages = [] {
      std::array<stage, size> out = Drawn::typed_stages;
      if constexpr (Step > 0)
        for (std::size_t i = 0; i < size; ++i) {
          if (way[i] == 0) continue;
          const stage typed = out[i];
          out[i] = stage_of(Drawn::order[i], way[i]);
          out[i].without_gradient = typed.without_gradient;
          out[i].in_place_backward = out[i].in_place_backward && typed.in_place_backward;
        }
      return out;
    }();
    static constexpr chain value = [] {
      chain c = Drawn::typed_source::value;
      c.stages = stages;
      return c;
    }();
  };
  template <std::size_t Step>
  using source_after = std::conditional_t<Step == 0, typename Drawn::typed_source, after<Step>>;
};

// The same budget for each of the chains: hundredths are those of the network as it was typed.
template <class Policy, std::size_t Bytes>
struct within : Policy {
  static constexpr std::size_t bytes = Bytes;
};

template <class Drawn, class Policy>
struct step_search {
  using ways = ways_of<Drawn>;
  static constexpr std::size_t bytes = most_bytes<typename Drawn::typed_source, Policy>();
  using budget = within<Policy, bytes>;
  static constexpr std::size_t last = ways::steps;
  static constexpr std::uint64_t never = static_cast<std::uint64_t>(-1);

  template <std::size_t Step>
  static constexpr bool is_stored = plan_of<typename ways::template source_after<Step>, store_all>::arena <= bytes;

  // The first step after which everything can be stored that the ways store; one more than the last if there is none.
  template <std::size_t Low, std::size_t High>
  static constexpr std::size_t first_stored() {
    if constexpr (Low == High) return Low;
    else if constexpr (is_stored<(Low + High) / 2>) return first_stored<Low, (Low + High) / 2>();
    else return first_stored<(Low + High) / 2 + 1, High>();
  }
  static constexpr std::size_t stored_at = [] {
    if constexpr (!is_stored<last>) return last + 1;
    else return first_stored<0, last>();
  }();

  // The FLOPs of the cheapest schedule after a step.
  template <std::size_t Step>
  static constexpr std::uint64_t cost = [] {
    using source = typename ways::template source_after<Step>;
    if constexpr (!accepted<budget, source>()) return never;
    else return flops(source::value, plan_of<source, budget>::schedule.ops());
  }();

  static constexpr std::size_t cheapest = [] {
    std::size_t best = 0;
    std::uint64_t least = cost<0>;
    const auto take = [&](std::size_t step, std::uint64_t c) {
      if (c >= least) return;
      least = c;
      best = step;
    };
    if constexpr (stored_at <= last) {
      take(stored_at, cost<stored_at>);
    } else {
      take(last / 2, cost<last / 2>);
      take(last, cost<last>);
      if (least == never) best = last; // for the diagnostic
    }
    return best;
  }();
};

// The step to which a budget goes: 0 where it stores everything, and where there is one block or none.
template <class Drawn, class Policy>
inline constexpr std::size_t step_of_budget = [] {
  if constexpr (plan_of<typename Drawn::typed_source, store_all>::arena <= most_bytes<typename Drawn::typed_source, Policy>() ||
                !accepts<Policy, typename Drawn::typed_source>() || ways_of<Drawn>::steps == 0)
    return std::size_t{0};
  else return step_search<Drawn, Policy>::cheapest;
}();

// Can the blocks of a chain choose among ways? There are two or more that offer them, and a budget around the whole network.
template <class Drawn, class Policy>
constexpr bool chooses_ways() {
  if constexpr (keeps_a_budget<Policy> && Drawn::is_root && Drawn::has_blocks) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < Drawn::size; ++i)
      count += blocks_with_ways<typename Drawn::elements>::value[Drawn::order[i]] ? 1 : 0;
    return count > 1;
  } else {
    return false;
  }
}

// The stages of a chain and its policy, as they are planned.
template <class Drawn, class Policy, bool Chooses = chooses_ways<Drawn, Policy>()>
struct chosen_ways {
  using source = typename Drawn::typed_source;
  using policy = Policy;
  static constexpr std::span<const stage> stages = Drawn::typed_stages;
  static constexpr std::size_t count = 1; // of the ways that blocks take
  static constexpr std::array<std::uint8_t, Drawn::size> way{};
};
template <class Drawn, class Policy>
struct chosen_ways<Drawn, Policy, true> {
  static constexpr std::size_t step = step_of_budget<Drawn, Policy>;
  using after = typename ways_of<Drawn>::template after<step>;
  using source = typename ways_of<Drawn>::template source_after<step>;
  using policy = within<Policy, most_bytes<typename Drawn::typed_source, Policy>()>;
  static constexpr std::span<const stage> stages = after::stages;
  static constexpr std::span<const std::uint8_t> way = after::way; // of each stage
  static constexpr std::size_t count = step == 0 ? 1 : way_count;
  // Does a block take this way that is element `e` of the chain?
  static constexpr bool takes(std::size_t e, std::size_t w) {
    for (std::size_t i = 0; i < Drawn::size; ++i)
      if (Drawn::order[i] == e && way[i] == w) return true;
    return false;
  }
};

} // namespace cairn::detail
