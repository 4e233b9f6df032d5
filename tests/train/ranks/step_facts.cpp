// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <cairn/train/ranks/step_facts.hpp>

namespace step_facts_tests {

using namespace cairn;
using namespace cairn::detail;

namespace {

// The sum over the ranks.
template <class T>
std::vector<T> sum_of(const std::vector<step_facts>& ranks) {
  std::vector<T> sum(facts_of_ranks<T>::size(ranks.size())), own(sum.size());
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    own.assign(own.size(), T(77)); // left from the step before
    facts_of_ranks<T>::write(own, rank, ranks[rank]);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += own[i];
  }
  return sum;
}
template <class T>
std::string compared(const std::vector<step_facts>& ranks) {
  try {
    facts_of_ranks<T>::compare(sum_of<T>(ranks), ranks.size());
  } catch (const input_error& thrown) {
    return thrown.what();
  }
  return {};
}

} // namespace

TEST_CASE_TEMPLATE("step_facts: equal facts of all ranks pass, one that differs is named with its ranks", T, float, double) {
  const step_facts same{.steps = ~std::uint64_t{0},
                        .micro_batches = 3,
                        .learning_rate = 1.0 / 3,
                        .settings = 0x123456789ABCDEF0,
                        .parameters = 0xFFFF0000FFFF0001};
  CHECK(compared<T>({same}) == "");
  CHECK(compared<T>(std::vector<step_facts>(100, same)) == "");
  std::vector<step_facts> ranks(5, same);
  ranks[3].learning_rate = ranks[4].learning_rate = 0.3333333333333333148; // the same double
  CHECK(compared<T>(ranks) == "");
  ranks[3].learning_rate = ranks[4].learning_rate = 0.3333333333333334;
  CHECK(compared<T>(ranks).find("expected the same learning rate on every rank, found 0.3333333333333333 on rank 0, "
                                "0.3333333333333334 on rank 3, 0.3333333333333334 on rank 4; set it") != std::string::npos);
  ranks[0].steps = 7; // reported before the rate
  CHECK(compared<T>(ranks).find("expected the same number of steps so far on every rank, found 7 on rank 0, "
                                "18446744073709551615 on rank 1") != std::string::npos);
  ranks.assign(5, same);
  ranks[4].parameters ^= 1;
  CHECK(compared<T>(ranks).find("18446462603027742721 on rank 0, 18446462603027742720 on rank 4; something") !=
        std::string::npos);
}

TEST_CASE("step_facts: each fact is found") {
  for (std::size_t fact = 0; fact < step_facts::count; ++fact) {
    std::vector<step_facts> ranks(2, step_facts{1, 1, 1, 1, 1});
    step_facts& f = ranks[1];
    switch (fact) {
    case 0: f.steps = 2; break;
    case 1: f.micro_batches = 2; break;
    case 2: f.learning_rate = 2; break;
    case 3: f.settings = 2; break;
    default: f.parameters = 2;
    }
    CHECK(compared<float>(ranks) != "");
  }
}

TEST_CASE("step_facts: ranks without micro-batches have no samples, and differ in nothing else") {
  const auto samples_of = [](const std::vector<step_facts>& ranks) {
    return facts_of_ranks<float>::samples_of(sum_of<float>(ranks), ranks.size());
  };
  std::vector<step_facts> ranks(4, {.steps = 5, .micro_batches = 65536, .learning_rate = 0.5, .settings = 9, .parameters = 0});
  CHECK(samples_of(ranks).count == 4);
  CHECK(samples_of(ranks).first == 0);
  ranks[0].micro_batches = ranks[2].micro_batches = 0;
  CHECK(compared<float>(ranks) == "");
  CHECK(samples_of(ranks).count == 2);
  CHECK(samples_of(ranks).first == 1);
  CHECK(samples_of(ranks).micro_batches == 65536);
  ranks[3].micro_batches = 2;
  CHECK(compared<float>(ranks).find("micro-batches on every rank, found 65536 on rank 1, 2 on rank 3;") != std::string::npos);
  ranks[3].micro_batches = ranks[1].micro_batches = 0;
  CHECK(compared<float>(ranks) == "");
  CHECK(samples_of(ranks).count == 0);
  ranks[2].steps = 6;
  CHECK(compared<float>(ranks).find("steps so far on every rank, found 5 on rank 0, 6 on rank 2; call step() equally often on "
                                    "every rank, or join() where one is finished") != std::string::npos);
}

TEST_CASE("step_facts: one rank that asks to stop is heard by all, and is no other step") {
  std::vector<step_facts> ranks(7);
  const auto asked = [&] { return facts_of_ranks<float>::any_asks_to_stop(sum_of<float>(ranks), ranks.size()); };
  CHECK_FALSE(asked());
  for (const std::size_t rank : {0U, 3U, 6U}) {
    ranks.assign(7, {});
    ranks[rank].asks_to_stop = true;
    CHECK(asked());
    CHECK(compared<float>(ranks) == "");
  }
}

} // namespace step_facts_tests
