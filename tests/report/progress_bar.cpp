// SPDX-License-Identifier: MIT
#include <string>

#include <cairn/report/progress_bar.hpp>
#include <doctest/doctest.h>

#include "fake_run.hpp"
#include "paper.hpp"

namespace progress_bar_tests {

using namespace cairn;
using namespace testing;

namespace {

using bar = progress_bar<set_clock>;

void make_epoch(bar& b, fake_run& run, std::size_t steps = 10) {
  for (std::size_t s = 0; s < steps; ++s) {
    set_clock::pass(100);
    ++run.at_step, ++run.made;
    run.last_loss = 1 / static_cast<double>(run.at_step);
    b.on_step(run);
  }
}

} // namespace

TEST_CASE("progress_bar: a bar for each epoch, and its metrics below") {
  const paper p;
  bar b{{.out = p.file.get()}};
  fake_run run;
  b.on_begin(run);
  for (run.at_epoch = 0; run.at_epoch < 2; ++run.at_epoch) {
    run.made = 0;
    make_epoch(b, run);
    run.measured = {{"train_loss", 0.25}, {"val_accuracy", 0.97654}};
    set_clock::pass(60'000); // the validation
    b.on_epoch(run);
  }
  b.on_end(run);
  CHECK(p.text() == "epoch 1/2: 100% 100/100 [00:01, 100 samples/s, loss=0.1, lr=0.1]\n"
                    "epoch 1/2: train_loss=0.25, val_accuracy=0.9765\n"
                    "epoch 2/2: 100% 100/100 [00:01, 100 samples/s, loss=0.05, lr=0.1]\n"
                    "epoch 2/2: train_loss=0.25, val_accuracy=0.9765\n");
}

TEST_CASE("progress_bar: a run that ends with a step is counted in steps up to that one") {
  const paper p;
  bar b{{.out = p.file.get()}};
  fake_run run{.last = 14};
  b.on_begin(run);
  make_epoch(b, run);
  run.measured = {{"train_loss", 0.25}};
  b.on_epoch(run);
  run.at_epoch = 1, run.made = 0;
  make_epoch(b, run, 4);
  b.on_end(run);
  const std::string text = p.text();
  CHECK(text.find("epoch 1:  71% 10/14 [") != std::string::npos);
  CHECK(text.find("epoch 1: train_loss=0.25\n") != std::string::npos);
  CHECK(text.find("epoch 2: 100% 14/14 [") != std::string::npos);
  CHECK(text.find("steps/s") != std::string::npos);
  CHECK(text.find("samples") == std::string::npos);
}

TEST_CASE("progress_bar: on a terminal it is drawn in place, and other ranks draw nothing") {
  const paper p;
  bar b{{.out = p.file.get(), .terminal = true, .columns = 90, .utf8 = false}};
  bar other{{.out = p.file.get(), .terminal = true, .columns = 90, .utf8 = false}};
  fake_run run, of_other{.own_rank = 1};
  b.on_begin(run);
  other.on_begin(of_other);
  make_epoch(b, run, 5);
  make_epoch(other, of_other, 5);
  other.on_epoch(of_other);
  const auto lines = p.pieces('\r');
  REQUIRE(lines.size() >= 3);
  CHECK(lines.back() == "epoch 1/2:  50%|########5        |  50/100 [00:00<00:01, 100 samples/s, loss=0.2, lr=0.1]");
}

TEST_CASE("progress_bar: a run that was resumed within an epoch, and one that stops within it") {
  const paper p;
  bar b{{.out = p.file.get()}};
  fake_run run{.at_step = 14, .at_epoch = 1, .made = 4};
  b.on_begin(run);
  make_epoch(b, run, 3);
  b.on_end(run);
  CHECK(p.text() == "epoch 2/2:  70% 70/100 [00:00, 100 samples/s, loss=0.05882, lr=0.1]\n");
}

TEST_CASE("progress_bar: without a place to write to there is nothing") {
  bar b{{.out = nullptr}};
  fake_run run{.measured = {{"train_loss", 1}}};
  b.on_begin(run);
  make_epoch(b, run);
  b.on_epoch(run);
  b.on_end(run);
  CHECK(run.made == 10);
  progress_bar{}.on_end(run); // nothing has begun
}

} // namespace progress_bar_tests
