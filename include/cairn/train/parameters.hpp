// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include <cairn/core/random.hpp>
#include <cairn/net/program.hpp>
#include <cairn/plan/fingerprint.hpp>

namespace cairn {

// One parameter of a network: its name as in PyTorch ("2.weight"; inside the block at position 2 "2.0.weight"), what the
// layer says of it, the layer's index among all layers, and its numbers.
template <class T>
struct named_parameter {
  std::string name;
  const parameter* facts = nullptr;
  std::uint32_t leaf = 0;
  std::size_t index = 0; // among the parameters of its layer
  std::span<T> numbers;
};

// Calls f with every parameter of a program, from the first layer to the last. `block` is the flat buffer.
template <class T, class Queue, class F>
void for_each_parameter(const program<T, Queue>& p, std::span<T> block, F&& f, const std::string& prefix = {},
                        std::uint32_t first_leaf = 0) {
  for (std::size_t i = 0; i < p.size(); ++i) {
    const auto& e = p.at(i);
    const std::string name = prefix + std::to_string(i) + ".";
    const std::span<T> own = block.subspan(p.parameter_begin[i], p.stages[i].parameter_block);
    const std::uint32_t leaf = first_leaf + p.leaf_begin[i];
    if (e.inner != nullptr) {
      for_each_parameter(*e.inner, own, f, name, leaf);
      continue;
    }
    for (std::size_t k = 0; k < e.parameters.count; ++k) {
      const parameter& facts = e.parameters.items[k];
      f(named_parameter<T>{name + std::string(facts.name), &facts, leaf, k,
                           own.subspan(e.parameter_layout.offsets[k], facts.extents.size())});
    }
  }
}

// The initial values of all parameters: a function of the seed and of where a parameter stands, not of the policy, the
// number of ranks or the batch.
template <class T, class Queue>
void initialize(const program<T, Queue>& p, std::span<T> block, seed s) {
  for_each_parameter(p, block, [s](const named_parameter<T>& q) {
    const auto scale = static_cast<T>(q.facts->scale);
    const random_key key{
        .seed = s.value, .step = 0xFFFFFFFFFFFFU, .position = q.leaf}; // no training step has this number
    for (std::size_t j = 0; j < q.numbers.size(); ++j)
      q.numbers[j] = q.facts->start == initial::constant
                         ? scale
                         : (2 * random_uniform<T>(key, (std::uint64_t{q.index} << 40) + j) - 1) * scale;
  });
}

// A 64-bit number of the bits of a buffer: equal if and, for all one can meet, only if they are equal. The size is a
// multiple of the alignment, as that of every buffer of parameters.
inline std::uint64_t checksum(std::span<const std::byte> bits) {
  hash64 h;
  for (std::size_t i = 0; i + sizeof(std::uint64_t) <= bits.size(); i += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bits.data() + i, sizeof word);
    h.add(word);
  }
  return h.value();
}

} // namespace cairn
