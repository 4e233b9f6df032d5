// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/bundle.hpp>
#include <cairn/layer/bundle_layer.hpp>
#include <cairn/net/bundle_facts.hpp>
#include <cairn/net/composite.hpp>
#include <cairn/net/lent_tensors.hpp>
#include <cairn/ops/add/add.hpp>
#include <cairn/ops/copy/copy.hpp>
#include <cairn/plan/operands.hpp>

namespace cairn::detail {

// What the executor does besides for each op of a chain of bundles: finds the tensors in the places that were planned
// for whole values, and copies those that go past a stage, unless they stay where they are.
//
// A plan has room for the gradients that are used wherever an element stands; `used_` are those that are used where it
// stands now. A repeated block has room for all of them, and yet none is made that nobody reads.
template <class T, class Queue, class Code, class Frame>
class bundle_steps {
public:
  bundle_steps(const Code& p, Queue& queue, const Frame& lent)
      : program_(p), queue_(queue), frame_(lent),
        used_(p.values.empty()     ? tensor_set{0}
              : p.as == role::root ? p.values.back().gradients
                                   : set_of(lent.several->output_gradients)) {}

  void lend(std::size_t i, const operands& at, bundle_forward_call<T>& call) const {
    const bundle_facts& facts = *program_.at(i).several;
    call.input_shapes = &facts.input;
    call.inputs = first(to_read(value(i, at.input)), facts.takes);
    call.outputs = first(value(i + 1, at.output), facts.gives);
    call.constants = frame_.several->constants;
    call.input = call.inputs[0];
    call.output = call.outputs[0];
  }

  void lend(std::size_t i, const operands& at, bool wanted, bundle_backward_call<T>& call) const {
    const bundle_facts& facts = *program_.at(i).several;
    call.input_shapes = &facts.input;
    call.inputs = first(to_read(value(i, at.input)), facts.takes);
    call.outputs = first(to_read(value(i + 1, at.output)), facts.gives);
    call.output_gradients = first(to_read(output_gradient(i, at)), facts.gives);
    if (wanted) call.input_gradients = first(input_gradient(i, at), facts.takes);
    call.constants = frame_.several->constants;
    call.input = call.inputs[0];
    call.output = call.outputs[0];
    call.output_gradient = call.output_gradients[0];
    call.input_gradient = call.input_gradients[0];
  }

  // To a block: all ends that it may need. A block of single tensors works on the first of each.
  lent_tensors<T> lend(std::size_t i, const operands& at, bool output, bool wanted, Frame& block) const {
    lent_tensors<T> ends;
    ends.inputs = to_read(value(i, at.input));
    ends.constants = frame_.several->constants;
    ends.output_gradients = to_read(output_gradient(i, at));
    if (output) ends.outputs = value(i + 1, at.output);
    if (wanted) ends.input_gradients = input_gradient(i, at);
    const auto bytes = [](const T* first) {
      return const_cast<std::byte*>(reinterpret_cast<const std::byte*>(first)); // only read
    };
    block[region::input] = bytes(ends.inputs[0]);
    block[region::output] = bytes(ends.outputs[0]);
    block[region::output_gradient] = bytes(ends.output_gradients[0]);
    block[region::input_gradient] = wanted ? frame_.bytes(at.input_gradient) : nullptr;
    return ends;
  }

  // After a forward: the tensors that stage i does not take.
  void pass_up(std::size_t i, const operands& at) const {
    const bundle_facts& facts = *program_.at(i).several;
    if (facts.takes == facts.arrives) return;
    const auto from = value(i, at.input);
    const auto to = value(i + 1, at.output);
    for (std::size_t j = facts.takes; j < facts.arrives; ++j)
      pass(facts.past[j - facts.takes], to[facts.gives + j - facts.takes], from[j]);
  }

  // After a backward: their gradients. Then the walk is one stage further down.
  void pass_back(std::size_t i, const operands& at, bool wanted) {
    const bundle_facts& facts = *program_.at(i).several;
    if (wanted && facts.takes < facts.arrives) {
      const auto from = output_gradient(i, at);
      const auto to = input_gradient(i, at);
      for (std::size_t j = facts.takes; j < facts.arrives; ++j)
        pass(facts.past[j - facts.takes], to[j], from[facts.gives + j - facts.takes]);
    }
    used_ = facts.uses[used_];
  }

  // A residual block's own ends: at the first tensor it adds, the others are its layers'.
  void end_way_up(const operands& turn) const {
    const auto made = value(program_.size(), turn.input);
    for (std::size_t k = 1; k < program_.outputs->size(); ++k)
      pass((*program_.outputs)[k].size(), frame_.several->outputs[k], made[k]);
  }
  void end_way_back(const operands& at) const {
    const lent_tensors<T>& ends = *frame_.several;
    const auto made = gradient(0, at.input_gradient, used_);
    const std::size_t numbers = program_.input_shape.size();
    if (made[0] != nullptr && ends.output_gradients[0] != nullptr)
      add(queue_, frame_.rows * numbers, ends.input_gradients[0], ends.output_gradients[0], made[0]);
    else pass(numbers, ends.input_gradients[0], made[0] != nullptr ? made[0] : ends.output_gradients[0]);
    for (std::size_t k = 1; k < program_.inputs->size(); ++k)
      pass((*program_.inputs)[k].size(), ends.input_gradients[k], made[k]);
  }

private:
  template <class P>
  static P first(P tensors, std::size_t count) {
    for (std::size_t k = count; k < most_tensors; ++k) tensors[k] = nullptr;
    return tensors;
  }
  void pass(std::size_t numbers, T* to, const T* from) const {
    if (to != nullptr && from != nullptr && to != from) copy(queue_, frame_.rows * numbers, to, from);
  }

  tensor_pointers<T> value(std::size_t k, const cairn::place& p) const {
    if (p.where == region::output) return frame_.several->outputs;
    if (p.where == region::input) {
      tensor_pointers<T> out{};
      for (std::size_t j = 0; j < most_tensors; ++j)
        out[j] = const_cast<T*>(frame_.several->inputs[j]); // only read
      return out;
    }
    constexpr tensor_set all = first_tensors(most_tensors);
    return tensors_in<T>(frame_.bytes(p), program_.values[k], program_.batch, all, all);
  }
  tensor_pointers<T> gradient(std::size_t k, const cairn::place& p, tensor_set used) const {
    if (p.where == region::input_gradient) return frame_.several->input_gradients;
    if (p.where == region::output_gradient) {
      tensor_pointers<T> out{};
      for (std::size_t j = 0; j < most_tensors; ++j)
        out[j] = const_cast<T*>(frame_.several->output_gradients[j]); // only read
      return out;
    }
    const parts& v = program_.values[k];
    return tensors_in<T>(frame_.bytes(p), v, program_.batch, v.gradients, used);
  }
  tensor_pointers<T> output_gradient(std::size_t i, const operands& at) const {
    return gradient(i + 1, at.output_gradient, used_);
  }
  tensor_pointers<T> input_gradient(std::size_t i, const operands& at) const {
    return gradient(i, at.input_gradient, program_.at(i).several->uses[used_]);
  }

  const Code& program_;
  Queue& queue_;
  const Frame& frame_;
  tensor_set used_; // the gradients of the outputs of the stage whose backward comes next
};

} // namespace cairn::detail
