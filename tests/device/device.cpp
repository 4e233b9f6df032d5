// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cstddef>

#include <cairn/device/cpu.hpp>
#include <cairn/device/device.hpp>

namespace {

// The smallest device, which counts what is put on its queue.
struct counting_device {
  struct event {
    int place = 0;
  };
  struct memory {
    memory() = default;
    memory(memory&&) = default;
    memory& operator=(memory&&) = default;
    std::byte* data() const { return nullptr; }
    std::size_t size() const { return 0; }
  };
  struct queue {
    int places = 0;
    event record() { return {++places}; }
    void wait(const event&) {}
  };
  queue line;
  queue& compute() { return line; }
  memory allocate(std::size_t) { return {}; }
};

struct without_events : counting_device {
  struct queue {};
  queue line;
  queue& compute() { return line; }
};

struct with_copied_memory : counting_device {
  struct memory {
    std::byte* data() const { return nullptr; }
    std::size_t size() const { return 0; }
  };
  memory allocate(std::size_t) { return {}; }
};

struct without_allocation : counting_device {
  void allocate(std::size_t) {}
};

static_assert(cairn::device<cairn::cpu>);
static_assert(cairn::device<counting_device>);
static_assert(!cairn::device<without_events>);
static_assert(!cairn::device<with_copied_memory>);
static_assert(!cairn::device<without_allocation>);
static_assert(!cairn::device<int>);

template <cairn::device Device>
int places_of_two(Device& device) {
  device.compute().record();
  return device.compute().record().place;
}

} // namespace

TEST_CASE("device: an event is the place behind what was put on the queue before") {
  counting_device device;
  CHECK(places_of_two(device) == 2);
}
