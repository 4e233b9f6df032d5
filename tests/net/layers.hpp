// SPDX-License-Identifier: MIT
// Layers that only tests need. They use optional members that few layers have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <cairn/layer/layer.hpp>

namespace testing {

// y = w x, each feature with a weight of its own. It keeps x on a tape of its own and works by way of a workspace in both
// directions, so that a tape or a workspace that overlaps something else is detected.
struct Scale {
  static constexpr cairn::reads backward_reads = cairn::reads::nothing;
  static constexpr cairn::tensor outputs(const cairn::arguments& in) { return in[0]; }
  static constexpr cairn::tensor_list parameters(const cairn::arguments& in) {
    return {{"weight", in[0].extents, cairn::initial::uniform(1)}};
  }
  static constexpr cairn::tensor_list tape(const cairn::arguments& in) { return in[0]; }
  static constexpr cairn::tensor_list workspace(const cairn::arguments& in, cairn::pass) { return {in[0], in[0]}; }

  template <class Queue, class T>
  static void forward(Queue&, const cairn::forward_call<T>& call) {
    const std::size_t each = call.in(0).size();
    const std::size_t count = call.rows * each;
    for (std::size_t i = 0; i < count; ++i)
      call.workspace[0][i] = call.workspace[1][i] = call.inputs[0][i] * call.parameters[0][i % each];
    if (call.tape) std::memcpy(call.tape[0], call.inputs[0], count * sizeof(T));
    for (std::size_t i = 0; i < count; ++i) call.outputs[0][i] = call.workspace[1][i];
  }
  template <class Queue, class T>
  static void backward(Queue&, const cairn::backward_call<T>& call) {
    const std::size_t each = call.in(0).size();
    const std::size_t count = call.rows * each;
    for (std::size_t i = 0; i < count; ++i) {
      call.workspace[0][i] = call.tape[0][i] * call.output_gradients[0][i];
      call.workspace[1][i] = call.parameters[0][i % each] * call.output_gradients[0][i];
    }
    for (std::size_t f = 0; f < each; ++f) {
      T sum = 0;
      for (std::size_t r = 0; r < call.rows; ++r) sum += call.workspace[0][r * each + f];
      call.gradients[0][f] = sum;
    }
    if (!call.input_gradients) return;
    for (std::size_t i = 0; i < count; ++i) call.input_gradients[0][i] = call.workspace[1][i];
  }
};

// y = x. It records what it has seen, as BatchNorm's statistics do: buffer 0 counts the first forwards, buffer 1 sums their
// inputs.
struct Witness {
  static constexpr cairn::reads backward_reads = cairn::reads::nothing;
  static constexpr bool in_place = true;
  static constexpr cairn::tensor outputs(const cairn::arguments& in) { return in[0]; }
  static constexpr cairn::tensor_list buffers(const cairn::arguments& in) { return {{"forwards", {1}}, {"sum", {in[0].size()}}}; }

  template <class Queue, class T>
  static void forward(Queue&, const cairn::forward_call<T>& call) {
    const std::size_t each = call.in(0).size();
    if (call.why == cairn::pass::forward) {
      call.buffers[0][0] += 1;
      for (std::size_t i = 0; i < call.rows * each; ++i) call.buffers[1][i % each] += call.inputs[0][i];
    }
    forward_only(call);
  }
  template <class T>
  static void forward_only(const cairn::forward_call<T>& call) {
    if (call.outputs[0] != call.inputs[0])
      std::memcpy(call.outputs[0], call.inputs[0], call.rows * call.in(0).size() * sizeof(T));
  }
  template <class Queue, class T>
  static void backward(Queue&, const cairn::backward_call<T>& call) {
    if (!call.input_gradients || call.input_gradients[0] == call.output_gradients[0]) return;
    std::memcpy(call.input_gradients[0], call.output_gradients[0], call.rows * call.in(0).size() * sizeof(T));
  }
};

// The table rows that Count tokens name, one after another: (Count, Width) from integers<Count>.
template <std::size_t Vocabulary, std::size_t Width>
struct Lookup {
  static constexpr cairn::reads backward_reads = cairn::reads::input;
  static constexpr bool accepts(const cairn::arguments& in) { return in[0].type == cairn::element::int32; }
  static constexpr cairn::tensor outputs(const cairn::arguments& in) {
    cairn::tensor out = in[0].of(cairn::element::real);
    out.extents.push_back(Width);
    out.has_gradient = true;
    return out;
  }
  static constexpr cairn::tensor_list parameters(const cairn::arguments&) {
    return {{"weight", {Vocabulary, Width}, cairn::initial::normal(1)}};
  }

