// SPDX-License-Identifier: MIT
// The pieces of the oracle in plain.hpp: each runs one layer or one kind of block, with memory of its own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include <cairn/core/element.hpp>
#include <cairn/core/tensor.hpp>
#include <cairn/core/tensors.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/layer/layer.hpp>
#include <cairn/net/checkpoint.hpp>
#include <cairn/net/concat.hpp>
#include <cairn/net/frozen.hpp>
#include <cairn/net/gated.hpp>
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

// One tensor of a value, or its gradient; a missing gradient is an empty buffer.
using bytes = buffer<std::byte>;
using values = std::vector<bytes>;

inline bytes copy_of(const bytes& from) {
  bytes to(from.size());
  if (from.size() > 0) std::memcpy(to.data(), from.data(), from.size());
  return to;
}

template <class T>
std::size_t element_size(cairn::element e) {
  if (e == cairn::element::int32) return sizeof(std::int32_t);
  return e == cairn::element::real ? sizeof(T) : sizeof(cairn::accumulated<T>);
}
// Memory for a tensor of this many samples.
template <class T>
bytes room_for(const cairn::tensor& t, std::size_t rows) {
  return bytes(t.size() * (t.per_batch ? 1 : rows) * element_size<T>(t.type));
}
template <class T>
values room_for(const cairn::tensor_list& list, std::size_t rows) {
  values out;
  for (const cairn::tensor& t : list) out.push_back(room_for<T>(t, rows));
  return out;
}

// Tensors as a layer finds them; each stays in memory of its own.
template <class T>
class seen {
public:
  explicit seen(const values& from) {
    unsigned there = 0;
    for (std::size_t k = 0; k < from.size(); ++k) {
      offsets_[k] = reinterpret_cast<std::uintptr_t>(from[k].data()) - reinterpret_cast<std::uintptr_t>(&origin_);
      if (from[k].size() > 0) there |= 1U << k;
    }
    there_ = static_cast<cairn::detail::tensor_set>(there);
  }
  seen(const seen&) = delete;
  seen& operator=(const seen&) = delete;

  operator cairn::types::tensors<T>() const {
    return {there_ == 0 ? nullptr : const_cast<std::byte*>(&origin_), offsets_.data(), there_};
  }
  operator cairn::types::tensors<const T>() const { return cairn::types::tensors<T>(*this).to_read(); }

private:
  std::byte origin_{};
  std::array<std::size_t, cairn::tensor_list::most> offsets_{};
  cairn::detail::tensor_set there_ = 0;
};

// The arguments that all layers of one step have in common.
struct walk {
  cairn::cpu::queue& queue;
  std::size_t rows = 0;
  cairn::pass why = cairn::pass::forward;
  cairn::types::random_key random{}; // its position is that of the first layer
};

// One layer's parameters, gradients and buffers.
struct leaf {
  std::uint32_t index = 0; // among all layers, in the order of the forward pass
  cairn::tensor_list parameter_list{}, buffer_list{};
  values parameters, gradients, buffers;
};

// A piece of a network: forward keeps what backward needs.
struct part {
  virtual ~part() = default;
  virtual values forward(const walk& w, values inputs) = 0;
  virtual values backward(const walk& w, values output_gradients) = 0;
};
using piece = std::unique_ptr<part>;

// A layer takes some tensors from the front of the value; the others go past it.
template <class L, class T>
struct one_layer : part, leaf {
  std::vector<cairn::tensor> taken{};
  cairn::tensor_list network_constants, made, tape_list{};
  const values& constants;
  values inputs, outputs, tape;

  one_layer(const std::vector<cairn::tensor>& arriving, const cairn::tensor_list& described, const values& lent)
      : network_constants(described), constants(lent) {
    std::size_t takes = 1;
    if constexpr (requires { L::takes; }) takes = L::takes;
    taken.assign(arriving.begin(), arriving.begin() + static_cast<std::ptrdiff_t>(takes));
    made = L::outputs(in());
    if constexpr (requires { L::parameters(in()); }) parameter_list = L::parameters(in());
    if constexpr (requires { L::buffers(in()); }) buffer_list = L::buffers(in());
    if constexpr (requires { L::tape(in()); }) tape_list = L::tape(in());
    parameters = room_for<T>(parameter_list, 1);
    gradients = room_for<T>(parameter_list, 1);
    buffers = room_for<T>(buffer_list, 1);
    for (const bytes& b : buffers) std::memset(b.data(), 0, b.size());
  }

