// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/core/config.hpp>

#if !CAIRN_WITH_MPI
#error                                                                                                                           \
    "cairn/comm/mpi/mpi_transport.hpp needs an MPI: link the CMake target cairn::mpi, or compile with mpicxx -DCAIRN_WITH_MPI=1"
#else

#include <algorithm>
#include <array>
#include <chrono>
#include <climits>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#define OMPI_SKIP_MPICXX 1 // the C++ bindings that MPI-3 has removed
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <cairn/comm/launch/launch.hpp>
#include <cairn/comm/mpi/message_transport.hpp>
#include <cairn/core/deadline.hpp>
#include <cairn/core/error.hpp>
#include <cairn/device/cores.hpp>

namespace cairn::detail {

// Messages over MPI, from MPI_Init to MPI_Finalize: see the concept message_transport. One thread constructs, uses and destroys
// it, so that MPI_THREAD_FUNNELED is enough. If the program has initialised MPI itself it must be MPI_THREAD_SERIALIZED or more,
// and MPI is left as it was found.
class mpi_transport {
public:
  static constexpr std::string_view name = "mpi";
  struct request {
    MPI_Request value = MPI_REQUEST_NULL;
  };
  static_assert(sizeof(request) == sizeof(MPI_Request));

  // A message has at most `most_bytes` bytes, and no more than an int can count, as MPI does. `told` is the launcher's report
  // from before MPI has begun: an MPI that was not launched sets some of those variables itself.
  mpi_transport(std::size_t most_bytes, const launch& told) : most_bytes_(std::min<std::size_t>(most_bytes, INT_MAX)) {
    void* most_tag = nullptr;
    int found = 0;
    check(MPI_Comm_rank(world_.all, &rank_), "MPI_Comm_rank");
    check(MPI_Comm_size(world_.all, &size_), "MPI_Comm_size");
    check(MPI_Comm_rank(world_.here, &local_rank_), "MPI_Comm_rank");
    local_size_ = ranks_that_share_cores();
    check(MPI_Comm_get_attr(world_.all, MPI_TAG_UB, &most_tag, &found), "MPI_Comm_get_attr");
    if (found != 0) most_tag_ = *static_cast<int*>(most_tag);
    indices_.resize(4 * static_cast<std::size_t>(size_));
    statuses_.resize(indices_.size());
    compare_with(told);
  }
  mpi_transport(const mpi_transport&) = delete;
  mpi_transport& operator=(const mpi_transport&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  int local_rank() const { return local_rank_; }
  int local_size() const { return local_size_; }
  int most_tag() const { return most_tag_; }
  std::size_t most_bytes() const { return most_bytes_; }

  void send(request& r, int to, int tag, const std::byte* from, std::size_t bytes) {
    check(MPI_Isend(from, static_cast<int>(bytes), MPI_BYTE, to, tag, world_.all, &r.value), "MPI_Isend");
  }
  void receive(request& r, int from, int tag, std::byte* to, std::size_t bytes) {
    check(MPI_Irecv(to, static_cast<int>(bytes), MPI_BYTE, from, tag, world_.all, &r.value), "MPI_Irecv");
  }
  void sum(request& r, std::span<float> span) { sum(r, span.data(), span.size(), MPI_FLOAT); }
  void sum(request& r, std::span<double> span) { sum(r, span.data(), span.size(), MPI_DOUBLE); }

  std::size_t finished(std::span<request> requests, std::span<finished_request> over) {
    int count = 0;
    const int error =
        MPI_Testsome(static_cast<int>(requests.size()), &requests.data()->value, &count, indices_.data(), statuses_.data());
    if (error != MPI_SUCCESS && error != MPI_ERR_IN_STATUS) check(error, "MPI_Testsome");
    if (count == MPI_UNDEFINED) return 0;
    for (int i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      over[at] = {static_cast<std::size_t>(indices_[at]), bytes_of(statuses_[at], error)};
    }
    return static_cast<std::size_t>(count);
  }
  bool is_open(const request& r) const { return r.value != MPI_REQUEST_NULL; }

  std::optional<incoming_message> probe(int from, int tag) {
    int there = 0, bytes = 0;
    MPI_Status status;
    check(MPI_Iprobe(from == any_rank_sends ? MPI_ANY_SOURCE : from, tag, world_.all, &there, &status), "MPI_Iprobe");
    if (there == 0) return {};
    check(MPI_Get_count(&status, MPI_BYTE, &bytes), "MPI_Get_count");
    return incoming_message{status.MPI_SOURCE, static_cast<std::size_t>(bytes)};
  }

  void cancel(request& r) {
    if (!is_open(r)) return;
    check(MPI_Cancel(&r.value), "MPI_Cancel");
    running_deadline<std::chrono::steady_clock> give_up(std::chrono::seconds(1));
    for (int done = 0; done == 0;) {
      check(MPI_Test(&r.value, &done, MPI_STATUS_IGNORE), "MPI_Test");
      if (done == 0 && give_up.is_over())
        abort("mpi: rank " + std::to_string(rank_) + ": a message that is half received can neither be ended nor given up");
    }
  }
  void forget(request& r) {
    if (is_open(r)) check(MPI_Request_free(&r.value), "MPI_Request_free");
  }

  [[noreturn]] void abort(const std::string& text) {
    std::fprintf(stderr, "%s\n", text.c_str());
    std::fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, 1);
    std::_Exit(1);
  }

private:
  // MPI itself, and communicators of our own, so that messages of the program cannot be taken for ours.
  struct world {
    MPI_Comm all = MPI_COMM_NULL;
    MPI_Comm here = MPI_COMM_NULL; // the ranks of this machine
    bool is_ours = false;

