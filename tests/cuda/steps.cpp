// SPDX-License-Identifier: MIT
// Tests of what a step on a GPU must not do, and of how it fails. They run on the fake runtime.
#include <cstddef>
#include <set>
#include <string>

#include <cairn/cairn_cuda.cuh>
#include <doctest/doctest.h>

#include "fake/fake.hpp"
#include "network.hpp"

namespace cuda_steps_tests {

using namespace cairn;
using testing::Net;
using type = testing::trainer_of<checkpoint<sqrt_n, Net>, cuda>;

namespace {

// Returns what the second step throws when one call in it fails; empty if it throws nothing.
std::string said_by_step(const std::string& function, std::size_t call, int code) {
  fake::reset();
  type t{AdamW{}, {.seed = 5}};
  const testing::samples s(testing::most_rows, 1);
  static_cast<void>(double{t.step(s.x, s.y)});
  fake::fail(function, call, code);
  try {
    const auto loss = t.step(s.x, s.y);
    static_cast<void>(double{loss});
  } catch (const device_error& e) {
    return e.what();
  }
  return "";
}
const std::string in_second = "trainer, step 2: cuda, ";

} // namespace

TEST_CASE(
    "cuda: from the second step on nothing is allocated, made or asked for, nothing waits, and no stream is the default one") {
  for (const bool graphs : {true, false}) {
    fake::reset();
    type t{AdamW{}, {.seed = 5, .graphs = graphs}};
    const testing::samples s(testing::most_rows, 1);
    static_cast<void>(double{t.step(s.x, s.y)});
    const fake::counts before = fake::counted();
    for (int step = 0; step < 5; ++step) t.step(s.x, s.y);
    t.wait();
    const fake::counts after = fake::counted();
    const std::size_t one_by_one = graphs ? 3 : 5; // and for two of them graphs are captured
    CHECK(after.launches > before.launches + one_by_one * 10);
    CHECK(after.products >= before.products + one_by_one * 8);
    CHECK(after.graphs == (graphs ? 4 : 0));
    CHECK(after.captures == (graphs ? 2 : 0));
    CHECK(after.allocations == before.allocations);
    CHECK(after.made == before.made);
    CHECK(after.asked == before.asked);
    CHECK(after.waits == before.waits);
    CHECK(after.default_stream == 0);
  }
}

TEST_CASE("cuda: numbers do not depend on the order in which streams and blocks get their turn") {
  fake::reset(1);
  const auto first = testing::trained<Net, cuda>();
  for (const std::uint64_t seed : {2U, 3U, 4U}) {
    fake::reset(seed);
    CHECK(testing::trained<Net, cuda>() == first);
  }
}

TEST_CASE("cuda: where an epilogue is refused kernels do it, to the same bits for all policies") {
  using other = checkpoint<recompute_all, Net>;
  for (const bool only_when_checked : {false, true}) {
    fake::reset();
    const auto fused = testing::trained<Net, cuda>();
    const std::size_t launches = fake::counted().launches;
    fake::reset();
    fake::refuse(CUBLASLT_EPILOGUE_RELU_BIAS, only_when_checked);
    fake::refuse(CUBLASLT_EPILOGUE_BIAS, only_when_checked);
    fake::refuse(CUBLASLT_EPILOGUE_BGRADB, only_when_checked);
    const auto plain = testing::trained<Net, cuda>();
    CHECK(fake::counted().launches > launches);
    CHECK(testing::trained<other, cuda>() == plain);
    REQUIRE(plain.size() == fused.size());
    for (std::size_t i = 0; i < 6; ++i) CHECK(plain[i] == doctest::Approx(fused[i]).epsilon(1e-4));
  }
}

TEST_CASE("cuda: a call that fails in a step is an error that names the step, the op, the code and what to do") {
  std::set<std::string> ops;
  std::size_t launches = 0;
  for (std::string said; !(said = said_by_step("cudaLaunchKernelExC", launches, cudaErrorIllegalAddress)).empty(); ++launches) {
    CHECK(said.find(": expected it to succeed, found error 700, ") != std::string::npos);
    CHECK(said.find("compute-sanitizer names it") != std::string::npos);
    REQUIRE(said.find(in_second) == 0);
    ops.insert(said.substr(in_second.size(), said.find(':', in_second.size()) - in_second.size()));
  }
  CHECK(launches > 10);
  const std::set<std::string> expected{"ReLU backward",
                                       "adam",
                                       "add",
                                       "batch_norm_backward",
                                       "batch_norm_forward",
                                       "dropout",
                                       "layer_norm_backward",
                                       "layer_norm_forward",
                                       "softmax_cross_entropy"};
  for (const std::string& op : ops) CHECK_MESSAGE(expected.contains(op), op);
  for (const std::string& op : expected) CHECK_MESSAGE(ops.contains(op), op);

  CHECK(said_by_step("cublasLtMatmul", 0, CUBLAS_STATUS_EXECUTION_FAILED)
            .find(in_second + "matmul: expected cuBLASLt to succeed, found status 13") == 0);
  CHECK(said_by_step("cudaMemcpyAsync", 0, cudaErrorInvalidValue)
            .find(in_second + "upload: expected it to succeed, found error 1,") == 0);
  CHECK(said_by_step("cudaEventRecord", 0, cudaErrorUnknown).find(in_second + "record: ") == 0);
  CHECK(said_by_step("cudaStreamWaitEvent", 0, cudaErrorUnknown).find(in_second + "wait: ") == 0);
  CHECK(said_by_step("cudaGetDevice", 3, cudaErrorInvalidDevice).find("found error 101") != std::string::npos);
  // Errors of work on the GPU are known when the host asks.
  CHECK(said_by_step("cudaEventQuery", 2, cudaErrorECCUncorrectable).find("start again on another one") != std::string::npos);
}

TEST_CASE("cuda: what goes wrong on the GPU names the steps that were there when it was found") {
  fake::reset();
  type t{AdamW{}, {.seed = 5}};
  const testing::samples s(testing::most_rows, 1);
  t.step(s.x, s.y);
  t.step(s.x, s.y);
  fake::fail("cudaEventQuery", 0, cudaErrorIllegalAddress);
  try {
    t.step(s.x, s.y); // takes the place of the first one's loss
    FAIL("expected an error");
  } catch (const device_error& e) {
    const std::string said = e.what();
    CHECK_MESSAGE(said.find("trainer, step 1 or 2: cuda, download: expected it to succeed, found error 700") == 0, said);
  }
  fake::reset();
}

TEST_CASE("cuda: a trainer that cannot be made says what is missing, and gives back what it has taken") {
  fake::reset();
  {
    type t{AdamW{}};
  }
  const std::size_t blocks = fake::blocks();
  for (const char* const function : {"cudaMalloc", "cudaHostAlloc", "cudaStreamCreateWithFlags", "cudaEventCreateWithFlags",
                                     "cudaMemsetAsync", "cudaStreamSynchronize", "cublasLtCreate"}) {
    std::size_t failed = 0;
    for (bool made = false; !made; ++failed) {
      fake::reset();
      fake::fail(function, failed * 7,
                 function == std::string("cublasLtCreate") ? int{CUBLAS_STATUS_ALLOC_FAILED} : int{cudaErrorMemoryAllocation});
      try {
        type t{AdamW{}};
        made = true;
      } catch (const error& e) {
        CHECK(std::string(e.what()).find("take a smaller batch or network") != std::string::npos);
      }
      CHECK(fake::blocks() == blocks);
    }
    CHECK(failed > 1);
  }
  fake::reset();
}

} // namespace cuda_steps_tests
