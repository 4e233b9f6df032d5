// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/core/config.hpp>

#if !CAIRN_WITH_NCCL
#error "nccl_rank.cuh needs NCCL: link the CMake target cairn::nccl, or compile with -DCAIRN_WITH_NCCL=1 -lnccl"
#else

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <cairn/comm/call_purpose.hpp>
#include <cairn/comm/communicator.hpp>
#include <cairn/comm/exchange.hpp>
#include <cairn/comm/launch/chosen_ranks.hpp>
#include <cairn/comm/launch/launch.hpp>
#include <cairn/comm/nccl/nccl_failure.cuh>
#include <cairn/comm/nccl/nccl_handle.cuh>
#include <cairn/comm/nccl/nccl_options.cuh>
#include <cairn/comm/nccl/nccl_stream.cuh>
#include <cairn/comm/nccl/nccl_work.cuh>
#include <cairn/comm/nccl/open_calls.cuh>
#include <cairn/comm/nccl/ordered_sum.cuh>
#include <cairn/comm/numbered_call.hpp>
#include <cairn/comm/rank_call.hpp>
#include <cairn/core/deadline.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/memory.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/device/cuda.cuh>
#include <cairn/device/cuda/in_use.cuh>
#include <cairn/device/wait_on_host.hpp>

namespace cairn::detail {

// A rank with a GPU of its own, and its communicator; called nccl::rank. It is built beside a communicator of the host, which
// carries the id, the handshake and the news of failures, and knows which rank is late; or without one, where NCCL connects by
// itself. All ranks of the job are built together. It belongs to one thread at a time.
//
// Spans are summed on the GPU, in place, by a stream of its own: a call reads its span after what the caller's queue holds, and
// wait() puts a wait on that queue. The host never waits for a sum. With one rank every call is the identity, without NCCL.
class nccl_rank {
public:
  static constexpr std::string_view name = "nccl";

  // A ticket that an exception destroys before wait aborts this rank's communicator, so that the GPU no longer uses its span.
  using ticket = numbered_call<nccl_rank>;

  // `host` may be a threads::rank, an mpi::rank, a loopback::rank, an any_rank or your own communicator, and must outlive this.
  // Throws device_error without a GPU, and input_error if this machine has fewer GPUs than ranks.
  template <communicator<cpu::queue> Host>
    requires(!std::same_as<Host, nccl_rank>)
  explicit nccl_rank(Host& host, const nccl_options& given = {})
      : nccl_rank(any_rank(host), place{host.rank(), host.size(), place_here(host), static_cast<int>(ranks_here(host))}, given) {}
  // Without a communicator of the host: the variable NCCL_COMM_ID is the address at which rank 0 listens; nccl{}.run sets it.
  explicit nccl_rank(const launch& here, const nccl_options& given = {})
      : nccl_rank(std::nullopt, place{here.rank, here.size, here.local_rank.value_or(here.rank), here.local_size.value_or(0)},
                  given) {}
  nccl_rank(const nccl_rank&) = delete;
  nccl_rank& operator=(const nccl_rank&) = delete;
  ~nccl_rank() {
    if (!handle_.is_open()) return;
    try {
      if (std::uncaught_exceptions() > exceptions_) return; // the handle aborts
      const gpu_in_use now = stream_->use();
      handle_.finalize(options_.deadline, [this] { check_host(); });
    } catch (...) { // the handle aborts
    }
  }

  int rank() const { return here_.rank; }
  int size() const { return here_.size; }
  int local_rank() const { return here_.local_rank; }
  int local_size() const { return std::max(1, here_.local_size); }
  // The GPU of this rank; a trainer's device must be on it, which is so unless options::ordinal says otherwise.
  int ordinal() const { return ordinal_; }
  // For a summary, which is made before there are ranks.
  static constexpr std::string_view orders_of_sums =
      "in the order of the ranks on one machine of at most 8, else in NCCL's; nccl::options::sums chooses";
  nccl_order sums() const { return sums_; }
  std::string_view called() const { return name_of_sums(sums_); }

  ticket all_reduce(cuda::queue& queue, std::span<float> span) { return sum(rank_call::kind::sum_float, queue, span); }
  ticket all_reduce(cuda::queue& queue, std::span<double> span) { return sum(rank_call::kind::sum_double, queue, span); }
  ticket broadcast(cuda::queue& queue, std::span<std::byte> bytes, int root) {
    if (root < 0 || root >= size())
      throw input_error("nccl: broadcast from rank " + std::to_string(root) + ", but the ranks are 0 to " +
                        std::to_string(size() - 1));
    return start({rank_call::kind::broadcast, root, bytes.data(), bytes.size()}, queue,
                 [&] { settle(work_->broadcast(bytes.data(), bytes.size(), root)); });
  }

