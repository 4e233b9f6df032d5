// SPDX-License-Identifier: MIT
// Loss scaling on a GPU, which decides itself whether an update is skipped. The tests run on the fake runtime, which counts what
// the host waits for.
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include <cairn/cairn_cuda.cuh>
#include <cairn/train/state/saved_state.hpp>
#include <doctest/doctest.h>

#include "../data/folder.hpp"
#include "fake/fake.hpp"
#include "ranks.hpp"

namespace cuda_loss_scale_tests {

using namespace cairn;
using Net = Sequential<Linear<testing::features, 16>, ReLU, Linear<16, testing::classes>>;
template <class Device, class Model = Net>
using training = testing::trainer_of<Model, Device>;

namespace {

constexpr dynamic_scale growing{.init_scale = 512, .growth_interval = 2};

testing::samples samples_of(std::size_t step, bool overflows, std::size_t rank = 0) {
  testing::samples s = testing::samples_of(step, 0, rank);
  if (overflows) s.x[7] = std::numeric_limits<float>::infinity();
  return s;
}
bool overflows_at(std::size_t step) { return step == 0 || step == 3 || step == 4 || step == 7; }

template <class Type>
typename Type::options scaled(const detail::loss_scaling& scale, double max_norm = 0.5) {
  return {.seed = 5, .ordinal = 0, .check_every = 1, .clip = {max_norm}, .loss_scale = scale};
}

} // namespace

TEST_CASE("cuda, loss scaling: the scale goes as it does on a cpu") {
  fake::reset();
  using there_type = training<cuda>;
  using here_type = training<cpu>;
  for (const dynamic_scale& scale :
       {growing, dynamic_scale{.init_scale = 300, .growth_factor = 1.7, .backoff_factor = 0.3, .growth_interval = 1}}) {
    there_type there{AdamW{.learning_rate = 0.02}, scaled<there_type>(scale)};
    here_type here{AdamW{.learning_rate = 0.02}, scaled<here_type>(scale)};
    for (std::size_t step = 0; step < 9; ++step) {
      const testing::samples s = samples_of(step, overflows_at(step));
      there.step(s.x, s.y);
      here.step(s.x, s.y);
      CHECK((there.loss_scale() == here.loss_scale() && there.skipped_updates() == here.skipped_updates()));
      CHECK(there.inside().counters.loss_scale == here.inside().counters.loss_scale);
      if (!overflows_at(step)) CHECK(there.gradient_norm() == doctest::Approx(here.gradient_norm()).epsilon(1e-5));
      else CHECK(!std::isfinite(there.gradient_norm()));
    }
    CHECK(there.skipped_updates() == 4);
    const auto of_gpu = testing::learnt(there), of_cpu = testing::learnt(here);
    REQUIRE(of_gpu.size() == of_cpu.size());
    for (std::size_t i = 0; i < of_gpu.size(); ++i) CHECK(of_gpu[i] == doctest::Approx(of_cpu[i]).epsilon(1e-3));
  }
}

TEST_CASE("cuda, loss scaling: a power of two changes no bit, and a skipped update leaves no trace, nor waits the host for it") {
  using type = training<cuda>;
  for (const double max_norm : {0.0, 0.5}) {
    fake::reset();
    type plain{AdamW{.learning_rate = 0.02}, scaled<type>({}, max_norm)};
    type with{AdamW{.learning_rate = 0.02}, scaled<type>(fixed_scale{256}, max_norm)};
    for (std::size_t step = 0; step < 6; ++step) {
      const testing::samples s = samples_of(step, false);
      if (overflows_at(step)) {
        const testing::samples bad = samples_of(step, true);
        const std::size_t waits = fake::counted().waits;
        with.step(bad.x, bad.y);
        CHECK(fake::counted().waits == waits);
      }
      plain.step(s.x, s.y);
      const std::size_t waits = fake::counted().waits;
      with.step(s.x, s.y);
      CHECK(fake::counted().waits == waits);
    }
    CHECK(testing::learnt(with) == testing::learnt(plain));
    CHECK((with.skipped_updates() == 3 && with.steps() == 9));
    if (max_norm > 0) CHECK(with.gradient_norm() == plain.gradient_norm());
  }
}

TEST_CASE("cuda, loss scaling: every policy and two ranks have the bits of one rank's micro-batches") {
  fake::reset();
  constexpr std::size_t steps = 8;
  const auto alone = [](auto model) {
    using type = training<cuda, typename decltype(model)::type>;
    type t{AdamW{.learning_rate = 0.02}, scaled<type>(growing)};
    for (std::size_t step = 0; step < steps; ++step) {
      const testing::samples first = samples_of(step, false), second = samples_of(step, overflows_at(step), 1);
      t.accumulate(first.x, first.y);
      t.step(second.x, second.y);
    }
    auto all = testing::learnt(t);
    all.push_back(static_cast<float>(t.loss_scale()));
    return all;
  };
  const auto expected = alone(std::type_identity<Net>{});
  CHECK(alone(std::type_identity<checkpoint<recompute_all, Net>>{}) == expected);
  std::vector<std::vector<float>> found(2);
  threads{2}.run([&](threads::rank& rank) {
    using type = training<cuda, ddp<Net, threads::rank, bucket_bytes<512>>>;
    type t{rank, AdamW{.learning_rate = 0.02}, scaled<type>(growing)};
    const auto own = static_cast<std::size_t>(rank.rank());
    for (std::size_t step = 0; step < steps; ++step) {
      const testing::samples s = samples_of(step, own == 1 && overflows_at(step), own);
      t.step(s.x, s.y);
    }
    found[own] = testing::learnt(t);
    found[own].push_back(static_cast<float>(t.loss_scale()));
  });
  CHECK((found[0] == expected && found[1] == expected));
}

TEST_CASE("cuda, loss scaling: a run that is resumed in its middle has the bits of one that is not") {
  fake::reset();
  using type = training<cuda>;
  const folder here;
  const std::string file = here.path / "a.state";
  const auto step = [](type& t, std::size_t number) {
    const testing::samples s = samples_of(number, overflows_at(number));
    t.step(s.x, s.y);
  };
  type whole{AdamW{.learning_rate = 0.02}, scaled<type>(growing)};
  for (std::size_t number = 0; number < 9; ++number) {
    step(whole, number);
    if (number == 4) save_state(whole, file); // the last update was skipped
  }
  type resumed{AdamW{.learning_rate = 0.02}, scaled<type>(growing)};
  load_state(resumed, file);
  CHECK((resumed.steps() == 5 && resumed.skipped_updates() == 3 && resumed.loss_scale() == 128));
  for (std::size_t number = 5; number < 9; ++number) step(resumed, number);
  CHECK(testing::learnt(resumed) == testing::learnt(whole));
  CHECK((resumed.loss_scale() == whole.loss_scale() && resumed.skipped_updates() == 4));
}

} // namespace cuda_loss_scale_tests
