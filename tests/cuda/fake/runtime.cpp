// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include <cairn/device/cuda/launch.cuh>

#include "../../train/apart.hpp"
#include "graphs.hpp"
#include "state.hpp"

namespace fake {

namespace {

// The calling host thread's clock: what it puts on a stream begins no earlier than the work that it has waited for has ended.
std::uint64_t& time_of_host() {
  thread_local moment own;
  if (own.since != now().resets) own = {0, now().resets};
  return own.nanoseconds;
}
// Moves the clock on to that moment, if it is earlier.
void set_behind(std::uint64_t& clock, const std::shared_ptr<moment>& at) {
  if (at != nullptr && at->since == now().resets) clock = std::max(clock, at->nanoseconds);
}
event& of(cudaEvent_t e) { return *reinterpret_cast<event*>(e); }
// Sets bytes of a GPU. Whole pages that become zero are given back to the system, which makes them anew where they are used: to
// open and close memory is slow if its pages are all there, and a GPU has 44 MiB for partial results.
void set(void* to, int value, std::size_t bytes) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE)), first = reinterpret_cast<std::uintptr_t>(to);
  const std::uintptr_t begin = (first + page - 1) / page * page, end = (first + bytes) / page * page;
  if (value != 0 || begin >= end) {
    std::memset(to, value, bytes);
    return;
  }
  std::memset(to, 0, begin - first);
  ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
  std::memset(reinterpret_cast<void*>(end), 0, first + bytes - end);
}

} // namespace

state& now() {
  static state only;
  return only;
}

const counts& counted() { return now().counted; }
std::size_t blocks() { return now().memory.size(); }
int gpus_of_machine() {
  const char* const given = std::getenv("FAKE_GPUS");
  return given == nullptr ? 2 : std::atoi(given);
}
void gpus(int count) { now().gpus = count; }
std::size_t calls(const std::string& function) { return now().calls[function]; }
void refuse(cublasLtEpilogue_t epilogue, bool only_when_checked) {
  (only_when_checked ? now().unchecked : now().refused).insert(epilogue);
}
void forget_patch(std::size_t patch) { now().forgotten_patch = patch; }
void fail(const std::string& function, std::size_t call, int code) {
  const one_call call_of_test;
  now().failures[function] = {call, code};
}
std::uint64_t clock() {
  const one_call call;
  while (now().order.run_one()) {
  }
  std::uint64_t latest = 0;
  for (const auto& [queue, time] : now().clocks) latest = std::max(latest, time);
  return latest;
}
void reset(std::uint64_t seed) {
  state& s = now();
  const one_call call;
  while (s.order.run_one()) {
  }
  s.counted = {};
  s.calls.clear();
  s.failures.clear();
  s.refused.clear();
  s.unchecked.clear();
  s.gpus = fake::gpus_of_machine();
  s.clocks.clear();
  s.forgotten_patch = ~std::size_t{0};
  ++s.resets;
  s.order.seed(seed);
}

int entered(const char* function) {
  state& s = now();
  ++s.calls[function];
  const auto found = s.failures.find(function);
  if (found == s.failures.end()) return 0;
  if (found->second.call-- > 0) return 0;
  const int code = found->second.code;
  s.failures.erase(found);
  return code;
}

void state::open(bool readable) {
  is_open = readable;
  for (const auto& [first, size] : memory) ::mprotect(first, size, readable ? PROT_READ | PROT_WRITE : PROT_NONE);
}
bool state::owns(const void* at) const {
  auto* const address = const_cast<std::byte*>(static_cast<const std::byte*>(at));
  auto next = memory.upper_bound(address);
  return next != memory.begin() && (--next, address < next->first + next->second);
}
bool state::is_pinned(const void* at) const {
  const auto* const address = static_cast<const std::byte*>(at);
  auto next = pinned.upper_bound(address);
  return next != pinned.begin() && (--next, address < next->first + next->second);
}
bool state::may_use(cudaStream_t stream) const {
  if (stream == nullptr) return true;
  const auto found = gpu_of_stream.find(reinterpret_cast<std::uintptr_t>(stream) - 1);
  return found != gpu_of_stream.end() && found->second == current_gpu();
}
int& current_gpu() {
  thread_local int own = 0;
  return own;
}
cudaError_t& last_error() {
  thread_local cudaError_t own = cudaSuccess;
  return own;
}

