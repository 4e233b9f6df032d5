// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <span>
#include <string>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/error.hpp>
#include <cairn/net/blueprint.hpp>
#include <cairn/net/summed_layers.hpp>
#include <cairn/plan/buckets.hpp>
#include <cairn/plan/exposed_time.hpp>
#include <cairn/plan/schedule.hpp>
#include <cairn/plan/solve/cost_table.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/settings.hpp>
#include <cairn/train/step_facts.hpp>

namespace cairn {

namespace detail {

// A number of a model of time; the text is made only for one that is wrong, so that the rest is a constant expression.
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

} // namespace detail

// What each op of the training step of a model costs one machine, in seconds, and the update of all parameters. Model is
// whatever a trainer takes; one without ddp<> is looked at as ddp<Model, ...> with its default options.
template <class Model, class Batch, class T = float>
class op_times {
  using distribution = detail::replica<Model>;

public:
  using element = T;
  using plan = blueprint_of<typename distribution::model, Batch::size, T, typename distribution::update>;
  static constexpr std::size_t samples = Batch::size;
  static constexpr std::size_t most_bucket_bytes = plan::fused ? distribution::update::bytes : distribution::options::bytes;
  static constexpr const auto& buckets = plan::template buckets<most_bucket_bytes, plan::fused>;
  static constexpr std::size_t statistics = [] { // calls, of a sync_batch_norm
    if constexpr (distribution::options::sums_statistics) return detail::summed_layers<plan>::calls;
    else return std::size_t{0};
  }();
  static constexpr bool overlaps = plan::fused || distribution::options::overlaps;
  static constexpr std::size_t in_flight = [] { // buckets of a fused update that are in memory at a time
    if constexpr (plan::fused) return distribution::update::in_flight;
    else return buckets.size();
  }();

  // One step of one machine took so long as a whole, `update` seconds of it for the update. The rest is shared out by FLOPs.
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
  // A machine makes so many floating-point operations a second.
  static constexpr op_times at_rate(double flops_per_second, double update = 0) {
    detail::check_time("op_times: expected a rate of more than 0 operations per second", flops_per_second, flops_per_second > 0);
    detail::check_time("op_times: expected an update of 0 seconds or more", update, detail::is_time(update));
    op_times out(update);
    for (double& work : out.seconds_) work *= static_cast<double>(samples) / flops_per_second;
    return out;
  }
  // As measured_costs<Net, Batch> tells: the nanoseconds of each stage.
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

  constexpr std::span<const double> ops() const { return seconds_; } // one for each op of the schedule
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

// One training step of a machine among others, as predicted_step says.
template <std::size_t Buckets>
struct step_prediction {
  std::size_t machines = 1;
  std::size_t samples = 1; // of one machine
  double compute = 0;      // seconds of work
  double taken = 0;        // seconds by which communication makes the work longer, as it takes cores from it
  double exposed = 0;      // seconds in which it only waits for gradients
  std::array<bucket_times, Buckets> buckets{};

  constexpr double seconds() const { return compute + taken + exposed; }
  // The share of the time that is work: N machines train as many samples a second as N times this many single ones.
  constexpr double efficiency() const { return compute / seconds(); }
  constexpr double samples_per_second() const { return static_cast<double>(machines * samples) / seconds(); }
};

namespace detail {

// The calls of a step, in the order in which they leave, each with the ops between which it is on its way.
template <std::size_t Most, std::size_t Buckets>
struct planned_calls {
  std::array<planned_call, Most> storage{};
  std::size_t count = 0;
  std::array<std::size_t, Buckets + 1> of_bucket{}; // which of them

