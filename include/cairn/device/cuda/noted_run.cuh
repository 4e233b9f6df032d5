// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include <cairn/core/config.hpp>
#include <cairn/device/cuda/error.cuh>

namespace cairn::detail {

// A stream, and for products cuBLASLt's handle and memory for partial results. Two places on different streams, with memory of
// their own, may be used at the same time.
struct cuda_place {
  cudaStream_t stream = nullptr;
  cublasLtHandle_t handle = nullptr;
  void* workspace = nullptr;
};

// The memory that a piece of work reads and writes.
class touched_memory {
public:
  void add(const void* first, std::size_t bytes, bool is_written) {
    if (first == nullptr) return;
    const auto begin = reinterpret_cast<std::uintptr_t>(first);
    all_[count_++] = {begin, begin + bytes, is_written};
  }
  // Whether neither writes what the other one reads or writes.
  bool is_independent_of(const touched_memory& other) const {
    for (std::size_t i = 0; i < count_; ++i)
      for (std::size_t j = 0; j < other.count_; ++j) {
        const range &own = all_[i], &others = other.all_[j];
        if ((own.is_written || others.is_written) && own.begin < others.end && others.begin < own.end) return false;
      }
    return true;
  }

private:
  struct range {
    std::uintptr_t begin, end;
    bool is_written;
  };
  std::array<range, 6> all_{};
  std::size_t count_ = 0;
};

// Work besides own kernels, such as products and copies, is an object that holds what it needs and that is copied byte by byte:
//   void operator()(const char* op, const cuda_place& on) const    puts it on a stream
//   operator==                                                     whether the other one does the same with the same memory
//   touched_memory touched() const                                 optional
struct kind_of_work {
  void (*put)(const std::byte* work, const char* op, const cuda_place& on);
  bool (*are_equal)(const std::byte* one, const std::byte* other);
  touched_memory (*touched)(const std::byte* work); // null: not known
};
template <class Work>
const Work& work_at(const std::byte* at) {
  return *reinterpret_cast<const Work*>(at);
}
template <class Work>
constexpr kind_of_work make_kind_of_work() {
  kind_of_work kind{
      [](const std::byte* work, const char* op, const cuda_place& on) { work_at<Work>(work)(op, on); },
      [](const std::byte* one, const std::byte* other) { return work_at<Work>(one) == work_at<Work>(other); },
      nullptr,
  };
  if constexpr (requires(const Work& work) { work.touched(); })
    kind.touched = [](const std::byte* work) { return work_at<Work>(work).touched(); };
  return kind;
}
template <class Work>
inline constexpr kind_of_work kind_of_this_work = make_kind_of_work<Work>();

// Sets the bytes between members to 0, where the compiler can. Elsewhere arguments that differ in nothing else may count as
// others, which costs a graph a call.
template <class T>
void clear_padding([[maybe_unused]] T& object) {
#if __has_builtin(__builtin_clear_padding)
  __builtin_clear_padding(&object);
#endif
}

// Starts a kernel that takes one argument.
inline void start_kernel(const char* op, const void* kernel, unsigned blocks, unsigned threads, const void* argument,
                         cudaStream_t stream) {
  cudaLaunchConfig_t how{};
  how.gridDim = dim3(blocks, 1, 1);
  how.blockDim = dim3(threads, 1, 1);
  how.stream = stream;
  void* arguments[] = {const_cast<void*>(argument)};
  check_cuda(cudaLaunchKernelExC(&how, kernel, arguments), op);
}

// Work that a program has put on a queue and that is not on the GPU yet: kernels with their grids and arguments, and other work.
// Adding to a run that was cleared allocates nothing until it becomes longer than before.
class noted_run {
public:
  struct note {
    const char* op = nullptr;
    const void* kernel = nullptr;       // null for other work
    const kind_of_work* kind = nullptr; // of other work
    unsigned blocks = 0, threads = 0;
    std::size_t first = 0, bytes = 0; // of the kernel's argument, or of the work
  };

