// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <cairn/core/bundle.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/layer/bundle_layer.hpp>
#include <cairn/layer/describe_bundle.hpp>

#include "gradient_check.hpp"
#include "lent_layer.hpp"

// Checks one layer of several tensors, in double, against everything that the concept says, for some numbers of rows
// and for every set of outputs that are used. Derivatives are compared with difference quotients, everything else bit
// for bit. Gives the first fault, or nothing for a right layer.

namespace gradient_check_detail {

using tensor_list = std::vector<numbers>;

// One layer with everything that it is lent but the tensors themselves.
template <cairn::bundle_layer L>
class lent_bundle_layer {
  using facts = cairn::described_bundle<L>;
  using pointers = cairn::tensor_pointers<double>;

public:
  lent_bundle_layer(const cairn::bundle& in, std::size_t rows)
      : in_(facts::taken(in)), out_(L::output_shapes(in_)), rows_(rows), list_(facts::parameters(in)),
        layout_(list_, sizeof(double)), state_layout_(facts::state(in), sizeof(double)),
        parameters_(layout_.size, 0.0), gradients_(layout_.size), state_(state_layout_.size, 0.0),
        tape_(facts::tape_bytes(in, sizeof(double)) * rows / sizeof(double)),
        workspace_(facts::workspace_bytes(in, sizeof(double)) * rows / sizeof(double)) {
    for (std::size_t k = 0; k < list_.count; ++k) {
      const auto some = some_numbers<double>(size(k), static_cast<std::uint32_t>(100 + k));
      for (std::size_t i = 0; i < some.size(); ++i) parameter(k)[i] = some[i];
    }
    for (std::size_t k = 0; k < in.constant_count; ++k)
      constants_.push_back(
          some_numbers<double>(rows * in.constants[k].size(), static_cast<std::uint32_t>(200 + k)));
  }

  std::size_t inputs() const { return in_.size(); }
  std::size_t outputs() const { return out_.size(); }
  std::size_t input_size(std::size_t k) const { return rows_ * in_[k].size(); }
  std::size_t output_size(std::size_t k) const { return rows_ * out_[k].size(); }
  std::size_t count() const { return list_.count; }
  std::size_t size(std::size_t k) const { return list_.items[k].extents.size(); }
  double* parameter(std::size_t k) const { return parameters_.data() + layout_.offsets[k]; }
  numbers gradients() const { return gradients_.numbers(); }
  double gradient(std::size_t k, std::size_t i) const { return gradients_.data()[layout_.offsets[k] + i]; }
  cairn::tensor_set uses(cairn::tensor_set used) const { return facts::uses(in_, used); }
  bool intact() const { return intact_; }

  tensor_list forward(const tensor_list& x, cairn::pass why = cairn::pass::forward, bool in_place = false,
                      bool wants_tape = true) {
    std::vector<guarded<double>> in, out;
    for (const numbers& tensor : x) in.emplace_back(tensor);
    for (std::size_t k = 0; k < outputs(); ++k) out.emplace_back(output_size(k));
    cairn::bundle_forward_call<double> call;
    lend(call);
    call.why = why;
    call.tape = wants_tape && tape_.size() > 0 ? reinterpret_cast<std::byte*>(tape_.data()) : nullptr;
    call.inputs = cairn::to_read(point(in, all));
    call.outputs = in_place ? point(in, all) : point(out, all);
    call.input = call.inputs[0];
    call.output = call.outputs[0];
    L::forward(device_.compute(), call);
    note(in);
    note(out);
    return numbers_of(in_place ? in : out, outputs());
  }

  // `used` says which of the outputs' gradients are there, `wanted` which of the inputs'.
  tensor_list backward(const tensor_list& x, const tensor_list& y, const tensor_list& dy,
                       cairn::tensor_set used, cairn::tensor_set wanted, bool in_place = false) {
    constexpr auto read = static_cast<unsigned>(L::backward_reads);
    std::vector<guarded<double>> in, out, output_gradients, own;
    for (const numbers& tensor : x) in.emplace_back(tensor);
    for (const numbers& tensor : y) out.emplace_back(tensor);
    for (const numbers& tensor : dy) output_gradients.emplace_back(tensor);
    for (std::size_t k = 0; k < inputs(); ++k) own.emplace_back(input_size(k));
    cairn::bundle_backward_call<double> call;
    lend(call);
    call.tape = tape_.size() > 0 ? reinterpret_cast<const std::byte*>(tape_.data()) : nullptr;
    if ((read & 1U) != 0) call.inputs = cairn::to_read(point(in, all));
    if ((read & 2U) != 0) call.outputs = cairn::to_read(point(out, all));
    call.output_gradients = cairn::to_read(point(output_gradients, used));
    call.input_gradients = point(in_place ? output_gradients : own, wanted);
    call.gradients = {gradients_.data(), layout_.offsets.data()};
    call.input = call.inputs[0];
    call.output = call.outputs[0];
    call.output_gradient = call.output_gradients[0];
    call.input_gradient = call.input_gradients[0];
    L::backward(device_.compute(), call);
    for (const auto* const list : {&in, &out, &output_gradients, &own}) note(*list);
    intact_ = intact_ && gradients_.intact();
    for (std::size_t k = 0; k < dy.size() && !in_place; ++k)
      intact_ = intact_ && same_bits(output_gradients[k].numbers(), dy[k]);
    return numbers_of(in_place ? output_gradients : own, inputs());
  }

private:
  static constexpr cairn::tensor_set all = cairn::first_tensors(cairn::most_tensors);

