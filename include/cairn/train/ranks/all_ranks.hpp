// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <cairn/comm/call_purpose.hpp>
#include <cairn/comm/exchange.hpp>
#include <cairn/core/error.hpp>
#include <cairn/train/replica.hpp>

namespace cairn::detail {

// Collective operations of the ranks of a job between two steps, on data in the host's memory. Every rank makes the same
// calls; with one rank nothing is sent.

template <class Trainer>
int rank_of(Trainer& train) {
  return train.inside().comm().rank();
}

// Replaces the text by that of rank 0.
template <class Trainer>
void take_from_first_rank(Trainer& train, std::string& text) {
  auto& ranks = train.inside().comm();
  auto& queue = train.inside().compute();
  std::uint64_t size = text.size();
  broadcast_on_host(ranks, queue, std::as_writable_bytes(std::span{&size, 1}));
  text.resize(static_cast<std::size_t>(size));
  broadcast_on_host(ranks, queue, std::as_writable_bytes(std::span{text}));
}

// Calls f on rank 0 only. If it throws there, every rank throws, so that none goes on without the result. The others wait for
// rank 0 until the communicator's long deadline, as files may be large and file systems slow. `word` names the work in errors.
template <class Trainer, class F>
void on_first_rank(Trainer& train, const char* word, F&& f) {
  const calls_for now(train.inside().comm(), {.word = word, .may_take_long = true});
  std::string failure;
  if (rank_of(train) == 0) {
    std::exception_ptr thrown;
    try {
      std::forward<F>(f)();
    } catch (const std::exception& fault) {
      thrown = std::current_exception();
      failure = fault.what();
      if (failure.empty()) failure = "an exception without a text";
    }
    std::string told = failure;
    take_from_first_rank(train, told);
    if (thrown) std::rethrow_exception(thrown);
    return;
  }
  take_from_first_rank(train, failure);
  if (!failure.empty()) throw file_error("rank 0 failed, and with it all ranks: " + failure);
}
template <class Trainer, class F>
void on_first_rank(Trainer& train, F&& f) {
  on_first_rank(train, "what rank 0 does alone", std::forward<F>(f));
}

// Replaces each number by its sum over the ranks, ((rank 0 + rank 1) + rank 2) + …: the same bits on all of them, whatever the
// communicator's own order is. Every rank receives the numbers of all ranks.
template <class Trainer>
void sum_over_ranks(Trainer& train, std::span<double> numbers) {
  auto& ranks = train.inside().comm();
  if (ranks.size() == 1 || numbers.empty()) return;
  std::vector<double> all(numbers.size() * static_cast<std::size_t>(ranks.size()));
  exchange(ranks, train.inside().compute(), std::as_bytes(numbers), std::as_writable_bytes(std::span{all}));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = all[i];
    for (std::size_t at = i + numbers.size(); at < all.size(); at += numbers.size()) numbers[i] += all[at];
  }
}

} // namespace cairn::detail
