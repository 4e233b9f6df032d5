// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <cairn/core/batch.hpp>
#include <cairn/core/explain.hpp>
#include <cairn/core/fraction.hpp> // percent
#include <cairn/net/blueprint.hpp>
#include <cairn/net/solved_step.hpp>
#include <cairn/plan/checked_policy.hpp>
#include <cairn/plan/plan_of.hpp>
#include <cairn/plan/solve/budget.hpp>

namespace cairn::detail {

// The argument that leaves a model its own policy, where another one is an excess of cost, such as percent<20>.
struct own_policy {};

// A batch, and the bytes of its step. For a schedule that is solved they are estimated.
struct batch_bytes {
  std::size_t batch = 0;
  std::size_t bytes = 0;
};

// Where the line through two batches meets `limit`: most bytes of a step grow linearly with its batch.
constexpr std::size_t batch_on_line(batch_bytes a, batch_bytes b, std::size_t limit) {
  const double slope = (static_cast<double>(b.bytes) - static_cast<double>(a.bytes)) / static_cast<double>(b.batch - a.batch);
  if (slope <= 0) return b.batch;
  const double at = static_cast<double>(a.batch) + (static_cast<double>(limit) - static_cast<double>(a.bytes)) / slope;
  return at < 1 ? 1 : at > static_cast<double>(batch<1>::most) ? batch<1>::most : static_cast<std::size_t>(at);
}
// The next batch to be tried after `now`, which fits, as `before` does: at least `step` more.
constexpr std::size_t next_above(batch_bytes before, batch_bytes now, std::size_t limit, std::size_t step) {
  const std::size_t guess = batch_on_line(before, now, limit), least = now.batch + step;
  return guess > least ? guess : least;
}
// The next batch to be tried between `low`, which fits, and `high`, which does not. Every third one is the middle, so that the
// search ends soon where bytes do not grow linearly.
constexpr std::size_t next_between(batch_bytes low, batch_bytes high, std::size_t limit, std::size_t tried) {
  if (tried % 3 == 2) return low.batch + (high.batch - low.batch) / 2;
  const std::size_t guess = batch_on_line(low, high, limit);
  return guess <= low.batch ? low.batch + 1 : guess >= high.batch ? high.batch - 1 : guess;
}

// A step of a model with a batch of `Batch`: does it fit into `Bytes`? The policy is the model's own, or the cheapest schedule
// that fits, as long as it costs at most `Dearer` more than storing everything.
template <class Model, std::size_t Bytes, auto Dearer, class T, class Update>
struct sized_step {
  static constexpr std::size_t limit = Bytes;
  using net = typename unplanned<Model>::type;
  static constexpr bool solves = !std::is_same_v<std::remove_cv_t<decltype(Dearer)>, own_policy>;
  using policy = typename std::conditional_t<solves, type_of<budget<Bytes>>, type_of<typename whole<Model>::policy>>::type;
  template <std::size_t Batch>
  using drawn = blueprint_of<net, Batch, T, Update>;
  template <std::size_t Batch>
  using source = typename drawn<Batch>::typed_source;
  // The chain as a budget plans it: blocks may leave the way in which they were typed (net/ways.hpp).
  template <std::size_t Batch>
  using planned = chosen_ways<drawn<Batch>, policy>;

  static constexpr std::uint64_t most_cost(std::uint64_t of_storing) {
    if constexpr (solves) return static_cast<std::uint64_t>((1 + static_cast<double>(Dearer)) * static_cast<double>(of_storing));
    else return static_cast<std::uint64_t>(-1);
  }
  // `Typed` is the chain with its blocks as they were typed: the cost is compared with that of storing all that they store.
  template <class Source, class Kept, class Typed>
  static constexpr bool is_cheap_enough() {
    if constexpr (!solves) return true;
    else
      return flops(Source::value, plan_of<Source, Kept>::schedule.ops()) <=
             most_cost(flops(Typed::value, plan_of<Typed, store_all>::schedule.ops()));
  }
  template <std::size_t Batch>
  static constexpr bool fits() {
    using typed = source<Batch>;
    using in_ways = typename planned<Batch>::source;
    using kept = typename planned<Batch>::policy;
    if constexpr (solves && plan_of<typed, store_all>::arena <= Bytes) return true;
    else if constexpr (!accepted<kept, in_ways>()) return false;
    else if constexpr (plan_of<in_ways, kept>::arena > Bytes) return false;
    else return is_cheap_enough<in_ways, kept, typed>();
  }
  // The bytes that a schedule of this cost needs.
  template <class Source>
  static constexpr std::size_t needed() {
    if constexpr (!keeps_a_budget<policy>) {
      return plan_of<Source, policy>::arena;
    } else {
      constexpr const auto& front = budget_solution<Source, Bytes>::front;
      if constexpr (!solves) return front.least.bytes;
      for (std::size_t m = front.low; m < front.all.count + std::size_t{1}; ++m)
        if (front.cost[m] <= most_cost(front.full)) return front.bytes[m];
      return Bytes + Bytes / 32 + 1;
    }
  }

  template <std::size_t Batch>
  static constexpr bool fits_at = fits<Batch>();
  template <std::size_t Batch>
  static constexpr batch_bytes known{Batch, needed<typename planned<Batch>::source>()};

