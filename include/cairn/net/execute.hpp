// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <cairn/net/bundle_steps.hpp>
#include <cairn/net/lent_tensors.hpp>
#include <cairn/net/program.hpp>
#include <cairn/ops/add/add.hpp>
#include <cairn/ops/copy/copy.hpp>

namespace cairn {

// Someone who is told: a function and what it is called on. Not told is the default.
template <class... Facts>
struct told {
  void (*function)(void* self, Facts...) = nullptr;
  void* self = nullptr;

  void operator()(Facts... facts) const {
    if (function != nullptr) function(self, facts...);
  }
};

// What happens while a program runs that others act on: ddp listens, and so do tests.
struct events {
  // The gradients below `end` of the flat buffer are complete, and will not change any more in this step.
  told<std::size_t> finished{};
  // Nobody reads these bytes of the arena before they are written again.
  told<std::byte*, std::size_t> discarded{};
};

// Where gradients are to be written: those from `begin` on, in the flat order, lie one after another from `start` on. Who
// owns it may move it on while backward runs, whenever a layer's gradients are finished.
template <class T>
struct gradient_place {
  T* start = nullptr;
  std::size_t begin = 0;
  const T* zeros = nullptr; // a cache line of them, if there may be anything in the padding behind a tensor
};

// What one walk of a chain is lent: memory by region, its block of the parameters, and what the step has in common.
template <class T>
struct frame {
  std::size_t rows = 0; // samples, 1 … batch
  std::array<std::byte*, regions> base{};
  const T* parameters = nullptr;
  T* state = nullptr;
  const gradient_place<T>* gradients = nullptr;
  std::size_t gradient_begin = 0; // where this chain's block begins in the flat order
  T* accumulation = nullptr;      // if set: gradients are made here first, layer by layer, and then added
  random_key random{};            // its position is that of the chain's first layer
  pass why = pass::forward;
  const events* tell = nullptr;
  const lent_tensors<T>* several =
      nullptr; // the ends of a chain of bundles, where `base` has the first tensors

  std::byte* bytes(const place& p) const {
    std::byte* const start = base[static_cast<std::size_t>(p.where)];
    return start == nullptr ? nullptr : start + p.offset();
  }
  T* numbers(const place& p) const { return reinterpret_cast<T*>(bytes(p)); }
  std::byte*& operator[](region r) { return base[static_cast<std::size_t>(r)]; }
  std::byte* operator[](region r) const { return base[static_cast<std::size_t>(r)]; }
};

namespace detail {

// The executor: walks a schedule over the memory that it is lent. It decides nothing.
template <class T, class Queue>
class executor {
public:
  using code = program<T, Queue>;

  executor(const code& p, Queue& queue, const frame<T>& lent)
      : program_(p), queue_(queue), frame_(lent), bundles_(p, queue, lent) {}

  // The way up. With `tape`, what the way back will read stays in the frame's memory; without, nothing does.
  // Without `output`, only what the way back will read is made.
  void up(bool tape, bool output) {
    const auto& walk = tape ? program_.training : program_.evaluation;
    const std::size_t end = output ? walk.turn : walk.lasting;
    for (std::size_t t = 0; t < end; ++t)
      step(walk, t, !output && t + 1 == walk.lasting && !walk.lasting_output);
    if (!output || !program_.adds_at_turn) return;
    T* const sum = frame_.numbers({region::output, 0});
    add(queue_, frame_.rows * program_.output_shape.size(), sum, frame_.numbers({region::input, 0}),
        frame_.numbers(walk.at[walk.turn].input));
    if (program_.inputs != nullptr) bundles_.end_way_up(walk.at[walk.turn]);
  }

  // The way back, after the turn.
  void back() {
    const auto& walk = program_.training;
    for (std::size_t t = walk.turn + 1; t < walk.ops.size(); ++t) step(walk, t, false);
  }

  // One op of the training step.
  void run(std::size_t t) { step(program_.training, t, false); }

private:
  using walk_type = typename code::walk;

  void step(const walk_type& walk, std::size_t t, bool tape_only) {
    const op& o = walk.ops[t];
    switch (o.kind) {
    case op_kind::forward:
      if (!o.absorbed) forward(o, walk.at[t], tape_only);
      break;
    case op_kind::backward:
      if (!o.absorbed) backward(o, walk.at[t]);
      if (o.position == 0) end_way_back(walk.at[t]);
      break;
    case op_kind::turn: break;
    default: discard(o, walk.at[t]);
    }
  }

  pass why(const op& o) const {
    if (frame_.why == pass::evaluate) return pass::evaluate;
    return o.recomputes || frame_.why == pass::recompute ? pass::recompute : pass::forward;
  }
  random_key random(std::size_t position) const {
    random_key key = frame_.random;
    key.position += program_.leaf_begin[position];
    return key;
  }