  template <class Queue, class T>
  static void forward(Queue&, const cairn::forward_call<T>& call) {
    for (std::size_t i = 0; i < call.rows * call.in(0).size(); ++i)
      for (std::size_t f = 0; f < Width; ++f) call.outputs[0][i * Width + f] = call.parameters[0][row(call, i) * Width + f];
  }
  template <class Queue, class T>
  static void backward(Queue&, const cairn::backward_call<T>& call) {
    for (std::size_t i = 0; i < Vocabulary * Width; ++i) call.gradients[0][i] = 0;
    for (std::size_t i = 0; i < call.rows * call.in(0).size(); ++i)
      for (std::size_t f = 0; f < Width; ++f)
        call.gradients[0][row(call, i) * Width + f] += call.output_gradients[0][i * Width + f];
  }

private:
  template <class Call>
  static std::size_t row(const Call& call, std::size_t i) {
    return static_cast<std::size_t>(call.inputs.integers(0)[i]) % Vocabulary;
  }
};

// (x, mean over the samples of x): the second tensor is one for the whole batch. Both have gradients. Its tape has an integer for
// each sample, its index, and a sum for the batch, the number of samples.
struct BatchMean {
  static constexpr cairn::reads backward_reads = cairn::reads::nothing;
  static constexpr cairn::tensor_list outputs(const cairn::arguments& in) { return {in[0], in[0].once()}; }
  static constexpr cairn::tensor_list tape(const cairn::arguments&) {
    return {cairn::tensor({1}).of(cairn::element::int32), cairn::tensor({1}).of(cairn::element::accumulated).once()};
  }

  template <class Queue, class T>
  static void forward(Queue&, const cairn::forward_call<T>& call) {
    const std::size_t each = call.in(0).size();
    for (std::size_t i = 0; i < call.rows * each; ++i) call.outputs[0][i] = call.inputs[0][i];
    for (std::size_t f = 0; f < each; ++f) {
      T sum = 0;
      for (std::size_t r = 0; r < call.rows; ++r) sum += call.inputs[0][r * each + f];
      call.outputs[1][f] = sum / static_cast<T>(call.rows);
    }
    if (!call.tape) return;
    for (std::size_t r = 0; r < call.rows; ++r) call.tape.integers(0)[r] = static_cast<std::int32_t>(r);
    call.tape.sums(1)[0] = static_cast<T>(call.rows);
  }
  template <class Queue, class T>
  static void backward(Queue&, const cairn::backward_call<T>& call) {
    if (!call.input_gradients) return;
    const std::size_t each = call.in(0).size();
    for (std::size_t r = 0; r < call.rows; ++r) {
      const auto sample = static_cast<std::size_t>(call.tape.integers(0)[r]);
      for (std::size_t f = 0; f < each; ++f) {
        T sum = 0;
        if (call.output_gradients[0] != nullptr) sum += call.output_gradients[0][sample * each + f];
        if (call.output_gradients[1] != nullptr) sum += call.output_gradients[1][f] / call.tape.sums(1)[0];
        call.input_gradients[0][sample * each + f] = sum;
      }
    }
  }
};

// y = x - m, where m is one for the whole batch.
struct Centered {
  static constexpr cairn::reads backward_reads = cairn::reads::nothing;
  static constexpr std::size_t takes = 2;
  static constexpr bool accepts(const cairn::arguments& in) {
    return in[0].is_real() && in[1].per_batch && in[0].extents == in[1].extents;
  }
  static constexpr cairn::tensor outputs(const cairn::arguments& in) { return in[0]; }

