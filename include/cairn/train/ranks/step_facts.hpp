// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include <cairn/core/error.hpp>
#include <cairn/ops/checksum/checksum.hpp>
#include <cairn/train/settings.hpp>

namespace cairn::detail {

// The values that decide a step of a rank besides its gradients. Each of them has to be equal on every rank, or the replicas
// diverge. Only a rank that has joined has 0 micro-batches, whatever the others have.
//
// The update uses the sum of the gradients over the ranks, each a sum of its micro-batches' means, divided by micro-batches
// times the number of ranks that have samples in this step. (So replicas stay equal if ranks have different numbers of samples:
// it is a mean of their means, as in PyTorch.)
struct step_facts {
  std::uint64_t steps = 0;         // updates so far
  std::uint64_t micro_batches = 0; // 0: this rank has no samples in this step
  double learning_rate = 0;
  std::uint64_t settings = 0;   // of the loss, the optimizer and the clipping: see settings_of
  std::uint64_t parameters = 0; // a checksum of their bits: see quick_checksum; 0 in most steps
  bool asks_to_stop = false;    // not compared: all ranks learn whether one of them asks

  static constexpr std::size_t count = 5;
  std::array<std::uint64_t, count> words() const {
    return {steps, micro_batches, std::bit_cast<std::uint64_t>(learning_rate), settings, parameters};
  }
};

// The ranks that have samples in a step, the same on all ranks.
struct ranks_with_samples {
  std::size_t count = 0;
  std::size_t first = 0;           // the lowest of them
  std::uint64_t micro_batches = 0; // of each
};

// The facts of all ranks are exchanged by an all-reduce, as the gradients are: every rank writes its own place and leaves zeros
// in all others. A word of 64 bits is sent as four elements below 65,536, which float and double add to zeros exactly.
template <class T>
class facts_of_ranks {
public:
  // Numbers of elements: those of a rank that are compared, all of a rank, and those of all ranks. The last is rounded up to
  // 16, so that what follows is aligned to cache lines.
  static constexpr std::size_t compared = step_facts::count * 4;
  static constexpr std::size_t each = compared + 1;
  static constexpr std::size_t size(std::size_t ranks) { return (ranks * each + 15) / 16 * 16; }

  static void write(std::span<T> all, std::size_t rank, const step_facts& own) {
    for (T& number : all) number = 0;
    T* at = all.data() + rank * each;
    for (const std::uint64_t word : own.words()) {
      write_as_numbers(at, word);
      at += 4;
    }
    *at = own.asks_to_stop ? T(1) : T(0);
  }
  // The place of rank 0's micro-batches; those of the next rank are `each` elements further.
  static constexpr std::size_t place_of_micro_batches = 4;
  // The place of the checksum of a rank's parameters, which the op checksum writes.
  static constexpr std::size_t place_of_parameters(std::size_t rank) { return rank * each + compared - 4; }

  static ranks_with_samples samples_of(std::span<const T> all, std::size_t ranks) {
    ranks_with_samples found;
    for (std::size_t rank = ranks; rank-- > 0;)
      if (has_samples(all, rank)) ++found.count, found.first = rank;
    if (found.count > 0) found.micro_batches = word(all, found.first, micro_batches);
    return found;
  }

  // Throws on every rank if a rank's facts differ from those of rank 0. Micro-batches are compared among ranks that have some.
  static void compare(std::span<const T> all, std::size_t ranks) {
    const auto is_like_first = [&](std::size_t rank) {
      return std::memcmp(all.data(), all.data() + rank * each, compared * sizeof(T)) == 0;
    };
    std::size_t alike = 1; // nearly always all
    while (alike < ranks && is_like_first(alike)) ++alike;
    if (alike == ranks) return;
    for (std::size_t fact = 0; fact < step_facts::count; ++fact)
      if (differs(all, ranks, fact)) refuse(all, ranks, fact);
  }
  // Whether any rank asks to stop.
  static bool any_asks_to_stop(std::span<const T> all, std::size_t ranks) {
    for (std::size_t rank = 0; rank < ranks; ++rank)
      if (all[rank * each + compared] != T(0)) return true;
    return false;
  }

private:
  static constexpr std::size_t micro_batches = 1; // its place in step_facts::words

  static bool has_samples(std::span<const T> all, std::size_t rank) {
    const T* const at = all.data() + rank * each + micro_batches * 4;
    return at[0] != T(0) || at[1] != T(0) || at[2] != T(0) || at[3] != T(0);
  }
  // The rank with which the others are compared, and whether a rank is compared: for micro-batches only if it has some.
  static std::size_t first_of(std::span<const T> all, std::size_t ranks, std::size_t fact) {
    return fact == micro_batches ? samples_of(all, ranks).first : 0;
  }
  static bool counts(std::span<const T> all, std::size_t rank, std::size_t fact) {
    return fact != micro_batches || has_samples(all, rank);
  }
  static bool differs(std::span<const T> all, std::size_t ranks, std::size_t fact) {
    const T* const first = all.data() + first_of(all, ranks, fact) * each + fact * 4;
    for (std::size_t rank = 0; rank < ranks; ++rank)
      if (counts(all, rank, fact) && std::memcmp(first, all.data() + rank * each + fact * 4, 4 * sizeof(T)) != 0) return true;
    return false;
  }
  static std::uint64_t word(std::span<const T> all, std::size_t rank, std::size_t fact) {
    std::uint64_t w = 0;
    for (std::size_t part = 4; part-- > 0;) w = w << 16 | static_cast<std::uint64_t>(all[rank * each + fact * 4 + part]);
    return w;
  }
  static std::string text(std::size_t fact, std::uint64_t w) {
    return fact == 2 ? shortest_text(std::bit_cast<double>(w)) : std::to_string(w);
  }

  // Throws input_error with the fact that differs, its value on the first rank, and those of up to seven ranks that differ.
  [[noreturn]] static void refuse(std::span<const T> all, std::size_t ranks, std::size_t fact) {
    static constexpr std::array<const char*, step_facts::count> names{
        "number of steps so far", "number of micro-batches", "learning rate", "numbers of the loss and the optimizer (as a hash)",
        "parameters (as a number of their bits)"};
    static constexpr std::array<const char*, step_facts::count> advice{
        "call step() equally often on every rank, or join() where one is finished; synchronize() makes the ranks alike again",
        "call accumulate() equally often on every rank before each step()",
        "set it on every rank from numbers that they share, such as a loss that is summed over the ranks",
        "change them on every rank alike",
        "something wrote to them on some ranks only, or the ranks run other builds of the program; call synchronize(root) on "
        "every "
        "rank after loading"};
    std::string found;
    const std::size_t first = first_of(all, ranks, fact);
    std::size_t named = 0; // a job may have a thousand ranks
    for (std::size_t rank = first; rank < ranks && named < 8; ++rank) {
      if (!counts(all, rank, fact) || (rank > first && word(all, rank, fact) == word(all, first, fact))) continue;
      found += (named++ == 0 ? "" : ", ") + text(fact, word(all, rank, fact)) + " on rank " + std::to_string(rank);
    }
    throw input_error(std::string("ddp: expected the same ") + names[fact] + " on every rank, found " + found + "; " +
                      advice[fact]);
  }
};

#if CAIRN_WITH_COMPILED
CAIRN_COMPILED template class facts_of_ranks<float>;
CAIRN_COMPILED template class facts_of_ranks<double>;
#endif

} // namespace cairn::detail