  static pointers point(const std::vector<guarded<double>>& tensors, cairn::tensor_set which) {
    pointers out{};
    for (std::size_t k = 0; k < tensors.size(); ++k)
      if (cairn::has(which, k)) out[k] = tensors[k].data();
    return out;
  }
  static tensor_list numbers_of(const std::vector<guarded<double>>& tensors, std::size_t count) {
    tensor_list out;
    for (std::size_t k = 0; k < count; ++k) out.push_back(tensors[k].numbers());
    return out;
  }
  void note(const std::vector<guarded<double>>& tensors) {
    for (const auto& tensor : tensors) intact_ = intact_ && tensor.intact();
    intact_ = intact_ && tape_.intact() && workspace_.intact();
  }
  template <class Call>
  void lend(Call& call) {
    call.rows = rows_;
    call.input_shape = &in_[0];
    call.input_shapes = &in_;
    for (std::size_t k = 0; k < constants_.size(); ++k) call.constants[k] = constants_[k].data();
    call.parameters = {parameters_.data(), layout_.offsets.data()};
    call.workspace = reinterpret_cast<std::byte*>(workspace_.data());
    call.random = {.seed = 3, .step = 1, .position = 2};
    if constexpr (requires { call.state; }) call.state = {state_.data(), state_layout_.offsets.data()};
  }

  cairn::bundle in_, out_;
  std::size_t rows_;
  cairn::cpu device_{{.threads = 1}};
  cairn::parameter_list list_;
  cairn::block_layout layout_, state_layout_;
  guarded<double> parameters_, gradients_, state_, tape_, workspace_;
  tensor_list constants_;
  bool intact_ = true; // nobody wrote behind a buffer, or on an output gradient that was only lent
};

inline bool same_bits(const tensor_list& a, const tensor_list& b) {
  bool same = a.size() == b.size();
  for (std::size_t k = 0; same && k < a.size(); ++k) same = ::same_bits(a[k], b[k]);
  return same;
}

template <cairn::bundle_layer L>
std::string bundle_fault(const cairn::bundle& in, std::size_t rows, cairn::tensor_set used) {
  lent_bundle_layer<L> own(in, rows), probe(in, rows);
  tensor_list x, dy;
  for (std::size_t k = 0; k < own.inputs(); ++k)
    x.push_back(some_numbers<double>(own.input_size(k), static_cast<std::uint32_t>(1 + k)));
  for (std::size_t k = 0; k < own.outputs(); ++k)
    dy.push_back(some_numbers<double>(own.output_size(k), static_cast<std::uint32_t>(10 + k)));
  const cairn::tensor_set wanted = own.uses(used);
  const tensor_list y = own.forward(x);
  const tensor_list dx = own.backward(x, y, dy, used, wanted);
  const numbers gradients = own.gradients();

  const auto f = [&] {
    const tensor_list found = probe.forward(x);
    double sum = 0;
    for (std::size_t k = 0; k < found.size(); ++k)
      if (cairn::has(used, k)) sum += dot(found[k], dy[k]);
    return sum;
  };
  for (std::size_t k = 0; k < own.inputs(); ++k)
    for (std::size_t i = 0; i < x[k].size(); ++i) {
      // What is not used must have no derivative either.
      const double found = cairn::has(wanted, k) ? dx[k][i] : 0.0;
      const std::string name = "input_gradient " + std::to_string(k) + "[" + std::to_string(i) + "]";
      if (std::string fault = compare_derivative(name, x[k][i], found, f); !fault.empty()) return fault;
    }
  for (std::size_t k = 0; k < own.count(); ++k)
    for (std::size_t i = 0; i < own.size(k); ++i) {
      const std::string name = "gradient " + std::to_string(k) + "[" + std::to_string(i) + "]";
      if (std::string fault = compare_derivative(name, probe.parameter(k)[i], own.gradient(k, i), f);
          !fault.empty())
        return fault;
    }

  if (!same_bits(own.forward(x, cairn::pass::recompute), y)) return "recompute differs from forward";
  if (!same_bits(own.forward(x, cairn::pass::recompute, false, false), y))
    return "forward without a tape differs";
  if (!same_bits(own.backward(x, y, dy, used, wanted), dx)) return "a second backward differs";
  own.backward(x, y, dy, used, 0);
  if (!::same_bits(own.gradients(), gradients))
    return "gradients depend on whether input gradients are wanted";
  if constexpr (cairn::described_bundle<L>::in_place) {
    if (!same_bits(own.forward(x, cairn::pass::forward, true), y)) return "forward in place differs";
    if (used == wanted) {
      const tensor_list found = own.backward(x, y, dy, used, wanted, true);
      for (std::size_t k = 0; k < dx.size(); ++k)
        if (cairn::has(wanted, k) && !::same_bits(found[k], dx[k])) return "backward in place differs";
    }
  }
  return own.intact() ? "" : "something was written where nobody may write";
}

} // namespace gradient_check_detail

template <cairn::bundle_layer L>
std::string bundle_gradient_fault(const cairn::bundle& in) {
  const std::size_t outputs = cairn::described_bundle<L>::gives(in);
  for (const std::size_t rows : {1U, 2U, 5U})
    for (unsigned used = 1; used < 1U << outputs; ++used)
      if (const std::string fault =
              gradient_check_detail::bundle_fault<L>(in, rows, static_cast<cairn::tensor_set>(used));
          !fault.empty())
        return fault + " (" + std::to_string(rows) + " rows, outputs " + std::to_string(used) + " used)";
  return {};
}
