// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include <doctest/doctest.h>

#include <cairn/plan/exposed_time.hpp>

#include "chains.hpp"

namespace exposed_time_tests {

using namespace cairn;
using namespace cairn::detail;
using namespace cairn::testing;

namespace {

// One byte per second and direction, so that all times are whole seconds.
constexpr cluster two_machines{.machines = 2, .latency = 3, .bandwidth = 1, .least_part = 1, .calls_at_once = 2};

constexpr cluster with(cluster c, std::size_t machines) {
  c.machines = machines;
  return c;
}

// Follows the messages of one sum by parts one by one: rank s sends to s + 1, s + 2, … modulo the number of ranks. A message
// occupies the outgoing link of its sender and the incoming link of its receiver for the time that its bytes take.
struct counted_sum {
  double seconds = 0;
  std::size_t sent = 0; // messages of the rank that sends most
};
counted_sum send_parts(std::size_t machines, std::size_t owners, double message, double latency) {
  std::vector<double> out(machines), in(machines), ready(machines);
  std::vector<std::size_t> sent(machines);
  double end = 0;
  for (const bool back : {false, true}) {
    std::vector<double> arrived(machines);
    for (std::size_t round = 1; round < machines; ++round)
      for (std::size_t from = 0; from < machines; ++from) {
        const std::size_t to = (from + round) % machines;
        if ((back ? from : to) >= owners) continue;
        const double begins = std::max({out[from], in[to], back ? ready[from] : 0});
        out[from] = in[to] = begins + message;
        arrived[to] = std::max(arrived[to], begins + message + latency);
        ++sent[from];
      }
    ready = arrived; // an owner has all parts of its span
    for (std::size_t r = 0; r < machines; ++r) in[r] = std::max(in[r], ready[r]);
    end = *std::max_element(arrived.begin(), arrived.end());
  }
  return {end, *std::max_element(sent.begin(), sent.end())};
}

// Simulates a step second by second.
struct simulated_step {
  double end = 0, exposed = 0, taken = 0;
  std::vector<bucket_times> times{};
};
simulated_step simulate(const std::vector<double>& ops, const std::vector<planned_call>& calls, std::size_t at_once,
                        double latency, bool takes_all) {
  enum class at { behind, waiting, on_link, travelling, arrived };
  struct state {
    at where = at::behind;
    double left = 0;
  };
  simulated_step out;
  out.times.resize(calls.size());
  std::vector<state> call(calls.size());
  std::vector<bool> used(calls.size());
  std::size_t op = 0;
  double work = ops[0];
  for (double now = 0;; ++now) {
    for (std::size_t i = 0; i < calls.size(); ++i)
      if (call[i].where == at::travelling && call[i].left == 0) call[i].where = at::arrived, out.times[i].arrives = now;
    bool waits = false;
    while (work == 0 && op < ops.size() && !waits) { // events between two ops take no time
      for (std::size_t i = 0; i < calls.size(); ++i)
        if (calls[i].leaves_after == op && call[i].where == at::behind) call[i].where = at::waiting, out.times[i].leaves = now;
      bool more = false;
      for (std::size_t i = 0; i < calls.size() && !waits && !more; ++i) {
        if (calls[i].awaited_after != op || used[i]) continue;
        waits = call[i].where != at::arrived;
        if (!waits) used[i] = true, work = calls[i].used_for, more = true;
      }
      if (!waits && !more && ++op < ops.size()) work = ops[op];
    }
    if (op == ops.size()) {
      out.end = now;
      return out;
    }
    std::size_t open = 0;
    bool busy = false;
    for (const state& s : call) {
      open += s.where == at::on_link || s.where == at::travelling ? 1U : 0U;
      busy = busy || s.where == at::on_link;
    }
    for (std::size_t i = 0; i < calls.size() && !busy && open < at_once; ++i) // in the order of the calls
      if (call[i].where == at::waiting) {
        call[i] = {at::on_link, static_cast<double>(calls[i].bytes)};
        out.times[i].begins = now;
        busy = true;
      }
    if (waits) ++out.exposed;
    else if (busy && takes_all) ++out.taken;
    else --work;
    for (state& s : call) {
      if (s.where != at::on_link && s.where != at::travelling) continue;
      if (--s.left == 0 && s.where == at::on_link) s = {at::travelling, 2 * latency};
    }
  }
}

} // namespace

TEST_CASE("exposed_time: a sum by parts is its messages, counted one by one") {
  for (std::size_t machines = 2; machines < 12; ++machines)
    for (std::size_t owners = 1; owners <= machines; ++owners) {
      const std::size_t bytes = 60 * owners;
      // With parts of at least 60 bytes, these bytes have exactly `owners` owners.
      const cluster on{.machines = machines, .latency = 7, .bandwidth = 2, .least_part = 60};
      CHECK(owners_of(on, bytes) == owners);
      const counted_sum counted = send_parts(machines, owners, 60 / on.bandwidth, on.latency);
      const call_time takes = all_reduce_time(on, bytes);
      CHECK(takes.latency == 2 * on.latency);
      CHECK(takes.whole() == doctest::Approx(counted.seconds));
      cluster busy = on;
      busy.per_message = 1000;
      CHECK(all_reduce_time(busy, bytes).link == doctest::Approx(takes.link + 1000 * static_cast<double>(counted.sent)));
    }
}

TEST_CASE("exposed_time: small calls have fewer owners, one machine has no calls") {
  constexpr cluster eight{.machines = 8, .latency = 1, .bandwidth = 1};
  static_assert(eight.least_part == 4096);
  static_assert(owners_of(eight, 100) == 1 && owners_of(eight, 4096) == 1 && owners_of(eight, 4097) == 2);
  static_assert(owners_of(eight, 8193) == 3 && owners_of(eight, 1'000'000) == 8);
  static_assert(all_reduce_time(with(eight, 1), 1'000'000).whole() == 0);
  // 7 spans come in and 7 go out. With an owner for each part, a span is an eighth of the bytes.
  static_assert(all_reduce_time(eight, 100).whole() == 2 * 7 * 100 + 2);
  static_assert(all_reduce_time(eight, 5000).whole() == 2 * 7 * 4096 + 2); // the other owner has fewer bytes
  static_assert(all_reduce_time(eight, 80'000).whole() == 2 * 7 * 10'000 + 2);
}

TEST_CASE("exposed_time: halving sends the bytes of all parts in few rounds") {
  constexpr cluster by_halving{
      .machines = 8, .latency = 1, .bandwidth = 1, .per_message = 10, .sums = all_reduce_algorithm::halving};
  static_assert(all_reduce_time(with(by_halving, 1), 800).whole() == 0);
  static_assert(all_reduce_time(by_halving, 800).latency == 6);
  static_assert(all_reduce_time(by_halving, 800).link == 2 * 700 + 6 * 10);
  static_assert(all_reduce_time(with(by_halving, 9), 900).latency == 8);
  static_assert(all_reduce_time(with(by_halving, 1024), 1024).latency == 20);
  // 400 + 200 + 100 bytes in the first half of the rounds, and the same in the second.
  double bytes = 0;
  for (double half = 400; half >= 100; half /= 2) bytes += 2 * half;
  CHECK(all_reduce_time(by_halving, 800).link == doctest::Approx(bytes + 60));
}

TEST_CASE("exposed_time: what backward hides costs nothing, what it does not is waited for") {
  static constexpr std::array<double, 3> ops{10, 20, 30};
  constexpr auto step = [](double bandwidth, std::size_t leaves) {
    const std::array<planned_call, 1> calls{{{20, leaves, 2, 5}}};
    std::array<bucket_times, 1> times{};
    cluster on = two_machines;
    on.bandwidth = bandwidth;
    return std::pair{run_step(ops, calls, on, times.data()), times[0]};
  };
  static_assert(step(1, 1).first.compute == 65 && step(1, 1).first.exposed == 0);
  static_assert(step(1, 1).second == bucket_times{30, 30, 30 + 20 + 6}); // arrives 4 seconds before the last op ends
  static_assert(step(1, 2).second == bucket_times{60, 60, 86});
  static_assert(step(1, 2).first.exposed == 26 && step(1, 2).first.compute == 65);
  static_assert(step(0.5, 1).first.exposed == 30 + 40 + 6 - 60);
  CHECK(step(1, 0).first.exposed == 0);
}

TEST_CASE("exposed_time: one call at a time waits for the latency of the one before, two do not") {
  static constexpr std::array<double, 1> ops{1};
  static constexpr std::array<planned_call, 3> calls{{{10, 0, 0, 0}, {10, 0, 0, 0}, {10, 0, 0, 0}}};
  constexpr auto last = [](std::size_t at_once) {
    std::array<bucket_times, 3> times{};
    cluster on = two_machines;
    on.calls_at_once = at_once;
    run_step(ops, calls, on, times.data());
    return times[2].arrives;
  };
  static_assert(last(1) == 1 + 3 * (10 + 6));
  static_assert(last(2) == 1 + 3 * 10 + 6);
  CHECK(last(100) == last(2));
}

TEST_CASE("exposed_time: what communication takes of the cores makes the work longer") {
  static constexpr std::array<double, 3> ops{10, 20, 30};
  static constexpr std::array<planned_call, 2> calls{{{8, 0, 2, 0}, {8, 0, 2, 0}}};
  constexpr auto step = [](double taken) {
    std::array<bucket_times, 2> times{};
    cluster on = two_machines;
    on.taken = taken;
    return run_step(ops, calls, on, times.data());
  };
  static_assert(step(0).taken == 0 && step(0).exposed == 0);
  static_assert(step(0.5).taken == 8); // half of 16 seconds of work
  static_assert(step(1).taken == 16 && step(1).compute == 60);
  CHECK(step(0.25).taken == 4);
}

TEST_CASE("exposed_time: steps of every kind are those of a simulation second by second") {
  dice any{11};
  for (std::size_t trial = 0; trial < 2000; ++trial) {
    std::vector<double> ops(1 + any.below(8));
    for (double& seconds : ops) seconds = static_cast<double>(any.below(15));
    std::vector<planned_call> calls(any.below(7));
    std::size_t leaves = 0, awaited = 0;
    for (planned_call& c : calls) {
      leaves = std::min(ops.size() - 1, leaves + any.below(3));
      awaited = std::max({leaves, awaited, any.coin() ? ops.size() - 1 : 0});
      c = {2 * (1 + any.below(10)), leaves, awaited, static_cast<double>(any.below(4))};
    }
    cluster on = two_machines;
    on.calls_at_once = 1 + any.below(3);
    on.latency = static_cast<double>(1 + any.below(4));
    on.taken = any.coin() ? 1 : 0;
    std::vector<bucket_times> times(calls.size());
    const step_time took = run_step(ops, calls, on, times.data());
    const simulated_step seen = simulate(ops, calls, on.calls_at_once, on.latency, on.taken == 1);
    CHECK(took.exposed == seen.exposed);
    CHECK(took.taken == seen.taken);
    CHECK(took.compute + took.taken + took.exposed == seen.end);
    CHECK(times == seen.times);
  }
}

} // namespace exposed_time_tests
