// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include <cairn/core/random.hpp>
#include <cairn/core/shape.hpp>
#include <cairn/core/tensor.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/net/program.hpp>
#include <cairn/plan/fingerprint.hpp>
#include <cairn/train/model.hpp>

namespace cairn::detail {

constexpr void add_places(hash64& h, const tensor_list& list, const tensor_layout& at) {
  h.add(list.count);
  for (std::size_t k = 0; k < list.count; ++k) {
    const shape& extents = list[k].extents;
    h.add(at.offsets[k]).add(extents.rank);
    for (std::size_t d = 0; d < extents.rank; ++d) h.add(extents[d]);
  }
}

// A hash of the places and the extents of all parameters and buffers of a network; layers without any are no part of it. All
// compilers compute the same.
template <class T, class Queue>
constexpr std::uint64_t weight_layout(const program<T, Queue>& p) {
  hash64 h;
  for (std::size_t i = 0; i < p.stages.size(); ++i) {
    const auto& e = p.elements[p.order[i]];
    if (e.parameters.count == 0 && e.buffers.count == 0 && e.chains.empty()) continue;
    h.add(p.parameter_begin[i]).add(p.state_begin[i]);
    add_places(h, e.parameters, e.parameter_layout);
    add_places(h, e.buffers, e.buffer_layout);
    for (const auto& chain : e.chains) h.add(chain.parameter_begin).add(chain.state_begin).add(weight_layout(*chain.code));
  }
  return h.value();
}

} // namespace cairn::detail

namespace cairn {

// A trained network whose weights are constants of the program, as a header of write_header() has it. It has no memory of its
// own; a fixed_session evaluates it.
//
//   #include "digits.hpp" // written by write_header(net, "digits.hpp", {.name = "digits"})
//   static fixed_session own{digits::trained<1>};
template <class Net, class Batch, class T = float>
class constant_model {
  static_assert(std::floating_point<T>, "constant_model: expected float or double");

public:
  using plan = detail::blueprint_of_model<Net, Batch, T>;
  using number = T; // the type of parameters, inputs and outputs
  static constexpr shape input_shape = plan::input_shape;
  static constexpr shape output_shape = plan::output_shape;
  // A hash of the order of the weights, which a header compares, as another version of Cairn may have another order.
  static constexpr std::uint64_t layout = detail::weight_layout(detail::evaluation_of<plan, T, cpu::queue>);

  // The flat buffers of a model of this network, which must outlive it.
  constexpr constant_model(std::span<const T, plan::parameter_block> parameters, std::span<const T, plan::state_block> buffers)
      : parameters_(parameters), buffers_(buffers) {}

  constexpr std::span<const T, plan::parameter_block> parameters() const { return parameters_; }
  constexpr std::span<const T, plan::state_block> buffers() const { return buffers_; }

private:
  std::span<const T, plan::parameter_block> parameters_;
  std::span<const T, plan::state_block> buffers_;
};

} // namespace cairn
