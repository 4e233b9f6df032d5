// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <cuda_runtime_api.h>

#include <cairn/core/config.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/memory.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/device/cuda/error.cuh>
#include <cairn/device/cuda/graphs.cuh>
#include <cairn/device/cuda/in_use.cuh>
#include <cairn/device/cuda/memory.cuh>
#include <cairn/device/cuda/noted_run.cuh>
#include <cairn/device/cuda/products.cuh>
#include <cairn/device/device.hpp>

namespace cairn {

// An NVIDIA GPU. device_options::ordinal says which one, counted from 0 in the order of CUDA_VISIBLE_DEVICES.
//
// It has three streams, for computing, for copies of batches to it, and for copies of gradients to the host; none is the default
// stream. In a step nothing is allocated, and the host waits only where the trainer does. Everything that ops need is allocated
// when the device is made: four streams, their events, and 76 MiB of the GPU for partial results.
//
// Ops put on compute() are noted, and go to the GPU at a seam: where the queue records, waits, finishes, copies from or to the
// host, or is asked for its stream. What is between two seams is a run, and a run that comes again is one launch of a CUDA graph
// (device/cuda/graphs.cuh). So, as on every device whose work is done later, memory that an op uses is freed after a wait for
// that op. With device_options::graphs = false each op goes to the GPU in its call.
class cuda {
public:
  class queue;
  using options = types::device_options;
  using memory = detail::cuda_block<detail::on_gpu>;
  using host_memory = detail::cuda_block<detail::pinned_on_host>;

  // A place in a queue. After 64 more record() calls on the same queue it means a later place. An event that was not recorded
  // counts as reached.
  struct event {
    cudaEvent_t place = nullptr;
  };

  // Throws if there is no such GPU.
  explicit cuda(const options& given = {});
  cuda(cuda&&) noexcept;
  cuda& operator=(cuda&&) noexcept;
  ~cuda();

  // The number of GPUs that this program can use: 0 if there is none, or no driver.
  static int count() {
    int found = 0;
    if (cudaGetDeviceCount(&found) == cudaSuccess) return found;
    static_cast<void>(cudaGetLastError()); // clears the error: no GPU is a valid answer
    return 0;
  }

  queue& compute() { return *compute_; }
  queue& transfers() { return *transfers_; }
  queue& downloads() { return *downloads_; }
  // While the result lives, this GPU is the calling thread's current one, so that ops need not choose it each time.
  [[nodiscard]] detail::gpu_in_use in_use() const { return {ordinal_, "a pass"}; }
  memory allocate(std::size_t bytes);
  host_memory staging(std::size_t bytes);
  int ordinal() const { return ordinal_; }
  // What compute() has put on the GPU so far: ops by a call each, and graphs.
  detail::cuda_statistics statistics() const;

  // The memory of the GPU that its queues allocate for partial results. Without graphs it is 32 MiB less.
  static constexpr std::size_t scratch_bytes(std::size_t threads);

private:
  static int checked(int ordinal);

  int ordinal_;
  // On the heap, so that a cuda can move while ops hold a reference to a queue.
  std::unique_ptr<queue> compute_, transfers_, downloads_;
};

// A stream and the resources that its ops need. One thread at a time may use it.
class cuda::queue : public ops::queue {
public:
  class stopwatch;
  static constexpr bool shares_memory = false;

  queue(int ordinal, bool computes, bool graphs = false) : ordinal_(ordinal) {
    const detail::gpu_in_use now(ordinal, "a queue");
    detail::check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "a queue");
    try {
      for (cudaEvent_t& e : ring_) detail::check_cuda(cudaEventCreateWithFlags(&e, cudaEventDisableTiming), "a queue");
      if (!computes) return;
      partial_ = memory(ordinal, partial_bytes + kept_bytes, stream_);
      products_.emplace(ordinal, stream_);
      if (graphs) graphs_.emplace(ordinal, stream_);
    } catch (...) {
      give_back();
      throw;
    }
  }
  queue(const queue&) = delete;
  queue& operator=(const queue&) = delete;
  ~queue() { give_back(); }

  event record() {
    const detail::gpu_in_use now = here("record");
    put_noted();
    const cudaEvent_t next = ring_[next_++ % ring_.size()];
    detail::check_cuda(cudaEventRecord(next, stream_), "record");
    return {next};
  }
  void wait(const event& e) {
    if (e.place == nullptr) return;
    const detail::gpu_in_use now = here("wait");
    put_noted();
    detail::check_cuda(cudaStreamWaitEvent(stream_, e.place, cudaEventWaitDefault), "wait");
  }
  // Puts nothing on the GPU: everything before the event is there since it was recorded.
  bool reached(const event& e) const {
    if (e.place == nullptr) return true;
    const detail::gpu_in_use now = here(last_);
    const cudaError_t code = cudaEventQuery(e.place);
    if (code == cudaErrorNotReady) { // not an error, but cudaGetLastError() would still return it
      static_cast<void>(cudaGetLastError());
      return false;
    }
    check_done(code);
    return true;
  }
  void finish() {
    const detail::gpu_in_use now = here(last_);
    put_noted();
    check_done(cudaStreamSynchronize(stream_));
  }

