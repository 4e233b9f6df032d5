// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <vector>

#include <cairn/comm/exchange.hpp>
#include <cairn/core/error.hpp>
#include <cairn/data/loader.hpp>
#include <cairn/train/ranks/rank_groups.hpp>
#include <cairn/train/replica.hpp>

namespace cairn::detail {

// Hashes of what a rank's loader reads in an epoch. If two are equal, the rank reads the same samples in the same order.
struct loader_facts {
  loader_place next{};
  std::uint64_t batches = 0;       // in an epoch
  std::uint64_t order = 0;         // loader::fingerprint
  std::uint64_t steps = 0;         // loader::share_of_steps
  std::uint64_t tells_steps = 0;   // 0: a user's own loader without share_of_steps()
  std::uint64_t dataset = 0;       // loader::dataset_fingerprint; 0: it is not known
  std::uint64_t could_not_say = 0; // 1: an exception was thrown
};

template <class Loader>
loader_facts facts_of(const Loader& batches, const loader_place& next, std::size_t micro_batches, std::size_t ranks) {
  loader_facts own{.next = next, .batches = batches.size(), .order = batches.fingerprint(next.epoch)};
  if constexpr (requires { std::uint64_t{batches.share_of_steps(next.epoch, micro_batches, ranks)}; }) {
    own.steps = batches.share_of_steps(next.epoch, micro_batches, ranks);
    own.tells_steps = 1;
  }
  if constexpr (requires { std::uint64_t{batches.dataset_fingerprint()}; }) own.dataset = batches.dataset_fingerprint();
  return own;
}

// The facts of every rank, on every rank. If one rank cannot compute them, because its sampler throws, every rank throws.
template <class Trainer, class Loader>
std::vector<loader_facts> facts_of_ranks_loaders(Trainer& train, const Loader& batches, const loader_place& next,
                                                 std::size_t micro_batches) {
  auto& ranks = train.inside().comm();
  loader_facts own{.could_not_say = 1};
  std::exception_ptr thrown;
  try {
    own = facts_of(batches, next, micro_batches, static_cast<std::size_t>(ranks.size()));
  } catch (...) {
    thrown = std::current_exception();
  }
  std::vector<loader_facts> all = of_all_ranks(ranks, train.inside().compute(), own);
  if (thrown) std::rethrow_exception(thrown);
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    if (all[rank].could_not_say != 0)
      throw input_error("the loader of rank " + std::to_string(rank) + " failed when it was asked what it reads");
  return all;
}

// The sum of all ranks' shares.
inline std::uint64_t steps_of(std::span<const loader_facts> all) {
  std::uint64_t sum = 0;
  for (const loader_facts& each : all) sum += each.steps;
  return sum;
}
inline bool have_equally_many_batches(std::span<const loader_facts> all) {
  for (const loader_facts& each : all)
    if (each.batches != all[0].batches) return false;
  return true;
}

// Throws on every rank if their loaders are not at the same place.
inline void compare_places(std::span<const loader_facts> all, const char* where) {
  const auto text = [](const loader_place& at) {
    return "batch " + std::to_string(at.batch) + " of epoch " + std::to_string(at.epoch);
  };
  for (std::size_t rank = 1; rank < all.size(); ++rank)
    if (!(all[rank].next == all[0].next))
      throw input_error(std::string(where) +
                        ": expected loaders that stand at the same place on every rank, found that of rank " +
                        std::to_string(rank) + " at " + text(all[rank].next) + " and that of rank 0 at " + text(all[0].next));
}

// Throws the same input_error on every rank unless all have the same parameters, bit for bit.
template <class Trainer>
void compare_parameters(Trainer& train, const char* where) {
  auto& ranks = train.inside().comm();
  if (ranks.size() == 1) return;
  const std::vector<std::uint64_t> all =
      of_all_ranks(ranks, train.inside().compute(), static_cast<std::uint64_t>(train.checksum()));
  const rank_groups alike(all.size(), [&](std::size_t a, std::size_t b) { return all[a] == all[b]; });
  if (alike.size() < 2) return;
  std::vector<std::string> found;
  for (std::size_t i = 0; i < alike.size() && i < 8; ++i) // a job may have a thousand ranks
    found.push_back("those of checksum " + std::to_string(all[alike[i].front()]) + " on " + rank_groups::text(alike[i]));
  throw input_error(std::string(where) + ": expected the same parameters on every rank, found " + rank_groups::joined(found) +
                    "; something wrote to them on some ranks only, or the ranks run other builds of the program; after loading "
                    "on one rank call synchronize(root) on every rank");
}

} // namespace cairn::detail
