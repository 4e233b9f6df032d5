// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <cairn/core/plain_array.hpp>
#include <cairn/plan/fusion.hpp>
#include <cairn/plan/layout/buffer.hpp>
#include <cairn/plan/op.hpp>
#include <cairn/plan/operands.hpp>

namespace cairn::detail {

// The memory of an operand, as one number: none (0), a region of others (its number), or buffer b of our own (regions + b).
using holder = std::uint32_t;

constexpr holder lent(region r) { return static_cast<holder>(r); }
constexpr bool is_own(holder h) { return h >= regions; }

// The number of buffers of a schedule, if nothing is done in place.
constexpr std::size_t most_buffers(const chain& c, std::span<const op> ops) {
  std::size_t sum = 1 + c.windows.size(); // the gradient at the loss
  const auto there = [&c](const bytes& b) { return b.per_sample * c.batch + b.per_batch != 0 ? 1U : 0U; };
  const op* const all = ops.data();
  const stage* const stages = c.stages.data();
  const std::size_t count = ops.size();
  for (std::size_t t = 0; t < count; ++t) {
    const op& o = all[t];
    if (o.kind != op_kind::forward && o.kind != op_kind::backward) continue;
    const stage& s = stages[o.position];
    if (o.kind == op_kind::backward) sum += there(s.backward_workspace) + (o.wants_input_gradient ? 1U : 0U);
    else
      sum += (o.wants_output || !s.tape_without_output ? 1U : 0U) + (o.wants_tape ? 1U : 0U) +
             there(o.wants_tape ? s.forward_workspace : s.evaluation_workspace);
  }
  return sum;
}

// The buffers of a schedule in the order of their births, and which of them each op uses.
template <std::size_t Ops, std::size_t Buffers, std::size_t Windows = Ops == at_run_time ? at_run_time : 0>
struct lifetimes {
  static constexpr std::size_t capacity = Buffers;

  plain_array<buffer, Buffers> buffers{};
  std::size_t count = 0;
  plain_array<operands_of<holder>, plus(Ops, 1)> uses{};
  plain_array<holder, Windows> windows{}; // of the chain
  holder output_buffer = 0;               // this buffer became the output of others in place: it lies there, and counts no bytes

  constexpr std::span<const buffer> span() const { return {buffers.data(), count}; }
};

// Finds buffers and lifetimes by walking a schedule. An op in place lets two values share one
// buffer, or a value and a gradient.
template <std::size_t Stages, std::size_t Ops, std::size_t Buffers, std::size_t Windows>
class tracer {
public:
  constexpr tracer(const chain& c, std::span<const op> ops, lifetimes<Ops, Buffers, Windows>& out)
      : c_(c), ops_(ops), out_(out), values_(c.size() + 1), gradients_(c.size() + 1), tapes_(c.size() + 1), sizes_(c.size() + 1) {
  }
  tracer(const tracer&) = delete;
  tracer& operator=(const tracer&) = delete;

  constexpr void walk() {
    const op* const ops = ops_.data();
    const std::size_t count = ops_.size();
    values_.items[0] = lent(region::input);
    for (std::size_t t = 0; t < count; ++t) {
      const op& o = ops[t];
      operands_of<holder>& uses = uses_[t];
      now_ = static_cast<std::uint32_t>(t);
      // A discard is not a use: a buffer lives until the last op that works on it.
      if (o.kind == op_kind::discard_value) uses.input = values_.items[o.position];
      else if (o.kind == op_kind::forward) forward(o, uses);
      else if (o.kind == op_kind::backward) backward(o, uses);
      else if (o.kind == op_kind::discard_gradient) uses.input = gradients_.items[o.position];
      else if (o.kind == op_kind::discard_tape) uses.input = tapes_.items[o.position];
      else loss(uses);
    }
    use(gradients_.items[0]); // it is handed out when the walk is over
    const std::size_t made = out_.count;
    for (std::size_t k = 0; k < made; ++k) {
      buffer& b = buffers_[k];
      if (ops[b.death].kind != op_kind::forward && ops[b.birth].kind == op_kind::forward) b.stacked = true;
    }
    if (out_.output_buffer != 0) buffers_[out_.output_buffer - regions].bytes = 0;
  }

private:
  constexpr holder make(std::size_t bytes) {
    if (bytes == 0) return 0;
    const std::size_t k = out_.count++;
    buffer& b = buffers_[k];
    b.bytes = bytes;
    b.birth = b.death = now_;
    return static_cast<holder>(regions + k);
  }
  constexpr holder make(const bytes& b) { return b.per_sample == 0 && b.per_batch == 0 ? 0 : make(b.at(batch_)); }
  // The bytes of value k, worked out once.
  constexpr std::size_t bytes_of(std::size_t k) {
    if (sizes_.items[k] == 0) sizes_.items[k] = c_.value_bytes(k);
    return sizes_.items[k];
  }
  constexpr holder use(holder h) {
    if (h >= regions) buffers_[h - regions].death = now_; // is_own(h)
    return h;
  }

  constexpr void forward(const op& o, operands_of<holder>& uses) {
    const std::size_t i = o.position;
    const stage& s = stages_[i];
    const holder input = values_.items[i];
    uses.input = input;
    if (input >= regions) buffers_[input - regions].death = now_; // as use(input), without a call; likewise below
    if (o.wants_output) uses.output = values_.items[i + 1] = result_of(i, s);
    else if (!s.tape_without_output) uses.output = make(bytes_of(i + 1)); // written, but not read
    if (o.wants_tape) uses.tape = tapes_.items[i] = make(s.tape);
    if (o.absorbed) return;
    const bytes& beside = o.wants_tape ? s.forward_workspace : s.evaluation_workspace;
    if (beside.per_sample + beside.per_batch != 0) uses.workspace = make(beside);
  }

