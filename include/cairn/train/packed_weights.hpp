// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <utility>
#include <vector>

#include <cairn/core/tensor.hpp>
#include <cairn/core/view.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/device/instruction_set.hpp>
#include <cairn/net/frame.hpp>
#include <cairn/net/program.hpp>
#include <cairn/ops/matmul/multiply_by_packed.hpp>
#include <cairn/ops/matmul/packed_weight.hpp>
#include <cairn/ops/matmul/weight_in_bytes.hpp>

namespace cairn::detail {

// Whether a model packs the weights of its products, and in which numbers.
struct packing {
  bool packs = true;
  ops::weight_format format = ops::weight_format::own;
};

// Whether a weight is packed in this format. One of more than two axes, such as that of a convolution, has none but `own`, and
// one with very long rows none of one byte.
constexpr bool has_format(const tensor& weight, ops::weight_format format) {
  if (format == ops::weight_format::own) return true;
  return weight.rank() == 2 && (format != ops::weight_format::int8 || weight.extents[1] <= weight_in_bytes::most_steps);
}

// Calls f(begin, matrix of the weight's extents without memory) for each weight that layers may read as packed, where `begin` is
// its place among the parameters, in elements. A weight that several layers share is passed several times; the parameters of
// frozen blocks, which lie elsewhere, are not passed, nor those that do not have this format.
template <class T, class Queue, class F>
void for_each_packed_weight(const program<T, Queue>& p, ops::weight_format format, std::size_t begin, const F& f) {
  if (p.is_frozen) return;
  for (std::size_t i = 0; i < p.size(); ++i) {
    const auto& e = p.at(i);
    if (e.packs_weight) {
      const std::size_t owner = owner_of_weight(p, i);
      const tensor& weight = p.at(owner).parameters[0];
      const std::size_t rows = weight.extents[0];
      if (has_format(weight, format)) f(begin + p.parameter_begin[owner], matrix<const T>{nullptr, rows, weight.size() / rows});
    }
    for (const auto& chain : e.chains)
      for_each_packed_weight(*chain.code, format, begin + p.parameter_begin[i] + chain.parameter_begin, f);
  }
}

// Whether the kernels of this machine read packed weights, and the network has some.
template <class T, class Queue>
bool reads_packed(const program<T, Queue>& code, ops::weight_format format = ops::weight_format::own) {
  bool are_read = false;
  if (format != ops::weight_format::own || reads_packed_weights(widest_instruction_set()))
    for_each_packed_weight(code, format, 0, [&are_read](std::size_t, const auto&) { are_read = true; });
  return are_read;
}
// Packs the weights of products for the kernels of this machine, each to the place that it has among the parameters.
template <class T, class Queue>
void pack_weights(const program<T, Queue>& code, T* to, const T* parameters) {
  for_each_packed_weight(code, ops::weight_format::own, 0, [&](std::size_t begin, matrix<const T> weight) {
    weight.data = parameters + begin;
    pack_weight(widest_instruction_set(), ops::weight_format::own, to + begin, weight);
  });
}

// Memory for the weights of products in the order in which the kernels of this machine read them. For float and double on a cpu;
// other formats than `own` for float.
template <class Plan, class T, class Device>
class packed_weights {
public:
  static constexpr bool exist = std::same_as<Device, cpu> && std::floating_point<T>;

  // Allocates the memory if packed weights are read.
  packed_weights(Device& device, const program<T, typename Device::queue>& code, ops::weight_format format)
      : code_(code), format_(format) {
    if constexpr (exist) {
      if (!reads_packed(code, format)) return;
      if (format == ops::weight_format::own) memory_ = device.allocate(Plan::parameter_block * sizeof(T));
      else memory_ = device.allocate(find_places());
    }
  }

  std::size_t bytes() const { return memory_.size(); }
  void make(const T* parameters) {
    if constexpr (exist) {
      if (format_ == ops::weight_format::own) return pack_weights(code_, reinterpret_cast<T*>(memory_.data()), parameters);
      for_each_packed_weight(code_, format_, 0, [&](std::size_t begin, matrix<const T> weight) {
        const std::size_t byte =
            static_cast<std::size_t>(static_cast<const std::byte*>(lent().of(nullptr, begin).data) - memory_.data());
        weight.data = parameters + begin;
        pack_weight(widest_instruction_set(), format_, memory_.data() + byte, weight);
      });
    }
  }
  packed_parameters<T> lent() const { return {memory_.data(), format_, places_.data(), places_.size(), 0}; }

private:
  // Returns how many bytes all of them take.
  std::size_t find_places() {
    std::size_t bytes = 0;
    std::vector<std::pair<std::size_t, std::size_t>> sizes;
    for_each_packed_weight(code_, format_, 0, [&](std::size_t begin, const matrix<const T>& weight) {
      sizes.emplace_back(begin, packed_bytes<T>(format_, weight.rows, weight.columns));
    });
    std::sort(sizes.begin(), sizes.end());
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end()); // a weight that several layers share
    for (const auto& [begin, size] : sizes) {
      places_.push_back({begin, bytes});
      bytes += (size + 63) / 64 * 64;
    }
    return bytes;
  }

  const program<T, typename Device::queue>& code_;
  ops::weight_format format_;
  std::vector<packed_place> places_{};
  typename Device::memory memory_{};
};

} // namespace cairn::detail
