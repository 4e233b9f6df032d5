// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include <cairn/core/explain.hpp>
#include <cairn/plan/chain.hpp>
#include <cairn/plan/route.hpp>

namespace cairn::detail {

// Is what the forward pass makes above the last stored input still there when the backward pass begins? `last` is where a
// segment ends. Inside a network it is not: see chain::is_inside().
constexpr bool is_still_there(const chain& c, std::size_t last) { return last == c.size() && !c.is_inside(); }

// Writes a forward pass that stores the input of each segment. Then, segment by segment from the last, it recomputes the
// segment, unless it is still there, and runs its backwards. begin(j) is where segment j of `count` begins.
template <class Begin>
constexpr void walk_segments(const chain& c, route& out, std::size_t count, Begin begin) {
  out.forward(0, c.size());
  std::size_t last = c.size();
  for (std::size_t j = count; j-- > 0;) {
    const std::size_t first = begin(j);
    if (!is_still_there(c, last)) out.recompute(first, last);
    out.backward(first, last);
    last = first;
  }
}

// The operations of a stage's forward for each byte of its output and tape.
constexpr double operations_a_byte(const stage& s) {
  const std::size_t bytes = s.output.per_sample + s.tape.per_sample;
  return static_cast<double>(s.forward_flops) / static_cast<double>(bytes > 0 ? bytes : 1);
}

// The most operations a byte of a cheap stage, if the cheap stages together do at most a sixth of the forward pass; negative if
// no stage is cheap.
constexpr double most_of_cheap(const chain& c) {
  std::uint64_t whole = 0, cheap = 0;
  for (const stage& s : c.stages) whole += s.forward_flops;
  for (double most = -1;;) { // adds the stages that do the next more operations a byte
    double next = most;
    std::uint64_t added = 0;
    for (const stage& s : c.stages) {
      const double own = operations_a_byte(s);
      if (own <= most || (next > most && own > next)) continue;
      added = own == next ? added + s.forward_flops : s.forward_flops;
      next = own;
    }
    cheap += added;
    if (next == most || cheap > whole / 6) return most;
    most = next;
  }
}

// Writes the backward pass of [begin, end), after a forward pass that stores the results of all these stages but some. Those are
// recomputed from the last stored result before them when the backward pass gets there.
template <class IsRecomputed>
constexpr void walk_recomputing(const chain& c, route& out, std::size_t begin, std::size_t end, IsRecomputed is_recomputed) {
  for (std::size_t last = end; last > begin;) {
    std::size_t stored = last; // [first, stored) is recomputed, [stored, last) is not
    while (stored > begin && !is_recomputed(stored - 1)) --stored;
    std::size_t first = stored;
    while (first > begin && is_recomputed(first - 1)) --first;
    if (!is_still_there(c, last)) out.forward(first, stored);
    out.backward(first, last);
    last = first;
  }
}

// The least k with k * k >= n.
constexpr std::size_t ceil_sqrt(std::size_t n) {
  std::size_t k = 0;
  while (k * k < n) ++k;
  return k;
}

} // namespace cairn::detail

namespace cairn {

// Stores everything that the backward pass reads: the most memory, and no forward runs twice. Other libraries always do this.
struct store_all {
  static constexpr void plan(const plan::chain& c, plan::route& out) {
    out.forward(0, c.size());
    out.backward(0, c.size());
  }
};

// Stores only the input: the least memory, which does not grow with the length of the chain, for about n^2 / 2 forwards. For
// short chains.
struct recompute_all {
  static constexpr void plan(const plan::chain& c, plan::route& out) {
    out.forward(0, c.size());
    for (std::size_t i = c.size(); i-- > 0;) {
      if (!detail::is_still_there(c, i + 1)) out.forward(0, i + 1);
      out.backward(i);
    }
  }
};

} // namespace cairn

namespace cairn::detail {

struct every_message {
  template <class Policy>
  static constexpr bool right() {
    static_assert(Policy::asked > 0, "every<K>: K is the number of stages from one stored input to the next, at least 1");
    return Policy::asked > 0;
  }
};

} // namespace cairn::detail

namespace cairn {

// Stores the input of every K-th stage, and recomputes the K stages after it when backward gets there.
template <std::size_t K>
struct every : detail::every_message {
  static constexpr std::size_t asked = K;
  static constexpr std::size_t length = every::template right<every>() ? K : 1; // after an error it goes on

