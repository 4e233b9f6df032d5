// SPDX-License-Identifier: MIT
// under the thread sanitizer
// long to compile
#include <cairn/train/state/saved_states.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <new>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cairn/comm/threads/threads.hpp>
#include <cairn/data/distributed_sampler.hpp>
#include <cairn/data/sequential_sampler.hpp>
#include <cairn/data/subset.hpp>
#include <cairn/data/tensor_dataset.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/fit/early_stopping.hpp>
#include <cairn/train/fit/fit.hpp>
#include <cairn/train/fit/metrics.hpp>
#include <cairn/train/fit/validation.hpp>
#include <cairn/train/optimizers/adamw.hpp>
#include <doctest/doctest.h>

#include "../../data/allocations.hpp"
#include "../../data/folder.hpp"
#include "../default_signals.hpp"
#include "../digits.hpp"
#include "../training.hpp"

namespace saved_states_tests {

using namespace cairn;
using testing::classes;
using testing::features;
using testing::has;
using testing::samples;
using testing::text_of;

namespace {

using Net = Sequential<Linear<features, 8>, ReLU, Linear<8, classes>>;
using plain = trainer<Net, CrossEntropyLoss, AdamW, batch<8>>;
using distributed = trainer<ddp<Net, threads::rank>, CrossEntropyLoss, AdamW, batch<8>>;
constexpr AdamW adamw{.learning_rate = 0.01};

// 20 samples: three batches an epoch.
struct digits : testing::digits {
  digits() : testing::digits(20) {}
};
auto reading(const digits& d) { return loader{d.data, sampler{types::sampler_options{.seed = 5}}, batch<8>{}, {.prefetch = 0}}; }
std::vector<float> numbers_of(const plain& train) { return {train.parameters().begin(), train.parameters().end()}; }
std::vector<std::string> names_in(const std::filesystem::path& where) {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(where)) out.push_back(entry.path().filename());
  std::sort(out.begin(), out.end());
  return out;
}

// Callbacks: one adds a test's metric, the other asks a run to stop after a step, as a signal does.
struct said {
  std::vector<double> values;
  void on_validate(auto& run) { run.add_metric("val_loss", values[run.epoch()]); }
};
struct ends_behind {
  std::uint64_t step;
  void on_step(auto& run) {
    if (run.step() + 1 == step) run.train().request_stop();
  }
};

} // namespace

TEST_CASE("saved_states: a monitor that no epoch has is an error, and the epoch is saved") {
  const folder here;
  const digits d;
  plain train{adamw, {.seed = 1}};
  auto batches = reading(d);
  saved_states wrong{here.path / "a", {.monitor = "val_acuracy"}};
  CHECK(has(text_of([&] { fit(train, batches, {.max_epochs = 3}, said{{1, 2, 3}}, wrong); }),
            "saved_states: expected a metric 'val_acuracy', found train_loss, learning_rate, val_loss"));
  CHECK(train.steps() == batches.size());
  CHECK(wrong.all().size() == 1);

  plain other{adamw, {.seed = 1}};
  auto unread = reading(d);
  saved_states alone{here.path / "b", {.monitor = "val_loss"}};
  CHECK(has(text_of([&] { fit(other, unread, {.max_epochs = 3}, alone); }), "expected a validation{...} among the callbacks"));
  CHECK(other.steps() == 0);
}

TEST_CASE("saved_states: a monitor that early_stopping does not find costs no epoch") {
  const folder here;
  const digits d;
  // The metrics of a program's own callback are known only after an epoch. Every saved_states saves that epoch.
  plain train{adamw, {.seed = 1}};
  auto batches = reading(d);
  saved_states states{here.path / "a"}, others{here.path / "b"};
  early_stopping wrong{{.monitor = "val_los"}};
  CHECK(has(text_of([&] { fit(train, batches, {.max_epochs = 3}, said{{1, 2, 3}}, wrong, states, others); }),
            "early_stopping: expected a metric 'val_los', found train_loss, learning_rate, val_loss"));
  CHECK(train.steps() == batches.size());
  CHECK(states.all().size() == 1);
  CHECK(others.all().size() == 1);

  // The metrics of a validation are known before.
  plain other{adamw, {.seed = 1}};
  auto unread = reading(d);
  validation checked{d.data, sequential_sampler{}, batch<8>{}, metrics::Accuracy{}};
  CHECK(text_of([&] { fit(other, unread, {.max_epochs = 3}, checked, wrong, saved_states{here.path / "c"}); }) ==
        "early_stopping: expected a metric 'val_los', found val_loss, val_accuracy of the validation");
  CHECK(text_of([&] { fit(other, unread, {.max_epochs = 3}, checked, saved_states{here.path / "c", {.monitor = "val_acc"}}); }) ==
        "saved_states: expected a metric 'val_acc', found val_loss, val_accuracy of the validation");
  CHECK(other.steps() == 0);
  fit(other, unread, {.max_epochs = 1}, checked, early_stopping{{.monitor = "val_accuracy"}});
  CHECK(other.steps() == unread.size());
}