  cairn::arguments in() const { return {taken.data(), taken.size(), network_constants}; }
  values workspace([[maybe_unused]] const walk& w, [[maybe_unused]] cairn::pass why) const {
    if constexpr (requires { L::workspace(in(), why); }) return room_for<T>(L::workspace(in(), why), w.rows);
    else return {};
  }
  cairn::types::random_key random(const walk& w) const { return {w.random.seed, w.random.step, w.random.position + index}; }
  static bool depends([[maybe_unused]] std::size_t output, [[maybe_unused]] std::size_t input) {
    if constexpr (requires { L::depends(output, input); }) return L::depends(output, input);
    else return true;
  }
  static bool reads(cairn::reads what) { return (static_cast<unsigned>(L::backward_reads) & static_cast<unsigned>(what)) != 0; }
  static values with_rest(values front, values& all, std::size_t begin) {
    for (std::size_t k = begin; k < all.size(); ++k) front.push_back(std::move(all[k]));
    return front;
  }

  values forward(const walk& w, values all) override {
    const bool evaluates = w.why == cairn::pass::evaluate;
    inputs.clear();
    for (std::size_t k = 0; k < taken.size(); ++k) inputs.push_back(std::move(all[k]));
    outputs = room_for<T>(made, w.rows);
    tape = evaluates ? values{} : room_for<T>(tape_list, w.rows);
    const values work = workspace(w, w.why);
    const seen<T> x(inputs), y(outputs), c(constants), p(parameters), b(buffers), t(tape), s(work);
    const cairn::arguments given = in();
    cairn::forward_call<T> call;
    call.rows = w.rows;
    call.given = &given;
    call.inputs = x;
    call.outputs = y;
    call.constants = c;
    call.parameters = p;
    call.buffers = b;
    call.tape = t;
    call.workspace = s;
    call.why = w.why;
    call.random = random(w);
    L::forward(w.queue, call);
    values front;
    for (const bytes& o : outputs) front.push_back(copy_of(o));
    return with_rest(std::move(front), all, taken.size());
  }

  values backward(const walk& w, values all) override {
    values wanted;
    for (std::size_t k = 0; k < taken.size(); ++k) {
      bool used = false;
      for (std::size_t j = 0; j < made.size(); ++j) used = used || (all[j].size() > 0 && depends(j, k));
      wanted.push_back(used && taken[k].has_gradient ? room_for<T>(taken[k], w.rows) : bytes{});
    }
    values given_gradients;
    for (std::size_t j = 0; j < made.size(); ++j) given_gradients.push_back(std::move(all[j]));
    const values work = workspace(w, cairn::pass::backward), none;
    const seen<T> x(reads(cairn::reads::input) ? inputs : none), y(reads(cairn::reads::output) ? outputs : none),
        dy(given_gradients), dx(wanted), c(constants), p(parameters), dp(gradients), b(buffers), t(tape), s(work);
    const cairn::arguments given = in();
    cairn::backward_call<T> call;
    call.rows = w.rows;
    call.given = &given;
    call.inputs = x;
    call.outputs = y;
    call.output_gradients = dy;
    call.input_gradients = dx;
    call.constants = c;
    call.parameters = p;
    call.gradients = dp;
    call.buffers = b;
    call.tape = t;
    call.workspace = s;
    call.random = random(w);
    L::backward(w.queue, call);
    return with_rest(std::move(wanted), all, made.size());
  }
};

struct one_after_another : part {
  std::vector<piece> parts;

  values forward(const walk& w, values now) override {
    for (const piece& p : parts) now = p->forward(w, std::move(now));
    return now;
  }
  values backward(const walk& w, values now) override {
    for (std::size_t i = parts.size(); i-- > 0;) now = parts[i]->backward(w, std::move(now));
    return now;
  }
};

// The sum of two tensors of T, one of which may be missing.
template <class T>
bytes sum(const bytes& a, const bytes& b) {
  if (a.size() == 0 || b.size() == 0) return copy_of(a.size() == 0 ? b : a);
  bytes out(a.size());
  const auto at = [](const bytes& x) { return reinterpret_cast<T*>(x.data()); };
  for (std::size_t i = 0; i < a.size() / sizeof(T); ++i) at(out)[i] = at(a)[i] + at(b)[i];
  return out;
}

// Adds the input's first tensor to the first output; the other outputs are those of the layers.
template <class T>
struct with_input_added : part {
  piece inside;

