// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <cairn/core/plain_array.hpp>
#include <cairn/plan/chain.hpp>
#include <cairn/plan/op.hpp>

namespace cairn::detail {

// The fault of a schedule, if it has one, and the op at which it is.
struct verdict {
  const char* fault = nullptr;
  std::size_t at = 0;

  constexpr explicit operator bool() const { return fault == nullptr; }
};

enum class journey : unsigned char { training, evaluation };

// The state of something that is made, read and dropped. A number, not a class: see plain_array.hpp.
enum item : unsigned char {
  is_absent,
  is_spent,  // overwritten by the one op that might still read it
  is_unread, // and so may not be dropped
  is_read,
};
constexpr bool is_there(item i) { return i >= is_unread; }

// Walks a schedule once. Each step returns what is wrong with it, or null.
template <std::size_t Stages>
class walker {
public:
  constexpr walker(const chain& along, std::span<const op> ops)
      : chain_(along), ops_(ops), n_(along.size()), lowest_(along.lowest_backward()), below_(n_), values_(n_ + 1),
        gradients_(n_ + 1), tapes_(n_ + 1), ran_(n_ + 1) {
    values_.items[0] = is_read;
  }

  walker(const walker&) = delete;
  walker& operator=(const walker&) = delete;

  constexpr verdict walk(journey kind) {
    const op* const ops = ops_.data();
    const std::size_t count = ops_.size();
    for (std::size_t t = 0; t < count; ++t) {
      const char* const fault = step(ops[t]);
      if (fault != nullptr) return {fault, t};
    }
    return {end(kind), count};
  }

private:
  static constexpr const char* foreign_mark = "a mark that an op of this kind cannot have";

  constexpr const char* step(const op& o) {
    const std::size_t k = o.position;
    if (k >= n_ && (k > n_ || o.kind == op_kind::forward || o.kind == op_kind::backward || o.kind == op_kind::discard_tape))
      return "a position outside the chain";
    if (o.kind >= op_kind::discard_value) { // is_discard()
      if (o.recomputes || o.wants_output || o.wants_tape || o.wants_input_gradient || o.takes_next || o.absorbed)
        return foreign_mark;
      item* const dropped = o.kind == op_kind::discard_value  ? values_.items
                            : o.kind == op_kind::discard_tape ? tapes_.items
                                                              : gradients_.items;
      if (o.kind == op_kind::discard_value && (k == 0 || (chain_.lent_output && k == n_)))
        return "a value is discarded that others own";
      if (o.kind == op_kind::discard_gradient && chain_.lent && k == n_) return "a gradient is discarded that others own";
      if (dropped[k] == is_absent || dropped[k] == is_unread)
        return o.kind == op_kind::discard_value  ? "a value is discarded that is not there or was never read"
               : o.kind == op_kind::discard_tape ? "a tape is discarded that is not there or was never read"
                                                 : "a gradient is discarded that is not there or was never read";
      dropped[k] = is_absent;
      return nullptr;
    }
    if (o.kind == op_kind::loss && (o.takes_next || o.absorbed)) return foreign_mark;
    if (o.absorbed || o.takes_next || previous_->takes_next) {
      const char* const fault = pair(o);
      if (fault != nullptr) return fault;
    }
    previous_ = &o;
    if (o.kind == op_kind::forward) return forward(o);
    if (o.kind == op_kind::backward) return backward(o);
    return loss(o);
  }

  // An op that takes the next one's work is followed by an absorbed op, of the neighbouring stage and in the same direction.
  constexpr const char* pair(const op& o) const {
    if (o.absorbed != previous_->takes_next) return "an op takes the work of one that does it too, or of none";
    if (!o.absorbed) return o.takes_next && !stages_[o.position].fuses ? "an op takes another's work and cannot" : nullptr;
    const bool up = o.kind == op_kind::forward;
    const bool beside =
        o.kind == previous_->kind && (up ? previous_->position + 1 == o.position : previous_->position == o.position + 1);
    const stage& s = stages_[o.position];
    if (!beside || o.takes_next || s.as_activation == 0 || s.keeps_tape()) return "an op takes work that it cannot do";
    if (!(up ? chain_.in_place_forward(o.position) : chain_.in_place_backward(o.position)))
      return "an op takes work that is not in place";
    if (!up && !stages_[previous_->position].reads_input) return "an op takes a derivative at a value that it does not read";
    if (!up && o.position == 0 && chain_.lent_input_gradient) return "an op takes work whose result lies elsewhere";
    return nullptr;
  }

