// SPDX-License-Identifier: MIT
#include "nccl.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>

#include "fake.hpp"
#include "services.hpp"
#include "state.hpp"

namespace {

enum class kind : unsigned char { reduce, gather, broadcast, send, receive };

// One call of a rank.
struct part {
  kind what = kind::reduce;
  const void* from = nullptr;
  void* to = nullptr;
  std::size_t count = 0;
  ncclDataType_t type = ncclUint8;
  int other = 0; // the root, or the peer

  bool fits(const part& p) const { return what == p.what && count == p.count && type == p.type && other == p.other; }
  std::size_t element() const { return type == ncclFloat64 ? 8 : type == ncclFloat32 ? 4 : 1; }
  std::size_t bytes() const { return count * element(); }
};

struct work; // a call, or a group of them, that a stream of a rank has got to

struct job {
  std::string id;
  int size = 0;
  std::vector<ncclComm*> members; // by rank; null: not there yet
  std::vector<std::deque<std::shared_ptr<work>>> together;
  std::map<std::pair<int, int>, std::deque<std::pair<std::shared_ptr<work>, part>>> sent, awaited; // by (from, to)
};

struct settings {
  std::vector<std::unique_ptr<ncclComm>> all;
  std::map<std::string, std::shared_ptr<job>> jobs;
  std::mt19937_64 random{1};
  std::size_t polls = 2, ids = 0;
  fake::counts_of_nccl counted;
};
settings& own() {
  static settings only;
  return only;
}

} // namespace

struct ncclComm {
  std::shared_ptr<job> of;
  int rank = 0, gpu = 0;
  ncclResult_t broken = ncclSuccess;
  std::size_t polls_left = 0;    // until `begin` is called
  std::function<void()> begin{}; // puts a call on its stream
  bool finalizes = false, has_ended = false;
  std::size_t line = 0;          // a queue without a stream, which a stream waits for: its place k + 1 is the end of call k
  std::size_t put = 0, done = 0; // calls on streams, and those that are over

  void release() {
    ++done;
    fake::now().order.put(line, [](cairn::cpu::queue&) {});
  }
};