  // A residual block's layers that can, add the input in the write that ends the way up ...
  bool adds_input(std::size_t position) const {
    return program_.as == role::residual && !program_.adds_at_turn && position + 1 == program_.size();
  }
  // ... and the output's gradient in the write that ends the way back.
  bool adds_gradient(std::size_t position) const {
    return program_.as == role::residual && !program_.adds_at_end && position == 0;
  }

  void forward(const op& o, const operands& at, bool tape_only) {
    const std::size_t i = o.position;
    const auto& e = program_.at(i);
    if (e.inner != nullptr) {
      frame<T> lent = inside(i, at);
      lent.why = why(o);
      const bool output = (o.wants_output && !tape_only) || !program_.stages[i].tape_without_output;
      if (!output) lent[region::output] = nullptr;
      if (e.several == nullptr) {
        executor(*e.inner, queue_, lent).up(o.wants_tape, output);
        return;
      }
      const lent_tensors<T> ends = bundles_.lend(i, at, output, false, lent);
      lent.several = &ends;
      executor(*e.inner, queue_, lent).up(o.wants_tape, output);
      if (output) bundles_.pass_up(i, at);
    } else if (e.several == nullptr) {
      forward_call<T> call;
      lend(o, at, call);
      e.forward(queue_, call);
    } else {
      bundle_forward_call<T> call;
      lend(o, at, call);
      bundles_.lend(i, at, call);
      e.forward(queue_, call);
      bundles_.pass_up(i, at);
    }
  }

  void lend(const op& o, const operands& at, forward_call<T>& call) const {
    const std::size_t i = o.position;
    const auto& e = program_.at(i);
    call.rows = frame_.rows;
    call.input_shape = &e.input_shape;
    call.input = frame_.numbers(at.input);
    call.output = frame_.numbers(at.output);
    call.parameters = {frame_.parameters + program_.parameter_begin[i], e.parameter_layout.offsets.data()};
    call.state = {frame_.state + program_.state_begin[i], e.state_layout.offsets.data()};
    call.tape = o.wants_tape ? frame_.bytes(at.tape) : nullptr;
    call.workspace = frame_.bytes(at.workspace);
    call.why = why(o);
    call.random = random(i);
    if (o.takes_next) call.then = program_.at(i + 1).as;
    if (adds_input(i)) call.addend = frame_.numbers({region::input, 0});
  }

  void backward(const op& o, const operands& at) {
    const std::size_t i = o.position;
    const auto& e = program_.at(i);
    const std::size_t begin = program_.parameter_begin[i];
    if (e.inner != nullptr) {
      frame<T> lent = inside(i, at);
      if (!o.wants_input_gradient) lent[region::input_gradient] = nullptr;
      if (e.several == nullptr) {
        executor(*e.inner, queue_, lent).back();
        return;
      }
      const lent_tensors<T> ends = bundles_.lend(i, at, true, o.wants_input_gradient, lent);
      lent.several = &ends;
      executor(*e.inner, queue_, lent).back();
      bundles_.pass_back(i, at, o.wants_input_gradient);
    } else {
      const bool has_parameters = e.parameter_layout.size > 0;
      T* const sums = has_parameters ? gradients_at(frame_.gradient_begin + begin) : nullptr;
      const bool accumulates = frame_.accumulation != nullptr && has_parameters;
      T* const gradients = accumulates ? frame_.accumulation : sums;
      const bool wanted = o.wants_input_gradient && (i > 0 || outer_wants_input_gradient());
      if (e.several == nullptr) {
        backward_call<T> call;
        lend(o, at, wanted, gradients, call);
        e.backward(queue_, call);
      } else {
        bundle_backward_call<T> call;
        lend(o, at, wanted, gradients, call);
        bundles_.lend(i, at, wanted, call);
        e.backward(queue_, call);
        bundles_.pass_back(i, at, wanted);
      }
      if (accumulates) add_gradients(e, sums);
      if (has_parameters && frame_.gradients->zeros != nullptr) clear_padding(e, sums);
      if (has_parameters && frame_.tell != nullptr)
        frame_.tell->finished(frame_.gradient_begin + begin + e.parameter_layout.size);
    }
  }

  void lend(const op& o, const operands& at, bool wanted, T* gradients, backward_call<T>& call) const {
    const std::size_t i = o.position;
    const auto& e = program_.at(i);
    call.rows = frame_.rows;
    call.input_shape = &e.input_shape;
    call.input = frame_.numbers(at.input);
    call.output = frame_.numbers(at.output);
    call.output_gradient = frame_.numbers(at.output_gradient);
    call.input_gradient = wanted ? frame_.numbers(at.input_gradient) : nullptr;
    call.parameters = {frame_.parameters + program_.parameter_begin[i], e.parameter_layout.offsets.data()};
    call.gradients = {gradients, e.parameter_layout.offsets.data()};
    call.tape = frame_.bytes(at.tape);
    call.workspace = frame_.bytes(at.workspace);
    call.random = random(i);
    if (o.takes_next) call.before = program_.at(i - 1).as;
    if (adds_gradient(i)) call.addend = frame_.numbers({region::output_gradient, 0});
  }

