// SPDX-License-Identifier: MIT
// long to compile
#include <array>
#include <atomic>
#include <cstddef>
#include <filesystem>
#include <string>

#include <cairn/comm/launch/chosen_ranks.hpp>
#include <cairn/comm/threads/threads.hpp>
#include <cairn/data/distributed_sampler.hpp>
#include <cairn/net/fused_update.hpp>
#include <cairn/report/csv_log.hpp>
#include <cairn/report/metrics_picture.hpp>
#include <cairn/report/progress_bar.hpp>
#include <cairn/report/start_line.hpp>
#include <cairn/report/tensorboard_log.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/fit/fit.hpp>
#include <cairn/train/state/saved_states.hpp>
#include <doctest/doctest.h>

#include "../data/folder.hpp"
#include "../train/digits.hpp"
#include "../train/training.hpp"
#include "paper.hpp"

namespace start_line_tests {

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
  const std::string text = report::start_line::text(train);
  CHECK(has(text, "Cairn " + std::to_string(CAIRN_VERSION_MAJOR) + "."));
  CHECK(has(text, "own kernels"));
  CHECK(has(text, " | cpu, 2 threads | 1 rank\n"));
  CHECK(has(text, "\nsqrt_n, batch 8 of float | 1,332 parameters | " + report::format_bytes(train.arena().size()) +
                      " of activations, " + report::format_bytes(train.memory().machine()) + " in all | CrossEntropyLoss, SGD"));
}

TEST_CASE("start_line: one of several ranks prints it, with what joins them") {
  const paper p;
  std::size_t all = 0;
  threads{2}.run([&](threads::rank& within) {
    any_rank rank(within);
    using Train = trainer<ddp<fused_update<Small>, any_rank>, CrossEntropyLoss, SGD, batch<8>>;
    Train train{rank, SGD{}, {.threads = 1}};
    if (rank.rank() == 0) all = train.memory().machine();
    const report::start_line line{p.file.get()};
    line.on_begin(run_of<Train>{train, rank.rank()});
    line.print(train);
    report::start_line{nullptr}.print(train);
  });
  const auto lines = p.pieces('\n');
  REQUIRE(lines.size() == 5);
  CHECK(has(lines[0], " | cpu, 1 thread | 2 ranks by threads"));
  CHECK(has(lines[1], "store_all, fused update, batch 8 of float | "));
  CHECK(has(lines[1], " of activations, " + report::format_bytes(all) + " in all by 2 ranks | CrossEntropyLoss, SGD"));
  CHECK(lines[2] == lines[0]);
  CHECK(lines[4].empty());
}

namespace {

// Runs fit() on two ranks with everything that shows and writes. Each rank has a place of its own for it, and `table` is the
// first rank's csv_log. Returns the text of the exception that comes out of it.
std::string show_all(const folder& here, const std::string& table, const std::string& states, std::array<paper, 2>& papers) {
  return text_of([&] {
    const digits d(32);
    threads{2}.run([&](threads::rank& rank) {
      const std::string own = here.path / ("rank" + std::to_string(rank.rank()));
      std::FILE* const out = papers[static_cast<std::size_t>(rank.rank())].file.get();
      trainer<ddp<Sequential<Linear<features, classes>>, threads::rank>, CrossEntropyLoss, SGD, batch<8>> train{rank, SGD{}};
      loader batches{d.data, sampler{rank}, batch<8>{}, {.prefetch = 0}};
      const auto say = [&](const std::string& line) { std::fputs(line.c_str(), out); };
      fit(train, batches, {.max_epochs = 2, .log_every_n_steps = 1, .handle_signals = false}, report::start_line{out},
          progress_bar{{.out = out}}, csv_log{rank.rank() == 0 ? table : own + "/table.csv"}, tensorboard_log{own + "/events"},
          report::metrics_picture{own + "/curves.svg"}, saved_states{rank.rank() == 0 ? states : own + "/states", {.say = say}});
    });
  });
}
std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
  return found;
}

} // namespace

TEST_CASE("start_line, fit: of several ranks one shows and writes, whatever it is") {
  const folder here;
  std::array<paper, 2> papers;
  const std::string own = here.path / "rank0";
  CHECK(show_all(here, own + "/table.csv", own + "/states", papers) == "");
  for (const char* const made : {"/table.csv", "/events", "/curves.svg", "/states"})
    CHECK(std::filesystem::exists(std::filesystem::path(own + made)));
  CHECK_FALSE(std::filesystem::exists(here.path / "rank1"));
  CHECK(count_of(papers[0].text(), "2 ranks by threads") == 1);
  CHECK(count_of(papers[0].text(), "epoch 2/2: 100%") == 1);
  CHECK(papers[1].text().empty());
}
TEST_CASE("start_line, fit: what goes wrong on one rank comes out once, with its rank") {
  const folder here;
  std::array<paper, 2> papers;
  const std::string own = here.path / "rank0", taken = here.path; // a folder where a file is to be
  const std::string of_log = show_all(here, taken, own + "/states", papers);
  CHECK(has(of_log, "threads: rank 0 of 2 threw: "));
  CHECK(count_of(of_log, taken) == 1);
  // All ranks throw when the first one cannot write: none goes on without it.
  CHECK(show_all(here, own + "/table.csv", own + "/table.csv/states", papers).find("rank 0") != std::string::npos);
  CHECK(papers[1].text().empty());
}

TEST_CASE("start_line: the kernels are named by what is picked") {
  using detail::instruction_set;
  CHECK(has(detail::product_kernels(instruction_set::amx_bf16), "AMX, own kernels"));
  CHECK(has(detail::product_kernels(instruction_set::avx512_bf16), "AVX-512 BF16, own kernels"));
  CHECK(has(detail::product_kernels(instruction_set::avx512), "AVX-512, own kernels"));
  CHECK(has(detail::product_kernels(instruction_set::avx2), "AVX2, own kernels"));
  CHECK(has(detail::product_kernels(instruction_set::plain), "plain C++, own kernels"));
  // A BLAS makes products only on machines without these instructions.
  CHECK(has(detail::product_kernels(instruction_set::plain), ", products by ") == (CAIRN_WITH_BLAS != 0));
}

} // namespace start_line_tests