  // The memory for the value of stage i.
  constexpr holder result_of(std::size_t i, const stage& s) {
    if (i < reshaped_inputs_) return lent(region::input);
    const bool in_place =
        s.in_place_forward && values_.items[i] >= regions && bytes_of(i) == bytes_of(i + 1) && value_ends(ops_, now_, i);
    if (c_.lent_output && i + 1 == c_.size()) {
      if (in_place && out_.output_buffer == 0) out_.output_buffer = values_.items[i];
      return lent(region::output);
    }
    return in_place ? values_.items[i] : make(bytes_of(i + 1));
  }

  // The gradient of the last value comes in, in the value's place if that is not read again.
  constexpr void loss(operands_of<holder>& uses) {
    const std::size_t n = c_.size();
    const std::size_t next = next_work(ops_, now_);
    const bool back = next < ops_.size();
    holder& gradient = gradients_.items[n];
    uses.input = use(values_.items[n]);
    if (c_.lent) gradient = lent(region::output_gradient);
    else if (back) gradient = value_ends(ops_, now_, n) ? values_.items[n] : make(c_.gradient_bytes(n));
    uses.output_gradient = use(gradient);
  }

  constexpr void backward(const op& o, operands_of<holder>& uses) {
    const std::size_t i = o.position;
    const stage& s = stages_[i];
    const holder above = gradients_.items[i + 1];
    uses.output_gradient = above;
    if (above >= regions) buffers_[above - regions].death = now_;
    if (s.reads_input) uses.input = use(values_.items[i]);
    if (s.reads_output) uses.output = use(values_.items[i + 1]);
    if (s.tape.per_sample + s.tape.per_batch != 0) uses.tape = use(tapes_.items[i]); // it keeps a tape
    if (!o.absorbed && s.backward_workspace.per_sample + s.backward_workspace.per_batch != 0)
      uses.workspace = make(s.backward_workspace);
    if (window_count_ > 0) use_windows(i);
    if (!o.wants_input_gradient) return;
    const bool kept = c_.keeps_output_gradient && above == lent(region::output_gradient);
    if (i == 0 && c_.lent_input_gradient) gradients_.items[0] = lent(region::input_gradient);
    else if (s.in_place_backward && !kept && c_.in_place_backward(i)) gradients_.items[i] = above;
    else if (lies_on_input(o, s)) gradients_.items[i] = values_.items[i];
    else gradients_.items[i] = make(bytes_of(i) - (i == 0 ? c_.input_without_gradient : stages_[i - 1].without_gradient));
    uses.input_gradient = use(gradients_.items[i]);
  }

  // Is this backward the last to read its input, and may its result lie there? An activation whose derivative it takes reads
  // the value too, while the result is written.
  constexpr bool lies_on_input(const op& o, const stage& s) const {
    return s.input_gradient_on_input && !o.takes_next && values_.items[o.position] >= regions &&
           c_.input_gradient_on_input(o.position) && value_ends(ops_, now_, o.position);
  }

  // Opens, uses and closes the windows that are there during the backward of stage i.
  constexpr void use_windows(std::size_t i) {
    for (; opened_ < window_count_ && c_.windows[opened_].from == i; ++opened_)
      out_.windows[opened_] = make(c_.windows[opened_].bytes);
    for (std::size_t w = closed_; w < opened_; ++w)
      if (c_.windows[w].to <= i) use(out_.windows[w]);
    while (closed_ < opened_ && c_.windows[closed_].to >= i) ++closed_; // two may close in the other order
  }

  const chain& c_;
  std::span<const op> ops_;
  std::uint32_t now_ = 0;
  std::size_t opened_ = 0; // windows
  std::size_t closed_ = 0;
  lifetimes<Ops, Buffers, Windows>& out_;
  plain_array<holder, plus(Stages, 1)> values_;
  plain_array<holder, plus(Stages, 1)> gradients_;
  plain_array<holder, plus(Stages, 1)> tapes_;
  plain_array<std::size_t, plus(Stages, 1)> sizes_;
  const std::size_t batch_ = c_.batch;
  const std::size_t window_count_ = c_.windows.size();
  const std::size_t reshaped_inputs_ = c_.reshaped_inputs();
  const stage* const stages_ = c_.stages.data();
  buffer* const buffers_ = out_.buffers.items;
  operands_of<holder>* const uses_ = out_.uses.items;
};

// Traces a schedule. All four parameters are upper bounds, or at_run_time. An op makes at most two buffers, or three with a
// discard to come; windows come on top.
template <std::size_t Stages, std::size_t Ops, std::size_t Buffers = Ops == at_run_time ? at_run_time : 2 * Ops + 4,
          std::size_t Windows = Ops == at_run_time ? at_run_time : 0>
constexpr lifetimes<Ops, Buffers, Windows> trace(const chain& c, std::span<const op> ops) {
  lifetimes<Ops, Buffers, Windows> out{};
  out.buffers.make_room(most_buffers(c, ops));
  out.uses.make_room(ops.size() + 1);
  out.windows.make_room(c.windows.size());
  tracer<Stages, Ops, Buffers, Windows>(c, ops, out).walk();
  return out;
}

} // namespace cairn::detail