TEST_CASE("saved_states: the newest few are kept, and the newest that is whole is taken") {
  const folder here;
  const std::string path = here.path / "runs" / "a";
  const digits d;
  std::vector<std::string> lines;
  const types::saved_states_options chosen{.keep = 3, .say = [&](const std::string& line) { lines.push_back(line); }};
  plain train{adamw, {.seed = 1}};
  auto batches = reading(d);
  saved_states states{path, chosen};
  CHECK_FALSE(states.load_latest(train, batches).has_value());
  std::vector<std::vector<float>> after;
  for (int epoch = 0; epoch < 2; ++epoch)
    for (const auto& [x, y] : batches) {
      train.step(x, y);
      states.save(train, batches);
      after.push_back(numbers_of(train));
    }
  CHECK(names_in(path) == std::vector<std::string>{"step-000000000004.safetensors", "step-000000000005.safetensors",
                                                   "step-000000000006.safetensors"});
  plain other{adamw};
  auto rest = reading(d);
  CHECK(states.load_latest(other, rest)->trainer.steps == 6);
  CHECK(numbers_of(other) == after[5]);
  CHECK(lines.empty());

  // Damage the newest two in different ways.
  std::filesystem::resize_file(states.all()[0], 100);
  std::fstream(states.all()[1], std::ios::in | std::ios::out | std::ios::binary).seekp(-3, std::ios::end).put('?');
  const auto found = states.load_latest(other, rest);
  CHECK(found->trainer.steps == 4);
  CHECK(found->next == types::loader_place{1, 1});
  CHECK(numbers_of(other) == after[3]);
  REQUIRE(lines.size() == 2);
  CHECK(has(lines[0], "passed over: safetensors: '" + states.all()[0] + "': expected a header of "));
  CHECK(has(lines[1], "passed over: load_state: '" + states.all()[1] + "': 'optimizer/1/2.weight' does not have the checksum"));

  std::ofstream(states.all()[2], std::ios::binary) << "nothing";
  CHECK(has(text_of([&] { states.load_latest(other, rest); }), "no state in '" + path + "' is whole; safetensors: '"));
  CHECK(other.steps() == 4);

  // The next save removes the file of a process that was killed while it wrote, whatever that process's number. The file of a
  // process that runs is locked, and stays.
  const std::string part = path + "/step-000000000009.safetensors.part-", gone = part + std::to_string(::getpid()) + "-0";
  const std::string alive = part + "1-0", own = path + "/notes.part-1-0";
  for (const std::string& name : {gone, alive, own}) std::ofstream(name) << "x";
  detail::open_file writer(alive, O_WRONLY);
  REQUIRE(writer.lock());
  states.save(train, batches);
  CHECK_FALSE(std::filesystem::exists(gone));
  CHECK(std::filesystem::exists(alive));
  CHECK(std::filesystem::exists(own));
}

