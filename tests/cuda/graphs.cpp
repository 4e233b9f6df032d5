// SPDX-License-Identifier: MIT
// Tests of a step that is one CUDA graph, on the fake runtime: how often it calls the runtime, when it is captured, and that its
// bits are those of a step whose ops are put on the GPU one by one.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <cairn/cairn_cuda.cuh>
#include <doctest/doctest.h>

#include "fake/fake.hpp"
#include "ranks.hpp"

namespace cuda_graphs_tests {

using namespace cairn;
using testing::most_rows, testing::Net, testing::samples;

namespace {

template <class Model>
using trainer_of = testing::trainer_of<Model, cuda>;

template <class Model>
auto options_of(bool graphs) {
  typename trainer_of<Model>::options given{.seed = 5, .graphs = graphs};
  if constexpr (!trainer_of<Model>::fused) given.clip.max_norm = 0.5;
  return given;
}
// Makes a step with a learning rate of its own.
template <class Trainer>
double step(Trainer& t, std::size_t number, std::size_t rows = most_rows) {
  t.learning_rate(0.02 / static_cast<double>(number + 1));
  const samples s(rows, number);
  return t.step(s.x, s.y);
}
template <class Trainer>
std::vector<float> numbers_of(Trainer& t) {
  std::vector<float> all;
  t.for_each([&](const auto& q) { all.insert(all.end(), q.numbers.begin(), q.numbers.end()); });
  return all;
}
// Twelve steps of full batches but for each third, which is short, and evaluations between them.
template <class Model>
std::vector<float> learnt(bool graphs) {
  trainer_of<Model> t{AdamW{}, options_of<Model>(graphs)};
  std::vector<float> seen;
  for (std::size_t s = 0; s < 12; ++s) {
    seen.push_back(static_cast<float>(step(t, s, s % 3 == 2 ? 3 : most_rows)));
    if (s % 4 != 1) continue;
    const samples other(most_rows, 100);
    seen.push_back(static_cast<float>(t.evaluate_loss(other.x, other.y)));
  }
  CHECK((t.device().statistics().plays > 0) == graphs);
  const std::vector<float> all = numbers_of(t);
  seen.insert(seen.end(), all.begin(), all.end());
  return seen;
}

struct calls {
  std::size_t launches = 0, products = 0, copies = 0, graphs = 0, captures = 0, patches = 0, ordered = 0, recorded = 0;
};
// Since reset().
calls called() {
  const fake::counts& now = fake::counted();
  return {now.launches,
          now.products,
          now.copies,
          now.graphs,
          now.captures,
          now.patches,
          fake::calls("cudaStreamWaitEvent"),
          fake::calls("cudaEventRecord")};
}
template <class F>
calls calls_of(const F& f) {
  const calls before = called();
  f();
  const calls after = called();
  return {after.launches - before.launches, after.products - before.products, after.copies - before.copies,
          after.graphs - before.graphs,     after.captures - before.captures, after.patches - before.patches,
          after.ordered - before.ordered,   after.recorded - before.recorded};
}

template <class Model>
void check_step_ten() {
  fake::reset();
  trainer_of<Model> t{AdamW{}, options_of<Model>(true)};
  for (std::size_t s = 0; s < 9; ++s) step(t, s);
  const calls of_step = calls_of([&] { step(t, 9); });
  CHECK(of_step.copies == 2); // one up, one down
  CHECK(of_step.graphs == 1);
  CHECK(of_step.launches + of_step.products + of_step.captures == 0);
  CHECK(of_step.ordered == 1);
  const detail::cuda_statistics all = t.device().statistics();
  CHECK(all.captures == 2); // one for each slot
  CHECK(all.plays == 8);
  CHECK(all.refused == 0);
}
template <class Model>
void check_bits() {
  fake::reset();
  const std::vector<float> expected = learnt<Model>(false);
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    fake::reset(seed);
    CHECK(learnt<Model>(true) == expected);
  }
}

} // namespace

TEST_CASE("cuda, graphs: step 10 is one upload, one launch and one download, with every policy") {
  check_step_ten<Net>();
  check_step_ten<checkpoint<sqrt_n, Net>>();
  check_step_ten<checkpoint<recompute_all, Net>>();
  check_step_ten<checkpoint<every<2>, Net>>();
  check_step_ten<fused_update<checkpoint<sqrt_n, Net>>>();
}

