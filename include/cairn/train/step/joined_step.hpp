// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include <cairn/comm/exchange.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/error.hpp>
#include <cairn/ops/elementwise/elementwise.hpp>
#include <cairn/ops/transfer/transfer.hpp>
#include <cairn/plan/step/step_op.hpp>
#include <cairn/plan/step/step_walk.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/ranks/step_facts.hpp>
#include <cairn/train/settings.hpp>
#include <cairn/train/step/training_step.hpp>

namespace cairn::detail {

// The number that changes no other one by being added to it: to add 0 would make 0 of -0.
struct nothing_to_add {
  template <class Number>
  CAIRN_HOST_DEVICE Number operator()(Number) const {
    return static_cast<Number>(-0.0);
  }
};

// The steps of other ranks, made by a rank that has no samples left: trainer::join(). It makes the calls of the communicator
// that they make. What tells that it has no samples are its facts: no micro-batches. The end is found when no rank has some.
template <class Model, class Loss, class Optimizer, class Batch, class T, class Device>
class joined_step : public training_step<Model, Loss, Optimizer, Batch, T, Device> {
  using base = training_step<Model, Loss, Optimizer, Batch, T, Device>;

public:
  using base::buckets, base::fused, base::is_apart;
  using typename base::plan;

protected:
  using base::base;
  friend struct replica_access;
  using base::comm, base::compute, base::waiting;
  using base::gradients_, base::guard_, base::last_samples_, base::micro_batches_, base::outcomes_, base::replica_;
  using base::steps_, base::stops_, base::summed, base::sums_, base::wants_to_stop_;
  using typename base::sum;

  std::uint64_t join_others() {
    if (micro_batches_ > 0)
      throw input_error("trainer::join: expected no micro-batches since the last step, found " + std::to_string(micro_batches_) +
                        "; make a step of them, or call drop_micro_batches()");
    const std::uint64_t before = steps_;
    while (take_part()) {
    }
    return steps_ - before;
  }
  // A rank that has no samples takes part in a step of the others, with gradients that add nothing to theirs. If no rank has
  // samples this is no step: nothing is updated, and false comes back on all ranks. It waits for the others on every device.
  bool take_part() {
    if constexpr (!replica<Model>::distributed) return false;
    else {
      if (!gradients_.on_the_way().compares()) return false; // one rank, or no gradients: there is nothing to take part in
      const calls_for now(comm(), {.word = "join, step", .number = steps_ + 1});
      return guard_.run(
          steps_ + 1,
          [&] {
            check_number("trainer: expected a schedule's learning rate of 0 or more", this->learning_rate_now());
            this->begin_outcome();
            if constexpr (is_apart) send_facts();
            this->begin_scale();
            guard_.enter(true);
            is_step_ = join_micro_batches();
            if constexpr (summed > 0)
              if (is_step_) sums_.begin_join_backward();
            return others_step();
          },
          [this] { this->abandon(); });
    }
  }

private:
  // Facts of a step without inputs, with which they go to the device otherwise.
  void send_facts() {
    const std::span<sum> here = outcomes_.latest().facts(gradients_.on_the_way().facts().size());
    this->write_facts(reinterpret_cast<std::byte*>(here.data()), 0);
    upload(compute(), here.size(), gradients_.on_the_way().facts().data(), static_cast<const sum*>(here.data()));
    waiting()(compute().record());
  }
  // Layers that sum over the ranks do so before there are gradients. The calls of the others' micro-batches up to the backward of
  // the last; then true. False: no rank has samples, or there are no such layers.
  bool join_micro_batches() {
    if constexpr (summed > 0) {
      if (comm().size() < 2) return false;
      while (true) {
        const summed_run found = sums_.join_forward(waiting());
        if (found == summed_run::last_micro_batch) return true;
        if (found == summed_run::nothing) return false;
        if (found == summed_run::micro_batch) join_backward_of_all();
      }
    } else return false;
  }
  void join_backward_of_all() {
    sums_.begin_join_backward();
    for (const step_op& o : this->template list<step_kind::joined>())
      if (o.kind == step_op_kind::statistics) sums_.join_backward(o.index);
  }

