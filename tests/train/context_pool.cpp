// SPDX-License-Identifier: MIT
// under the thread sanitizer
#include <atomic>
#include <barrier>
#include <cstddef>
#include <memory>
#include <stdexcept>

#include <cairn/train/context_pool.hpp>
#include <doctest/doctest.h>

#include "at_once.hpp"

namespace context_pool_tests {

namespace {

struct context {
  std::atomic<int> users{0};
};
using pool_type = cairn::detail::context_pool<context>;

std::unique_ptr<context> make() { return std::make_unique<context>(); }
std::unique_ptr<context> make_none() { throw std::runtime_error("no memory"); }

} // namespace

TEST_CASE("context_pool: the one that came back last is taken first, and another is made only when none is left") {
  auto first = make();
  const context* const known = first.get();
  pool_type pool(std::move(first), false);
  {
    const auto a = pool.take(make_none);
    CHECK(&*a == known);
    const auto b = pool.take(make);
    CHECK(&*b != known);
    CHECK(pool.in_use() == 2);
  } // b comes back before a
  CHECK(pool.in_use() == 0);
  CHECK(&*pool.take(make_none) == known);
  const auto a = pool.take(make_none), b = pool.take(make_none);
  CHECK(&*a != &*b);
  CHECK(pool.size() == 2);
}

TEST_CASE("context_pool: a first one on several threads is for a call that is alone") {
  auto first = make();
  const context* const wide = first.get();
  pool_type pool(std::move(first), true);
  {
    const auto a = pool.take(make_none);
    CHECK(&*a == wide);
    CHECK(&*pool.take(make) != wide);
    CHECK(&*pool.take(make_none) != wide);
  }
  const context* narrow = nullptr;
  {
    const auto a = pool.take(make_none);
    const auto b = pool.take(make_none);
    narrow = &*b;
  }
  CHECK(&*pool.take(make_none) == wide);
  CHECK(narrow != wide);
  CHECK(pool.size() == 2);
}

TEST_CASE("context_pool: who throws gives it back, and a context that cannot be made takes nothing") {
  pool_type pool(make(), false);
  const auto fail = [&] {
    const auto own = pool.take(make_none);
    throw std::runtime_error("a layer's");
  };
  CHECK_THROWS_WITH(fail(), "a layer's");
  CHECK(pool.in_use() == 0);
  const auto own = pool.take(make_none);
  CHECK_THROWS_WITH(static_cast<void>(pool.take(make_none)), "no memory");
  CHECK(pool.in_use() == 1);
  CHECK(pool.size() == 1);
}

TEST_CASE("context_pool: never two users of one, and as many contexts as there were users at once") {
  for (const bool wide : {false, true}) {
    CAPTURE(wide);
    pool_type pool(make(), wide);
    std::atomic<int> shared{0};
    std::barrier gate(4);
    testing::on_threads(4, [&](std::size_t) {
      const auto use = [&] {
        const auto own = pool.take(make);
        if (++own->users != 1) ++shared;
        --own->users;
      };
      for (int i = 0; i < 20000; ++i) use();
      gate.arrive_and_wait();
      const auto own = pool.take(make);
      gate.arrive_and_wait(); // all four have one
      if (++own->users != 1) ++shared;
    });
    CHECK(shared == 0);
    CHECK(pool.in_use() == 0);
    CHECK(pool.size() >= 4);
    CHECK(pool.size() <= 5); // four, and the wide one, which only a lone call takes
  }
}

} // namespace context_pool_tests