  // For your own kernels: const auto now = queue.use("my_op"); kernel<<<blocks, threads, 0, queue.stream()>>>(...). This is a
  // seam, so such kernels are in no graph; those of start() are.
  cudaStream_t stream() {
    put_noted();
    return stream_;
  }
  int ordinal() const { return ordinal_; }

  // Whether products of floats may round their operands to 10 bits of mantissa, which is several times as fast; the same as
  // torch.backends.cuda.matmul.allow_tf32.
  bool allow_tf32() const { return allows_tf32_; }
  void allow_tf32(bool allowed) { allows_tf32_ = allowed; }

  // Keep the result around every runtime call for an op: the calling thread may have chosen another GPU, which is its current
  // one again afterwards. `op` is a string literal.
  [[nodiscard]] detail::gpu_in_use use(const char* op) {
    put_noted();
    last_ = op;
    return here(op);
  }
  // The same around every other runtime call.
  [[nodiscard]] detail::gpu_in_use here(const char* what) const { return {ordinal_, what}; }
  // Puts a kernel that takes one argument on the queue. The argument is copied byte by byte.
  template <class Argument>
  void start(const char* op, const void* kernel, std::size_t blocks, unsigned threads, const Argument* argument) {
    check_blocks(op, blocks);
    const auto grid = static_cast<unsigned>(blocks);
    if (graphs_) return note([&] { run_.add(op, kernel, grid, threads, *argument); });
    const detail::gpu_in_use now = use(op);
    detail::start_kernel(op, kernel, grid, threads, argument, stream_);
    ++ops_;
  }
  // The same for a product, or a copy from the GPU to itself: see detail::kind_of_work.
  template <class Work>
  void put(const char* op, const Work& work) {
    if (graphs_) return note([&] { run_.add(op, work); });
    const detail::gpu_in_use now = use(op);
    work(op, place());
    ++ops_;
  }

  // Memory for the partial sums of one op, followed by memory for results that its next kernel reads. Only the queue compute()
  // has it.
  static constexpr std::size_t partial_bytes = 8_MiB, kept_bytes = 4_MiB;
  std::span<double> partial(const char* op) const {
    check_computes(op);
    return {reinterpret_cast<double*>(partial_.data()), partial_bytes / sizeof(double)};
  }
  std::span<double> kept(const char* op, std::size_t count) const {
    check_computes(op);
    if (count > kept_bytes / sizeof(double))
      throw error("cuda, " + std::string(op) + ": expected at most " + std::to_string(kept_bytes / sizeof(double)) +
                  " sums, found " + std::to_string(count) + "; cut the layer into several");
    return {reinterpret_cast<double*>(partial_.data() + partial_bytes), count};
  }
  detail::cuda_statistics statistics() const { return graphs_ ? graphs_->statistics() : detail::cuda_statistics{.ops = ops_}; }
  detail::cuda_products& products(const char* op) {
    check_computes(op);
    return *products_;
  }

private:
  static void check_blocks(const char* op, std::size_t blocks) {
    constexpr std::size_t most = 0x7FFFFFFF;
    if (blocks > 0 && blocks <= most) [[likely]]
      return;
    throw error("cuda, " + std::string(op) + ": expected 1 to " + std::to_string(most) + " blocks of threads, found " +
                std::to_string(blocks) + "; give fewer elements at a time");
  }
  void check_computes(const char* op) const {
    if (products_) [[likely]]
      return;
    throw error("cuda, " + std::string(op) + ": expected the queue compute(), found transfers() or downloads(), which copy only");
  }
  static constexpr std::size_t most_noted = 4096; // a run ends there, so that notes do not grow for ever

  template <class Add>
  void note(const Add& add) {
    add();
    if (run_.size() == most_noted) put_noted();
  }
  // Puts the run that was noted on the GPU. If an op fails, those after it are dropped.
  void put_noted() {
    if (run_.size() == 0) [[likely]]
      return;
    struct at_end {
      detail::noted_run& run;
      ~at_end() { run.clear(); }
    };
    const at_end cleared{run_};
    const char* const last_op = run_[run_.size() - 1].op;
    last_ = last_op;
    last_graph_ = nullptr; // its name lasts until another run is put
    const detail::gpu_in_use now = here(last_op);
    last_ = graphs_->put(run_, place());
    if (last_ != last_op) last_graph_ = last_;
  }
  detail::cuda_place place() const {
    return products_ ? detail::cuda_place{stream_, products_->handle(), products_->workspace()}
                     : detail::cuda_place{.stream = stream_};
  }
  // Checks what the GPU has done: the failed op is the last one put on the queue, or an earlier one.
  void check_done(cudaError_t code) const {
    if (code == cudaSuccess) [[likely]]
      return;
    const bool is_after_graph = last_graph_ != nullptr && last_graph_ != last_;
    detail::check_cuda(code, is_after_graph ? (last_ + std::string(" after ") + last_graph_).c_str() : last_);
  }
  void give_back() {
    const detail::gpu_in_use now(ordinal_);
    if (!now.is_current()) return;
    for (const cudaEvent_t e : ring_)
      if (e != nullptr) cudaEventDestroy(e);
    cudaStreamDestroy(stream_);
  }

