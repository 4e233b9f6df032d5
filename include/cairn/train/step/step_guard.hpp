// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <exception>
#include <string>

#include <cairn/core/error.hpp>
#include <cairn/plan/step/left_behind.hpp>
#include <cairn/train/step/one_thread.hpp>

namespace cairn::detail {

// Decides how a trainer goes on after a step that failed. The op in which the exception came says what it leaves behind
// (plan/step/left_behind.hpp). If no step may follow, the first failure is kept, and every further step is refused with its
// text.
class step_guard {
public:
  // Runs step `number`. left() returns what an exception leaves behind. If that includes gradients, abandon() is called while
  // the exception passes.
  template <class Step, class Left, class Abandon>
  auto run(std::uint64_t number, const Step& step, const Left& left, const Abandon& abandon) {
    const one_thread::visit here(thread_, "trainer: a step");
    if (!failure_.empty())
      throw rank_lost("trainer: expected synchronize() on every rank before the next step, as one has failed: " + failure_);
    try {
      const on_the_way_out<Left, Abandon> clean{left, abandon};
      return clean.is_made(step());
    } catch (...) {
      fail_with(number, left());
    }
  }

  void clear() { failure_.clear(); }
  // Keeps a failure that was found only after the step. The next step is refused with it.
  void fail(const std::string& text) { failure_ = text; }

  // The beginning of an error's text.
  static std::string name_of(std::uint64_t number) { return "trainer, step " + std::to_string(number); }

private:
  // Abandons a step in a destructor, not in a handler: a pending may be destroyed unwaited only while an exception passes.
  template <class Left, class Abandon>
  struct on_the_way_out {
    const Left& left;
    const Abandon& abandon;
    mutable bool made = false;

    template <class Loss>
    Loss is_made(const Loss& loss) const {
      made = true;
      return loss;
    }
    ~on_the_way_out() {
      if (!made && left().gradients) abandon();
    }
  };

  // Throws the exception that is being handled once more, with the step and what to do, and keeps it.
  [[noreturn]] void fail_with(std::uint64_t number, const left_behind& found) {
    try {
      throw;
    } catch (const rank_lost& thrown) {
      const std::string text =
          in_step(number, thrown) + "; the job is over, unless every rank catches this and calls synchronize()";
      keep(found, text);
      throw rank_lost(text);
    } catch (const deadline_error& thrown) {
      const std::string text =
          in_step(number, thrown) + "; do all ranks make equally many steps, and is the communicator's deadline long enough?";
      keep(found, text);
      throw deadline_error(text);
    } catch (const input_error& thrown) {
      if (!found.gradients || found.by_all) throw; // what the program gave does not fit, and no parameter has changed
      const std::string text = in_step(number, thrown);
      keep(found, text);
      throw input_error(text);
    } catch (const device_error& thrown) {
      const device_error told = thrown.in_step(name_of(number));
      keep(found, told.what());
      throw told;
    } catch (const std::exception& thrown) {
      keep(found, thrown.what());
      throw;
    } catch (...) {
      keep(found, "an exception that is no std::exception");
      throw;
    }
  }
  static std::string in_step(std::uint64_t number, const std::exception& thrown) {
    return name_of(number) + ": " + thrown.what();
  }
  void keep(const left_behind& found, const std::string& text) {
    if (found.is_final) failure_ = text;
  }

  one_thread thread_;
  std::string failure_;
};

} // namespace cairn::detail
