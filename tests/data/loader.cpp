// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <set>
#include <span>
#include <stdexcept>
#include <thread>
#include <type_traits>
#include <vector>

#include <cairn/core/memory.hpp>
#include <cairn/core/random.hpp>
#include <cairn/data/distributed_sampler.hpp>
#include <cairn/data/image_dataset.hpp>
#include <cairn/data/loader.hpp>
#include <cairn/data/random_shift.hpp>
#include <cairn/data/sequential_sampler.hpp>
#include <cairn/data/tensor_dataset.hpp>

#include "allocations.hpp" // that a batch makes none; idx.cpp and minibatch.cpp need the refusal of sizes

using namespace cairn;
using namespace std::chrono_literals;

namespace {

// Sample i is (i, i + 0.5), its target i. Reading can be slow, and can throw.
struct counted {
  using input_type = float;
  using target_type = std::int32_t;

  std::size_t samples = 10;
  std::chrono::microseconds pause{0};
  std::size_t broken = ~std::size_t{0};

  std::size_t size() const { return samples; }
  shape sample_shape() const { return {2}; }
  static std::size_t targets_per_sample() { return 1; }
  void read(std::size_t i, std::span<float> input, std::span<std::int32_t> target) const {
    if (i == broken) throw std::out_of_range("sample is broken");
    if (pause.count() != 0) std::this_thread::sleep_for(pause);
    input[0] = static_cast<float>(i);
    input[1] = input[0] + 0.5F;
    target[0] = static_cast<std::int32_t>(i);
  }
};

// The same, whose first three readers wait for one another.
struct met : counted {
  std::atomic<int>* readers;

  void read(std::size_t i, std::span<float> input, std::span<std::int32_t> target) const {
    ++*readers;
    const auto until = std::chrono::steady_clock::now() + 20s;
    while (readers->load() < 3) {
      if (std::chrono::steady_clock::now() > until) throw std::runtime_error("no three threads read at once");
      std::this_thread::yield();
    }
    counted::read(i, input, target);
  }
};

struct place {
  int rank_ = 0;
  int size_ = 1;
  int rank() const { return rank_; }
  int size() const { return size_; }
};

// Returns everything that a loader yields: for each batch its rows, then its elements.
template <class Loader>
std::vector<double> all_of(Loader&& source) {
  std::vector<double> seen;
  for (const auto& [inputs, targets] : source) {
    seen.push_back(static_cast<double>(inputs.rows()));
    for (const auto x : inputs) seen.push_back(static_cast<double>(x));
    for (const auto y : targets) seen.push_back(static_cast<double>(y));
  }
  return seen;
}

} // namespace

