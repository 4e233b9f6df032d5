// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <cairn/comm/exchange.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/explain.hpp>
#include <cairn/plan/buckets.hpp>
#include <cairn/plan/fingerprint.hpp>
#include <cairn/train/optimizers/rate_schedule.hpp>
#include <cairn/train/ranks/rank_groups.hpp>
#include <cairn/train/ranks/rank_texts.hpp>
#include <cairn/train/settings.hpp>
#include <cairn/train/state/same_run.hpp>

namespace cairn::detail {

// The constants that all ranks of a job must share: the network's blueprint, its element type, the buckets of its gradients, a
// hash of what layers sum over the ranks, and one of the calls of a step (hash_of_calls). with_build() adds the build at run
// time, as the instruction set is part of it.
template <class Blueprint, class T>
constexpr fingerprint fingerprint_of(std::span<const bucket> buckets, std::uint64_t sums = 0, std::uint64_t calls = 0) {
  hash64 cut;
  for (const bucket& b : buckets) cut.add(b.end);
  fingerprint f;
  f.words = {Blueprint::network_hash,
             Blueprint::schedule_hash,
             hash64{}.add(type_name<T>()).value(),
             cut.value(),
             sums,
             calls,
             hash64{}.add(CAIRN_VERSION_MAJOR).add(CAIRN_VERSION_MINOR).add(CAIRN_VERSION_PATCH).value(),
             0};
  return f;
}
inline fingerprint with_build(fingerprint f, instruction_set products = widest_instruction_set()) {
  f.words[setting("build of the program")] = hash_of_build(products);
  return f;
}

// The same with another schedule, which was solved at run time, and the calls of its step.
inline fingerprint with_schedule(fingerprint f, std::span<const op> ops, std::uint64_t calls) {
  hash64 h;
  h.add(f.words[setting("checkpoint policy")]);
  add_ops(h, ops);
  f.words[setting("checkpoint policy")] = h.value();
  f.words[setting("order of calls")] = calls;
  return f;
}

// A hash of the settings that decide an update and are no constants of the network. Only the first rate of a schedule is part of
// it: a schedule may not know the rates of later steps. Those are compared with each step (step_facts.hpp).
template <class Loss, class Optimizer>
std::uint64_t settings_of(const Loss& loss, const Optimizer& optimizer, double max_norm, bool fused,
                          const rate_schedule& rates = {}, std::uint64_t seed = 0, std::uint64_t check_every = 0,
                          std::string_view loss_scale = "none") {
  hash64 h;
  h.add(type_name<Loss>()).add(type_name<Optimizer>()).add(std::bit_cast<std::uint64_t>(max_norm));
  h.add(std::uint64_t{fused});
  h.add(std::bit_cast<std::uint64_t>(double{optimizer.learning_rate})).add(optimizer.states());
  if constexpr (has_settings<Loss>)
    for (const double number : loss.settings()) h.add(std::bit_cast<std::uint64_t>(number));
  if constexpr (has_settings<Optimizer>)
    for (const double number : optimizer.settings()) h.add(std::bit_cast<std::uint64_t>(number));
  h.add(std::uint64_t{rates ? 1u : 0u});
  if (rates) h.add(std::bit_cast<std::uint64_t>(rates.at(0))).add(rates.text(false));
  return h.add(seed).add(check_every).add(loss_scale).value();
}

// Replaces these bytes, in memory that the device can access, by those of rank `root`.
template <class Communicator, class Queue>
void broadcast(Communicator& comm, Queue& queue, std::span<std::byte> bytes, int root = 0) {
  if (bytes.empty()) return;
  auto sent = comm.broadcast(queue, bytes, root);
  sent.wait(queue);
}

// The hashes that ranks compare before they begin.
struct rank_build {
  fingerprint built;
  std::uint64_t settings = 0;
  bool operator==(const rank_build&) const = default;
};

// The error text for ranks that are not all equal: which ranks, what differs, and what to do. It is the same on every rank. It
// begins with the ranks outside the largest group of equal ranks, or with all ranks if there is no largest group.
template <class = void> // compiled by programs that call it
std::string difference_of_ranks(std::span<const rank_build> builds, std::span<const rank_texts> texts) {
  const auto differing = [](const rank_groups& groups, const char* what, std::size_t part, const std::string& found) {
    const std::vector<std::size_t> odd = groups.outnumbered();
    return "ddp: " + rank_groups::text(odd) + what + (odd.size() < groups.ranks() ? " from the others" : "") +
           ": expected the same " + (part < rank_texts::parts ? rank_texts::name(part) : "loss and optimizer") +
           " on every rank, " + found;
  };
  std::size_t part = fingerprint::parts;
  for (const rank_build& other : builds) part = std::min(part, other.built.differs(builds[0].built));
  if (part < fingerprint::parts) {
    const auto word = [&](std::size_t rank) { return builds[rank].built.words[part]; };
    const rank_groups groups(builds.size(), [&](std::size_t a, std::size_t b) { return word(a) == word(b); });
    const auto mark = [&](std::size_t rank) { return "fingerprint " + std::to_string(word(rank)) + " of "; };
    return differing(groups, groups.outnumbered().size() == 1 ? " was built differently" : " were built differently", part,
                     found_texts(part, groups, texts, mark)) +
           "; start every rank from the same program" +
           (part == setting("build of the program")
                ? ", and where machines have other instructions, with CAIRN_ISA=avx512, avx2 or plain on all"
                : "");
  }
  constexpr const char* what = " would make different steps";
  constexpr const char* advice = "; start every rank from the same program with the same arguments";
  part = rank_texts::parts;
  for (const rank_texts& other : texts) part = std::min(part, other.differs(texts[0], fingerprint::parts));
  if (part < rank_texts::parts) {
    const rank_groups groups(texts.size(),
                             [&](std::size_t a, std::size_t b) { return texts[a].read(part) == texts[b].read(part); });
    return differing(groups, what, part, found_texts(part, groups, texts, [](std::size_t) { return std::string(); })) + advice;
  }
  // The texts are too short to tell the ranks apart.
  const rank_groups groups(builds.size(), [&](std::size_t a, std::size_t b) { return builds[a].settings == builds[b].settings; });
  return differing(groups, what, part, "found others") + advice;
}

// Throws the same input_error on every rank, rank 0 included, and in the same call, if one has another build or other settings.
// Hashes are exchanged first; texts, some kilobytes from each rank to each, only if the hashes differ.
template <class Communicator, class Queue>
void compare_builds(Communicator& comm, Queue& queue, const fingerprint& own, std::uint64_t settings, const rank_texts& texts) {
  const std::vector<rank_build> builds = of_all_ranks(comm, queue, rank_build{own, settings});
  if (std::all_of(builds.begin(), builds.end(), [&](const rank_build& other) { return other == builds[0]; })) return;
  throw input_error(difference_of_ranks(builds, of_all_ranks(comm, queue, texts)));
}

#if CAIRN_WITH_COMPILED
CAIRN_COMPILED template std::string difference_of_ranks(std::span<const rank_build>, std::span<const rank_texts>);
#endif

} // namespace cairn::detail
