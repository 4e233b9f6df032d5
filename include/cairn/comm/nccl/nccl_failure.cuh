// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/core/config.hpp>

#if !CAIRN_WITH_NCCL
#error "nccl_failure.cuh needs NCCL: link the CMake target cairn::nccl, or compile with -DCAIRN_WITH_NCCL=1 -lnccl"
#else

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nccl.h>

#include <cairn/comm/different_calls.hpp>
#include <cairn/comm/launch/chosen_ranks.hpp>
#include <cairn/core/error.hpp>

namespace cairn::detail {

// The first failure of a rank's communicator: its reason, and the kind of error that is thrown for it.
class nccl_failure {
public:
  enum class kind : unsigned char { lost, late, different, device };

  nccl_failure(kind what, std::string reason) : what_(what), reason_(std::move(reason)) {}
  // What NCCL reports, with its text.
  nccl_failure(ncclResult_t code, const std::string& text)
      : what_(kind_of(code)), reason_(("NCCL reports " + text).append(advice(code))) {}
  // An exception of the host's communicator.
  explicit nccl_failure(const error& thrown) : what_(kind_of(thrown)), reason_(thrown.what()) {}

  const std::string& reason() const { return reason_; }

  [[noreturn]] void rethrow(const std::string& where) const {
    const std::string text = where + reason_;
    if (what_ == kind::late) throw deadline_error(text);
    if (what_ == kind::different) throw input_error(text);
    if (what_ == kind::device) throw device_error(text);
    throw rank_lost(text);
  }

  // NCCL cannot say which rank is late. Ranks that have a communicator of the host tell each other the call that each waits in;
  // one that does not come is named by that communicator's own error, after its deadline. Ranks that have lost another one after
  // a long wait do so too: it was probably the first to give up.
  bool asks_others(bool has_waited_long) const { return what_ == kind::late || (what_ == kind::lost && has_waited_long); }
  void ask_others(any_rank& host, const told_call& own) noexcept {
    struct told {
      std::uint64_t number = 0;
      std::array<char, 248> text{};
    };
    try {
      told mine{own.number, {}};
      own.text.copy(mine.text.data(), mine.text.size() - 1);
      std::vector<told> all(static_cast<std::size_t>(host.size()));
      host.exchange(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)));
      std::vector<told_call> calls;
      bool differ = false;
      for (const told& one : all) {
        calls.push_back({one.number, one.text.data()});
        differ = differ || calls.back() != calls.front();
      }
      if (differ) {
        what_ = kind::different;
        reason_ = text_of_different_calls(calls);
      } else {
        reason_ += "; all ranks wait in this call, so the way between their GPUs is at fault: NCCL_DEBUG=WARN in the environment "
                   "makes NCCL say more";
      }
    } catch (const std::exception& thrown) {
      try {
        reason_.append("; ").append(thrown.what());
      } catch (...) { // no memory is left for the text
      }
    }
  }
  void say_that_nothing_knows() {
    if (what_ == kind::late || what_ == kind::lost)
      reason_ += "; which of the other ranks is late or lost is not known without a communicator of the host beside NCCL: see "
                 "what they print";
  }

private:
  static kind kind_of(ncclResult_t code) {
    switch (code) {
    case ncclUnhandledCudaError: return kind::device;
    case ncclInvalidArgument:
    case ncclInvalidUsage: return kind::different;
    default: return kind::lost;
    }
  }
  static kind kind_of(const error& thrown) {
    if (dynamic_cast<const deadline_error*>(&thrown) != nullptr) return kind::late;
    if (dynamic_cast<const input_error*>(&thrown) != nullptr) return kind::different;
    if (dynamic_cast<const device_error*>(&thrown) != nullptr) return kind::device;
    return kind::lost;
  }
  static std::string_view advice(ncclResult_t code) {
    switch (code) {
    case ncclUnhandledCudaError: return "; the GPU or its driver failed: NCCL_DEBUG=WARN in the environment makes NCCL say more";
    case ncclSystemError:
      return "; a network or the system failed: NCCL_DEBUG=WARN makes NCCL say more, NCCL_SOCKET_IFNAME chooses "
             "the network";
    case ncclInvalidUsage: return "; each rank needs a GPU of its own: see CUDA_VISIBLE_DEVICES and nccl::options::ordinal";
    default: return "";
    }
  }

  kind what_;
  std::string reason_;
};

} // namespace cairn::detail

#endif
