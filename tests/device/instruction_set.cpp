// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include <cairn/core/error.hpp>
#include <cairn/device/cpu.hpp>
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
  if (flags.contains("avx2") && flags.contains("fma") && flags.contains("f16c")) wanted = instruction_set::avx2;
  if (wanted == instruction_set::avx2 && flags.contains("avx512f") && flags.contains("avx512vl") && flags.contains("avx512dq") &&
      flags.contains("avx512bw"))
    wanted = instruction_set::avx512;
  std::string allowed;
  if (const char* const lowered = std::getenv("CAIRN_ISA"); lowered != nullptr) {
    if (std::string(lowered) == "plain") wanted = instruction_set::plain;
    if (std::string(lowered) == "avx2") wanted = std::min(wanted, instruction_set::avx2);
    allowed = lowered;
  }
  if (CAIRN_X86 && flags.empty()) return; // another system, without this file
  CHECK(widest_instruction_set() == wanted);
  // Tiles need the system's permission too, and without them or CAIRN_ISA processors that have them do without avx512_bf16.
  const bool has_bf16 = wanted == instruction_set::avx512 && flags.contains("avx512_bf16") && allowed != "avx512";
  if (!has_bf16) CHECK(widest_for_bfloat16() == wanted);
  else if (!flags.contains("amx_bf16") || allowed == "avx512_bf16") CHECK(widest_for_bfloat16() == instruction_set::avx512_bf16);
  else CHECK((widest_for_bfloat16() == instruction_set::amx_bf16 || widest_for_bfloat16() == wanted));
}

TEST_CASE("instruction_set: CAIRN_ISA lowers it and never raises it, and a word that is none of its own is an error") {
  using set = instruction_set;
  for (const set found : {set::plain, set::avx2, set::avx512, set::avx512_bf16, set::amx_bf16}) {
    CHECK(at_most(found, "") == found);
    CHECK(at_most(found, "plain") == set::plain);
    CHECK(at_most(found, "avx2") == std::min(found, set::avx2));
    CHECK(at_most(found, "avx512") == std::min(found, set::avx512));
    CHECK(at_most(found, "avx512_bf16") == std::min(found, set::avx512_bf16));
    CHECK(at_most(found, "amx_bf16") == found);
    for (const char* const wrong : {"bogus", "AVX2", "avx", " plain", "avx2 "})
      CHECK_THROWS_WITH_AS(
          static_cast<void>(at_most(found, wrong)),
          doctest::Contains("CAIRN_ISA: expected plain, avx2, avx512, avx512_bf16 or amx_bf16 in the environment, found '" +
                            doctest::String(wrong) + "'"),
          input_error);
  }
}

// A process determines its instruction set once, so the next test case runs this one in processes of their own.
TEST_CASE("instruction_set: a cpu of this process") { CHECK(cpu::queue{2}.threads() == 2); }
TEST_CASE("instruction_set: with a wrong CAIRN_ISA no queue of a cpu is made") {
  std::error_code none;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", none);
  if (none) return; // a system without /proc/self/exe
  for (const bool is_wrong : {true, false}) {
    const std::string word = is_wrong ? "avx-2" : "plain";
    std::FILE* const said = popen(
        ("CAIRN_ISA=" + word + " '" + self.string() + "' --test-case='instruction_set: a cpu of this process' 2>&1").c_str(),
        "r");
    REQUIRE(said != nullptr);
    std::string text;
    for (int c = std::fgetc(said); c != EOF; c = std::fgetc(said)) text += static_cast<char>(c);
    CHECK((pclose(said) != 0) == is_wrong);
    CHECK((text.find("CAIRN_ISA: expected plain, avx2, avx512, avx512_bf16 or amx_bf16 in the environment, found 'avx-2'") !=
           text.npos) == is_wrong);
  }
}

} // namespace instruction_set_tests
