// SPDX-License-Identifier: MIT
// Layers of several tensors, and layers that read constants, as a user writes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <cairn/core/accumulated.hpp>
#include <cairn/layer/layer.hpp>
#include <cairn/ops/embedding/embedding.hpp>

namespace testing {

// y = m x, where m is a constant of the network: 0 where an element is padding.
template <std::size_t Constant = 0>
struct Masked {
  static constexpr cairn::reads backward_reads = cairn::reads::nothing;
  static constexpr bool in_place = true;
  static constexpr bool accepts(const cairn::arguments& in) { return in.has_constant(Constant, in[0]); }
  static constexpr cairn::tensor outputs(const cairn::arguments& in) { return in[0]; }

  template <class Queue, class T>
  static void forward(Queue&, const cairn::forward_call<T>& call) {
    multiply(call, call.outputs[0], call.inputs[0]);
  }
  template <class Queue, class T>
  static void backward(Queue&, const cairn::backward_call<T>& call) {
    if (call.input_gradients[0] != nullptr) multiply(call, call.input_gradients[0], call.output_gradients[0]);
  }

private:
  template <class Call, class T>
  static void multiply(const Call& call, T* to, const T* from) {
    const std::size_t count = call.rows * call.in(0).size();
    for (std::size_t i = 0; i < count; ++i) to[i] = call.constants[Constant][i] * from[i];
  }
};

// y = x + p, where p is a constant of the network that encodes positions.
template <std::size_t Constant>
struct Positioned {
  static constexpr cairn::reads backward_reads = cairn::reads::nothing;
  static constexpr bool accepts(const cairn::arguments& in) { return in.has_constant(Constant, in[0]); }
  static constexpr cairn::tensor outputs(const cairn::arguments& in) { return in[0]; }

  template <class Queue, class T>
  static void forward(Queue&, const cairn::forward_call<T>& call) {
    const std::size_t count = call.rows * call.in(0).size();
    for (std::size_t i = 0; i < count; ++i) call.outputs[0][i] = call.inputs[0][i] + call.constants[Constant][i];
  }
  template <class Queue, class T>
  static void backward(Queue&, const cairn::backward_call<T>& call) {
    const std::size_t count = call.rows * call.in(0).size();
    if (call.input_gradients[0] == nullptr) return;
    for (std::size_t i = 0; i < count; ++i) call.input_gradients[0][i] = call.output_gradients[0][i];
  }
};

// y = n x, where n is a constant of integers: one for each element of x, or one for all of them, of each sample or of the batch.
template <std::size_t Constant = 0>
struct Times {
  static constexpr cairn::reads backward_reads = cairn::reads::nothing;
  static constexpr bool in_place = true;
  static constexpr bool accepts(const cairn::arguments& in) {
    if (Constant >= in.constants().size()) return false;
    const cairn::tensor& n = in.constants()[Constant];
    return n.type == cairn::element::int32 && (n.size() == 1 || n.extents == in[0].extents);
  }
  static constexpr cairn::tensor outputs(const cairn::arguments& in) { return in[0]; }

  template <class Queue, class T>
  static void forward(Queue&, const cairn::forward_call<T>& call) {
    multiply(call, call.outputs[0], call.inputs[0]);
  }
  template <class Queue, class T>
  static void backward(Queue&, const cairn::backward_call<T>& call) {
    if (call.input_gradients[0] != nullptr) multiply(call, call.input_gradients[0], call.output_gradients[0]);
  }

private:
  template <class Call, class T>
  static void multiply(const Call& call, T* to, const T* from) {
    using sum = cairn::accumulated<T>;
    const cairn::tensor& n = call.given->constants()[Constant];
    const std::size_t each = call.in(0).size();
    for (std::size_t r = 0; r < call.rows; ++r)
      for (std::size_t i = 0; i < each; ++i) {
        const std::size_t at = (n.per_batch ? 0 : r * n.size()) + (n.size() == 1 ? 0 : i);
        const auto factor = static_cast<sum>(call.constants.integers(Constant)[at]);
        to[r * each + i] = static_cast<T>(factor * static_cast<sum>(from[r * each + i]));
      }
  }
};

// The rows of each sample (rows, width) that a constant of integers names, of the sample or of the batch. By ops alone, so that
// it runs on every device.
template <std::size_t Constant = 0>
struct Gathered {
  static constexpr cairn::reads backward_reads = cairn::reads::nothing;
  static constexpr bool accepts(const cairn::arguments& in) {
    return Constant < in.constants().size() && in.constants()[Constant].type == cairn::element::int32 && in[0].rank() == 2;
  }
  static constexpr cairn::tensor outputs(const cairn::arguments& in) {
    cairn::shape out = in.constants()[Constant].extents;
    out.push_back(in[0].last());
    return out;
  }

