// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <cairn/core/random.hpp>
#include <cairn/data/text/read_text.hpp>

// Sentences of a small grammar, one on a line: who does what to whom, where. Equal numbers of sentences give equal texts.
inline std::string generated_text(std::size_t sentences = 4000) {
  static constexpr std::array<const char*, 6> whose{"the", "a", "my", "your", "every", "no"};
  static constexpr std::array<const char*, 8> kind{"old ", "young ", "blind ", "noble ", "quiet ", "", "", ""};
  static constexpr std::array<const char*, 10> nouns{"king",     "widow",   "sailor", "fox",  "judge",
                                                     "gardener", "soldier", "nurse",  "poet", "thief"};
  static constexpr std::array<const char*, 8> verbs{"sees", "calls", "forgives", "follows", "paints", "fears", "thanks", "hears"};
  static constexpr std::array<const char*, 6> places{" by the river", " in the tower", " at night", " under an oak", "", ""};
  std::string text;
  for (std::size_t s = 0; s < sentences; ++s) {
    const cairn::types::random_key key{.seed = 0xE37A90C54D12F86BU, .step = s, .position = 4};
    std::uint64_t draws = 0;
    const auto of = [&](const auto& words) {
      return std::string(
          words[static_cast<std::size_t>((std::uint64_t{cairn::ops::random_bits(key, draws++)} * words.size()) >> 32)]);
    };
    std::string sentence = of(whose);
    sentence += " " + of(kind) + of(nouns) + " ";
    sentence += of(verbs) + " " + of(whose) + " ";
    sentence += of(kind) + of(nouns) + of(places) + ".\n";
    sentence[0] = static_cast<char>(sentence[0] - 'a' + 'A');
    text += sentence;
  }
  return text;
}

// The text of a file; without one tiny Shakespeare in $CAIRN_DATA/tinyshakespeare; without that generated sentences. A line on
// `out`, unless it is null, says which. A named file must be there; the one in CAIRN_DATA may be missing.
inline std::string found_text(std::string file, std::FILE* out = stdout) {
  if (const char* root = std::getenv("CAIRN_DATA"); file.empty() && root != nullptr) {
    file = std::string(root) + "/tinyshakespeare/input.txt";
    if (!std::filesystem::exists(file)) file.clear();
  }
  if (!file.empty()) {
    if (out != nullptr) std::fprintf(out, "text: %s\n", file.c_str());
    return cairn::text::read_text(file);
  }
  if (out != nullptr)
    std::fprintf(out, "text: generated sentences, as neither --data nor CAIRN_DATA names a text with tiny Shakespeare\n");
  return generated_text();
}
