// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <string>

#include <vector>

#include <cairn/comm/exchange.hpp>
#include <cairn/data/safetensors.hpp>
#include <cairn/train/replica.hpp>
#include <cairn/train/state/safetensors.hpp>

namespace cairn::detail {

// The buffers of ranks 1, 2, …, which rank 0 writes to a file and reads from it. Each rank has its own running statistics, and
// a rank that resumed with those of another would compute something else. Empty for one rank, or without such layers.
class buffers_of_others {
public:
  buffers_of_others() = default;
  // Makes room for them on rank 0, and copies this rank's own on every rank.
  template <class Trainer>
  explicit buffers_of_others(Trainer& train)
      : type_(safetensors_type_of<typename Trainer::number>), element_(sizeof(typename Trainer::number)) {
    own_ = copied(train);
    rank_has_buffers = !own_.empty();
    auto& ranks = train.inside().comm();
    if (!rank_has_buffers || ranks.size() == 1) return;
    if (ranks.rank() == 0) of_ranks_.assign(static_cast<std::size_t>(ranks.size()) - 1, std::vector<std::byte>(own_.size()));
  }

  bool rank_has_buffers = false;

  // Sends the buffers of every rank to rank 0. All ranks call it.
  template <class Trainer>
  void gather(Trainer& train) {
    auto& ranks = train.inside().comm();
    if (!rank_has_buffers) return;
    std::vector<std::byte> passing;
    for (int rank = 1; rank < ranks.size(); ++rank) {
      passing = own_;
      broadcast_on_host(ranks, train.inside().compute(), std::span(passing), rank);
      if (ranks.rank() == 0) of_ranks_[static_cast<std::size_t>(rank) - 1] = passing;
    }
  }
  // Sends every rank its own buffers from rank 0. All ranks call it.
  template <class Trainer>
  void scatter(Trainer& train) {
    auto& ranks = train.inside().comm();
    if (!rank_has_buffers || ranks.size() == 1) return;
    std::vector<std::byte> passing(own_.size());
    for (int rank = 1; rank < ranks.size(); ++rank) {
      if (ranks.rank() == 0) passing = of_ranks_[static_cast<std::size_t>(rank) - 1];
      broadcast_on_host(ranks, train.inside().compute(), std::span(passing));
      if (ranks.rank() == rank) own_ = passing;
    }
    if (ranks.rank() != 0) give_back(train);
  }
  // Adds them to the tensors of a file: "rank/1/buffers" has all buffers of rank 1 in the order of for_each_buffer().
  void add_to(std::vector<safetensors_source>& tensors) const {
    for (std::size_t i = 0; i < of_ranks_.size(); ++i)
      tensors.push_back({std::string(rank_prefix) + std::to_string(i + 1) + "/buffers",
                         type_,
                         {of_ranks_[i].size() / element_},
                         std::span<const std::byte>(of_ranks_[i])});
  }

private:
  template <class Trainer>
  static std::vector<std::byte> copied(Trainer& train) {
    std::vector<std::byte> out;
    auto all = weights_in(train).on_host(); // only read
    all.for_each_buffer([&](const auto& q) {
      const auto bytes = std::as_bytes(q.numbers);
      out.insert(out.end(), bytes.begin(), bytes.end());
    });
    return out;
  }
  template <class Trainer>
  void give_back(Trainer& train) {
    auto all = on_host(train);
    const std::byte* from = own_.data();
    all.for_each_buffer([&](const auto& q) {
      std::memcpy(q.numbers.data(), from, q.numbers.size_bytes());
      from += q.numbers.size_bytes();
    });
    all.give_back();
  }

  std::string type_;
  std::size_t element_ = 1;
  std::vector<std::byte> own_;
  std::vector<std::vector<std::byte>> of_ranks_; // on rank 0: those of rank 1, 2, …
};

} // namespace cairn::detail