  constexpr std::span<const planned_call> calls() const { return {storage.data(), count}; }
  constexpr void add(const planned_call& call) { storage[count++] = call; }
  constexpr void add(const planned_call& call, std::size_t bucket) {
    of_bucket[bucket] = count;
    add(call);
  }
};

// Which of a layer's ops a call belongs to: the first forward of the stage in which it stands, or the backward. It is awaited at
// once; the calls of several layers in one block are taken to be on their way together.
template <class Plan>
constexpr std::size_t op_of(std::size_t position, op_kind kind) {
  for (std::size_t t = 0; t != Plan::training.count; ++t) {
    const op& o = Plan::training.storage[t];
    if (o.kind == kind && o.position == position) return t;
  }
  return Plan::training.count - 1;
}
// Statistics of all ranks (train/rank_sums.hpp) of all forwards, or of the backwards from `next` on that leave at an op before
// `end`, or at it; those that are left come back in `next`.
template <class Plan, class Calls>
constexpr void add_statistics(Calls& out, bool backward, std::size_t& next, std::size_t end) {
  using layers = summed_layers<Plan>;
  while (next != layers::count) {
    const std::size_t k = backward ? layers::count - 1 - next : next;
    const summed_layer& layer = layers::of[k];
    const std::size_t numbers = backward ? layer.numbers.backward : layer.numbers.forward + (k == 0 ? 1U : 0U);
    if (numbers > 0) {
      const std::size_t at = op_of<Plan>(layer.position, backward ? op_kind::backward : op_kind::forward);
      if (at > end) return;
      out.add({numbers * sizeof(double), at, at, 0});
    }
    ++next;
  }
}

// The op after which each bucket leaves: the backward that completes it, or the last. A block is one op, and its buckets are
// taken to leave at its end, though some leave inside.
template <class Times>
inline constexpr auto ops_of_buckets = [] {
  using plan = typename Times::plan;
  std::array<std::size_t, Times::buckets.size()> at{};
  for (std::size_t b = 0; b != Times::buckets.size(); ++b) {
    at[b] = plan::training.count - 1;
    const std::size_t position = stage_of_leaf(plan::whole, Times::buckets[b].leaves_after);
    for (std::size_t t = 0; Times::overlaps && t != plan::training.count; ++t) {
      const op& o = plan::training.storage[t];
      if (o.kind == op_kind::backward && o.position == position) at[b] = t;
    }
  }
  return at;
}();

// Statistics are awaited at once. The facts of all ranks (train/step_facts.hpp) go with the first bucket. After the whole
// backward pass all buckets are awaited before the update begins. A fused update waits for a bucket when as many have left after
// it as its memory has room for, and its facts go by themselves, when the backward pass begins.
template <class Times>
constexpr auto calls_of(const Times& times, std::size_t machines) {
  using plan = typename Times::plan;
  using sum = accumulated<typename Times::element>;
  constexpr std::size_t count = Times::buckets.size();
  constexpr std::size_t last = plan::training.count - 1;
  planned_calls<count + 1 + Times::statistics, count> out{};
  // The calls for statistics up to an op.
  std::size_t forwards = 0, backwards = 0;
  const auto add_up_to = [&](std::size_t end) {
    if constexpr (Times::statistics > 0) {
      add_statistics<plan>(out, false, forwards, end);
      add_statistics<plan>(out, true, backwards, end);
    }
  };
  if constexpr (count > 0) {
    constexpr const auto& leave = ops_of_buckets<Times>;
    const std::size_t facts = machines > 1 ? facts_of_ranks<sum>::size(machines) * sizeof(sum) : 0;
    if constexpr (plan::fused) {
      add_up_to(plan::training.loss);
      out.add({facts, plan::training.loss, leave[0], 0});
      for (std::size_t b = 0; b != count; ++b) {
        const std::size_t next = b + Times::in_flight - 1;
        const double share = static_cast<double>(Times::buckets[b].size()) / static_cast<double>(plan::parameter_block);
        add_up_to(leave[b]);
        out.add({Times::buckets[b].size() * sizeof(sum), leave[b], next < count ? leave[next] : last, share * times.update()}, b);
      }
    } else {
      for (std::size_t b = 0; b != count; ++b) {
        add_up_to(leave[b]);
        out.add(
            {Times::buckets[b].size() * sizeof(sum) + (b == 0 ? facts : 0), leave[b], last, b + 1 == count ? times.update() : 0},
            b);
      }
    }
  }
  add_up_to(last);
  return out;
}

} // namespace detail

//   using Model = ddp<Net, mpi::rank, bucket_bytes<1_MiB>>;
//   const auto times = op_times<Model, batch<128>>::of_step(18.3e-3);  // as one rank was measured
//   const auto on_64 = predicted_step(times, {.machines = 64, .latency = 20e-6, .bandwidth = 1.25e9});
//   std::printf("%.1f ms, %.0f %% efficient\n", 1e3 * on_64.seconds(), 100 * on_64.efficiency());
//
// How long one training step takes on several machines, from what it costs on one and from the network between them: plain
// arithmetic over the schedule and the bucket plan, so that it can stand in a static_assert. Every machine works on a batch of
// its own. Throws input_error for a cluster that there cannot be.
//
// It is a lower bound that a quiet network comes near to. The model leaves out
//   * congestion: links of different machines share no switch, and a switch is as quick as all of its links together;
//   * jitter and the skew of ranks: a sum waits for the last of N machines, and the slowest of many is slower than the mean;
//   * what ranks take from each other: where N of them share fewer cores, give the times of a step that was measured so, or
//     multiply them by ranks over cores. What communication takes from the work of its own rank is cluster::taken;
//   * owners that take turns: small calls with different owners may use different links at the same time, and wait for each
//     other here, which is the one thing that the model takes too seriously;
//   * checks between steps, loading of data, saving.
template <class Model, class Batch, class T>
constexpr auto predicted_step(const op_times<Model, Batch, T>& times, const cluster& on) {
  using given = op_times<Model, Batch, T>;
  constexpr std::size_t count = given::buckets.size();
  detail::check_cluster(on);
  const auto planned = detail::calls_of(times, on.machines);
  std::array<bucket_times, count + 1 + given::statistics> seen{};
  const detail::step_time took = detail::run_step(times.ops(), planned.calls(), on, seen.data());
  step_prediction<count> out{on.machines, given::samples, took.compute, took.taken, took.exposed, {}};
  for (std::size_t b = 0; b != count; ++b) out.buckets[b] = seen[planned.of_bucket[b]];
  return out;
}

} // namespace cairn
