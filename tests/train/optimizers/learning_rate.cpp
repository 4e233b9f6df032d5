// SPDX-License-Identifier: MIT
#include <cairn/train/optimizers/learning_rate.hpp>

#include <array>
#include <cstdint>
#include <new>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <doctest/doctest.h>

#include "../../reference/differences.hpp"
#include "../../reference/values.hpp"

namespace learning_rate_tests {

using namespace cairn;

namespace {

template <learning_rate_schedule S>
double distance(const S& schedule, const std::string& name) {
  const auto& expected = reference_values("rate/" + name);
  std::vector<double> found;
  for (std::size_t step = 0; step < expected.size(); ++step) found.push_back(schedule.at(step));
  return largest_difference(found, expected);
}

} // namespace

TEST_CASE("learning rate: PyTorch's numbers") {
  CHECK(distance(step_rate{.learning_rate = 0.5, .step_size = 3, .gamma = 0.5}, "step") < 1e-14);
  CHECK(distance(cosine_rate{.learning_rate = 0.5, .total_steps = 8, .min_rate = 0.01}, "cosine") < 1e-14);
  const cosine_rate warm{.learning_rate = 0.5, .total_steps = 12, .warm_up = 4, .start_factor = 0.25, .min_rate = 0.02};
  CHECK(distance(warm, "cosine_warm_up") < 1e-14);
}

TEST_CASE("learning rate: PyTorch's numbers of every other schedule") {
  CHECK(distance(linear_rate{.learning_rate = 0.5, .total_steps = 7, .start_factor = 0.25, .end_factor = 0.9}, "linear") < 1e-14);
  CHECK(distance(linear_rate{.learning_rate = 0.5, .total_steps = 30, .start_factor = 1, .end_factor = 0}, "linear_down") <
        1e-14);
  CHECK(distance(exponential_rate{.learning_rate = 0.5, .gamma = 0.93}, "exponential") < 1e-14);
  CHECK(distance(cosine_restarts_rate{.learning_rate = 0.5, .period = 7, .min_rate = 0.02}, "cosine_restarts") < 1e-14);
  CHECK(distance(cosine_restarts_rate{.learning_rate = 0.5, .period = 3, .period_factor = 2}, "cosine_restarts_longer") < 1e-14);
  CHECK(distance(one_cycle_rate{.max_rate = 0.5, .total_steps = 60}, "one_cycle") < 1e-14);
  const one_cycle_rate with_options{
      .max_rate = 0.5, .total_steps = 33, .rise_fraction = 0.41, .div_factor = 7, .final_div_factor = 90};
  CHECK(distance(with_options, "one_cycle_options") < 1e-14);
  CHECK(distance(one_cycle_rate{.max_rate = 0.5, .total_steps = 12, .rise_fraction = 0.05}, "one_cycle_falling") < 1e-14);
  CHECK(distance(rate_table{{0, 0.5}, {4, 0.05}, {9, 0.005}, {17, 0.0005}}, "multi_step") < 1e-14);
  CHECK(distance(rate_table({{0, 0.1}, {10, 0.5}, {30, 0.25}}, true), "interpolated") < 1e-14);
}

TEST_CASE("learning rate: a table holds the first rate before its first step, and the last one after its end") {
  const rate_table held{{5, 0.25}, {8, 0.125}};
  CHECK(held.at(0) == 0.25);
  CHECK(held.at(7) == 0.25);
  CHECK(held.at(8) == 0.125);
  CHECK(held.at(1000000) == 0.125);
  const rate_table line({{5, 0.25}, {9, 0.125}}, true);
  CHECK(line.at(0) == 0.25);
  CHECK(line.at(7) == 0.1875);
  CHECK(line.at(1000000) == 0.125);
  CHECK(line.entries().size() == 2);
}

TEST_CASE("learning rate: a table that makes no sense is refused") {
  const auto text = [](const std::vector<rate_table::entry>& entries) {
    try {
      rate_table{std::span<const rate_table::entry>(entries)};
    } catch (const input_error& wrong) {
      return std::string(wrong.what());
    }
    return std::string();
  };
  CHECK(text({{0, 0.1}, {1, 0.2}}).empty());
  CHECK(text({}) == "rate_table: expected 1 to 15 rates, found 0; write a schedule of your own with at(step) for more");
  CHECK(text(std::vector<rate_table::entry>(16)).find("found 16") != std::string::npos);
  CHECK(text({{4, 0.1}, {4, 0.2}}) == "rate_table: expected steps in ascending order, found step 4 after step 4");
  CHECK(text({{0, -1}}).find("rate_table: expected rates of 0 or more, found -1") != std::string::npos);
}

// Saved states compare schedules byte by byte, so equal schedules must have equal bytes, whatever was in their memory before.
TEST_CASE("learning rate: equal schedules have equal bytes") {
  const auto same_bytes = []<class S>(const S& one) {
    alignas(S) std::array<unsigned char, sizeof(S)> first{}, second{};
    first.fill(0xAA);
    second.fill(0x55);
    ::new (static_cast<void*>(first.data())) S(one);
    ::new (static_cast<void*>(second.data())) S(one);
    return first == second && std::is_trivially_copyable_v<S>;
  };
  CHECK(same_bytes(step_rate{}));
  CHECK(same_bytes(cosine_rate{}));
  CHECK(same_bytes(linear_rate{}));
  CHECK(same_bytes(exponential_rate{}));
  CHECK(same_bytes(cosine_restarts_rate{}));
  CHECK(same_bytes(one_cycle_rate{}));
  CHECK(same_bytes(rate_table({{0, 0.1}, {7, 0.2}}, true)));
}

TEST_CASE("learning rate: schedules past their end, and without one") {
  CHECK(one_cycle_rate{.max_rate = 0.5, .total_steps = 10}.at(1000) == 0.5 / 25 / 1e4);
  CHECK(one_cycle_rate{.max_rate = 0.5, .total_steps = 1}.at(0) == 0.5 / 25 / 1e4);
  CHECK(linear_rate{.learning_rate = 0.5, .total_steps = 0}.at(0) == 0.5);
  CHECK(cosine_restarts_rate{.learning_rate = 0.5, .period = 0}.at(12) == 0.5); // 0 means every step
  const cosine_restarts_rate endless{.learning_rate = 0.5, .period = 1U << 30, .period_factor = std::uint64_t{1} << 40};
  CHECK(endless.at(std::uint64_t{1} << 30) == 0.5);
  CHECK(endless.at(~std::uint64_t{0}) <= 0.5);
}

TEST_CASE("learning rate: constant, and past the end of a schedule") {
  CHECK(constant_rate{.learning_rate = 0.1}.at(1000000) == 0.1);
  CHECK(cosine_rate{.learning_rate = 0.5, .total_steps = 8, .min_rate = 0.25}.at(800) == 0.25);
  CHECK(cosine_rate{.learning_rate = 0.5, .total_steps = 4, .warm_up = 4}.at(4) == 0);
  CHECK(step_rate{.learning_rate = 0.5, .step_size = 0, .gamma = 1}.at(9) == 0.5); // 0 means every step
}

TEST_CASE("learning rate: every number of a schedule is among its settings") {
  const auto differ = [](const auto& a, const auto& b) { return a.settings() != b.settings(); };
  CHECK(differ(constant_rate{}, constant_rate{.learning_rate = 0.1}));
  for (const step_rate other : {step_rate{.learning_rate = 0.1}, step_rate{.step_size = 2}, step_rate{.gamma = 0.2}})
    CHECK(differ(step_rate{}, other));
  for (const cosine_rate other : {cosine_rate{.learning_rate = 0.1}, cosine_rate{.total_steps = 2}, cosine_rate{.warm_up = 1},
                                  cosine_rate{.start_factor = 0.1}, cosine_rate{.min_rate = 0.1}})
    CHECK(differ(cosine_rate{}, other));
}

} // namespace learning_rate_tests
