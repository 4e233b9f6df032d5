// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <span>
#include <string>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/net/summed_layers.hpp>
#include <cairn/plan/exposed_time.hpp>
#include <cairn/plan/schedule.hpp>
#include <cairn/plan/solve/cost_table.hpp>
#include <cairn/plan/step/step_op.hpp>
#include <cairn/train/ranks/step_facts.hpp>
#include <cairn/train/settings.hpp>
#include <cairn/train/step/step_lists.hpp>

namespace cairn::detail {

// Checks a number of a time model. The text is made only for a wrong number, so that the rest is a constant expression.
constexpr void check_time(const char* expected, double found, bool right) {
  if (!right) throw input_error(expected + std::string(", found ") + shortest_text(found));
}
constexpr bool is_time(double seconds) { return seconds >= 0 && seconds <= std::numeric_limits<double>::max(); }

constexpr void check_cluster(const cluster& on) {
  check_time("predicted_step: expected at least 1 machine", static_cast<double>(on.machines), on.machines >= 1);
  check_time("predicted_step: expected a latency of 0 seconds or more", on.latency, is_time(on.latency));
  check_time("predicted_step: expected a bandwidth of more than 0 bytes per second", on.bandwidth, on.bandwidth > 0);
  check_time("predicted_step: expected 0 seconds or more for a message", on.per_message, is_time(on.per_message));
  check_time("predicted_step: expected parts of at least 1 byte", static_cast<double>(on.least_part), on.least_part >= 1);
  check_time("predicted_step: expected at least 1 call at once", static_cast<double>(on.calls_at_once), on.calls_at_once >= 1);
  check_time("predicted_step: expected that from 0 to 1 of the work is taken", on.taken, on.taken >= 0 && on.taken <= 1);
}

} // namespace cairn::detail

namespace cairn::plan {

// The seconds that each op of a model's training step takes on one machine, and those of the update of all parameters. Model
// is any model that a trainer takes; one without ddp<> is treated as ddp<Model, ...> with its default options.
template <class Model, class Batch, class T = float>
class op_times {
public:
  using element = T;
  using lists = detail::step_lists<Model, Batch::size, T>;
  using plan = typename lists::plan;
  static constexpr std::size_t samples = Batch::size;
  static constexpr const auto& buckets = lists::buckets;

  // From the time of a whole step on one machine, `update` seconds of it for the update. The rest is divided by FLOPs.
  static constexpr op_times of_step(double seconds, double update = 0) {
    detail::check_time("op_times: expected a step of more than 0 seconds", seconds, detail::is_time(seconds) && seconds > 0);
    detail::check_time("op_times: expected an update of 0 seconds or more, and shorter than the step", update,
                       update >= 0 && update < seconds);
    op_times out(update);
    double sum = 0;
    for (const double work : out.seconds_) sum += work;
    for (double& work : out.seconds_) work *= (seconds - update) / sum;
    return out;
  }
  // From the floating-point operations that a machine makes in a second.
  static constexpr op_times at_rate(double flops_per_second, double update = 0) {
    detail::check_time("op_times: expected a rate of more than 0 operations per second", flops_per_second, flops_per_second > 0);
    detail::check_time("op_times: expected an update of 0 seconds or more", update, detail::is_time(update));
    op_times out(update);
    for (double& work : out.seconds_) work *= static_cast<double>(samples) / flops_per_second;
    return out;
  }
  // From the nanoseconds of each stage, as measured_costs<Net, Batch>() returns them.
  static constexpr op_times of_stages(std::span<const stage_cost> nanoseconds, double update = 0) {
    const std::size_t given = nanoseconds.size();
    detail::check_time("op_times: expected the costs of each stage, of as many as the network has", static_cast<double>(given),
                       given == plan::size);
    detail::check_time("op_times: expected an update of 0 seconds or more", update, detail::is_time(update));
    op_times out(update);
    for (std::size_t t = 0; t != plan::training.count; ++t) {
      const detail::op& o = plan::training.storage[t];
      if (!works(o)) continue;
      const stage_cost& c = nanoseconds[o.position];
      const bool whole = o.wants_output || !plan::whole[o.position].tape_without_output;
      out.seconds_[t] = 1e-9 * static_cast<double>(o.kind == detail::op_kind::backward ? c.backward : whole ? c.forward : c.tape);
    }
    return out;
  }

  // One for each op of the schedule: a view, or of a temporary object a copy, which a range-based for loop keeps.
  constexpr std::span<const double> ops() const& { return seconds_; }
  constexpr auto ops() && { return seconds_; }
  constexpr double update() const { return update_; }

private:
  static constexpr bool works(const detail::op& o) {
    return o.kind == detail::op_kind::forward || o.kind == detail::op_kind::backward;
  }

  // FLOPs for one sample. Where no layer states any, every op counts as one.
  explicit constexpr op_times(double update) : update_(update) {
    const bool stated = flops(plan::whole, plan::training.ops()) > 0;
    for (std::size_t t = 0; t != plan::training.count; ++t)
      if (works(plan::training.storage[t]))
        seconds_[t] = stated ? static_cast<double>(flops(plan::whole, plan::training.ops().subspan(t, 1))) : 1;
  }

  std::array<double, plan::training.count> seconds_{};
  double update_ = 0;
};

// The predicted training step of one of several machines: see predicted_step.
template <std::size_t Buckets>
struct step_prediction {
  std::size_t machines = 1;
  std::size_t samples = 1; // of one machine
  double compute = 0;      // seconds of work
  double taken = 0;        // seconds by which communication slows the work, as it takes cores from it
  double exposed = 0;      // seconds in which it only waits for gradients
  std::array<bucket_times, Buckets> buckets{};

