// SPDX-License-Identifier: MIT
// The functions of the CUDA runtime that Cairn and nvcc's host code call, for the emulator: kernels are nvcc's PTX, which nvcc's
// own registration hands over. Work is done at once, in the call; what a GPU may do in another order is found by `order`. After a
// kernel that a GPU would end every call fails, as a GPU does, until cudaDeviceReset.
//
// Environment variables:
//   CAIRN_PTX_SEED   of the order of blocks and threads [1]
//   CAIRN_PTX_ARCH   the architecture whose PTX is executed, of those embedded, as in 90 [the last one]
//   CAIRN_PTX_FILE   a text in PTX whose kernels replace those embedded, of the same names
//   CAIRN_PTX_LIST   a file that gets the name of each kernel that was executed, one a line, at the end
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>

#include "../fake/fake.hpp"
#include "../fake/graphs.hpp"
#include "../fake/services.hpp"
#include "block.hpp"
#include "emulator.hpp"
#include "findings.hpp"
#include "memory.hpp"

namespace emulator {

namespace {

constexpr int gpus = 2;

struct stream {
  std::size_t number;
  int gpu;
};
struct event {
  order::clock at;
  bool is_recorded = false;
  int gpu = 0;
  std::uint64_t time = 0; // in instructions
};

std::string variable(const char* name, const char* otherwise) {
  const char* const given = std::getenv(name);
  return given == nullptr ? otherwise : given;
}

struct runtime {
  std::recursive_mutex only_one;
  std::vector<std::string_view> unread; // fat binaries
  kernels code;
  std::unordered_map<const void*, std::string> names; // of kernels, by the address of their host function
  std::set<std::string> executed;
  block running{std::strtoull(variable("CAIRN_PTX_SEED", "1").c_str(), nullptr, 10)};
  traffic counted;
  bool counts = false;
  std::size_t default_stream = streams().add_stream();
  std::set<stream*> all_streams;
  std::set<const void*> pinned;
  cudaError_t failed = cudaSuccess; // for all calls from now on

  ~runtime() {
    const std::string name = variable("CAIRN_PTX_LIST", "");
    if (name.empty()) return;
    std::ofstream to(name);
    for (const std::string& kernel : executed) to << kernel << '\n';
  }
};
runtime& now() {
  static runtime only;
  return only;
}
int& current_gpu() {
  thread_local int own = 0;
  return own;
}
cudaError_t& last_error() {
  thread_local cudaError_t own = cudaSuccess;
  return own;
}
cudaError_t failing(cudaError_t code) { return last_error() = code; }

stream* of(cudaStream_t s) { return reinterpret_cast<stream*>(s); }
event& of(cudaEvent_t e) { return *reinterpret_cast<event*>(e); }
std::size_t number_of(cudaStream_t s) { return s == nullptr ? now().default_stream : of(s)->number; }

// Adds the PTX in a fat binary, which nvcc did not compress: texts that begin with .version and end with a 0.
void read_embedded(std::string_view binary, const std::string& wanted) {
  for (std::size_t at = 0; (at = binary.find(".version", at)) != std::string_view::npos;) {
    const std::string_view text = binary.substr(at, std::min(binary.find('\0', at), binary.size()) - at);
    constexpr std::string_view target = ".target sm_";
    const std::size_t name = std::min(text.find(target), text.size() - target.size()) + target.size();
    if (wanted.empty() || text.substr(name, text.find_first_of(", \n", name) - name) == wanted)
      read_ptx(now().code, std::string(text));
    at += text.size();
  }
}
// The kernels of the program. They are read at the first launch: programs register them before all objects of it are made.
const kernels& code() {
  if (now().unread.empty()) return now().code;
  for (const std::string_view binary : std::exchange(now().unread, {})) read_embedded(binary, variable("CAIRN_PTX_ARCH", ""));
  if (const std::string name = variable("CAIRN_PTX_FILE", ""); !name.empty()) {
    std::ifstream from(name);
    if (!from) report(name, "cannot be read");
    const std::size_t embedded = now().code.size();
    read_ptx(now().code, std::string(std::istreambuf_iterator<char>(from), {}));
    if (now().code.size() != embedded) report(name, "has a kernel that replaces none of the program's");
  }
  return now().code;
}

// Null if there is none.
const kernel* kernel_of(const void* host) {
  const auto name = now().names.find(host);
  const auto found = name == now().names.end() ? code().end() : code().find(name->second);
  return found == code().end() ? nullptr : &found->second;
}

// Whether these bytes are in one allocation, if they are a GPU's at all.
bool is_in_bounds(const void* at, std::size_t bytes) {
  const allocation* const of = memory().of(at);
  return of == nullptr || reinterpret_cast<std::uint64_t>(at) + bytes <= of->first + of->bytes;
}
void copy(void* to, const void* from, std::size_t bytes) {
  const bool to_gpu = memory().of(to) != nullptr, from_gpu = memory().of(from) != nullptr;
  if ((to_gpu && !touch_range("a copy", to, bytes, true)) || (from_gpu && !touch_range("a copy", from, bytes, false)))
    return report("a copy", "is out of the bounds of any memory of a GPU");
  std::memcpy(to_gpu ? memory().contents(reinterpret_cast<std::uint64_t>(to)) : to,
              from_gpu ? memory().contents(reinterpret_cast<std::uint64_t>(from)) : from, bytes);
}

} // namespace

std::map<std::string, cost> costs_of(const std::function<void()>& work) {
  now().counts = true;
  now().counted.take();
  work();
  now().counts = false;
  return now().counted.take();
}

} // namespace emulator

