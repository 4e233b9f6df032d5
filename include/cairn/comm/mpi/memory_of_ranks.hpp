// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include <cairn/comm/mpi/shared_memory.hpp>
#include <cairn/core/config.hpp>

namespace cairn::detail {

// One block of memory of each rank of a machine, all of which every rank can access. The rank that owns a part sums it in place
// over all blocks, without messages that carry it.
class memory_of_ranks {
public:
  // Makes the blocks; all ranks call it. exchange(own, all) gives every rank the bytes of all, and throws what a call would
  // throw. Returns null on all ranks if any rank cannot access the memory of all others.
  template <class Exchange>
  static std::shared_ptr<memory_of_ranks> join(std::size_t rank, std::size_t ranks, std::size_t bytes, std::uint64_t number,
                                               const Exchange& exchange) {
    auto all = std::make_shared<memory_of_ranks>(rank, ranks, number);
    shared_memory own = shared_memory::make(bytes);
    const std::vector<shared_memory::handle> told = of_all(own.told(), ranks, exchange);
    unsigned char reached = own.data() != nullptr ? 1 : 0;
    for (std::size_t r = 0; r < ranks && reached != 0; ++r) {
      all->blocks_[r] = r == rank ? std::move(own) : shared_memory::open(told[r]);
      all->starts_[r] = all->blocks_[r].data();
      if (all->starts_[r] == nullptr || all->blocks_[r].size() != bytes) reached = 0;
    }
    const std::vector<unsigned char> found = of_all(reached, ranks, exchange);
    all->blocks_[rank].hide();
    if (std::ranges::find(found, 0) != found.end()) return nullptr;
    return all;
  }

  memory_of_ranks(std::size_t rank, std::size_t ranks, std::uint64_t number)
      : rank_(rank), number_(number), blocks_(ranks), starts_(ranks, nullptr) {}

  // The index of this set of blocks among those that the ranks have made together, from 0.
  std::uint64_t number() const { return number_; }
  const shared_memory& own() const { return blocks_[rank_]; }
  // The start of each rank's block, in this process's address space.
  std::span<std::byte* const> starts() const { return starts_; }

  bool has(const std::byte* first, std::size_t bytes) const {
    const std::byte* const start = own().data();
    return !std::less<>{}(first, start) && !std::less<>{}(start + own().size(), first + bytes);
  }

private:
  template <class T, class Exchange>
  static std::vector<T> of_all(const T& own, std::size_t ranks, const Exchange& exchange) {
    std::vector<T> all(ranks);
    exchange(std::as_bytes(std::span{&own, 1}), std::as_writable_bytes(std::span{all}));
    return all;
  }

  std::size_t rank_;
  std::uint64_t number_;
  std::vector<shared_memory> blocks_;
  std::vector<std::byte*> starts_;
};

} // namespace cairn::detail