  struct too_long {
    static constexpr bool right() {
      if constexpr (keeps_a_budget<policy>)
        if constexpr (!accepts<policy, source<1>>()) refuse<too_long_for_the_compiler<source<1>::value.size()>>();
      return true;
    }
  };
};

// The largest batch of a step that fits, of those that are tried: the next one does not fit. Low fits, High does not.
template <class Step, std::size_t Low, std::size_t High, std::size_t Tried = 0>
constexpr std::size_t search_between() {
  if constexpr (High - Low == 1) {
    return Low;
  } else {
    constexpr std::size_t next = next_between(Step::template known<Low>, Step::template known<High>, Step::limit, Tried);
    if constexpr (Step::template fits_at<next>) return search_between<Step, next, High, Tried + 1>();
    else return search_between<Step, Low, next, Tried + 1>();
  }
}
template <class Step, std::size_t Before, std::size_t Low, std::size_t More = 1>
constexpr std::size_t search_above() {
  constexpr std::size_t most = batch<1>::most;
  constexpr batch_bytes before = [] {
    if constexpr (Before == 0) return batch_bytes{};
    else return Step::template known<Before>;
  }();
  constexpr std::size_t next = next_above(before, Step::template known<Low>, Step::limit, More);
  if constexpr (Low == most) return most;
  else if constexpr (next >= most) return search_above<Step, Before, most, 0>();
  else if constexpr (Step::template fits_at<next>) return search_above<Step, Low, next, 2 * More>();
  else return search_between<Step, Low, next>();
}
template <class Step>
constexpr std::size_t largest_batch_of() {
  static_assert(Step::too_long::right());
  if constexpr (Step::template fits_at<1>) return search_above<Step, 0, 1>();
  else return 0;
}

// The numbers that divide a total, from 1 on.
template <std::size_t Total>
inline constexpr auto divisors = [] {
  constexpr std::size_t count = [] {
    std::size_t found = 0;
    for (std::size_t d = 1; d * d <= Total; ++d)
      if (Total % d == 0) found += d * d == Total ? 1 : 2;
    return found;
  }();
  std::array<std::size_t, count> out{};
  std::size_t low = 0, high = count;
  for (std::size_t d = 1; d * d <= Total; ++d) {
    if (Total % d != 0) continue;
    out[low++] = d;
    if (d * d < Total) out[--high] = Total / d;
  }
  return out;
}();

// The largest of the first `High` divisors that fits: bisection, where the first `Low` of them fit.
template <class Step, std::size_t Total, std::size_t Low, std::size_t High>
constexpr std::size_t largest_divisor() {
  if constexpr (Low == High) {
    if constexpr (Low == 0) return 0;
    else return divisors<Total>[Low - 1];
  } else {
    constexpr std::size_t middle = (Low + High + 1) / 2;
    if constexpr (Step::template fits_at<divisors<Total>[middle - 1]>) return largest_divisor<Step, Total, middle, High>();
    else return largest_divisor<Step, Total, Low, middle - 1>();
  }
}

} // namespace cairn::detail

namespace cairn::plan {

// The largest batch of which a training step fits into `Bytes`, as peak_activation_bytes counts them; 0 if not even one sample
// does. A constant: where others try batches until the memory is exhausted, the compiler plans some, and the program is right.
//
//   trainer<Net, CrossEntropyLoss, SGD, batch<plan::largest_batch<Net, 2_GiB>>> train{SGD{}};
//
// A checkpoint<> around the model is kept. With an excess of cost, as in largest_batch<Net, 2_GiB, percent<20>>, there is
// budget<Bytes> around the model in place of it, as long as a step costs at most 1.2 of the FLOPs of storing everything; the
// trainer then takes checkpoint<budget<2_GiB>, Net>. It costs the compiler about five plans of the step, with an excess of cost
// as many budgets. Update is the second argument of a blueprint_of, for a fused_update on several ranks.
//
// The step with one sample more does not fit. A still larger one could, by chance, where buffers happen to be packed better.
template <class Model, std::size_t Bytes, auto Dearer = detail::own_policy{}, class T = float,
          class Update = detail::used_in_backward<1, 1>>
inline constexpr std::size_t largest_batch = detail::largest_batch_of<detail::sized_step<Model, Bytes, Dearer, T, Update>>();

// Equal parts of a batch: rows for each of `count` micro-batches. Both are 0 if not even one sample fits.
struct equal_parts {
  std::size_t rows = 0;
  std::size_t count = 0;
};

// A batch of `Total` samples in the fewest equal micro-batches of which each fits into `Bytes`; arguments as above.
//
//   constexpr auto parts = plan::micro_batches<Net, 256, 64_MiB>; // 32 rows, 8 times
//   trainer<Net, CrossEntropyLoss, SGD, batch<parts.rows>> train{SGD{}};
//   ... train.accumulate(...) for each of them, then train.step()
//
// The gradients are those of the whole batch, except where a layer looks at all rows of a micro-batch, as BatchNorm does.
template <class Model, std::size_t Total, std::size_t Bytes, auto Dearer = detail::own_policy{}, class T = float,
          class Update = detail::used_in_backward<1, 1>>
inline constexpr equal_parts micro_batches = [] {
  static_assert(Total > 0, "micro_batches: a batch has at least one sample");
  using step = detail::sized_step<Model, Bytes, Dearer, T, Update>;
  static_assert(step::too_long::right());
  constexpr std::size_t rows = detail::largest_divisor<step, Total, 0, detail::divisors<Total>.size()>();
  if constexpr (rows == 0) return equal_parts{};
  else return equal_parts{rows, Total / rows};
}();

} // namespace cairn::plan
