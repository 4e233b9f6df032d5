// SPDX-License-Identifier: MIT
// One thread of a block: its registers, and where it is in its kernel.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "findings.hpp"
#include "ptx.hpp"

namespace emulator {

class block;

// A kernel that a GPU would end: the launch fails, and with it all later calls of the runtime.
struct fault {
  int code; // a cudaError_t
};

inline std::string where(const kernel& k, const instruction& i) { return k.name + ", '" + k.text[k.line_of(i)] + "'"; }

// The registers of a thread. A register that was not written since clear() has no value.
class registers {
public:
  void clear(std::size_t count) {
    if (written_.size() < count) values_.resize(count), written_.resize(count, 0);
    ++turn_;
  }
  bool has(std::int32_t place) const { return written_[static_cast<std::size_t>(place)] == turn_; }
  std::uint64_t operator[](std::int32_t place) const { return values_[static_cast<std::size_t>(place)]; }
  void set(std::int32_t place, std::uint64_t value, bool has_value = true) {
    values_[static_cast<std::size_t>(place)] = value;
    written_[static_cast<std::size_t>(place)] = has_value ? turn_ : 0;
  }

private:
  std::vector<std::uint64_t> values_;
  std::vector<std::uint64_t> written_; // the turn in which it was written
  std::uint64_t turn_ = 0;
};

template <class T>
std::uint64_t bits_of(T v) {
  if constexpr (std::is_same_v<T, bool>) return v ? 1 : 0;
  else if constexpr (std::is_same_v<T, double>) return std::bit_cast<std::uint64_t>(v);
  else if constexpr (std::is_same_v<T, float>) return std::bit_cast<std::uint32_t>(v);
  else return static_cast<std::make_unsigned_t<T>>(v);
}
template <class T>
T of_bits(std::uint64_t v) {
  if constexpr (std::is_same_v<T, bool>) return (v & 1) != 0;
  else if constexpr (std::is_same_v<T, double>) return std::bit_cast<double>(v);
  else if constexpr (std::is_same_v<T, float>) return std::bit_cast<float>(static_cast<std::uint32_t>(v));
  else return static_cast<T>(v);
}

class thread {
public:
  enum class state : std::uint8_t { ready, at_barrier, at_warp, ended };

  block* of = nullptr;
  const kernel* code = nullptr;
  registers own;
  std::uint32_t id = 0;
  std::size_t at = 0; // the next instruction
  state is = state::ready;
  std::uint32_t mask = 0; // of the lanes that it waits for
  // What this thread knows of the lanes of its warp: how often each had passed bar.warp.sync before this thread last met it.
  std::array<std::uint16_t, 32> known{};

  // The value of an operand, of which the type says how many bits count.
  template <class T>
  [[gnu::always_inline]] inline T read(const instruction& i, const operand& o) {
    if (o.is == operand::kind::place) [[likely]] {
      if (!own.has(o.place)) [[unlikely]]
        report_unwritten(i);
      const T v = of_bits<T>(own[o.place]);
      if constexpr (std::is_same_v<T, bool>) return v != o.negated;
      else return v;
    }
    return of_bits<T>(o.is == operand::kind::special ? special_register(o) : o.number);
  }
  template <class T>
  void write(const operand& o, T v) {
    if (o.is == operand::kind::place) own.set(o.place, bits_of(v));
  }
  // Copies a register with or without a value, which is no mistake: compilers copy before they know whether it is used.
  void copy(const operand& to, const operand& from) {
    if (from.is == operand::kind::place) own.set(to.place, own[from.place], own.has(from.place));
    else own.set(to.place, from.is == operand::kind::special ? special_register(from) : from.number);
  }
  std::uint64_t special_register(const operand& o) const;

private:
  [[gnu::cold, gnu::noinline]] void report_unwritten(const instruction& i) const {
    report(where(*code, i), "reads a register that was never written");
  }
};

} // namespace emulator