  // Walks the list of such a step. Whether the others make one is found before more than the first bucket has left: at the end
  // all are here, and false comes back.
  bool others_step() {
    step_walk walk(this->template list<step_kind::joined>(), joined_rows(), this);
    walk_ = &walk;
    makes_step_ = true;
    walk.run();
    if (!makes_step_) return false;
    if constexpr (!fused) this->set_applied_scale();
    if constexpr (is_apart) outcomes_.end(compute(), outcomes_.latest(), gradients_.on_the_way().facts().data());
    return true;
  }
  template <auto Make> // a member function, also of the base
  static void row(void* self, const step_op& o) {
    (static_cast<joined_step*>(self)->*Make)(o.index);
  }
  static const std::array<step_row, step_op_kinds>& joined_rows() {
    static constexpr std::array<step_row, step_op_kinds> rows = [] {
      std::array<step_row, step_op_kinds> out{};
      const auto at = [&out](step_op_kind kind) -> step_row& { return out[static_cast<std::size_t>(kind)]; };
      at(step_op_kind::facts) = &row<&joined_step::begin_with_nothing>;
      at(step_op_kind::find) = &row<&joined_step::find>;
      at(step_op_kind::statistics) = &row<&joined_step::statistics>;
      at(step_op_kind::reduce) = &row<&joined_step::reduce_nothing>;
      at(step_op_kind::wait) = &row<&joined_step::wait>;
      at(step_op_kind::compare) = &row<&joined_step::begin_update>;
      if constexpr (!fused) {
        at(step_op_kind::norm) = &row<&joined_step::norm>;
        at(step_op_kind::clip) = &row<&joined_step::clip_gradients>;
      }
      at(step_op_kind::update) = &row<&joined_step::update>;
      return out;
    }();
    return rows;
  }

  void begin_with_nothing(std::size_t) {
    this->begin_reduction(0);
    if constexpr (!fused) add_nothing(gradients_.all());
  }
  void reduce_nothing(std::size_t b) {
    if constexpr (fused) add_nothing(gradients_.on_the_way().span_of(b));
    this->reduce(b);
  }
  void statistics([[maybe_unused]] std::size_t k) {
    if constexpr (summed > 0)
      if (is_step_) sums_.join_backward(k);
  }
  void find(std::size_t) {
    auto& gradients = gradients_.on_the_way();
    const std::span<const sum> all = facts_now();
    gradients.take(comm(), all);
    if (gradients.samples().count > 0) return;
    end_of_all(all);
    makes_step_ = false;
    walk_->stop();
  }
  // What all ranks say of this step, where the host can read it.
  std::span<const sum> facts_now() {
    auto& gradients = gradients_.on_the_way();
    gradients.wait_for_facts(compute());
    if constexpr (!is_apart) return gradients.facts();
    else {
      auto& o = outcomes_.latest();
      outcomes_.fetch_facts(compute(), o, gradients.facts().data());
      waiting()(compute().record());
      return o.facts(gradients.facts().size());
    }
  }
  void add_nothing(std::span<sum> gradients) {
    elementwise(compute(), gradients.size(), nothing_to_add{}, gradients.data(), static_cast<const sum*>(gradients.data()));
  }

  // No rank has samples. Buffers that layers keep, as running means, count on rank 0; if it was finished before others, all
  // ranks take those of the lowest rank of the last step, as torch's Join takes those of a rank that joined last.
  void end_of_all(std::span<const sum> all) {
    this->wait_for_all(); // for what the last step tells
    guard_.leave();
    facts_of_ranks<sum>::compare(all, static_cast<std::size_t>(comm().size()));
    guard_.enter(true);
    if (gradients_.on_the_way().asks_to_stop()) {
      stops_ = true; // and it stays so if the last step said it
      wants_to_stop_ = false;
    }
    const ranks_with_samples last = std::exchange(last_samples_, {});
    if (plan::state_block > 0 && last.count > 0 && last.count < static_cast<std::size_t>(comm().size()))
      broadcast(comm(), compute(), std::as_writable_bytes(replica_.buffers()), static_cast<int>(last.first));
  }

  step_walk* walk_ = nullptr; // of the step that is made
  bool is_step_ = false;      // the others have samples, as their statistics tell
  bool makes_step_ = false;   // as their facts tell
};

} // namespace cairn::detail
