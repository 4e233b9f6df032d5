// SPDX-License-Identifier: MIT
// Mistakes that a trainer could make with memory that is apart, each made on purpose. The device of apart.hpp finds them. (A
// bucket that is sent before its event, and an update before its sum, are in ddp/apart.cpp.)
//
// long to compile
#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <cairn/train/optimizers/adamw.hpp>
#include <cairn/train/trainer.hpp>

#include "../apart_ops.hpp"
#include "../training.hpp"

namespace trainer_apart_mutations_tests {

using namespace cairn;

namespace {

using Plain = Sequential<Linear<testing::features, 16>, ReLU, Linear<16, testing::classes>>;
template <class Device>
using small = trainer<Plain, CrossEntropyLoss, AdamW, batch<6>, float, Device>;

// The parameters' checksum after steps whose losses are not read. A device that forgets reports all work as done at once.
template <class Device>
std::uint64_t checksum_after_steps([[maybe_unused]] bool forgets = false) {
  Device device{types::device_options{}};
  small<Device> t{device, AdamW{.learning_rate = 0.1}};
  if constexpr (!detail::shares_memory<Device>) device.forget(forgets);
  for (std::uint32_t s = 0; s < 8; ++s) {
    const testing::samples<> given(6, s);
    t.step(given.x, given.y);
  }
  device.compute().finish();
  if constexpr (!detail::shares_memory<Device>) device.forget(false);
  return t.checksum();
}

} // namespace

TEST_CASE("trainer, memory apart, mutation: no wait before a slot is refilled") {
  CHECK(checksum_after_steps<apart::device>() == checksum_after_steps<cpu>());
  CHECK(checksum_after_steps<apart::device>(true) != checksum_after_steps<cpu>());
}

TEST_CASE("trainer, memory apart, mutation: a loss that is read early") {
  apart::device device({});
  small<apart::device> t{device, AdamW{}};
  device.forget(true);
  const testing::samples<> s(6, 1);
  const double early = t.step(s.x, s.y);
  device.compute().finish();
  CHECK(early != small<cpu>{AdamW{}}.step(s.x, s.y));
}

TEST_CASE("trainer, memory apart, mutation: a destructor that does not wait for what is on the queue") {
  const std::size_t before = apart::device::unfinished;
  for (const bool forgets : {false, true}) {
    {
      small<apart::device> t{AdamW{}};
      t.device().forget(forgets);
      const testing::samples<> s(6, 1);
      t.step(s.x, s.y);
    }
    CHECK(apart::device::unfinished == before + (forgets ? 1 : 0));
  }
  apart::device::unfinished = before; // other tests check it too
}

TEST_CASE("trainer, memory apart, mutation: a loop of the host over parameters") {
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGSEGV, SIG_DFL); // doctest and the sanitizers would report it
    apart::memory parameters(256);
    const volatile float first = *reinterpret_cast<const float*>(parameters.data());
    std::_Exit(first == 0 ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGSEGV);
}

TEST_CASE("trainer, memory apart, mutation: an upload from the loader's buffer, which is filled again") {
  apart::device device({});
  apart::memory there = device.allocate(64);
  std::vector<float> loaded(16, 1.0F), back(16);
  auto* const numbers = reinterpret_cast<float*>(there.data());
  upload(device.compute(), 16, numbers, static_cast<const float*>(loaded.data()));
  std::fill(loaded.begin(), loaded.end(), 2.0F); // the next batch
  download(device.compute(), 16, back.data(), static_cast<const float*>(numbers));
  device.compute().finish();
  CHECK(back[0] == 2); // not 1, which should have been sent
}

namespace {

// An optimizer that keeps the address of a number that changes from step to step.
struct by_address : SGD {
  template <class Queue, class T>
  void update(Queue& queue, const update_call<T>& call) const {
    if constexpr (!detail::queue_shares_memory<Queue>)
      queue.put([to = call.parameters, from = call.gradients, n = call.count, rate = &call.learning_rate](cpu::queue&) {
        T* const p = apart::at(to);
        const T* const g = apart::at(from);
        const double* const now = apart::at(rate);
        for (std::size_t i = 0; i < n; ++i) p[i] -= static_cast<T>(*now) * g[i];
      });
  }
};

} // namespace

TEST_CASE("trainer, memory apart, mutation: a number that changes, kept by its address") {
  trainer<Plain, CrossEntropyLoss, by_address, batch<6>, float, apart::device> t{by_address{}};
  const testing::samples<> s(6, 1);
  CHECK_THROWS_WITH_AS(
      [&] {
        for (int i = 0; i < 3; ++i) t.step(s.x, s.y);
        t.wait();
      }(),
      doctest::Contains("an address that is not the device's"), std::logic_error);
}

} // namespace trainer_apart_mutations_tests