TEST_CASE("saved_states: a run of fit that is interrupted anywhere ends as one that is not") {
  const digits d;
  const types::fit_options options{.max_epochs = 4, .log_every_n_steps = 1};
  const std::vector<double> losses{3, 2, 5, 4};
  const types::early_stopping_options patience{.patience = 2};
  const folder whole;
  const auto quiet = [](const std::string&) {};
  plain uninterrupted{adamw, {.seed = 1}};
  auto all = reading(d);
  const auto expected = fit(uninterrupted, all, options, said{losses}, early_stopping{patience},
                            saved_states{whole.path, {.monitor = "val_loss", .say = quiet}});
  CHECK(expected.why == "early stopping: val_loss = 4 and no improvement of 2 in 2 epochs");
  CHECK(names_in(whole.path) == std::vector<std::string>{"best.safetensors", "step-000000000006.safetensors",
                                                         "step-000000000009.safetensors", "step-000000000012.safetensors"});
  plain best{adamw};
  CHECK(load_state(best, (whole.path / "best.safetensors").string()).trainer.steps == 6);

  for (std::uint64_t stop = 2; stop < 12; ++stop) {
    const folder here;
    std::vector<std::string> lines;
    types::saved_states_options chosen{.monitor = "val_loss", .say = [&](const std::string& line) { lines.push_back(line); }};
    plain first{adamw, {.seed = 1}};
    auto part = reading(d);
    const auto a =
        fit(first, part, options, said{losses}, early_stopping{patience}, saved_states{here.path, chosen}, ends_behind{stop});
    CHECK(a.interrupted);
    CHECK(a.why == "a rank asked to stop");
    CHECK(a.steps == stop);
    REQUIRE(lines.size() == 1);
    CHECK(has(lines[0], "a rank asked to stop: stopped after step " + std::to_string(stop) + ", saved in " + here.path.string()));

    plain second{adamw, {.seed = 2}};
    auto rest = reading(d);
    const auto b = fit(second, rest, options, saved_states{here.path, chosen}, said{losses}, early_stopping{patience});
    CHECK(b.why == expected.why);
    CHECK(b.steps == 12);
    CHECK(b.history.back() == expected.history.back());
    CHECK(numbers_of(second) == numbers_of(uninterrupted));
    CHECK(has(lines[1], "going on from " + here.path.string() + "/step-"));
    for (const char* name : {"best.safetensors", "step-000000000012.safetensors"})
      CHECK(contents(here.path / name) == contents(whole.path / name));
    // Once more: there is nothing to do.
    plain third{adamw};
    auto none = reading(d);
    CHECK(has(fit(third, none, options, saved_states{here.path, chosen}, said{losses}, early_stopping{patience}).why,
              "no improvement of val_loss in 2 epochs"));
    CHECK(third.steps() == 12);
  }
}

TEST_CASE("saved_states: ranks that are interrupted go on together") {
  const folder here;
  const digits d;
  const auto run = [&](const std::string& where, std::uint64_t stop, std::vector<float>& out) {
    threads{2}.run([&](threads::rank& rank) {
      distributed train{rank, adamw, {.seed = 1}};
      loader batches{d.data, sampler{rank, 0, {.seed = 5}}, batch<8>{}, {.prefetch = 0}};
      fit(train, batches, {.max_epochs = 3}, saved_states{where, {.say = [](const std::string&) {}}},
          ends_behind{rank.rank() == 1 ? stop : 0});
      if (rank.rank() == 0) out.assign(train.parameters().begin(), train.parameters().end());
    });
  };
  std::vector<float> whole, parted;
  run(here.path / "whole", 0, whole);
  for (const std::uint64_t stop : {2U, 3U, 5U}) {
    const std::string where = here.path / std::to_string(stop);
    run(where, stop, parted);
    CHECK(parted != whole);
    run(where, 0, parted);
    CHECK(parted == whole);
  }
}

TEST_CASE("saved_states: ranks with different numbers of batches go on from the end of an epoch") {
  const folder here;
  const digits d;
  const subset few(d.data, {0, 1, 2}), many(d.data, {3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19});
  const auto run = [&](const std::string& where, std::uint64_t stop, std::vector<float>& out) {
    std::vector<std::string> lines;
    threads{2}.run([&](threads::rank& rank) {
      distributed train{rank, adamw, {.seed = 1}};
      loader batches{rank.rank() == 0 ? few : many, sequential_sampler{}, batch<8>{},
                     types::loader_options{.prefetch = 0}}; // 1 and 3
      const auto say = [&](const std::string& line) { lines.push_back(line); };
      fit(train, batches, {.max_epochs = 2}, saved_states{where, {.say = say}}, ends_behind{rank.rank() == 0 ? stop : 0});
      if (rank.rank() == 0) out.assign(train.parameters().begin(), train.parameters().end());
    });
    return lines;
  };
  std::vector<float> whole, parted;
  CHECK(run(here.path / "whole", 0, whole).empty());
  const std::string where = here.path / "parted";
  CHECK(run(where, 4, parted).front().starts_with("a rank asked to stop: stopped after step 3, saved")); // after the last step
  const auto stopped = run(where, 5, parted); // in the second epoch, by the rank that has joined
  REQUIRE(stopped.size() == 2);               // the first is "going on from"
  CHECK(has(stopped[1], "stopped after step 5, in the middle of an epoch of which ranks have different numbers of batches"));
  CHECK(names_in(where) == std::vector<std::string>{"step-000000000003.safetensors"});
  CHECK(run(where, 0, parted).size() == 1); // "going on from"
  CHECK(parted == whole);
}

