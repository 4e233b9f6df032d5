// SPDX-License-Identifier: MIT
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>

#include <cairn/device/cpu.hpp>
#include <cairn/device/huge_pages.hpp>
#include <doctest/doctest.h>

namespace huge_pages_tests {

using namespace cairn;

namespace {

std::uintptr_t number(const void* p) { return reinterpret_cast<std::uintptr_t>(p); }

// Returns Linux's flags of the mapping with this address: they contain " hg" if huge pages were requested.
std::string flags_of(const void* p) {
  std::ifstream maps("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    std::uintptr_t begin = 0, end = 0;
    char dash = 0;
    if (line.find('-') < line.find(' ') && words >> std::hex >> begin >> dash >> end)
      inside = begin <= number(p) && number(p) < end;
    if (inside && line.starts_with("VmFlags:")) return line + ' ';
  }
  return {};
}

} // namespace

TEST_CASE("a large block of a cpu begins at a huge page, and asks for them, and a small one does not") {
  cpu device;
  const cpu::memory large = device.allocate(5'000'000), small = device.allocate(100'000);
  CHECK(number(large.data()) % detail::huge_page == 0);
  CHECK(number(small.data()) % detail::alignment == 0);
  CHECK(detail::block_alignment(detail::huge_page - 1) == detail::alignment);
  CHECK(detail::block_alignment(detail::huge_page) == detail::huge_page);
  if (std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled")) {
    CHECK(flags_of(large.data()).find(" hg ") != std::string::npos);
    CHECK(flags_of(large.data() + 2 * detail::huge_page).find(" hg ") == std::string::npos); // its end
  }
}

} // namespace huge_pages_tests