TEST_CASE(
    "cuda, graphs: bits are those of ops that are put on the GPU one by one, with a changing rate, Dropout, Adam, clipping") {
  check_bits<Net>();
  check_bits<checkpoint<sqrt_n, Net>>();
  check_bits<checkpoint<recompute_all, Net>>();
  check_bits<fused_update<Net>>();
}

TEST_CASE("cuda, graphs: without them each op is put on the GPU in its call") {
  fake::reset();
  trainer_of<Net> t{AdamW{}, options_of<Net>(false)};
  for (std::size_t s = 0; s < 9; ++s) step(t, s);
  const std::uint64_t before = t.device().statistics().ops;
  const calls of_step = calls_of([&] { step(t, 9); });
  CHECK(of_step.launches + of_step.products == t.device().statistics().ops - before);
  CHECK(of_step.launches > 10);
  CHECK(of_step.graphs + of_step.captures + of_step.patches == 0);
}

TEST_CASE("cuda, graphs: a new number of rows costs one capture for each slot, and old ones go on") {
  fake::reset();
  trainer_of<Net> t{AdamW{}, options_of<Net>(true)};
  std::size_t number = 0;
  const auto steps = [&](std::size_t count, std::size_t rows) {
    return calls_of([&] {
      for (std::size_t s = 0; s < count; ++s) step(t, number++, rows);
    });
  };
  CHECK(steps(8, most_rows).captures == 2);
  CHECK(steps(1, 3).captures == 0);         // the first time its ops are put one by one
  CHECK(steps(1, most_rows).captures == 0); // the other slot
  CHECK(steps(1, 3).captures == 1);         // the first slot again
  const calls more = steps(10, 3);
  CHECK(more.captures == 1);
  CHECK(more.graphs == 9);
  const calls old = steps(4, most_rows);
  CHECK((old.captures == 0 && old.graphs == 4 && old.launches == 0));
  CHECK(t.device().statistics().captures == 4);
}

TEST_CASE("cuda, graphs: eight numbers of rows in turn have graphs, nine are put one by one, and statistics() says so") {
  for (const std::size_t kinds : {8U, 9U}) {
    fake::reset();
    using type = trainer<Net, CrossEntropyLoss, AdamW, batch<9>, float, cuda>;
    type t{AdamW{}, {.seed = 5}};
    for (std::size_t s = 0; s < 6 * kinds; ++s) {
      const samples now(1 + s % kinds, s);
      t.step(now.x, now.y);
    }
    t.wait();
    const detail::cuda_statistics all = t.device().statistics();
    CAPTURE(all.ops);
    CHECK(all.captures == (kinds == 8 ? 8 : 0)); // with eight of them each has one slot
    CHECK(all.plays == (kinds == 8 ? 5 * kinds : 0));
    CHECK((all.ops > 6 * kinds * 20) == (kinds == 9));
  }
}

TEST_CASE("cuda, graphs: with ranks a step is a launch for each bucket and one more") {
  using ranked = testing::trainer_of<ddp<Net, threads::rank, bucket_bytes<1024>>, cuda>;
  constexpr std::size_t buckets = ranked::buckets.size();
  REQUIRE(buckets == 4);
  fake::reset();
  std::vector<detail::cuda_statistics> before(2), after(2);
  std::vector<std::vector<float>> bits(4);
  for (const bool graphs : {true, false})
    threads{2}.run([&](threads::rank& rank) {
      const auto own = static_cast<std::size_t>(rank.rank());
      ranked t{rank, AdamW{}, {.seed = 5, .ordinal = 0, .graphs = graphs, .check_every = 0, .clip = {.max_norm = 0.5}}};
      for (std::size_t s = 0; s < 10; ++s) {
        if (s == 9 && graphs) t.wait(), before[own] = t.device().statistics();
        const samples now(most_rows, 10 * s + own);
        t.learning_rate(0.02 / static_cast<double>(s + 1));
        t.step(now.x, now.y);
      }
      t.wait();
      if (graphs) after[own] = t.device().statistics();
      bits[graphs ? own : 2 + own] = numbers_of(t);
    });
  for (std::size_t rank = 0; rank < 2; ++rank) {
    CHECK(after[rank].plays - before[rank].plays == buckets + 1);
    CHECK(after[rank].ops - before[rank].ops == 2); // two products alone between two seams, which are too few for a graph
    CHECK(after[rank].captures == before[rank].captures);
    CHECK(bits[rank] == bits[2 + rank]);
  }
}

