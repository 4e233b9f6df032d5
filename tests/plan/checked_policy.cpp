// SPDX-License-Identifier: MIT
#include <array>
#include <cstddef>
#include <type_traits>

#include <cairn/plan/checked_policy.hpp>
#include <cairn/plan/revolve.hpp>
#include <doctest/doctest.h>

namespace checked_policy_tests {

using namespace cairn;
using namespace cairn::detail;

namespace {

// Five equal stages, each with parameters, whose backward reads their input.
struct five {
  static constexpr std::array<stage, 5> stages = [] {
    std::array<stage, 5> list{};
    for (stage& s : list) {
      s.output = {64, 0};
      s.reads_input = true;
      s.parameters = 1;
    }
    return list;
  }();
  static constexpr chain value{.stages = stages, .batch = 4, .input = {64, 0}};
};

struct no_plan {};
struct late {
  static void plan(const chain& c, route& out) { out.forward(0, c.size()); }
};
struct picky : store_all {
  static constexpr bool accepts(const chain& c) { return c.size() > 5; }
};
// Each policy makes one mistake.
template <int Mistake>
struct mistaken {
  static constexpr void plan(const chain& c, route& out) {
    const std::size_t n = c.size();
    if (Mistake == 1) out.forward(1);         // begins in the middle
    out.forward(0, Mistake == 2 ? n - 1 : n); // stops before the end
    if (Mistake == 3) out.forward(n);         // goes beyond the end
    if (Mistake == 7) {                       // the last two in the wrong order
      out.backward(n - 2);
      out.backward(n - 1);
      out.backward(0, n - 2);
      return;
    }
    out.backward(Mistake == 4 ? 1 : 0, n); // leaves the first out
    if (Mistake == 5) out.backward(0);     // runs the first twice
    if (Mistake == 6) out.backward(n - 1); // runs the last again, after all others
  }
};

template <class Policy>
constexpr policy_fault fault = policy_fault_of<Policy, five>;

} // namespace

// The messages are in tests/compile_fail/own_policy_*.cpp and at_outside.cpp.
TEST_CASE("checked_policy: policies that plan have no fault") {
  static_assert(fault<store_all> == policy_fault::none && fault<sqrt_n> == policy_fault::none);
  static_assert(fault<recompute_all> == policy_fault::none && fault<revolve<2>> == policy_fault::none);
  static_assert(fault<at<4>> == policy_fault::none && fault<mistaken<0>> == policy_fault::none);
  static_assert(std::is_same_v<sound_policy<sqrt_n, five>, sqrt_n>);
}

TEST_CASE("checked_policy: what keeps a policy from planning is found") {
  static_assert(fault<no_plan> == policy_fault::no_plan && fault<int> == policy_fault::no_plan);
  static_assert(fault<late> == policy_fault::not_constant);
  static_assert(fault<picky> == policy_fault::refuses && fault<at<5>> == policy_fault::refuses);
  static_assert(std::is_same_v<policy_diagnostic<at<5>, five>::type, outside_network<at<5>, 5>>);
  static_assert(std::is_same_v<policy_diagnostic<picky, five>::type, checked_policy<picky, 5, policy_fault::refuses>>);
}

TEST_CASE("checked_policy: a route that is no walk up and back is found before anything is made of it") {
  static_assert(fault<mistaken<1>> == policy_fault::no_walk && fault<mistaken<2>> == policy_fault::no_walk);
  static_assert(fault<mistaken<3>> == policy_fault::no_walk && fault<mistaken<4>> == policy_fault::no_walk);
  static_assert(fault<mistaken<5>> == policy_fault::no_walk && fault<mistaken<6>> == policy_fault::no_walk);
  static_assert(fault<mistaken<7>> == policy_fault::no_walk);
}

} // namespace checked_policy_tests
