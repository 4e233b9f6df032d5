// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <cairn/device/cpu.hpp>

namespace cairn::detail {

// What a text::session keeps of the tokens that it has taken, for the call of a layer that gets the next ones. The layer's input
// is those alone: their positions in the text are `taken`, taken + 1 and so on. A layer with the member
//
//   static constexpr std::size_t keeps_per_token(const arguments& in); // elements of each token
//
// has memory of its own, (positions, keeps_per_token(in)), whose first `taken` rows are as it wrote them before.
template <class T>
struct kept_tokens {
  std::size_t taken = 0;
  T* memory = nullptr;
  const std::size_t* begin = nullptr; // of each layer, by its number

  // The memory of a layer, by the number in its call: call.kept->of(call.random.position).
  T* of(std::uint32_t layer) const { return memory + begin[layer]; }
};

// Whether a device whose queue is Queue keeps tokens. Not a question of which ops there are: the answer must be the same in every
// file of a program, also in one that does not include all of them.
template <class Queue>
inline constexpr bool keeps_tokens_on = std::is_same_v<Queue, cpu::queue>;

// The position of the first token of a call.
template <class Call>
std::size_t first_position(const Call& call) {
  return call.kept != nullptr ? call.kept->taken : 0;
}

} // namespace cairn::detail
