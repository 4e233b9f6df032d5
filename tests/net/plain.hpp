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

#include <cairn/core/bundle.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/layer/describe.hpp>
#include <cairn/layer/describe_bundle.hpp>
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

// The tensors of a value, or their gradients: a tensor that nobody uses has none, an empty buffer.
template <class T>
using tensors = std::vector<buffer<T>>;

// A piece of a network: forward keeps what backward needs.
template <class T>
struct part {
  virtual ~part() = default;
  virtual tensors<T> forward(const walk& w, tensors<T> inputs) = 0;
  virtual tensors<T> backward(const walk& w, tensors<T> output_gradients) = 0;
};
template <class T>
using piece = std::unique_ptr<part<T>>;

template <class T>
buffer<T> copy_of(const buffer<T>& from) {
  buffer<T> to(from.size());
  if (from.size() > 0) std::memcpy(to.data(), from.data(), from.size() * sizeof(T));
  return to;
}
template <class T>
T* pointer(const buffer<T>& b) {
  return b.size() > 0 ? b.data() : nullptr;
}

// What a layer of one tensor and one of several have in common; `Shape` is a shape or a bundle.
template <class L, class T, class Facts, class Shape, cairn::stage (*Stage)(const Shape&, std::size_t)>
struct any_layer : part<T>, leaf<T> {
  using bytes = buffer<std::byte>;
  Shape input_shape;
  bytes tape;

  explicit any_layer(const Shape& in) : input_shape(in) {
    this->parameter_list = Facts::parameters(in);
    this->state_list = Facts::state(in);
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

  // Calls forward or backward with everything but the tensors.
  template <class Call>
  void forward_with(const walk& w, Call& call) {
    const cairn::stage s = Stage(input_shape, sizeof(T));
    tape = bytes(w.rows * s.tape.per_sample);
    const bytes workspace(w.rows * s.forward_workspace.per_sample);
    call.rows = w.rows;
    call.parameters = {this->parameters.data(), this->parameter_offsets.data()};
    call.state = {this->state.data(), this->state_offsets.data()};
    call.tape = w.why == cairn::pass::evaluate ? nullptr : tape.data();
    call.workspace = workspace.data();
    call.why = w.why;
    call.random = random(w);
    L::forward(w.queue, call);
  }
  template <class Call>
  void backward_with(const walk& w, Call& call) {
    const bytes workspace(w.rows * Stage(input_shape, sizeof(T)).backward_workspace.per_sample);
    call.rows = w.rows;
    call.parameters = {this->parameters.data(), this->parameter_offsets.data()};
    call.gradients = {this->gradients.data(), this->parameter_offsets.data()};
    call.tape = tape.data();
    call.workspace = workspace.data();
    call.random = random(w);
    L::backward(w.queue, call);
  }
};

// A layer of one tensor works on the first.
template <class L, class T>
struct one_layer : any_layer<L, T, cairn::described<L>, cairn::shape, &cairn::describe<L>> {
  using base = any_layer<L, T, cairn::described<L>, cairn::shape, &cairn::describe<L>>;
  using base::base;
  buffer<T> input, output;

  tensors<T> forward(const walk& w, tensors<T> inputs) override {
    input = std::move(inputs[0]);
    output = buffer<T>(w.rows * L::output_shape(this->input_shape).size());
    cairn::forward_call<T> call;
    call.input_shape = &this->input_shape;
    call.input = input.data();
    call.output = output.data();
    this->forward_with(w, call);
    inputs[0] = copy_of(output);
    return inputs;
  }
  tensors<T> backward(const walk& w, tensors<T> output_gradients) override {
    buffer<T> input_gradient(input.size());
    cairn::backward_call<T> call;
    call.input_shape = &this->input_shape;
    call.input = base::reads(cairn::reads::input) ? input.data() : nullptr;
    call.output = base::reads(cairn::reads::output) ? output.data() : nullptr;
    call.output_gradient = output_gradients[0].data();
    call.input_gradient = input_gradient.data();
    this->backward_with(w, call);
    output_gradients[0] = std::move(input_gradient);
    return output_gradients;
  }
};

// A layer of several tensors takes some from the front; those behind go past it.
template <class L, class T>
struct several_layer
    : any_layer<L, T, cairn::described_bundle<L>, cairn::bundle, &cairn::describe_bundle<L>> {
  using base = any_layer<L, T, cairn::described_bundle<L>, cairn::bundle, &cairn::describe_bundle<L>>;
  using facts = cairn::described_bundle<L>;
  cairn::bundle taken, made;
  const tensors<T>& constants;
  tensors<T> inputs, outputs;

  several_layer(const cairn::bundle& in, const tensors<T>& all)
      : base(in), taken(facts::taken(in)), made(L::output_shapes(taken)), constants(all) {}

  template <class Pointer>
  static void point(Pointer& to, const tensors<T>& from) {
    for (std::size_t k = 0; k < from.size(); ++k) to[k] = pointer(from[k]);
  }
  static tensors<T> with_rest(tensors<T> front, tensors<T>& all, std::size_t begin) {
    for (std::size_t k = begin; k < all.size(); ++k) front.push_back(std::move(all[k]));
    return front;
  }

  tensors<T> forward(const walk& w, tensors<T> all) override {
    inputs.clear();
    outputs.clear();
    for (std::size_t k = 0; k < taken.size(); ++k) inputs.push_back(std::move(all[k]));
    for (std::size_t k = 0; k < made.size(); ++k) outputs.emplace_back(w.rows * made[k].size());
    cairn::bundle_forward_call<T> call;
    call.input_shapes = &taken;
    point(call.inputs, inputs);
    point(call.outputs, outputs);
    point(call.constants, constants);
    call.input = call.inputs[0];
    call.output = call.outputs[0];
    this->forward_with(w, call);
    tensors<T> front;
    for (const auto& o : outputs) front.push_back(copy_of(o));
    return with_rest(std::move(front), all, taken.size());
  }

  tensors<T> backward(const walk& w, tensors<T> all) override {
    cairn::bundle_backward_call<T> call;
    call.input_shapes = &taken;
    if (base::reads(cairn::reads::input)) point(call.inputs, inputs);
    if (base::reads(cairn::reads::output)) point(call.outputs, outputs);
    point(call.constants, constants);
    tensors<T> input_gradients;
    for (std::size_t k = 0; k < taken.size(); ++k) {
      bool used = false;
      for (std::size_t j = 0; j < made.size(); ++j) used = used || (all[j].size() > 0 && depends(j, k));
      input_gradients.emplace_back(used ? w.rows * taken[k].size() : 0);
      call.input_gradients[k] = pointer(input_gradients[k]);
    }
    for (std::size_t j = 0; j < made.size(); ++j) call.output_gradients[j] = pointer(all[j]);
    call.output_gradient = call.output_gradients[0];
    call.input_gradient = call.input_gradients[0];
    this->backward_with(w, call);
    return with_rest(std::move(input_gradients), all, made.size());
  }
  static bool depends(std::size_t output, std::size_t input) {
    if constexpr (requires { L::depends(output, input); }) return L::depends(output, input);
    else return true;
  }
};

template <class T>
struct one_after_another : part<T> {
  std::vector<piece<T>> parts;

