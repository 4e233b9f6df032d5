// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

#include "block.hpp"

namespace emulator {

namespace {

constexpr int launch_failure = 719, illegal_instruction = 715; // cudaErrorLaunchFailure, cudaErrorIllegalInstruction
constexpr std::uint64_t most_instructions = 100'000'000;       // of a thread between two barriers; more never end

// The lane that `lane` reads, and whether it is in range; as the PTX ISA defines shfl.sync.
struct source {
  std::uint32_t lane;
  bool is_in_range;
};
source source_of(exchange way, std::uint32_t lane, std::uint32_t by, std::uint32_t control) {
  const std::uint32_t segment = control >> 8 & 31, clamp = control & 31;
  const std::uint32_t least = lane & segment, most = least | (clamp & ~segment);
  switch (way) {
  case exchange::down: return lane + by <= most ? source{lane + by, true} : source{lane, false};
  case exchange::up: return lane >= by && lane - by >= most ? source{lane - by, true} : source{lane, false};
  case exchange::butterfly: return (lane ^ by) <= most ? source{lane ^ by, true} : source{lane, false};
  case exchange::index: {
    const std::uint32_t from = least | (by & ~segment);
    return from <= most ? source{from, true} : source{lane, false};
  }
  }
  return {lane, false};
}

} // namespace

void block::end_kernel(const std::string& place, const std::string& what, int code) const {
  report(place, what);
  throw fault{code};
}

void block::run(const grid& g, traffic* counted) {
  grid_ = g;
  counted_ = counted;
  if (g.code->most_threads != 0 && g.threads > g.code->most_threads)
    end_kernel(g.code->name, "is launched with more threads than its __launch_bounds__ allow", launch_failure);
  std::vector<std::uint32_t> blocks(g.blocks);
  std::iota(blocks.begin(), blocks.end(), 0U);
  std::shuffle(blocks.begin(), blocks.end(), random_);
  if (counted_ != nullptr) counted_->begin(g.code, g.threads);
  for (number_ = 0; const std::uint32_t n : blocks) {
    number_ = n;
    run_block();
    if (counted_ != nullptr) counted_->end_block();
  }
}

void block::run_block() {
  ++turn_;
  barriers_ = 0;
  if (grid_.code->shared_bytes > 0) {
    shared_.resize(std::max(shared_.size(), grid_.code->shared_bytes));
    of_shared_.resize(std::max(of_shared_.size(), (grid_.code->shared_bytes + 3) / 4));
  }
  order_.resize(grid_.threads);
  std::iota(order_.begin(), order_.end(), 0U);
  const auto meets = [](const instruction& i) { return i.op >= opcode::bar && i.op <= opcode::mma; };
  if (std::any_of(grid_.code->code.begin(), grid_.code->code.end(), meets)) run_together();
  else run_apart();
}
void block::begin(thread& x, std::uint32_t id) {
  x.of = this;
  x.code = grid_.code;
  x.own.clear(grid_.code->registers);
  x.id = id;
  x.at = 0;
  x.is = thread::state::ready;
  x.known.fill(0);
}
// Threads that never meet can share one set of registers, one after another.
void block::run_apart() {
  threads_.resize(std::max<std::size_t>(threads_.size(), 1));
  std::shuffle(order_.begin(), order_.end(), random_);
  for (const std::uint32_t id : order_) {
    begin(threads_[0], id);
    run(threads_[0]);
  }
}
void block::run_together() {
  threads_.resize(grid_.threads);
  for (std::uint32_t id = 0; id < grid_.threads; ++id) begin(threads_[id], id);
  while (true) {
    std::shuffle(order_.begin(), order_.end(), random_);
    for (const std::uint32_t id : order_)
      if (threads_[id].is == thread::state::ready) run(threads_[id]);
    if (is_over()) return;
    bool moves = false;
    for (std::uint32_t first = 0; first < grid_.threads; first += 32) moves = pass_warp(first) || moves;
    if (!moves && !pass_barrier())
      end_kernel(grid_.code->name, "its threads wait for each other for ever, at barriers or in warps that not all of them reach",
                 launch_failure);
  }
}
bool block::is_over() const {
  return std::all_of(threads_.begin(), threads_.end(), [](const thread& x) { return x.is == thread::state::ended; });
}

// Runs a thread to its end, or to the next instruction that threads execute together.
void block::run(thread& x) {
  const std::vector<instruction>& code = grid_.code->code;
  for (std::uint64_t count = 0;; ++count) {
    const instruction& i = code[x.at];
    ++instructions_;
    if (counted_ != nullptr) counted_->count();
    if (count > most_instructions) end_kernel(where(*grid_.code, i), "is in a loop that does not end", launch_failure);
    if (i.guard >= 0 && x.read<bool>(i, {operand::kind::place, i.guard_negated, i.guard, 0}) == false) {
      ++x.at;
      continue;
    }
    if (i.run != nullptr) {
      i.run(x, i);
      ++x.at;
      continue;
    }
    switch (i.op) {
    case opcode::bra: x.at = i.target; continue;
    case opcode::ret: x.is = thread::state::ended; return;
    case opcode::bar: x.is = thread::state::at_barrier; return;
    case opcode::bar_warp:
    case opcode::shfl:
    case opcode::vote:
      x.is = thread::state::at_warp;
      x.mask = x.read<std::uint32_t>(i, i.args[i.op == opcode::bar_warp ? 0 : i.op == opcode::shfl ? 4 : 2]);
      return;
    case opcode::mma:
      x.is = thread::state::at_warp;
      x.mask = 0xFFFFFFFF;
      return;
    case opcode::trap: end_kernel(where(*grid_.code, i), "traps", launch_failure);
    default:
      end_kernel(where(*grid_.code, i),
                 "is no instruction that tests/cuda/emulator knows; add it to reader.cpp and arithmetic.cpp",
                 illegal_instruction);
    }
  }
}

// Lets the block pass a barrier if all threads that have not ended are at one.
bool block::pass_barrier() {
  std::size_t ended = 0;
  const thread* first = nullptr;
  bool is_one = true;
  for (const thread& x : threads_) {
    if (x.is == thread::state::at_warp) return false;
    if (x.is == thread::state::ended) ++ended;
    else if (first == nullptr) first = &x;
    else is_one = is_one && x.at == first->at;
  }
  if (first == nullptr) return false;
  const std::string place = where(*grid_.code, grid_.code->code[first->at]);
  if (ended != 0) report(place, "is a barrier that some threads of the block never reach, as they have ended");
  if (!is_one) report(place, "is a barrier where some threads wait while others are at another one");
  ++barriers_;
  for (thread& x : threads_)
    if (x.is == thread::state::at_barrier) x.is = thread::state::ready, ++x.at;
  return true;
}

// Executes what lanes of this warp wait for together, if all of its lanes are there.
bool block::pass_warp(std::uint32_t first) {
  const std::uint32_t end = std::min(first + 32, grid_.threads);
  bool any = false;
  for (std::uint32_t t = first; t < end; ++t) {
    const thread& x = threads_[t];
    if (x.is != thread::state::at_warp) continue;
    const instruction& i = grid_.code->code[x.at];
    if ((x.mask >> (t - first) & 1) == 0) report(where(*grid_.code, i), "is executed by a lane that its own mask does not name");
    std::uint32_t there = 0;
    for (std::uint32_t u = first; u < first + 32; ++u) {
      if ((x.mask >> (u - first) & 1) == 0) continue;
      if (u >= end || threads_[u].is == thread::state::ended) {
        report(where(*grid_.code, i), "has a mask that names a lane that has ended, or that the block does not have");
        there |= 1U << (u - first);
      } else if (threads_[u].is == thread::state::at_warp && threads_[u].at == x.at && threads_[u].mask == x.mask) {
        there |= 1U << (u - first);
      }
    }
    if (there != x.mask) continue;
    exchange_in_warp(first, end, x.mask, x.at);
    any = true;
  }
  return any;
}
void block::exchange_in_warp(std::uint32_t first, std::uint32_t end, std::uint32_t mask, std::size_t at) {
  const instruction& i = grid_.code->code[at];
  if (i.op == opcode::mma) return multiply_in_warp(first, end, i);
  std::array<std::uint32_t, 32> given{};
  std::array<std::uint16_t, 32> met{};
  std::uint32_t takes_part = 0, votes = 0;
  for (std::uint32_t u = first; u < end; ++u) {
    thread& x = threads_[u];
    const std::uint32_t lane = u - first;
    if (x.is != thread::state::at_warp || x.at != at || x.mask != mask || (mask >> lane & 1) == 0) continue;
    takes_part |= 1U << lane;
    if (i.op == opcode::shfl) given[lane] = x.read<std::uint32_t>(i, i.args[1]);
    if (i.op == opcode::vote && x.read<bool>(i, i.args[1])) votes |= 1U << lane;
    if (i.op == opcode::bar_warp) {
      ++x.known[lane];
      for (std::size_t n = 0; n < 32; ++n) met[n] = std::max(met[n], x.known[n]);
    }
  }
  for (std::uint32_t left = takes_part; left != 0; left &= left - 1) {
    const auto lane = static_cast<std::uint32_t>(std::countr_zero(left));
    thread& x = threads_[first + lane];
    if (i.op == opcode::shfl) {
      const source from = source_of(i.way, lane, x.read<std::uint32_t>(i, i.args[2]) & 31, x.read<std::uint32_t>(i, i.args[3]));
      if ((takes_part >> from.lane & 1) == 0) report(where(*grid_.code, i), "reads a lane that takes no part");
      x.write(i.args[0], given[from.lane]);
      x.write(i.also, from.is_in_range);
    } else if (i.op == opcode::vote) {
      if (i.votes == ballot::bits) x.write(i.args[0], votes);
      else x.write(i.args[0], i.votes == ballot::all ? votes == takes_part : votes != 0);
    } else {
      x.known = met;
    }
    x.is = thread::state::ready;
    ++x.at;
  }
}

} // namespace emulator
