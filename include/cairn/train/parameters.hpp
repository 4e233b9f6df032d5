// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include <cairn/core/accumulated.hpp>
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
  std::size_t place = 0;  // of its first number in the flat buffer of the parameters, or of the buffers
};

namespace detail {

// The flat buffers of a network: its parameters, and what it keeps besides.
template <class T>
struct flat_buffers {
  std::span<T> parameters;
  std::span<T> buffers;
};

// Calls f with every parameter of a chain, or with every buffer, from the first layer to the last. The chain's own begin at
// these places of the flat buffers, of which nothing is read here.
template <bool Buffers, class T, class Queue, class F>
void walk_parameters(const program<T, Queue>& p, const flat_buffers<accumulated<T>>& all, F& f, const std::string& prefix = {},
                     std::uint32_t first_leaf = 0, std::size_t first_parameter = 0, std::size_t first_buffer = 0,
                     bool is_part = false) {
  for (std::size_t i = 0; i < p.size(); ++i) {
    const auto& e = p.at(i);
    const std::string name = is_part ? prefix : prefix + std::to_string(i) + ".";
    const std::size_t learnt = first_parameter + p.parameter_begin[i];
    const std::size_t kept = first_buffer + p.state_begin[i];
    const std::uint32_t leaf = first_leaf + p.leaf_begin[i];
    for (std::size_t c = 0; c < e.chains.size(); ++c) {
      const auto& chain = e.chains[c];
      const std::string part = !e.part_name.empty()   ? name + std::string(e.part_name) + std::to_string(c + 1) + "."
                               : e.chains.size() == 1 ? name
                                                      : name + std::to_string(c) + ".";
      walk_parameters<Buffers>(*chain.code, all, f, part, leaf + chain.leaf_begin, learnt + chain.parameter_begin,
                               kept + chain.state_begin, !e.part_name.empty());
    }
    const tensor_list& list = Buffers ? e.buffers : e.parameters;
    const tensor_layout& layout = Buffers ? e.buffer_layout : e.parameter_layout;
    const bool among_buffers = Buffers || p.is_frozen;
    const std::size_t own = !among_buffers ? learnt : kept + (Buffers && p.is_frozen ? e.parameter_layout.size / sizeof(T) : 0);
    for (std::size_t k = 0; k < list.count; ++k) {
      const std::size_t place = own + layout.offsets[k] / sizeof(T);
      const std::span<accumulated<T>> numbers = (among_buffers ? all.buffers : all.parameters).subspan(place, list[k].size());
      f(named_parameter<accumulated<T>>{name + std::string(list[k].name), &list[k], leaf, k, numbers, !Buffers && p.is_frozen,
                                        place});
    }
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
void for_each_parameter(const program<T, Queue>& p, std::span<accumulated<T>> parameters, std::span<accumulated<T>> buffers,
                        F&& f) {
  walk_parameters<false>(p, {parameters, buffers}, f);
}
template <class T, class Queue, class F>
void for_each_buffer(const program<T, Queue>& p, std::span<accumulated<T>> parameters, std::span<accumulated<T>> buffers, F&& f) {
  walk_parameters<true>(p, {parameters, buffers}, f);
}

// The initial values of all parameters and buffers.
template <class T, class Queue>
void initialize(const program<T, Queue>& p, std::span<accumulated<T>> parameters, std::span<accumulated<T>> buffers, seed s) {
  using sum = accumulated<T>;
  // Each tensor of a layer draws from a stream of its own, buffers after parameters.
  const auto set_behind = [s](std::size_t streams) {
    return [s, streams](const named_parameter<sum>& q) {
      const random_key key{.seed = s.value, .step = 0xFFFFFFFFFFFFU, .position = q.leaf}; // no training step has this number
      for (std::size_t j = 0; j < q.numbers.size(); ++j)
        q.numbers[j] = initial_value<sum>(q.facts->start, key, (std::uint64_t{streams + q.index} << 40) + j);
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
