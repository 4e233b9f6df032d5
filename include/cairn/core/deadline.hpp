// SPDX-License-Identifier: MIT
#pragma once

namespace cairn::detail {

// The moment at which a wait ends that begins now. A wait of more than a century is one of a century, so that "for ever",
// the largest duration there is, is no overflow, neither here nor where a standard library adds the clock of another
// epoch; a negative one is over at once. Clock and Wait are std::chrono's; a name of theirs would need <chrono>, which
// costs more than all of core/.
template <class Clock, class Wait>
typename Clock::time_point deadline_after(Wait wait) {
  using count = typename Wait::rep;
  constexpr count century = count{3'155'760'000} * Wait::period::den / Wait::period::num;
  static_assert(century > 0 && century < Wait::max().count());
  const count ticks = wait.count() < 0 ? 0 : wait.count() > century ? century : wait.count();
  return Clock::now() + Wait(ticks);
}

} // namespace cairn::detail