  template <class Queue, class T>
  static void forward(Queue& on, const cairn::forward_call<T>& call) {
    using cairn::ops::embedding_forward; // a device's own is in its namespace
    for (std::size_t r = 0; r < call.rows; ++r)
      embedding_forward(on, count(call), call.in(0)[0], call.in(0)[1], call.outputs[0] + r * made(call),
                        call.inputs[0] + r * call.in(0).size(), named(call, r));
  }
  template <class Queue, class T>
    requires std::is_same_v<cairn::accumulated<T>, T>
  static void backward(Queue& on, const cairn::backward_call<T>& call) {
    using cairn::ops::embedding_backward;
    for (std::size_t r = 0; call.input_gradients && r < call.rows; ++r)
      embedding_backward(on, count(call), call.in(0)[0], call.in(0)[1], call.input_gradients[0] + r * call.in(0).size(),
                         call.output_gradients[0] + r * made(call), named(call, r));
  }

private:
  template <class Call>
  static std::size_t count(const Call& call) {
    return call.given->constants()[Constant].size();
  }
  template <class Call>
  static std::size_t made(const Call& call) {
    return count(call) * call.in(0)[1];
  }
  template <class Call>
  static const std::int32_t* named(const Call& call, std::size_t r) {
    return call.constants.integers(Constant) + (call.given->constants()[Constant].per_batch ? 0 : r * count(call));
  }
};

// How often a layer's backward found the gradient of each output used, and how often unused.
struct gradients_seen {
  int used[2] = {};
  int unused[2] = {};
};
inline thread_local gradients_seen split_seen;

// (value, gate) = (u x, v x), feature by feature, with parameters u and v.
struct Split {
  static constexpr cairn::reads backward_reads = cairn::reads::input;
  static constexpr cairn::tensor_list outputs(const cairn::arguments& in) { return {in[0], in[0]}; }
  static constexpr cairn::tensor_list parameters(const cairn::arguments& in) {
    return {{"u", in[0].extents, cairn::initial::uniform(1)}, {"v", in[0].extents, cairn::initial::uniform(1)}};
  }

  template <class Queue, class T>
  static void forward(Queue&, const cairn::forward_call<T>& call) {
    const std::size_t each = call.in(0).size();
    for (std::size_t k = 0; k < 2; ++k)
      for (std::size_t i = 0; i < call.rows * each; ++i) call.outputs[k][i] = call.parameters[k][i % each] * call.inputs[0][i];
  }
  template <class Queue, class T>
  static void backward(Queue&, const cairn::backward_call<T>& call) {
    const std::size_t each = call.in(0).size();
    for (std::size_t k = 0; k < 2; ++k) {
      ++(call.output_gradients[k] != nullptr ? split_seen.used : split_seen.unused)[k];
      for (std::size_t f = 0; f < each; ++f) {
        T sum = 0;
        for (std::size_t r = 0; r < call.rows && call.output_gradients[k] != nullptr; ++r)
          sum += call.output_gradients[k][r * each + f] * call.inputs[0][r * each + f];
        call.gradients[k][f] = sum;
      }
    }
    if (call.input_gradients[0] == nullptr) return;
    for (std::size_t i = 0; i < call.rows * each; ++i) {
      T sum = 0;
      for (std::size_t k = 0; k < 2; ++k)
        if (call.output_gradients[k] != nullptr) sum += call.output_gradients[k][i] * call.parameters[k][i % each];
      call.input_gradients[0][i] = sum;
    }
  }
};

// y = value gate.
struct GatedPair {
  static constexpr cairn::reads backward_reads = cairn::reads::input;
  static constexpr std::size_t takes = 2;
  static constexpr bool accepts(const cairn::arguments& in) { return in[0] == in[1]; }
  static constexpr cairn::tensor outputs(const cairn::arguments& in) { return in[0]; }

  template <class Queue, class T>
  static void forward(Queue&, const cairn::forward_call<T>& call) {
    const std::size_t count = call.rows * call.in(0).size();
    for (std::size_t i = 0; i < count; ++i) call.outputs[0][i] = call.inputs[0][i] * call.inputs[1][i];
  }
  template <class Queue, class T>
  static void backward(Queue&, const cairn::backward_call<T>& call) {
    const std::size_t count = call.rows * call.in(0).size();
    for (std::size_t k = 0; k < 2; ++k)
      if (call.input_gradients[k] != nullptr)
        for (std::size_t i = 0; i < count; ++i) call.input_gradients[k][i] = call.output_gradients[0][i] * call.inputs[1 - k][i];
  }
};

// (b, a) = (a, b): every tensor moves to another place.
struct Swap {
  static constexpr cairn::reads backward_reads = cairn::reads::nothing;
  static constexpr std::size_t takes = 2;
  static constexpr cairn::tensor_list outputs(const cairn::arguments& in) { return {in[1], in[0]}; }
  static constexpr bool depends(std::size_t output, std::size_t input) { return output != input; }

