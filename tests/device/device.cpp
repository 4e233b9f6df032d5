// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cstddef>

#include <cairn/device/cpu.hpp>
#include <cairn/device/device.hpp>

namespace device_tests {

namespace {

// The smallest device. It counts what is put on its queue.
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
  using host_memory = memory;
  struct queue {
    static constexpr bool shares_memory = false;
    int places = 0;
    event record() { return {++places}; }
    void wait(const event&) {}
    bool reached(const event&) { return true; }
    void finish() {}
  };
  explicit counting_device(cairn::types::device_options) {}
  queue line;
  queue& compute() { return line; }
  queue& transfers() { return line; }
  memory allocate(std::size_t) { return {}; }
  host_memory staging(std::size_t) { return {}; }
};

struct without_events : counting_device {
  using counting_device::counting_device;
  struct queue {};
  queue line;
  queue& compute() { return line; }
  queue& transfers() { return line; }
};

// A device whose queue cannot report to the host what is done.
struct without_an_end : counting_device {
  using counting_device::counting_device;
  struct queue {
    static constexpr bool shares_memory = false;
    event record() { return {}; }
    void wait(const event&) {}
  };
  queue line;
  queue& compute() { return line; }
  queue& transfers() { return line; }
};

struct with_copied_memory : counting_device {
  using counting_device::counting_device;
  struct memory {
    std::byte* data() const { return nullptr; }
    std::size_t size() const { return 0; }
  };
  memory allocate(std::size_t) { return {}; }
};

struct without_allocation : counting_device {
  using counting_device::counting_device;
  void allocate(std::size_t) {}
};

static_assert(cairn::device<cairn::cpu>);
static_assert(cairn::device<counting_device>);
static_assert(cairn::detail::shares_memory<cairn::cpu> && !cairn::detail::shares_memory<counting_device>);
static_assert(!cairn::device<without_events>);
static_assert(!cairn::device<without_an_end>);
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
  counting_device device({});
  CHECK(places_of_two(device) == 2);
}

} // namespace device_tests