  // The bytes are in the host's memory, and go over the host's communicator, if there is one.
  void exchange(std::span<const std::byte> own, std::span<std::byte> all) {
    check_exchange(name, own.size(), all.size(), size());
    if (size() == 1) std::copy(own.begin(), own.end(), all.begin());
    else if (host_) with_host([&] { host_->exchange(own, all); });
    else exchange_by_gpu(own, all);
  }

  // Throws rank_lost, device_error or deadline_error if a call has failed or has been open for longer than the deadline, or if
  // the host's communicator has failed.
  void check() {
    if (failure_) failure_->rethrow(whose() + ": it cannot go on, because ");
    check_host();
    if (!handle_.is_open()) return;
    if (const ncclResult_t code = handle_.state(); code != ncclSuccess && code != ncclInProgress) fail(code, calls_->oldest());
    const auto waits = [this](std::uint64_t call) {
      return whose() + " waits for other ranks in " + calls_->asked(call).text_with_purpose();
    };
    if (calls_->is_late(options_.deadline, options_.long_deadline, waits)) fail_late(*calls_->oldest());
  }

  // Makes calls possible again after one has failed. All ranks call it, and wait in it for each other; unless none has failed,
  // they join anew. Earlier pendings are lost. The host's communicator must recover, as threads do, or not have failed itself.
  // Throws what that one throws, deadline_error if a rank does not come, device_error if its GPU has failed.
  void recover() {
    if (size() == 1) return;
    const calls_for recovery(*this, {.word = "recovery of nccl", .may_take_long = true});
    if (host_) with_host([&] { host_->recover(); });
    if (!has_one_failed()) return;
    give_up(nccl_failure(nccl_failure::kind::lost, "the ranks recover"));
    if (calls_->oldest())
      throw device_error(whose() + ": expected its GPU to leave the calls that have failed, found it in them");
    calls_->give_up();
    failure_.reset();
    join();
    connect();
  }

  // Allocates the scratch of the ordered sum: about as many bytes.
  void reserve(std::size_t bytes) {
    if (size() == 1 || sums_ != nccl_order::fixed) return;
    const std::size_t needed = equal_parts::scratch_bytes(bytes, static_cast<std::size_t>(size()));
    if (needed <= scratch_.size()) return;
    wait_until_done(options_.deadline); // its calls may use the memory that is freed
    scratch_ = {};
    scratch_ = cuda::memory(ordinal_, needed, stream_->get());
  }

  // Sets the purpose of the calls from here on, which errors name; returns the previous one.
  call_purpose purpose(const call_purpose& next) {
    if (host_) host_->purpose(next);
    in_purpose_ = 0;
    return std::exchange(purpose_, next);
  }

private:
  friend ticket;
  struct place {
    int rank, size, local_rank, local_size; // local_size 0: not known
  };
  static constexpr std::size_t piece_bytes = 4096; // of a rank in an exchange without a host

  nccl_rank(std::optional<any_rank> host, const place& here, const nccl_options& given)
      : host_(std::move(host)), here_(here), options_(checked(given)),
        ordinal_(gpu_of_rank(here.rank, here.size, here.local_rank, given.ordinal)),
        sums_(given.sums.value_or(here.size <= 8 && here.local_size == here.size ? nccl_order::fixed : nccl_order::nccl)) {
    if (size() == 1) return;
    stream_.emplace(ordinal_);
    calls_.emplace(*stream_, options_.max_in_flight);
    work_.emplace(handle_, *stream_, rank(), size());
    const auto ranks = static_cast<std::size_t>(size());
    pieces_ = cuda::memory(ordinal_, ranks * piece_bytes, stream_->get());
    pinned_ = cuda::host_memory(ordinal_, ranks * piece_bytes, stream_->get());
    const calls_for handshake(*this, {.word = "handshake of nccl", .may_take_long = true});
    if (host_) compare();
    join();
    if (!host_) compare();
    connect();
  }

