// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/core/config.hpp>

#if !CAIRN_WITH_NCCL
#error "nccl_handle.cuh needs NCCL: link the CMake target cairn::nccl, or compile with -DCAIRN_WITH_NCCL=1 -lnccl"
#else

#include <chrono>
#include <string>
#include <thread>

#include <nccl.h>

#include <cairn/core/deadline.hpp>

namespace cairn::detail {

// An ncclComm_t that does not block: calls return before they are on their stream, and settle() asks until they are. It is ended
// once, by finalize() or abort(), and never used after that.
class nccl_handle {
public:
  using clock = std::chrono::steady_clock;

  nccl_handle() = default;
  nccl_handle(const nccl_handle&) = delete;
  nccl_handle& operator=(const nccl_handle&) = delete;
  ~nccl_handle() { abort(); }

  // Begins to join the ranks that have the same id; settle() ends it. The GPU is the calling thread's current one.
  ncclResult_t join(int rank, int size, const ncclUniqueId& id) {
    ncclConfig_t how = NCCL_CONFIG_INITIALIZER;
    how.blocking = 0;
    return ncclCommInitRankConfig(&comm_, size, id, rank, &how);
  }
  ncclComm_t get() const { return comm_; }
  static int version() {
    int found = 0;
    static_cast<void>(ncclGetVersion(&found));
    return found;
  }
  bool is_open() const { return comm_ != nullptr; }

  // The communicator's state: an error of a call that was made earlier, or ncclInProgress while a call is not on its stream yet.
  ncclResult_t state() const {
    ncclResult_t found = ncclSuccess;
    const ncclResult_t asked = ncclCommGetAsyncError(comm_, &found);
    return asked == ncclSuccess ? found : asked;
  }

  // Returns the result of a call that returned `code`, once it is known: ncclInProgress only if it is not known at the deadline.
  // check() is called meanwhile, and may throw.
  template <class Check>
  ncclResult_t settle(ncclResult_t code, std::chrono::milliseconds deadline, const Check& check) const {
    if (comm_ == nullptr) return code;
    if (code == ncclSuccess || code == ncclInProgress) code = state();
    if (code != ncclInProgress) return code;
    running_deadline<clock> give_up(deadline);
    const clock::time_point begun = clock::now();
    while ((code = state()) == ncclInProgress) {
      check();
      if (give_up.is_over()) return code;
      // Most calls are on their stream within microseconds; the first ones connect, which takes seconds.
      if (clock::now() - begun > std::chrono::microseconds(50)) std::this_thread::sleep_for(std::chrono::microseconds(20));
      else std::this_thread::yield();
    }
    return code;
  }

  // Frees everything and ends the kernels that still run, on this rank alone. Never call it twice: NCCL has freed the memory.
  void abort() noexcept {
    if (comm_ != nullptr) static_cast<void>(ncclCommAbort(comm_));
    comm_ = nullptr;
  }
  // Waits until all calls of all ranks are done, then frees everything; aborts if that fails, or takes longer than the deadline.
  template <class Check>
  void finalize(std::chrono::milliseconds deadline, const Check& check) {
    if (comm_ == nullptr) return;
    if (settle(ncclCommFinalize(comm_), deadline, check) != ncclSuccess) return abort();
    static_cast<void>(ncclCommDestroy(comm_));
    comm_ = nullptr;
  }

  // "remote process exited or there was a network error (…)", with NCCL's own last words.
  std::string text_of(ncclResult_t code) const {
    const char* const told = ncclGetLastError(comm_);
    std::string last = told == nullptr ? "" : told; // it may end with a newline
    while (!last.empty() && (last.back() == '\n' || last.back() == ' ')) last.pop_back();
    const std::string text = ncclGetErrorString(code);
    return last.empty() ? text : text + " (" + last + ")";
  }

private:
  ncclComm_t comm_ = nullptr;
};

} // namespace cairn::detail

#endif
