// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace cairn {

// elementwise(queue, count, f, results, operands): f(a[i], b[i], ...) for every i in [0, count), where a, b,
// ... are copies of the operands' numbers, which f takes by reference. What f leaves in the first of them
// goes to the results, in the same order; there are at most as many results as operands. A result may be an
// operand.
//
// f says how one element is computed and nothing else; the same object serves every instruction set. To
// become vector code without -ffast-math it must have no branch: both sides of a choice are computed and
// select() takes one. It must be [[gnu::always_inline]], or it stays a call to code of the narrowest
// instruction set.
//
// An element's bits depend on its own numbers only, not on its place in the array nor on how the array is
// cut.

namespace detail {

// condition ? a : b on the bits of the numbers. An ordinary ?: lets g++ 12 move the computation of one side
// behind the condition, and then it makes no vector code for AVX2, because the side not taken might trap.
template <class T>
[[gnu::always_inline]] inline T select(bool condition, T a, T b) {
  using bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  const bits mask = bits{0} - static_cast<bits>(condition);
  return std::bit_cast<T>((std::bit_cast<bits>(a) & mask) | (std::bit_cast<bits>(b) & ~mask));
}

} // namespace detail

} // namespace cairn