  template <class Argument>
  void add(const char* op, const void* kernel, unsigned blocks, unsigned threads, Argument argument) {
    static_assert(std::is_trivially_copyable_v<Argument>, "a kernel is copied to the GPU byte by byte");
    clear_padding(argument);
    notes_.push_back({op, kernel, nullptr, blocks, threads, append(&argument, sizeof argument), sizeof argument});
  }
  template <class Work>
  void add(const char* op, const Work& work) {
    static_assert(std::is_trivially_copyable_v<Work> && alignof(Work) <= alignment_of_work);
    notes_.push_back({op, nullptr, &kind_of_this_work<Work>, 0, 0, append(&work, sizeof work), sizeof work});
  }
  void clear() {
    notes_.clear();
    bytes_.clear();
  }

  std::size_t size() const { return notes_.size(); }
  const note& operator[](std::size_t i) const { return notes_[i]; }
  const std::byte* bytes_of(std::size_t i) const { return bytes_.data() + notes_[i].first; }

  // Puts note i on the GPU.
  void put(std::size_t i, const cuda_place& on) const {
    const note& n = notes_[i];
    if (n.kernel == nullptr) n.kind->put(bytes_of(i), n.op, on);
    else start_kernel(n.op, n.kernel, n.blocks, n.threads, bytes_of(i), on.stream);
  }
  // Whether the two differ in nothing but arguments of kernels.
  bool has_shape_of(const noted_run& other) const {
    if (size() != other.size()) return false;
    for (std::size_t i = 0; i < size(); ++i) {
      const note &a = notes_[i], &b = other.notes_[i];
      if (a.kernel != b.kernel || a.kind != b.kind || a.blocks != b.blocks || a.threads != b.threads || a.bytes != b.bytes)
        return false;
      if (a.kernel == nullptr && !a.kind->are_equal(bytes_of(i), other.bytes_of(i))) return false;
    }
    return true;
  }
  bool has_argument_of(const noted_run& other, std::size_t i) const {
    return std::memcmp(bytes_of(i), other.bytes_of(i), notes_[i].bytes) == 0;
  }
  // Takes the argument of note i from a run of the same shape.
  void take_argument(const noted_run& other, std::size_t i) {
    std::memcpy(bytes_.data() + notes_[i].first, other.bytes_of(i), notes_[i].bytes);
  }
  // Whether note i and the one after it may be done at the same time. Of kernels it is not known what they touch.
  bool may_be_beside_next(std::size_t i) const {
    const auto touched = [this](std::size_t k) {
      const kind_of_work* const kind = notes_[k].kind;
      return kind == nullptr ? nullptr : kind->touched;
    };
    return i + 1 < size() && touched(i) != nullptr && touched(i + 1) != nullptr &&
           touched(i)(bytes_of(i)).is_independent_of(touched(i + 1)(bytes_of(i + 1)));
  }
  // "41 ops (matmul, softmax_cross_entropy, sgd)": each op is named once, where it comes first.
  std::string text() const {
    std::string names;
    for (std::size_t i = 0; i < size(); ++i) {
      bool is_new = true;
      for (std::size_t k = 0; k < i && is_new; ++k) is_new = std::strcmp(notes_[k].op, notes_[i].op) != 0;
      if (is_new) names += (i == 0 ? "" : ", ") + std::string(notes_[i].op);
    }
    return std::to_string(size()) + " ops (" + names + ")";
  }

private:
  static constexpr std::size_t alignment_of_work = 16;

  std::size_t append(const void* from, std::size_t count) {
    const std::size_t first = (bytes_.size() + alignment_of_work - 1) / alignment_of_work * alignment_of_work;
    bytes_.resize(first + count);
    std::memcpy(bytes_.data() + first, from, count);
    return first;
  }

  std::vector<note> notes_;
  std::vector<std::byte> bytes_;
};

} // namespace cairn::detail