  tensors<T> forward(const walk& w, tensors<T> now) override {
    for (const piece<T>& p : parts) now = p->forward(w, std::move(now));
    return now;
  }
  tensors<T> backward(const walk& w, tensors<T> now) override {
    for (std::size_t i = parts.size(); i-- > 0;) now = parts[i]->backward(w, std::move(now));
    return now;
  }
};

// Adds the first tensor; the others are what the layers make of them.
template <class T>
struct with_input_added : part<T> {
  piece<T> inside;

  static buffer<T> sum(const buffer<T>& a, const buffer<T>& b) {
    if (a.size() == 0 || b.size() == 0) return copy_of(a.size() == 0 ? b : a);
    buffer<T> out(a.size());
    for (std::size_t i = 0; i < a.size(); ++i) out[i] = a[i] + b[i];
    return out;
  }
  tensors<T> forward(const walk& w, tensors<T> inputs) override {
    const buffer<T> first = copy_of(inputs[0]);
    tensors<T> out = inside->forward(w, std::move(inputs));
    out[0] = sum(out[0], first);
    return out;
  }
  tensors<T> backward(const walk& w, tensors<T> output_gradients) override {
    const buffer<T> first = copy_of(output_gradients[0]);
    tensors<T> out = inside->backward(w, std::move(output_gradients));
    out[0] = sum(out[0], first);
    return out;
  }
};

// From the type to the pieces; `now` is what arrives there.
template <class T>
struct maker {
  cairn::bundle now;
  const tensors<T>& constants;
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
    if constexpr (cairn::bundle_layer<L>) {
      auto out = std::make_unique<several_layer<L, T>>(now, constants);
      now = now.with_front(out->taken.size(), out->made);
      return number(std::move(out));
    } else {
      auto out = std::make_unique<one_layer<L, T>>(now[0]);
      now = now.with_front(1, cairn::bundle{L::output_shape(now[0])});
      return number(std::move(out));
    }
  }
  template <class Layer>
  piece<T> number(std::unique_ptr<Layer> layer) {
    layer->index = static_cast<std::uint32_t>(leaves.size());
    leaves.push_back(layer.get());
    return layer;
  }
};

// A whole network.
template <class T>
struct network {
  piece<T> whole;
  std::vector<leaf<T>*> leaves;
  std::unique_ptr<tensors<T>> constants; // to be set before a forward
  std::size_t outputs = 1;               // tensors of the last value

  // Its first output for these inputs, and the gradients of its parameters from that of the first output.
  buffer<T> forward(const walk& w, tensors<T> inputs) {
    tensors<T> made = whole->forward(w, std::move(inputs));
    outputs = made.size();
    return std::move(made[0]);
  }
  void backward(const walk& w, const buffer<T>& output_gradient) {
    tensors<T> gradients(outputs);
    gradients[0] = copy_of(output_gradient);
    whole->backward(w, std::move(gradients));
  }
};

template <class Net, class T>
network<T> make_network(const cairn::bundle& input) {
  network<T> out;
  out.constants = std::make_unique<tensors<T>>();
  maker<T> m{input, *out.constants};
  out.whole = m.make(static_cast<Net*>(nullptr));
  out.leaves = std::move(m.leaves);
  return out;
}
template <class Net, class T>
network<T> make_network(const cairn::shape& input) {
  return make_network<Net, T>(cairn::bundle{input});
}

} // namespace plain
