// SPDX-License-Identifier: MIT
// under the thread sanitizer
// long to compile
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include <cairn/comm/threads/threads.hpp>
#include <cairn/core/float16.hpp>
#include <cairn/data/sequential_sampler.hpp>
#include <cairn/data/tensor_dataset.hpp>
#include <cairn/report/csv_log.hpp>
#include <cairn/report/progress_bar.hpp>
#include <cairn/report/step_trace.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/fit/fit.hpp>
#include <cairn/train/optimizers/adamw.hpp>
#include <cairn/train/state/saved_state.hpp>
#include <cairn/train/trainer.hpp>

#include "../../data/folder.hpp"
#include "../../report/paper.hpp"
#include "../training.hpp"

namespace ddp_loss_scale_tests {

using namespace cairn;
using testing::classes;
using testing::features;
using testing::has;
using samples = testing::samples<float>;

namespace {

constexpr int ranks = 3;
using Plain = Sequential<Linear<features, 8>, ReLU, Linear<8, classes>>;
using alone_type = trainer<Plain, CrossEntropyLoss, AdamW, batch<6>, float16>;
using rank_type = trainer<ddp<Plain, threads::rank, bucket_bytes<256>>, CrossEntropyLoss, AdamW, batch<6>, float16>;
constexpr dynamic_scale growing{.init_scale = 512, .growth_interval = 2};

// The samples of a rank: in step 2, those of one rank overflow.
samples samples_of(std::uint32_t step, int rank, std::uint32_t bad_step = 2) {
  samples s(6, 10 * step + static_cast<std::uint32_t>(rank));
  if (step == bad_step && rank == 1) s.x[3] = std::numeric_limits<float>::infinity();
  return s;
}

// What a run looks like after each step.
struct seen {
  std::vector<std::uint64_t> checksums;
  std::vector<double> scales, norms;
  std::vector<std::uint64_t> skipped;

