// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>

#include <cairn/core/memory.hpp>
#include <cairn/core/rooms.hpp>

namespace cairn::plan {

// The algorithm by which machines sum their gradients, as far as its time is concerned.
enum class all_reduce_algorithm : unsigned char {
  // The algorithm of mpi: the span is cut into one part for each owner, every machine sends each owner its part, and the owner
  // sends the sum back. It has two latencies, but as many messages as machines.
  parts,
  // The algorithm of MPI_Iallreduce for many bytes: recursive halving, then recursive doubling. Few messages, one after
  // another.
  halving,
};

// Machines with one rank each, and the network between them. All times are seconds, bandwidths bytes per second.
struct cluster {
  std::size_t machines = 1;
  double latency = 0;     // of an empty message, from sending to arrival
  double bandwidth = 1e9; // of each machine, in each direction at the same time
  double per_message = 0; // processor time for each message that is sent
  all_reduce_algorithm sums = all_reduce_algorithm::parts;
  std::size_t least_part = 4096; // bytes; a call whose parts would be smaller has fewer owners
  std::size_t calls_at_once = 2; // calls of a rank that may be in flight; the next one waits
  // The share of the work that stops while a call fills the link: 0 if other cores make sums and copies, 1 if the only core
  // makes them.
  double taken = 0;
};

} // namespace cairn::plan

namespace cairn::detail {

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
// too, which is less. Halving sends B/2, B/4, … bytes in log2 N rounds, and the same back; if N is not a power of two, the
// round that folds in the rest is counted for all.
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

// One call of a step. It leaves when op `leaves_after` is done. The step waits for it when op `awaited_after` is done, and then
// works on the result for `used_for` seconds.
struct planned_call {
  std::size_t bytes = 0;
  std::size_t leaves_after = 0;
  std::size_t awaited_after = 0;
  double used_for = 0;
};

} // namespace cairn::detail

namespace cairn::plan {

// The times of a bucket, in seconds since the step began: when it is ready to leave, when the link begins with it, and when its
// sum arrives.
struct bucket_times {
  double leaves = 0;
  double begins = 0;
  double arrives = 0;

  constexpr bool operator==(const bucket_times&) const = default;
};

} // namespace cairn::plan

namespace cairn::detail {

// The seconds of a step, divided into computation and communication.
struct step_time {
  double compute = 0;
  double taken = 0;   // time of the computing cores that communication takes
  double exposed = 0; // communication that no computation hides: the step waits
};

// A simulation of a step on one machine.
class timed_walk {
public:
  constexpr timed_walk(std::span<const planned_call> calls, const cluster& on, bucket_times* times)
      : calls_(calls), on_(on), times_(times) {}

  constexpr void work(double seconds) {
    const double undisturbed = now_ + seconds;
    out_.compute += seconds;
    if (on_.taken > 0 && seconds > 0) work_beside_calls(seconds);
    else now_ = undisturbed;
    if (now_ > undisturbed) out_.taken += now_ - undisturbed;
  }

  // Sends the calls that leave after this op. The machine's link serves calls in order, one at a time: two that share it would
  // not both be over sooner. A second call in flight only hides the latency of the first; at most `calls_at_once` are in
  // flight.
  constexpr void send(std::size_t op) {
    for (; left_ < calls_.size() && calls_[left_].leaves_after == op; ++left_) {
      const call_time takes = all_reduce_time(on_, calls_[left_].bytes);
      double begins = now_ > link_free_ ? now_ : link_free_;
      if (left_ >= on_.calls_at_once && times_[left_ - on_.calls_at_once].arrives > begins)
        begins = times_[left_ - on_.calls_at_once].arrives;
      link_free_ = begins + takes.link;
      times_[left_] = {now_, begins, begins + takes.whole()};
    }
  }

  // Waits for the calls that are awaited after this op, the first one first.
  constexpr void await(std::size_t op) {
    for (std::size_t i = 0; i < left_; ++i) {
      if (calls_[i].awaited_after != op) continue;
      if (times_[i].arrives > now_) {
        out_.exposed += times_[i].arrives - now_;
        now_ = times_[i].arrives;
      }
      work(calls_[i].used_for);
    }
  }

  constexpr const step_time& out() const { return out_; }

private:
  // Calls that leave after the running op cannot slow it, so the intervals on the link are known.
  constexpr void work_beside_calls(double seconds) {
    const double rate = 1 - on_.taken;
    for (std::size_t i = done_; i < left_ && times_[i].begins < now_ + seconds; ++i) {
      const double ends = times_[i].arrives - all_reduce_time(on_, calls_[i].bytes).latency;
      if (ends <= now_) {
        done_ = i + 1;
        continue;
      }
      if (times_[i].begins > now_) {
        seconds -= times_[i].begins - now_;
        now_ = times_[i].begins;
      }
      const double meanwhile = rate * (ends - now_);
      if (seconds <= meanwhile) {
        now_ += seconds / rate;
        return;
      }
      seconds -= meanwhile;
      now_ = ends;
    }
    now_ += seconds;
  }

  std::span<const planned_call> calls_;
  const cluster& on_;
  bucket_times* times_; // of each call
  step_time out_{};
  double now_ = 0;
  double link_free_ = 0;
  std::size_t left_ = 0; // calls
  std::size_t done_ = 0; // of these, calls that the link has served
};

// Simulates a step. `ops[t]` are the seconds of op t; calls are in the order in which they leave. Writes the times of call i to
// times[i].
constexpr step_time run_step(std::span<const double> ops, std::span<const planned_call> calls, const cluster& on,
                             bucket_times* times) {
  timed_walk walk(calls, on, times);
  for (std::size_t t = 0; t < ops.size(); ++t) {
    walk.work(ops[t]);
    walk.send(t);
    walk.await(t);
  }
  return walk.out();
}

} // namespace cairn::detail
