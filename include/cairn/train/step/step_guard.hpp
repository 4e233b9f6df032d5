// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <exception>
#include <string>

#include <cairn/core/error.hpp>
#include <cairn/train/step/one_thread.hpp>

namespace cairn::detail {

// What becomes of a trainer after a step that failed. Before gradients are made nothing has happened. From then on the
// step is given up; and if other ranks may have seen part of it, or parameters may have changed, the first failure is kept
// and every further step is refused with its text.
class step_guard {
public:
  // Runs step `number`. abandon() is called while an exception passes that came after enter().
  template <class Step, class Abandon>
  auto run(std::uint64_t number, const Step& step, const Abandon& abandon) {
    const one_thread::visit here(thread_, "trainer: a step");
    if (!failure_.empty())
      throw rank_lost("trainer: expected synchronize() on every rank before the next step, as one has failed: " + failure_);
    try {
      const on_the_way_out<Abandon> clean{*this, abandon};
      const auto loss = step();
      leave();
      return loss;
    } catch (const rank_lost& thrown) {
      const std::string text =
          in_step(number, thrown) + "; the job is over, unless every rank catches this and calls synchronize()";
      keep(text);
      throw rank_lost(text);
    } catch (const deadline_error& thrown) {
      const std::string text =
          in_step(number, thrown) + "; do all ranks make equally many steps, and is the communicator's deadline long enough?";
      keep(text);
      throw deadline_error(text);
    } catch (const input_error& thrown) {
      if (!inside_) throw; // what the program gave to this call does not fit, and nothing has happened
      const std::string text = in_step(number, thrown);
      keep(text);
      throw input_error(text);
    } catch (const device_error& thrown) {
      const device_error told = thrown.in_step(name_of(number));
      keep(told.what());
      throw told;
    } catch (const std::exception& thrown) {
      keep(thrown.what());
      throw;
    } catch (...) {
      keep("an exception that is no std::exception");
      throw;
    }
  }

  // From here on gradients are made. A failure is final if others see what this step does.
  void enter(bool is_final) {
    inside_ = true;
    is_final_ = is_final;
  }
  void leave() { inside_ = is_final_ = false; }
  void clear() { failure_.clear(); }
  // What was found only after the step: the next one is refused with it.
  void fail(const std::string& text) { failure_ = text; }

  // As an error's text begins.
  static std::string name_of(std::uint64_t number) { return "trainer, step " + std::to_string(number); }

private:
  // A pending may be destroyed unwaited only while an exception passes, so not by a handler.
  template <class Abandon>
  struct on_the_way_out {
    step_guard& guard;
    const Abandon& abandon;
    ~on_the_way_out() {
      if (guard.inside_) abandon();
    }
  };

  static std::string in_step(std::uint64_t number, const std::exception& thrown) {
    return name_of(number) + ": " + thrown.what();
  }
  void keep(const std::string& text) {
    if (is_final_) failure_ = text;
    leave();
  }

  one_thread thread_;
  bool inside_ = false;
  bool is_final_ = false;
  std::string failure_;
};

} // namespace cairn::detail