TEST_CASE("saved_states: SIGKILL at any moment of saving leaves a state that is whole") {
  const folder here;
  const digits d;
  plain train{adamw, {.seed = 1}};
  auto batches = reading(d);
  saved_states states{here.path, {.keep = 2}};
  const auto begin = std::chrono::steady_clock::now();
  states.save(train, batches);
  const auto one_save = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - begin);
  const auto longest = static_cast<unsigned>(6000 + 4 * one_save.count()); // enough for some saves to finish
  std::uint64_t newest = 0;
  for (unsigned kill_after = 0; kill_after < 200; ++kill_after) {
    const pid_t child = ::fork();
    if (child == 0) {
      for (;;)
        for (const auto& [x, y] : batches) {
          train.step(x, y);
          states.save(train, batches);
        }
    }
    ::usleep(kill_after * 41'041 % longest);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    const auto found = states.load_latest(train, batches);
    REQUIRE(found.has_value());
    CHECK(found->trainer.steps >= newest);
    newest = found->trainer.steps;
  }
  CHECK(newest > 0);
  states.save(train, batches);
  CHECK(here.files() == 2); // nothing is left of the 200
}

TEST_CASE("saved_states: a folder with states that are ahead and were not taken up is refused, and nothing in it changes") {
  const folder here;
  const digits d;
  const auto quiet = [](const std::string&) {};
  plain longer{adamw, {.seed = 1}};
  auto batches = reading(d);
  fit(longer, batches, {.max_epochs = 3}, saved_states{here.path, {.say = quiet}});
  const std::vector<std::string> names{"step-000000000003.safetensors", "step-000000000006.safetensors",
                                       "step-000000000009.safetensors"};
  REQUIRE(names_in(here.path) == names);
  const std::string whole = contents(here.path / names[2]);
  const std::string expected = "/step-000000000009.safetensors' is ahead of step ";

  // A run that begins anew is refused before its first step if the states are a callback.
  plain anew{adamw, {.seed = 2}};
  auto again = reading(d);
  CHECK(has(text_of([&] { fit(anew, again, {.max_epochs = 1}, saved_states{here.path, {.resume = false, .say = quiet}}); }),
            expected + "0 of this run"));
  CHECK(anew.steps() == 0);
  // A loop that does not load what is there is refused too, and so are several ranks.
  saved_states states{here.path, {.keep = 1}};
  for (const auto& [x, y] : again) {
    anew.step(x, y);
    CHECK(has(text_of([&] { states.save(anew, again); }), expected + std::to_string(anew.steps()) + " of this run"));
  }
  const std::string told = text_of([&] {
    threads{2}.run([&](threads::rank& rank) {
      distributed train{rank, adamw, {.seed = 1}};
      loader mine{d.data, sampler{rank, 0, {.seed = 5}}, batch<8>{}, {.prefetch = 0}};
      fit(train, mine, {.max_epochs = 1}, saved_states{here.path, {.resume = false, .say = quiet}});
    });
  });
  CHECK(has(told, expected + "0 of this run"));
  // After a state was loaded by hand that is not the newest, saving is refused too: the next start would load the newest.
  load_state(anew, again, here.path / names[1]);
  CHECK(has(text_of([&] { states.save(anew, again); }), expected + "6"));
  CHECK(names_in(here.path) == names);
  CHECK(contents(here.path / names[2]) == whole);
  // The remedies that the error names.
  std::filesystem::create_directory(here.path / "old");
  std::filesystem::rename(here.path / names[2], here.path / "old" / names[2]);
  CHECK(states.save(anew, again) == (here.path / names[1]).string());
  std::filesystem::rename(here.path / "old" / names[2], here.path / names[2]);
  CHECK(states.load_latest(anew, again)->trainer.steps == 9);
  states.save(anew, again);
  CHECK(names_in(here.path) == std::vector<std::string>{"old", names[2]}); // once loaded, all three are this run's
}