  constexpr double seconds() const { return compute + taken + exposed; }
  // The share of the time that is work: N machines train as many samples a second as N times efficiency() single machines.
  constexpr double efficiency() const { return compute / seconds(); }
  constexpr double samples_per_second() const { return static_cast<double>(machines * samples) / seconds(); }
};

} // namespace cairn::plan

namespace cairn::detail {

// The calls of a step in the order in which they are sent, each with the ops between which it is in flight.
template <std::size_t Most, std::size_t Buckets>
struct planned_calls {
  std::array<planned_call, Most> storage{};
  std::size_t count = 0;
  std::array<std::size_t, Buckets + 1> of_bucket{}; // index of each bucket's call

  constexpr std::span<const planned_call> calls() const { return {storage.data(), count}; }
  constexpr void add(const planned_call& call) { storage[count++] = call; }
  constexpr void add(const planned_call& call, std::size_t bucket) {
    of_bucket[bucket] = count;
    add(call);
  }
};

// Finds the calls in the list of a step. A call is sent after the schedule's op that precedes it in the list, and awaited
// after the one that precedes its wait. Its result is used for the updates up to the next wait. Statistics are awaited at
// once. The facts of all ranks (train/ranks/step_facts.hpp) are sent with the first bucket, or by themselves with a fused
// update. A block is one op: calls inside it are assumed to be sent at its end.
template <class Times>
constexpr auto calls_of(const Times& times, std::size_t machines) {
  using plan = typename Times::plan;
  using lists = typename Times::lists;
  using sum = accumulated<typename Times::element>;
  constexpr std::size_t count = Times::buckets.size();
  constexpr auto& steps = lists::template list<step_kind::step>;
  constexpr std::size_t statistics = 2 * lists::summed;
  planned_calls<count + 1 + statistics, count> out{};
  const std::size_t facts = count > 0 && machines > 1 ? facts_of_ranks<sum>::size(machines) * sizeof(sum) : 0;
  std::size_t at = 0, waited = 0, compared = 0;
  std::array<std::size_t, count + 1> used{}; // elements that are updated after the wait for each bucket
  for (const step_op& o : steps.ops()) {
    if (o.is_scheduled()) at = o.index;
    if constexpr (lists::summed > 0)
      if (o.kind == step_op_kind::statistics) {
        const types::summed_numbers& numbers = summed_layers<plan>::of[o.index].numbers;
        const std::size_t first = o.index == 0 ? 1 : 0; // by which ranks report what they run
        out.add({(at < plan::training.loss ? numbers.forward + first : numbers.backward) * sizeof(double), at, at, 0});
      }
    if constexpr (count > 0) {
      switch (o.kind) {
      case step_op_kind::facts:
        compared = out.count;
        if (lists::fused) out.add({facts, at, at, 0});
        break;
      case step_op_kind::compare:
        if (lists::fused) out.storage[compared].awaited_after = at;
        break;
      case step_op_kind::reduce:
        out.add({Times::buckets[o.index].size() * sizeof(sum) + (o.index == 0 && !lists::fused ? facts : 0), at, at, 0}, o.index);
        break;
      case step_op_kind::wait: out.storage[out.of_bucket[waited = o.index]].awaited_after = at; break;
      case step_op_kind::update: used[waited] += Times::buckets[o.index].size(); break;
      default: break;
      }
    }
  }
  for (std::size_t b = 0; b != count; ++b)
    out.storage[out.of_bucket[b]].used_for =
        static_cast<double>(used[b]) / static_cast<double>(plan::parameter_block) * times.update();
  return out;
}

} // namespace cairn::detail

namespace cairn::plan {

//   using Model = ddp<Net, mpi::rank, bucket_bytes<1_MiB>>;
//   const auto times = plan::op_times<Model, batch<128>>::of_step(18.3e-3);  // as one rank was measured
//   const auto on_64 = plan::predicted_step(times, {.machines = 64, .latency = 20e-6, .bandwidth = 1.25e9});
//   std::printf("%.1f ms, %.0f %% efficient\n", 1e3 * on_64.seconds(), 100 * on_64.efficiency());
//
// The time of one training step on several machines, from what it costs on one and from the network between them. It is plain
// arithmetic over the schedule and the bucket plan, so that a static_assert can use it. Every machine works on a batch of its
// own. Throws input_error for a cluster that is impossible.
//
// The result is a lower bound that a quiet network comes near to. The model leaves out
//   * congestion: links of different machines share no switch, and a switch is as fast as all of its links together;
//   * jitter and the skew of ranks: a sum waits for the last of N machines, and the slowest of many is slower than the mean;
//   * ranks that compete for cores: where N of them share fewer cores, give the times of a step that was measured so, or
//     multiply them by ranks over cores. What communication takes from the work of its own rank is cluster::taken;
//   * links used in parallel: small calls with different owners may use different links at the same time, but wait for each
//     other here. Only in this point is the model pessimistic;
//   * checks between steps, loading of data, saving.
template <class Model, class Batch, class T>
constexpr auto predicted_step(const op_times<Model, Batch, T>& times, const cluster& on) {
  using given = op_times<Model, Batch, T>;
  constexpr std::size_t count = given::buckets.size();
  detail::check_cluster(on);
  const auto planned = detail::calls_of(times, on.machines);
  std::array<bucket_times, count + 1 + 2 * given::lists::summed> seen{};
  const detail::step_time took = detail::run_step(times.ops(), planned.calls(), on, seen.data());
  step_prediction<count> out{on.machines, given::samples, took.compute, took.taken, took.exposed, {}};
  for (std::size_t b = 0; b != count; ++b) out.buckets[b] = seen[planned.of_bucket[b]];
  return out;
}

} // namespace cairn::plan
