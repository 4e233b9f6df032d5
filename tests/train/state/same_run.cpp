// SPDX-License-Identifier: MIT
#include <cairn/train/state/same_run.hpp>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/optimizers/learning_rate.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/training_options.hpp>
#include <doctest/doctest.h>

namespace same_run_tests {

using namespace cairn;
using namespace cairn::detail;

namespace {

struct unsolved {};
using options = training_options<CrossEntropyLoss, unsolved, false>;
constexpr SGD sgd{.learning_rate = 0.5, .momentum = 0.9};

} // namespace

TEST_CASE("same_run: examples/resuming.md names every setting, and what a resume does with it") {
  std::ifstream file(CAIRN_TEST_DATA_DIR "/../../examples/resuming.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  REQUIRE(!page.empty());
  for (const run_setting& s : run_settings) {
    const std::string_view what = s.resumed == on_resume::may_change          ? "may be another"
                                  : s.resumed == on_resume::same              ? "the same"
                                  : s.resumed == on_resume::same_unless_meant ? "the same, or `other_settings`"
                                  : s.resumed == on_resume::same_unless_other ? "the same, or `other_dataset`"
                                                                              : "taken from the state";
    const std::string row =
        std::string("| ") + s.name + " | " + std::string(what) + " | " + (s.ranks_share ? "yes" : "no") + " |";
    CHECK_MESSAGE(page.find(row) != std::string::npos, row);
  }
}

TEST_CASE("same_run: everything that a trainer is given has words, which change with it") {
  const auto own = words_of_given(options{}, sgd, false, true);
  const auto differing = [&](const auto& others) {
    std::string out;
    for (std::size_t i = 0; i < own.size(); ++i)
      if (own[i] != others[i]) out += (out.empty() ? "" : ", ") + std::string(run_settings[i].name);
    return out;
  };
  for (std::size_t i = setting("loss"); i < shared_settings; ++i) CHECK_MESSAGE(!own[i].empty(), run_settings[i].name);
  CHECK(own[setting("optimizer")] == "SGD(0.5, 0.9, 0, 0, 0)");
  CHECK(own[setting("schedule of rates")] == "none");
  CHECK(differing(words_of_given(options{.seed = 1}, sgd, false, true)) == "seed");
  CHECK(differing(words_of_given(options{.check_every = 1}, sgd, false, true)) == "check_every");
  CHECK(differing(words_of_given(options{.clip = {1}}, sgd, false, true)) == "clipping");
  CHECK(differing(words_of_given(options{.loss_scale = dynamic_scale{}}, sgd, false, true)) == "loss scaling");
  CHECK(differing(words_of_given(options{.loss_scale = fixed_scale{}}, sgd, false, true)) == "loss scaling");
  CHECK(differing(words_of_given(options{.learning_rate = constant_rate{}}, sgd, false, true)) == "schedule of rates");
  CHECK(differing(words_of_given(options{}, sgd, true, true)) == "fused_update");
  CHECK(differing(words_of_given(options{}, SGD{.learning_rate = 0.25, .momentum = 0.9}, false, true)) ==
        "learning rate, optimizer");
  CHECK(differing(words_of_given(options{}, SGD{.learning_rate = 0.5}, false, true)) == "optimizer");
}

TEST_CASE("same_run: the words of a build say compiler, flags and instruction set") {
  const std::string text = text_of_build();
  for (const std::string_view part :
       {build_facts::compiler, build_facts::optimisation, build_facts::arithmetic, build_facts::target})
    CHECK(text.find(part) != std::string::npos);
  CHECK(text.find(", kernels of ") != std::string::npos);
  CHECK(hash_of_build() == hash_of_build());
  CHECK(hash_of_build() != 0);
}

} // namespace same_run_tests
