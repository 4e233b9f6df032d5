// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/memory.hpp>
#include <cairn/core/tensor.hpp>
#include <cairn/core/tensors.hpp>
#include <cairn/core/view.hpp>
#include <cairn/net/frame.hpp>
#include <cairn/net/program.hpp>
#include <cairn/ops/convert/convert.hpp>
#include <cairn/train/network_outputs.hpp>

namespace cairn::detail {

// The working copy of the parameters, which layers read, in T. The master copy, which is learnt, has the type accumulated<T>.
// For float and double these are the same, and there is nothing here.
template <class Plan, class T, class Device, bool Narrow = is_narrow<T>>
class working_weights {
public:
  static constexpr std::size_t bytes = 0;

  explicit working_weights(Device&) {}

  template <class Queue>
  void make(Queue&, const T*, const T*) {}
  void lend(frame<T>& f, const T* parameters) const { f.parameters = parameters; }
};

// Inputs and outputs as the program sees them, in accumulated<T>, and as layers work on them, in T. For float and double these
// are the same, and there is nothing here.
template <class Plan, class T, class Device, bool Narrow = is_narrow<T>>
class working_copy {
public:
  static constexpr std::size_t bytes = 0;

  explicit working_copy(Device&) {}

  template <class Queue>
  tensors<const T> lend_inputs(Queue&, std::size_t, const tensors<const T>& given) {
    return given;
  }
  template <class Queue>
  tensor_view<const T> shown(Queue&, const tensor_view<const T>& made, std::size_t) {
    return made;
  }
};

// Is a parameter anywhere in this chain frozen?
template <class T, class Queue>
constexpr bool has_frozen(const program<T, Queue>& p) {
  if (p.is_frozen) return true;
  for (const auto& e : p.elements)
    for (const auto& chain : e.chains)
      if (has_frozen(*chain.code)) return true;
  return false;
}

// Memory for the parameters as bfloat16 or float16, frozen ones too. It has the values of the last make(): see
// updated_weights.hpp for a trainer's, and shared_weights.hpp for a model's.
template <class Plan, class T, class Device>
class working_weights<Plan, T, Device, true> {
  using sum = accumulated<T>;
  static constexpr bool frozen = has_frozen(evaluation_of<Plan, T, typename Device::queue>);
  static constexpr std::size_t frozen_begin = align_up(Plan::parameter_block * sizeof(T));

public:
  static constexpr std::size_t bytes = frozen_begin + (frozen ? align_up(Plan::state_block * sizeof(T)) : 0);

  explicit working_weights(Device& device) : memory_(device.allocate(bytes)) {}

  template <class Queue>
  void make(Queue& queue, const sum* parameters, const sum* buffers) {
    convert(queue, Plan::parameter_block, at(0), parameters);
    if constexpr (frozen) convert(queue, Plan::state_block, at(frozen_begin), buffers);
  }
  // The same for elements [begin, end) of the parameters that are learnt.
  template <class Queue>
  void make(Queue& queue, const sum* parameters, std::size_t begin, std::size_t end) {
    convert(queue, end - begin, at(0) + begin, parameters + begin);
  }
  void lend(frame<T>& f, const sum* parameters) const {
    f.parameters = at(0);
    f.masters = parameters;
    f.frozen = at(frozen_begin);
  }

private:
  T* at(std::size_t offset) const { return reinterpret_cast<T*>(memory_.data() + offset); }

  typename Device::memory memory_;
};

// Memory for inputs as bfloat16 or float16, and for outputs as the program sees them.
template <class Plan, class T, class Device>
class working_copy<Plan, T, Device, true> {
  using sum = accumulated<T>;
  static constexpr tensor_layout inputs_at{Plan::inputs, Plan::to.sizes, Plan::batch};
  using outputs_type = network_outputs<Plan, T>;
  static constexpr std::size_t outputs_begin = align_up(inputs_at.size);

public:
  static constexpr std::size_t bytes = outputs_begin + outputs_type::sums.size;

  explicit working_copy(Device& device) : memory_(device.allocate(bytes)) {}

  // Integers stay where the program has them.
  template <class Queue>
  tensors<const T> lend_inputs(Queue& queue, std::size_t rows, const tensors<const sum>& given) {
    std::byte* const block = memory_.data();
    for (std::size_t k = 0; k < Plan::inputs.size(); ++k) {
      const tensor& what = Plan::inputs[k];
      if (what.type == element::int32) {
        offsets_[k] = reinterpret_cast<std::uintptr_t>(given.integers(k)) - reinterpret_cast<std::uintptr_t>(block);
      } else {
        offsets_[k] = inputs_at.offsets[k];
        convert(queue, what.elements(rows), reinterpret_cast<T*>(block + offsets_[k]), given[k]);
      }
    }
    return {block, offsets_.data()};
  }
  // Output k of a network as the program sees it, valid until the next call for the same k.
  template <class Queue>
  tensor_view<const sum> shown(Queue& queue, const tensor_view<const T>& made, std::size_t k) {
    convert(queue, made.size(), given_output(k), made.data());
    return {given_output(k), made.rows(), made.sample_shape()};
  }
  // The same memory, for a gradient of that output from the program.
  sum* given_output(std::size_t k) {
    return reinterpret_cast<sum*>(memory_.data() + outputs_begin + outputs_type::sums.offsets[k]);
  }

private:
  typename Device::memory memory_;
  std::array<std::size_t, tensor_list::most> offsets_{};
};

} // namespace cairn::detail
