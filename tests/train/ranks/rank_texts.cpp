// SPDX-License-Identifier: MIT
#include <cstddef>
#include <string>
#include <vector>

#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/blueprint.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/losses/mse_loss.hpp>
#include <cairn/train/optimizers/learning_rate.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/ranks/rank_texts.hpp>
#include <cairn/train/training_options.hpp>
#include <doctest/doctest.h>

namespace rank_texts_tests {

using namespace cairn;
using namespace cairn::detail;

namespace {

using Net = Sequential<Linear<4, 4>, ReLU, Linear<4, 4>>;

// A schedule that was solved when the program runs, or none.
struct solved_step {
  struct {
    struct {
      std::size_t count = 0;
    } training;
    struct {
      std::size_t arena = 0;
    } memory;
  } plan;
};

template <class Loss, bool Fused = false>
using options = training_options<Loss, solved_step, Fused>;

template <class Model>
struct lists {
  using plan = blueprint_of<Model, 6>;
  using network = Model;
  static constexpr std::array<int, 2> buckets{};
  static constexpr std::size_t most_bucket_bytes = 1000, summed = 0;
  static constexpr bool overlaps = false;
};

template <class Model, class Options>
rank_texts words_of(const Options& given, const SGD& optimizer = {}) {
  return texts_of<lists<Model>>(given, optimizer);
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

} // namespace

TEST_CASE("rank_texts: what was built") {
  const rank_texts plain = words_of<Net>(options<MSELoss>{});
  CHECK(has(plain.read(0), "3 stages with 40 parameters, Sequential<Linear<4"));
  CHECK(has(plain.read(1), "store_all at batch 6 of Sequential<"));
  CHECK(plain.read(2) == "float");
  CHECK(plain.read(3) == "2 of at most 1000 bytes");
  CHECK(plain.read(4) == "of each rank's own rows");
  CHECK(plain.read(5) == text_of_order(false));
  CHECK(has(plain.read(6), "."));
  CHECK(plain.read(7) == text_of_build());
  CHECK(std::string(text_of_order(true)) != text_of_order(false));
  const rank_texts again = words_of<checkpoint<recompute_all, Net>>(options<MSELoss>{});
  CHECK(again.differs(plain, 0) == 1);
  CHECK(has(again.read(1), "recompute_all at batch 6"));
  options<MSELoss> solved;
  solved.schedule.plan.training.count = 9;
  solved.schedule.plan.memory.arena = 640;
  CHECK(has(words_of<Net>(solved).read(1), "640 bytes, solved when the program runs, at batch 6"));
}

TEST_CASE("rank_texts: what was given, each by its name") {
  const SGD tenth{.learning_rate = 0.1};
  const options<CrossEntropyLoss> given{.clip = {0.5}};
  const rank_texts plain = words_of<Net>(given, tenth);
  constexpr std::size_t first = fingerprint::parts;
  const auto differing = [&](const rank_texts& other) {
    const std::size_t part = other.differs(plain, first);
    return part == rank_texts::parts ? std::string("nothing") : std::string(rank_texts::name(part)) + ": " + other.read(part);
  };
  CHECK(differing(plain) == "nothing");
  CHECK(differing(words_of<Net>(options<MSELoss>{.clip = {0.5}}, tenth)) == "loss: MSELoss");
  CHECK(differing(words_of<Net>(given, SGD{.learning_rate = 0.2})) == "learning rate: 0.2");
  CHECK(differing(words_of<Net>(given, SGD{.learning_rate = 0.1, .momentum = 0.9})) == "optimizer: SGD(0.1, 0.9, 0, 0, 0)");
  CHECK(differing(words_of<Net>(options<CrossEntropyLoss>{.clip = {0.25}}, tenth)) == "clipping: clip.max_norm 0.25");
  CHECK(differing(words_of<Net>(options<CrossEntropyLoss>{.learning_rate = constant_rate{0.3}, .clip = {0.5}}, tenth)) ==
        "schedule of rates: constant_rate(0.3), which begins with 0.3");
  CHECK(differing(words_of<Net>(options<CrossEntropyLoss>{.seed = 3, .clip = {0.5}}, tenth)) == "seed: 3");
  CHECK(differing(words_of<Net>(options<CrossEntropyLoss>{.check_every = 7, .clip = {0.5}}, tenth)) == "check_every: 7");
  const rank_texts fused = words_of<fused_update<Net>>(options<CrossEntropyLoss, true>{}, tenth);
  CHECK(differing(fused) == "fused_update: one");
  CHECK(fused.differs(words_of<fused_update<Net>>(options<CrossEntropyLoss, true>{}, tenth), 0) == rank_texts::parts);
}

TEST_CASE("rank_texts: a long text is cut, and shown where it differs") {
  rank_texts own, first;
  const std::string alike(150, 'x');
  own.write(0, alike + "left" + std::string(300, 'y'));
  first.write(0, alike + "right");
  CHECK(own.read(0).size() == rank_texts::longest);
  const auto unmarked = [](std::size_t) { return std::string(); };
  const auto found = [&](std::size_t part) {
    const std::vector<rank_texts> of_ranks{first, own};
    const rank_groups groups(2, [](std::size_t, std::size_t) { return false; });
    return found_texts(part, groups, of_ranks, unmarked);
  };
  const std::string text = found(0);
  CHECK(has(text, "found ..." + std::string(24, 'x') + "right on rank 0"));
  CHECK(has(text, " and ..." + std::string(24, 'x') + "lefty"));
  CHECK(has(text, "... on rank 1"));
  CHECK(text.size() < 260);
  // Short texts are shown whole.
  own.write(1, "momentum 0.9 and cairn::nothing");
  first.write(1, "momentum 0.9 and cairn::another");
  CHECK(found(1) == "found momentum 0.9 and another on rank 0 and momentum 0.9 and nothing on rank 1");
  own.write(1, ""); // nothing of the old text is left
  CHECK(own.read(1).empty());
}

TEST_CASE("rank_texts: where words do not tell groups apart, a mark does, and not all of many groups are shown") {
  const auto mark = [](std::size_t rank) { return "number " + std::to_string(rank) + " of "; };
  const auto found = [&](const std::vector<rank_texts>& of_ranks) {
    const rank_groups groups(of_ranks.size(), [](std::size_t, std::size_t) { return false; });
    return found_texts(0, groups, of_ranks, mark);
  };
  std::vector<rank_texts> of_ranks(2);
  for (rank_texts& each : of_ranks) each.write(0, std::string(150, 'x'));
  const std::string line = std::string(100, 'x') + "... on rank ";
  CHECK(found(of_ranks) == "found number 0 of " + line + "0 and number 1 of " + line + "1");
  of_ranks.resize(20);
  for (std::size_t rank = 0; rank < 20; ++rank) of_ranks[rank].write(0, std::to_string(rank));
  CHECK(has(found(of_ranks), "found 0 on rank 0, 1 on rank 1, 2 on rank 2, "));
  CHECK(has(found(of_ranks), ", 7 on rank 7 and others on the other ranks"));
}

} // namespace rank_texts_tests
