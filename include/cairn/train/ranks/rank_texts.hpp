// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <cairn/core/config.hpp>
#include <cairn/core/explain.hpp>
#include <cairn/net/fused_update.hpp>
#include <cairn/plan/fingerprint.hpp>
#include <cairn/train/ranks/rank_groups.hpp>
#include <cairn/train/state/same_run.hpp>

namespace cairn::detail {

// The build and the settings of a rank as texts: one for each part of the fingerprint and one for each setting. Ranks are
// compared by hashes; only if those differ are the texts exchanged, from every rank to every rank. A text that is too long is
// cut.
struct rank_texts {
  static constexpr std::size_t parts = shared_settings; // of run_settings
  static constexpr std::size_t longest = 255;

  std::array<std::array<char, longest + 1>, parts> texts{}; // each ends with a zero

  static constexpr const char* name(std::size_t part) { return run_settings[part].name; }
  void write(std::size_t part, std::string text) {
    text = without_namespace(std::move(text));
    texts[part] = {};
    std::copy_n(text.data(), std::min(text.size(), longest), texts[part].data());
  }
  std::string read(std::size_t part) const { return texts[part].data(); }

  // The first part from `begin` on whose texts differ, or `parts`.
  std::size_t differs(const rank_texts& other, std::size_t begin) const {
    while (begin < parts && texts[begin] == other.texts[begin]) ++begin;
    return begin;
  }
};

// "found A on rank 3 and B on ranks 0, 1 and 2": the text of each group, after its mark if the texts alone do not tell the
// groups apart. Long texts are cut to one line, which begins a little before their first difference.
template <class Marks>
std::string found_texts(std::size_t part, const rank_groups& groups, std::span<const rank_texts> of_ranks, const Marks& marks) {
  constexpr std::size_t line = 100, before = 24, most = 8; // a job may have a thousand ranks
  const std::size_t shown = std::min(groups.size(), most);
  const auto text_of = [&](std::size_t group) { return of_ranks[groups[group].front()].read(part); };
  const std::string first = text_of(0);
  std::size_t longest = first.size(), same = rank_texts::longest;
  bool told = true; // the texts tell the groups apart
  for (std::size_t a = 0; a < shown; ++a) {
    const std::string text = text_of(a);
    longest = std::max(longest, text.size());
    const std::size_t shorter = std::min(text.size(), first.size());
    const auto parted = std::mismatch(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(shorter), first.begin());
    if (text != first) same = std::min(same, static_cast<std::size_t>(parted.first - text.begin()));
    for (std::size_t b = 0; b < a; ++b) told = told && text != text_of(b);
  }
  const std::size_t begin = longest > line && same > before && same < rank_texts::longest ? same - before : 0;
  std::vector<std::string> items;
  for (std::size_t group = 0; group < shown; ++group) {
    const std::string text = text_of(group);
    items.push_back((told ? "" : marks(groups[group].front())) + (begin > 0 ? "..." : "") + text.substr(begin, line) +
                    (text.size() > begin + line ? "..." : "") + " on " + rank_groups::text(groups[group]));
  }
  if (shown < groups.size()) items.push_back("others on the other ranks");
  return "found " + rank_groups::joined(items);
}

// The values from which the texts are made.
struct rank_setup {
  std::size_t stages, parameters, batch;
  std::string_view body, policy, element;
  std::size_t solved_bytes; // of a schedule that was solved at run time; 0: there is none
  std::size_t buckets, bucket_bytes;
  std::size_t summed; // layers with statistics over all ranks
  const char* order;  // of calls
  instruction_set products;
  std::array<std::string, run_settings.size()> given;
};

inline rank_texts texts_of(const rank_setup& s) {
  rank_texts out;
  const auto count = [](std::size_t number, const char* what) { return std::to_string(number) + what; };
  const std::string body(s.body);
  out.write(0, count(s.stages, " stages with ") + count(s.parameters, " parameters, ") + body);
  // The schedule of a policy may depend on the batch. Policies of blocks are part of the type of the network.
  const std::string policy =
      s.solved_bytes > 0 ? count(s.solved_bytes, " bytes, solved when the program runs,") : std::string(s.policy);
  out.write(1, policy + " at batch " + std::to_string(s.batch) + " of " + body);
  out.write(2, std::string(s.element));
  out.write(3, count(s.buckets, " of at most ") + count(s.bucket_bytes, " bytes"));
  out.write(4, text_of_statistics(s.summed));
  out.write(5, s.order);
  out.write(6, count(CAIRN_VERSION_MAJOR, ".") + count(CAIRN_VERSION_MINOR, ".") + std::to_string(CAIRN_VERSION_PATCH));
  out.write(7, text_of_build(s.products));
  for (std::size_t part = fingerprint::parts; part < rank_texts::parts; ++part) out.write(part, s.given[part]);
  return out;
}

inline const char* text_of_order(bool overlaps) {
  return overlaps ? "buckets leave during the backward pass" : "buckets leave after the backward pass";
}

// The texts of a trainer with these lists of steps (train/step/step_lists.hpp) and these options.
template <class Lists, class Options, class Optimizer>
rank_texts texts_of(const Options& given, const Optimizer& optimizer) {
  using plan = typename Lists::plan;
  using around = whole<typename Lists::network>;
  const auto& solved = given.schedule.plan;
  const rank_setup setup{.stages = plan::size,
                         .parameters = plan::parameters,
                         .batch = plan::batch,
                         .body = type_name<typename around::body>(),
                         .policy = type_name<typename around::policy>(),
                         .element = type_name<typename plan::element>(),
                         .solved_bytes = solved.training.count > 0 ? solved.memory.arena : 0,
                         .buckets = Lists::buckets.size(),
                         .bucket_bytes = Lists::most_bucket_bytes,
                         .summed = Lists::summed,
                         .order = text_of_order(Lists::overlaps),
                         .products = widest_for<typename plan::element>(),
                         .given = words_of_given(given, optimizer, plan::fused, false)};
  return texts_of(setup);
}

} // namespace cairn::detail
