// SPDX-License-Identifier: MIT
#include <array>
#include <cstddef>
#include <memory>
#include <utility>

#include <cairn/comm/lent_memory.hpp>
#include <cairn/comm/loopback.hpp>
#include <doctest/doctest.h>

#include "threads/fault_injecting.hpp"

namespace lent_memory_tests {

using namespace cairn;
using testing::fault_injecting;

TEST_CASE("lent memory keeps its owner for as long as it lives") {
  const auto owner = std::make_shared<std::array<std::byte, 8>>();
  {
    types::lent_memory first(owner, owner->data(), 8);
    CHECK(owner.use_count() == 2);
    const types::lent_memory second = std::move(first);
    CHECK(second.data() == owner->data());
    CHECK(second.size() == 8);
    CHECK(owner.use_count() == 2);
  }
  CHECK(owner.use_count() == 1);
  CHECK(types::lent_memory().data() == nullptr);
  CHECK(types::lent_memory().size() == 0);
}

namespace {
struct lender {
  std::array<std::byte, 8> block{};
  types::lent_memory allocate(std::size_t bytes) { return {nullptr, block.data(), bytes}; }
};
} // namespace

TEST_CASE("what a communicator lends is asked of it, and of the one within another") {
  lender one;
  CHECK(detail::ask_for_memory(one, 8).data() == one.block.data());
  loopback{}.run([](loopback::rank& rank) {
    CHECK(detail::ask_for_memory(rank, 8).data() == nullptr);
    fault_injecting around(rank, {});
    CHECK(detail::ask_for_memory(around, 8).size() == 0);
  });
}

} // namespace lent_memory_tests
