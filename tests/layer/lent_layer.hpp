// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <vector>

#include <cairn/core/random.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/layer/describe.hpp>
#include <cairn/layer/layer.hpp>
#include <cairn/ops/cpu.hpp>

// `size` numbers of T with a guard behind them that nobody may write.
template <class T>
class guarded {
public:
  explicit guarded(std::size_t size, T fill = std::numeric_limits<T>::quiet_NaN())
      : size_(size), block_((size + guard) * sizeof(T)) {
    for (std::size_t i = 0; i < size; ++i) data()[i] = fill;
    std::memset(block_.data() + size * sizeof(T), 0x5A, guard * sizeof(T));
  }
  guarded(const std::vector<T>& numbers) : guarded(numbers.size()) {
    for (std::size_t i = 0; i < size_; ++i) data()[i] = numbers[i];
  }

  T* data() const { return reinterpret_cast<T*>(block_.data()); }
  std::size_t size() const { return size_; }
  std::vector<T> numbers() const { return {data(), data() + size_}; }
  bool intact() const {
    for (std::size_t i = size_ * sizeof(T); i < (size_ + guard) * sizeof(T); ++i)
      if (block_.data()[i] != std::byte{0x5A}) return false;
    return true;
  }

private:
  static constexpr std::size_t guard = 16;

  std::size_t size_;
  cairn::cpu::memory block_;
};

// True if both have the same bits, so that two NaNs are equal and 0 differs from -0.
template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

// Numbers of either sign, 0.1 … 1 in size: far enough from a kink at 0 for a difference quotient.
template <class T>
std::vector<T> some_numbers(std::size_t count, std::uint32_t stream) {
  std::vector<T> result(count);
  for (std::size_t i = 0; i < count; ++i) {
    const double u = 2 * cairn::random_uniform<double>({.seed = 7, .step = 0, .position = stream}, i) - 1;
    result[i] = static_cast<T>(std::copysign(0.1 + 0.9 * std::fabs(u), u));
  }
  return result;
}

// What a call may ask for besides the plain function.
template <class T>
struct asked {
  cairn::pass why = cairn::pass::forward;
  bool in_place = false;
  bool wants_input_gradient = true;
  bool wants_tape = true;
  cairn::activation activation = cairn::activation::none; // `then` or `before`
  const std::vector<T>* addend = nullptr;
};

// One layer with everything that it is lent, for inputs of one shape and a number of rows.
template <cairn::layer L, class T>
class lent_layer {
  using facts = cairn::described<L>;

public:
  lent_layer(const cairn::shape& in, std::size_t rows, std::size_t threads = 1)
      : in_(in), out_(L::output_shape(in)), rows_(rows), device_({.threads = threads}),
        list_(facts::parameters(in)), layout_(list_, sizeof(T)), state_layout_(facts::state(in), sizeof(T)),
        parameters(layout_.size, T{0}), gradients(layout_.size), state(state_layout_.size, T{0}),
        tape(cairn::describe<L>(in, sizeof(T)).tape.per_sample * rows / sizeof(T)),
        workspace(cairn::describe<L>(in, sizeof(T)).forward_workspace.per_sample * rows / sizeof(T)) {
    for (std::size_t k = 0; k < list_.count; ++k) {
      const auto numbers = some_numbers<T>(size(k), static_cast<std::uint32_t>(100 + k));
      std::copy(numbers.begin(), numbers.end(), parameter(k));
    }
  }

  std::size_t inputs() const { return rows_ * in_.size(); }
  std::size_t outputs() const { return rows_ * out_.size(); }
  std::size_t count() const { return list_.count; }
  std::size_t size(std::size_t k) const { return list_.items[k].extents.size(); }
  T* parameter(std::size_t k) const { return parameters.data() + layout_.offsets[k]; }
  const T* gradient(std::size_t k) const { return gradients.data() + layout_.offsets[k]; }

  std::vector<T> forward(const std::vector<T>& input, const asked<T>& what = {}) {
    const guarded<T> in(input);
    const guarded<T> out(outputs());
    const guarded<T>& result = what.in_place ? in : out;
    cairn::forward_call<T> call;
    call.rows = rows_;
    call.input_shape = &in_;
    call.input = in.data();
    call.output = result.data();
    call.parameters = {parameters.data(), layout_.offsets.data()};
    call.state = {state.data(), state_layout_.offsets.data()};
    call.tape = what.wants_tape && tape.size() != 0 ? reinterpret_cast<std::byte*>(tape.data()) : nullptr;
    call.workspace = reinterpret_cast<std::byte*>(workspace.data());
    call.why = what.why;
    call.random = random;
    call.then = what.activation;
    call.addend = what.addend == nullptr ? nullptr : what.addend->data();
    L::forward(device_.compute(), call);
    intact = intact && in.intact() && out.intact() && tape.intact() && workspace.intact();
    return result.numbers();
  }

  // Writes the parameters' gradients over `gradients` and gives the input gradient.
  std::vector<T> backward(const std::vector<T>& input, const std::vector<T>& output,
                          const std::vector<T>& output_gradient, const asked<T>& what = {}) {
    constexpr auto read = static_cast<unsigned>(L::backward_reads);
    const guarded<T> gradient(output_gradient);
    const guarded<T> own(inputs());
    const guarded<T>& result = what.in_place ? gradient : own;
    cairn::backward_call<T> call;
    call.rows = rows_;
    call.input_shape = &in_;
    call.input = (read & 1U) != 0 ? input.data() : nullptr;
    call.output = (read & 2U) != 0 ? output.data() : nullptr;
    call.output_gradient = gradient.data();
    call.input_gradient = what.wants_input_gradient ? result.data() : nullptr;
    call.parameters = {parameters.data(), layout_.offsets.data()};
    call.gradients = {gradients.data(), layout_.offsets.data()};
    call.tape = tape.size() != 0 ? reinterpret_cast<const std::byte*>(tape.data()) : nullptr;
    call.workspace = reinterpret_cast<std::byte*>(workspace.data());
    call.random = random;
    call.before = what.activation;
    call.addend = what.addend == nullptr ? nullptr : what.addend->data();
    L::backward(device_.compute(), call);
    unchanged = same_bits(gradient.numbers(), output_gradient);
    intact = intact && gradient.intact() && own.intact() && gradients.intact() && workspace.intact();
    return result.numbers();
  }

private:
  cairn::shape in_;
  cairn::shape out_;
  std::size_t rows_;
  cairn::cpu device_;
  cairn::parameter_list list_;
  cairn::block_layout layout_;
  cairn::block_layout state_layout_;

public:
  cairn::random_key random{.seed = 3, .step = 1, .position = 2};
  guarded<T> parameters;
  guarded<T> gradients;
  guarded<T> state;
  guarded<T> tape;
  guarded<T> workspace;
  bool intact = true;    // nobody has written behind a buffer
  bool unchanged = true; // the last backward left the output gradient as it was
};
