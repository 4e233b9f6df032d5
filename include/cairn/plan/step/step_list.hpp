// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <cairn/plan/buckets.hpp>
#include <cairn/plan/op.hpp>
#include <cairn/plan/step/step_op.hpp>

namespace cairn::detail {

// A layer that sums over the ranks, as a step sees it.
struct summed_stage {
  std::size_t position = 0; // of the network's stage that it is, or that contains it
  bool in_backward = false; // it sums there too
  std::size_t complete = 0; // elements of the flat gradient buffer that are complete when its backward begins
};

// The parts from which a step is written.
struct step_parts {
  std::span<const op> ops{}; // the schedule: of a training step, or of an evaluation
  std::size_t loss = 0;      // the index of the loss among them
  // The beginnings of the stages' gradients in the flat buffer, in elements, and after the last one the size of the buffer.
  std::span<const std::size_t> gradient_begin{};
  std::span<const bucket> buckets{};
  std::span<const summed_stage> sums{}; // in the order of the first forwards
  bool fused = false;                   // a bucket is used as soon as `in_flight` of them are there
  std::size_t in_flight = 1;
  bool overlaps = true; // a bucket leaves when it is complete, not at the end of backward
};

// The most ops of any kind of step.
constexpr std::size_t most_step_ops(const step_parts& of) {
  return of.ops.size() + 2 * of.sums.size() + 3 * of.buckets.size() + 7;
}

// Writes the list of one kind of step, op by op. This is the only place that decides the order of a step.
//
// Ops that have no work at run time are in the list all the same: on one rank nothing is sent and nothing is compared, and
// without clipping there is no norm, and without loss scaling no check.
class step_writer {
public:
  constexpr step_writer(const step_parts& given, step_kind kind, step_op* to) : of_(given), kind_(kind), to_(to) {}

  // Returns the number of ops.
  constexpr std::size_t write() {
    if (kind_ == step_kind::joined) return write_joined();
    put(step_op_kind::take_inputs, 0);
    const bool goes_back = kind_ == step_kind::step || kind_ == step_kind::micro_batch;
    const std::size_t end = kind_ == step_kind::forward_alone ? of_.loss : goes_back ? of_.ops.size() : of_.loss + 1;
    for (std::size_t t = 0; t < end; ++t) put_scheduled(t);
    if (kind_ == step_kind::step) end_of_step();
    return count_;
  }

private:
  constexpr void put(step_op_kind kind, std::size_t index, std::uint32_t stage = 0) {
    to_[count_++] = {kind, static_cast<std::uint32_t>(index), stage, is_inside_, complete_};
  }

  // A rank without samples takes part in the last micro-batch of the others: it makes the calls of that one, without work of
  // its own. It learns the number of the others' micro-batches from the first statistics of each, so those calls are not in
  // this list.
  constexpr std::size_t write_joined() {
    put(step_op_kind::facts, 0);
    if (of_.fused) put(step_op_kind::find, 0);
    for (std::size_t t = of_.loss; t < of_.ops.size(); ++t)
      if (of_.ops.data()[t].kind == op_kind::backward) inside_backward(of_.ops.data()[t].position);
    end_of_step();
    return count_;
  }

  constexpr void put_scheduled(std::size_t t) {
    const op& o = of_.ops.data()[t];
    switch (o.kind) {
    case op_kind::forward:
      put(o.recomputes ? step_op_kind::recompute : step_op_kind::forward, t, o.position);
      if (!o.recomputes && kind_ != step_kind::evaluation)
        for (; forwards_ < of_.sums.size() && of_.sums.data()[forwards_].position == o.position; ++forwards_)
          put_inside(step_op_kind::statistics, forwards_);
      break;
    case op_kind::loss:
      put(step_op_kind::loss, t);
      if (kind_ == step_kind::step) put(step_op_kind::facts, 0);
      break;
    case op_kind::backward:
      put(step_op_kind::backward, t, o.position);
      inside_backward(o.position);
      break;
    default: put(step_op_kind::discard, t, o.position);
    }
  }

