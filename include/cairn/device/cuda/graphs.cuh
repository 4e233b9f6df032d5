// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>

#include <cairn/core/config.hpp>
#include <cairn/core/error.hpp>
#include <cairn/device/cuda/error.cuh>
#include <cairn/device/cuda/in_use.cuh>
#include <cairn/device/cuda/memory.cuh>
#include <cairn/device/cuda/noted_run.cuh>
#include <cairn/device/cuda/products.cuh>

namespace cairn::detail {

// What a queue has put on its GPU so far.
struct cuda_statistics {
  std::uint64_t ops = 0;      // kernels, products and copies that were put there one by one, by a call each
  std::uint64_t captures = 0; // graphs that were made
  std::uint64_t refused = 0;  // graphs that the runtime did not make
  std::uint64_t plays = 0;    // graphs that were launched, by a call each
  std::uint64_t patches = 0;  // arguments of kernels that were replaced in a graph before it was launched
};

// Puts runs of work on a GPU. A run that comes for the second time becomes a CUDA graph, which one call launches from then on:
// runs are the same if they differ in nothing but arguments of kernels, and of these the graph is given those that have changed.
// So a learning rate, Adam's corrections, a dropout's counter or the address of a batch costs no capture. The operands of
// products and copies are fixed in a graph, so a step that alternates between two slots has two of them. The first time a run is
// put as it was noted: that loads its kernels, which must not happen in a capture.
//
// Graphs are captured from the notes, not from the program's calls: these have effects of their own, and are made in each step
// as they are without graphs. A list of a step's ops, recorded in its place, would have to know which of its calls launch what;
// the queue sees that anyway, and with it evaluations and ops of the program's own.
//
// Two products that follow each other, as the gradients of a layer's weight and of its input, become two branches if neither
// writes what the other touches. They are joined before the next op. This is found from their operands alone, and leaves out
// more than it could: kernels beside products, as what kernels touch is not known; products with a kernel between them; and
// matrices that lie between each other's rows. Algorithms, and so bits, are those without branches.
class cuda_graphs {
public:
  // Two for each of eight numbers of rows. With more of them in turn, each run is forgotten before it comes again, and its ops
  // are put one by one.
  static constexpr std::size_t most = 16;
  // A launch of a graph takes the host as long as one or two ops.
  static constexpr std::size_t least_ops = 3;
  // Whether graphs that are made from now on have branches. For benchmarks, which compare the two.
  inline static bool makes_branches = true;

  cuda_graphs(int ordinal, cudaStream_t zeroing)
      : ordinal_(ordinal), workspace_(ordinal, cuda_products::workspace_bytes, zeroing) {
    try {
      check_cuda(cudaStreamCreateWithFlags(&branch_, cudaStreamNonBlocking), "a queue");
      for (cudaEvent_t* e : {&fork_, &join_}) check_cuda(cudaEventCreateWithFlags(e, cudaEventDisableTiming), "a queue");
    } catch (...) {
      give_back();
      throw;
    }
  }
  cuda_graphs(const cuda_graphs&) = delete;
  cuda_graphs& operator=(const cuda_graphs&) = delete;
  ~cuda_graphs() { give_back(); }

  // Puts a run there. Returns its name for errors: of its last op, or of its graph, until another run is put.
  const char* put(const noted_run& run, const cuda_place& on) {
    if (run.size() < least_ops) return put_singly(run, on);
    known* k = find(run);
    if (k == nullptr) {
      k = &*std::min_element(known_.begin(), known_.end(), [](const known& a, const known& b) { return a.turn < b.turn; });
      forget(*k);
      k->run = run;
      k->turn = ++turn_;
      return put_singly(run, on);
    }
    k->turn = ++turn_;
    if (k->exec == nullptr && !k->is_refused) {
      k->run = run;
      k->is_refused = !capture(*k, on);
      ++(k->is_refused ? counted_.refused : counted_.captures);
    }
    if (k->is_refused) return put_singly(run, on);
    for (std::size_t i = 0; i < run.size(); ++i)
      if (run[i].kernel != nullptr && !run.has_argument_of(k->run, i)) patch(*k, run, i);
    check_cuda(cudaGraphLaunch(k->exec, on.stream), k->name.c_str());
    ++counted_.plays;
    return k->name.c_str();
  }

  const cuda_statistics& statistics() const { return counted_; }

private:
  struct known {
    noted_run run;                      // with the arguments that the graph has now
    cudaGraph_t graph = nullptr;        // which names the nodes of exec
    cudaGraphExec_t exec = nullptr;     // null: it came once, or is refused
    std::vector<cudaGraphNode_t> nodes; // of kernels
    std::string name;
    std::uint64_t turn = 0; // the latest one; 0: never
    bool is_refused = false;
  };