  // Also when the backward of the first layer was done by the product after it.
  void end_way_back(const operands& at) {
    if (!program_.adds_at_end || !outer_wants_input_gradient()) return;
    if (program_.inputs != nullptr) {
      bundles_.end_way_back(at);
      return;
    }
    add(queue_, frame_.rows * program_.input_shape.size(), frame_.numbers({region::input_gradient, 0}),
        frame_.numbers({region::output_gradient, 0}), frame_.numbers(at.input_gradient));
  }

  T* gradients_at(std::size_t number) const {
    return frame_.gradients->start + (number - frame_.gradients->begin);
  }

  // What is reduced and what updates parameters includes the padding behind a tensor: zeros, as in a flat buffer that is
  // the gradients' own.
  void clear_padding(const typename code::element& e, T* gradients) {
    const block_layout& layout = e.parameter_layout;
    for (std::size_t k = 0; k < e.parameters.count; ++k) {
      const std::size_t end = layout.offsets[k] + e.parameters.items[k].extents.size();
      const std::size_t next = k + 1 < e.parameters.count ? layout.offsets[k + 1] : layout.size;
      if (end < next) copy(queue_, next - end, gradients + end, frame_.gradients->zeros);
    }
  }

  // A gradient is added only when it is complete, so that k micro-batches give the bits of k ranks. Tensor by tensor:
  // between them lies padding, which stays zero.
  void add_gradients(const typename code::element& e, T* sums) {
    for (std::size_t k = 0; k < e.parameters.count; ++k) {
      T* const sum = sums + e.parameter_layout.offsets[k];
      const T* const part = frame_.accumulation + e.parameter_layout.offsets[k];
      add(queue_, e.parameters.items[k].extents.size(), sum, sum, part);
    }
  }

  // The root never has a gradient of its input; a block's is asked for or not by the chain around it.
  bool outer_wants_input_gradient() const {
    return program_.as != role::root && frame_[region::input_gradient] != nullptr;
  }

  frame<T> inside(std::size_t i, const operands& at) const {
    frame<T> lent = frame_;
    lent[region::input] = frame_.bytes(at.input);
    lent[region::output] = frame_.bytes(at.output);
    lent[region::output_gradient] = frame_.bytes(at.output_gradient);
    lent[region::input_gradient] = frame_.bytes(at.input_gradient);
    lent[region::tape] = frame_.bytes(at.tape);
    lent[region::workspace] = frame_.bytes(at.workspace);
    lent.parameters += program_.parameter_begin[i];
    lent.state += program_.state_begin[i];
    lent.gradient_begin += program_.parameter_begin[i];
    lent.random = random(i);
    return lent;
  }

  void discard(const op& o, const operands& at) const {
    if (frame_.tell == nullptr || frame_.tell->discarded.function == nullptr) return;
    if (at.input.where != region::tape && at.input.where != region::workspace) return;
    frame_.tell->discarded(frame_.bytes(at.input), size_of_discarded(o));
  }
  std::size_t size_of_discarded(const op& o) const {
    const std::size_t i = o.position;
    if (o.kind == op_kind::discard_tape) return program_.stages[i].tape.at(program_.batch);
    if (program_.values.empty()) return program_.stages[i - 1].output.at(program_.batch);
    const parts& value = program_.values[i];
    return o.kind == op_kind::discard_value ? value.value_bytes(program_.batch)
                                            : value.gradient_bytes(program_.batch);
  }

  const code& program_;
  Queue& queue_;
  const frame<T>& frame_;
  bundle_steps<T, Queue, code, frame<T>> bundles_;
};

} // namespace detail

// Runs a program up to its turn: for training (pass::forward), where what the way back reads stays in the
// frame's memory, or for evaluation.
template <class T, class Queue>
void run_up(const program<T, Queue>& p, Queue& queue, const frame<T>& lent) {
  detail::executor<T, Queue>(p, queue, lent).up(lent.why != pass::evaluate, true);
}

// Runs a program from its turn back, after a run_up for training with the same frame.
template <class T, class Queue>
void run_back(const program<T, Queue>& p, Queue& queue, const frame<T>& lent) {
  detail::executor<T, Queue>(p, queue, lent).back();
}

// Runs op t of the training step of a whole network, after those before it: for measuring.
template <class T, class Queue>
void run_op(const program<T, Queue>& p, Queue& queue, const frame<T>& lent, std::size_t t) {
  detail::executor<T, Queue>(p, queue, lent).run(t);
}

} // namespace cairn
