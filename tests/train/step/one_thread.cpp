// SPDX-License-Identifier: MIT
// under the thread sanitizer
#include <doctest/doctest.h>

#include <stdexcept>
#include <string>
#include <thread>

#include <cairn/train/step/one_thread.hpp>

namespace one_thread_tests {

using namespace cairn;
using detail::one_thread;

namespace {
std::string said_on_another_thread(one_thread& place) {
  std::string text;
  std::thread([&] {
    try {
      const one_thread::visit here(place, "trainer, step 3");
    } catch (const input_error& thrown) {
      text = thrown.what();
    }
  }).join();
  return text;
}
} // namespace

TEST_CASE("one_thread: a second thread is refused, and the same one may come in again") {
  one_thread place;
  {
    const one_thread::visit first(place, "trainer, step 3");
    {
      const one_thread::visit again(place, "trainer, step 3");
    }
    CHECK(said_on_another_thread(place).find(
              "trainer, step 3: expected one thread at a time, found that another one is inside") == 0);
  }
  CHECK(said_on_another_thread(place).empty()); // they may take turns
  const one_thread::visit last(place, "trainer, step 3");
}

TEST_CASE("one_thread: an exception leaves the place empty") {
  one_thread place;
  try {
    const one_thread::visit here(place, "trainer, step 3");
    throw std::runtime_error("on the way");
  } catch (const std::runtime_error&) {
  }
  CHECK(said_on_another_thread(place).empty());
}

} // namespace one_thread_tests