TEST_CASE("cuda, graphs: an argument that is not replaced in a graph changes bits") {
  const auto trained = [](std::size_t forgotten) {
    fake::reset();
    trainer_of<Net> t{AdamW{}, options_of<Net>(true)};
    for (std::size_t s = 0; s < 6; ++s) step(t, s);
    if (forgotten > 0) fake::forget_patch(forgotten - 1);
    const std::size_t patches = calls_of([&] { step(t, 6); }).patches;
    std::vector<float> all = numbers_of(t);
    all.push_back(static_cast<float>(patches));
    return all;
  };
  const std::vector<float> right = trained(0);
  const auto patches = static_cast<std::size_t>(right.back());
  std::size_t found = 0;
  for (std::size_t p = 1; p <= patches; ++p) found += trained(p) != right ? 1 : 0;
  CHECK(found == 3);       // of Dropout, forward and backward, and of Adam
  CHECK(patches >= found); // others differ in bytes between members, if any do
}

TEST_CASE("cuda, graphs: what the runtime refuses to capture is put one by one, to the same bits, and counted") {
  fake::reset();
  const std::vector<float> expected = learnt<Net>(true);
  for (const char* const function :
       {"cudaStreamBeginCapture", "cudaStreamGetCaptureInfo", "cudaStreamEndCapture", "cudaGraphInstantiate"}) {
    CAPTURE(function);
    fake::reset();
    fake::fail(function, 0, cudaErrorStreamCaptureUnsupported);
    trainer_of<Net> t{AdamW{}, options_of<Net>(true)};
    for (std::size_t s = 0; s < 10; ++s) step(t, s);
    const detail::cuda_statistics all = t.device().statistics();
    CHECK(all.refused == 1);
    CHECK(all.captures == 1); // of the other slot
    CHECK(all.plays == 4);
    fake::reset();
    fake::fail(function, 0, cudaErrorStreamCaptureUnsupported);
    CHECK(learnt<Net>(true) == expected);
  }
}