namespace {

struct work {
  ncclComm* whose;
  std::vector<part> parts;
  std::size_t open;                    // parts that are not over
  std::size_t queue;                   // of its stream
  std::shared_ptr<std::uint64_t> ends; // the time, once it is over
};

void close(const std::shared_ptr<work>& w, std::uint64_t at) {
  *w->ends = std::max(*w->ends, at);
  if (--w->open == 0 && !w->whose->has_ended) w->whose->release();
}
std::uint64_t time_of(const work& w) { return fake::now().clocks[w.queue]; }

template <class T>
void reduce(const std::vector<std::shared_ptr<work>>& ranks) {
  const part& first = ranks[0]->parts[0];
  std::vector<std::size_t> order(ranks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::vector<T> sum(first.count);
  for (std::size_t i = 0; i < first.count; ++i) {
    if (i % (256 / sizeof(T)) == 0) std::shuffle(order.begin(), order.end(), own().random);
    sum[i] = static_cast<const T*>(ranks[order[0]]->parts[0].from)[i];
    for (std::size_t r = 1; r < order.size(); ++r) sum[i] += static_cast<const T*>(ranks[order[r]]->parts[0].from)[i];
  }
  for (const auto& w : ranks) std::copy(sum.begin(), sum.end(), static_cast<T*>(w->parts[0].to));
}

// Does a collective call, if all ranks are there with the same arguments.
void try_together(job& j) {
  std::vector<std::shared_ptr<work>> ranks;
  for (auto& line : j.together) {
    if (line.empty()) return;
    ranks.push_back(line.front());
  }
  const part& first = ranks[0]->parts[0];
  for (const auto& w : ranks)
    if (!w->parts[0].fits(first)) return;
  for (auto& line : j.together) line.pop_front();
  std::uint64_t at = 0;
  for (const auto& w : ranks) at = std::max(at, time_of(*w));
  at += fake::time_of_copy(2 * first.bytes());
  const std::size_t bytes = first.bytes();
  if (first.what == kind::reduce) {
    first.type == ncclFloat64 ? reduce<double>(ranks) : reduce<float>(ranks);
    own().counted.bytes += 2 * bytes * (ranks.size() - 1);
  } else {
    for (const auto& to : ranks)
      for (std::size_t r = 0; r < ranks.size(); ++r) {
        if (first.what == kind::broadcast && static_cast<int>(r) != first.other) continue;
        auto* const place = static_cast<std::byte*>(to->parts[0].to) + (first.what == kind::gather ? r * bytes : 0);
        std::memmove(place, ranks[r]->parts[0].from, bytes);
        if (to->whose->rank != static_cast<int>(r)) own().counted.bytes += bytes;
      }
  }
  for (const auto& w : ranks) close(w, at);
}

void try_pair(job& j, const std::pair<int, int>& between) {
  auto &sent = j.sent[between], &awaited = j.awaited[between];
  while (!sent.empty() && !awaited.empty()) {
    const auto [giver, given] = sent.front();
    const auto [taker, taken] = awaited.front();
    if (given.bytes() != taken.bytes() || given.type != taken.type) return;
    std::memcpy(taken.to, given.from, given.bytes());
    own().counted.bytes += given.bytes();
    sent.pop_front();
    awaited.pop_front();
    const std::uint64_t at = std::max(time_of(*giver), time_of(*taker)) + fake::time_of_copy(given.bytes());
    close(giver, at);
    close(taker, at);
  }
}

// A stream has got to a call.
void arrive(const std::shared_ptr<work>& w) {
  ncclComm& c = *w->whose;
  if (c.has_ended) return;
  job& j = *c.of;
  for (const part& p : w->parts) {
    if (p.what == kind::send || p.what == kind::receive) {
      const std::pair between = p.what == kind::send ? std::pair(c.rank, p.other) : std::pair(p.other, c.rank);
      (p.what == kind::send ? j.sent : j.awaited)[between].emplace_back(w, p);
      try_pair(j, between);
    } else {
      j.together[static_cast<std::size_t>(c.rank)].push_back(w);
      try_together(j);
    }
  }
}

// Puts calls on a stream, once the communicator's state has been asked for often enough.
ncclResult_t begin(ncclComm& c, cudaStream_t stream, std::vector<part> parts) {
  const auto put = [&c, stream, parts = std::move(parts)] {
    const std::size_t queue = fake::now().queue_of(stream);
    const auto w = std::make_shared<work>(work{&c, parts, parts.size(), queue, std::make_shared<std::uint64_t>(0)});
    fake::put(stream, 1000, [w] { arrive(w); });
    fake::now().order.wait(queue, {c.line, ++c.put});
    fake::now().order.put(queue, [w](cairn::cpu::queue&) {
      std::uint64_t& clock = fake::now().clocks[w->queue];
      clock = std::max(clock, *w->ends);
    });
  };
  if (own().polls == 0) return put(), ncclSuccess;
  c.polls_left = own().polls;
  c.begin = put;
  return ncclInProgress;
}

// A group of sends and receives of one thread.
struct group {
  int depth = 0;
  ncclComm* of = nullptr;
  cudaStream_t stream = nullptr;
  std::vector<part> parts{};
};
group& of_thread() {
  thread_local group its;
  return its;
}

// Whether the communicator is there for another call; counts a misuse.
bool serves(const ncclComm* c, bool is_state = false) {
  if (c != nullptr && !c->has_ended && (is_state || (c->polls_left == 0 && !c->finalizes))) return true;
  ++own().counted.refused;
  return false;
}
bool takes(const ncclComm* c, cudaStream_t stream, const part& p) {
  const bool right = c->gpu == fake::current_gpu() && stream != nullptr && fake::may_use(stream) &&
                     (p.from == nullptr || fake::owns(p.from)) && (p.to == nullptr || fake::owns(p.to)) && p.other >= 0 &&
                     p.other < c->of->size;
  if (!right) ++own().counted.refused;
  return right;
}

// The address of a job that is over may serve another one; it may do so already.
void forget(const std::shared_ptr<job>& its) {
  const auto found = own().jobs.find(its->id);
  if (found != own().jobs.end() && found->second == its) own().jobs.erase(found);
}

ncclResult_t call(ncclComm* c, cudaStream_t stream, const part& p, std::size_t fake::counts_of_nccl::* counter) {
  if (!serves(c)) return ncclInvalidUsage;
  if (!takes(c, stream, p)) return ncclInvalidArgument;
  group& g = of_thread();
  if (p.what == kind::send || p.what == kind::receive) {
    if (g.depth == 0) return ++own().counted.refused, ncclInvalidUsage; // a send alone may wait for ever
    if (g.of != nullptr && (g.of != c || g.stream != stream)) return ncclInvalidUsage;
    g.of = c;
    g.stream = stream;
    g.parts.push_back(p);
    return ncclSuccess;
  }
  if (g.depth > 0) return ncclInvalidUsage;
  ++(own().counted.*counter);
  return begin(*c, stream, {p});
}

} // namespace

namespace fake {

const counts_of_nccl& nccl() { return own().counted; }
void reset_nccl(std::uint64_t seed) {
  const one_call call_of_test;
  while (now().order.run_one()) {
  }
  own().all.clear();
  own().jobs.clear();
  own().random.seed(seed);
  own().polls = 2;
  own().counted = {};
}
void polls_of_nccl(std::size_t polls) { own().polls = polls; }
void break_nccl(int rank, ncclResult_t code) {
  const one_call call_of_test;
  for (const auto& c : own().all)
    if (c->rank == rank && !c->has_ended) c->broken = code;
}

} // namespace fake

#define ENTER()                                                                                                                  \
  const fake::one_call call_of_nccl;                                                                                             \
  if (const int code = fake::entered(__func__); code != 0) return static_cast<ncclResult_t>(code)

extern "C" {

const char* ncclGetErrorString(ncclResult_t code) {
  switch (code) {
  case ncclRemoteError: return "remote process exited or there was a network error";
  case ncclInvalidUsage: return "invalid usage";
  case ncclUnhandledCudaError: return "unhandled cuda error";
  default: return "an error of the fake NCCL";
  }
}
const char* ncclGetLastError(ncclComm_t comm) {
  return comm != nullptr && comm->broken == ncclInvalidUsage ? "Duplicate GPU detected\n" : "";
}
ncclResult_t ncclGetVersion(int* version) {
  ENTER();
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}
ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  ENTER();
  const char* const address = std::getenv("NCCL_COMM_ID");
  const std::string text = address != nullptr ? address : "job " + std::to_string(++own().ids);
  *id = {};
  text.copy(id->internal, sizeof id->internal - 1);
  return ncclSuccess;
}
ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int size, ncclUniqueId id, int rank, ncclConfig_t* how) {
  ENTER();
  if (how->magic != 0xcafebeef || how->blocking != 0 || rank < 0 || rank >= size) return ncclInvalidArgument;
  std::shared_ptr<job>& its = own().jobs[id.internal];
  if (its == nullptr)
    its = std::make_shared<job>(job{id.internal, size, std::vector<ncclComm*>(static_cast<std::size_t>(size)), {}, {}, {}});
  its->together.resize(static_cast<std::size_t>(size));
  ncclComm*& place = its->members[static_cast<std::size_t>(rank)];
  if (its->size != size || place != nullptr) return ncclInvalidArgument;
  own().all.push_back(std::make_unique<ncclComm>());
  place = own().all.back().get();
  place->of = its;
  place->rank = rank;
  place->gpu = fake::current_gpu();
  place->line = fake::now().order.add_queue();
  ++own().counted.joined;
  for (const ncclComm* other : its->members)
    if (other != nullptr && other != place && other->gpu == place->gpu)
      for (ncclComm* one : its->members)
        if (one != nullptr) one->broken = ncclInvalidUsage;
  *comm = place;
  return ncclInProgress;
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* state) {
  ENTER();
  if (!serves(comm, true)) return ncclInvalidArgument;
  *state = ncclSuccess;
  const job& its = *comm->of;
  const auto all = [&](auto is) { return std::all_of(its.members.begin(), its.members.end(), is); };
  if (comm->broken != ncclSuccess) *state = comm->broken;
  else if (!all([](const ncclComm* c) { return c != nullptr; })) *state = ncclInProgress;
  else if (comm->finalizes)
    *state = comm->done == comm->put && all([](const ncclComm* c) { return c->finalizes; }) ? ncclSuccess : ncclInProgress;
  else if (comm->polls_left > 0 && --comm->polls_left == 0) std::exchange(comm->begin, {})();
  else if (comm->polls_left > 0) *state = ncclInProgress;
  // A host that waits asks again and again. Some work is done meanwhile: more at a time than a query of an event does, as to open
  // and close the memory of several GPUs is slow.
  if (*state == ncclSuccess)
    for (std::size_t left = own().random() % 64; left > 0 && fake::now().order.run_one(); --left) {
    }
  return ncclSuccess;
}
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  ENTER();
  if (!serves(comm, true)) return ncclInvalidArgument;
  ++own().counted.aborted;
  comm->has_ended = true;
  comm->begin = {};
  while (comm->done < comm->put) comm->release(); // kernels that wait for other ranks end
  job& its = *comm->of;
  its.together[static_cast<std::size_t>(comm->rank)].clear();
  for (auto* const table : {&its.sent, &its.awaited})
    for (auto& [between, list] : *table) std::erase_if(list, [&](const auto& one) { return one.first->whose == comm; });
  forget(comm->of);
  return ncclSuccess;
}
ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  ENTER();
  if (!serves(comm)) return ncclInvalidUsage;
  ++own().counted.finalized;
  comm->finalizes = true;
  return ncclInProgress;
}
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  ENTER();
  if (!serves(comm, true)) return ncclInvalidUsage;
  ++own().counted.destroyed;
  comm->has_ended = true;
  forget(comm->of);
  return ncclSuccess;
}