  template <class Queue, class T>
  static void forward(Queue&, const cairn::forward_call<T>& call) {
    for (std::size_t k = 0; k < 2; ++k)
      for (std::size_t i = 0; i < call.rows * call.in(k).size(); ++i) call.outputs[1 - k][i] = call.inputs[k][i];
  }
  template <class Queue, class T>
  static void backward(Queue&, const cairn::backward_call<T>& call) {
    for (std::size_t k = 0; k < 2; ++k)
      for (std::size_t i = 0; call.input_gradients[k] != nullptr && i < call.rows * call.in(k).size(); ++i)
        call.input_gradients[k][i] = call.output_gradients[1 - k][i];
  }
};

// y = a of (a, b); b is unused.
struct First {
  static constexpr cairn::reads backward_reads = cairn::reads::nothing;
  static constexpr std::size_t takes = 2;
  static constexpr cairn::tensor outputs(const cairn::arguments& in) { return in[0]; }
  static constexpr bool depends(std::size_t, std::size_t input) { return input == 0; }

  template <class Queue, class T>
  static void forward(Queue&, const cairn::forward_call<T>& call) {
    const std::size_t count = call.rows * call.in(0).size();
    for (std::size_t i = 0; i < count; ++i) call.outputs[0][i] = call.inputs[0][i];
  }
  template <class Queue, class T>
  static void backward(Queue&, const cairn::backward_call<T>& call) {
    const std::size_t count = call.rows * call.in(0).size();
    for (std::size_t i = 0; call.input_gradients[0] != nullptr && i < count; ++i)
      call.input_gradients[0][i] = call.output_gradients[0][i];
  }
};

// (a + b, b c, w c), feature by feature, with a parameter w, in place. It keeps b and c on a tape of its own and works by way of
// a workspace, so that tensors that overlap are detected.
struct Mix {
  static constexpr cairn::reads backward_reads = cairn::reads::nothing;
  static constexpr bool in_place = true;
  static constexpr std::size_t takes = 3;
  static constexpr bool accepts(const cairn::arguments& in) { return in[0] == in[1] && in[1] == in[2]; }
  static constexpr cairn::tensor_list outputs(const cairn::arguments& in) { return {in[0], in[1], in[2]}; }
  static constexpr bool depends(std::size_t output, std::size_t input) { return output == input || output + 1 == input; }
  static constexpr cairn::tensor_list parameters(const cairn::arguments& in) {
    return {{"weight", in[2].extents, cairn::initial::uniform(1)}};
  }
  static constexpr cairn::tensor_list tape(const cairn::arguments& in) { return {in[1], in[2]}; }
  static constexpr cairn::tensor_list workspace(const cairn::arguments& in, cairn::pass) { return {in[0], in[1], in[2]}; }

  template <class Queue, class T>
  static void forward(Queue&, const cairn::forward_call<T>& call) {
    const std::size_t each = call.in(0).size();
    const std::size_t count = call.rows * each;
    for (std::size_t i = 0; i < count; ++i) {
      const T b = call.inputs[1][i], c = call.inputs[2][i];
      call.workspace[0][i] = call.inputs[0][i] + b;
      call.workspace[1][i] = b * c;
      call.workspace[2][i] = call.parameters[0][i % each] * c;
      if (call.tape) call.tape[0][i] = b, call.tape[1][i] = c;
    }
    for (std::size_t k = 0; k < 3; ++k)
      for (std::size_t i = 0; i < count; ++i) call.outputs[k][i] = call.workspace[k][i];
  }
  template <class Queue, class T>
  static void backward(Queue&, const cairn::backward_call<T>& call) {
    const std::size_t each = call.in(0).size();
    const std::size_t count = call.rows * each;
    const T* const b = call.tape[0];
    const T* const c = call.tape[1];
    const auto gradient = [&](std::size_t k, std::size_t i) {
      return call.output_gradients[k] != nullptr ? call.output_gradients[k][i] : T{0};
    };
    for (std::size_t f = 0; f < each; ++f) {
      T sum = 0;
      for (std::size_t i = f; i < count; i += each) sum += gradient(2, i) * c[i];
      call.gradients[0][f] = sum;
    }
    for (std::size_t i = 0; i < count; ++i) {
      call.workspace[0][i] = gradient(0, i);
      call.workspace[1][i] = gradient(0, i) + gradient(1, i) * c[i];
      call.workspace[2][i] = gradient(1, i) * b[i] + gradient(2, i) * call.parameters[0][i % each];
    }
    for (std::size_t k = 0; k < 3; ++k)
      for (std::size_t i = 0; call.input_gradients[k] != nullptr && i < count; ++i)
        call.input_gradients[k][i] = call.workspace[k][i];
  }
};

} // namespace testing