TEST_CASE("cuda, graphs: an error of a graph names the step and its ops") {
  const auto said = [](const std::string& function, std::size_t call, std::size_t steps) {
    fake::reset();
    trainer_of<Net> t{AdamW{}, options_of<Net>(true)};
    for (std::size_t s = 0; s < steps; ++s) step(t, s);
    fake::fail(function, call, cudaErrorIllegalAddress);
    try {
      step(t, steps);
    } catch (const device_error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  const std::string graph = "a graph of ";
  const std::string of_launch = said("cudaGraphLaunch", 0, 5);
  CHECK_MESSAGE(of_launch.find("trainer, step 6: cuda, " + graph) == 0, of_launch);
  CHECK_MESSAGE(of_launch.find(" ops (matmul, batch_norm_forward, layer_norm_forward, dropout, ") != std::string::npos,
                of_launch);
  CHECK_MESSAGE(of_launch.find(", adam): expected it to succeed, found error 700") != std::string::npos, of_launch);
  const std::string of_work = said("cudaEventQuery", 0, 5); // where the next step takes the place of an earlier loss
  CHECK_MESSAGE(of_work.find("trainer, step 6: cuda, ") == 0, of_work);
  const std::string of_patch = said("cudaGraphExecKernelNodeSetParams", 0, 5);
  CHECK_MESSAGE(of_patch.find("trainer, step 6: cuda, dropout: expected it to succeed, found error 700") == 0, of_patch);
  fake::reset();
  {
    trainer_of<Net> t{AdamW{}, options_of<Net>(true)};
    const samples s(most_rows, 1);
    for (std::size_t k = 0; k < 6; ++k) t.step(s.x, s.y); // two of them may be on their way
    fake::fail("cudaEventQuery", 0, cudaErrorIllegalAddress);
    std::string text;
    try {
      t.step(s.x, s.y);
    } catch (const device_error& e) {
      text = e.what();
    }
    CHECK_MESSAGE(text.find("trainer, step 5 or 6: cuda, download after " + graph) == 0, text);
    CHECK_MESSAGE(text.find(", adam): expected it to succeed, found error 700") != std::string::npos, text);
  }
  fake::reset();
}

TEST_CASE("cuda, graphs: the gradients of a layer's weight and input are made at the same time") {
  using Mlp = Sequential<Linear<12, 16>, ReLU, Repeat<7, Sequential<Linear<16, 16>, ReLU>>, Linear<16, 5>>;
  const auto time_of_step = [](bool graphs) {
    using type = trainer<Mlp, CrossEntropyLoss, SGD, batch<most_rows>, float, cuda>;
    fake::reset();
    type t{SGD{}, {.seed = 5, .graphs = graphs}};
    const samples s(most_rows, 1);
    for (int k = 0; k < 6; ++k) t.step(s.x, s.y);
    t.wait();
    fake::reset();
    t.step(s.x, s.y);
    t.wait();
    return fake::clock();
  };
  const std::uint64_t in_branches = time_of_step(true), one_by_one = time_of_step(false);
  const std::uint64_t least = 7 * fake::time_of_product(16, 16, most_rows); // of the layers with a gradient of their input
  CHECK(in_branches + least < one_by_one);

  detail::cuda_graphs::makes_branches = false; // as a benchmark has it
  const std::uint64_t in_a_row = time_of_step(true);
  detail::cuda_graphs::makes_branches = true;
  CHECK(in_branches + least < in_a_row);
}

TEST_CASE("cuda, graphs: the host of a step with a small network has done its part in microseconds") {
  // What a call takes the host: of kernels, products, patches and graphs as published for GPUs of these days; a graph's are those
  // of a slow launch. A compiler that leaves the bytes between members as they are makes patches in vain: see clear_padding().
#if __has_builtin(__builtin_clear_padding)
  constexpr double patch = 1;
#else
  constexpr double patch = 0;
#endif
  const auto microseconds = [](const calls& c) {
    return 2.5 * static_cast<double>(c.launches + c.copies) + 4.0 * static_cast<double>(c.products) +
           15.0 * static_cast<double>(c.graphs) + patch * static_cast<double>(c.patches) +
           0.9 * static_cast<double>(c.ordered + c.recorded);
  };
  const auto of_step = [&]<class Model>(std::size_t rows, bool graphs, Model) {
    using type = trainer<typename Model::type, MSELoss, SGD, batch<32>, float, cuda>;
    fake::reset();
    type t{SGD{.learning_rate = 1e-3, .momentum = 0.9}, {.seed = 5, .graphs = graphs}};
    const std::vector<float> x(rows * type::input_shape.size(), 0.5F), y(rows * type::output_shape.size(), 0.25F);
    const auto one = [&](double rate) {
      t.learning_rate(rate);
      t.step(x, y);
    };
    for (int s = 0; s < 9; ++s) one(1e-3 / (s + 1));
    return microseconds(calls_of([&] { one(1e-4); }));
  };
  struct ffnet_small {
    using type = Sequential<Linear<100, 10>, ReLU, Linear<10, 1>>;
  };
  struct mlp { // not as wide as the benchmark's: the calls are the same
    using type = Sequential<Linear<24, 16>, ReLU, Repeat<7, Sequential<Linear<16, 16>, ReLU>>, Linear<16, 10>>;
  };
  const double small = of_step(32, true, ffnet_small{}), large = of_step(32, true, mlp{});
  CAPTURE(small);
  CAPTURE(large);
  CHECK(small <= 25);
  CHECK(large <= 40);
  CHECK(of_step(32, false, ffnet_small{}) > 1.5 * small);
  CHECK(of_step(32, false, mlp{}) > 4 * large);
}

TEST_CASE("fake: a capture refuses what a GPU's refuses") {
  fake::reset();
  cuda gpu, other;
  const cudaStream_t stream = gpu.compute().stream(), branch = gpu.transfers().stream(), foreign = other.compute().stream();
  cudaEvent_t event = nullptr, late = nullptr;
  for (cudaEvent_t* e : {&event, &late}) CHECK(cudaEventCreateWithFlags(e, cudaEventDisableTiming) == cudaSuccess);
  const cuda::memory memory = gpu.allocate(1024);
  // Captures a memset and then what f does, and returns the code of the end.
  const auto ends = [&](const auto& f) {
    cudaGraph_t graph = nullptr;
    REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
    CHECK(cudaMemsetAsync(memory.data(), 0, 1024, stream) == cudaSuccess);
    f();
    const cudaError_t code = cudaStreamEndCapture(stream, &graph);
    CHECK((graph != nullptr) == (code == cudaSuccess));
    if (graph != nullptr) CHECK(cudaGraphDestroy(graph) == cudaSuccess);
    static_cast<void>(cudaGetLastError());
    return code;
  };
  CHECK(ends([] {}) == cudaSuccess);
  CHECK(ends([&] { CHECK(cudaStreamSynchronize(stream) == cudaErrorStreamCaptureUnsupported); }) ==
        cudaErrorStreamCaptureInvalidated);
  CHECK(ends([&] {
          CHECK(cudaEventRecord(event, stream) == cudaSuccess);
          CHECK(cudaEventQuery(event) == cudaErrorStreamCaptureUnsupported);
        }) == cudaErrorStreamCaptureInvalidated);
  CHECK(ends([] {
          void* block = nullptr;
          CHECK(cudaMalloc(&block, 1) == cudaErrorStreamCaptureUnsupported);
        }) == cudaErrorStreamCaptureInvalidated);
  CHECK(ends([&] { // a foreign wait
          CHECK(cudaEventRecord(late, foreign) == cudaSuccess);
          CHECK(cudaStreamWaitEvent(stream, late, cudaEventWaitDefault) == cudaErrorStreamCaptureIsolation);
        }) == cudaErrorStreamCaptureInvalidated);
  CHECK(ends([&] { // a branch that is not joined
          CHECK(cudaEventRecord(event, stream) == cudaSuccess);
          CHECK(cudaStreamWaitEvent(branch, event, cudaEventWaitDefault) == cudaSuccess);
          CHECK(cudaMemsetAsync(memory.data(), 1, 1024, branch) == cudaSuccess);
        }) == cudaErrorStreamCaptureUnjoined);
  CHECK(ends([&] { // an algorithm that is asked for
          const std::vector<float> none;
          const auto* const at = reinterpret_cast<const float*>(memory.data());
          CHECK_THROWS_AS((gpu.compute().products("matmul").algorithm(
                              {.m = 4, .n = 4, .k = 4},
                              [&] {
                                const auto call =
                                    detail::column_major(ops::matrix<float>(reinterpret_cast<float*>(memory.data()) + 128, 4, 4),
                                                         ops::matrix<const float>(at, 4, 4),
                                                         ops::matrix<const float>(at + 64, 4, 4), ops::transpose::none);
                                return detail::cublas_product<float>(call, false)
                                    .choose(nullptr, ops::transpose::none,
                                            detail::cublas_product<float>::key(call, false, false));
                              })),
                          device_error);
        }) == cudaErrorStreamCaptureInvalidated);
  cudaGraph_t none = nullptr;
  CHECK(cudaStreamEndCapture(stream, &none) == cudaErrorIllegalState);

  // Only kernels take other arguments, and only those of the graph.
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  cudaStreamCaptureStatus status{};
  const cudaGraphNode_t* latest = nullptr;
  std::size_t count = 0;
  REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
  CHECK(cudaMemsetAsync(memory.data(), 7, 1024, stream) == cudaSuccess);
  CHECK(cudaStreamGetCaptureInfo(stream, &status, nullptr, nullptr, &latest, nullptr, &count) == cudaSuccess);
  REQUIRE(count == 1);
  const cudaGraphNode_t node = *latest;
  CHECK(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
  CHECK(cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess);
  cudaKernelNodeParams with{};
  CHECK(cudaGraphExecKernelNodeSetParams(exec, node, &with) == cudaErrorInvalidValue);
  CHECK(cudaGraphExecKernelNodeSetParams(exec, nullptr, &with) == cudaErrorInvalidValue);
  CHECK(cudaGraphLaunch(exec, stream) == cudaSuccess);
  const cuda::host_memory here = gpu.staging(1024);
  download(gpu.compute(), 1024, here.data(), static_cast<const std::byte*>(memory.data()));
  gpu.compute().finish();
  CHECK(std::all_of(here.data(), here.data() + 1024, [](std::byte b) { return b == std::byte{7}; }));
  CHECK(cudaGraphExecDestroy(exec) == cudaSuccess);
  CHECK(cudaGraphLaunch(exec, stream) == cudaErrorInvalidValue);
  CHECK(cudaGraphDestroy(graph) == cudaSuccess);
  for (const cudaEvent_t e : {event, late}) cudaEventDestroy(e);
  fake::reset();
}

} // namespace cuda_graphs_tests
