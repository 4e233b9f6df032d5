// SPDX-License-Identifier: MIT
// Layers that only tests need: they use what a layer may have and few layers do.
#pragma once

#include <cstddef>
#include <cstring>

#include <cairn/layer/layer.hpp>

namespace testing {

// y = w x, each feature with a weight of its own. It keeps x on a tape of its own and works by way of a workspace in both
// directions, so that a tape or a workspace that lies on something else is seen.
struct Scale {
  static constexpr cairn::reads backward_reads = cairn::reads::nothing;
  static constexpr cairn::shape output_shape(const cairn::shape& in) { return in; }
  static constexpr cairn::parameter_list parameters(const cairn::shape& in) {
    return {{"weight", in, cairn::initial::uniform, 1}};
  }
  static constexpr std::size_t tape_bytes(const cairn::shape& in, std::size_t element) {
    return in.size() * element;
  }
  static constexpr std::size_t workspace_bytes(const cairn::shape& in, std::size_t element) {
    return 2 * in.size() * element;
  }

  template <class Queue, class T>
  static void forward(Queue&, const cairn::forward_call<T>& call) {
    const std::size_t each = call.input_shape->size();
    const std::size_t count = call.rows * each;
    T* const work = reinterpret_cast<T*>(call.workspace);
    for (std::size_t i = 0; i < count; ++i)
      work[i] = work[count + i] = call.input[i] * call.parameters[0][i % each];
    if (call.tape != nullptr) std::memcpy(call.tape, call.input, count * sizeof(T));
    for (std::size_t i = 0; i < count; ++i) call.output[i] = work[count + i];
  }
  template <class Queue, class T>
  static void backward(Queue&, const cairn::backward_call<T>& call) {
    const std::size_t each = call.input_shape->size();
    const std::size_t count = call.rows * each;
    const T* const x = reinterpret_cast<const T*>(call.tape);
    T* const work = reinterpret_cast<T*>(call.workspace);
    for (std::size_t i = 0; i < count; ++i) {
      work[i] = x[i] * call.output_gradient[i];
      work[count + i] = call.parameters[0][i % each] * call.output_gradient[i];
    }
    for (std::size_t f = 0; f < each; ++f) {
      T sum = 0;
      for (std::size_t r = 0; r < call.rows; ++r) sum += work[r * each + f];
      call.gradients[0][f] = sum;
    }
    if (call.input_gradient == nullptr) return;
    for (std::size_t i = 0; i < count; ++i) call.input_gradient[i] = work[count + i];
  }
};

// y = x; it remembers what it has seen, as BatchNorm's statistics do: state 0 counts the first forwards, state 1 is the sum of
// the inputs of them.
struct Witness {
  static constexpr cairn::reads backward_reads = cairn::reads::nothing;
  static constexpr bool in_place = true;
  static constexpr cairn::shape output_shape(const cairn::shape& in) { return in; }
  static constexpr cairn::parameter_list state(const cairn::shape& in) {
    return {{"forwards", {1}}, {"sum", {in.size()}}};
  }

  template <class Queue, class T>
  static void forward(Queue&, const cairn::forward_call<T>& call) {
    const std::size_t each = call.input_shape->size();
    if (call.why == cairn::pass::forward) {
      call.state[0][0] += 1;
      for (std::size_t i = 0; i < call.rows * each; ++i) call.state[1][i % each] += call.input[i];
    }
    if (call.output != call.input) std::memcpy(call.output, call.input, call.rows * each * sizeof(T));
  }
  template <class Queue, class T>
  static void backward(Queue&, const cairn::backward_call<T>& call) {
    if (call.input_gradient == nullptr || call.input_gradient == call.output_gradient) return;
    std::memcpy(call.input_gradient, call.output_gradient, call.rows * call.input_shape->size() * sizeof(T));
  }
};

} // namespace testing
