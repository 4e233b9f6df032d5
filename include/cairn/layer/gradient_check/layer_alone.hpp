// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>

#include <cairn/core/random.hpp>
#include <cairn/core/tensor.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/layer/gradient_check/guarded_tensors.hpp>
#include <cairn/layer/gradient_check/layer_functions.hpp>
#include <cairn/layer/gradient_check/request.hpp>
#include <cairn/layer/gradient_check/row_gaps.hpp>
#include <cairn/layer/gradient_check/write_watch.hpp>
#include <cairn/layer/layer.hpp>

namespace cairn::detail {

// One layer alone on a cpu with all memory that it works on, for inputs of one description and a number of rows. A call that
// writes where it must not is a fault.
template <class T>
class layer_alone {
public:
  using values = guarded_tensors<T>;

  layer_alone(const layer_functions<T>& of, const tensor_list& inputs, const tensor_list& of_network, std::size_t rows,
              std::size_t threads = 1)
      : layer_(of), inputs_(inputs), constants_(of_network), in_(inputs_.items.data(), inputs_.count, constants_), rows_(rows),
        outputs_(of.outputs(in_)), device_({.threads = threads}), constants(constants_, rows), parameters(of.parameters(in_), 1),
        gradients(parameters.list(), 1), buffers(of.buffers(in_), 1), tape(of.tape(in_), rows) {
    parameters.fill(100);
    buffers.start(200);
    constants.fill(300);
  }
  layer_alone(const layer_alone&) = delete;
  layer_alone& operator=(const layer_alone&) = delete;

  const tensor_list& outputs() const { return outputs_; }
  values some_inputs(std::uint32_t stream = 1) const { return some(inputs_, stream); }
  values some_outputs(std::uint32_t stream = 10) const { return some(outputs_, stream); }
  const std::string& fault() const { return watch_.fault(); }

  values forward(const values& x, const request<T>& asked = {}) {
    values taken = x, made(with_gap(outputs_, asked.gap), rows_);
    const values workspace(layer_.workspace(in_, asked.tape ? pass::forward : pass::evaluate), rows_);
    auto kept = watch_.keep({{&parameters, "a parameter"}, {&constants, "a constant"}});
    if (!asked.in_place) kept.push_back({&taken, "an input", x});
    if (asked.why != pass::forward) kept.push_back({&buffers, "a buffer in another pass than pass::forward", buffers});
    tape.clear();
    forward_call<T> call;
    lend(call, asked, workspace);
    call.inputs = taken.view().to_read();
    call.outputs = (asked.in_place ? taken : made).view();
    call.buffers = buffers.view();
    if (asked.tape) call.tape = tape.view();
    call.why = asked.why;
    call.then = asked.apply;
    layer_.forward(device_.compute(), call);
    watch_.check("forward", kept, {&taken, &made, &workspace, &buffers, &parameters, &constants, &tape});
    if (asked.in_place) return taken;
    watch_.expect(gaps_unwritten(made, asked.gap), "forward writes between the rows of a strided output");
    return gathered(made, outputs_, rows_, asked.gap);
  }

  // Overwrites `gradients` with the gradients of the parameters and returns the input gradients.
  values backward(const values& x, const values& y, const values& dy, const request<T>& asked = {}) {
    const auto read = static_cast<unsigned>(layer_.backward_reads);
    values output_gradients = spread(dy, rows_, asked.gap), own(inputs_, rows_), taken = x;
    const values made = spread(y, rows_, asked.gap), workspace(layer_.workspace(in_, pass::backward), rows_);
    auto kept = watch_.keep({{&parameters, "a parameter"},
                             {&constants, "a constant"},
                             {&made, "an output"},
                             {&tape, "its tape"},
                             {&buffers, "a buffer"}});
    if (!asked.on_input) kept.push_back({&taken, "an input", x});
    if (!asked.in_place) kept.push_back({&output_gradients, "an output gradient", output_gradients});
    values& result = asked.in_place ? output_gradients : asked.on_input ? taken : own;
    gradients.clear();
    backward_call<T> call;
    lend(call, asked, workspace);
    if ((read & static_cast<unsigned>(reads::input)) != 0) call.inputs = taken.view().to_read();
    if ((read & static_cast<unsigned>(reads::output)) != 0) call.outputs = made.view().to_read();
    call.output_gradients = output_gradients.view(asked.used).to_read();
    if (asked.wanted != 0) call.input_gradients = result.view(asked.wanted);
    if (asked.gradients) call.gradients = gradients.view();
    call.tape = tape.view().to_read();
    call.buffers = buffers.view().to_read();
    call.before = asked.apply;
    layer_.backward(device_.compute(), call);
    watch_.check("backward", kept,
                 {&taken, &made, &output_gradients, &own, &workspace, &gradients, &parameters, &buffers, &tape});
    return result;
  }

private:
  template <class Call>
  void lend(Call& call, const request<T>& asked, const values& workspace) {
    call.rows = rows_;
    call.given = &in_;
    call.constants = constants.view().to_read();
    call.parameters = parameters.view().to_read();
    call.workspace = workspace.view();
    call.random = random;
    call.addend = asked.addend;
    call.over_ranks = asked.over_ranks;
    if (asked.gap > 0) call.output_stride = outputs_[0].last() + asked.gap;
  }
  values some(const tensor_list& list, std::uint32_t stream) const {
    values out(list, rows_);
    out.fill(stream);
    return out;
  }

  layer_functions<T> layer_;
  tensor_list inputs_, constants_;
  arguments in_;
  std::size_t rows_;
  tensor_list outputs_;
  cpu device_;
  write_watch<T> watch_;

public:
  random_key random{.seed = 3, .step = 1, .position = 2};
  values constants, parameters, gradients, buffers, tape;
};

} // namespace cairn::detail