  values forward(const walk& w, values inputs) override {
    const bytes first = copy_of(inputs[0]);
    values out = inside->forward(w, std::move(inputs));
    out[0] = sum<T>(out[0], first);
    return out;
  }
  values backward(const walk& w, values output_gradients) override {
    const bytes first = copy_of(output_gradients[0]);
    values out = inside->backward(w, std::move(output_gradients));
    out[0] = sum<T>(out[0], first);
    return out;
  }
};

// Gives both pieces the first tensor, and adds their first outputs; other tensors go past.
template <class T>
struct two_ways_added : part {
  piece first, second;

  values forward(const walk& w, values all) override {
    return both(all, [&](piece& p, values v) { return p->forward(w, std::move(v)); });
  }
  values backward(const walk& w, values all) override {
    return both(all, [&](piece& p, values v) { return p->backward(w, std::move(v)); });
  }

private:
  template <class Run>
  values both(values& all, Run run) {
    bytes made;
    for (piece* p : {&second, &first}) {
      values front;
      front.push_back(copy_of(all[0]));
      made = sum<T>(made, run(*p, std::move(front))[0]);
    }
    all[0] = std::move(made);
    return std::move(all);
  }
};

template <class T>
bytes product(const bytes& a, const bytes& b) {
  bytes out(a.size());
  const auto at = [](const bytes& x) { return reinterpret_cast<T*>(x.data()); };
  for (std::size_t i = 0; i < a.size() / sizeof(T); ++i) at(out)[i] = at(a)[i] * at(b)[i];
  return out;
}

// Gives both pieces the first tensor, and multiplies their first outputs; other tensors go past.
template <class T>
struct multiplied : part {
  piece first, second;
  bytes f, g;

  values forward(const walk& w, values all) override {
    f = run(all, [&](values v) { return first->forward(w, std::move(v)); });
    g = run(all, [&](values v) { return second->forward(w, std::move(v)); });
    all[0] = product<T>(f, g);
    return all;
  }
  values backward(const walk& w, values all) override {
    const bytes output_gradient = copy_of(all[0]);
    all[0] = product<T>(output_gradient, f);
    bytes made = run(all, [&](values v) { return second->backward(w, std::move(v)); });
    all[0] = product<T>(output_gradient, g);
    all[0] = sum<T>(made, run(all, [&](values v) { return first->backward(w, std::move(v)); }));
    return all;
  }

private:
  template <class Run>
  static bytes run(const values& all, Run piece_of) {
    values front;
    front.push_back(copy_of(all[0]));
    return std::move(piece_of(std::move(front))[0]);
  }
};

// Gives each piece the first tensor, and puts their first outputs side by side along the last extent. The gradient of the
// input is summed from the last piece to the first.
template <class T>
struct side_by_side : part {
  std::vector<piece> parts;
  std::vector<std::size_t> widths;

  // Copies the columns of piece c out of the whole tensor.
  bytes columns(std::size_t c, const bytes& whole) const {
    std::size_t width = 0, before = 0;
    for (std::size_t k = 0; k < widths.size(); ++k) {
      if (k < c) before += widths[k];
      width += widths[k];
    }
    const std::size_t rows = whole.size() / sizeof(T) / width;
    bytes own(rows * widths[c] * sizeof(T));
    for (std::size_t r = 0; r < rows; ++r)
      std::memcpy(own.data() + r * widths[c] * sizeof(T), whole.data() + (r * width + before) * sizeof(T), widths[c] * sizeof(T));
    return own;
  }

  values forward(const walk& w, values all) override {
    std::vector<bytes> made;
    std::size_t size = 0, width = 0;
    for (std::size_t c = 0; c < parts.size(); ++c) {
      values front;
      front.push_back(copy_of(all[0]));
      made.push_back(std::move(parts[c]->forward(w, std::move(front))[0]));
      size += made[c].size();
      width += widths[c] * sizeof(T);
    }
    bytes whole(size);
    for (std::size_t r = 0, at = 0; r < size / width; ++r)
      for (std::size_t c = 0; c < parts.size(); ++c) {
        const std::size_t own = widths[c] * sizeof(T);
        std::memcpy(whole.data() + at, made[c].data() + r * own, own);
        at += own;
      }
    all[0] = std::move(whole);
    return all;
  }
  values backward(const walk& w, values all) override {
    bytes total;
    for (std::size_t c = parts.size(); c-- > 0;) {
      values own;
      own.push_back(columns(c, all[0]));
      total = sum<T>(total, parts[c]->backward(w, std::move(own))[0]);
    }
    all[0] = std::move(total);
    return all;
  }
};

} // namespace plain
