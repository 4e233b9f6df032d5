// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include <cairn/core/random.hpp>
#include <cairn/core/random_normal.hpp>
#include <cairn/core/tensor.hpp>
#include <cairn/net/program.hpp>
#include <cairn/plan/fingerprint.hpp>

namespace cairn {

// One parameter or buffer of a network: its name as in PyTorch ("2.weight"; inside the block at position 2 "2.0.weight"),
// what the layer says of it, the layer's index among all layers, and its elements.
template <class T>
struct named_parameter {
  std::string name;
  const tensor* facts = nullptr;
  std::uint32_t leaf = 0;
  std::size_t index = 0; // among the parameters, or the buffers, of its layer
  std::span<T> numbers;
  bool is_frozen = false; // a parameter that is not learnt: it lies among the buffers
};

namespace detail {

// Calls f with every parameter of a chain, or with every buffer, from the first layer to the last. The two pointers are
// where the chain's parameters and its buffers begin.
template <bool Buffers, class T, class Queue, class F>
void walk_parameters(const program<T, Queue>& p, T* parameters, T* buffers, F& f, const std::string& prefix,
                     std::uint32_t first_leaf) {
  for (std::size_t i = 0; i < p.size(); ++i) {
    const auto& e = p.at(i);
    const std::string name = prefix + std::to_string(i) + ".";
    T* const learnt = parameters + p.parameter_begin[i];
    T* const kept = buffers + p.state_begin[i];
    const std::uint32_t leaf = first_leaf + p.leaf_begin[i];
    for (std::size_t c = 0; c < e.chains.size(); ++c) {
      const auto& chain = e.chains[c];
      const std::string part = e.chains.size() == 1 ? name : name + std::to_string(c) + ".";
      walk_parameters<Buffers>(*chain.code, learnt + chain.parameter_begin, kept + chain.state_begin, f, part,
                               leaf + chain.leaf_begin);
    }
    const tensor_list& list = Buffers ? e.buffers : e.parameters;
    const tensor_layout& layout = Buffers ? e.buffer_layout : e.parameter_layout;
    T* const own = !Buffers ? (p.is_frozen ? kept : learnt) : p.is_frozen ? kept + e.parameter_layout.size / sizeof(T) : kept;
    for (std::size_t k = 0; k < list.count; ++k)
      f(named_parameter<T>{name + std::string(list[k].name), &list[k], leaf, k,
                           std::span<T>(own + layout.offsets[k] / sizeof(T), list[k].size()), !Buffers && p.is_frozen});
  }
}

// The initial value of element j: a function of the seed and of where the tensor stands, not of the policy, the number of
// ranks or the batch.
template <class T>
T initial_value(const initial& start, const random_key& key, std::uint64_t j) {
  const auto scale = static_cast<T>(start.scale);
  const auto mean = static_cast<T>(start.mean);
  switch (start.how) {
  case initial::law::uniform: return (2 * random_uniform<T>(key, j) - 1) * scale;
  case initial::law::normal: return mean + scale * random_normal<T>(key, j);
  case initial::law::truncated_normal: return mean + scale * random_truncated_normal<T>(key, j);
  default: return scale;
  }
}

// Calls f with every parameter of a network, from the first layer to the last; and with every buffer. The two blocks are the
// flat buffers of both.
template <class T, class Queue, class F>
void for_each_parameter(const program<T, Queue>& p, std::span<T> parameters, std::span<T> buffers, F&& f) {
  walk_parameters<false>(p, parameters.data(), buffers.data(), f, {}, 0);
}
template <class T, class Queue, class F>
void for_each_buffer(const program<T, Queue>& p, std::span<T> parameters, std::span<T> buffers, F&& f) {
  walk_parameters<true>(p, parameters.data(), buffers.data(), f, {}, 0);
}

// The initial values of all parameters and buffers.
template <class T, class Queue>
void initialize(const program<T, Queue>& p, std::span<T> parameters, std::span<T> buffers, seed s) {
  // Each tensor of a layer draws from a stream of its own, buffers after parameters.
  const auto set_behind = [s](std::size_t streams) {
    return [s, streams](const named_parameter<T>& q) {
      const random_key key{.seed = s.value, .step = 0xFFFFFFFFFFFFU, .position = q.leaf}; // no training step has this number
      for (std::size_t j = 0; j < q.numbers.size(); ++j)
        q.numbers[j] = initial_value<T>(q.facts->start, key, (std::uint64_t{streams + q.index} << 40) + j);
    };
  };
  for_each_parameter(p, parameters, buffers, set_behind(0));
  for_each_buffer(p, parameters, buffers, set_behind(tensor_list::most));
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

} // namespace detail

} // namespace cairn