  int ordinal_;
  cudaStream_t stream_ = nullptr;
  std::array<cudaEvent_t, 64> ring_{};
  std::size_t next_ = 0;
  const char* last_ = "a queue";
  const char* last_graph_ = nullptr; // the name of the last run, if it was a graph
  bool allows_tf32_ = false;
  memory partial_;
  std::optional<detail::cuda_products> products_;
  detail::noted_run run_;
  std::optional<detail::cuda_graphs> graphs_;
  std::uint64_t ops_ = 0; // put there without graphs
};

// Measures work on a queue by the GPU's clock, which counts in half microseconds.
class cuda::queue::stopwatch {
public:
  static constexpr std::int64_t least = 50'000; // shorter times include a kernel's launch, which in a step overlaps other work
  stopwatch(queue& timed, std::size_t most) : queue_(timed) {
    places_.reserve(most);
    while (places_.size() < most) add();
  }
  stopwatch(const stopwatch&) = delete;
  stopwatch& operator=(const stopwatch&) = delete;
  ~stopwatch() {
    const detail::gpu_in_use now(queue_.ordinal_);
    if (!now.is_current()) return;
    for (const cudaEvent_t e : places_) cudaEventDestroy(e);
  }

  std::size_t mark() {
    if (next_ == places_.size()) add();
    const detail::gpu_in_use now = queue_.here("stopwatch");
    queue_.put_noted();
    detail::check_cuda(cudaEventRecord(places_[next_], queue_.stream_), "stopwatch");
    return next_++;
  }
  std::int64_t nanoseconds(std::size_t k) const {
    float milliseconds = 0;
    detail::check_cuda(cudaEventElapsedTime(&milliseconds, places_[0], places_[k]), "stopwatch");
    return std::llround(static_cast<double>(milliseconds) * 1e6);
  }
  void restart() { next_ = 0; }

private:
  void add() {
    const detail::gpu_in_use now = queue_.here("stopwatch");
    cudaEvent_t made = nullptr;
    detail::check_cuda(cudaEventCreateWithFlags(&made, cudaEventDefault), "stopwatch");
    places_.push_back(made);
  }

  queue& queue_;
  std::vector<cudaEvent_t> places_;
  std::size_t next_ = 0;
};

constexpr std::size_t cuda::scratch_bytes(std::size_t) {
  return queue::partial_bytes + queue::kept_bytes + 2 * detail::cuda_products::workspace_bytes;
}
inline int cuda::checked(int ordinal) {
  int found = 0;
  const cudaError_t code = cudaGetDeviceCount(&found);
  if (code != cudaSuccess || found == 0)
    throw device_error(std::string("cuda: expected a GPU, found none that this program can use (") +
                       (code == cudaSuccess ? "no device is visible" : cudaGetErrorString(code)) + "); " +
                       detail::advice_for(cudaErrorNoDevice));
  if (ordinal >= 0 && ordinal < found) return ordinal;
  throw input_error("cuda: expected an ordinal of 0 to " + std::to_string(found - 1) + ", as this program sees " +
                    std::to_string(found) + " GPUs, found " + std::to_string(ordinal) + "; see CUDA_VISIBLE_DEVICES");
}

inline cuda::cuda(const options& given)
    : ordinal_(checked(given.ordinal)), compute_(std::make_unique<queue>(ordinal_, true, given.graphs)),
      transfers_(std::make_unique<queue>(ordinal_, false)), downloads_(std::make_unique<queue>(ordinal_, false)) {}
inline cuda::cuda(cuda&&) noexcept = default;
inline cuda& cuda::operator=(cuda&&) noexcept = default;
inline cuda::~cuda() = default;
inline detail::cuda_statistics cuda::statistics() const { return compute_->statistics(); }
inline cuda::memory cuda::allocate(std::size_t bytes) { return memory(ordinal_, bytes, compute_->stream()); }
inline cuda::host_memory cuda::staging(std::size_t bytes) { return host_memory(ordinal_, bytes, compute_->stream()); }

static_assert(device<cuda> && detail::tells_time<cuda::queue>);

} // namespace cairn