TEST_CASE("saved_states: what was just saved is never removed, nor is what this run neither saved nor took up") {
  const folder here;
  const digits d;
  plain first{adamw, {.seed = 1}}, second{adamw, {.seed = 2}};
  auto batches = reading(d);
  saved_states of_first{here.path, {.keep = 2}}, of_second{here.path, {.keep = 1}};
  const auto step = [&](plain& train, std::uint64_t to) {
    while (train.steps() < to)
      for (const auto& [x, y] : batches)
        if (train.steps() < to) train.step(x, y);
  };
  for (const std::uint64_t at : {1U, 2U}) {
    step(first, at);
    of_first.save(first, batches);
  }
  for (const std::uint64_t at : {4U, 5U, 7U}) { // ahead of the first run's two, which stay
    step(second, at);
    CHECK(std::filesystem::exists(of_second.save(second, batches)));
    CHECK(names_in(here.path) == std::vector<std::string>{"step-000000000001.safetensors", "step-000000000002.safetensors",
                                                          "step-00000000000" + std::to_string(at) + ".safetensors"});
  }

  // A damaged state that was passed over is ahead of the next saves.
  std::vector<std::string> lines;
  saved_states after{here.path, {.keep = 1, .say = [&](const std::string& line) { lines.push_back(line); }}};
  std::filesystem::resize_file(after.all()[0], 100);
  plain third{adamw, {.seed = 3}};
  CHECK(after.load_latest(third, batches)->trainer.steps == 2);
  CHECK(lines.size() == 1);
  for (const std::uint64_t at : {3U, 6U}) {
    step(third, at);
    CHECK(std::filesystem::exists(after.save(third, batches)));
    CHECK(names_in(here.path) ==
          std::vector<std::string>{"step-00000000000" + std::to_string(at) + ".safetensors", "step-000000000007.safetensors"});
  }
  step(third, 8);
  after.save(third, batches);
  CHECK(names_in(here.path) == std::vector<std::string>{"step-000000000008.safetensors"});
}

TEST_CASE("saved_states: a folder or a newest state that the system does not open is an error, not a new start") {
  const folder here;
  const digits d;
  const std::string path = here.path / "runs";
  plain train{adamw, {.seed = 1}};
  auto batches = reading(d);
  saved_states states{path, {.say = [](const std::string&) {}}};
  for (const auto& [x, y] : batches) {
    train.step(x, y);
    states.save(train, batches);
  }
  plain other{adamw, {.seed = 2}};
  const auto load = [&] { states.load_latest(other, batches); };
  CHECK(said_by_nobody(load) == "threw nothing");
  REQUIRE(::chmod(states.all()[0].c_str(), 0) == 0);
  const std::string closed = said_by_nobody(load);
  CHECK(has(closed,
            "step-000000000003.safetensors': cannot be read: Permission denied; it may be whole, so none before it is taken"));
  REQUIRE(::chmod(states.all()[0].c_str(), 0644) == 0);
  REQUIRE(::chmod(path.c_str(), 0333) == 0);
  CHECK(has(said_by_nobody(load), "cannot read the folder '" + path + "': Permission denied"));
  CHECK(has(said_by_nobody([&] { states.save(train, batches); }), "cannot read the folder '" + path + "': Permission denied"));
  REQUIRE(::chmod(path.c_str(), 0755) == 0);
  CHECK(said_by_nobody(load) == "threw nothing");
  // Errors of a file, not of the folder.
  const std::string circle = path + "/step-000000000004.safetensors";
  REQUIRE(::symlink(circle.c_str(), circle.c_str()) == 0);
  CHECK(has(text_of(load), "cannot be read: Too many levels of symbolic links"));
  REQUIRE(::unlink(circle.c_str()) == 0);
  // A pipe of such a name does not block the reader, and does not count as a damaged state.
  REQUIRE(::mkfifo((path + "/step-000000000005.safetensors").c_str(), 0644) == 0);
  CHECK(has(text_of(load), "cannot be read: expected an ordinary file, found a pipe"));
}