  template <class Queue, class T>
  static void forward(Queue&, const cairn::forward_call<T>& call) {
    const std::size_t each = call.in(0).size();
    for (std::size_t i = 0; i < call.rows * each; ++i) call.outputs[0][i] = call.inputs[0][i] - call.inputs[1][i % each];
  }
  template <class Queue, class T>
  static void backward(Queue&, const cairn::backward_call<T>& call) {
    const std::size_t each = call.in(0).size();
    for (std::size_t i = 0; call.input_gradients[0] != nullptr && i < call.rows * each; ++i)
      call.input_gradients[0][i] = call.output_gradients[0][i];
    for (std::size_t f = 0; call.input_gradients[1] != nullptr && f < each; ++f) {
      T sum = 0;
      for (std::size_t r = 0; r < call.rows; ++r) sum -= call.output_gradients[0][r * each + f];
      call.input_gradients[1][f] = sum;
    }
  }
};

// y = x + p, where p is a constant of the network, one for the whole batch.
template <std::size_t Constant>
struct Shifted {
  static constexpr cairn::reads backward_reads = cairn::reads::nothing;
  static constexpr bool accepts(const cairn::arguments& in) {
    return in.has_constant(Constant, in[0]) && in.constants()[Constant].per_batch;
  }
  static constexpr cairn::tensor outputs(const cairn::arguments& in) { return in[0]; }

  template <class Queue, class T>
  static void forward(Queue&, const cairn::forward_call<T>& call) {
    const std::size_t each = call.in(0).size();
    for (std::size_t i = 0; i < call.rows * each; ++i)
      call.outputs[0][i] = call.inputs[0][i] + call.constants[Constant][i % each];
  }
  template <class Queue, class T>
  static void backward(Queue&, const cairn::backward_call<T>& call) {
    for (std::size_t i = 0; call.input_gradients && i < call.rows * call.in(0).size(); ++i)
      call.input_gradients[0][i] = call.output_gradients[0][i];
  }
};

// (y, tokens) with y = x where a token is even and 0 elsewhere: it reads integers that come beside the value and passes them on.
struct WhereEven {
  static constexpr cairn::reads backward_reads = cairn::reads::input;
  static constexpr std::size_t takes = 2;
  static constexpr bool accepts(const cairn::arguments& in) {
    return in[0].is_real() && in[1].type == cairn::element::int32 && in[0].size() % in[1].size() == 0;
  }
  static constexpr cairn::tensor_list outputs(const cairn::arguments& in) { return {in[0], in[1]}; }

  template <class Queue, class T>
  static void forward(Queue&, const cairn::forward_call<T>& call) {
    each_even(call, call.outputs[0], call.inputs[0]);
    std::memcpy(call.outputs.integers(1), call.inputs.integers(1), call.rows * call.in(1).size() * sizeof(std::int32_t));
  }
  template <class Queue, class T>
  static void backward(Queue&, const cairn::backward_call<T>& call) {
    if (call.input_gradients[0] != nullptr) each_even(call, call.input_gradients[0], call.output_gradients[0]);
  }

private:
  template <class Call, class T>
  static void each_even(const Call& call, T* to, const T* from) {
    const std::size_t width = call.in(0).size() / call.in(1).size();
    for (std::size_t i = 0; i < call.rows * call.in(0).size(); ++i)
      to[i] = call.inputs.integers(1)[i / width] % 2 == 0 ? from[i] : T{0};
  }
};

} // namespace testing
