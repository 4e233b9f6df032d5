// SPDX-License-Identifier: MIT
// CUDA graphs: captures of streams, graphs and launches of graphs. A node is work of services.hpp, and has edges from the nodes
// that are done before it. A launch puts each node on a stream for its branch, which waits for other branches where an edge comes
// from there, and nowhere else. So the runtime below may do branches in any order, or find that no edge orders what they touch.
#include <algorithm>
#include <cstring>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "fake.hpp"
#include "graphs.hpp"
#include "services.hpp"

namespace fake {

namespace {

constexpr std::size_t most_argument_bytes = 4096;

struct node {
  cudaStream_t stream = nullptr; // it was captured there
  std::uint64_t nanoseconds = 0;
  std::function<void()> work{};
  std::vector<range> touched{};
  std::vector<node*> before{};
  launch kernel{}; // if it is one
};
struct graph {
  cudaStream_t origin = nullptr;
  std::vector<std::unique_ptr<node>> nodes{}; // in the order of the capture
};
struct capture {
  std::unique_ptr<graph> made = std::make_unique<graph>();
  std::map<cudaStream_t, std::vector<node*>> latest{}; // what the next node of a stream comes after
  std::map<cudaEvent_t, std::vector<node*>> events{};
  std::thread::id thread = std::this_thread::get_id();
  bool is_spoilt = false;
};
struct executable {
  const graph* of = nullptr;
  cudaStream_t origin = nullptr;
  std::vector<node> nodes{};                // `before` names nodes of the graph
  std::map<node*, std::size_t> number_of{}; // of the graph's nodes
  std::map<cudaStream_t, cudaStream_t> branches{};
};

struct all_graphs {
  std::list<capture> captures;
  std::set<const graph*> graphs;
  std::set<const executable*> executables;
  std::vector<cudaStream_t> branches; // of graphs that were destroyed
};
all_graphs& all() {
  static all_graphs only;
  return only;
}

capture* capture_of(cudaStream_t stream) {
  for (capture& c : all().captures)
    if (c.latest.contains(stream)) return &c;
  return nullptr;
}
capture* capture_of(cudaEvent_t e) {
  for (capture& c : all().captures)
    if (c.events.contains(e)) return &c;
  return nullptr;
}
bool spoil(capture* c) {
  if (c != nullptr) c->is_spoilt = true;
  return c != nullptr;
}
node& add_node(capture& c, cudaStream_t stream) {
  node& made = *c.made->nodes.emplace_back(std::make_unique<node>());
  made.stream = stream;
  made.before = std::exchange(c.latest[stream], {&made});
  return made;
}
// Whether every node of the capture is before the end of the stream it began with.
bool is_joined(const capture& c) {
  std::set<node*> reached;
  std::vector<node*> next = c.latest.at(c.made->origin);
  while (!next.empty()) {
    node* const n = next.back();
    next.pop_back();
    if (reached.insert(n).second) next.insert(next.end(), n->before.begin(), n->before.end());
  }
  return reached.size() == c.made->nodes.size();
}

cudaStream_t take_branch() {
  if (all().branches.empty()) return stream_of_branch();
  const cudaStream_t taken = all().branches.back();
  all().branches.pop_back();
  return taken;
}

void play(const executable& e, cudaStream_t stream) {
  const auto lane_of = [&](const node& n) { return n.stream == e.origin ? stream : e.branches.at(n.stream); };
  const place begin = place_of(stream);
  std::vector<place> after(e.nodes.size()); // of nodes before one of another branch
  for (std::size_t i = 0; i < e.nodes.size(); ++i) {
    const node& n = e.nodes[i];
    const cudaStream_t lane = lane_of(n);
    if (n.before.empty() && lane != stream) wait_for(lane, begin);
    for (node* const b : n.before)
      if (const std::size_t k = e.number_of.at(b); lane_of(e.nodes[k]) != lane) wait_for(lane, after[k]);
    put_on(lane, n.nanoseconds, n.kernel.kernel == nullptr ? n.work : work_of(n.kernel), n.touched);
    after[i] = place_of(lane);
  }
  for (const auto& [captured, lane] : e.branches) wait_for(stream, place_of(lane));
}

} // namespace

void put(cudaStream_t stream, std::uint64_t nanoseconds, std::function<void()> work, const std::vector<range>& touched) {
  capture* const c = capture_of(stream);
  if (c == nullptr) return put_on(stream, nanoseconds, std::move(work), touched);
  node& made = add_node(*c, stream);
  made.nanoseconds = nanoseconds;
  made.work = std::move(work);
  made.touched = touched;
}
bool start(cudaStream_t stream, const void* kernel, std::size_t blocks, std::size_t threads, const void* argument) {
  launch given{kernel, blocks, threads, std::vector<std::byte>(argument_bytes(kernel))};
  if (given.argument.size() > most_argument_bytes) return false;
  std::memcpy(given.argument.data(), argument, given.argument.size());
  capture* const c = capture_of(stream);
  if (c == nullptr) {
    put_on(stream, time_of(given), work_of(given), {});
  } else {
    node& made = add_node(*c, stream);
    made.nanoseconds = time_of(given);
    made.kernel = std::move(given);
  }
  return true;
}

bool captured_record(cudaStream_t stream, cudaEvent_t e) {
  for (capture& c : all().captures) c.events.erase(e); // it is recorded anew
  capture* const c = capture_of(stream);
  if (c != nullptr) c->events[e] = c->latest[stream];
  return c != nullptr;
}
std::optional<cudaError_t> captured_wait(cudaStream_t stream, cudaEvent_t e) {
  capture *const own = capture_of(stream), *const of_event = capture_of(e);
  if (own == nullptr && of_event == nullptr) return std::nullopt;
  if (of_event == nullptr) return own->is_spoilt = true, cudaErrorStreamCaptureIsolation;
  if (own != nullptr && own != of_event) return own->is_spoilt = of_event->is_spoilt = true, cudaErrorStreamCaptureMerge;
  std::vector<node*>& latest = of_event->latest[stream]; // perhaps a new branch
  for (node* const n : of_event->events[e])
    if (std::find(latest.begin(), latest.end(), n) == latest.end()) latest.push_back(n);
  return cudaSuccess;
}
bool spoil_capture_of(cudaStream_t stream) { return spoil(capture_of(stream)); }
bool spoil_capture_of(cudaEvent_t e) { return spoil(capture_of(e)); }
bool refused_in_capture() {
  bool captures = false;
  for (capture& c : all().captures)
    if (c.thread == std::this_thread::get_id()) captures = c.is_spoilt = true;
  return captures;
}

} // namespace fake

