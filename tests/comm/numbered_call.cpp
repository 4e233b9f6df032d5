// SPDX-License-Identifier: MIT
#include <cairn/comm/numbered_call.hpp>

#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

namespace numbered_call_tests {

using namespace cairn;

struct recorder {
  std::vector<std::uint64_t> waited, dropped;
  bool fails = false;

  void wait(std::uint64_t call) {
    waited.push_back(call);
    if (fails) throw std::runtime_error("lost");
  }
  bool over(std::uint64_t call) const { return call < 5; }
  void drop(std::uint64_t call) { dropped.push_back(call); }
  bool failed() const { return fails; }
};
struct of_queue : recorder {
  std::vector<int> queues;
  void wait(std::uint64_t call, int queue) {
    recorder::wait(call);
    queues.push_back(queue);
  }
};
using numbers = std::vector<std::uint64_t>;

TEST_CASE("numbered_call: is waited for once, wherever it was moved, and an empty one never") {
  recorder owner;
  int queue = 0;
  detail::numbered_call<recorder> empty, first(owner, 4), second(owner, 5);
  CHECK(empty.over());
  CHECK(first.over());
  CHECK_FALSE(second.over());
  empty = std::move(second);
  CHECK(second.over()); // NOLINT(bugprone-use-after-move): it is empty
  detail::numbered_call<recorder> third(std::move(first));
  first.wait(queue); // NOLINT(bugprone-use-after-move)
  CHECK(owner.waited.empty());
  third.wait(queue);
  empty.wait(queue);
  empty.wait(queue);
  CHECK(owner.waited == numbers{4, 5});
  CHECK(owner.dropped.empty());
}

TEST_CASE("numbered_call: an exception drops what is open, and a call that has failed is over") {
  recorder owner;
  int queue = 0;
  try {
    const detail::numbered_call<recorder> open(owner, 7);
    throw std::runtime_error("elsewhere");
  } catch (const std::runtime_error&) {
  }
  CHECK(owner.dropped == numbers{7});

  owner.fails = true;
  {
    detail::numbered_call<recorder> failing(owner, 8);
    CHECK_THROWS(failing.wait(queue));
    const detail::numbered_call<recorder> unwaited(owner, 9); // the owner has failed: no mistake
  }
  CHECK(owner.dropped == numbers{7, 9});
}

TEST_CASE("numbered_call: an owner that needs the queue is given it") {
  of_queue owner;
  detail::numbered_call<of_queue> call(owner, 1);
  int queue = 42;
  call.wait(queue);
  CHECK(owner.waited == numbers{1});
  CHECK(owner.queues == std::vector<int>{42});
}

} // namespace numbered_call_tests
