// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "traffic.hpp"

namespace emulator {

void traffic::begin(const kernel* code, std::uint32_t threads) {
  code_ = code;
  of_kernel_ = &costs_[code->name];
  ++of_kernel_->launches;
  threads_.resize(threads);
}
void traffic::add_product(std::uint64_t multiply_adds, std::uint64_t read, std::uint64_t written) {
  cost& own = costs_["a product of " + std::to_string(multiply_adds)];
  ++own.launches;
  own.multiply_adds += multiply_adds;
  own.loads.bytes += read;
  own.stores.bytes += written;
}
std::map<std::string, cost> traffic::take() { return std::exchange(costs_, {}); }

// What lanes of a warp do at an instruction for the k-th time is one request, as it is where they run in step.
void traffic::end_block() {
  of_kernel_->threads += threads_.size();
  struct of_lane {
    std::size_t line, k, address; // the address of a lane of a lower number first
  };
  std::vector<of_lane> all;
  std::vector<std::uint64_t> together;
  for (std::size_t first = 0; first < threads_.size(); first += 32) {
    all.clear();
    for (std::size_t t = first; t < std::min(first + 32, threads_.size()); ++t) {
      times_.assign(code_->code.size(), 0);
      for (const access& a : threads_[t]) all.push_back({a.line, times_[a.line]++, a.address});
      threads_[t].clear();
    }
    const auto is_same = [](const of_lane& x, const of_lane& y) { return x.line == y.line && x.k == y.k; };
    std::stable_sort(all.begin(), all.end(),
                     [](const of_lane& x, const of_lane& y) { return std::pair(x.line, x.k) < std::pair(y.line, y.k); });
    for (std::size_t i = 0; i < all.size();) {
      const std::size_t begin = i;
      together.clear();
      for (; i < all.size() && is_same(all[begin], all[i]); ++i) together.push_back(all[i].address);
      request(code_->code[all[begin].line], together);
    }
  }
}

namespace {

// The number of different numbers, which are sorted.
std::size_t different(std::vector<std::uint64_t>& numbers) {
  std::sort(numbers.begin(), numbers.end());
  return static_cast<std::size_t>(std::unique(numbers.begin(), numbers.end()) - numbers.begin());
}

} // namespace

void traffic::request(const instruction& i, const std::vector<std::uint64_t>& addresses) {
  const std::size_t bytes = size_of(i.as) * i.width;
  if (i.in == space::shared) { // 32 banks of 4 bytes; 8 or 16 bytes of a lane take 2 or 4 rounds at least
    const std::size_t lanes = 32 / std::max<std::size_t>(1, bytes / 4);
    ++of_kernel_->shared_requests;
    for (std::size_t first = 0; first < addresses.size(); first += lanes) {
      pieces_.clear();
      for (std::size_t lane = first; lane < std::min(first + lanes, addresses.size()); ++lane)
        for (std::uint64_t w = addresses[lane] / 4; w < (addresses[lane] + bytes + 3) / 4; ++w) pieces_.push_back(w);
      pieces_.resize(different(pieces_));
      std::array<std::uint64_t, 32> banks{};
      for (const std::uint64_t w : pieces_) ++banks[w % 32];
      of_kernel_->shared_rounds += *std::max_element(banks.begin(), banks.end());
      ++of_kernel_->fewest_rounds;
    }
    return;
  }
  accesses& of = i.op == opcode::ld ? of_kernel_->loads : of_kernel_->stores;
  pieces_.clear();
  for (const std::uint64_t address : addresses)
    for (std::uint64_t sector = address / 32; sector <= (address + bytes - 1) / 32; ++sector) pieces_.push_back(sector);
  pieces_.resize(different(pieces_));
  ++of.requests;
  of.bytes += addresses.size() * bytes;
  of.sectors += pieces_.size();
  for (std::uint64_t& piece : pieces_) piece /= 4;
  of.lines += different(pieces_);
}

} // namespace emulator
