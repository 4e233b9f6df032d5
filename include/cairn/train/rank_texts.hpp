// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include <cairn/core/config.hpp>
#include <cairn/core/explain.hpp>
#include <cairn/net/fused_update.hpp>
#include <cairn/plan/fingerprint.hpp>
#include <cairn/train/settings.hpp>

namespace cairn::detail {

// Names of types without this library's namespace, which type_name() leaves inside.
inline std::string without_namespace(std::string text) {
  constexpr std::string_view own = "cairn::";
  for (std::size_t at = 0; (at = text.find(own, at)) != std::string::npos;) text.erase(at, own.size());
  return text;
}

// What a rank was built from and what it was given, in words: a text for each part of the fingerprint and one for each
// setting. Ranks are compared by numbers; the words of rank 0 travel to all others, at the start of a job and whether they
// are needed or not, as a rank does not know whether another differs. A text that is too long is cut.
struct rank_texts {
  // The learning rate comes before the optimizer, of whose numbers it is one; and a fused update, which has no clipping,
  // before that.
  static constexpr std::array<const char*, 6> settings{"loss",         "learning rate", "optimizer",
                                                       "fused_update", "clipping",      "schedule of rates"};
  static constexpr std::size_t parts = fingerprint::parts + settings.size();
  static constexpr std::size_t longest = 255;

  std::array<std::array<char, longest + 1>, parts> texts{}; // each ends with a zero

  static constexpr const char* name(std::size_t part) {
    return part < fingerprint::parts ? fingerprint::names[part] : settings[part - fingerprint::parts];
  }
  void write(std::size_t part, std::string text) {
    text = without_namespace(std::move(text));
    texts[part] = {};
    std::copy_n(text.data(), std::min(text.size(), longest), texts[part].data());
  }
  std::string read(std::size_t part) const { return texts[part].data(); }

  // The first part from `begin` on whose words differ, or `parts`.
  std::size_t differs(const rank_texts& other, std::size_t begin) const {
    while (begin < parts && texts[begin] == other.texts[begin]) ++begin;
    return begin;
  }

  // "found A on rank 3 and B on rank 0". Of a long text there is a line, from a little before where the two part.
  std::string found(std::size_t part, int rank, const rank_texts& of_rank_0) const {
    constexpr std::size_t line = 100, before = 24;
    const std::string own = read(part), first = of_rank_0.read(part);
    const std::size_t shorter = std::min(own.size(), first.size());
    const auto same = static_cast<std::size_t>(
        std::mismatch(own.begin(), own.begin() + static_cast<std::ptrdiff_t>(shorter), first.begin()).first - own.begin());
    const std::size_t begin = std::max(own.size(), first.size()) > line && same > before ? same - before : 0;
    const auto excerpt = [&](const std::string& text) {
      return (begin > 0 ? "..." : "") + text.substr(begin, line) + (text.size() > begin + line ? "..." : "");
    };
    return "found " + excerpt(own) + " on rank " + std::to_string(rank) + " and " + excerpt(first) + " on rank 0";
  }
};

// SGD(0.1, 0.9, 0, 0, 0): the name of a type and the numbers that it shows.
template <class X>
std::string with_numbers(const X& x) {
  std::string out{type_name<X>()};
  if constexpr (has_settings<X>) {
    out += '(';
    for (const double number : x.settings()) out += (out.back() == '(' ? "" : ", ") + shortest_text(number);
    out += ')';
  }
  return out;
}

// The words of a trainer of this blueprint, whose network was typed as Model, with these options.
template <class Blueprint, class Model, class Options, class Optimizer>
rank_texts texts_of(const Options& given, const Optimizer& optimizer, std::size_t buckets, std::size_t bucket_bytes) {
  using around = whole<Model>;
  rank_texts out;
  const auto count = [](std::size_t number, const char* what) { return std::to_string(number) + what; };
  out.write(0, count(Blueprint::size, " stages with ") + count(Blueprint::parameters, " parameters, ") +
                   std::string(type_name<typename around::body>()));
  // What a policy makes may depend on the batch. Policies of blocks stand in the type of the network.
  std::string policy = std::string(type_name<typename around::policy>()) + " at batch " + std::to_string(Blueprint::batch);
  if (const auto& solved = given.schedule.plan; solved.training.count > 0)
    policy = count(solved.memory.arena, " bytes, solved when the program runs, at batch ") + std::to_string(Blueprint::batch);
  out.write(1, policy + " of " + std::string(type_name<typename around::body>()));
  out.write(2, std::string(type_name<typename Blueprint::element>()));
  out.write(3, count(buckets, " of at most ") + count(bucket_bytes, " bytes"));
  out.write(4, count(CAIRN_VERSION_MAJOR, ".") + count(CAIRN_VERSION_MINOR, ".") + std::to_string(CAIRN_VERSION_PATCH));
  std::size_t part = fingerprint::parts;
  out.write(part++, with_numbers(given.loss));
  out.write(part++, shortest_text(optimizer.learning_rate));
  out.write(part++, with_numbers(optimizer));
  out.write(part++, Blueprint::fused ? "one" : "none");
  if constexpr (Blueprint::fused) out.write(part++, "none");
  else out.write(part++, "clip.max_norm " + shortest_text(given.clip.max_norm));
  out.write(part++, given.learning_rate ? "one that begins with " + shortest_text(given.learning_rate.at(0)) : "none");
  return out;
}

} // namespace cairn::detail
