// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "traffic.hpp"

namespace emulator {

void traffic::begin(const kernel* code, std::uint32_t threads) {
  code_ = code;
  of_kernel_ = &costs_[code->name];
  ++of_kernel_->launches;
  threads_.resize(threads);
}
std::map<std::string, cost> traffic::take() { return std::exchange(costs_, {}); }

// What lanes of a warp do at an instruction for the k-th time is one request, as it is where they run in step.
void traffic::end_block() {
  of_kernel_->threads += threads_.size();
  for (std::size_t first = 0; first < threads_.size(); first += 32) {
    std::map<std::pair<std::size_t, std::size_t>, std::vector<std::uint64_t>> requests; // of (line, k)
    for (std::size_t t = first; t < std::min(first + 32, threads_.size()); ++t) {
      std::map<std::size_t, std::size_t> times;
      for (const access& a : threads_[t]) requests[{a.line, times[a.line]++}].push_back(a.address);
      threads_[t].clear();
    }
    for (const auto& [at, addresses] : requests) request(code_->code[at.first], addresses);
  }
}

void traffic::request(const instruction& i, const std::vector<std::uint64_t>& addresses) {
  const std::size_t bytes = size_of(i.as) * i.width;
  if (i.in == space::shared) { // 32 banks of 4 bytes; 8 or 16 bytes of a lane take 2 or 4 rounds at least
    const std::size_t lanes = 32 / std::max<std::size_t>(1, bytes / 4);
    ++of_kernel_->shared_requests;
    for (std::size_t first = 0; first < addresses.size(); first += lanes) {
      std::array<std::set<std::uint64_t>, 32> banks;
      for (std::size_t lane = first; lane < std::min(first + lanes, addresses.size()); ++lane)
        for (std::uint64_t w = addresses[lane] / 4; w < (addresses[lane] + bytes + 3) / 4; ++w) banks[w % 32].insert(w);
      const auto fullest =
          std::max_element(banks.begin(), banks.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); });
      of_kernel_->shared_rounds += fullest->size();
      ++of_kernel_->fewest_rounds;
    }
    return;
  }
  accesses& of = i.op == opcode::ld ? of_kernel_->loads : of_kernel_->stores;
  std::set<std::uint64_t> sectors, lines;
  for (const std::uint64_t address : addresses)
    for (std::uint64_t sector = address / 32; sector <= (address + bytes - 1) / 32; ++sector) {
      sectors.insert(sector);
      lines.insert(sector / 4);
    }
  ++of.requests;
  of.bytes += addresses.size() * bytes;
  of.sectors += sectors.size();
  of.lines += lines.size();
}

} // namespace emulator