  // Gives all ranks rank 0's id, and joins them.
  void join() {
    std::pair<ncclUniqueId, ncclResult_t> own{};
    const gpu_in_use now = stream_->use();
    if (rank() == 0 || !host_) own.second = ncclGetUniqueId(&own.first);
    if (host_) own = of_all(own)[0];
    if (own.second != ncclSuccess) fail(own.second, {});
    settle(handle_.join(rank(), size(), own.first));
  }
  // Makes one small call of each kind, in which NCCL connects: in the calls of steps no rank then waits for another one's call.
  void connect() {
    reserve(static_cast<std::size_t>(size()) * alignment);
    const auto numbers = reinterpret_cast<float*>(pieces_.data());
    const std::uint64_t call = begin({rank_call::kind::sum_float, 0, numbers, 16 * static_cast<std::size_t>(size())});
    put_sum(numbers, calls_->asked(call).count);
    settle(work_->broadcast(pieces_.data(), piece_bytes, 0));
    settle(work_->gather(pieces_.data(), piece_bytes));
    calls_->record(call);
    wait_until_done(options_.long_deadline);
  }
  // What all ranks give, by rank.
  template <class T>
  std::vector<T> of_all(const T& own) {
    std::vector<T> all(static_cast<std::size_t>(size()));
    exchange(std::as_bytes(std::span(&own, 1)), std::as_writable_bytes(std::span(all)));
    return all;
  }
  void compare() { check_alike(of_all(nccl_kind{static_cast<int>(sums_), nccl_handle::version()})); }
  // Whether a rank has failed, or has started other calls than this one; without a host that is not known.
  bool has_one_failed() {
    if (!host_) return true;
    const auto all = of_all(std::pair(calls_->started(), failed()));
    return std::any_of(all.begin(), all.end(), [&](const auto& of) { return of.second || of.first != all[0].first; });
  }

  template <class T>
  ticket sum(rank_call::kind what, cuda::queue& queue, std::span<T> span) {
    if (size() > 1 && sums_ == nccl_order::fixed && !failure_) reserve(span.size_bytes());
    return start({what, 0, span.data(), span.size()}, queue, [&] { put_sum(span.data(), span.size()); });
  }
  template <class Put>
  ticket start(const rank_call& asked, cuda::queue& queue, const Put& put) {
    if (size() == 1) return {};
    refuse_other_gpu(queue);
    const std::uint64_t call = begin(asked);
    stream_->wait(queue.record());
    if (asked.count > 0) put();
    calls_->record(call);
    return {*this, call};
  }
  std::uint64_t begin(rank_call asked) {
    asked.purpose = purpose_;
    const auto told = [&] {
      return whose() + ", " + open_calls::text_of(calls_->started(), asked, in_purpose_ + 1) + "it cannot start, because ";
    };
    if (failure_) failure_->rethrow(told());
    if (!calls_->has_room())
      throw input_error(told() + std::to_string(calls_->capacity()) +
                        " calls are in flight; wait for some of them first, or raise nccl::options::max_in_flight");
    return calls_->start(asked, ++in_purpose_);
  }
  void refuse_other_gpu(const cuda::queue& queue) const {
    if (queue.ordinal() != ordinal_)
      throw input_error(whose() + ": expected a queue of its GPU, " + std::to_string(ordinal_) + ", found one of GPU " +
                        std::to_string(queue.ordinal()) + "; give the trainer .ordinal = rank.ordinal()");
  }

  // Puts the sum on the stream; throws if it cannot.
  template <class T>
  void put_sum(T* span, std::size_t count) {
    if (sums_ == nccl_order::nccl) return settle(work_->sum(span, count));
    const equal_parts parts(count, sizeof(T), static_cast<std::size_t>(size()));
    T* const received = reinterpret_cast<T*>(scratch_.data());
    settle(work_->swap(span, received, parts));
    work_->add(span, received, parts);
    if (parts.each > 0) settle(work_->gather(span, parts.each));
  }
  void settle(ncclResult_t code) {
    const std::chrono::milliseconds limit = purpose_.may_take_long ? options_.long_deadline : options_.deadline;
    code = handle_.settle(code, limit, [this] { check_host(); });
    const std::uint64_t started = calls_->started();
    if (code == ncclInProgress) fail_late(started == 0 ? 0 : started - 1);
    if (code != ncclSuccess) fail(code, started == 0 ? std::nullopt : std::optional(started - 1));
  }

  void exchange_by_gpu(std::span<const std::byte> own, std::span<std::byte> all) {
    const auto ranks = static_cast<std::size_t>(size());
    for (std::size_t first = 0; first < own.size(); first += piece_bytes) {
      const std::size_t count = std::min(piece_bytes, own.size() - first);
      const std::uint64_t call = begin({rank_call::kind::exchange, 0, all.data(), count, own.data(), nullptr});
      std::memcpy(pinned_.data(), own.data() + first, count);
      stream_->copy(pieces_.data() + static_cast<std::size_t>(rank()) * count, pinned_.data(), count, cudaMemcpyHostToDevice);
      settle(work_->gather(pieces_.data(), count));
      stream_->copy(pinned_.data(), pieces_.data(), ranks * count, cudaMemcpyDeviceToHost);
      calls_->record(call);
      wait_until_done(limit_of(calls_->asked(call)));
      for (std::size_t other = 0; other < ranks; ++other)
        std::memcpy(all.data() + other * own.size() + first, pinned_.data() + other * count, count);
    }
  }
  // Returns when no call of this rank is open; check() ends the wait after the deadline of the oldest.
  void wait_until_done(std::chrono::milliseconds deadline) {
    if (calls_->started() == 0) return;
    const std::uint64_t last = calls_->started() - 1;
    running_deadline<open_calls::clock> give_up(deadline);
    const pause_between_questions<cuda::queue> pause;
    while (!calls_->over(last)) {
      check();
      if (give_up.is_over()) fail_late(*calls_->oldest());
      pause();
    }
  }