    world() {
      int is_over = 0, has_begun = 0, level = 0;
      MPI_Finalized(&is_over);
      if (is_over != 0)
        throw input_error(
            "mpi: expected an MPI that can be started, found one that is finalized, which no process may start again; "
            "make one cairn::mpi and call its run() as often as needed");
      MPI_Initialized(&has_begun);
      if (has_begun == 0) {
        check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &level), "MPI_Init_thread");
        is_ours = true;
        if (level < MPI_THREAD_FUNNELED) throw_after_end("mpi: expected an MPI for programs with threads, found one without");
      } else {
        MPI_Query_thread(&level);
        if (level < MPI_THREAD_SERIALIZED)
          throw input_error(
              "mpi: expected an MPI of MPI_THREAD_SERIALIZED or more, as another thread of this program calls it, found "
              "one that the program has initialised with less; ask MPI_Init_thread for MPI_THREAD_SERIALIZED, or "
              "leave MPI_Init to cairn::mpi");
      }
      check(MPI_Comm_dup(MPI_COMM_WORLD, &all), "MPI_Comm_dup");
      MPI_Comm_set_errhandler(all, MPI_ERRORS_RETURN);
      check(MPI_Comm_split_type(all, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here), "MPI_Comm_split_type");
    }
    world(const world&) = delete;
    world& operator=(const world&) = delete;
    ~world() {
      MPI_Comm_free(&here);
      MPI_Comm_free(&all);
      if (is_ours) MPI_Finalize();
    }
    [[noreturn]] static void throw_after_end(const char* text) {
      MPI_Finalize();
      throw input_error(text);
    }
  };

  static void check(int error, const char* call) {
    if (error == MPI_SUCCESS) return;
    std::array<char, MPI_MAX_ERROR_STRING> text{};
    int length = 0;
    MPI_Error_string(error, text.data(), &length);
    throw cairn::error(std::string("mpi: ") + call + " failed: " + text.data());
  }
  void sum(request& r, void* data, std::size_t count, MPI_Datatype type) {
    check(MPI_Iallreduce(MPI_IN_PLACE, data, static_cast<int>(count), type, MPI_SUM, world_.all, &r.value), "MPI_Iallreduce");
  }
  static std::size_t bytes_of(const MPI_Status& status, int error) {
    if (error == MPI_ERR_IN_STATUS && status.MPI_ERROR != MPI_SUCCESS) {
      int kind = 0;
      MPI_Error_class(status.MPI_ERROR, &kind);
      if (kind != MPI_ERR_TRUNCATE) check(status.MPI_ERROR, "MPI_Testsome");
      return finished_request::too_many;
    }
    int bytes = 0;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    return static_cast<std::size_t>(bytes);
  }

  // The number of ranks on this machine that share this rank's cores: a launcher may have bound each rank to its own.
  int ranks_that_share_cores() const {
    int here = 1;
    check(MPI_Comm_size(world_.here, &here), "MPI_Comm_size");
    const core_set own = core_set::usable();
    std::vector<core_set> all(static_cast<std::size_t>(here));
    check(MPI_Allgather(&own, sizeof own, MPI_BYTE, all.data(), sizeof own, MPI_BYTE, world_.here), "MPI_Allgather");
    return own.shared_by(all);
  }

  // Throws if another launcher has started processes that MPI has not joined: each would train alone.
  void compare_with(const launch& told) const {
    if (told.size == size_) return;
    throw input_error("mpi: expected MPI to have joined the " + std::to_string(told.size) + " processes that " +
                      std::string(launcher_name(told.by)) + " has started, found " + std::to_string(size_) +
                      "; start the program with this MPI's own mpirun, or under Slurm with srun --mpi=pmix or --mpi=pmi2");
  }

  world world_;
  std::size_t most_bytes_;
  int rank_ = 0, size_ = 1, local_rank_ = 0, local_size_ = 1;
  int most_tag_ = 32767;
  std::vector<int> indices_;
  std::vector<MPI_Status> statuses_;
};

} // namespace cairn::detail

#endif
