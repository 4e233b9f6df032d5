// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include <cairn/device/instruction_set.hpp>
#include <doctest/doctest.h>

namespace instruction_set_tests {

using namespace cairn;
using namespace cairn::detail;

TEST_CASE("instruction_set: what the system says of this processor, at most what CAIRN_ISA allows") {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line) && line.compare(0, 5, "flags") != 0) {
  }
  std::istringstream words(line);
  std::set<std::string> flags;
  for (std::string word; words >> word;) flags.insert(word);
  instruction_set wanted = instruction_set::plain;
  if (flags.contains("avx2") && flags.contains("fma")) wanted = instruction_set::avx2;
  if (wanted == instruction_set::avx2 && flags.contains("avx512f") && flags.contains("avx512vl") && flags.contains("avx512dq") &&
      flags.contains("avx512bw"))
    wanted = instruction_set::avx512;
  if (const char* const lowered = std::getenv("CAIRN_ISA"); lowered != nullptr) {
    if (std::string(lowered) == "plain") wanted = instruction_set::plain;
    if (std::string(lowered) == "avx2") wanted = std::min(wanted, instruction_set::avx2);
  }
  if (CAIRN_X86 && flags.empty()) return; // another system, which has no such file
  CHECK(widest_instruction_set() == wanted);
}

} // namespace instruction_set_tests
