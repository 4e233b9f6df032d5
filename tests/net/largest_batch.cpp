// SPDX-License-Identifier: MIT
// long to compile
#include <array>
#include <cstddef>
#include <type_traits>

#include <cairn/layer/batch_norm.hpp>
#include <cairn/layer/dropout.hpp>
#include <cairn/layer/gelu.hpp>
#include <cairn/layer/layer_norm.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/checkpoint.hpp>
#include <cairn/net/largest_batch.hpp>
#include <cairn/net/memory_curve.hpp>
#include <cairn/net/repeat.hpp>
#include <cairn/net/residual.hpp>
#include <doctest/doctest.h>

namespace largest_batch_tests {

using namespace cairn;

namespace {

using Net = Sequential<Linear<32, 96>, ReLU, Dropout<percent<20>>, Repeat<5, Residual<Linear<96, 96>, ReLU>>, Linear<96, 10>>;

// The answer is right if it fits and one sample more does not.
template <class Model, std::size_t Bytes, class T = float>
void check_edge() {
  constexpr std::size_t largest = plan::largest_batch<Model, Bytes, detail::own_policy{}, T>;
  static_assert(largest > 0);
  static_assert(peak_activation_bytes<Model, largest, T> <= Bytes);
  static_assert(peak_activation_bytes<Model, largest + 1, T> > Bytes);
}

} // namespace

TEST_CASE("largest batch: it fits, and one sample more does not") {
  check_edge<Net, 64_KiB>();
  check_edge<Net, 1_MiB>();
  check_edge<Net, 1_GiB>();
  check_edge<Net, 1_MiB, double>();
  check_edge<checkpoint<sqrt_n, Net>, 1_MiB>();
  check_edge<checkpoint<recompute_all, Net>, 1_MiB>();
  check_edge<fused_update<Net>, 1_MiB>();
  check_edge<Sequential<Linear<1, 1>>, 4_KiB>();
  CHECK(plan::largest_batch<checkpoint<recompute_all, Net>, 1_MiB> > plan::largest_batch<Net, 1_MiB>);
  CHECK(plan::largest_batch<Net, 1_MiB> == plan::largest_batch<checkpoint<store_all, Net>, 1_MiB>);
}
TEST_CASE("largest batch: exactly the bytes of a batch are enough for it, and a byte less is not") {
  constexpr std::size_t bytes = peak_activation_bytes<Net, 100>;
  CHECK(plan::largest_batch<Net, bytes> == 100);
  CHECK(plan::largest_batch<Net, bytes - 1> == 99);
}
TEST_CASE("largest batch: none where one sample needs more") {
  constexpr std::size_t bytes = peak_activation_bytes<Net, 1>;
  CHECK(plan::largest_batch<Net, bytes - 1> == 0);
  CHECK(plan::largest_batch<Net, bytes> >= 1);
  CHECK(plan::micro_batches<Net, 12, bytes - 1>.rows == 0);
  CHECK(plan::micro_batches<Net, 12, bytes - 1>.count == 0);
}

namespace {

// The search without types: bytes(b) of a batch, and the number of plans that it makes.
template <class F>
std::array<std::size_t, 2> searched(std::size_t limit, F bytes) {
  std::size_t plans = 1;
  detail::batch_bytes before{}, low{1, bytes(1)}, high{};
  const auto known = [&](std::size_t b) {
    ++plans;
    return detail::batch_bytes{b, bytes(b)};
  };
  for (std::size_t more = 1; high.batch == 0; more *= 2) {
    const detail::batch_bytes next = known(detail::next_above(before, low, limit, more));
    if (next.bytes > limit) high = next;
    else before = low, low = next;
  }
  for (std::size_t tried = 0; high.batch - low.batch > 1; ++tried) {
    const detail::batch_bytes next = known(detail::next_between(low, high, limit, tried));
    (next.bytes > limit ? high : low) = next;
  }
  return {low.batch, plans};
}

} // namespace

TEST_CASE("largest batch: the search needs few plans, whatever the bytes") {
  std::size_t most = 0;
  for (const std::size_t slope : {64U, 100U, 4096U, 1000000U})
    for (const std::size_t fixed : {0U, 64U, 100000U})
      for (std::size_t limit = slope + fixed + 64; limit < (std::size_t{1} << 34); limit = limit * 5 / 2 + 7) {
        const auto lines = [&](std::size_t b) { return (fixed + slope * b + 63) / 64 * 64; };
        const auto [found, plans] = searched(limit, lines);
        CHECK(lines(found) <= limit);
        CHECK(lines(found + 1) > limit);
        most = plans > most ? plans : most;
      }
  CHECK(most <= 12);
  // Bytes that do not grow linearly, or in steps.
  const auto [square, plans] = searched(1000000, [](std::size_t b) { return b * b; });
  CHECK(square == 1000);
  CHECK(plans <= 40);
  CHECK(searched(5000, [](std::size_t b) { return b < 777 ? std::size_t{1000} : std::size_t{9000}; })[0] == 776);
}

namespace {

// FLOPs of the cheapest schedule that fits, divided by those of storing everything; 0 if none fits. From the solver of programs.
template <std::size_t Batch>
double cheapest_ratio(std::size_t bytes) {
  const memory_curve<Net, Batch> curve({}, {.exact = true});
  if (curve[0].bytes > bytes) return 0;
  const auto cost = curve.cost_of(curve.within(bytes).plan.training.ops());
  return static_cast<double>(cost) / static_cast<double>(curve[curve.size() - 1].cost);
}

template <std::size_t Bytes, std::size_t Excess>
void check_excess() {
  constexpr std::size_t largest = plan::largest_batch<Net, Bytes, percent<Excess>>;
  using model = checkpoint<budget<Bytes>, Net>;
  using planned = blueprint_of<model, largest>;
  using all = blueprint_of<Net, largest>;
  CHECK(planned::trained::memory.arena <= Bytes);
  constexpr double allowed = 1 + Excess / 100.0;
  CHECK(static_cast<double>(flops(planned::whole, planned::training.ops())) <=
        allowed * static_cast<double>(flops(all::whole, all::training.ops())));
  const double found = cheapest_ratio<largest>(Bytes), beyond = cheapest_ratio<largest + 1>(Bytes);
  CHECK(found > 0);
  CHECK(found <= allowed);
  CHECK((beyond == 0 || beyond > allowed));
}

} // namespace

TEST_CASE("largest batch: with an excess of cost, one sample more costs more or does not fit") {
  check_excess<1_MiB, 20>();
  check_excess<256_KiB, 5>();
  check_excess<1_MiB, 300>();
  CHECK(plan::largest_batch<Net, 1_MiB, percent<0>> >= plan::largest_batch<Net, 1_MiB>);
  CHECK(plan::largest_batch<Net, 1_MiB, percent<20>> > plan::largest_batch<Net, 1_MiB, percent<0>>);
  CHECK(plan::largest_batch<Net, 1_MiB, percent<300>> > plan::largest_batch<Net, 1_MiB, percent<20>>);
  // A policy around the network does not matter then.
  CHECK(plan::largest_batch<checkpoint<sqrt_n, Net>, 1_MiB, percent<20>> == plan::largest_batch<Net, 1_MiB, percent<20>>);
}
TEST_CASE("largest batch: blocks leave the way in which they were typed, as under the budget that the trainer takes") {
  using Norm = Residual<LayerNorm<32>, Linear<32, 128>, GELU, Linear<128, 32>>;
  using Blocks = Sequential<Linear<16, 32>, Repeat<4, Norm>, Linear<32, 10>>;
  using AsTyped = Sequential<Linear<16, 32>, Repeat<4, checkpoint<store_all, Norm>>, Linear<32, 10>>;
  constexpr std::size_t largest = plan::largest_batch<Blocks, 100_KiB, percent<10>>;
  const auto cost = []<class Model, std::size_t Batch>(std::type_identity<Model>, std::integral_constant<std::size_t, Batch>) {
    using planned = blueprint_of<Model, Batch>;
    return static_cast<double>(flops(planned::whole, planned::training.ops()));
  };
  const auto ratio = [&]<std::size_t Batch>(std::integral_constant<std::size_t, Batch> batch) {
    static_assert(peak_activation_bytes<checkpoint<budget<100_KiB>, Blocks>, Batch> <= 100_KiB);
    return cost(std::type_identity<checkpoint<budget<100_KiB>, Blocks>>{}, batch) / cost(std::type_identity<Blocks>{}, batch);
  };
  CHECK(largest > plan::largest_batch<AsTyped, 100_KiB, percent<10>>);
  CHECK(ratio(std::integral_constant<std::size_t, largest>{}) <= 1.1);
  CHECK(ratio(std::integral_constant<std::size_t, largest + 1>{}) > 1.1);
}
TEST_CASE("largest batch: of a budget that the model has, at any cost") {
  using model = checkpoint<budget<1_MiB>, Net>;
  constexpr std::size_t largest = plan::largest_batch<model, 1_MiB>;
  static_assert(peak_activation_bytes<model, largest> <= 1_MiB);
  CHECK(memory_curve<Net, largest + 1>()[0].bytes > 1_MiB);
  CHECK(largest >= plan::largest_batch<Net, 1_MiB, percent<300>>);
}

TEST_CASE("micro-batches: the fewest equal ones that fit") {
  constexpr auto check = []<std::size_t Total, std::size_t Bytes>() {
    constexpr plan::equal_parts parts = plan::micro_batches<Net, Total, Bytes>;
    static_assert(parts.rows * parts.count == Total);
    constexpr std::size_t largest = plan::largest_batch<Net, Bytes>;
    for (std::size_t rows = parts.rows + 1; rows <= largest && rows <= Total; ++rows) CHECK(Total % rows != 0);
    CHECK(parts.rows <= largest);
  };
  check.operator()<256, 200_KiB>();
  check.operator()<360, 200_KiB>();
  check.operator()<97, 200_KiB>(); // a prime number
  check.operator()<64, 1_GiB>();
  CHECK(plan::micro_batches<Net, 64, 1_GiB>.count == 1);
  CHECK(plan::micro_batches<Net, 97, 200_KiB>.rows == 1);
  CHECK(plan::micro_batches<Net, 256, 200_KiB, percent<40>>.count < plan::micro_batches<Net, 256, 200_KiB>.count);
}
TEST_CASE("micro-batches: the divisors of a total") {
  CHECK(detail::divisors<1> == std::array<std::size_t, 1>{1});
  CHECK(detail::divisors<12> == std::array<std::size_t, 6>{1, 2, 3, 4, 6, 12});
  CHECK(detail::divisors<49> == std::array<std::size_t, 3>{1, 7, 49});
}

} // namespace largest_batch_tests
