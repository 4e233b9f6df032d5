// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/core/explain.hpp>

namespace cairn::detail {

// A sample order says which samples of a dataset this rank reads in an epoch, and in what order. (The class that one
// usually takes is called sampler; this is what all of them have in common.)
//
// A type S is a sample order if, for a const S s and a dataset of n samples,
//   1. s.count(n) is how many samples this rank reads, in every epoch;
//   2. s.order(n, epoch, indices) replaces the vector by count(n) numbers below n; a number may come more than once;
//   3. equal (n, epoch) give equal orders, on every machine;
//   4. s.epoch(), if there is one, is the number of the first epoch; without it that is 0.
// Epochs need not differ, and ranks need not read equally much. A rank that finishes before others calls trainer::join(), as
// fit() does: the others then make their steps with it.
template <class S>
concept sample_order = requires(const S& s, std::size_t n, std::uint64_t epoch, std::vector<std::size_t>& indices) {
  { s.count(n) } -> std::convertible_to<std::size_t>;
  s.order(n, epoch, indices);
};

struct order_message {
  template <class Order>
  static constexpr bool right() {
    static_assert(is_right<Order>,
                  "loader: the second argument has to be a sample order, such as sampler{rank} or sequential_sampler{}: "
                  "it has  std::size_t count(std::size_t samples) const  and  void order(std::size_t samples, "
                  "std::uint64_t epoch, std::vector<std::size_t>& indices) const; see second_argument<type>");
    return false;
  }
};

// A type that is no sample order, as the diagnostic of an error (core/explain.hpp).
template <class Type>
struct second_argument : order_message {};

// The epoch of a loader's first pass.
template <class S>
constexpr std::uint64_t first_epoch(const S& order) {
  if constexpr (requires { order.epoch(); }) return order.epoch();
  else return 0;
}

// Any type that has a rank and the number of ranks: a communicator, or the user's own type.
template <class R>
concept ranked = requires(const R& ranks) {
  { ranks.rank() } -> std::convertible_to<std::size_t>;
  { ranks.size() } -> std::convertible_to<std::size_t>;
};

// Takes any integer type, so that `sampler{rank, epoch}` works with an int; throws input_error if it is negative.
template <std::integral I>
constexpr std::uint64_t not_negative(I number, const char* whose, const char* what) {
  if constexpr (std::signed_integral<I>) {
    if (number < 0) {
      std::string text = whose;
      text.append(": expected ").append(what).append(" of 0 or more, found ").append(std::to_string(number));
      throw input_error(text);
    }
  }
  return static_cast<std::uint64_t>(number);
}

// One rank of `size`.
struct rank_share {
  std::size_t rank = 0;
  std::size_t size = 1;
};

template <std::integral I, std::integral J>
constexpr rank_share checked_share(I rank, J size, const char* whose) {
  const rank_share here{static_cast<std::size_t>(not_negative(rank, whose, "a rank")),
                        static_cast<std::size_t>(not_negative(size, whose, "a number of ranks"))};
  if (here.rank >= here.size) {
    std::string text = whose;
    text.append(": expected a rank below the number of ranks, found rank ")
        .append(std::to_string(here.rank))
        .append(" of ")
        .append(std::to_string(here.size))
        .append("; ranks are counted from 0");
    throw input_error(text);
  }
  return here;
}

} // namespace cairn::detail