  constexpr const char* forward(const op& o) {
    const std::size_t i = o.position;
    if (o.wants_input_gradient) return foreign_mark;
    if (values_.items[i] < is_unread) return "a forward reads a value that is not there"; // !is_there()
    values_.items[i] = is_read;
    if (o.recomputes != (ran_.items[i] != 0)) return "a forward is marked as the other kind of pass";
    if (!o.recomputes && after_loss_) return "a first forward after the loss";
    if (i >= below_) return "a forward of a stage whose backward is done, and whose parameters may be others by now";
    if (!o.wants_output && !o.wants_tape) return "a forward of which nothing is wanted";
    if (o.wants_output) {
      if (values_.items[i + 1] != is_absent) return "a value is made that is there already";
      values_.items[i + 1] = is_unread;
    }
    if (o.wants_tape) {
      if (tapes_.items[i] != is_absent) return "a tape is made that is there already";
      tapes_.items[i] = is_unread;
    }
    if (o.absorbed) {
      if (!o.wants_output) return "a forward is absorbed whose value is not wanted";
      values_.items[i] = is_spent;
    }
    ran_.items[i] = 1;
    return nullptr;
  }

  constexpr const char* loss(const op& o) {
    if (o.recomputes || o.wants_output || o.wants_tape || o.wants_input_gradient) return foreign_mark;
    if (after_loss_) return "a second loss";
    if (o.position != n_) return "the loss is not at the last value";
    after_loss_ = true;
    if (!is_there(values_.items[n_])) return "the loss reads an output that is not there";
    values_.items[n_] = is_read;
    gradients_.items[n_] = is_unread;
    return nullptr;
  }

  constexpr const char* backward(const op& o) {
    const std::size_t i = o.position;
    const stage& s = stages_[i];
    if (o.recomputes || o.wants_output || o.wants_tape) return foreign_mark;
    if (!after_loss_) return "a backward before the loss";
    if (i >= below_) return "a backward for the second time, or out of order";
    if (i + 1 != below_) return "a backward is missing";
    below_ = i;
    if (gradients_.items[i + 1] < is_unread) return "a backward reads a gradient that is not there";
    gradients_.items[i + 1] = is_read;
    if (s.reads_input) {
      if (values_.items[i] < is_unread) return "a backward reads an input that is not there";
      values_.items[i] = is_read;
    }
    if (s.reads_output) {
      if (values_.items[i + 1] < is_unread) return "a backward reads an output that is not there";
      values_.items[i + 1] = is_read;
    }
    if (s.tape.per_sample + s.tape.per_batch != 0) { // keeps_tape()
      if (tapes_.items[i] < is_unread) return "a backward reads a tape that is not there";
      tapes_.items[i] = is_read;
    }
    if (o.wants_input_gradient != (i > lowest_ || chain_.gives_input_gradient()))
      return "an input gradient is made that is not read, or is not made that is read";
    if (o.wants_input_gradient && gradients_.items[i] == is_absent) gradients_.items[i] = is_unread;
    return nullptr;
  }

  constexpr const char* end(journey kind) const {
    if (!after_loss_) return "no loss";
    if (previous_->takes_next) return "an op takes the work of none";
    const bool back = kind == journey::training && lowest_ < n_;
    if (back ? below_ != lowest_ : below_ != n_) return back ? "a backward is missing" : "a backward in an evaluation";
    for (std::size_t k = 1; k <= n_; ++k) {
      if (tapes_.items[k - 1] != is_absent) return "a tape is left over";
      if (values_.items[k] != is_absent && !(chain_.lent_output && k == n_)) return "a value is left over";
      if (back && gradients_.items[k] != is_absent && !(chain_.lent && k == n_)) return "a gradient is left over";
    }
    return nullptr;
  }

  const chain& chain_;
  std::span<const op> ops_;
  std::size_t n_;
  std::size_t lowest_;
  std::size_t below_; // backwards are done from here up
  bool after_loss_ = false;
  op none_{};
  const op* previous_ = &none_; // the last op that is no discard
  const stage* const stages_ = chain_.stages.data();
  plain_array<item, plus(Stages, 1)> values_;
  plain_array<item, plus(Stages, 1)> gradients_;
  plain_array<item, plus(Stages, 1)> tapes_;
  plain_array<char, plus(Stages, 1)> ran_; // 1: a forward of this stage came before
};

// Proves a schedule by walking it. Every value, tape and gradient is there when it is read; each stage that has a backward runs
// it once, from the last to the first; work is absorbed only where the result is the same; everything that is made is read; at
// the end nothing is left over. The proof shares no code with the functions that make schedules, and does not depend on how one
// was made.
template <std::size_t Stages>
constexpr verdict prove(const chain& c, std::span<const op> ops, journey kind = journey::training) {
  return walker<Stages>(c, ops).walk(kind);
}

} // namespace cairn::detail
