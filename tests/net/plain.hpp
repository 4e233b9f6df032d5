// SPDX-License-Identifier: MIT
// The oracle of the executor: runs the layers of a network one after another, each with memory of its own, keeps
// everything, and takes the gradients. No plan, no schedule, no arena, nothing in place, nothing fused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include <cairn/device/cpu.hpp>
#include <cairn/layer/describe.hpp>
#include <cairn/net/checkpoint.hpp>
#include <cairn/net/repeat.hpp>
#include <cairn/net/residual.hpp>
#include <cairn/net/sequential.hpp>

namespace plain {

// Memory of exactly this size, aligned as layers expect it. Every byte starts as 0xFF, which makes NaNs.
template <class T>
class buffer {
public:
  buffer() = default;
  explicit buffer(std::size_t count) : memory_(count * sizeof(T)), size_(count) {
    if (count > 0) std::memset(memory_.data(), 0xFF, count * sizeof(T));
  }
  T* data() const { return reinterpret_cast<T*>(memory_.data()); }
  std::size_t size() const { return size_; }
  T& operator[](std::size_t i) const { return data()[i]; }

private:
  cairn::cpu::memory memory_;
  std::size_t size_ = 0;
};

// What all layers of one step have in common.
struct walk {
  cairn::cpu::queue& queue;
  std::size_t rows = 0;
  cairn::pass why = cairn::pass::forward;
  cairn::random_key random{}; // its position is that of the first layer
};

// One layer with its parameters, gradients and state.
template <class T>
struct leaf {
  std::uint32_t index = 0; // among all layers, in the order of the forward pass
  cairn::parameter_list parameter_list{}, state_list{};
  std::vector<std::size_t> parameter_offsets, state_offsets;
  buffer<T> parameters, gradients, state;

  static std::size_t lay_out(const cairn::parameter_list& list, std::vector<std::size_t>& offsets) {
    std::size_t end = 0;
    for (const cairn::parameter& p : list) {
      offsets.push_back(end);
      end += (p.extents.size() + 15) / 16 * 16; // 64 bytes are at most 16 numbers
    }
    return end;
  }
};

// A piece of a network: forward keeps what backward needs.
template <class T>
struct part {
  virtual ~part() = default;
  virtual buffer<T> forward(const walk& w, const buffer<T>& input) = 0;
  virtual buffer<T> backward(const walk& w, const buffer<T>& output_gradient) = 0;
};
template <class T>
using piece = std::unique_ptr<part<T>>;

template <class T>
buffer<T> copy_of(const buffer<T>& from) {
  buffer<T> to(from.size());
  if (from.size() > 0) std::memcpy(to.data(), from.data(), from.size() * sizeof(T));
  return to;
}

template <class L, class T>
struct one_layer : part<T>, leaf<T> {
  using facts = cairn::described<L>;
  using bytes = buffer<std::byte>;
  cairn::shape input_shape;
  buffer<T> input, output;
  bytes tape;

  explicit one_layer(const cairn::shape& in) : input_shape(in) {
    this->parameter_list = facts::parameters(in);
    this->state_list = facts::state(in);
    this->parameters = buffer<T>(this->lay_out(this->parameter_list, this->parameter_offsets));
    this->gradients = buffer<T>(this->parameters.size());
    this->state = buffer<T>(this->lay_out(this->state_list, this->state_offsets));
    for (std::size_t i = 0; i < this->state.size(); ++i) this->state[i] = 0;
  }
  cairn::random_key random(const walk& w) const {
    return {w.random.seed, w.random.step, w.random.position + this->index};
  }
  static constexpr bool reads(cairn::reads what) {
    return (static_cast<unsigned>(L::backward_reads) & static_cast<unsigned>(what)) != 0;
  }

  buffer<T> forward(const walk& w, const buffer<T>& in) override {
    input = copy_of(in);
    output = buffer<T>(w.rows * L::output_shape(input_shape).size());
    tape = bytes(w.rows * facts::tape_bytes(input_shape, sizeof(T)));
    const bytes workspace(w.rows * facts::workspace_bytes(input_shape, sizeof(T)));
    cairn::forward_call<T> call;
    call.rows = w.rows;
    call.input_shape = &input_shape;
    call.input = input.data();
    call.output = output.data();
    call.parameters = {this->parameters.data(), this->parameter_offsets.data()};
    call.state = {this->state.data(), this->state_offsets.data()};
    call.tape = w.why == cairn::pass::evaluate ? nullptr : tape.data();
    call.workspace = workspace.data();
    call.why = w.why;
    call.random = random(w);
    L::forward(w.queue, call);
    return copy_of(output);
  }

