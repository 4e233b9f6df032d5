// SPDX-License-Identifier: MIT
#include <atomic>
#include <string>

#include <cairn/comm/any_rank.hpp>
#include <cairn/comm/threads.hpp>
#include <cairn/net/fused_update.hpp>
#include <cairn/report/start_line.hpp>
#include <doctest/doctest.h>

#include "../train/training.hpp"
#include "paper.hpp"

using namespace cairn;
using namespace testing;

namespace {

using Small = Sequential<Linear<10, 16>, ReLU, Repeat<4, Residual<Linear<16, 16>, ReLU>>, Linear<16, 4>>;

template <class Trainer>
struct run_of {
  Trainer& trained;
  int own_rank = 0;
  Trainer& train() const { return trained; }
  int rank() const { return own_rank; }
};

} // namespace

TEST_CASE("start_line: what runs, and where") {
  trainer<checkpoint<sqrt_n, Small>, CrossEntropyLoss, SGD, batch<8>> train{SGD{}, {.threads = 2}};
  const std::string text = start_line::text(train);
  CHECK(has(text, "Cairn " + std::to_string(CAIRN_VERSION_MAJOR) + "."));
  CHECK(has(text, "own kernels"));
  CHECK(has(text, " | cpu, 2 threads | 1 rank\n"));
  CHECK(has(text, "\nsqrt_n, batch 8 of float | 1,332 parameters | " + format_bytes(train.arena().size()) +
                      " of activations | CrossEntropyLoss, SGD"));
}

TEST_CASE("start_line: one of several ranks prints it, with what joins them") {
  const paper p;
  threads{2}.run([&](threads::rank& within) {
    any_rank rank(within);
    using Train = trainer<ddp<fused_update<Small>, any_rank>, CrossEntropyLoss, SGD, batch<8>>;
    Train train{rank, SGD{}, {.threads = 1}};
    const start_line line{p.file.get()};
    line.on_begin(run_of<Train>{train, rank.rank()});
    line.print(train);
    start_line{nullptr}.print(train);
  });
  const auto lines = p.pieces('\n');
  REQUIRE(lines.size() == 5);
  CHECK(has(lines[0], " | cpu, 1 thread | 2 ranks by threads"));
  CHECK(has(lines[1], "store_all, fused update, batch 8 of float | "));
  CHECK(lines[2] == lines[0]);
  CHECK(lines[4].empty());
}

TEST_CASE("start_line: the kernels are named by what is picked") {
  using detail::instruction_set;
  CHECK(has(detail::product_kernels(instruction_set::avx512), "AVX-512, own kernels"));
  CHECK(has(detail::product_kernels(instruction_set::avx2), "AVX2, own kernels"));
  CHECK(has(detail::product_kernels(instruction_set::plain), "plain C++, own kernels"));
  // A BLAS makes the products of machines without these instructions only.
  CHECK(has(detail::product_kernels(instruction_set::plain), ", products by ") == (CAIRN_WITH_BLAS != 0));
}
