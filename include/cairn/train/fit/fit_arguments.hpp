// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <type_traits>

#include <cairn/core/explain.hpp>
#include <cairn/train/fit/fit_run.hpp>
#include <cairn/train/input_arrays.hpp>
#include <cairn/train/step/step_hooks.hpp>

// Compile-time checks of the arguments of fit().
namespace cairn::detail {

// Whether a type has a member of a callback, or one that is named as in other libraries and would never be called here.
template <class C, class Run>
inline constexpr bool is_callback =
    requires(C& c, Run& run) { c.on_resume(run); } || requires(C& c, Run& run) { c.on_begin(run); } ||
    requires(C& c, Run& run) { c.on_epoch_begin(run); } || requires(C& c, Run& run) { c.on_step(run); } ||
    requires(C& c, Run& run) { c.on_log(run); } || requires(C& c, Run& run) { c.on_validate(run); } ||
    requires(C& c, Run& run) { c.on_epoch(run); } || requires(C& c, Run& run) { c.on_save(run); } ||
    requires(C& c, Run& run) { c.on_end(run); } || requires(C& c, state_notes& notes) { c.write_notes(notes); };
template <class C, class Run>
inline constexpr bool has_foreign_names =
    requires(C& c, Run& run) { c.on_epoch_end(run); } || requires(C& c, Run& run) { c.on_epoch_start(run); } ||
    requires(C& c, Run& run) { c.on_train_epoch_end(run); } || requires(C& c, Run& run) { c.on_train_epoch_start(run); } ||
    requires(C& c, Run& run) { c.on_train_begin(run); } || requires(C& c, Run& run) { c.on_train_start(run); } ||
    requires(C& c, Run& run) { c.on_train_end(run); } || requires(C& c, Run& run) { c.on_fit_end(run); } ||
    requires(C& c, Run& run) { c.on_step_end(run); } || requires(C& c, Run& run) { c.on_batch_end(run); } ||
    requires(C& c, Run& run) { c.on_train_batch_end(run); } || requires(C& c, Run& run) { c.on_validation_end(run); } ||
    requires(C& c, Run& run) { c.on_validation_epoch_end(run); };

template <class C, class Run>
inline constexpr bool validates = requires(C& c, Run& run) { c.on_validate(run); };

struct callback_message {
  template <class Found>
  static constexpr bool right() {
    static_assert(Found::is_there,
                  "fit: this object has none of the members on_resume, on_begin, on_epoch_begin, on_step, on_log, "
                  "on_validate, on_epoch, on_save and on_end, each called with the run: it is no callback; see "
                  "no_callback<type>");
    static_assert(!Found::is_there,
                  "fit: a callback has on_resume, on_begin, on_epoch_begin, on_step, on_log, on_validate, on_epoch, "
                  "on_save and on_end; a member of this one has a name that is never called, such as "
                  "on_epoch_end; see misnamed_callback<type>");
    return false;
  }
};
template <class C>
struct no_callback : callback_message {
  static constexpr bool is_there = false;
};
template <class C>
struct misnamed_callback : callback_message {
  static constexpr bool is_there = true;
};

struct large_batch_message {
  template <class Found>
  static constexpr bool right() {
    static_assert(is_right<Found>, "fit: a loader or a validation gives larger batches than the trainer was planned for; give it "
                                   "the trainer's batch<N>, or one below that; see larger_than_planned<type, its batch, the "
                                   "trainer's batch>");
    return false;
  }
};
template <class Giver, std::size_t Found, std::size_t Most>
struct larger_than_planned : large_batch_message {};

struct fit_message {
  template <class Found>
  static constexpr bool right() {
    static_assert(is_right<Found>,
                  "fit: expected a trainer, a loader, {options} and callbacks, in this order: fit(train, batches, "
                  "{.max_epochs = 20}, ...); see refused_fit<first, second>");
    return false;
  }
};
template <class First, class Second>
struct refused_fit : fit_message {};

// Refuses a loader or a validation with larger batches than the trainer's, if its type gives their size. The stand-in for a
// trainer after an error takes any.
template <class Giver, class Trainer>
constexpr bool fits_in() {
  using giver = std::remove_cvref_t<Giver>;
  if constexpr (requires {
                  giver::most_rows;
                  Trainer::plan::batch;
                }) {
    if constexpr (giver::most_rows > Trainer::plan::batch && !is_stand_in<typename Trainer::plan>)
      return refuse<larger_than_planned<giver, giver::most_rows, Trainer::plan::batch>>();
  }
  return true;
}
template <class C, class Trainer, class Loader>
constexpr bool right_callback() {
  using run = fit_run<Trainer, Loader>;
  if constexpr (has_foreign_names<C, run>) return refuse<misnamed_callback<C>>();
  else if constexpr (!is_callback<C, run> && !step_hook<C>) return refuse<no_callback<C>>();
  else return fits_in<C, Trainer>();
}

} // namespace cairn::detail
