// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include <cairn/comm/long_wait.hpp>
#include <cairn/comm/mpi/message_board.hpp>
#include <cairn/comm/mpi/message_server.hpp>
#include <cairn/comm/mpi/message_transport.hpp>
#include <cairn/comm/termination.hpp>
#include <cairn/core/error.hpp>

namespace cairn::detail {

// A rank's communication thread, from the start of the job to its end.
template <class Transport>
class message_group {
  static_assert(message_transport<Transport>);

public:
  // make() gives the transport, on the communication thread. Throws what it throws; and deadline_error if it takes longer
  // than the long deadline: then the thread is left to itself, as nothing can end it.
  template <class Make>
  message_group(const message_options& options, Make make) : shared_(std::make_shared<shared>(options)) {
    shared_->board.here_.name = Transport::name;
    thread_ = std::thread([all = shared_, make = std::move(make)]() mutable { work(*all, make); });
    message_board& b = board();
    std::unique_lock lock(b.mutex_);
    long_wait begin(options.deadline, options.long_deadline);
    const std::string whose = std::string(Transport::name) + (options.told_place.empty() ? "" : ": " + options.told_place);
    // What is told at the end was seen a little before it, as the first that gives up is gone.
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
    while (!b.told_rank_.wait_until(lock, begin.next_look(), [&] { return b.is_ready_ || b.has_ended_; })) {
      if (!begin.is_over(waits)) {
        if (const auto now = long_wait::clock::now(); now - looked_at >= look_every) look(now);
        continue;
      }
      lock.unlock();
      thread_.detach();
      if (!has_looked) look(looked_at);
      throw deadline_error(whose + ": the job has not begun within " + std::to_string(begin.limit().count()) +
                           " ms: expected every process that was started to join it" +
                           (who.empty() ? "; is one late, stopped, or another program? It is a rank that says nothing of this"
                                        : ", found that " + who +
                                              "; a process that has not come has ended, is stopped, or is busy before it " +
                                              "makes its communicator: see what it printed"));
    }
    if (b.is_ready_) return;
    lock.unlock();
    thread_.join();
    std::rethrow_exception(shared_->thrown);
  }
  message_group(const message_group&) = delete;
  message_group& operator=(const message_group&) = delete;
  ~message_group() {
    if (thread_.joinable()) end();
  }

  message_board& board() const { return shared_->board; }

private:
  struct shared {
    explicit shared(const message_options& options) : board(options) {}
    message_board board;
    std::exception_ptr thrown{};
  };

  template <class Make>
  static void work(shared& all, Make& make) {
    message_board& b = all.board;
    std::exception_ptr thrown;
    try {
      Transport transport = make();
      const termination_notice notice(b.bell_);
      message_server<Transport> server(b, transport);
      {
        const std::lock_guard lock(b.mutex_);
        b.here_ = {b.here_.name, transport.rank(), transport.size(), transport.local_rank(), transport.local_size()};
        b.is_ready_ = true;
      }
      b.told_rank_.notify_all();
      server.serve();
    } catch (const std::exception& fault) {
      thrown = std::current_exception();
      b.fail(message_board::fault_kind::lost, fault.what());
    }
    {
      const std::lock_guard lock(b.mutex_);
      all.thrown = thrown;
      b.is_quiet_ = true;
      b.has_ended_ = true;
    }
    b.told_rank_.notify_all();
  }

  // The transport's destructor may wait for other processes.
  void end() {
    message_board& b = board();
    std::unique_lock lock(b.mutex_);
    b.stopping_ = true;
    b.ring();
    if (auto give_up = b.deadline(); wait_within(give_up, b.told_rank_, lock, [&] { return b.has_ended_; })) {
      lock.unlock();
      thread_.join();
    } else {
      thread_.detach();
    }
  }

  std::shared_ptr<shared> shared_;
  std::thread thread_;
};

} // namespace cairn::detail
