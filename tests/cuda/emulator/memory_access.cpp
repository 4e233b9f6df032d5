// SPDX-License-Identifier: MIT
#include <cstdint>
#include <cstring>

#include "block.hpp"
#include "memory_access.hpp"

namespace emulator {

namespace {

constexpr int misaligned_address = 716, illegal_address = 700; // cudaErrorMisalignedAddress, cudaErrorIllegalAddress

std::uint64_t address_of(thread& x, const instruction& i) {
  const operand& o = i.address;
  return o.is == operand::kind::place ? x.read<std::uint64_t>(i, o) + o.number : o.number;
}
std::string verb(bool writes) { return writes ? "writes" : "reads"; }
bool is_signed(type t) { return t == type::s8 || t == type::s16 || t == type::s32; }

} // namespace

void load(thread& x, const instruction& i) {
  const std::size_t bytes = size_of(i.as);
  const std::byte* at = x.of->reach(x, i, address_of(x, i), bytes * i.width, false);
  for (std::size_t j = 0; j < i.width; ++j, at += bytes) {
    std::uint64_t v = 0;
    std::memcpy(&v, at, bytes);
    if (is_signed(i.as) && (v >> (8 * bytes - 1) & 1) != 0) v |= ~std::uint64_t{0} << (8 * bytes);
    x.write(i.args[j], v);
  }
}
void store(thread& x, const instruction& i) {
  const std::size_t bytes = size_of(i.as);
  std::byte* at = x.of->reach(x, i, address_of(x, i), bytes * i.width, true);
  for (std::size_t j = 0; j < i.width; ++j, at += bytes) {
    const auto v = x.read<std::uint64_t>(i, i.args[j]);
    std::memcpy(at, &v, bytes);
  }
}

std::uint64_t thread::special_register(const operand& o) const {
  switch (static_cast<special>(o.place)) {
  case special::thread: return id;
  case special::threads: return of->of().threads;
  case special::block: return of->number();
  case special::blocks: return of->of().blocks;
  case special::lane: return id % 32;
  case special::one: return 1;
  case special::zero: return 0;
  }
  return 0;
}

std::byte* block::reach(thread& x, const instruction& i, std::uint64_t address, std::size_t bytes, bool writes) {
  if (address % bytes != 0)
    end_kernel(where(*x.code, i), verb(writes) + " " + std::to_string(bytes) + " bytes at an address that is not aligned to them",
               misaligned_address);
  if (i.in == space::param) {
    if (address + bytes > grid_.code->parameter_bytes)
      end_kernel(where(*x.code, i), verb(writes) + " beyond the parameters", illegal_address);
    return const_cast<std::byte*>(grid_.parameters) + address;
  }
  if (counted_ != nullptr) counted_->note(x.id, x.code->line_of(i), address);
  const auto touched = [bytes](std::size_t w) { // the bytes of word w
    return bytes >= 4 ? std::uint8_t{15} : static_cast<std::uint8_t>(((1U << bytes) - 1) << w);
  };
  const auto end = [bytes](std::uint64_t first) { return (first + bytes + 3) / 4; }; // of the words
  if (i.in == space::shared) {
    if (address + bytes > grid_.code->shared_bytes)
      end_kernel(where(*x.code, i), verb(writes) + " out of the bounds of shared memory", illegal_address);
    for (std::size_t w = address / 4; w < end(address); ++w) {
      if (!writes && of_shared_[w].write.op != turn_) report(where(*x.code, i), "reads shared memory that was never written");
      check(of_shared_[w], turn_, touched(address % 4), writes, true, x, i);
    }
    return shared_.data() + address;
  }
  allocation* const own = memory().of(address);
  if (own == nullptr || address - own->first + bytes > own->bytes)
    end_kernel(where(*x.code, i), verb(writes) + " out of the bounds of any memory of a GPU", illegal_address);
  if (own->gpu != grid_.gpu) end_kernel(where(*x.code, i), verb(writes) + " memory of another GPU", illegal_address);
  own->is_touched = true;
  const std::uint64_t first = address - own->first;
  for (std::size_t w = first / 4; w < end(first); ++w) {
    if (own->filled_by != 0 && !streams().is_before_latest(own->filled_by))
      report(where(*x.code, i), verb(writes) + " memory that an op of another stream writes, perhaps at the same time");
    if (writes) own->is_written[w] = true;
    else if (!own->is_written[w]) report(where(*x.code, i), "reads memory that was never written");
    check(own->words[w], streams().latest(), touched(first % 4), writes, false, x, i);
  }
  return memory().contents(address);
}

touch block::now(const thread& x, std::uint32_t op, std::uint8_t bytes) const {
  return {op, number_, barriers_, static_cast<std::uint16_t>(x.id), x.known[x.id % 32], bytes};
}
// Whether an access of this launch is over before what this thread does now.
bool block::is_ordered(const touch& t, const thread& x) const {
  if (t.block != number_) return false;
  if (t.thread == x.id || t.barriers < barriers_) return true;
  return t.thread / 32 == x.id / 32 && t.meetings < x.known[t.thread % 32];
}
void block::check(word& w, std::uint32_t op, std::uint8_t bytes, bool writes, bool is_shared, const thread& x,
                  const instruction& i) {
  const auto is_race = [&](const touch& t) {
    if (t.op == 0 || (t.bytes & bytes) == 0) return false;
    if (t.op == op) return !is_ordered(t, x);
    return !is_shared && !streams().is_before_latest(t.op); // shared memory of an earlier block is gone
  };
  const auto tell = [&](const touch& t, const char* verb) {
    const std::string which = is_shared ? "shared memory" : "memory";
    const std::string who = t.op == op ? "another thread" : "an op of another stream";
    report(where(*x.code, i),
           (writes ? "writes " : "reads ") + which + " that " + who + " " + verb + ", perhaps at the same time");
  };
  if (is_race(w.write)) tell(w.write, "writes");
  if (!writes) {
    if (w.read.op != op || w.read.thread != x.id || w.read.block != number_) w.other = w.read;
    w.read = now(x, op, bytes);
    return;
  }
  for (const touch* const t : {&w.read, &w.other})
    if (is_race(*t)) tell(*t, "reads");
  w.write = now(x, op, bytes);
}

} // namespace emulator
