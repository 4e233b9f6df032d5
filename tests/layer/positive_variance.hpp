// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <cairn/layer/layer.hpp>

// Wraps a layer that takes a map and its statistics for gradient_check.hpp, whose numbers have either sign: v^2 + 1/4 takes the
// place of the variance v.
template <class L>
struct of_positive_variance : L {
  static constexpr cairn::tensor_list workspace(const cairn::arguments& in, cairn::pass why) {
    cairn::tensor_list all = L::workspace(in, why);
    all.push_back(in[1]);
    return all;
  }
  template <class Queue, class T>
  static void forward(Queue& queue, cairn::forward_call<T> call) {
    const places at = prepare<T>(call);
    call.inputs.offsets = at.data();
    L::forward(queue, call);
  }
  template <class Queue, class T>
  static void backward(Queue& queue, cairn::backward_call<T> call) {
    const auto* const given = call.inputs.sums(1);
    const places at = prepare<T>(call);
    call.inputs.offsets = at.data();
    L::backward(queue, call);
    if (auto* const gradient = call.input_gradients.sums(1); gradient != nullptr)
      for (std::size_t k = 1; k < call.in(1).size(); k += 2) gradient[k] *= 2 * given[k];
  }

private:
  using places = std::array<std::size_t, 2>;
  template <class T, class Call>
  static places prepare(const Call& call) {
    const std::size_t last = L::workspace(*call.given, call_pass(call)).count;
    auto* const own = call.workspace.sums(last);
    const auto* const from = call.inputs.sums(1);
    for (std::size_t k = 0; k < call.in(1).size(); ++k) own[k] = k % 2 == 0 ? from[k] : from[k] * from[k] + T{0.25};
    return {call.inputs.offsets[0], reinterpret_cast<std::uintptr_t>(own) - reinterpret_cast<std::uintptr_t>(call.inputs.block)};
  }
  template <class T>
  static cairn::pass call_pass(const cairn::forward_call<T>& call) {
    return call.why;
  }
  template <class T>
  static cairn::pass call_pass(const cairn::backward_call<T>&) {
    return cairn::pass::backward;
  }
};