  buffer<T> backward(const walk& w, const buffer<T>& output_gradient) override {
    buffer<T> input_gradient(input.size());
    const bytes workspace(w.rows * facts::workspace_bytes(input_shape, sizeof(T)));
    cairn::backward_call<T> call;
    call.rows = w.rows;
    call.input_shape = &input_shape;
    call.input = reads(cairn::reads::input) ? input.data() : nullptr;
    call.output = reads(cairn::reads::output) ? output.data() : nullptr;
    call.output_gradient = output_gradient.data();
    call.input_gradient = input_gradient.data();
    call.parameters = {this->parameters.data(), this->parameter_offsets.data()};
    call.gradients = {this->gradients.data(), this->parameter_offsets.data()};
    call.tape = tape.data();
    call.workspace = workspace.data();
    call.random = random(w);
    L::backward(w.queue, call);
    return input_gradient;
  }
};

template <class T>
struct one_after_another : part<T> {
  std::vector<piece<T>> parts;

  buffer<T> forward(const walk& w, const buffer<T>& input) override {
    buffer<T> now = copy_of(input);
    for (const piece<T>& p : parts) now = p->forward(w, now);
    return now;
  }
  buffer<T> backward(const walk& w, const buffer<T>& output_gradient) override {
    buffer<T> now = copy_of(output_gradient);
    for (std::size_t i = parts.size(); i-- > 0;) now = parts[i]->backward(w, now);
    return now;
  }
};

template <class T>
struct with_input_added : part<T> {
  piece<T> inside;

  static buffer<T> sum(const buffer<T>& a, const buffer<T>& b) {
    buffer<T> out(a.size());
    for (std::size_t i = 0; i < a.size(); ++i) out[i] = a[i] + b[i];
    return out;
  }
  buffer<T> forward(const walk& w, const buffer<T>& input) override {
    return sum(inside->forward(w, input), input);
  }
  buffer<T> backward(const walk& w, const buffer<T>& output_gradient) override {
    return sum(inside->backward(w, output_gradient), output_gradient);
  }
};

// From the type to the pieces; `now` is the shape at which the network has arrived.
template <class T>
struct maker {
  cairn::shape now;
  std::vector<leaf<T>*> leaves{};

  template <class... Parts>
  piece<T> make(cairn::Sequential<Parts...>*) {
    auto out = std::make_unique<one_after_another<T>>();
    (out->parts.push_back(make(static_cast<Parts*>(nullptr))), ...);
    return out;
  }
  template <std::size_t N, class Block>
  piece<T> make(cairn::Repeat<N, Block>*) {
    auto out = std::make_unique<one_after_another<T>>();
    for (std::size_t i = 0; i < N; ++i) out->parts.push_back(make(static_cast<Block*>(nullptr)));
    return out;
  }
  template <class... Parts>
  piece<T> make(cairn::Residual<Parts...>*) {
    auto out = std::make_unique<with_input_added<T>>();
    out->inside = make(static_cast<cairn::Sequential<Parts...>*>(nullptr));
    return out;
  }
  template <class Policy, class Net>
  piece<T> make(cairn::checkpoint<Policy, Net>*) {
    return make(static_cast<Net*>(nullptr));
  }
  template <class L>
  piece<T> make(L*) {
    auto out = std::make_unique<one_layer<L, T>>(now);
    now = L::output_shape(now);
    out->index = static_cast<std::uint32_t>(leaves.size());
    leaves.push_back(out.get());
    return out;
  }
};

// A whole network.
template <class T>
struct network {
  piece<T> whole;
  std::vector<leaf<T>*> leaves;
};

template <class Net, class T>
network<T> make_network(const cairn::shape& input) {
  maker<T> m{input};
  piece<T> whole = m.make(static_cast<Net*>(nullptr));
  return {std::move(whole), std::move(m.leaves)};
}

} // namespace plain
