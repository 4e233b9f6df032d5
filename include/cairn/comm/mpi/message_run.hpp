// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <thread>

#include <cairn/comm/long_wait.hpp>
#include <cairn/comm/mpi/message_rank.hpp>
#include <cairn/comm/mpi/progress_engine.hpp>
#include <cairn/comm/termination.hpp>
#include <cairn/core/error.hpp>

namespace cairn::detail {

// Delays the exit: a launcher that sees a process end with an error may no longer pass on what the others print.
inline void linger_at_exit() {
  static const bool once = std::atexit([] { std::this_thread::sleep_for(std::chrono::milliseconds(200)); }) == 0;
  static_cast<void>(once);
}

// Calls the body with this process's rank, and returns when the bodies of all ranks have ended. If one threw, it throws rank_lost
// on every rank. Where an exception began, the error has its text; elsewhere it has not, so that a user who sees what all ranks
// print reads the text once. A rank's own exception is nested in the error. If a rank does not end after another has failed, the
// job is ended.
template <class Transport, class Body>
void run_as_rank(progress_engine& engine, Body& body) {
  message_rank<Transport> self(engine);
  std::exception_ptr thrown;
  std::string text;
  try {
    body(self);
  } catch (const std::exception& fault) {
    thrown = std::current_exception();
    text = fault.what();
  } catch (...) {
    thrown = std::current_exception();
    text = "something that is no std::exception";
  }
  const run_outcome out = engine.leave(thrown ? &text : nullptr);
  const std::string cause = "because rank " + std::to_string(out.first_to_throw) + " threw";
  std::string whole = engine.whose();
  if (thrown && (!out.this_rank_follows || out.first_to_throw == engine.here().rank || out.first_to_throw < 0))
    whole += " threw: " + text;
  else if (thrown) whole += ": it was stopped, " + cause + "; what that rank prints says why";
  else whole += ": its work was done, but the job failed, " + cause;

  if (termination_notice::arrived()) {
    std::fprintf(stderr, "%s\n", whole.c_str());
    std::fflush(stderr);
    termination_notice::end_process();
  }
  if (out.is_end_late)
    throw deadline_error(engine.whose() + ": its work was done, but the body of " + out.late + " has not ended within " +
                         text_of(engine.options().end_deadline) +
                         " after it; is it stuck, or is options::end_deadline too short?");
  if (!out.late.empty())
    engine.abort(whole + "; " + out.late + " did not end within the deadline after that, so the job is ended");
  if (!thrown && out.first_to_throw < 0) {
    if (engine.failed()) engine.throw_reason(engine.whose() + ": its work was done, but the job failed, because ");
    return;
  }
  linger_at_exit();
  if (!thrown) throw rank_lost(whole);
  try {
    std::rethrow_exception(thrown);
  } catch (...) {
    std::throw_with_nested(rank_lost(whole));
  }
}

} // namespace cairn::detail
