// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/bundle.hpp>
#include <cairn/layer/bundle_layer.hpp>
#include <cairn/layer/describe.hpp>

namespace cairn {

// What a layer of several tensors says of itself, with the default for everything that it may leave unsaid. `in` is
// the whole value that arrives; what the layer is asked about is the part that it takes.
template <bundle_layer L>
struct described_bundle {
  static constexpr std::size_t takes(const bundle& in) {
    if constexpr (requires { L::takes; }) return L::takes;
    else return in.size();
  }
  static constexpr bundle taken(const bundle& in) { return in.front(takes(in)); }
  static constexpr std::size_t gives(const bundle& in) { return bundle{L::output_shapes(taken(in))}.size(); }

  static constexpr bool accepts(const bundle& in) {
    if (in.size() < takes(in)) return false;
    if constexpr (requires { L::accepts(in); }) return L::accepts(taken(in));
    else return true;
  }
  static constexpr bundle output_shapes(const bundle& in) {
    return in.with_front(takes(in), L::output_shapes(taken(in)));
  }
  static constexpr parameter_list parameters(const bundle& in) {
    if constexpr (requires { L::parameters(in); }) return L::parameters(taken(in));
    else return {};
  }
  static constexpr parameter_list state(const bundle& in) {
    if constexpr (requires { L::state(in); }) return L::state(taken(in));
    else return {};
  }
  static constexpr work flops(const bundle& in) {
    if constexpr (requires { L::flops(in); }) {
      return L::flops(taken(in));
    } else {
      const std::size_t made = bundle{L::output_shapes(taken(in))}.numbers();
      return {made, made, made};
    }
  }
  static constexpr std::size_t tape_bytes(const bundle& in, std::size_t element) {
    if constexpr (requires { L::tape_bytes(in, element); }) return L::tape_bytes(taken(in), element);
    else return 0;
  }
  static constexpr std::size_t workspace_bytes(const bundle& in, std::size_t element) {
    if constexpr (requires { L::workspace_bytes(in, element); })
      return L::workspace_bytes(taken(in), element);
    else return 0;
  }
  static constexpr bool in_place = requires { requires L::in_place; };

  // Which of the taken tensors have a gradient, if these of the given ones have one.
  static constexpr tensor_set uses(const bundle& in, tensor_set outputs) {
    unsigned set = 0;
    for (std::size_t k = 0; k < takes(in); ++k)
      for (std::size_t out = 0; out < gives(in); ++out) {
        bool depends = true;
        if constexpr (requires { L::depends(out, k); }) depends = L::depends(out, k);
        if (depends && has(outputs, out)) set |= 1U << k;
      }
    return static_cast<tensor_set>(set);
  }
};

// Such a layer as a stage of a plan. It neither fuses nor adds, and nothing fuses it.
template <bundle_layer L>
constexpr stage describe_bundle(const bundle& in, std::size_t element) {
  using facts = described_bundle<L>;
  detail::answers a;
  a.outputs = facts::output_shapes(in).numbers();
  a.backward_reads = L::backward_reads;
  a.flops = facts::flops(in);
  a.tape_bytes = facts::tape_bytes(in, element);
  a.workspace_bytes = facts::workspace_bytes(in, element);
  a.parameters = {facts::parameters(in), element};
  a.state = {facts::state(in), element};
  a.in_place = facts::in_place;
  return detail::stage_of(a, element);
}

} // namespace cairn
