// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>

#include <cairn/core/view.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/device/instruction_set.hpp>
#include <cairn/net/program.hpp>
#include <cairn/ops/matmul/multiply_by_packed.hpp>

namespace cairn::detail {

// Calls f(begin, matrix of the weight's extents without memory) for each weight that layers may read as packed, where `begin` is
// its place among the parameters, in elements. A weight that several layers share is passed several times; the parameters of
// frozen blocks, which lie elsewhere, are not passed.
template <class T, class Queue, class F>
void for_each_packed_weight(const program<T, Queue>& p, std::size_t begin, const F& f) {
  if (p.is_frozen) return;
  for (std::size_t i = 0; i < p.size(); ++i) {
    const auto& e = p.at(i);
    if (e.packs_weight) {
      const std::size_t owner = owner_of_weight(p, i);
      const tensor& weight = p.at(owner).parameters[0];
      const std::size_t rows = weight.extents[0];
      f(begin + p.parameter_begin[owner], matrix<const T>{nullptr, rows, weight.size() / rows});
    }
    for (const auto& chain : e.chains)
      for_each_packed_weight(*chain.code, begin + p.parameter_begin[i] + chain.parameter_begin, f);
  }
}

// Whether the kernels of this machine read packed weights, and the network has some.
template <class T, class Queue>
bool reads_packed(const program<T, Queue>& code) {
  bool are_read = false;
  if (reads_packed_weights(widest_instruction_set()))
    for_each_packed_weight(code, 0, [&are_read](std::size_t, const auto&) { are_read = true; });
  return are_read;
}
// Packs the weights of products for the kernels of this machine, each to the place that it has among the parameters.
template <class T, class Queue>
void pack_weights(const program<T, Queue>& code, T* to, const T* parameters) {
  for_each_packed_weight(code, 0, [&](std::size_t begin, matrix<const T> weight) {
    weight.data = parameters + begin;
    pack_weight(widest_instruction_set(), to + begin, weight);
  });
}

// Memory for the weights of products in the order in which the kernels of this machine read them. For float and double on a cpu.
template <class Plan, class T, class Device>
class packed_weights {
public:
  static constexpr bool exist = std::same_as<Device, cpu> && std::floating_point<T>;

  // Allocates the memory if packed weights are read.
  packed_weights(Device& device, const program<T, typename Device::queue>& code) : code_(code) {
    if constexpr (exist)
      if (reads_packed(code)) memory_ = device.allocate(Plan::parameter_block * sizeof(T));
  }

  std::size_t bytes() const { return memory_.size(); }
  void make(const T* parameters) {
    if constexpr (exist) pack_weights(code_, reinterpret_cast<T*>(memory_.data()), parameters);
  }
  const T* data() const { return reinterpret_cast<const T*>(memory_.data()); }

private:
  const program<T, typename Device::queue>& code_;
  typename Device::memory memory_{};
};

} // namespace cairn::detail
