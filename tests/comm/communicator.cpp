// SPDX-License-Identifier: MIT
#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <type_traits>

#include <cairn/comm/communicator.hpp>
#include <doctest/doctest.h>

namespace communicator_tests {

namespace {

// The least that a user has to write for a communicator.
struct own_pending {
  template <class Queue>
  void wait(Queue&) {}
};

struct own_communicator {
  static constexpr std::string_view name = "own";
  int rank() const { return 0; }
  int size() const { return 1; }
  template <class Queue, class T>
  own_pending all_reduce(Queue&, std::span<T>) {
    return {};
  }
  template <class Queue>
  own_pending broadcast(Queue&, std::span<std::byte>, int) {
    return {};
  }
};

// A communicator that serves the queues of one device only.
struct device_queue {};
struct device_pending {
  void wait(device_queue&) {}
};
struct device_communicator {
  static constexpr const char* name = "device";
  int rank() const { return 0; }
  int size() const { return 1; }
  device_pending all_reduce(device_queue&, std::span<float>) { return {}; }
  device_pending all_reduce(device_queue&, std::span<double>) { return {}; }
  device_pending broadcast(device_queue&, std::span<std::byte>, int) { return {}; }
};

struct without_name : own_communicator {
  static constexpr int name = 3;
};
struct without_double : own_communicator {
  template <class Queue>
  own_pending all_reduce(Queue&, std::span<float>) {
    return {};
  }
};
struct of_two_machines : own_communicator {
  int size() const { return 6; }
  int local_size() const { return 2; }
};
struct stands_for_another : own_communicator {
  std::string_view called() const { return "another"; }
};
struct waits_for_nothing : own_communicator {
  template <class Queue, class T>
  int all_reduce(Queue&, std::span<T>) {
    return 0;
  }
};

static_assert(cairn::communicator<own_communicator>);
static_assert(cairn::communicator<own_communicator, device_queue>);
static_assert(cairn::communicator<device_communicator, device_queue>);
static_assert(!cairn::communicator<device_communicator>);
static_assert(!cairn::communicator<without_name>);
static_assert(!cairn::communicator<without_double>);
static_assert(!cairn::communicator<waits_for_nothing>);
static_assert(!cairn::communicator<int>);
static_assert(cairn::detail::pending<own_pending>);
static_assert(!cairn::detail::pending<device_pending>);
static_assert(cairn::detail::pending<device_pending, device_queue>);
static_assert(std::is_same_v<cairn::detail::pending_of<device_communicator, float, device_queue>, device_pending>);

} // namespace

TEST_CASE("communicator: a user's own one is used through the concept alone") {
  const auto twice = []<cairn::communicator Communicator>(Communicator& communicator, std::span<float> span) {
    device_queue queue;
    std::array<cairn::detail::pending_of<Communicator, float, device_queue>, 2> kept{};
    for (auto& pending : kept) pending = communicator.all_reduce(queue, span);
    for (auto& pending : kept) pending.wait(queue);
    return communicator.size();
  };
  own_communicator communicator;
  std::array<float, 3> values{1, 2, 3};
  CHECK(twice(communicator, values) == 1);
  CHECK(values == std::array<float, 3>{1, 2, 3});
}

TEST_CASE("communicator: it is called by its name, unless it says what it stands for") {
  CHECK(cairn::detail::name_of_communicator(own_communicator{}) == "own");
  CHECK(cairn::detail::name_of_communicator(stands_for_another{}) == "another");
}

TEST_CASE("communicator: all ranks share a machine, unless it says how many do") {
  CHECK(cairn::detail::ranks_here(own_communicator{}) == 1);
  CHECK(cairn::detail::ranks_here(of_two_machines{}) == 2);
}

} // namespace communicator_tests
