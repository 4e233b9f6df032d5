// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <doctest/doctest.h>

#include <cairn/plan/kept.hpp>
#include <cairn/plan/plan_of.hpp>
#include <cairn/plan/policies.hpp>
#include <cairn/plan/revolve.hpp>

#include "chains.hpp"

namespace policies_tests {

using namespace cairn;
using namespace cairn::detail;
using namespace cairn::testing;

namespace {

// A user's own policy: stores the input of the upper half, runs the backwards of that half, then recomputes the lower half.
// It stores about log2(n) values and runs n log2(n) / 2 more forwards.
struct halving {
  static constexpr void plan(const chain& c, route& out) {
    out.forward(0, c.size());
    walk(c, out, 0, c.size(), true);
  }

private:
  // Runs the backwards of [first, last). `made`: the values that they read above its first stage have just been made.
  static constexpr void walk(const chain& c, route& out, std::size_t first, std::size_t last, bool made) {
    if (!made) out.recompute(first, last);
    if (last - first <= 2) return out.backward(first, last);
    const std::size_t middle = first + (last - first) / 2;
    walk(c, out, middle, last, true);
    walk(c, out, first, middle, false);
  }
};
static_assert(checkpoint_policy<halving>);

template <std::size_t N>
struct alternating {
  static constexpr auto stages = [] {
    std::array<stage, N> list{};
    for (std::size_t i = 0; i < N; ++i) list[i] = i % 2 == 0 ? dense(16, 16) : relu(16);
    return list;
  }();
  static constexpr chain value{.stages = stages, .batch = 16, .input = {64, 0}};
};
template <std::size_t N>
struct gelus { // backward reads every value
  static constexpr auto stages = [] {
    std::array<stage, N> list{};
    for (std::size_t i = 0; i < N; ++i) list[i] = i % 2 == 0 ? dense(16, 16) : gelu(16);
    return list;
  }();
  static constexpr chain value{.stages = stages, .batch = 16, .input = {64, 0}};
};

template <class Policy, std::size_t N>
constexpr std::size_t values = plan_of<gelus<N>, Policy>::memory.arena / 1024; // each has 1 KiB

constexpr std::size_t forwards(std::span<const op> ops) {
  std::size_t sum = 0;
  for (const op& o : ops) sum += o.kind == op_kind::forward;
  return sum;
}
template <class Policy, std::size_t N>
constexpr std::size_t runs = forwards(plan_of<gelus<N>, Policy>::schedule.ops());

template <class Policy>
bool proved(std::size_t shortest = 1) {
  for (std::size_t n = shortest; n <= 33; ++n)
    for (stage (*const activation)(std::size_t) : {relu, gelu, dropout})
      for (const bool lent : {false, true}) {
        std::vector<stage> stages;
        for (std::size_t i = 0; i < n; ++i) stages.push_back(i % 2 == 0 ? dense(16, 16) : activation(16));
        const chain c{.stages = stages, .input = {64, 0}, .lent = lent};
        const auto made = complete<33, 700>(c, moves_of<Policy>(c));
        if (!prove<33>(c, made.ops())) return false;
      }
  return true;
}

std::vector<std::size_t> begins(void (*plan)(const chain&, route&), std::size_t n) {
  const std::vector<stage> stages(n, dropout(4)); // with a tape, so that every segment but the last is recomputed
  const chain c{.stages = stages};
  route counted{c};
  plan(c, counted);
  std::vector<route_step> moves(counted.size());
  route r{c, moves.data()};
  plan(c, r);
  std::vector<std::size_t> list; // the begin of each segment, from the last one
  for (std::size_t m = 0; m < moves.size(); ++m)
    if (moves[m].backward && (m + 1 == moves.size() || !moves[m + 1].backward)) list.push_back(moves[m].position);
  std::reverse(list.begin(), list.end());
  return list;
}

} // namespace

TEST_CASE("policies: every one gives a schedule that is proved") {
  CHECK(proved<store_all>());
  CHECK(proved<recompute_all>());
  CHECK(proved<every<1>>());
  CHECK(proved<every<2>>());
  CHECK(proved<every<100>>());
  CHECK(proved<sqrt_n>());
  CHECK(proved<at<>>());
  CHECK(proved<at<3, 9, 10>>(11));
  CHECK(proved<halving>());
  static_assert(plan_of<alternating<20>, halving>::proof);
}

TEST_CASE("policies: what is stored and what is made again") {
  // store_all: every value but the input, and two gradients, of which one is in place. No forward runs twice.
  static_assert(runs<store_all, 32> == 32 && values<store_all, 32> >= 32 && values<store_all, 32> <= 33);
  // recompute_all: two values and the gradient; n^2 / 2 forwards.
  static_assert(values<recompute_all, 16> == 3 && runs<recompute_all, 16> > 16 * 15 / 2 - 16);
  // every<1> stores the input of every stage: backward reads nothing more here.
  static_assert(values<every<1>, 32> <= values<store_all, 32>);
  // sqrt_n and halving are in between: sqrt_n recomputes a stage at most once, halving at most log2(n) times.
  static_assert(values<sqrt_n, 32> < 15 && runs<sqrt_n, 32> < 2 * 32);
  static_assert(values<halving, 32> < values<store_all, 32> && runs<halving, 32> < (1 + 5) * 32);
  static_assert(values<sqrt_n, 100> < 100 * 16 / 64);
  CHECK(runs<sqrt_n, 32> > 32);
}

TEST_CASE("policies: sqrt_n cuts into segments whose lengths differ by one at most, the longer first") {
  for (std::size_t n = 1; n < 200; ++n) {
    const auto starts = begins(&sqrt_n::plan, n);
    REQUIRE(!starts.empty());
    CHECK(starts.front() == 0);
    const std::size_t count = starts.size();
    CHECK(count * count + count >= n); // round(sqrt n)
    CHECK((count == 1 || count * count - count < n));
    for (std::size_t j = 0; j < count; ++j) {
      const std::size_t length = (j + 1 < count ? starts[j + 1] : n) - starts[j];
      CHECK(length >= n / count);
      CHECK(length <= n / count + 1);
      if (j > 0) CHECK(length <= starts[j] - starts[j - 1]);
    }
  }
}

namespace {
constexpr std::array<stage, 1> int_stage{stage{.type = spelling<int>()}};
constexpr chain one_int{.stages = int_stage};
} // namespace

TEST_CASE("policies: at<...> names all stages of a type, beside positions") {
  std::vector<stage> stages(8, dropout(4));
  for (const std::size_t i : std::vector<std::size_t>{2, 3, 6}) stages[i].type = spelling<int>();
  const chain c{.stages = stages};
  CHECK(at<named<int>>::accepts(c));
  CHECK(at<named<int>, 7>::accepts(c));
  CHECK_FALSE(at<named<long>>::accepts(c));
  CHECK_FALSE(at<named<int>, named<long>>::accepts(c));
  std::vector<std::size_t> list;
  for (const route_step& m : moves_of<at<5, named<int>>>(c))
    if (m.backward) list.push_back(m.position);
  CHECK(list.size() == 8);
  static_assert(at<named<int>>::accepts(one_int) && !at<named<long>>::accepts(one_int));
  // The inputs of 0, 2, 3, 5 and 6 are stored. Each segment but the last is recomputed before its backwards.
  std::vector<std::size_t> again;
  std::size_t ups = 0;
  for (const route_step& m : moves_of<at<5, named<int>>>(c))
    if (!m.backward && ups++ >= 8) again.push_back(m.position);
  CHECK(again == std::vector<std::size_t>{5, 3, 4, 2, 0, 1});
}

TEST_CASE("policies: every<K> and at<...> begin where they say") {
  CHECK(begins(&every<4>::plan, 10) == std::vector<std::size_t>{0, 4, 8});
  CHECK(begins(&every<20>::plan, 10) == std::vector<std::size_t>{0});
  CHECK(begins(&at<7, 3>::plan, 10) == std::vector<std::size_t>{0, 3, 7});
  const std::vector<stage> stages(8, dense(4, 4));
  CHECK(at<7, 3>::accepts({.stages = stages}));
  CHECK_FALSE(at<8>::accepts({.stages = stages}));
}

namespace {

// Six times a product, a normalisation with its own tape and an activation whose backward reads its input; then a product.
constexpr std::array<stage, 19> wide_blocks() {
  std::array<stage, 19> list{};
  for (std::size_t i = 0; i < list.size(); ++i) {
    stage& s = list[i];
    s.output = {1024, 0};
    s.reads_input = true;
    const bool product = i % 3 == 0;
    s.forward_flops = product ? 2 * 256 * 256 : 8 * 256;
    s.backward_flops = 2 * s.forward_flops;
    s.input_gradient_flops = s.forward_flops;
    s.parameters = product ? 256 * 256 : 0;
    if (i % 3 == 1) s.tape = {8, 0};
    s.in_place_forward = s.in_place_backward = !product;
  }
  return list;
}
struct wide_chain {
  static constexpr auto stages = wide_blocks();
  static constexpr chain value{.stages = stages, .batch = 64, .input = {1024, 0}};
};

constexpr std::array<stage, 5> costly_stages() {
  std::array<stage, 5> list{};
  list.fill(wide_blocks()[0]);
  return list;
}
struct equal_costly {
  static constexpr auto stages = costly_stages();
  static constexpr chain value{.stages = stages, .batch = 64, .input = {1024, 0}};
};

} // namespace

TEST_CASE("policies: recompute_cheap keeps what products make, for less than half of the memory and hardly "
          "more work") {
  using cheap = plan_of<wide_chain, recompute_cheap>;
  using all = plan_of<wide_chain, store_all>;
  static_assert(bool(cheap::proof));
  std::size_t products = 0;
  for (const op& o : cheap::schedule.ops())
    if (o.kind == op_kind::forward && o.position % 3 == 0) ++products;
  CHECK(products == 7); // no product runs twice
  CHECK(cheap::memory.arena < all::memory.arena / 2);
  CHECK(double(flops(wide_chain::value, cheap::schedule.ops())) < 1.02 * double(flops(wide_chain::value, all::schedule.ops())));
  // If every stage is costly, it stores everything.
  CHECK(plan_of<equal_costly, recompute_cheap>::memory.arena == plan_of<equal_costly, store_all>::memory.arena);
}

namespace {

// Six times a product of this width, a normalisation and a GELU, as their layers state their operations.
template <std::size_t Width>
struct normalised_gelus {
  static constexpr auto stages = [] {
    std::array<stage, 18> list{};
    for (std::size_t i = 0; i < list.size(); ++i) {
      list[i] = i % 3 == 0 ? dense(Width, Width) : gelu(Width);
      if (i % 3 == 1) list[i].forward_flops = 8 * Width;
      if (i % 3 == 2) list[i].forward_flops = 45 * Width;
    }
    return list;
  }();
  static constexpr chain value{.stages = stages, .batch = 64, .input = {4 * Width, 0}};
};

// The forwards of the stages at positions `kind`, `kind` + 3, ... under recompute_cheap: 6, or more if they are made again.
template <std::size_t Width, std::size_t Kind>
constexpr std::size_t forwards_of = [] {
  std::size_t count = 0;
  for (const op& o : plan_of<normalised_gelus<Width>, recompute_cheap>::schedule.ops())
    if (o.kind == op_kind::forward && o.position % 3 == Kind) ++count;
  return count;
}();

} // namespace

TEST_CASE("policies: recompute_cheap judges a stage beside the rest of the network, not by its own operations alone") {
  // Beside products of 256 both are cheap; all but those at the end, which are still there, are made again.
  static_assert(forwards_of<256, 0> == 6 && forwards_of<256, 1> == 11 && forwards_of<256, 2> == 11);
  // Beside products of 128 a GELU is more than a seventh of the work: it is stored, and the normalisation is made again.
  static_assert(forwards_of<128, 0> == 6 && forwards_of<128, 1> == 11 && forwards_of<128, 2> == 6);
  // At a width of 8 even the products are not most of the work; the GELU is never made again.
  static_assert(forwards_of<8, 0> == 6 && forwards_of<8, 2> == 6);
  using narrow = normalised_gelus<256>;
  const std::uint64_t stored = flops(narrow::value, plan_of<narrow, store_all>::schedule.ops());
  const std::uint64_t again = flops(narrow::value, plan_of<narrow, recompute_cheap>::schedule.ops());
  CHECK(again > stored);
  CHECK(18 * again <= 19 * stored); // at most a sixth of the forward pass, which is a third of the step
  CHECK(2 * plan_of<narrow, recompute_cheap>::memory.arena <= plan_of<narrow, store_all>::memory.arena);
}

TEST_CASE("policies: of stages that are alike recompute_cheap takes all or none") {
  // Each activation is 1/12 of the forward pass: two of them could be made again, but there are four.
  std::vector<stage> stages;
  for (int i = 0; i < 4; ++i) {
    stages.push_back(dense(8, 8));
    stages.push_back(gelu(8));
    stages[stages.size() - 2].forward_flops = 200;
    stages.back().forward_flops = 100;
  }
  CHECK(most_of_cheap({.stages = stages}) == -1);
  stages[1].forward_flops = 99; // the cheapest alone is cheap
  CHECK(most_of_cheap({.stages = stages}) == operations_a_byte(stages[1]));
  for (stage& s : stages) s.forward_flops = 0;
  CHECK(most_of_cheap({.stages = stages}) == 0); // everything is
}

TEST_CASE("policies: inside a network the last segment is made again, and only inputs of segments are stored") {
  static constexpr auto lent_of = [](const auto& stages, bool lends_output) {
    return chain{.stages = stages, .batch = 16, .input = {64, 0}, .lent = true, .lent_output = lends_output};
  };
  const auto kept = [](const auto& moves_of_policy, const chain& c) { // values and tapes between the two passes
    const auto made = complete<16, 300>(c, moves_of_policy(c));
    CHECK(bool(prove<16>(c, made.ops())));
    const auto items = kept_over_loss<16>(c, made.ops());
    std::vector<std::size_t> values;
    for (std::size_t k = 0; k <= c.size(); ++k)
      if (items.value[k]) values.push_back(k);
    for (std::size_t i = 0; i < c.size(); ++i)
      if (items.tape[i]) values.push_back(100 + i);
    return values;
  };
  using list = std::vector<std::size_t>;
  std::vector<stage> stages;
  for (std::size_t i = 0; i < 9; ++i) stages.push_back(i % 3 == 0 ? dense(16, 16) : i % 3 == 1 ? dropout(16) : relu(16));
  for (const bool lends_output : {false, true}) {
    const chain c = lent_of(stages, lends_output);
    CHECK(kept(&moves_of<recompute_all>, c) == list{});
    // Nothing reads the inputs of the masks but the masks' forwards, and a ReLU needs only its output.
    CHECK(kept(&moves_of<every<1>>, c).back() < c.size());
    CHECK(kept(&moves_of<every<4>>, c) == (lends_output ? list{4} : list{4, 8}));
    CHECK(kept(&moves_of<every<9>>, c) == list{});
    CHECK(kept(&moves_of<sqrt_n>, c) == list{3, 6});
    CHECK(kept(&moves_of<at<2, 5>>, c) == list{2, 5});
    CHECK(kept(&moves_of<at<>>, c) == list{});
    CHECK(kept(&moves_of<revolve<1>>, c) == list{});
    CHECK(kept(&moves_of<revolve<3>>, c).size() == 2); // and the chain's own input
    CHECK(kept(&moves_of<store_all>, c).back() >= 100); // tapes
    CHECK(kept(&moves_of<store_all>, c).size() >= 5);
    stages[0].forward_flops = stages[3].forward_flops = stages[6].forward_flops = 10000;
    CHECK(kept(&moves_of<recompute_cheap>, lent_of(stages, lends_output)) == list{1, 4, 7});
  }
  // Around the whole network the backward pass follows at once.
  const chain whole{.stages = stages, .batch = 16, .input = {64, 0}};
  CHECK_FALSE(whole.is_inside());
  CHECK(lent_of(stages, true).is_inside());
  CHECK(kept(&moves_of<sqrt_n>, whole).size() > 2);
}

} // namespace policies_tests
