// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <cairn/net/frame.hpp>
#include <cairn/net/pass_on.hpp>
#include <cairn/net/program.hpp>
#include <cairn/ops/add/add.hpp>
#include <cairn/ops/copy/copy.hpp>

namespace cairn::detail {

template <class T>
tensors<T> writable(const tensors<const T>& t) {
  return {const_cast<std::byte*>(t.block), t.offsets, t.there}; // only read
}

// The executor: walks a schedule over the memory that it is given. It decides nothing.
//
// The plan reserves every gradient that any repetition of an element needs; `used_` are those needed by this one, so that none
// is computed in vain.
template <class T, class Queue>
class executor {
public:
  using sum = accumulated<T>;
  using code = program<T, Queue>;

  executor(const code& p, Queue& queue, const frame<T>& lent)
      : program_(p), queue_(queue), frame_(lent), used_(p.is_root ? p.gradients.back() : lent.output_gradients.there) {}

  // The forward pass. With `tape`, it leaves in the frame's memory what the backward pass reads; without, nothing. Without
  // `output`, it computes only what the backward pass reads. Returns the last value.
  tensors<T> forward(bool tape, bool output) {
    const auto& walk = tape ? program_.training : program_.evaluation;
    const std::size_t end = output ? walk.loss : walk.lasting;
    for (std::size_t t = 0; t < end; ++t) step(walk, t, !output && t + 1 == walk.lasting && !walk.lasting_output);
    return output ? value(program_.size(), walk.at[walk.loss].input) : tensors<T>{};
  }

