// SPDX-License-Identifier: MIT
#pragma once

namespace cairn::detail {

// The same wait, limited to between 0 and a century. The largest duration, "for ever", then overflows neither here nor where a
// standard library adds the epoch of another clock. Wait is a duration of std::chrono; naming one would need <chrono>, which
// costs more compile time than all of core/.
template <class Wait>
constexpr Wait bounded_wait(Wait wait) {
  using count = typename Wait::rep;
  constexpr count century = count{3'155'760'000} * Wait::period::den / Wait::period::num;
  static_assert(century > 0 && century < Wait::max().count());
  return Wait(wait.count() < 0 ? 0 : wait.count() > century ? century : wait.count());
}

// The moment at which a wait that begins now ends. Clock is one of std::chrono's.
template <class Clock, class Wait>
typename Clock::time_point deadline_after(Wait wait) {
  return Clock::now() + bounded_wait(wait);
}

// A deadline that does not count the time in which this process did not run, because a signal or a debugger stopped it or its
// machine was suspended. No thread of the process is to blame for that time, and processes on other machines resume at other
// moments.
//
// The waiting thread looks at the clock once per slice. A look that comes much later than that means that the process was away.
// The first time, the whole deadline starts again; later absences of the same wait are subtracted. So a wait ends at the latest
// when the process has run for twice the deadline, however often it is stopped.
//
// Rejected: a clock of the time that the process has used, which stops while every thread waits.
template <class Clock>
class running_deadline {
public:
  using time_point = typename Clock::time_point;
  using duration = typename Clock::duration;

  template <class Wait>
  explicit running_deadline(Wait wait, time_point begun = Clock::now())
      : running_deadline(wait, begun, slice_of(bounded_wait(wait))) {}
  // The same for looks at irregular times: a gap that is longer than this slice counts as an absence.
  template <class Wait>
  running_deadline(Wait wait, time_point begun, duration slice)
      : wait_(bounded_wait(wait)), until_(begun + wait_), looked_(begun), slice_(slice) {}

  // The moment until which to sleep before the next look.
  time_point next_look() const { return looked_ + slice_ < until_ ? looked_ + slice_ : until_; }

  // Looks at the clock. Returns whether the deadline, plus `more`, is over.
  bool is_over(time_point now = Clock::now(), duration more = duration(0)) {
    const duration gap = now - looked_;
    looked_ = now;
    if (gap > slice_ + tolerance) {
      until_ = was_away_ ? until_ + (gap - slice_) : now + wait_;
      was_away_ = true;
    }
    return now >= until_ + more;
  }

private:
  static constexpr auto second = Clock::period::den / Clock::period::num;
  static constexpr duration longest_slice = duration(second / 4);
  static constexpr duration tolerance = duration(second / 10); // a busy machine may wake threads this late
  static_assert(second >= 1000);

  static constexpr duration slice_of(duration wait) { return wait / 8 < longest_slice ? wait / 8 : longest_slice; }

  duration wait_;
  time_point until_, looked_;
  duration slice_;
  bool was_away_ = false;
};

// Waits on a condition variable, with its lock held, until the condition holds. Returns false if the deadline is over first.
template <class Clock, class Variable, class Lock, class Condition>
bool wait_within(running_deadline<Clock>& deadline, Variable& variable, Lock& lock, const Condition& holds) {
  while (!variable.wait_until(lock, deadline.next_look(), holds))
    if (deadline.is_over()) return false;
  return true;
}

} // namespace cairn::detail
