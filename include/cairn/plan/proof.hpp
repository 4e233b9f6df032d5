// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <cairn/core/list.hpp>
#include <cairn/plan/chain.hpp>
#include <cairn/plan/op.hpp>

namespace cairn {

// What is wrong with a schedule, if anything, and at which op.
struct verdict {
  const char* fault = nullptr;
  std::size_t at = 0;

  constexpr explicit operator bool() const { return fault == nullptr; }
};

enum class journey : unsigned char { training, evaluation };

namespace detail {

// Something that is made, read and dropped. `spent`: it has been overwritten by the one op that might still read it.
class item {
public:
  constexpr bool absent() const { return state_ == is_absent; }
  constexpr bool read() {
    if (state_ == is_absent || state_ == is_spent) return false;
    state_ = is_read;
    return true;
  }
  constexpr bool make() {
    if (state_ != is_absent) return false;
    state_ = is_unread;
    return true;
  }
  constexpr bool drop() {
    if (state_ == is_absent || state_ == is_unread) return false;
    state_ = is_absent;
    return true;
  }
  constexpr void spend() { state_ = is_spent; }

private:
  enum : unsigned char { is_absent, is_unread, is_read, is_spent };
  unsigned char state_ = is_absent;
};

// Walks a schedule once. Each step returns what is wrong with it, or null.
template <std::size_t Stages>
class walker {
public:
  constexpr walker(const chain& along, std::span<const op> ops)
      : chain_(along), ops_(ops), n_(along.size()), lowest_(along.lowest_backward()), below_(n_),
        values_(n_ + 1), gradients_(n_ + 1), tapes_(n_ + 1), runs_(n_ + 1) {
    value_[0].make();
    value_[0].read();
  }

  walker(const walker&) = delete;
  walker& operator=(const walker&) = delete;

  constexpr verdict walk(journey kind) {
    const op* const ops = ops_.data();
    const std::size_t count = ops_.size();
    for (std::size_t t = 0; t < count; ++t)
      if (const char* const fault = step(ops[t])) return {fault, t};
    return {end(kind), count};
  }

private:
  constexpr const char* step(const op& o) {
    if (o.position >= n_ && (o.position > n_ || is_of_stage(o.kind))) return "a position outside the chain";
    if (has_foreign_flags(o)) return "a mark that an op of this kind cannot have";
    if (o.kind < op_kind::discard_value) { // !is_discard()
      if (o.absorbed || o.takes_next || previous_->takes_next)
        if (const char* const fault = pair(o)) return fault;
      previous_ = &o;
    }
    switch (o.kind) {
    case op_kind::forward: return forward(o);
    case op_kind::turn: return turn(o);
    case op_kind::backward: return backward(o);
    case op_kind::discard_value:
      if (o.position == 0 || (chain_.lent_output && o.position == n_))
        return "a value is discarded that others own";
      return value_[o.position].drop() ? nullptr : "a value is discarded that is not there or was never read";
    case op_kind::discard_tape:
      return tape_[o.position].drop() ? nullptr : "a tape is discarded that is not there or was never read";
    case op_kind::discard_gradient:
      if (chain_.lent && o.position == n_) return "a gradient is discarded that others own";
      return gradient_[o.position].drop() ? nullptr
                                          : "a gradient is discarded that is not there or was never read";
    }
    return "no kind of op";
  }

  static constexpr bool is_of_stage(op_kind kind) {
    return kind == op_kind::forward || kind == op_kind::backward || kind == op_kind::discard_tape;
  }
  static constexpr bool has_foreign_flags(const op& o) {
    const bool forward = o.kind == op_kind::forward;
    const bool backward = o.kind == op_kind::backward;
    return (!forward && (o.recomputes || o.wants_output || o.wants_tape)) ||
           (!backward && o.wants_input_gradient) || (!forward && !backward && (o.takes_next || o.absorbed));
  }

  // An op that takes the next is followed by one that is absorbed, of the stage beside it and in the same direction.
  constexpr const char* pair(const op& o) const {
    if (o.absorbed != previous_->takes_next)
      return "an op takes the work of one that does it too, or of none";
    if (!o.absorbed)
      return o.takes_next && !stages_[o.position].fuses ? "an op takes another's work and cannot" : nullptr;
    const bool up = o.kind == op_kind::forward;
    const bool beside = o.kind == previous_->kind &&
                        (up ? previous_->position + 1 == o.position : previous_->position == o.position + 1);
    const stage& s = stages_[o.position];
    if (!beside || o.takes_next || s.as_activation == 0 || s.keeps_tape())
      return "an op takes work that it cannot do";
    if (!(up ? chain_.in_place_forward(o.position) : chain_.in_place_backward(o.position)))
      return "an op takes work that is not in place";
    if (!up && !stages_[previous_->position].reads_input)
      return "an op takes a derivative at a value that it does not read";
    if (!up && o.position == 0 && chain_.lent_input_gradient)
      return "an op takes work whose result lies elsewhere";
    return nullptr;
  }

