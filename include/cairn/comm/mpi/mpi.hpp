// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/core/config.hpp>

#if !CAIRN_WITH_MPI
#error "cairn/comm/mpi/mpi.hpp needs an MPI: link the CMake target cairn::mpi, or compile with mpicxx -DCAIRN_WITH_MPI=1"
#else

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <cairn/comm/communicator.hpp>
#include <cairn/comm/launch/launch.hpp>
#include <cairn/comm/mpi/message_group.hpp>
#include <cairn/comm/mpi/message_rank.hpp>
#include <cairn/comm/mpi/message_run.hpp>
#include <cairn/comm/mpi/mpi_transport.hpp>
#include <cairn/comm/mpi/roll_call.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/memory.hpp>

namespace cairn {

// One rank in each process that mpirun or srun has started: mpi{}.run([&](mpi::rank& rank) { … }) calls the body once in each
// process, on the caller's thread. It can be run again.
//
// If all processes run on one Linux machine, a trainer's gradients lie in memory that they share: each rank sums its part in
// place, and messages only synchronize. Elsewhere, and if the system does not permit that, messages carry the gradients.
//
// The constructor initialises MPI and the destructor finalizes it, both on a communication thread that makes all calls of
// MPI. MPI can be started once in a process. A program that has initialised MPI itself, with MPI_THREAD_SERIALIZED or more,
// keeps it; with MPI_THREAD_SERIALIZED it calls MPI only while no mpi object lives.
//
// An mpi object belongs to one thread at a time. Its rank belongs to the thread that called run().
class mpi {
public:
  using rank = detail::message_rank<detail::mpi_transport>;

  // The order in which the ranks' elements are added.
  enum class order : unsigned char {
    of_ranks, // ((rank 0 + rank 1) + rank 2) + …, as with threads: the bits depend on the elements only
    any,      // as MPI_Iallreduce does, which takes fewer messages from about 64 ranks on. A call that can no longer complete
              // ends the job: MPI gives its memory back in no other way
  };

  struct options {
    // How long a wait for other ranks lasts at most. Time in which this process is stopped does not count.
    std::chrono::milliseconds deadline{30'000};
    // The most calls in flight; each takes about 100 bytes.
    std::size_t max_in_flight = 4096;
    order sums = order::of_ranks;
    // The most bytes of a message, at most 2^31 - 1. Longer messages are cut.
    std::size_t message_bytes = 1_GiB;
    // The deadline where one rank rightly works alone while others wait for it: when rank 0 reads or writes a state, in the first
    // call of a trainer, before which a rank may read its data, and at the beginning of the job. After `deadline` a line on
    // stderr reports the wait.
    std::chrono::milliseconds long_deadline{600'000};
    // How long run() waits for the bodies of the other ranks after this one's has ended: they may save or evaluate. After
    // `deadline` a line on stderr names those that have not ended, after this one run() throws deadline_error.
    std::chrono::milliseconds end_deadline{24 * 3'600'000};
  };

  // Throws input_error if MPI cannot be used here, or has not joined the processes that a launcher has started; deadline_error if
  // one of them does not begin.
  mpi() : mpi(options{}) {}
  explicit mpi(options chosen)
      : group_(checked(chosen),
               [bytes = chosen.message_bytes, told = launched()] { return detail::mpi_transport(bytes, told); }) {}

  // Ranks of the job.
  int size() const { return group_.engine().here().size; }

  // When a body throws, waits on all other ranks throw rank_lost with its text, and run throws rank_lost on every rank, so that
  // every process ends with an error. A body that does not return is waited for until options::end_deadline; if something has
  // failed, only until the deadline, and then the job is ended.
  template <std::invocable<rank&> Body>
  void run(Body&& body) const {
    detail::run_as_rank<detail::mpi_transport>(group_.engine(), body);
  }

private:
  static detail::message_options checked(const options& chosen) {
    if (chosen.max_in_flight < 1) throw input_error("mpi: max_in_flight is 0, but must be 1 or more");
    if (chosen.deadline.count() < 1) throw input_error("mpi: the deadline must be 1 ms or more");
    if (chosen.message_bytes < 64)
      throw input_error("mpi: message_bytes is " + std::to_string(chosen.message_bytes) + ", but must be 64 or more");
    if (chosen.long_deadline.count() < 1 || chosen.end_deadline.count() < 1)
      throw input_error("mpi: the long deadline and that of the end must be 1 ms or more");
    const launch told = launched();
    return {chosen.deadline,
            chosen.max_in_flight,
            chosen.sums == order::any,
            chosen.long_deadline,
            chosen.end_deadline,
            told.size > 1 ? "rank " + std::to_string(told.rank) + " of " + std::to_string(told.size) : std::string(),
            called(told)};
  }

  // Returns a function that names the processes of this machine that are missing, for use until MPI has joined them; an empty one
  // if the launcher does not say which processes are on this machine.
  static std::function<std::string()> called(const launch& told) {
    const std::string job = detail::roll_call::job_of([](const char* variable) { return std::getenv(variable); });
    if (told.size == 1 || job.empty() || !told.local_rank || !told.local_size) return {};
    const bool is_one_machine = *told.local_size == told.size;
    const auto all = std::make_shared<detail::roll_call>(job, is_one_machine ? told.rank : *told.local_rank, *told.local_size,
                                                         is_one_machine ? "rank" : "this machine's local rank");
    return [all] { return all->missing(); };
  }

  // The launcher's report. If MPI has already begun, PMIX_ variables are ignored: without a launcher MPI sets PMIX_RANK itself.
  static launch launched() {
    int has_begun = 0;
    MPI_Initialized(&has_begun);
    return launch::from([has_begun](const char* variable) -> const char* {
      return has_begun != 0 && std::string_view(variable).starts_with("PMIX_") ? nullptr : std::getenv(variable);
    });
  }

  detail::message_group<detail::mpi_transport> group_;
};

static_assert(communicator<mpi::rank>);

} // namespace cairn

#endif