ncclResult_t ncclGroupStart() {
  ENTER();
  ++of_thread().depth;
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
  if (--of_thread().depth > 0) return ncclSuccess;
  const group g = std::exchange(of_thread(), {}); // it is over even if the call fails
  ENTER();
  if (g.depth < 0) return ncclInvalidUsage;
  if (g.of == nullptr) return ncclSuccess;
  ++own().counted.groups;
  return begin(*g.of, g.stream, g.parts);
}
ncclResult_t ncclSend(const void* from, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream) {
  ENTER();
  return call(comm, stream, {kind::send, from, nullptr, count, type, peer}, nullptr);
}
ncclResult_t ncclRecv(void* to, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream) {
  ENTER();
  return call(comm, stream, {kind::receive, nullptr, to, count, type, peer}, nullptr);
}
ncclResult_t ncclAllReduce(const void* from, void* to, std::size_t count, ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
                           cudaStream_t stream) {
  ENTER();
  if (op != ncclSum || type == ncclUint8) return ncclInvalidArgument;
  return call(comm, stream, {kind::reduce, from, to, count, type, 0}, &fake::counts_of_nccl::reduced);
}
ncclResult_t ncclAllGather(const void* from, void* to, std::size_t count, ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream) {
  ENTER();
  return call(comm, stream, {kind::gather, from, to, count, type, 0}, &fake::counts_of_nccl::gathered);
}
ncclResult_t ncclBroadcast(const void* from, void* to, std::size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                           cudaStream_t stream) {
  ENTER();
  return call(comm, stream, {kind::broadcast, from, to, count, type, root}, &fake::counts_of_nccl::broadcast);
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* lowest, int* highest) {
  *lowest = 0;
  *highest = -5;
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  return priority == -5 ? cudaStreamCreateWithFlags(stream, flags) : cudaErrorInvalidValue;
}

} // extern "C"
