// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/tensor.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/layer/describe.hpp>
#include <cairn/layer/layer.hpp>
#include <cairn/ops/cpu.hpp>

namespace cairn::detail {

// A layer as a value, with the defaults of what it leaves out. So the checker is the same code for every layer and is
// compiled once.
template <class T>
struct layer_functions {
  std::size_t takes = 1;
  reads backward_reads = reads::nothing;
  bool skips_gradients = false;
  void (*describe)(const value_list&, const tensor_list&, const scale&, description&, element_facts*) = nullptr;
  tensor_list (*outputs)(const arguments&) = nullptr;
  tensor_list (*parameters)(const arguments&) = nullptr;
  tensor_list (*buffers)(const arguments&) = nullptr;
  tensor_list (*tape)(const arguments&) = nullptr;
  tensor_list (*workspace)(const arguments&, pass) = nullptr;
  void (*forward)(cpu::queue&, const forward_call<T>&) = nullptr;
  void (*backward)(cpu::queue&, const backward_call<T>&) = nullptr;
};

template <layer L, class T>
constexpr layer_functions<T> functions_of() {
  return {.takes = taken_by<L>, .backward_reads = L::backward_reads, .skips_gradients = requires {requires L::skips_gradients;
}
, .describe = &describe<L>, .outputs = [](const arguments& in) { return tensor_list(L::outputs(in)); },
    .parameters = [](const arguments& in) -> tensor_list {
      if constexpr (requires { L::parameters(in); }) return L::parameters(in);
      else return {};
    },
    .buffers = [](const arguments& in) -> tensor_list {
      if constexpr (requires { L::buffers(in); }) return L::buffers(in);
      else return {};
    },
    .tape = [](const arguments& in) -> tensor_list {
      if constexpr (requires { L::tape(in); }) return L::tape(in);
      else return {};
    },
    .workspace = [](const arguments& in, pass why) -> tensor_list {
      if constexpr (requires { L::workspace(in, why); }) return L::workspace(in, why);
      else return {};
    },
    .forward = [](cpu::queue& queue, const forward_call<T>& call) { L::forward(queue, call); },
    .backward = [](cpu::queue& queue, const backward_call<T>& call) { L::backward(queue, call); }
}; // namespace cairn::detail
}

} // namespace cairn::detail