  // The backward pass, after the loss. Returns the gradient of the input.
  tensors<T> backward() {
    const auto& walk = program_.training;
    for (std::size_t t = walk.loss + 1; t < walk.ops.size(); ++t) step(walk, t, false);
    return input_gradient_;
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
    case op_kind::backward: backward(o, walk.at[t]); break;
    case op_kind::loss: break;
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

  // The tensors of value k at its place, and those of its gradient.
  tensors<T> value(std::size_t k, const place& p) const {
    if (p.where == region::input) return writable(frame_.inputs);
    if (p.where == region::output) return frame_.outputs;
    return {frame_.bytes(p), program_.value_at[k].data()};
  }
  tensors<T> gradient(std::size_t k, const place& p, tensor_set used) const {
    if (p.where == region::output_gradient) return writable(frame_.output_gradients);
    if (p.where == region::input_gradient) return frame_.input_gradients;
    return {frame_.bytes(p), program_.gradient_at[k].data(), used};
  }
  // The first `count` tensors of `t`.
  template <class Tensors>
  static Tensors front(Tensors t, std::size_t count) {
    t.there &= first_tensors(count);
    return t;
  }
  bool is_last(std::size_t position) const { return position + 1 == program_.size(); }

  void forward(const op& o, const operands& at, bool tape_only) {
    if (at.input.where == region::input && at.output.where == region::input) return; // a reshape in place
    const std::size_t i = o.position;
    const auto& e = program_.at(i);
    const tensors<T> from = value(i, at.input);
    tensors<T> to = value(i + 1, at.output);
    if (e.forward == nullptr) {
      const bool output = (o.wants_output && !tape_only) || !program_.stages[i].tape_without_output;
      if (!output) to = {};
      frame<T> block = inside(i, at);
      block.why = why(o);
      block.inputs = from.to_read();
      block.outputs = front(to, e.gives);
      e.block_forward(queue_, e.chains, block, o.wants_tape, output);
    } else {
      forward_call<T> call;
      call.rows = frame_.rows;
      call.given = &e.in;
      call.inputs = from.to_read();
      call.outputs = to;
      call.constants = frame_.constants;
      call.parameters = parameters_of(i);
      call.masters = masters_of(i);
      call.tied = tied_parameter(tie_of(i));
      if (frame_.packed.data != nullptr) call.packed = packed_weight_of(i);
      call.buffers = buffers_of(i);
      if (o.wants_tape) call.tape = {frame_.bytes(at.tape), e.tape.offsets.data()};
      call.workspace = {frame_.bytes(at.workspace), (o.wants_tape ? e.forward_workspace : e.evaluation_workspace).offsets.data()};
      call.why = why(o);
      call.random = random(i);
      if (frame_.sums != nullptr) call.over_ranks = (*frame_.sums)(call.random.position);
      call.dense = frame_.dense;
      call.steps = frame_.steps;
      call.kept = frame_.kept;
      if (o.takes_next) call.then = program_.at(i + 1).as;
      if (is_last(i)) {
        call.passes_on = program_.in_strips && frame_.why != pass::evaluate;
        call.addend = frame_.output_addend;
        if (at.output.where == region::output) call.output_stride = frame_.output_stride;
      }
      e.forward(queue_, call);
    }
    // The tensors that the stage does not take are passed on, unless they stay where they are.
    const std::size_t arrive = e.arrives->count;
    for (std::size_t j = e.takes; j < arrive; ++j)
      pass_on(queue_, frame_.rows, (*e.arrives)[j], to, e.gives + j - e.takes, from, j);
  }

  void backward(const op& o, const operands& at) {
    const std::size_t i = o.position;
    const auto& e = program_.at(i);
    const tensor_set used = e.uses[used_];
    const tensors<T> from = gradient(i + 1, at.output_gradient, used_);
    const bool wanted = o.wants_input_gradient && (i > 0 || frame_.input_gradients.block != nullptr);
    const tensors<T> to = wanted ? gradient(i, at.input_gradient, used) : tensors<T>{};
    if (i == 0) input_gradient_ = to;
    if (!o.absorbed) {
      if (e.forward == nullptr) {
        frame<T> block = inside(i, at);
        block.inputs = value(i, at.input).to_read();
        block.outputs = front(value(i + 1, at.output), e.gives);
        block.output_gradients = front(from, e.gives).to_read();
        block.may_overwrite_output_gradients = at.output_gradient.where != region::output_gradient;
        block.input_gradients = to;
        e.block_backward(queue_, e.chains, block);
      } else {
        layer_backward(o, at, from, to);
      }
      const std::size_t arrive = e.arrives->count;
      for (std::size_t j = e.takes; wanted && j < arrive; ++j)
        pass_on(queue_, frame_.rows, (*e.arrives)[j], to, j, from, e.gives + j - e.takes);
    }
    used_ = used;
  }

  void layer_backward(const op& o, const operands& at, const tensors<T>& from, const tensors<T>& to) {
    const std::size_t i = o.position;
    const auto& e = program_.at(i);
    const std::size_t begin = program_.parameter_begin[i];
    const std::size_t size = program_.stages[i].parameter_block;
    sum* const sums = size > 0 ? gradients_at(frame_.gradient_begin + begin) : nullptr;
    const bool accumulates = frame_.accumulation != nullptr && size > 0;
    sum* const made = accumulates ? frame_.accumulation : sums;
    backward_call<T> call;
    call.rows = frame_.rows;
    call.given = &e.in;
    call.inputs = value(i, at.input).to_read();
    call.outputs = value(i + 1, at.output).to_read();
    call.output_gradients = from.to_read();
    call.input_gradients = to;
    call.constants = frame_.constants;
    call.parameters = parameters_of(i);
    call.masters = masters_of(i);
    call.buffers = buffers_of(i).to_read();
    call.gradients = {reinterpret_cast<std::byte*>(made), e.gradient_layout().offsets.data()};
    const tie* const tied = tie_of(i);
    call.tied = tied_parameter(tied);
    call.tied_gradient = tied != nullptr ? frame_.tied_gradients + tied->waits_at : nullptr;
    call.tape = {frame_.bytes(at.tape), e.tape.offsets.data()};
    call.workspace = {frame_.bytes(at.workspace), e.backward_workspace.offsets.data()};
    call.random = random(i);
    if (frame_.sums != nullptr) call.over_ranks = (*frame_.sums)(call.random.position);
    if (o.takes_next) call.before = program_.at(i - 1).as;
    call.dense = frame_.dense;
    call.steps = frame_.steps;
    if (i == 0) call.addend = frame_.gradient_addend;
    if (is_last(i)) call.output_stride = frame_.output_stride;
    if (is_last(i) && program_.in_strips) call.strips = frame_.strips;
    e.backward(queue_, call);
    if (size == 0) return;
    for (const tie& t : program_.ties)
      if (t.owner == i) add(queue_, e.parameters[0].size(), made, made, frame_.tied_gradients + t.waits_at);
    if (accumulates) add_gradients(e, sums);
    if (frame_.gradients->zeros != nullptr) clear_padding(e, sums, size);
    if (frame_.tell != nullptr) frame_.tell->finished(frame_.gradient_begin + begin + size);
  }

  tensors<const T> parameters_of(std::size_t i) const {
    const T* const begin =
        program_.is_frozen ? frame_.frozen_parameters(program_.state_begin[i]) : frame_.parameters + program_.parameter_begin[i];
    return {reinterpret_cast<const std::byte*>(begin), program_.at(i).parameter_layout.offsets.data()};
  }
  tensors<const sum> masters_of([[maybe_unused]] std::size_t i) const {
    if constexpr (is_narrow<T>) {
      const sum* const begin =
          program_.is_frozen ? frame_.buffers + program_.state_begin[i] : frame_.masters + program_.parameter_begin[i];
      return {reinterpret_cast<const std::byte*>(begin), program_.at(i).gradient_layout().offsets.data()};
    } else return {};
  }
  const tie* tie_of(std::size_t i) const {
    for (const tie& t : program_.ties)
      if (t.user == i) return &t;
    return nullptr;
  }
  const T* tied_parameter(const tie* t) const {
    return t == nullptr ? nullptr : frame_.parameters + program_.parameter_begin[t->owner];
  }
  ops::packed_weight<T> packed_weight_of(std::size_t i) const {
    if (program_.is_frozen || !program_.at(i).packs_weight) return {};
    const std::size_t begin = program_.parameter_begin[owner_of_weight(program_, i)];
    return frame_.packed.of(frame_.parameters + begin, begin);
  }
  tensors<sum> buffers_of(std::size_t i) const {
    const auto& e = program_.at(i);
    return {reinterpret_cast<std::byte*>(frame_.buffers + program_.state_begin[i]) +
                (program_.is_frozen ? e.gradient_layout().size : 0),
            e.kept_layout().offsets.data()};
  }
  sum* gradients_at(std::size_t index) const { return frame_.gradients->start + (index - frame_.gradients->begin); }

  // Reductions and updates of parameters include the padding after each tensor. It is set to zeros, as in a flat buffer that
  // holds only gradients.
  void clear_padding(const typename code::element& e, sum* gradients, std::size_t size) {
    const auto& offsets = e.parameter_layout.offsets;
    for (std::size_t k = 0; k < e.parameters.count; ++k) {
      const std::size_t end = offsets[k] / sizeof(T) + e.parameters[k].size();
      const std::size_t next = k + 1 < e.parameters.count ? offsets[k + 1] / sizeof(T) : size;
      if (end < next) copy(queue_, next - end, gradients + end, frame_.gradients->zeros);
    }
  }

  // A gradient is added only when it is complete, so that k micro-batches give the bits of k ranks. Tensor by tensor: the
  // padding between them stays zero.
  void add_gradients(const typename code::element& e, sum* sums) {
    for (std::size_t k = 0; k < e.parameters.count; ++k) {
      const std::size_t offset = e.parameter_layout.offsets[k] / sizeof(T);
      add(queue_, e.parameters[k].size(), sums + offset, sums + offset, frame_.accumulation + offset);
    }
  }

  // The frame of a block at stage i, without its inputs, outputs and their gradients.
  frame<T> inside(std::size_t i, const operands& at) const {
    frame<T> block = frame_;
    block.workspace = frame_.bytes(at.workspace);
    block.tape = frame_.bytes(at.tape);
    block.enter(program_.parameter_begin[i], program_.state_begin[i]);
    block.random = random(i);
    return block;
  }

  void discard(const op& o, const operands& at) const {
    if (frame_.tell == nullptr || frame_.tell->discarded.function == nullptr) return;
    if (at.input.where != region::tape && at.input.where != region::workspace) return;
    frame_.tell->discarded(frame_.bytes(at.input), size_of_discarded(o));
  }
  std::size_t size_of_discarded(const op& o) const {
    const std::size_t i = o.position;
    if (o.kind == op_kind::discard_tape) return program_.stages[i].tape.at(program_.batch);
    const stage& maker = program_.stages[i - 1];
    return maker.output.at(program_.batch) - (o.kind == op_kind::discard_value ? 0 : maker.without_gradient);
  }

  const code& program_;
  Queue& queue_;
  const frame<T>& frame_;
  tensor_set used_; // the gradients of the outputs of the stage whose backward comes next
  tensors<T> input_gradient_{};
};

// Runs one of the chains of a block.
template <class T, class Queue>
tensors<T> forward_chain(Queue& queue, const chain_of_block<T, Queue>& chain, const frame<T>& lent, bool tape, bool output) {
  return executor<T, Queue>(*chain.code, queue, lent).forward(tape, output);
}
template <class T, class Queue>
tensors<T> backward_chain(Queue& queue, const chain_of_block<T, Queue>& chain, const frame<T>& lent) {
  return executor<T, Queue>(*chain.code, queue, lent).backward();
}

// Runs the forward pass of a whole network: for training (pass::forward), where what the backward pass reads stays in
// the frame's memory, or for evaluation.
template <class T, class Queue>
void run_forward(const program<T, Queue>& p, Queue& queue, const frame<T>& lent) {
  executor<T, Queue>(p, queue, lent).forward(lent.why != pass::evaluate, true);
}

// Runs the backward pass, after a run_forward for training with the same frame.
template <class T, class Queue>
void run_backward(const program<T, Queue>& p, Queue& queue, const frame<T>& lent) {
  executor<T, Queue>(p, queue, lent).backward();
}

// Runs op t of the training step of a whole network, after those before it: for measuring.
template <class T, class Queue>
void run_op(const program<T, Queue>& p, Queue& queue, const frame<T>& lent, std::size_t t) {
  executor<T, Queue>(p, queue, lent).run(t);
}

} // namespace cairn::detail

#if CAIRN_WITH_COMPILED
#include <cairn/core/bfloat16.hpp>
#include <cairn/core/float16.hpp>
#include <cairn/layer/gelu.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/layer/sigmoid.hpp>
#include <cairn/layer/silu.hpp>
#include <cairn/layer/tanh.hpp>
#include <cairn/layer/tanh_gelu.hpp>
#include <cairn/ops/cpu.hpp>

#include <cairn/net/compiled.inl>
#endif