namespace fake {

one_call::one_call() { emulator::now().only_one.lock(); }
one_call::~one_call() { emulator::now().only_one.unlock(); }
int entered(const char*) { return static_cast<int>(emulator::now().failed); }
void count(counter) {}
bool is_refused(cublasLtEpilogue_t, bool) { return false; }
bool owns(const void* at) { return emulator::memory().of(at) != nullptr; }
void* contents(const void* at) { return emulator::memory().contents(reinterpret_cast<std::uint64_t>(at)); }
bool may_use(cudaStream_t s) {
  return s == nullptr ||
         (emulator::now().all_streams.contains(emulator::of(s)) && emulator::of(s)->gpu == emulator::current_gpu());
}
void put_on(cudaStream_t s, std::uint64_t nanoseconds, std::function<void()> work, const std::vector<range>& touched) {
  emulator::streams().begin(emulator::number_of(s));
  if (emulator::now().counts && nanoseconds > time_of_product(0, 0, 0)) {
    std::uint64_t read = 0, written = 0;
    for (const range& r : touched) (r.is_written ? written : read) += r.bytes;
    emulator::now().counted.add_product(nanoseconds - time_of_product(0, 0, 0), read, written);
  }
  for (const range& r : touched)
    if (!emulator::touch_range("a product", r.at, r.bytes, r.is_written))
      emulator::report("a product", "has an operand out of the bounds of any memory of a GPU");
  work();
}

std::size_t argument_bytes(const void* host) {
  const emulator::kernel* const k = emulator::kernel_of(host);
  return k == nullptr ? 0 : k->parameter_bytes;
}
std::uint64_t time_of(const launch&) { return 0; } // the emulator counts instructions
std::function<void()> work_of(const launch& given) {
  return [given] {
    using namespace emulator;
    const kernel& launched = *kernel_of(given.kernel);
    now().executed.insert(launched.name);
    try {
      now().running.run({&launched, given.argument.data(), static_cast<unsigned>(given.blocks),
                         static_cast<unsigned>(given.threads), current_gpu()},
                        now().counts ? &now().counted : nullptr);
    } catch (const fault& f) {
      now().failed = static_cast<cudaError_t>(f.code); // this call has succeeded: the GPU is asked later
    }
  };
}
place place_of(cudaStream_t s) {
  return std::make_shared<emulator::order::clock>(emulator::streams().record(emulator::number_of(s)));
}
void wait_for(cudaStream_t s, const place& at) {
  emulator::streams().wait(emulator::number_of(s), *static_cast<const emulator::order::clock*>(at.get()));
}
cudaStream_t stream_of_branch() {
  return reinterpret_cast<cudaStream_t>(new emulator::stream{emulator::streams().add_stream(), emulator::current_gpu()});
}
bool forgets_patch() { return false; }

} // namespace fake

using namespace emulator;

