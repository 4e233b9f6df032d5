// SPDX-License-Identifier: MIT
#include <cstddef>
#include <cstdint>
#include <utility>

#include <cairn/comm/mpi/shared_memory.hpp>
#include <doctest/doctest.h>

#if defined(__linux__)
#include <sys/wait.h>
#include <unistd.h>

namespace shared_memory_tests {

using cairn::detail::shared_memory;

TEST_CASE("memory is shared with a process that is told where it is") {
  shared_memory own = shared_memory::make(100'000);
  REQUIRE(own.data() != nullptr);
  CHECK(own.size() == 100'000);
  CHECK(reinterpret_cast<std::uintptr_t>(own.data()) % 64 == 0);
  CHECK(own.data()[99'999] == std::byte{0});
  const shared_memory::handle told = own.told();
  const pid_t child = ::fork();
  if (child == 0) {
    const shared_memory found = shared_memory::open(told);
    if (found.data() == nullptr || found.size() != 100'000) ::_exit(1);
    found.data()[99'999] = std::byte{7};
    ::_exit(0);
  }
  int status = -1;
  CHECK(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(own.data()[99'999] == std::byte{7});

  const shared_memory moved = std::move(own);
  CHECK(own.data() == nullptr);
  CHECK(moved.data()[99'999] == std::byte{7});
}

TEST_CASE("what is not the memory that was told is not opened") {
  shared_memory own = shared_memory::make(5000);
  const shared_memory::handle told = own.told();
  CHECK(shared_memory::open(told).data() != nullptr);
  shared_memory::handle other = told;
  ++other.key[1];
  CHECK(shared_memory::open(other).data() == nullptr);
  other = told;
  ++other.bytes;
  CHECK(shared_memory::open(other).data() == nullptr);
  other = told;
  other.file = 0; // no memory
  CHECK(shared_memory::open(other).data() == nullptr);
  CHECK(shared_memory::open({}).data() == nullptr);
  own.hide();
  CHECK(shared_memory::open(told).data() == nullptr);
  CHECK(own.data() != nullptr);
}
#endif

} // namespace shared_memory_tests