  constexpr const char* forward(const op& o) {
    const std::size_t i = o.position;
    if (!value_[i].read()) return "a forward reads a value that is not there";
    if (o.recomputes != (ran_[i] != 0)) return "a forward is marked as the other kind of pass";
    if (!o.recomputes && turned_) return "a first forward after the turn";
    if (i >= below_)
      return "a forward of a stage whose backward is done, and whose parameters may be others by now";
    if (!o.wants_output && !o.wants_tape) return "a forward of which nothing is wanted";
    if (o.wants_output && !value_[i + 1].make()) return "a value is made that is there already";
    if (o.wants_tape && !tape_[i].make()) return "a tape is made that is there already";
    if (o.absorbed) {
      if (!o.wants_output) return "a forward is absorbed whose value nobody wants";
      value_[i].spend();
    }
    ran_[i] = 1;
    return nullptr;
  }

  constexpr const char* turn(const op& o) {
    if (turned_) return "a second turn";
    if (o.position != n_) return "the turn is not at the last value";
    turned_ = true;
    if (!value_[n_].read()) return "the turn reads an output that is not there";
    gradient_[n_].make();
    return nullptr;
  }

  constexpr const char* backward(const op& o) {
    const std::size_t i = o.position;
    const stage& s = stages_[i];
    if (!turned_) return "a backward before the turn";
    if (i >= below_) return "a backward for the second time, or out of order";
    if (i + 1 != below_) return "a backward is missing";
    below_ = i;
    if (!gradient_[i + 1].read()) return "a backward reads a gradient that is not there";
    if (s.reads_input && !value_[i].read()) return "a backward reads an input that is not there";
    if (s.reads_output && !value_[i + 1].read()) return "a backward reads an output that is not there";
    if (s.keeps_tape() && !tape_[i].read()) return "a backward reads a tape that is not there";
    if (o.wants_input_gradient != (i > lowest_ || chain_.lent))
      return "an input gradient is made that nobody reads, or is not made that somebody reads";
    if (o.wants_input_gradient) gradient_[i].make();
    return nullptr;
  }

  constexpr const char* end(journey kind) const {
    if (!turned_) return "no turn";
    if (previous_->takes_next) return "an op takes the work of none";
    const bool back = kind == journey::training && lowest_ < n_;
    if (back ? below_ != lowest_ : below_ != n_)
      return back ? "a backward is missing" : "a backward in an evaluation";
    for (std::size_t k = 1; k <= n_; ++k) {
      if (!tape_[k - 1].absent()) return "a tape is left over";
      if (!value_[k].absent() && !(chain_.lent_output && k == n_)) return "a value is left over";
      if (back && !gradient_[k].absent() && !(chain_.lent && k == n_)) return "a gradient is left over";
    }
    return nullptr;
  }

  const chain& chain_;
  std::span<const op> ops_;
  std::size_t n_;
  std::size_t lowest_;
  std::size_t below_; // backwards are done from here up
  bool turned_ = false;
  op none_{};
  const op* previous_ = &none_; // the last op that is no discard
  list<item, with(Stages, 1)> values_;
  list<item, with(Stages, 1)> gradients_;
  list<item, with(Stages, 1)> tapes_;
  list<char, with(Stages, 1)> runs_;
  // Pointers, because every call of a list's [] costs the compiler time.
  const stage* const stages_ = chain_.stages.data();
  item* const value_ = values_.data();
  item* const gradient_ = gradients_.data();
  item* const tape_ = tapes_.data();
  char* const ran_ = runs_.data(); // 1: a forward of this stage came before
};

} // namespace detail

// Proves a schedule by walking it: every value, tape and gradient is there when it is read; each stage that has a
// backward has it once, from the last to the first; work is taken over only where that is the same; nothing is made
// that nobody reads; at the end nothing is left over. It shares no code with what makes schedules, and knows nothing
// of how one was made.
template <std::size_t Stages>
constexpr verdict prove(const chain& c, std::span<const op> ops, journey kind = journey::training) {
  return detail::walker<Stages>(c, ops).walk(kind);
}

} // namespace cairn
