// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <cairn/comm/long_wait.hpp>
#include <cairn/comm/mpi/message_transport.hpp>
#include <cairn/comm/mpi/progress_engine.hpp>
#include <cairn/comm/mpi/progress_thread.hpp>
#include <cairn/comm/termination.hpp>
#include <cairn/core/error.hpp>

namespace cairn::detail {

// A rank's communication thread, from the start of the job to its end.
template <class Transport>
class message_group {
  static_assert(message_transport<Transport>);

public:
  // make() returns the transport, on the communication thread. Throws what make() throws, and deadline_error if it takes longer
  // than the long deadline: then the thread is detached, as nothing can end it.
  template <class Make>
  message_group(const message_options& options, Make make) : shared_(std::make_shared<shared>(options)) {
    thread_ = std::thread([all = shared_, make = std::move(make)]() mutable { work(*all, make); });
    progress_engine& b = engine();
    long_wait begin(options.deadline, options.long_deadline);
    const std::string whose = std::string(Transport::name) + (options.told_place.empty() ? "" : ": " + options.told_place);
    // The last error text uses what was seen a little earlier, as the first process that gives up is gone by then.
    std::string who;
    bool has_looked = false;
    auto looked_at = long_wait::clock::now();
    const long_wait::clock::duration look_every =
        std::max<long_wait::clock::duration>(begin.limit() / 64, std::chrono::milliseconds(90));
    const auto look = [&](long_wait::clock::time_point now) {
      if (options.missing) who = options.missing();
      looked_at = now;
      has_looked = true;
    };
    const auto waits = [&] {
      look(long_wait::clock::now());
      return whose + ": the job has not begun, and waits for every process to join it" + (who.empty() ? "" : "; " + who);
    };
    while (!b.has_begun(begin.next_look())) {
      if (!begin.is_over(waits)) {
        if (const auto now = long_wait::clock::now(); now - looked_at >= look_every) look(now);
        continue;
      }
      thread_.detach();
      if (!has_looked) look(looked_at);
      throw deadline_error(whose + ": the job has not begun within " + std::to_string(begin.limit().count()) +
                           " ms: expected every process that was started to join it" +
                           (who.empty() ? "; is one late, stopped, or another program? It is a rank that says nothing of this"
                                        : ", found that " + who +
                                              "; a process that has not come has ended, is stopped, or is busy before it " +
                                              "makes its communicator: see what it printed"));
    }
    if (b.is_ready()) return;
    thread_.join();
    std::rethrow_exception(shared_->thrown);
  }
  message_group(const message_group&) = delete;
  message_group& operator=(const message_group&) = delete;
  ~message_group() {
    if (thread_.joinable()) end();
  }

  progress_engine& engine() const { return shared_->engine; }

private:
  struct shared {
    explicit shared(const message_options& options) : engine(options, std::string(Transport::name)) {}
    progress_engine engine;
    std::exception_ptr thrown{};
  };

  template <class Make>
  static void work(shared& all, Make& make) {
    progress_engine::thread_face face(all.engine);
    try {
      Transport transport = make();
      const termination_notice notice(face.bell());
      progress_thread<Transport> thread(all.engine, transport);
      face.begins_as(
          {std::string(Transport::name), transport.rank(), transport.size(), transport.local_rank(), transport.local_size()});
      thread.serve();
    } catch (const std::exception& fault) {
      all.thrown = std::current_exception(); // read only after ends() has been called
      face.fail(progress_engine::fault_kind::lost, fault.what());
    }
    face.ends();
  }

  // Ends the thread, or detaches it after the deadline: the transport's destructor may wait for other processes.
  void end() {
    if (engine().stop()) thread_.join();
    else thread_.detach();
  }

  std::shared_ptr<shared> shared_;
  std::thread thread_;
};

} // namespace cairn::detail
