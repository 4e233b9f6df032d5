// SPDX-License-Identifier: MIT
// Tests of what a GPU costs its host: bytes that go up, what a copy waits for, and the calling thread's current GPU. They run on
// the fake runtime.
#include <chrono>
#include <cstddef>
#include <span>
#include <vector>

#include <cairn/cairn_cuda.cuh>
#include <doctest/doctest.h>

#include "fake/fake.hpp"
#include "network.hpp"

namespace cuda_host_tests {

using namespace cairn;
using type = testing::trainer_of<testing::Net, cuda>;

namespace {

struct do_nothing {
  CAIRN_DEVICE void operator()(std::size_t) const {}
};
constexpr std::size_t room = 4096; // for as many rows that between inputs and targets lies more than a copy takes along
using roomy = trainer<testing::Net, CrossEntropyLoss, AdamW, batch<room>, float, cuda>;

std::size_t uploaded(roomy& t, std::size_t rows) {
  const testing::samples s(rows, 1);
  const std::size_t before = fake::counted().uploaded;
  static_cast<void>(t.evaluate_loss(s.x, s.y));
  return fake::counted().uploaded - before;
}
int current_gpu() {
  int now = -1;
  static_cast<void>(cudaGetDevice(&now));
  return now;
}

} // namespace

TEST_CASE("cuda: the rows of a batch go up, and not the room for more of them") {
  fake::reset();
  roomy t{AdamW{}, {.seed = 5}};
  constexpr std::size_t row = testing::features * sizeof(float) + sizeof(int);
  CHECK(uploaded(t, 1) == row);
  CHECK(uploaded(t, 3) == 3 * row);
  const std::size_t copies = fake::counted().copies;
  CHECK(uploaded(t, room) == room * row);
  CHECK(fake::counted().copies == copies + 3); // one up; the loss and the outputs down
}

TEST_CASE("cuda: the next batch does not wait for gradients that go down behind a backward pass") {
  fake::reset();
  fake::gpus(2);
  threads{2}.run([](threads::rank& rank) {
    cuda gpu({.ordinal = rank.rank()});
    constexpr std::size_t bytes = 1024;
    const auto there = gpu.allocate(2 * bytes);
    const auto here = gpu.staging(bytes);
    detail::through_host<threads::rank, cuda> comm(gpu, rank, 1, bytes, std::chrono::minutes(1));
    cuda::queue::stopwatch watch(gpu.transfers(), 2);
    upload(gpu.transfers(), bytes, there.data() + bytes, static_cast<const std::byte*>(here.data())); // sets the clock
    watch.mark();
    detail::launch_each(gpu.compute(), "backward", 5'000'000, do_nothing{}); // 5 ms of the fake's time
    auto sum = comm.all_reduce(gpu.compute(), std::span(reinterpret_cast<float*>(there.data()), bytes / sizeof(float)));
    upload(gpu.transfers(), bytes, there.data() + bytes, static_cast<const std::byte*>(here.data()));
    watch.mark();
    sum.wait(gpu.compute());
    gpu.transfers().finish();
    gpu.compute().finish();
    if (watch.nanoseconds(1) >= 2'500'000) throw error("the upload waited for backward");
  });
}

TEST_CASE("cuda: the program's current GPU stays its own, and a step chooses another one only once") {
  fake::reset();
  fake::gpus(2);
  {
    type first{AdamW{}, {.seed = 5}}, second{AdamW{}, {.seed = 5, .ordinal = 1}};
    const testing::samples s(testing::most_rows, 1);
    for (const int own : {0, 1}) {
      static_cast<void>(cudaSetDevice(own));
      for (type* t : {&first, &second}) {
        static_cast<void>(double{t->step(s.x, s.y)});
        t->wait();
        CHECK(current_gpu() == own);
        const std::size_t before = fake::calls("cudaSetDevice");
        t->step(s.x, s.y);
        CHECK(fake::calls("cudaSetDevice") - before <= (t->device().ordinal() == own ? 0U : 20U));
        t->wait();
      }
    }
    static_cast<void>(cudaSetDevice(0));
  }
  CHECK(current_gpu() == 0); // after both are gone
}

} // namespace cuda_host_tests
