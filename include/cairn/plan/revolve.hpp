// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/plan/route.hpp>

namespace cairn::detail {

// The most forwards of any stage in a chain of `length`, before the one for its own backward, if `inputs` are stored: the least
// r with C(inputs + r, inputs) >= length. `reach` is that binomial coefficient.
struct sweeps {
  std::size_t r = 0;
  std::size_t reach = 1;
};
constexpr sweeps sweeps_for(std::size_t length, std::size_t inputs) {
  sweeps out;
  while (out.reach < length) {
    ++out.r;
    out.reach = out.reach * (out.r + inputs) / out.r; // C(s + r, s) from C(s + r - 1, s): no remainder
  }
  return out;
}

// The forwards that a chain of `length` equal stages needs with `inputs` stored stage inputs, its own included, besides the one
// that each stage runs for its backward: r * length - C(inputs + r, inputs + 1). No schedule needs fewer (Griewank, Walther:
// Algorithm 799: Revolve. ACM TOMS 26, 2000).
constexpr std::size_t revolve_forwards(std::size_t length, std::size_t inputs) {
  const auto [r, reach] = sweeps_for(length, inputs);
  if (r == 0) return 0;
  return r * length - reach * r / (inputs + 1);
}

struct revolve_message {
  template <class Policy>
  static constexpr bool right() {
    static_assert(Policy::asked > 0, "revolve<S>: S is the number of stored stage inputs, the chain's own included: at least 1");
    return Policy::asked > 0;
  }
};

} // namespace cairn::detail

namespace cairn {

// Stores the inputs of at most S stages at a time, that of the chain included, and runs as few forwards as that allows when all
// stages cost the same. With r more forwards of each stage it handles about C(S + r, S) stages, so if the length of a chain is
// a fixed power of S, r does not grow with it. Between the stored inputs it works as recompute_all does; revolve<1> is
// recompute_all.
//
// It counts stages, whatever their bytes and costs. Where those differ, the S stored inputs may be the S largest values of the
// network, and need more than store_all does (50 stages of products of different widths do with revolve<32>). A budget<> weighs
// both.
template <std::size_t S>
struct revolve : detail::revolve_message {
  static constexpr const char* remark = "counts stages, whatever their bytes";
  static constexpr std::size_t asked = S;
  static constexpr std::size_t most = revolve::template right<revolve>() ? S : 1; // after an error it goes on

  static constexpr void plan(const plan::chain& c, plan::route& out) { walk(c, out, 0, c.size(), most); }

private:
  // Walks [first, last) back with value `first` at hand, which is one of the `inputs`.
  static constexpr void walk(const plan::chain& c, plan::route& out, std::size_t first, std::size_t last, std::size_t inputs) {
    while (last - first > 1) {
      const std::size_t length = last - first;
      if (inputs == 1) { // from the beginning for every stage
        out.forward(first, last);
        repeat(c, out, first, last);
        out.backward(last - 1);
        --last;
        continue;
      }
      // The upper part may store one input less; it is as long as it can be without one more repetition.
      const auto [r, reach] = detail::sweeps_for(length, inputs);
      const std::size_t upper = reach * inputs / (inputs + r);                  // C(inputs - 1 + r, inputs - 1)
      const std::size_t below = reach - upper;                                  // C(inputs + r - 1, inputs)
      const std::size_t lower = r > 1 ? below * (r - 1) / (inputs + r - 1) : 0; // C(inputs + r - 2, inputs)
      std::size_t middle = length > upper ? length - upper : 1;
      if (middle < lower) middle = lower;
      out.forward(first, first + middle);
      walk(c, out, first + middle, last, inputs - 1);
      last = first + middle;
    }
    out.forward(first);
    repeat(c, out, first, last);
    out.backward(first);
  }
  // Inside a network nothing but the inputs is stored from the forward pass to the backward pass.
  static constexpr void repeat(const plan::chain& c, plan::route& out, std::size_t first, std::size_t last) {
    if (last == c.size() && c.is_inside()) out.forward(first, last);
  }
};

} // namespace cairn