using namespace fake;

#define ENTER()                                                                                                                  \
  const fake::one_call call_of_runtime;                                                                                          \
  if (const int code = entered(__func__); code != 0) return static_cast<cudaError_t>(code)

extern "C" {

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  ENTER();
  if (mode != cudaStreamCaptureModeThreadLocal || stream == nullptr || !may_use(stream)) return cudaErrorInvalidValue;
  if (capture_of(stream) != nullptr) return cudaErrorIllegalState;
  capture& made = all().captures.emplace_back();
  made.made->origin = stream;
  made.latest[stream] = {};
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* to) {
  const one_call call_of_runtime;
  const auto wanted = static_cast<cudaError_t>(entered(__func__)); // the capture ends all the same
  *to = nullptr;
  const auto ended =
      std::find_if(all().captures.begin(), all().captures.end(), [stream](const capture& c) { return c.made->origin == stream; });
  if (ended == all().captures.end()) return spoil_capture_of(stream) ? cudaErrorStreamCaptureUnmatched : cudaErrorIllegalState;
  if (ended->thread != std::this_thread::get_id()) return cudaErrorStreamCaptureWrongThread;
  const cudaError_t code = wanted != cudaSuccess ? wanted
                           : ended->is_spoilt    ? cudaErrorStreamCaptureInvalidated
                           : !is_joined(*ended)  ? cudaErrorStreamCaptureUnjoined
                                                 : cudaSuccess;
  if (code == cudaSuccess) {
    all().graphs.insert(ended->made.get());
    *to = reinterpret_cast<cudaGraph_t>(ended->made.release());
  }
  all().captures.erase(ended);
  return code;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  ENTER();
  const capture* const c = capture_of(stream);
  *status = c == nullptr    ? cudaStreamCaptureStatusNone
            : !c->is_spoilt ? cudaStreamCaptureStatusActive
                            : cudaStreamCaptureStatusInvalidated;
  return cudaSuccess;
}
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long*, cudaGraph_t*,
                                     const cudaGraphNode_t** before, const cudaGraphEdgeData**, std::size_t* count) {
  ENTER();
  capture* const c = capture_of(stream);
  if (c == nullptr || c->is_spoilt) return cudaErrorStreamCaptureInvalidated;
  const std::vector<node*>& latest = c->latest[stream];
  *status = cudaStreamCaptureStatusActive;
  *before = reinterpret_cast<const cudaGraphNode_t*>(latest.data());
  *count = latest.size();
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* to, cudaGraph_t given, unsigned long long) {
  ENTER();
  const auto* const from = reinterpret_cast<const graph*>(given);
  if (!all().graphs.contains(from)) return cudaErrorInvalidValue;
  count(counter::captures);
  auto made = std::make_unique<executable>();
  made->of = from;
  made->origin = from->origin;
  for (const auto& n : from->nodes) {
    made->number_of[n.get()] = made->nodes.size();
    made->nodes.push_back(*n);
    if (n->stream != made->origin && !made->branches.contains(n->stream)) made->branches[n->stream] = take_branch();
  }
  all().executables.insert(made.get());
  *to = reinterpret_cast<cudaGraphExec_t>(made.release());
  return cudaSuccess;
}
cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t given, cudaGraphNode_t of, const cudaKernelNodeParams* with) {
  ENTER();
  auto* const e = reinterpret_cast<executable*>(given);
  if (!all().executables.contains(e) || !all().graphs.contains(e->of)) return cudaErrorInvalidValue;
  const auto found = e->number_of.find(reinterpret_cast<node*>(of));
  if (found == e->number_of.end()) return cudaErrorInvalidValue;
  launch& own = e->nodes[found->second].kernel;
  if (own.kernel == nullptr || argument_bytes(with->func) != own.argument.size() || with->extra != nullptr)
    return cudaErrorInvalidValue;
  count(counter::patches);
  if (forgets_patch()) return cudaSuccess;
  own.kernel = with->func;
  own.blocks = with->gridDim.x;
  own.threads = with->blockDim.x;
  std::memcpy(own.argument.data(), with->kernelParams[0], own.argument.size());
  e->nodes[found->second].nanoseconds = time_of(own);
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t given, cudaStream_t stream) {
  ENTER();
  const auto* const e = reinterpret_cast<const executable*>(given);
  if (!all().executables.contains(e)) return cudaErrorInvalidValue;
  if (!may_use(stream)) return cudaErrorInvalidResourceHandle;
  if (spoil_capture_of(stream)) return cudaErrorStreamCaptureUnsupported; // a graph in a graph
  count(counter::graphs);
  play(*e, stream);
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t given) {
  ENTER();
  auto* const e = reinterpret_cast<executable*>(given);
  if (all().executables.erase(e) == 0) return cudaErrorInvalidValue;
  for (const auto& [captured, lane] : e->branches) all().branches.push_back(lane);
  delete e;
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t given) {
  ENTER();
  auto* const g = reinterpret_cast<graph*>(given);
  if (all().graphs.erase(g) == 0) return cudaErrorInvalidValue;
  delete g;
  return cudaSuccess;
}

} // extern "C"