#define ENTER()                                                                                                                  \
  const fake::one_call call_of_runtime;                                                                                          \
  if (now().failed != cudaSuccess) return now().failed

extern "C" {

void** __cudaRegisterFatBinary(void* given) {
  struct wrapper {
    int magic, version;
    const char* data;
    void* file;
  };
  const char* const data = static_cast<const wrapper*>(given)->data;
  std::uint64_t bytes = 0; // without the header of 16 bytes
  std::memcpy(&bytes, data + 8, sizeof bytes);
  const fake::one_call call;
  now().unread.push_back({data, bytes + 16});
  return static_cast<void**>(given);
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
void __cudaRegisterFunction(void**, const char* host, char* name, const char*, int, uint3*, uint3*, dim3*, dim3*, int*) {
  const fake::one_call call;
  now().names[host] = name;
}
void __cudaRegisterVar(void**, char*, char*, const char*, int, std::size_t, int, int) {}
char __cudaInitModule(void**) { return 0; }
// For kernel<<<...>>>, which Cairn does not use.
unsigned __cudaPushCallConfiguration(dim3, dim3, std::size_t, void*) { return 1; }
cudaError_t __cudaPopCallConfiguration(dim3*, dim3*, std::size_t*, void*) { return cudaErrorNotSupported; }
cudaError_t __cudaGetKernel(void**, const void*) { return cudaErrorNotSupported; }
cudaError_t __cudaLaunchKernel(void*, dim3, dim3, void**, std::size_t, cudaStream_t) { return cudaErrorNotSupported; }
cudaError_t cudaLaunchKernel(const void*, dim3, dim3, void**, std::size_t, cudaStream_t) { return cudaErrorNotSupported; }

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* how, const void* host, void** arguments) {
  ENTER();
  const dim3 &blocks = how->gridDim, &threads = how->blockDim;
  if (blocks.x == 0 || threads.x == 0 || threads.x > 1024 || blocks.y != 1 || threads.y != 1 || blocks.z != 1 || threads.z != 1)
    return failing(cudaErrorInvalidConfiguration);
  if (!fake::may_use(how->stream)) return failing(cudaErrorInvalidResourceHandle);
  if (kernel_of(host) == nullptr) return failing(cudaErrorNoKernelImageForDevice);
  return fake::start(how->stream, host, blocks.x, threads.x, arguments[0]) ? cudaSuccess : failing(cudaErrorInvalidValue);
}

const char* cudaGetErrorName(cudaError_t code) {
  return code == cudaErrorMemoryAllocation ? "cudaErrorMemoryAllocation" : "cudaError";
}
const char* cudaGetErrorString(cudaError_t) { return "as the emulator has reported"; }
cudaError_t cudaGetDeviceCount(int* count) {
  ENTER();
  *count = gpus;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int ordinal) {
  if (ordinal < 0 || ordinal >= gpus) return failing(cudaErrorInvalidDevice);
  current_gpu() = ordinal;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* ordinal) {
  *ordinal = current_gpu();
  return cudaSuccess;
}
cudaError_t cudaPeekAtLastError() { return now().failed != cudaSuccess ? now().failed : last_error(); }
cudaError_t cudaGetLastError() {
  const cudaError_t code = cudaPeekAtLastError();
  last_error() = cudaSuccess;
  return code;
}
// For the emulator's own tests: memory stays.
cudaError_t cudaDeviceReset() {
  const fake::one_call call;
  now().failed = last_error() = cudaSuccess;
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** block, std::size_t bytes) {
  ENTER();
  if (fake::refused_in_capture()) return failing(cudaErrorStreamCaptureUnsupported);
  *block = memory().take(bytes, current_gpu());
  return *block == nullptr ? failing(cudaErrorMemoryAllocation) : cudaSuccess;
}
cudaError_t cudaFree(void* block) {
  ENTER();
  if (block == nullptr) return cudaSuccess;
  streams().host_waits_for_all(); // as the real one does
  return memory().give_back(block) ? cudaSuccess : failing(cudaErrorInvalidValue);
}
cudaError_t cudaHostAlloc(void** block, std::size_t bytes, unsigned) {
  ENTER();
  *block = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  now().pinned.insert(*block);
  return *block == nullptr ? failing(cudaErrorMemoryAllocation) : cudaSuccess;
}
cudaError_t cudaFreeHost(void* block) {
  ENTER();
  if (now().pinned.erase(block) == 0) return failing(cudaErrorInvalidValue);
  streams().host_waits_for_all();
  std::free(block);
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* s, unsigned flags) {
  ENTER();
  if (flags != cudaStreamNonBlocking) return failing(cudaErrorInvalidValue); // any other stream would wait for the default one
  auto* const made = new stream{streams().add_stream(), current_gpu()};
  now().all_streams.insert(made);
  *s = reinterpret_cast<cudaStream_t>(made);
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t s) {
  ENTER();
  if (now().all_streams.erase(of(s)) == 0) return failing(cudaErrorInvalidResourceHandle);
  delete of(s);
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t s) {
  ENTER();
  if (fake::spoil_capture_of(s)) return failing(cudaErrorStreamCaptureUnsupported);
  streams().host_waits(streams().record(number_of(s)));
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned) {
  ENTER();
  if (const auto code = fake::captured_wait(s, e)) return *code == cudaSuccess ? cudaSuccess : failing(*code);
  streams().wait(number_of(s), of(e).at);
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* e, unsigned) {
  ENTER();
  auto* const made = new event;
  made->gpu = current_gpu();
  *e = reinterpret_cast<cudaEvent_t>(made);
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t e) {
  ENTER();
  delete &of(e);
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s) {
  ENTER();
  if (!fake::may_use(s) || of(e).gpu != current_gpu()) return failing(cudaErrorInvalidResourceHandle);
  if (fake::captured_record(s, e)) return cudaSuccess;
  of(e).at = streams().record(number_of(s));
  of(e).is_recorded = true;
  of(e).time = now().running.instructions();
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t e) {
  ENTER();
  if (fake::spoil_capture_of(e)) return failing(cudaErrorStreamCaptureUnsupported);
  streams().host_waits(of(e).at);
  return cudaSuccess;
}
// A made-up time, in which each instruction takes a nanosecond.
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
  ENTER();
  if (!of(from).is_recorded || !of(to).is_recorded) return failing(cudaErrorInvalidResourceHandle);
  *milliseconds = static_cast<float>(static_cast<double>(of(to).time - of(from).time + 1000) * 1e-6);
  return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t s) {
  ENTER();
  if (!fake::may_use(s)) return failing(cudaErrorInvalidResourceHandle);
  if (fake::spoil_capture_of(s)) return failing(cudaErrorStreamCaptureUnsupported); // Cairn sets memory when it is made
  streams().begin(number_of(s));
  if (!touch_range("a memset", to, bytes, true)) return failing(cudaErrorInvalidValue);
  if (value != 0 || memory().of(to)->filled_by != streams().latest()) // fresh memory of the emulator is 0
    std::memset(memory().contents(reinterpret_cast<std::uint64_t>(to)), value, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t s) {
  ENTER();
  const bool to_gpu = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_gpu = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  if (fake::owns(to) != to_gpu || fake::owns(from) != from_gpu) return failing(cudaErrorInvalidValue);
  if (!fake::may_use(s)) return failing(cudaErrorInvalidResourceHandle);
  if (!is_in_bounds(to, bytes) || !is_in_bounds(from, bytes)) return failing(cudaErrorInvalidValue);
  fake::put(s, 0, [=] { copy(to, from, bytes); });
  return cudaSuccess;
}
cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                              std::size_t height, cudaMemcpyKind kind, cudaStream_t s) {
  ENTER();
  if (kind != cudaMemcpyDeviceToDevice || !fake::owns(to) || !fake::owns(from)) return failing(cudaErrorInvalidValue);
  if (width > to_pitch || width > from_pitch) return failing(cudaErrorInvalidPitchValue);
  if (!fake::may_use(s)) return failing(cudaErrorInvalidResourceHandle);
  if (!is_in_bounds(to, (height - 1) * to_pitch + width) || !is_in_bounds(from, (height - 1) * from_pitch + width))
    return failing(cudaErrorInvalidValue);
  fake::put(s, 0, [=] {
    for (std::size_t row = 0; row < height; ++row)
      copy(static_cast<std::byte*>(to) + row * to_pitch, static_cast<const std::byte*>(from) + row * from_pitch, width);
  });
  return cudaSuccess;
}

} // extern "C"