TEST_CASE("saved_states: memory that runs out anywhere in a save or a load is an error, and a state stays whole") {
  const folder here;
  const digits d;
  plain train{adamw, {.seed = 1}}, other{adamw, {.seed = 2}};
  auto batches = reading(d);
  for (const bool stays_out : {false, true}) {
    const std::string path = here.path / (stays_out ? "for good" : "once");
    saved_states states{path, {.keep = 1}};
    states.save(train, batches);
    std::string before = states.all()[0], whole = contents(before);
    for (const auto& [x, y] : batches) {
      train.step(x, y);
      break;
    }
    // Calls f() with memory that runs out after 0, 1, 2, ... allocations, until f() succeeds; returns how many it needs.
    const auto at_every = [&](const auto& f) {
      for (std::size_t behind = 0;; ++behind) {
        bool is_told = false;
        try {
          const testing::memory_runs_out soon(behind, stays_out);
          f();
        } catch (const std::bad_alloc&) {
          is_told = true;
        }
        CHECK(is_told == testing::memory_here.ran_out);
        if (!is_told) return behind;
        const auto there = states.all();
        bool is_whole = false;
        for (const std::string& state : there) is_whole = is_whole || state != before || contents(state) == whole;
        CHECK(is_whole);
        CHECK(names_in(path).size() == there.size()); // no partial file
      }
    };
    CHECK(at_every([&] { states.save(train, batches); }) > 100);
    CHECK(names_in(path).size() == 1);
    CHECK(at_every([&] { states.load_latest(other, batches); }) > 100);
    CHECK(numbers_of(other) == numbers_of(train));
  }
}

TEST_CASE("saved_states: a full disk is an error, the last good state is found, and with room again it goes on") {
  const folder here;
  const digits d;
  const pid_t child = ::fork(); // with a disk of its own that no other process sees
  if (child == 0) {
    if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("none", here.path.c_str(), "tmpfs", 0, "size=64k") != 0)
      ::_exit(77);
    plain train{adamw, {.seed = 1}};
    auto batches = reading(d);
    saved_states states{here.path, {.keep = 0}};
    std::string fault;
    std::vector<float> good;
    while (fault.empty() && train.steps() < 1000)
      for (const auto& [x, y] : batches) {
        train.step(x, y);
        fault = text_of([&] { states.save(train, batches); });
        if (!fault.empty()) break;
        good = numbers_of(train);
      }
    const std::uint64_t last = train.steps() - 1;
    const bool told = has(fault, "cannot write '" + here.path.string() + "/step-") && has(fault, "No space left on device");
    const bool clean = names_in(here.path).size() == last; // no partial file
    const bool found = states.load_latest(train, batches)->trainer.steps == last && numbers_of(train) == good;
    std::filesystem::remove(states.all().back());
    std::filesystem::remove(states.all().back());
    const bool goes_on = text_of([&] { states.save(train, batches); }).empty();
    ::_exit((told ? 0 : 1) + (clean ? 0 : 2) + (found ? 0 : 4) + (goes_on ? 0 : 8));
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  REQUIRE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) MESSAGE("left out: only root may mount a disk of its own; saved_state.cpp limits a file's size");
  else CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("saved_states: a folder that cannot be written is an error, and a step further it is not forgotten") {
  const folder here;
  const digits d;
  std::ofstream(here.path / "file") << "x";
  plain train{adamw};
  auto batches = reading(d);
  CHECK(has(text_of([&] { saved_states{here.path / "file" / "runs"}.save(train, batches); }), "cannot make the folder '"));
  if (::geteuid() == 0) { // root may write wherever the file system allows it
    CHECK(has(text_of([&] { saved_states{"/proc/runs"}.save(train, batches); }), "cannot make the folder '/proc/runs'"));
  } else {
    std::filesystem::permissions(here.path, std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
    CHECK(has(text_of([&] { saved_states{here.path}.save(train, batches); }), "cannot create a file beside"));
    std::filesystem::permissions(here.path, std::filesystem::perms::owner_all);
  }
}

} // namespace saved_states_tests
