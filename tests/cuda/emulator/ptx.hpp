// SPDX-License-Identifier: MIT
// A module of PTX as the emulator keeps it: kernels, each a list of instructions that are ready to be executed.
// Source: NVIDIA, Parallel Thread Execution ISA.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace emulator {

enum class type : std::uint8_t {
  none,
  pred,
  b8,
  b16,
  b32,
  b64,
  u8,
  u16,
  u32,
  u64,
  s8,
  s16,
  s32,
  s64,
  f32,
  f64,
  f16,
  f16x2,
  bf16
};
constexpr std::size_t size_of(type t) {
  switch (t) {
  case type::b64:
  case type::u64:
  case type::s64:
  case type::f64: return 8;
  case type::b32:
  case type::u32:
  case type::s32:
  case type::f16x2:
  case type::f32: return 4;
  case type::b16:
  case type::u16:
  case type::f16:
  case type::bf16:
  case type::s16: return 2;
  default: return 1;
  }
}

// Opcodes as PTX spells them, with an underscore where C++ has a keyword or a function of that name. `pack` and `unpack` are
// mov with a vector on the right or on the left, `bar_warp` is bar.warp.sync.
enum class opcode : std::uint8_t {
  unknown,
  add,
  sub,
  mul,
  mad,
  fma,
  div,
  rem,
  neg,
  abs_,
  min_,
  max_,
  and_,
  or_,
  xor_,
  not_,
  shl,
  shr,
  setp,
  selp,
  mov,
  pack,
  unpack,
  cvt,
  cvta,
  ld,
  st,
  ex2,
  lg2,
  rcp,
  sqrt_,
  rsqrt,
  copysign_,
  popc,
  prmt,
  clz,
  brev,
  bfi,
  bfind,
  bra,
  ret,
  bar,
  bar_warp,
  shfl,
  vote,
  mma,
  trap
};
enum class space : std::uint8_t { generic, param, shared, global };
enum class comparison : std::uint8_t { eq, ne, lt, le, gt, ge, equ, neu, ltu, leu, gtu, geu, num, nan };
enum class half : std::uint8_t { low, high, wide };                            // of a product
enum class rounding : std::uint8_t { none, nearest, zero, down, up };          // of fma; of cvt, to a whole number
enum class exchange : std::uint8_t { up, down, butterfly, index };             // of shfl
enum class ballot : std::uint8_t { all, any, bits };                           // of vote
enum class junction : std::uint8_t { none, conjunction, disjunction, parity }; // of setp with a third operand

struct operand {
  enum class kind : std::uint8_t { none, place, number, special };
  kind is = kind::none;
  bool negated = false;     // of a predicate
  std::int32_t place = -1;  // the register, or the special register
  std::uint64_t number = 0; // a value, or the offset of an address
};
// Special registers, in the order of their numbers. Blocks and grids have one dimension: .y and .z are 0, or 1 for extents.
enum class special : std::uint8_t { thread, threads, block, blocks, lane, zero, one };

class thread;
struct instruction;
// Executes an instruction that concerns one thread; null for those that the block executes.
using step = void (*)(thread&, const instruction&);

struct instruction {
  opcode op = opcode::unknown;
  type as = type::none, from = type::none; // the type, and the second one: of what cvt reads
  space in = space::generic;
  comparison compares = comparison::eq;
  half part = half::low;
  rounding to = rounding::none;
  exchange way = exchange::up;
  ballot votes = ballot::all;
  junction joins = junction::none;
  std::uint8_t width = 1; // elements of a vector
  bool is_approximate = false, flushes = false, saturates = false, counts_shift = false;
  bool guard_negated = false;
  std::int32_t guard = -1;  // the predicate that decides whether it is executed
  std::uint32_t target = 0; // of a branch; of mma, its operands among the kernel's matrices
  step run = nullptr;
  // A load has its registers in `args`, a store its values; others the result first.
  std::array<operand, 5> args{};
  operand address{}; // of a load or store; what `unpack` takes apart
  operand also{};    // the second result of setp and shfl
};

// The registers of mma.m16n8k8, in the order of the text: of D, A, B and C.
using matrices = std::array<operand, 11>;

struct kernel {
  std::string name;
  std::vector<instruction> code;
  std::vector<std::string> text;  // of each instruction
  std::vector<matrices> products; // of each mma
  std::size_t registers = 0;
  std::size_t parameter_bytes = 0, shared_bytes = 0;
  std::size_t most_threads = 0; // of a block; 0: any number
  std::size_t line_of(const instruction& i) const { return static_cast<std::size_t>(&i - code.data()); }
};
using kernels = std::map<std::string, kernel, std::less<>>;

// Adds the kernels of a text in PTX. Instructions that the emulator does not know are kept as opcode::unknown, and reported when
// they are executed. Throws std::runtime_error for a text that is no PTX.
void read_ptx(kernels& into, const std::string& text);

// The function that executes this instruction, null if there is none for its opcode and type.
step step_of(const instruction& i);

} // namespace emulator