TEST_CASE("a loader gives full batches and a smaller last one, in the order of its sampler") {
  const counted data{.samples = 10};
  std::vector<std::size_t> rows;
  std::vector<std::int32_t> seen;
  for (const auto& [inputs, targets] : loader{data, sequential_sampler{}, batch<4>{}}) {
    static_assert(std::is_same_v<decltype(inputs), const tensor_view<const float>>);
    rows.push_back(inputs.rows());
    CHECK(inputs.sample_shape() == shape{2});
    CHECK(reinterpret_cast<std::uintptr_t>(inputs.data()) % detail::alignment == 0);
    for (std::size_t row = 0; row < inputs.rows(); ++row) {
      CHECK(inputs.row(row)[0] == static_cast<float>(targets[row]));
      CHECK(inputs.row(row)[1] == static_cast<float>(targets[row]) + 0.5F);
      seen.push_back(targets[row]);
    }
    const std::span<const float> numbers = inputs;
    CHECK(numbers.size() == inputs.rows() * 2);
  }
  CHECK(rows == std::vector<std::size_t>{4, 4, 2});
  CHECK(seen == std::vector<std::int32_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
}

TEST_CASE("a loader counts what it gives, with drop_last and without") {
  for (const std::size_t samples : {0U, 1U, 3U, 4U, 5U, 8U, 9U})
    for (const bool drop_last : {false, true}) {
      const counted data{.samples = samples};
      loader batches{data, sequential_sampler{}, batch<4>{}, {.drop_last = drop_last}};
      std::size_t count = 0;
      std::size_t rows = 0;
      for (const auto& some : batches) {
        ++count;
        rows += some.rows();
      }
      CHECK(count == batches.size());
      CHECK(rows == batches.samples());
      CHECK(rows == (drop_last ? samples / 4 * 4 : samples));
    }
}

TEST_CASE("a loader may fill fewer rows than its batches have room for") {
  const counted samples;
  loader source{samples, sequential_sampler{}, batch<8>{}, types::loader_options{.rows = 4}};
  CHECK(source.size() == 3);
  std::vector<std::size_t> rows;
  std::vector<int> targets;
  for (const auto& [inputs, labels] : source) {
    rows.push_back(inputs.rows());
    targets.insert(targets.end(), labels.begin(), labels.end());
  }
  CHECK(rows == std::vector<std::size_t>{4, 4, 2});
  CHECK(targets == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  CHECK(loader{samples, sequential_sampler{}, batch<8>{}, types::loader_options{.rows = 4, .drop_last = true}}.samples() == 8);
  CHECK_THROWS_WITH_AS((loader{samples, sequential_sampler{}, batch<8>{}, types::loader_options{.rows = 9}}),
                       doctest::Contains("at most 8 rows"), error);
}

TEST_CASE("order and content do not depend on how many batches are made ahead, or by how many threads") {
  const counted data{.samples = 101};
  const auto change = [](std::span<float> sample, const shape&, const types::random_key& key) {
    sample[0] += ops::random_uniform<float>(key, 0);
  };
  const auto expected = all_of(loader{data, sampler{3}, batch<8>{}, change, {.prefetch = 0, .seed = 5}});
  for (const std::size_t prefetch : {1U, 2U, 3U, 50U})
    CHECK(all_of(loader{data, sampler{3}, batch<8>{}, change, {.prefetch = prefetch, .seed = 5}}) == expected);
  for (const std::size_t threads : {2U, 3U, 8U})
    CHECK(all_of(loader{data, sampler{3}, batch<8>{}, change, {.threads = threads, .seed = 5}}) == expected);
  CHECK(all_of(loader{data, sampler{3}, batch<8>{}, change, {.seed = 6}}) != expected);
  CHECK(all_of(loader{data, sampler{4}, batch<8>{}, change, {.seed = 5}}) != expected);
}

TEST_CASE("each pass of a loader is the next epoch, shuffled and transformed anew") {
  const counted data{.samples = 20};
  const auto change = [](std::span<float> sample, const shape&, const types::random_key& key) {
    sample[0] += ops::random_uniform<float>(key, 0);
  };
  for (const std::size_t prefetch : {0U, 2U}) {
    const types::loader_options options{.prefetch = prefetch, .seed = 3};
    loader batches{data, sampler{5}, batch<8>{}, change, options};
    CHECK(batches.epoch() == 5);
    for (int epoch = 5; epoch < 9; ++epoch) {
      CHECK(all_of(batches) == all_of(loader{data, sampler{epoch}, batch<8>{}, change, options}));
      CHECK(batches.epoch() == static_cast<std::uint64_t>(epoch));
    }
    loader in_order{data, sequential_sampler{}, batch<8>{}, change, options};
    CHECK(all_of(in_order) != all_of(in_order)); // the order is the same, the transform draws other numbers
    CHECK(in_order.epoch() == 1);
  }
}

TEST_CASE("a loader can be told the epoch of the next pass") {
  const counted data{.samples = 20};
  std::vector<std::vector<double>> epochs;
  for (int epoch = 0; epoch < 6; ++epoch) epochs.push_back(all_of(loader{data, sampler{epoch}, batch<8>{}}));
  loader taken_up{data, sampler{}, batch<8>{}};
  taken_up.set_epoch(3);
  CHECK(taken_up.epoch() == 3);
  CHECK(all_of(taken_up) == epochs[3]);
  CHECK(all_of(taken_up) == epochs[4]);
  CHECK(all_of(taken_up.set_epoch(1)) == epochs[1]);
  for (const auto& one : taken_up) {
    static_cast<void>(one);
    taken_up.set_epoch(5); // for the next pass, not for this one
    CHECK(taken_up.epoch() == 2);
    break;
  }
  CHECK(all_of(taken_up) == epochs[5]);
  CHECK_THROWS_WITH_AS(taken_up.set_epoch(-1), doctest::Contains("expected an epoch of 0 or more, found -1"), input_error);
}

TEST_CASE("a loader is taken up after any batch, with the batches that would have come") {
  const counted data{.samples = 50};
  for (const std::size_t prefetch : {0U, 2U}) {
    const auto fresh = [&] { return loader{data, sampler{}, batch<8>{}, {.prefetch = prefetch, .seed = 3}}; };
    for (std::size_t stop = 0; stop <= 14; ++stop) { // stops in two epochs of seven batches
      std::vector<double> whole, parted;
      const auto note = [](std::vector<double>& to, const auto& one) {
        for (const auto x : one.inputs) to.push_back(static_cast<double>(x));
      };
      auto through = fresh();
      auto first = fresh();
      types::loader_place next = first.place();
      CHECK(next == types::loader_place{});
      std::size_t seen = 0;
      for (int epoch = 0; epoch < 2; ++epoch) {
        for (const auto& one : through) note(whole, one);
        if (seen == stop) continue;
        for (const auto& one : first) {
          note(parted, one);
          next = first.place();
          if (++seen == stop) break;
        }
      }
      CHECK(next == types::loader_place{stop / 7, stop % 7});
      auto second = fresh();
      CHECK(second.go_to(next).place() == next);
      CHECK(second.epoch() == stop / 7);
      while (second.place().epoch < 2)
        for (const auto& one : second) note(parted, one);
      CHECK(parted == whole);
    }
    auto batches = fresh();
    batches.go_to({0, 7}); // after the last batch: an empty epoch, then the next one
    CHECK(all_of(batches).empty());
    CHECK(all_of(batches) == all_of(loader{data, sampler{1}, batch<8>{}}));
    CHECK(batches.go_to({2, 3}).set_epoch(4).place() == types::loader_place{4, 0});
    CHECK_THROWS_WITH_AS(batches.go_to({0, 8}), doctest::Contains("one of the 7 batches of an epoch, found batch 8"),
                         input_error);
  }
}

TEST_CASE("the fingerprint of a loader is that of what it reads") {
  const counted data{.samples = 20}, longer{.samples = 21};
  const loader one{data, sampler{}, batch<8>{}};
  std::set<std::uint64_t> seen;
  const auto add = [&](const auto& other) { CHECK(seen.insert(other.fingerprint(2)).second); };
  add(one);
  add(loader{longer, sampler{}, batch<8>{}});
  add(loader{data, sampler{types::sampler_options{.seed = 1}}, batch<8>{}});
  add(loader{data, sampler{place{1, 2}}, batch<8>{}});
  add(loader{data, sequential_sampler{}, batch<8>{}});
  add(loader{data, sampler{}, batch<8>{}, {.rows = 7}});
  add(loader{data, sampler{}, batch<8>{}, {.drop_last = true}});
  add(loader{data, sampler{}, batch<8>{}, {.seed = 1}});
  CHECK(one.fingerprint(3) != one.fingerprint(2));
  CHECK(loader{data, sampler{5}, batch<16>{}, {.rows = 8, .prefetch = 0}}.fingerprint(2) == one.fingerprint(2));
}

TEST_CASE("a loader tells its share of what the steps of all ranks see, and how many ranks read with it") {
  const counted data{.samples = 48}, longer{.samples = 49};
  const auto share = [&](const counted& of, int rank, int ranks, std::size_t micro_batches, types::loader_options options = {}) {
    options.rows = 4;
    return loader{of, sampler{place{rank, ranks}}, batch<8>{}, options}.share_of_steps(2, micro_batches,
                                                                                       static_cast<std::size_t>(ranks));
  };
  const std::uint64_t whole = share(data, 0, 1, 4);
  CHECK(share(data, 0, 2, 2) + share(data, 1, 2, 2) == whole);
  CHECK(share(data, 0, 2, 1) + share(data, 1, 2, 1) != whole);
  CHECK(share(data, 0, 1, 4, {.seed = 1}) != whole); // another seed of the transform
  CHECK(share(longer, 0, 1, 4, {.drop_last = true}) != whole);
  CHECK(loader{data, sampler{}, batch<8>{}}.readers() == 1);
  CHECK(loader{data, sampler{place{1, 2}}, batch<8>{}}.readers() == 2);
  CHECK(loader{data, sequential_sampler{}, batch<8>{}}.readers() == 0);
}

TEST_CASE("a pass that was left early counts as an epoch, and a begin that threw does not") {
  struct moody : sampler {
    bool* throws;
    void order(std::size_t samples, std::uint64_t epoch, std::vector<std::size_t>& indices) const {
      if (*throws) throw std::runtime_error("not today");
      sampler::order(samples, epoch, indices);
    }
  };
  for (const std::size_t prefetch : {0U, 2U}) {
    const counted data{.samples = 20};
    const auto second = all_of(loader{data, sampler{1}, batch<8>{}});
    bool throws = false;
    loader batches{data, moody{{}, &throws}, batch<8>{}, {.prefetch = prefetch}};
    for (const auto& one : batches) {
      static_cast<void>(one);
      break;
    }
    throws = true;
    CHECK_THROWS_WITH_AS(batches.begin(), "not today", std::runtime_error);
    throws = false;
    CHECK(all_of(batches) == second);
    CHECK(batches.epoch() == 1);
  }
  counted data{.samples = 20, .broken = 0};
  loader batches{data, sampler{}, batch<20>{}};
  CHECK_THROWS_AS(batches.begin(), std::out_of_range); // the broken sample is in the first batch
  data.broken = 99;
  CHECK(all_of(batches) == all_of(loader{data, sampler{0}, batch<20>{}}));
}

TEST_CASE("ranks that make the same passes read the same epochs") {
  const counted data{.samples = 24};
  loader first{data, sampler{place{0, 2}}, batch<5>{}};
  loader second{data, sampler{place{1, 2}}, batch<7>{}};
  std::vector<std::int32_t> last;
  for (int pass = 0; pass < 4; ++pass) {
    std::vector<std::int32_t> seen;
    for (const auto& [inputs, labels] : first) seen.insert(seen.end(), labels.begin(), labels.end());
    for (const auto& [inputs, labels] : second) seen.insert(seen.end(), labels.begin(), labels.end());
    CHECK(std::set<std::int32_t>(seen.begin(), seen.end()).size() == 24);
    CHECK(seen != last);
    last = seen;
  }
}

TEST_CASE("a loader takes another sampler, and begins with its epoch") {
  const counted data{.samples = 20};
  loader batches{data, sampler{0}, batch<8>{}};
  const auto first = all_of(batches);
  batches.set_sampler(sampler{7});
  const auto second = all_of(batches);
  CHECK(second != first);
  CHECK(second == all_of(loader{data, sampler{7}, batch<8>{}}));
  CHECK(all_of(batches) == all_of(loader{data, sampler{8}, batch<8>{}}));
}

TEST_CASE("a user's own order is told the epoch") {
  struct turned { // begins one sample later in every epoch
    std::size_t count(std::size_t samples) const { return samples; }
    void order(std::size_t samples, std::uint64_t epoch, std::vector<std::size_t>& indices) const {
      indices.clear();
      for (std::size_t i = 0; i < samples; ++i) indices.push_back((i + epoch) % samples);
    }
  };
  const counted data{.samples = 3};
  loader batches{data, turned{}, batch<4>{}};
  for (const std::int32_t begins_with : {0, 1, 2, 0})
    for (const auto& [inputs, labels] : batches) CHECK(labels[0] == begins_with);
}

TEST_CASE("a loop inside a loop over one loader ends the outer one with an error, at once") {
  const counted data{.samples = 40};
  for (const std::size_t prefetch : {0U, 2U}) {
    // If the loader waited for the deadline, the test would time out.
    loader batches{data, sequential_sampler{}, batch<8>{}, {.prefetch = prefetch, .deadline = 1h}};
    int outer = 0, inner = 0;
    const auto nested = [&] {
      for (const auto& one : batches) {
        ++outer;
        static_cast<void>(one);
        for (const auto& other : batches) {
          ++inner;
          static_cast<void>(other);
        }
      }
    };
    CHECK_THROWS_WITH_AS(nested(), doctest::Contains("found one of pass 1; begin() ends the pass before"), error);
    CHECK(outer == 1);
    CHECK(inner == 5);
    CHECK(all_of(batches).size() == 5 + 40 * 3); // the loader works as before
  }
}

TEST_CASE("an iterator of an earlier pass cannot be read, advanced or compared") {
  const counted data{.samples = 40};
  for (const std::size_t prefetch : {0U, 2U}) {
    loader batches{data, sequential_sampler{}, batch<8>{}, {.prefetch = prefetch}};
    auto early = batches.begin();
    auto copy = early;
    ++early;
    CHECK(copy->targets[0] == 8); // iterators of one pass share their position
    auto late = batches.begin();
    CHECK_THROWS_AS(*early, error);
    CHECK_THROWS_AS(early->rows(), error);
    CHECK_THROWS_AS(++early, error);
    CHECK_THROWS_AS(early++, error);
    CHECK_THROWS_AS(static_cast<void>(copy == batches.end()), error);
    CHECK(late->targets[0] == 0); // the new pass is not affected
    ++late;
    CHECK(late->targets[0] == 8);
  }
}

TEST_CASE("nothing is read behind the last batch, nor after an exception") {
  for (const std::size_t prefetch : {0U, 2U}) {
    counted data{.samples = 10};
    loader batches{data, sequential_sampler{}, batch<8>{}, {.prefetch = prefetch}};
    auto at = batches.begin();
    ++at;
    ++at;
    CHECK(at == batches.end());
    CHECK_THROWS_WITH_AS(++at, doctest::Contains("expected a batch of this pass, found its end"), error);
    CHECK_THROWS_AS(*at, error);
    data.broken = 9;
    auto broken = batches.begin();
    CHECK_THROWS_AS(++broken, std::out_of_range);
    CHECK_THROWS_WITH_AS(++broken, doctest::Contains("begin() again after an exception"), error);
    data.samples = 0;
    CHECK_THROWS_AS(++batches.begin(), error);
  }
}

TEST_CASE("batches of several inputs take apart into all of them and the targets") {
  std::vector<float> hidden(18);
  for (std::size_t i = 0; i < hidden.size(); ++i) hidden[i] = static_cast<float>(i);
  const tensor_dataset data{sample_array{shape{2}, hidden}, sample_array{shape{}, std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8}},
                            sample_array{shape{}, std::vector<std::int64_t>{0, 10, 20, 30, 40, 50, 60, 70, 80}}};
  const auto change = [](std::span<float> first, std::span<int> second, const std::array<shape, 2>& shapes,
                         const types::random_key&) {
    if (shapes[0].size() == first.size() && shapes[1].size() == second.size()) second[0] = -second[0];
  };
  for (const std::size_t prefetch : {0U, 2U}) {
    loader batches{data, sampler{}, batch<4>{}, change, {.prefetch = prefetch}};
    std::set<std::int64_t> seen;
    for (const auto& [numbers, tokens, labels] : batches) {
      static_assert(std::is_same_v<decltype(numbers), const tensor_view<const float>>);
      static_assert(std::is_same_v<decltype(tokens), const tensor_view<const int>>);
      static_assert(std::is_same_v<decltype(labels), const tensor_view<const std::int64_t>>);
      CHECK(numbers.sample_shape() == shape{2});
      CHECK(reinterpret_cast<std::uintptr_t>(tokens.data()) % detail::alignment == 0);
      for (std::size_t row = 0; row < labels.rows(); ++row) {
        CHECK(numbers.row(row)[0] == static_cast<float>(labels[row] / 5));
        CHECK(numbers.row(row)[1] == static_cast<float>(labels[row] / 5 + 1));
        CHECK(tokens[row] == -labels[row] / 10);
        seen.insert(labels[row]);
      }
    }
    CHECK(seen.size() == 9);
    CHECK(batches.begin()->rows() == 4);
  }
  for (const auto& [numbers, tokens, labels] : loader{data, sequential_sampler{}, batch<9>{}})
    CHECK(tokens[8] == 8); // without a transform too
}

TEST_CASE("the ranks of an epoch read every sample once") {
  const counted data{.samples = 24};
  std::multiset<std::int32_t> seen;
  for (int rank = 0; rank < 3; ++rank)
    for (const auto& [inputs, labels] : loader{data, sampler{place{rank, 3}, 7}, batch<5>{}})
      seen.insert(labels.begin(), labels.end());
  CHECK(seen.size() == 24);
  CHECK(std::set<std::int32_t>(seen.begin(), seen.end()).size() == 24);
}

TEST_CASE("a transform changes a sample alike on every rank, and otherwise in every epoch") {
  const vision::image_dataset<float> data(shape{3, 3}, {0, 0, 0, 0, 255, 0, 0, 0, 0}, {1});
  const vision::random_shift shift{.pixels = 1, .fill = data.black()};
  std::set<std::vector<double>> seen;
  for (int epoch = 0; epoch < 40; ++epoch) {
    const auto one = all_of(loader{data, sampler{place{0, 2}, epoch}, batch<2>{}, shift});
    CHECK(one == all_of(loader{data, sampler{place{1, 2}, epoch}, batch<1>{}, shift})); // padded with the same sample
    seen.insert(one);
  }
  CHECK(seen.size() > 5);
  CHECK(seen.size() <= 9);
}

TEST_CASE("what the dataset throws comes out where its batch would have") {
  for (const std::size_t prefetch : {0U, 2U}) {
    counted data{.samples = 10};
    data.broken = 6;
    loader batches{data, sequential_sampler{}, batch<2>{}, {.prefetch = prefetch}};
    std::size_t rows = 0;
    const auto walk = [&] {
      for (const auto& some : batches) rows += some.rows();
    };
    CHECK_THROWS_WITH_AS(walk(), "sample is broken", std::out_of_range);
    CHECK(rows == 6);
    CHECK_THROWS_AS(walk(), std::out_of_range); // the second pass begins at the first batch
    CHECK(rows == 12);
    data.broken = 0;
    CHECK_THROWS_AS(walk(), std::out_of_range); // thrown by begin()
    data.broken = 99;
    CHECK_NOTHROW(walk());
    CHECK(rows == 22);
  }
}

TEST_CASE("several threads read at once, and an error comes where its batch would have") {
  std::atomic<int> readers{0};
  const counted alone{.samples = 40};
  const met readers_meet{{.samples = 40}, &readers};
  CHECK(all_of(loader{readers_meet, sampler{9}, batch<4>{}, {.threads = 3}}) ==
        all_of(loader{alone, sampler{9}, batch<4>{}, {.prefetch = 0}}));
  counted data{.samples = 400, .broken = 6};
  loader batches{data, sequential_sampler{}, batch<2>{}, {.threads = 5}};
  std::size_t rows = 0;
  const auto walk = [&] {
    for (const auto& some : batches) rows += some.rows();
  };
  CHECK_THROWS_WITH_AS(walk(), "sample is broken", std::out_of_range);
  CHECK(rows == 6);
  data.broken = 999;
  CHECK_NOTHROW(walk());
  CHECK(rows == 406);
}

TEST_CASE("threads that a loader cannot have are an error") {
  const counted data{};
  const auto with = [&](std::size_t threads, std::size_t prefetch) {
    loader{data, sequential_sampler{}, batch<2>{}, {.prefetch = prefetch, .threads = threads}};
  };
  CHECK_THROWS_WITH_AS(with(0, 2), doctest::Contains("expected from 1 to 1024 in loader_options::threads, found 0"), input_error);
  CHECK_THROWS_WITH_AS(with(1025, 2), doctest::Contains("from 1 to 1024 in loader_options::threads, found 1025"), input_error);
  CHECK_THROWS_WITH_AS(
      with(2, 0), doctest::Contains("from 1 to 1 in loader_options::threads, found 2; with a prefetch of 0 there is no thread"),
      input_error);
  CHECK_NOTHROW(with(1, 0));
}

TEST_CASE("leaving the loop early stops the threads soon") {
  const counted data{.samples = 4'000'000, .pause = 1ms}; // a full pass would take an hour, so the test would time out
  for (int round = 0; round < 3; ++round)
    for (const auto& [inputs, labels] :
         loader{data, sequential_sampler{}, batch<5>{}, {.prefetch = 8, .threads = round == 2 ? 4U : 1U}}) {
      CHECK(labels[0] == 0);
      break;
    }
  {
    loader never_asked{data, sequential_sampler{}, batch<5>{}};
  }
  loader begun_again{data, sequential_sampler{}, batch<5>{}};
  for (int round = 0; round < 3; ++round)
    for (const auto& [inputs, labels] : begun_again) {
      CHECK(labels[0] == 0);
      break;
    }
}

TEST_CASE("an epoch that is begun while another is under way is whole") {
  const counted data{.samples = 40, .pause = 200us};
  const auto expected = all_of(loader{data, sampler{9}, batch<8>{}, {.prefetch = 0}});
  for (int round = 0; round < 5; ++round) {
    loader batches{data, sampler{round}, batch<8>{}};
    auto at = batches.begin();
    for (int step = 0; step < round % 3; ++step) ++at;
    batches.set_sampler(sampler{9});
    CHECK(all_of(batches) == expected);
  }
}

TEST_CASE("a batch that is late is an error at the deadline") {
  const counted data{.samples = 10, .pause = 200ms};
  loader batches{data, sequential_sampler{}, batch<10>{}, {.deadline = 20ms}};
  CHECK_THROWS_WITH_AS(batches.begin(), doctest::Contains("loader_options::deadline"), deadline_error);
}

TEST_CASE("the longest deadline there is waits, and a negative one is refused") {
  const counted data{.samples = 4, .pause = 5ms};
  loader batches{data, sequential_sampler{}, batch<2>{}, {.deadline = std::chrono::milliseconds::max()}};
  CHECK(all_of(batches).size() == 2 + 4 * 3);
  CHECK_THROWS_WITH_AS((loader{data, sequential_sampler{}, batch<2>{}, {.deadline = -1ms}}),
                       doctest::Contains("deadline of 0 ms or more, found -1 ms"), input_error);
}

TEST_CASE("batches and orders that are too large for the memory are an error that says how large") {
  struct wide : counted {
    shape sample_shape() const { return {1U << 20, 1U << 20}; }
  };
  const wide far_too_wide;
  CHECK_THROWS_WITH_AS((loader{far_too_wide, sequential_sampler{}, batch<16>{}}),
                       doctest::Contains("found one of 16 samples of shape (1048576, 1048576), 70368744177664 bytes"),
                       input_error);
  const counted data{.samples = std::size_t{1} << 60};
  loader batches{data, sequential_sampler{}, batch<16>{}};
  CHECK_THROWS_WITH_AS(batches.begin(), doctest::Contains("found a dataset of 1152921504606846976 samples"), input_error);
  CHECK_THROWS_AS((loader{data, sequential_sampler{}, batch<16>{}, {.prefetch = ~std::size_t{0}}}), input_error);
}

TEST_CASE("batches after the first allocate nothing") {
  const counted data{.samples = 400};
  for (const std::size_t prefetch : {0U, 2U}) {
    loader batches{data, sampler{0}, batch<8>{}, {.prefetch = prefetch}};
    std::size_t at_first = 0;
    std::size_t seen = 0;
    for (auto at = batches.begin(); at != batches.end(); ++at)
      if (seen++ == 2) at_first = testing::allocations;
    CHECK(seen == 50);
    CHECK(testing::allocations == at_first);
  }
}

TEST_CASE("a sampler that names what is not there is refused") {
  struct beyond : sequential_sampler {
    void order(std::size_t samples, std::uint64_t, std::vector<std::size_t>& indices) const { indices.assign(samples, samples); }
  };
  struct too_few : sequential_sampler {
    void order(std::size_t, std::uint64_t, std::vector<std::size_t>& indices) const { indices.clear(); }
  };
  const counted data{.samples = 3};
  CHECK_THROWS_WITH_AS(all_of(loader{data, beyond{}, batch<2>{}}), doctest::Contains("samples below 3, found 3"), error);
  CHECK_THROWS_WITH_AS(all_of(loader{data, too_few{}, batch<2>{}}),
                       doctest::Contains("name 3 samples, as its count() says, found 0"), error);
}

TEST_CASE("a loader refuses a temporary dataset, and is an input range") {
  using its = loader<counted, sequential_sampler, 4>;
  static_assert(std::is_constructible_v<its, const counted&, sequential_sampler, batch<4>>);
  static_assert(!std::is_constructible_v<its, counted, sequential_sampler, batch<4>>);
  static_assert(!std::is_constructible_v<its, counted, sequential_sampler, batch<4>, detail::no_transform>);
  static_assert(std::input_iterator<its::iterator>);
  static_assert(std::sentinel_for<std::default_sentinel_t, its::iterator>);
  const counted data;
  const types::loader_options options{.prefetch = 1};
  loader by_options{data, sequential_sampler{}, batch<4>{}, options};
  static_assert(std::is_same_v<decltype(by_options), its>);
}