  known* find(const noted_run& run) {
    for (known& k : known_)
      if (k.turn != 0 && k.run.has_shape_of(run)) return &k;
    return nullptr;
  }
  const char* put_singly(const noted_run& run, const cuda_place& on) {
    for (std::size_t i = 0; i < run.size(); ++i) {
      run.put(i, on);
      ++counted_.ops;
    }
    return run[run.size() - 1].op;
  }
  void patch(known& k, const noted_run& run, std::size_t i) {
    cudaKernelNodeParams with{};
    void* arguments[] = {const_cast<std::byte*>(run.bytes_of(i))};
    with.func = const_cast<void*>(run[i].kernel);
    with.gridDim = dim3(run[i].blocks, 1, 1);
    with.blockDim = dim3(run[i].threads, 1, 1);
    with.kernelParams = arguments;
    check_cuda(cudaGraphExecKernelNodeSetParams(k.exec, k.nodes[i], &with), run[i].op);
    k.run.take_argument(run, i);
    ++counted_.patches;
  }

  // Makes the graph of a run. False if a part of the run cannot be in a graph; then nothing has been done.
  bool capture(known& k, const cuda_place& on) {
    k.name = "a graph of " + k.run.text();
    k.nodes.assign(k.run.size(), nullptr);
    // Other threads may allocate memory meanwhile.
    if (!is_done(cudaStreamBeginCapture(on.stream, cudaStreamCaptureModeThreadLocal))) return false;
    bool is_whole = true;
    try {
      put_in_branches(k, on);
    } catch (const device_error&) { // an error that stays is found again when the run is put singly
      is_whole = false;
    }
    is_whole = is_done(cudaStreamEndCapture(on.stream, &k.graph)) && is_whole;
    is_whole = is_whole && is_done(cudaGraphInstantiate(&k.exec, k.graph, 0));
    if (!is_whole) {
      static_cast<void>(cudaGetLastError()); // else the next launch of the program would find it
      destroy(k);
    }
    return is_whole;
  }
  void put_in_branches(known& k, const cuda_place& on) {
    const cuda_place beside{branch_, on.handle, workspace_.data()};
    constexpr const char* op = "a graph";
    for (std::size_t i = 0; i < k.run.size(); ++i) {
      if (makes_branches && k.run.may_be_beside_next(i)) {
        check_cuda(cudaEventRecord(fork_, on.stream), op);
        check_cuda(cudaStreamWaitEvent(beside.stream, fork_, cudaEventWaitDefault), op);
        k.run.put(i, beside);
        k.run.put(++i, on);
        check_cuda(cudaEventRecord(join_, beside.stream), op);
        check_cuda(cudaStreamWaitEvent(on.stream, join_, cudaEventWaitDefault), op);
      } else {
        k.run.put(i, on);
        if (k.run[i].kernel != nullptr) k.nodes[i] = latest_node(on.stream);
      }
    }
  }
  // The node that was just captured. A product may be several nodes, so they cannot be counted.
  static cudaGraphNode_t latest_node(cudaStream_t stream) {
    cudaStreamCaptureStatus status{};
    const cudaGraphNode_t* latest = nullptr;
    std::size_t count = 0;
#if CUDART_VERSION >= 13000
    const cudaError_t code = cudaStreamGetCaptureInfo(stream, &status, nullptr, nullptr, &latest, nullptr, &count);
#else
    const cudaError_t code = cudaStreamGetCaptureInfo_v2(stream, &status, nullptr, nullptr, &latest, &count);
#endif
    check_cuda(code, "a graph");
    check_cuda(count == 1 ? cudaSuccess : cudaErrorStreamCaptureInvalidated, "a graph");
    return *latest;
  }
  static bool is_done(cudaError_t code) { return code == cudaSuccess; }

  void forget(known& k) {
    destroy(k);
    k.is_refused = false;
    k.turn = 0;
  }
  // A graph that is still running goes on.
  static void destroy(known& k) {
    if (k.exec != nullptr) cudaGraphExecDestroy(std::exchange(k.exec, nullptr));
    if (k.graph != nullptr) cudaGraphDestroy(std::exchange(k.graph, nullptr));
  }
  void give_back() {
    const gpu_in_use now(ordinal_);
    if (!now.is_current()) return;
    for (known& k : known_) destroy(k);
    for (const cudaEvent_t e : {fork_, join_})
      if (e != nullptr) cudaEventDestroy(e);
    if (branch_ != nullptr) cudaStreamDestroy(branch_);
  }

  int ordinal_;
  cuda_block<on_gpu> workspace_; // of the branch
  cudaStream_t branch_ = nullptr;
  cudaEvent_t fork_ = nullptr, join_ = nullptr;
  std::array<known, most> known_{};
  std::uint64_t turn_ = 0;
  cuda_statistics counted_;
};

} // namespace cairn::detail
