// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>

#include <cairn/core/memory.hpp>

namespace cairn {

// How machines take the sum of their gradients, as far as its time goes.
enum class all_reduce_algorithm : unsigned char {
  // What mpi does: the span is cut into one part for each owner, every machine sends each owner its part, and the owner sends
  // the sum back. Two latencies, but messages as many as machines.
  parts,
  // What MPI_Iallreduce does with many bytes: recursive halving, then recursive doubling. Few messages one after another.
  halving,
};

// Machines with one rank each, and the network between them. All times are seconds, bandwidths bytes per second.
struct cluster {
  std::size_t machines = 1;
  double latency = 0;     // from a send to its arrival, of a message of no bytes
  double bandwidth = 1e9; // of each machine, in each direction at the same time
  double per_message = 0; // of the processor, for each message that is sent
  all_reduce_algorithm sums = all_reduce_algorithm::parts;
  std::size_t least_part = 4096; // bytes; calls so small that their parts would be smaller have fewer owners
  std::size_t calls_at_once = 2; // so many of a rank's calls may be on their way; the next one waits
};

namespace detail {

// The seconds of one call: its bytes and messages fill the machine's link for `link`, and the last of them arrives
// `latency` later.
struct call_time {
  double link = 0;
  double latency = 0;

  constexpr double whole() const { return link + latency; }
};

// The bytes of the largest part of a call, which has as many owners as it has parts.
constexpr double part_of(const cluster& on, std::size_t bytes) {
  const double whole = static_cast<double>(bytes);
  const double least = static_cast<double>(on.least_part);
  const double share = whole / static_cast<double>(on.machines);
  return share > least ? share : least < whole ? least : whole;
}
constexpr std::size_t owners_of(const cluster& on, std::size_t bytes) {
  const std::size_t parts = (bytes + on.least_part - 1) / on.least_part;
  return parts < 1 ? 1 : parts < on.machines ? parts : on.machines;
}

// The owner of a part receives it from N - 1 machines, and sends as many sums back. It sends its own span to the other owners
// too, which is less. Halving sends B/2, B/4, … bytes in log2 N rounds, and the same back; where N is no power of two the round
// that folds the rest in is counted for all.
constexpr call_time all_reduce_time(const cluster& on, std::size_t bytes) {
  if (on.machines < 2) return {};
  const double others = static_cast<double>(on.machines - 1);
  if (on.sums == all_reduce_algorithm::parts) {
    const double owners = static_cast<double>(owners_of(on, bytes));
    return {2 * others * part_of(on, bytes) / on.bandwidth + (others + owners - 1) * on.per_message, 2 * on.latency};
  }
  double rounds = 0;
  for (std::size_t reached = 1; reached < on.machines; reached *= 2) ++rounds;
  return {2 * others / static_cast<double>(on.machines) * static_cast<double>(bytes) / on.bandwidth + 2 * rounds * on.per_message,
          2 * rounds * on.latency};
}

// One call of a step. It leaves when op `leaves_after` is done; the step waits for it when op `awaited_after` is done, and then
// works for `used_for` seconds with what came back.
struct planned_call {
  std::size_t bytes = 0;
  std::size_t leaves_after = 0;
  std::size_t awaited_after = 0;
  double used_for = 0;
};

} // namespace detail

// When a bucket leaves its machine and when its sum is there, in seconds since the step began.
struct bucket_times {
  double leaves = 0;
  double arrives = 0;

  constexpr bool operator==(const bucket_times&) const = default;
};

namespace detail {

// What of a step is work, and what is waiting.
struct step_time {
  double compute = 0;
  double exposed = 0; // communication that no work hides
};

// Runs a step through: `ops[t]` are the seconds of op t, calls are in the order in which they leave, and for the last ops
// of several that are awaited at the same op in that order too. Writes the times of call i to times[i].
//
// A machine's link serves its calls in order, one at a time: two calls that share it are together no sooner over. What the
// second one gains is the latency of the first, while at most `calls_at_once` of them are on their way.
constexpr step_time run_step(std::span<const double> ops, std::span<const planned_call> calls, const cluster& on,
                             bucket_times* times) {
  step_time out{};
  double now = 0;
  double link_free = 0;
  std::size_t left = 0;
  for (std::size_t t = 0; t < ops.size(); ++t) {
    now += ops[t];
    out.compute += ops[t];
    for (; left < calls.size() && calls[left].leaves_after == t; ++left) {
      const call_time takes = all_reduce_time(on, calls[left].bytes);
      double begins = now > link_free ? now : link_free;
      if (left >= on.calls_at_once && times[left - on.calls_at_once].arrives > begins)
        begins = times[left - on.calls_at_once].arrives;
      link_free = begins + takes.link;
      times[left] = {now, begins + takes.whole()};
    }
    for (std::size_t i = 0; i < left; ++i) {
      if (calls[i].awaited_after != t) continue;
      if (times[i].arrives > now) {
        out.exposed += times[i].arrives - now;
        now = times[i].arrives;
      }
      now += calls[i].used_for;
      out.compute += calls[i].used_for;
    }
  }
  return out;
}

} // namespace detail

} // namespace cairn