  // For tickets.
  void wait(std::uint64_t call, cuda::queue& queue) {
    if (failure_) failure_->rethrow(prefix(call) + "it is not over, because ");
    if (calls_->is_lost(call)) throw rank_lost(prefix(call) + "it was given up before the ranks recovered");
    refuse_other_gpu(queue);
    if (const ncclResult_t code = handle_.state(); code != ncclSuccess && code != ncclInProgress) fail(code, call);
    queue.wait({calls_->event_of(call)});
  }
  bool over(std::uint64_t call) { return failure_ || calls_->over(call); }
  bool failed() const { return failure_.has_value(); }
  void drop(std::uint64_t call) noexcept {
    try {
      if (failure_ || calls_->over(call)) return;
      give_up(nccl_failure(nccl_failure::kind::lost, "this rank gave up a call, as an exception passed"));
    } catch (...) { // the GPU has failed: it uses nothing any more
    }
  }

  std::chrono::milliseconds limit_of(const rank_call& asked) const {
    return asked.purpose.may_take_long ? options_.long_deadline : options_.deadline;
  }
  std::string whose() const { return "nccl: rank " + std::to_string(rank()) + " of " + std::to_string(size()); }
  // "nccl: rank 0 of 2, call 12, all_reduce of 96 float (step 3, its call 2): "
  std::string prefix(std::uint64_t call) const { return whose() + ", " + calls_->text_of(call); }

  // Calls the host's communicator. If that has failed, so has this one.
  template <class Call>
  void with_host(const Call& call) {
    try {
      call();
    } catch (const error& thrown) {
      const nccl_failure why(thrown);
      const std::optional<std::uint64_t> open = handle_.is_open() ? calls_->oldest() : std::nullopt;
      give_up(why);
      why.rethrow(open ? prefix(*open) : std::string());
    }
  }
  void check_host() {
    if (host_) with_host([&] { host_->check(); });
  }

  // Ends this rank's communicator, once. Afterwards the GPU does not use the spans of its calls.
  void give_up(nccl_failure why) noexcept {
    if (failure_) return;
    failure_.emplace(std::move(why));
    try {
      const gpu_in_use now = stream_->use();
      handle_.abort();
      if (calls_->started() == 0) return;
      running_deadline<open_calls::clock> late(options_.deadline);
      const pause_between_questions<cuda::queue> pause;
      while (!calls_->over(calls_->started() - 1) && !late.is_over()) pause();
    } catch (...) { // the GPU has failed, and uses nothing any more
      handle_.abort();
    }
  }
  [[noreturn]] void fail(ncclResult_t code, const std::optional<std::uint64_t>& call) {
    nccl_failure why(code, handle_.text_of(code));
    fail(std::move(why), call);
  }
  [[noreturn]] void fail_late(std::uint64_t call) {
    const bool has_begun = calls_->started() > 0;
    const std::chrono::milliseconds limit = has_begun ? limit_of(calls_->asked(call)) : options_.long_deadline;
    fail(nccl_failure(nccl_failure::kind::late, (has_begun ? "it was not over within " : "the ranks have not joined within ") +
                                                    std::to_string(limit.count()) + " ms"),
         has_begun ? std::optional(call) : std::nullopt);
  }
  [[noreturn]] void fail(nccl_failure why, const std::optional<std::uint64_t>& call) {
    const std::string where = call ? prefix(*call) : whose() + ": ";
    const bool has_waited_long = call && calls_->age(*call) > limit_of(calls_->asked(*call)) / 2;
    give_up(why);
    if (host_ && why.asks_others(has_waited_long))
      why.ask_others(*host_, call ? told_call{*call, calls_->asked(*call).text_with_purpose()} : told_call{0, "none"});
    else if (!host_) why.say_that_nothing_knows();
    failure_ = why;
    why.rethrow(where);
  }

  std::optional<any_rank> host_;
  place here_;
  nccl_options options_;
  int ordinal_;
  nccl_order sums_;
  int exceptions_ = std::uncaught_exceptions();
  std::optional<nccl_stream> stream_{}; // none with one rank
  std::optional<open_calls> calls_{};
  std::optional<nccl_work> work_{};
  cuda::memory scratch_{}, pieces_{};
  cuda::host_memory pinned_{};
  call_purpose purpose_{};
  std::uint64_t in_purpose_ = 0; // the number of calls since the purpose was set
  std::optional<nccl_failure> failure_{};
  nccl_handle handle_{};
};

static_assert(communicator<nccl_rank, cuda::queue>);

} // namespace cairn::detail

#endif