  static constexpr void plan(const plan::chain& c, plan::route& out) {
    detail::walk_segments(c, out, (c.size() + length - 1) / length, [](std::size_t j) { return j * length; });
  }
};

// Cuts the chain into about as many segments as each has stages: O(sqrt n) memory for at most one more forward of each stage
// (Chen, Xu, Zhang, Guestrin: Training deep nets with sublinear memory cost, 2016). The lengths differ by at most one; the
// longer segments come first, because fewer inputs are stored by the time that the backward pass reaches them.
struct sqrt_n {
  static constexpr void plan(const plan::chain& c, plan::route& out) {
    const std::size_t n = c.size();
    std::size_t count = detail::ceil_sqrt(n);
    if (count * (count - 1) >= n && count > 1) --count; // round(sqrt n)
    detail::walk_segments(c, out, count, [n, count](std::size_t j) {
      const std::size_t longer = n % count;
      return j * (n / count) + (j < longer ? j : longer);
    });
  }
};

// Stores the results of products and other costly stages, and recomputes those of cheap ones: less memory for hardly more time
// wherever several cheap stages follow each other, or one whose backward reads its input. Cheap are the stages of the fewest
// operations for each byte that they would store, as many of them as together do at most a sixth of the operations of the
// forward pass, about a twentieth of a training step; of stages that are alike, all or none. So a GELU or a normalisation is
// cheap beside products of useful sizes, and is stored where it is what the network mostly does.
struct recompute_cheap {
  static constexpr void plan(const plan::chain& c, plan::route& out) {
    const double most = detail::most_of_cheap(c);
    out.forward(0, c.size());
    detail::walk_recomputing(c, out, 0, c.size(),
                             [&](std::size_t position) { return detail::operations_a_byte(c[position]) <= most; });
  }
};

} // namespace cairn

namespace cairn::detail {

// Represents a type by an object, whose name in an error shows the type. (Template arguments of class type crash g++ 12.)
struct type_mark {
  const char* type = "";
};
template <class Stage>
inline constexpr type_mark mark{spelling<Stage>()};

// An argument of at<...>: a position, or the mark of a type.
struct chosen_stage {
  std::size_t position = static_cast<std::size_t>(-1);
  const char* type = "";

  constexpr chosen_stage(std::integral auto given) : position(static_cast<std::size_t>(given)) {}
  constexpr chosen_stage(const type_mark* given) : type(given->type) {}

  constexpr bool is(const stage& s, std::size_t at) const {
    return at == position || (*type != 0 && same_spelling(s.type, type));
  }
};

struct outside_message {
  template <class Outside>
  static constexpr bool right() {
    static_assert(is_right<Outside>,
                  "at: a position lies outside the network (those of n stages are 0 to n - 1), or it has no stage of a "
                  "type that is named; see outside_network<at<stages...>, n>");
    return false;
  }
};

// A policy that names stages which a network of `Count` stages does not have: the diagnostic of an error (core/explain.hpp).
template <class Policy, std::size_t Count>
struct outside_network : outside_message {};

} // namespace cairn::detail

namespace cairn {

// Names every stage of a type in at<...>: at<named<Linear<512, 10>>>.
template <class Stage>
inline constexpr const detail::type_mark* named = &detail::mark<Stage>;

// Stores the inputs of these stages and of the first, for users who know their network. Name a stage by its position, or all
// stages of a type at once: at<3, named<Residual<Linear<64, 64>, ReLU>>>.
template <auto... Stages>
struct at {
  static constexpr void plan(const plan::chain& c, plan::route& out) {
    out.forward(0, c.size());
    std::size_t last = c.size();
    for (std::size_t first = last; first-- > 0;) {
      if (first > 0 && !is_meant(c, first)) continue;
      if (!detail::is_still_there(c, last)) out.recompute(first, last);
      out.backward(first, last);
      last = first;
    }
  }
  // Returns whether every position is in the chain and every type occurs in it.
  static constexpr bool accepts(const plan::chain& c) {
    for (const detail::chosen_stage which : {detail::chosen_stage{0}, detail::chosen_stage{Stages}...}) {
      bool found = false;
      for (std::size_t i = 0; i < c.size() && !found; ++i) found = which.is(c[i], i);
      if (!found) return false;
    }
    return true;
  }
  // The diagnostic for a chain that is not accepted.
  template <class Source>
  using refusal = detail::outside_network<at, Source::value.size()>;

private:
  static constexpr bool is_meant(const plan::chain& c, std::size_t position) {
    for (const detail::chosen_stage which : {detail::chosen_stage{0}, detail::chosen_stage{Stages}...})
      if (which.is(c[position], position)) return true;
    return false;
  }
};

} // namespace cairn