  template <class Trainer>
  void look_at(Trainer& t) {
    checksums.push_back(t.checksum());
    scales.push_back(t.loss_scale());
    norms.push_back(std::isfinite(t.gradient_norm()) ? t.gradient_norm() : -1);
    skipped.push_back(t.skipped_updates());
  }
  bool operator==(const seen&) const = default;
};

} // namespace

TEST_CASE("loss scaling: an overflow on one of three ranks skips the update on all, and ranks are equal to micro-batches") {
  std::vector<seen> found(ranks);
  threads{ranks}.run([&](threads::rank& rank) {
    rank_type t{rank, AdamW{}, {.seed = 3, .check_every = 1, .clip = {0.5}, .loss_scale = growing}};
    for (std::uint32_t step = 0; step < 6; ++step) {
      const samples s = samples_of(step, rank.rank());
      t.step(s.x, s.y);
      found[static_cast<std::size_t>(rank.rank())].look_at(t);
    }
  });
  seen alone;
  alone_type t{AdamW{}, {.seed = 3, .clip = {0.5}, .loss_scale = growing}};
  for (std::uint32_t step = 0; step < 6; ++step) {
    for (int rank = 0; rank + 1 < ranks; ++rank) {
      const samples s = samples_of(step, rank);
      t.accumulate(s.x, s.y);
    }
    const samples s = samples_of(step, ranks - 1);
    t.step(s.x, s.y);
    alone.look_at(t);
  }
  for (const seen& each : found) CHECK(each == alone);
  CHECK(alone.scales == std::vector<double>{512, 1024, 512, 512, 1024, 1024});
  CHECK(alone.skipped == std::vector<std::uint64_t>{0, 0, 1, 1, 1, 1});
  CHECK((alone.checksums[2] == alone.checksums[1] && alone.checksums[3] != alone.checksums[2]));
  CHECK((alone.norms[2] == -1 && alone.norms[3] > 0));
}

TEST_CASE("loss scaling: a rank without samples skips what the others skip") {
  std::vector<seen> found(ranks);
  threads{ranks}.run([&](threads::rank& rank) {
    rank_type t{rank, AdamW{}, {.seed = 3, .check_every = 1, .loss_scale = growing}};
    for (std::uint32_t step = 0; step < (rank.rank() == 2 ? 1U : 5U); ++step) {
      const samples s = samples_of(step, rank.rank());
      t.step(s.x, s.y);
    }
    t.join();
    found[static_cast<std::size_t>(rank.rank())].look_at(t);
    CHECK((t.steps() == 5 && t.skipped_updates() == 1));
  });
  CHECK((found[1] == found[0] && found[2] == found[0]));
}

TEST_CASE("loss scaling: ranks with other scales refuse to start, and ranks whose scales part refuse the step") {
  std::vector<std::string> texts(ranks);
  threads{ranks}.run([&](threads::rank& rank) {
    const double first = rank.rank() == 1 ? 1024 : 512;
    texts[static_cast<std::size_t>(rank.rank())] =
        testing::text_of([&] { rank_type t{rank, AdamW{}, {.loss_scale = fixed_scale{first}}}; });
  });
  for (const std::string& text : texts) {
    CHECK(has(text, "rank 1 would make different steps"));
    CHECK(has(text, "expected the same loss scaling on every rank, found fixed_scale 1024 on rank 1"));
  }
  threads{ranks}.run([&](threads::rank& rank) {
    rank_type t{rank, AdamW{}, {.loss_scale = growing}};
    if (rank.rank() == 2) t.inside().counters.loss_scale.growth_tracker = 1;
    const samples s = samples_of(0, rank.rank());
    texts[static_cast<std::size_t>(rank.rank())] = testing::text_of([&] { t.step(s.x, s.y); });
  });
  for (const std::string& text : texts) CHECK(has(text, "expected the same numbers of the loss"));
}

TEST_CASE("loss scaling: synchronize() gives every rank the scale of the root") {
  threads{ranks}.run([&](threads::rank& rank) {
    rank_type t{rank, AdamW{}, {.loss_scale = growing}};
    auto& own = t.inside().counters.loss_scale;
    own = {.scale = 2.0 + rank.rank(), .growth_tracker = 1, .skipped = 0, .in_a_row = 0};
    t.synchronize(1);
    CHECK(own == detail::loss_scale_state{.scale = 3, .growth_tracker = 1, .skipped = 0, .in_a_row = 0});
  });
}

TEST_CASE("loss scaling: a run that is resumed in its middle has the bits of one that is not") {
  const folder here;
  const std::string file = here.path / "a.state";
  const auto step = [](alone_type& t, std::uint32_t number) {
    const samples s = samples_of(number, 1, number == 6 ? 6 : 2);
    t.step(s.x, s.y);
  };
  constexpr auto options = [] { return alone_type::options{.seed = 3, .clip = {0.5}, .loss_scale = growing}; };
  alone_type whole{AdamW{}, options()};
  seen expected, found;
  for (std::uint32_t number = 0; number < 10; ++number) {
    step(whole, number);
    if (number == 3) save_state(whole, file);
    if (number > 3) expected.look_at(whole);
  }
  CHECK(whole.skipped_updates() == 2);
  alone_type resumed{AdamW{}, options()};
  load_state(resumed, file);
  CHECK((resumed.steps() == 4 && resumed.skipped_updates() == 1));
  for (std::uint32_t number = 4; number < 10; ++number) {
    step(resumed, number);
    found.look_at(resumed);
  }
  CHECK(found == expected);

  // Another scaling is refused, unless it is meant: then the optimizer's steps stay without the skipped ones.
  alone_type other{AdamW{}, {.seed = 3, .clip = {0.5}}};
  const std::string text = testing::text_of([&] { load_state(other, file); });
  CHECK(has(text, "it is of another loss scaling: expected none, found dynamic_scale 512, grows by 2"));
  load_state(other, file, {.other_settings = true});
  CHECK((other.loss_scale() == 1 && other.skipped_updates() == 1 && other.inside().counters.updates() == 3));
  alone_type fixed{AdamW{}, {.seed = 3, .clip = {0.5}, .loss_scale = fixed_scale{64}}};
  load_state(fixed, file, {.other_settings = true});
  CHECK((fixed.loss_scale() == 64 && fixed.skipped_updates() == 1));
}

TEST_CASE("loss scaling: a state without it is of the format that earlier versions read") {
  const folder here;
  const std::string plain = here.path / "plain.state", scaled = here.path / "scaled.state";
  alone_type without{AdamW{}}, with{AdamW{}, {.loss_scale = growing}};
  save_state(without, plain);
  save_state(with, scaled);
  CHECK(detail::state_file(plain).words().number(detail::state_mark) == 2);
  CHECK(detail::state_file(scaled).words().number(detail::state_mark) == 3);
  // One that an earlier version wrote has no word of it.
  auto words = detail::state_file(plain).words().all();
  CHECK(words.erase("loss scaling") == 1);
  CHECK(detail::place_of(detail::state_words(words)).trainer.words == detail::state_file(plain).place().trainer.words);
  alone_type scaled_from_now_on{AdamW{}, {.loss_scale = growing}};
  load_state(scaled_from_now_on, plain, {.other_settings = true});
  CHECK(scaled_from_now_on.loss_scale() == 512);
}

TEST_CASE("loss scaling: tables, progress and traces show the scale and what was skipped") {
  const folder here;
  const std::string file = here.path / "metrics.csv";
  constexpr std::size_t count = 24;
  samples s(count, 1);
  s.x[6 * features] = std::numeric_limits<float>::infinity(); // in the second of four batches
  const tensor_dataset data(shape{features}, s.x, 1, s.y);
  loader batches{data, sequential_sampler{}, batch<6>{}, {.prefetch = 0}};
  alone_type t{AdamW{}, {.loss_scale = growing}};
  const testing::paper shown;
  fit(t, batches, {.max_epochs = 1, .log_every_n_steps = 1}, csv_log{file}, progress_bar<>{{.out = shown.file.get()}});
  std::ifstream in(file);
  const std::string table{std::istreambuf_iterator<char>(in), {}};
  CHECK(has(table, "loss_scale,skipped_updates"));
  CHECK(has(table, ",512,0,")); // after the first step
  CHECK(has(table, ",256,1,")); // after the second
  CHECK(has(shown.text(), "skipped_updates=1"));
  CHECK(has(shown.text(), "loss_scale=512, skipped_updates=1")); // of the epoch

  const samples bad = samples_of(2, 1);
  const report::rank_trace trace = report::trace_step(t, bad.x, bad.y);
  const auto& facts = trace.slices.front().facts;
  REQUIRE(facts.size() == 4);
  CHECK((facts[1].first == "loss scale of the next step" && facts[1].second == 256));
  CHECK((facts[2].first == "skipped updates" && facts[2].second == 2));
}

} // namespace ddp_loss_scale_tests
