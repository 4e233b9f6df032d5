// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <cairn/core/config.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/explain.hpp>
#include <cairn/plan/buckets.hpp>
#include <cairn/plan/fingerprint.hpp>
#include <cairn/train/rank_texts.hpp>
#include <cairn/train/rate_schedule.hpp>
#include <cairn/train/settings.hpp>

namespace cairn::detail {

// What every rank of a job must share with the others, of what is a constant: a network's blueprint, the type of its
// numbers and how its gradients are cut.
template <class Blueprint, class T>
constexpr fingerprint fingerprint_of(std::span<const bucket> buckets) {
  hash64 cut;
  for (const bucket& b : buckets) cut.add(b.end);
  fingerprint f;
  f.words = {Blueprint::network_hash, Blueprint::schedule_hash, hash64{}.add(type_name<T>()).value(), cut.value(),
             hash64{}.add(CAIRN_VERSION_MAJOR).add(CAIRN_VERSION_MINOR).add(CAIRN_VERSION_PATCH).value()};
  return f;
}

// The same with another schedule, which was solved when the program ran.
inline fingerprint with_schedule(fingerprint f, std::span<const op> ops) {
  hash64 h;
  h.add(f.words[1]);
  add_ops(h, ops);
  f.words[1] = h.value();
  return f;
}

// What decides over an update and is no constant of the network, as one number. A schedule of rates is asked for its first
// rate only: it may know none but those of the steps that are taken, and those are compared with each step (step_facts.hpp).
template <class Loss, class Optimizer>
std::uint64_t settings_of(const Loss& loss, const Optimizer& optimizer, double max_norm, bool fused,
                          const rate_schedule& rates = {}) {
  hash64 h;
  h.add(type_name<Loss>()).add(type_name<Optimizer>()).add(std::bit_cast<std::uint64_t>(max_norm));
  h.add(std::uint64_t{fused});
  h.add(std::bit_cast<std::uint64_t>(double{optimizer.learning_rate})).add(optimizer.states());
  if constexpr (has_settings<Loss>)
    for (const double number : loss.settings()) h.add(std::bit_cast<std::uint64_t>(number));
  if constexpr (has_settings<Optimizer>)
    for (const double number : optimizer.settings()) h.add(std::bit_cast<std::uint64_t>(number));
  h.add(std::uint64_t{rates ? 1u : 0u});
  if (rates) h.add(std::bit_cast<std::uint64_t>(rates.at(0)));
  return h.value();
}

// Replaces these bytes by those of rank `root`.
template <class Communicator, class Queue>
void broadcast(Communicator& comm, Queue& queue, std::span<std::byte> bytes, int root = 0) {
  if (bytes.empty()) return;
  auto sent = comm.broadcast(queue, bytes, root);
  sent.wait(queue);
}

// Throws on every rank that was built from something else than rank 0, or was given other settings. All ranks make the same
// two calls, whether they agree or not.
template <class Communicator, class Queue>
void compare_builds(Communicator& comm, Queue& queue, const fingerprint& own, std::uint64_t settings, const rank_texts& texts) {
  struct {
    fingerprint built;
    std::uint64_t settings;
  } first{own, settings};
  rank_texts of_rank_0 = texts;
  broadcast(comm, queue, std::as_writable_bytes(std::span{&first, 1}));
  broadcast(comm, queue, std::as_writable_bytes(std::span{&of_rank_0, 1}));
  const std::string ranks = "ddp: rank " + std::to_string(comm.rank()) + " and rank 0 ";
  if (const std::size_t part = own.differs(first.built); part != fingerprint::parts) {
    // They may differ in what the words do not say.
    const bool told = texts.texts[part] != of_rank_0.texts[part];
    throw input_error(ranks + "were built differently: expected the same " + rank_texts::name(part) + " on every rank, " +
                      (told ? texts.found(part, comm.rank(), of_rank_0)
                            : "found fingerprints " + std::to_string(own.words[part]) + " and " +
                                  std::to_string(first.built.words[part]) + ", of " + texts.read(part)) +
                      "; start every rank from the same program");
  }
  if (first.settings != settings) {
    const std::size_t part = texts.differs(of_rank_0, fingerprint::parts);
    throw input_error(ranks + "would make different steps: expected the same " +
                      (part != rank_texts::parts
                           ? rank_texts::name(part) + std::string(" on every rank, ") + texts.found(part, comm.rank(), of_rank_0)
                           : "loss and optimizer on every rank, found others") +
                      "; start every rank from the same program with the same arguments");
  }
}

} // namespace cairn::detail