// Work of streams that runs in a call opens the device's memory, and the end of the call closes it. To open and close it for each
// piece of work took half of the time of all tests.
one_call::one_call() { now().only_one.lock(); }
one_call::~one_call() {
  if (now().is_open) now().open(false);
  now().only_one.unlock();
}
void count(counter of) {
  counts& own = now().counted;
  ++(of == counter::products   ? own.products
     : of == counter::made     ? own.made
     : of == counter::asked    ? own.asked
     : of == counter::graphs   ? own.graphs
     : of == counter::captures ? own.captures
                               : own.patches);
}
bool is_refused(cublasLtEpilogue_t epilogue, bool is_check) {
  return now().refused.contains(epilogue) || (is_check && now().unchecked.contains(epilogue));
}
bool owns(const void* at) { return now().owns(at); }
void* contents(const void* at) { return const_cast<void*>(at); }
bool may_use(cudaStream_t stream) { return now().may_use(stream); }

// The device's memory is open while the work runs. What it touches is not needed here: memory that is no block's is closed.
void put_on(cudaStream_t stream, std::uint64_t nanoseconds, std::function<void()> work, const std::vector<range>&) {
  state& s = now();
  if (stream == nullptr) ++s.counted.default_stream;
  const std::size_t queue = s.queue_of(stream);
  s.order.put(queue, [=, asked = time_of_host(), work = std::move(work)](cairn::cpu::queue&) {
    std::uint64_t& clock = now().clocks[queue];
    clock = std::max(clock, asked) + nanoseconds;
    if (!now().is_open) now().open(true);
    work();
  });
}

std::size_t argument_bytes(const void* kernel) { return static_cast<const cairn::detail::kernel_of_host*>(kernel)->bytes; }
std::uint64_t time_of(const launch& given) { return time_of_launch(given.blocks * given.threads); }
std::function<void()> work_of(const launch& given) {
  return [given] {
    const bool backwards = ++now().kernels_run % 2 == 0;
    static_cast<const cairn::detail::kernel_of_host*>(given.kernel)->run(given.argument.data(), given.blocks, backwards);
  };
}
place place_of(cudaStream_t stream) {
  const std::size_t queue = now().queue_of(stream);
  const auto made = std::make_shared<event>();
  made->time = std::make_shared<moment>();
  now().order.put(queue, [queue, at = made->time](cairn::cpu::queue&) { *at = {now().clocks[queue], now().resets}; });
  made->place = now().order.record(queue);
  return made;
}
void wait_for(cudaStream_t stream, const place& at) {
  const event& e = *static_cast<const event*>(at.get());
  const std::size_t queue = now().queue_of(stream);
  now().order.wait(queue, e.place);
  now().order.put(queue, [queue, time = e.time](cairn::cpu::queue&) { set_behind(now().clocks[queue], time); });
}
cudaStream_t stream_of_branch() { return reinterpret_cast<cudaStream_t>(now().order.add_queue() + 1); }
bool forgets_patch() { return now().forgotten_patch-- == 0; }

} // namespace fake

using fake::entered, fake::now, fake::of;

#define ENTER()                                                                                                                  \
  const fake::one_call call_of_runtime;                                                                                          \
  if (const int code = entered(__func__); code != 0) return static_cast<cudaError_t>(code)

