// SPDX-License-Identifier: MIT
// under the thread sanitizer
#include <cstddef>
#include <span>
#include <string_view>

#include <cairn/comm/checked_communicator.hpp>
#include <cairn/comm/loopback.hpp>
#include <cairn/comm/threads/threads.hpp>
#include <doctest/doctest.h>

namespace checked_communicator_tests {

using namespace cairn;

namespace {

struct queue {};
struct with_a_name {
  static constexpr std::string_view name = "alone";
};
struct counted : with_a_name {
  int rank() const { return 0; }
  int size() const { return 1; }
};
struct never_waits {};
struct floats_only : counted {
  loopback::rank::ticket all_reduce(queue&, std::span<float>) { return {}; }
};
template <class Ticket>
struct summing : counted {
  Ticket all_reduce(queue&, std::span<float>) { return {}; }
  Ticket all_reduce(queue&, std::span<double>) { return {}; }
};
template <class Ticket>
struct whole : summing<Ticket> {
  Ticket broadcast(queue&, std::span<std::byte>, int) { return {}; }
};

template <class C>
constexpr int steps = detail::checked_communicator<C, queue>::steps;

} // namespace

// The messages are in tests/compile_fail/own_communicator_*.cpp.
TEST_CASE("checked_communicator: the first requirement that does not hold") {
  static_assert(steps<int> == 0 && steps<with_a_name> == 1 && steps<counted> == 2 && steps<floats_only> == 2);
  static_assert(steps<summing<loopback::rank::ticket>> == 3 && steps<whole<never_waits>> == 4);
  static_assert(steps<whole<loopback::rank::ticket>> == 6);
  using checked = detail::checked_communicator<threads::rank>;
  static_assert(checked::right<checked>());
}

} // namespace checked_communicator_tests