  // The layers of a stage sum over the ranks and finish their gradients from the last to the first.
  constexpr void inside_backward(std::size_t position) {
    const std::size_t* const begin = of_.gradient_begin.data();
    const std::size_t end = begin[position > 0 ? position - 1 : of_.gradient_begin.size() - 1];
    const bool leave = kind_ != step_kind::micro_batch && (of_.fused || of_.overlaps);
    is_inside_ = true;
    while (true) {
      const std::size_t k = next_sum(position);
      const bool sums = k < of_.sums.size();
      const bool sends = leave && left_ < of_.buckets.size() && of_.buckets.data()[left_].end <= end;
      if (sends && !(sums && of_.buckets.data()[left_].end > of_.sums.data()[k].complete)) {
        put_bucket();
      } else if (sums) {
        complete_ = of_.sums.data()[k].complete;
        put(step_op_kind::statistics, k);
        ++backwards_;
      } else break;
    }
    is_inside_ = false;
    complete_ = end;
  }
  constexpr void put_inside(step_op_kind kind, std::size_t index) {
    is_inside_ = true;
    put(kind, index);
    is_inside_ = false;
  }
  // The next layer of this stage that sums in backward, or the number of layers if there is none.
  constexpr std::size_t next_sum(std::size_t position) {
    const std::size_t count = of_.sums.size();
    const summed_stage* const sums = of_.sums.data();
    while (backwards_ < count && sums[count - 1 - backwards_].position >= position) {
      const std::size_t k = count - 1 - backwards_;
      if (sums[k].position == position && sums[k].in_backward) return k;
      ++backwards_;
    }
    return count;
  }

  constexpr void put_bucket() {
    complete_ = of_.buckets.data()[left_].end;
    if (of_.fused && left_ == 0) put(step_op_kind::compare, 0);
    put(step_op_kind::reduce, left_++);
    if (!of_.fused && left_ == 1 && kind_ == step_kind::joined) put(step_op_kind::find, 0); // the facts went with it
    while (of_.fused && updated_ + of_.in_flight <= left_) put_update();
  }
  constexpr void put_update() {
    put(step_op_kind::wait, updated_);
    put(step_op_kind::update, updated_++);
  }

  // Sends the remaining buckets after the backward pass. Gradients in one buffer are used only when all of them are back, so
  // that a failure on the way leaves every parameter as it was.
  constexpr void end_of_step() {
    while (left_ < of_.buckets.size()) put_bucket();
    if (of_.fused) {
      if (of_.buckets.empty()) put(step_op_kind::compare, 0);
      while (updated_ < of_.buckets.size()) put_update();
      return;
    }
    for (std::size_t b = 0; b < of_.buckets.size(); ++b) put(step_op_kind::wait, b);
    put(step_op_kind::compare, 0);
    put(step_op_kind::norm, 0);
    put(step_op_kind::check, 0);
    put(step_op_kind::clip, 0);
    for (std::size_t b = 0; b < of_.buckets.size(); ++b) put(step_op_kind::update, b);
  }

  const step_parts& of_;
  step_kind kind_;
  step_op* to_;
  std::size_t count_ = 0;
  bool is_inside_ = false;
  std::size_t complete_ = 0;                 // elements of gradients
  std::size_t forwards_ = 0, backwards_ = 0; // layers whose sums are in the list
  std::size_t left_ = 0, updated_ = 0;       // buckets
};

template <std::size_t Capacity>
constexpr step_list<Capacity> write_step(const step_parts& of, step_kind kind) {
  step_list<Capacity> out{};
  out.storage.make_room(most_step_ops(of));
  out.count = step_writer(of, kind, out.storage.items).write();
  return out;
}

} // namespace cairn::detail