extern "C" {

const char* cudaGetErrorName(cudaError_t code) {
  return code == cudaErrorMemoryAllocation ? "cudaErrorMemoryAllocation" : "cudaError";
}
const char* cudaGetErrorString(cudaError_t) { return "as the fake runtime was told"; }

cudaError_t cudaGetDeviceCount(int* count) {
  ENTER();
  *count = now().gpus;
  return *count == 0 ? fake::last_error() = cudaErrorNoDevice : cudaSuccess;
}
cudaError_t cudaSetDevice(int ordinal) {
  ENTER();
  if (ordinal < 0 || ordinal >= now().gpus) return cudaErrorInvalidDevice;
  fake::current_gpu() = ordinal;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* ordinal) {
  ENTER();
  *ordinal = fake::current_gpu();
  return cudaSuccess;
}
cudaError_t cudaPeekAtLastError() { return fake::last_error(); }
cudaError_t cudaGetLastError() { return std::exchange(fake::last_error(), cudaSuccess); }

// The block, rounded up to 256 bytes, ends where a page begins that nothing can access.
cudaError_t cudaMalloc(void** block, std::size_t bytes) {
  ENTER();
  if (fake::refused_in_capture()) return fake::last_error() = cudaErrorStreamCaptureUnsupported;
  ++now().counted.allocations;
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t whole = (bytes + page - 1) / page * page, aligned = (bytes + 255) / 256 * 256;
  void* const at = ::mmap(nullptr, whole + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return cudaErrorMemoryAllocation;
  auto* const first = static_cast<std::byte*>(at);
  now().memory[first] = whole;
  *block = first + whole - aligned;
  return cudaSuccess;
}
cudaError_t cudaFree(void* block) {
  ENTER();
  ++now().counted.allocations;
  while (now().order.run_one()) { // as the real one waits for the device
  }
  auto next = now().memory.upper_bound(static_cast<std::byte*>(block));
  if (next == now().memory.begin()) return cudaErrorInvalidValue;
  --next;
  ::munmap(next->first, next->second + static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)));
  now().memory.erase(next);
  return cudaSuccess;
}
cudaError_t cudaHostAlloc(void** block, std::size_t bytes, unsigned) {
  ENTER();
  ++now().counted.allocations;
  *block = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (*block == nullptr) return cudaErrorMemoryAllocation;
  now().pinned[static_cast<std::byte*>(*block)] = bytes;
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void* block) {
  ENTER();
  ++now().counted.allocations;
  while (now().order.run_one()) {
  }
  if (now().pinned.erase(static_cast<std::byte*>(block)) == 0) return cudaErrorInvalidValue;
  std::free(block);
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  ENTER();
  ++now().counted.made;
  if (flags != cudaStreamNonBlocking) return cudaErrorInvalidValue; // any other stream would wait for the default one
  const std::size_t queue = now().order.add_queue();
  now().gpu_of_stream[queue] = fake::current_gpu();
  *stream = reinterpret_cast<cudaStream_t>(queue + 1);
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  ENTER();
  if (stream == nullptr || now().gpu_of_stream.erase(now().queue_of(stream)) == 0) return cudaErrorInvalidResourceHandle;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  ENTER();
  if (fake::spoil_capture_of(stream)) return fake::last_error() = cudaErrorStreamCaptureUnsupported;
  ++now().counted.waits;
  const std::size_t queue = now().queue_of(stream);
  now().order.run_until(now().order.record(queue));
  fake::time_of_host() = std::max(fake::time_of_host(), now().clocks[queue]);
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t e, unsigned) {
  ENTER();
  if (const auto code = fake::captured_wait(stream, e)) return fake::last_error() = *code;
  const std::size_t queue = now().queue_of(stream);
  now().order.wait(queue, of(e).place);
  now().order.put(queue, [queue, at = of(e).time](cairn::cpu::queue&) { fake::set_behind(now().clocks[queue], at); });
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* e, unsigned flags) {
  ENTER();
  ++now().counted.made;
  *e = reinterpret_cast<cudaEvent_t>(new fake::event{{}, {}, (flags & cudaEventDisableTiming) == 0, fake::current_gpu()});
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t e) {
  ENTER();
  delete &of(e);
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t stream) {
  ENTER();
  if (stream == nullptr) ++now().counted.default_stream;
  if (!now().may_use(stream) || of(e).gpu != fake::current_gpu()) return cudaErrorInvalidResourceHandle;
  if (fake::captured_record(stream, e)) return cudaSuccess;
  const std::size_t queue = now().queue_of(stream);
  of(e).time = std::make_shared<fake::moment>();
  now().order.put(queue, [queue, at = of(e).time](cairn::cpu::queue&) { *at = {now().clocks[queue], now().resets}; });
  of(e).place = now().order.record(queue);
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t e) {
  ENTER();
  if (fake::spoil_capture_of(e)) return fake::last_error() = cudaErrorStreamCaptureUnsupported;
  now().order.run_some();
  if (!now().order.is_over(of(e).place)) return fake::last_error() = cudaErrorNotReady;
  // The event is over, but perhaps not yet by the host's clock, which each query moves on.
  std::uint64_t& host = fake::time_of_host();
  std::uint64_t then = host;
  fake::set_behind(then, of(e).time);
  if (then == host) return cudaSuccess;
  host = std::min(then, host + std::max<std::uint64_t>(2000, (then - host) / 4)); // as the host sleeps in long waits
  return fake::last_error() = cudaErrorNotReady;
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
  ENTER();
  for (const cudaEvent_t e : {from, to}) {
    if (!of(e).is_timed || of(e).time == nullptr || of(e).gpu != of(from).gpu) return cudaErrorInvalidResourceHandle;
    if (!now().order.is_over(of(e).place)) return cudaErrorNotReady;
  }
  *milliseconds = static_cast<float>(
      (static_cast<double>(of(to).time->nanoseconds) - static_cast<double>(of(from).time->nanoseconds)) * 1e-6);
  return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  ENTER();
  if (!now().owns(to)) return cudaErrorInvalidValue;
  fake::put(stream, fake::time_of_copy(bytes), [=] { fake::set(to, value, bytes); });
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  ENTER();
  ++now().counted.copies;
  if (kind == cudaMemcpyHostToDevice) now().counted.uploaded += bytes;
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  if (now().owns(to) != to_device || now().owns(from) != from_device) return cudaErrorInvalidValue;
  // Pageable memory is copied by way of the runtime's own: a GPU makes the host wait until that is done.
  if ((!to_device && !now().is_pinned(to)) || (!from_device && !now().is_pinned(from))) {
    if (fake::spoil_capture_of(stream)) return fake::last_error() = cudaErrorStreamCaptureUnsupported;
    ++now().counted.waits;
  }
  fake::put(stream, fake::time_of_copy(bytes), [=] { std::memcpy(to, from, bytes); });
  return cudaSuccess;
}
cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                              std::size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  ENTER();
  ++now().counted.copies;
  if (kind != cudaMemcpyDeviceToDevice || !now().owns(to) || !now().owns(from)) return cudaErrorInvalidValue;
  if (width > to_pitch || width > from_pitch) return cudaErrorInvalidPitchValue;
  fake::put(stream, fake::time_of_copy(width * height), [=] {
    for (std::size_t row = 0; row < height; ++row)
      std::memcpy(static_cast<std::byte*>(to) + row * to_pitch, static_cast<const std::byte*>(from) + row * from_pitch, width);
  });
  return cudaSuccess;
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* how, const void* kernel, void** arguments) {
  ENTER();
  ++now().counted.launches;
  const std::size_t blocks = how->gridDim.x, threads = how->blockDim.x;
  if (blocks == 0 || threads == 0 || threads > 1024 || how->gridDim.y != 1 || how->blockDim.y != 1)
    return cudaErrorInvalidConfiguration;
  if (!now().may_use(how->stream)) return cudaErrorInvalidResourceHandle;
  return fake::start(how->stream, kernel, blocks, threads, arguments[0]) ? cudaSuccess : cudaErrorInvalidValue;
}

} // extern "C"
