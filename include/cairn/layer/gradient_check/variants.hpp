// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>

#include <cairn/core/tensor.hpp>
#include <cairn/layer/describe.hpp>
#include <cairn/layer/gradient_check/fused_results.hpp>
#include <cairn/layer/gradient_check/layer_alone.hpp>

namespace cairn::detail {

// Checks that the options of a call change no bit of what a layer computes. Each variant runs on a layer of its own, whose
// buffers have their initial values.
template <class T>
class variants {
  using alone = layer_alone<T>;
  using values = guarded_tensors<T>;
  using asked = request<T>;

public:
  variants(const layer_functions<T>& layer, const tensor_list& inputs, const tensor_list& constants, std::size_t rows,
           tensor_set used, tensor_set wanted)
      : layer_(layer), inputs_(inputs), constants_(constants), rows_(rows), used_(used), wanted_(wanted),
        plain_(layer, inputs, constants, rows), x_(plain_.some_inputs()), dy_(plain_.some_outputs()), y_(plain_.forward(x_)),
        dx_(plain_.backward(x_, y_, dy_, {.used = used, .wanted = wanted})) {}

  // Returns the first fault, or an empty string.
  std::string fault(const element_facts& facts) {
    expect(plain_.fault().empty(), plain_.fault());
    expect(y_.written(), "forward leaves an element of an output unwritten");
    forward("with two threads", {}, y_, 2);
    backward("with two threads", {}, 2);
    forward("without a tape", {.tape = false}, y_);
    forward("for recompute", {.why = pass::recompute}, y_);
    forward("for recompute without a tape", {.why = pass::recompute, .tape = false}, y_);
    backward("without input gradients", {.wanted = 0});
    if (layer_.skips_gradients) backward("of a frozen layer", {.gradients = false});
    for (std::size_t k = 0; k < inputs_.count && wanted_ != 0; ++k)
      if (contains(wanted_, k)) backward("of one input", {.wanted = static_cast<tensor_set>(1U << k)});
    if (facts.as_stage.in_place_forward && fits()) forward("in place", {.in_place = true}, y_);
    if (facts.as_stage.in_place_backward && fits() && used_ == wanted_) backward("in place", {.in_place = true});
    if (facts.as_stage.input_gradient_on_input && wanted_ != 0) {
      backward("with its result on the input", {.on_input = true});
      if (layer_.skips_gradients)
        backward("of a frozen layer, with its result on the input", {.on_input = true, .gradients = false});
    }
    if (facts.as_stage.reshapes)
      expect(fits() && y_.same_bits(x_), "it says that it reshapes, and its outputs are not its inputs");
    evaluate(facts.as_stage.in_place_forward && fits());
    fused(facts);
    return fault_;
  }

private:
  void expect(bool right, const std::string& fault) {
    if (!right && fault_.empty()) fault_ = fault;
  }
  // Whether outputs may lie on inputs. A layer may be in_place for every input that it takes; it runs in place where the
  // sizes are equal.
  bool fits() const {
    bool same = plain_.outputs().count <= inputs_.count;
    for (std::size_t k = 0; same && k < plain_.outputs().count; ++k) same = x_.bytes(k) == y_.bytes(k);
    return same;
  }

  void forward(const std::string& name, const asked& what, const values& expected, std::size_t threads = 1) {
    alone other(layer_, inputs_, constants_, rows_, threads);
    if (what.why == pass::recompute) other.forward(x_); // it moves the buffers: a recompute must not notice
    const values found = other.forward(x_, what);
    expect(other.fault().empty(), other.fault());
    expect(found.same_bits(expected, first_tensors(expected.list().count)), "forward " + name + " differs");
    if (what.why == pass::evaluate) return;
    expect(other.buffers.same_bits(plain_.buffers), "forward " + name + " leaves other buffers");
    expect(!what.tape || other.tape.same_bits(plain_.tape), "forward " + name + " leaves another tape");
  }
  void backward(const std::string& name, asked what, std::size_t threads = 1) { backward(name, what, dx_, threads); }
  void backward(const std::string& name, asked what, const values& expected, std::size_t threads = 1) {
    alone other(layer_, inputs_, constants_, rows_, threads);
    other.forward(x_);
    what.used = used_;
    if (what.wanted == all_tensors) what.wanted = wanted_;
    const values found = other.backward(x_, y_, dy_, what);
    expect(other.fault().empty(), other.fault());
    expect(found.same_bits(expected, what.wanted), "backward " + name + " differs");
    expect(!what.gradients || other.gradients.same_bits(plain_.gradients), "backward " + name + " gives other gradients");
  }
  void evaluate(bool in_place) {
    alone own(layer_, inputs_, constants_, rows_);
    const asked plainly{.why = pass::evaluate, .tape = false};
    const values y = own.forward(x_, plainly);
    expect(own.fault().empty(), own.fault());
    expect(y.written(), "an evaluation leaves an element of an output unwritten");
    forward("for evaluation with two threads", plainly, y, 2);
    if (in_place) forward("for evaluation in place", {.why = pass::evaluate, .tape = false, .in_place = true}, y);
  }
  // The layer may be asked for all of these at once.
  void fused(const element_facts& facts) {
    const values to_output = plain_.some_outputs(50), to_gradient = plain_.some_inputs(60);
    for (const activation which : {activation::none, activation::relu})
      for (const bool adds : {false, true})
        for (const std::size_t gap : {std::size_t{0}, std::size_t{3}}) {
          if ((which != activation::none && !facts.as_stage.fuses) || (adds && !facts.adds)) continue;
          if ((gap > 0 && !facts.strided) || (which == activation::none && !adds && gap == 0)) continue;
          const T* const after = adds ? to_output[0] : nullptr;
          const T* const before = adds ? to_gradient[0] : nullptr;
          const std::string name = "with a fused activation, an addend or a stride";
          forward(name, {.apply = which, .addend = after, .gap = gap}, then_fused(y_, which, after));
          if (contains(used_, 0) && contains(wanted_, 0))
            backward(name, {.apply = which, .addend = before, .gap = gap}, before_fused(dx_, x_, which, before));
        }
  }

  layer_functions<T> layer_;
  tensor_list inputs_, constants_;
  std::size_t rows_;
  tensor_set used_, wanted_;
  alone plain_;
  values x_, dy_, y_, dx_;
  std::string fault_;
};

} // namespace cairn::detail
