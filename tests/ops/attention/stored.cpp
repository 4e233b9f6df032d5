// SPDX-License-Identifier: MIT
// long to compile
#include <cairn/ops/attention/cpu.hpp>
#include <cairn/ops/attention/kept_probabilities.hpp>
#include <cairn/ops/attention/reference.hpp>
#include <cairn/ops/attention/stored.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <cairn/core/random.hpp>
#include <cairn/core/random_normal.hpp>
#include <doctest/doctest.h>

#include "../narrow.hpp"

namespace stored_attention_tests {

using namespace cairn;
using ops::attention_extents;
using ops::attention_operands;
using ops::key_band;

static_assert(detail::stored_attention_runs_on<cpu::queue, float> && detail::stored_attention_runs_on<cpu::queue, double>);
static_assert(detail::stored_attention_runs_on<cpu::queue, bfloat16> && detail::stored_attention_runs_on<cpu::queue, float16>);

namespace {

constexpr key_band full{}, causal{.after = 0};
constexpr key_band window(std::size_t n) { return {.before = n - 1, .after = 0}; }

template <class T>
std::vector<T> normal(std::size_t count, std::uint64_t stream) {
  std::vector<accumulated<T>> wide(count);
  ops::fill_normal(std::span(wide), types::random_key{.seed = stream});
  return std::vector<T>(wide.begin(), wide.end());
}
template <class T>
std::vector<T> unwritten(std::size_t count) {
  return std::vector<T>(count, static_cast<T>(std::numeric_limits<float>::quiet_NaN()));
}

template <class T>
std::vector<float> widened(const std::vector<T>& numbers) {
  std::vector<float> out;
  for (const T x : numbers) out.push_back(static_cast<float>(x));
  return out;
}

// The operands of one call, in rows of queries, keys and values, and its results with the probabilities in memory and without.
template <class T>
struct one_call {
  attention_extents of;
  std::size_t stride = (of.heads + 2 * of.key_heads) * of.width, rows = std::max(of.queries, of.keys) * of.samples;
  std::vector<T> x = normal<T>(rows * stride, 1), dy = normal<T>(of.samples * of.queries * of.heads * of.width, 2);
  std::vector<T> output = unwritten<T>(dy.size()), dx = unwritten<T>(x.size());
  std::vector<T> probabilities = unwritten<T>(of.samples * of.heads * of.queries * of.keys);
  std::vector<accumulated<T>> log_sums = std::vector<accumulated<T>>(of.samples * of.heads * of.queries);

  explicit one_call(const attention_extents& extents) : of(extents) {}

  template <class U>
  attention_operands<U> operands(U* first) const {
    return {first, first + of.heads * of.width, first + (of.heads + of.key_heads) * of.width, stride, stride};
  }
  attention_operands<const T> in() const { return operands(std::as_const(x).data()); }

  one_call& stored(std::size_t threads = 1) {
    cpu device({.threads = threads});
    stored_attention_forward(device.compute(), of, output.data(), probabilities.data(), in());
    stored_attention_backward(device.compute(), of, operands(dx.data()), std::as_const(dy).data(), std::as_const(output).data(),
                              std::as_const(probabilities).data(), in());
    return *this;
  }
  one_call& in_strips() {
    cpu device;
    attention_forward(device.compute(), of, output.data(), log_sums.data(), in());
    attention_backward(device.compute(), of, operands(dx.data()), std::as_const(dy).data(), std::as_const(output).data(),
                       std::as_const(log_sums).data(), in());
    return *this;
  }
  one_call& plain() {
    std::vector<double> room(std::max(of.keys, 2 * of.width));
    for (std::size_t s = 0; s < of.samples; ++s)
      for (std::size_t h = 0; h < of.key_heads; ++h) {
        detail::attention_forward_plain<T>(of, s, h, room.data(), output.data(),
                                           detail::kept_probabilities<T>{probabilities.data()}, in());
        detail::attention_backward_plain<T>(of, s, h, room.data(), operands(dx.data()), dy.data(), output.data(),
                                            detail::kept_probabilities<const T>{probabilities.data()}, in());
      }
    return *this;
  }
  T probability(std::size_t sample, std::size_t head, std::size_t i, std::size_t j) const {
    return probabilities[((sample * of.heads + head) * of.queries + i) * of.keys + j];
  }
};

// Where one is not written, the other must not be either.
template <class T>
double difference(const std::vector<T>& a, const std::vector<T>& b) {
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto x = static_cast<double>(a[i]), y = static_cast<double>(b[i]);
    if (std::isnan(x) != std::isnan(y)) return 1e30;
    if (!std::isnan(x)) most = std::max(most, std::fabs(x - y));
  }
  return most;
}

attention_extents of_text(std::size_t tokens, std::size_t heads, std::size_t key_heads, std::size_t width, key_band band) {
  return {.samples = 2, .queries = tokens, .keys = tokens, .heads = heads, .key_heads = key_heads, .width = width, .band = band};
}
std::string name(const attention_extents& of) {
  return std::to_string(of.queries) + " queries, " + std::to_string(of.keys) + " keys, " + std::to_string(of.key_heads) +
         " key heads of " + std::to_string(of.width) + ", band " + std::to_string(of.band.before) + ", " +
         std::to_string(of.band.after);
}

// The largest difference of the probabilities of keys that a query may look at; those of other keys are 0 or not written.
template <class T>
double difference_of_probabilities(const one_call<T>& a, const one_call<T>& b) {
  double most = 0;
  for (std::size_t s = 0; s < a.of.samples; ++s)
    for (std::size_t h = 0; h < a.of.heads; ++h)
      for (std::size_t i = 0; i < a.of.queries; ++i)
        for (std::size_t j = 0; j < a.of.keys; ++j) {
          const auto x = static_cast<double>(a.probability(s, h, i, j)), y = static_cast<double>(b.probability(s, h, i, j));
          const std::size_t place = a.of.first_place + i;
          if (j >= a.of.band.begin(place, a.of.keys) && j < a.of.band.end(place, a.of.keys)) {
            if (!(std::fabs(x - y) < 1e30)) return 1e30;
            most = std::max(most, std::fabs(x - y));
          } else if (!std::isnan(x) && x != 0) return 1e30;
        }
  return most;
}

} // namespace

