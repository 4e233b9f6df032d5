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

namespace cairn::detail {

// Between what the program sees and what is learnt, which are of the type in which sums of T are kept, and what layers work
// on, which is T. For float and double they are the same, and there is nothing here.
template <class Plan, class T, class Device, bool Narrow = is_narrow<T>>
class working_copy {
public:
  static constexpr std::size_t bytes = 0;

  explicit working_copy(Device&) {}

  template <class Queue>
  void lend_parameters(Queue&, frame<T>& f, const T* parameters, const T*) {
    f.parameters = parameters;
  }
  template <class Queue>
  tensors<const T> lend_inputs(Queue&, std::size_t, const tensors<const T>& given) {
    return given;
  }
  template <class Queue>
  tensor_view<const T> shown(Queue&, const tensor_view<const T>& made) {
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

// Of bfloat16 and float16: memory for the parameters as T, frozen ones too, for inputs as T and for outputs as they are
// shown. All of it is made anew in every forward pass, so whatever wrote to the parameters, layers never read old ones.
template <class Plan, class T, class Device>
class working_copy<Plan, T, Device, true> {
  using sum = accumulated<T>;
  static constexpr bool frozen = has_frozen(evaluation_of<Plan, T, typename Device::queue>);
  static constexpr tensor_layout inputs_at{Plan::inputs, Plan::to.sizes, Plan::batch};
  static constexpr std::size_t frozen_begin = align_up(Plan::parameter_block * sizeof(T));
  static constexpr std::size_t inputs_begin = frozen_begin + (frozen ? align_up(Plan::state_block * sizeof(T)) : 0);
  static constexpr std::size_t outputs_begin = inputs_begin + align_up(inputs_at.size);

public:
  static constexpr std::size_t bytes = outputs_begin + align_up(Plan::outputs[0].elements(Plan::batch) * sizeof(sum));

  explicit working_copy(Device& device) : memory_(device.allocate(bytes)) {}

  template <class Queue>
  void lend_parameters(Queue& queue, frame<T>& f, const sum* parameters, const sum* buffers) {
    convert(queue, Plan::parameter_block, at<T>(0), parameters);
    if constexpr (frozen) convert(queue, Plan::state_block, at<T>(frozen_begin), buffers);
    f.parameters = at<T>(0);
    f.frozen = at<T>(frozen_begin);
  }
  // Integers stay where the program has them.
  template <class Queue>
  tensors<const T> lend_inputs(Queue& queue, std::size_t rows, const tensors<const sum>& given) {
    std::byte* const block = at<std::byte>(inputs_begin);
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
  // What a network made, as the program sees it: until the next call.
  template <class Queue>
  tensor_view<const sum> shown(Queue& queue, const tensor_view<const T>& made) {
    convert(queue, made.size(), at<sum>(outputs_begin), made.data());
    return {at<sum>(outputs_begin), made.rows(), made.sample_shape()};
  }
  // The same memory, for what the program gives: a gradient of the outputs.
  sum* given_outputs() { return at<sum>(outputs_begin); }

private:
  template <class U>
  U* at(std::size_t offset) {
    return reinterpret_cast<U*>(memory_.data() + offset);
  }

  typename Device::memory memory_;
  std::array<std::size_t, tensor_list::most> offsets_{};
};

} // namespace cairn::detail