TEST_CASE_TEMPLATE("stored attention: the formula and its probabilities, at every number of tokens and under every mask", T,
                   float, double) {
  const double most = sizeof(T) == 4 ? 2e-5 : 2e-13;
  for (const std::size_t tokens : {1U, 2U, 31U, 33U, 70U, 140U})
    for (const key_band band : {full, causal, window(6), key_band{3, 2}, key_band{0, 40}})
      for (const std::size_t width : {1U, 16U, 21U})
        for (const std::size_t key_heads : {4U, 1U}) {
          const one_call<T> own = one_call<T>(of_text(tokens, 4, key_heads, width, band)).stored();
          const one_call<T> plain = one_call<T>(own.of).plain(), strips = one_call<T>(own.of).in_strips();
          CAPTURE(name(own.of));
          CHECK(difference_of_probabilities(own, plain) < most);
          CHECK(difference(own.dx, plain.dx) < most);
          CHECK(own.output == strips.output); // bit for bit
          CHECK(difference(own.dx, strips.dx) < most);
        }
}

TEST_CASE("stored attention: windows that begin after whole chains, fewer queries than keys, and queries beyond all keys") {
  for (const key_band band : {full, causal, window(200), window(3)})
    for (const std::size_t first : {0U, 290U}) {
      attention_extents of = of_text(300, 2, 1, 8, band);
      of.queries = 40;
      of.first_place = first;
      const one_call<double> own = one_call<double>(of).stored(), plain = one_call<double>(of).plain();
      CAPTURE(name(of));
      CHECK(difference_of_probabilities(own, plain) < 2e-13);
      CHECK(difference(own.dx, plain.dx) < 2e-13);
    }
}

TEST_CASE_TEMPLATE("stored attention: one to five threads give the same bits", T, float, double) {
  for (const std::size_t samples : {1U, 2U}) // with one there are fewer heads than threads
    for (const key_band band : {full, causal, window(40)}) {
      attention_extents of = of_text(150, 2, 1, 16, band);
      of.samples = samples;
      const one_call<T> one = one_call<T>(of).stored();
      for (const std::size_t threads : {2U, 3U, 4U, 5U}) {
        const one_call<T> several = one_call<T>(of).stored(threads);
        CHECK(several.output == one.output);
        CHECK(difference(several.probabilities, one.probabilities) == 0);
        CHECK(several.dx == one.dx);
      }
    }
}

TEST_CASE("stored attention: probabilities that are not wanted are not written") {
  one_call<float> own(of_text(40, 2, 1, 8, causal));
  cpu device;
  stored_attention_forward(device.compute(), own.of, own.output.data(), static_cast<float*>(nullptr), own.in());
  CHECK(own.output == one_call<float>(own.of).in_strips().output);
}

TEST_CASE_TEMPLATE("stored attention: of 16-bit elements it is that of float, with probabilities of 16 bits", T, bfloat16,
                   float16) {
  for (const key_band band : {full, causal, window(5)}) {
    const one_call<T> own = one_call<T>(of_text(37, 4, 2, 8, band)).stored(2);
    one_call<float> wide(own.of);
    wide.x = widened(own.x);
    wide.dy = widened(own.dy);
    wide.stored();
    CHECK(narrow::wrong(own.output, wide.output, 2e-6F) == 0);
    std::vector<T> probabilities;
    std::vector<float> wide_probabilities;
    for (std::size_t i = 0; i < wide.probabilities.size(); ++i)
      if (wide.probabilities[i] > 0) {
        probabilities.push_back(own.probabilities[i]);
        wide_probabilities.push_back(wide.probabilities[i]);
      }
    CHECK(narrow::wrong(probabilities, wide_probabilities, 1e-6F) == 0);
    // Backward reads what was rounded.
    wide.output = widened(own.output);
    for (std::size_t i = 0; i < wide.probabilities.size(); ++i)
      if (wide.probabilities[i] > 0) wide.probabilities[i] = static_cast<float>(own.probabilities[i]);
    cpu device;
    stored_attention_backward(device.compute(), wide.of, wide.operands(wide.dx.data()), std::as_const(wide.dy).data(),
                              std::as_const(wide.output).data(), std::as_const(wide.probabilities).data(), wide.in());
    CHECK(narrow::wrong(own.dx, wide.dx, 1e-5F) == 0);
  }
}

TEST_CASE("stored attention: extents that do not fit are an error that names them") {
  cpu device;
  CHECK_THROWS_AS(stored_attention_forward(device.compute(), {.samples = 0, .keys = 131073, .width = 1},
                                           static_cast<float*>(nullptr), static_cast<float*>(nullptr), {}),
                  error);
}

} // namespace stored_attention_tests
