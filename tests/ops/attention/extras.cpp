// SPDX-License-Identifier: MIT
// long to compile
#include <cairn/ops/attention/attention.hpp>
#include <cairn/ops/attention/cpu.hpp>
#include <cairn/ops/attention/extras_of_strip.hpp>
#include <cairn/ops/attention/reference.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "../narrow.hpp"

// Attention with key lengths, an additive mask and dropout of probabilities.
namespace attention_extras_tests {

using namespace cairn;
using ops::attention_extents;
using ops::attention_extras;
using ops::attention_operands;
using ops::key_band;

static_assert(detail::attention_with_extras_runs_on<cpu::queue, float> &&
              detail::attention_with_extras_runs_on<cpu::queue, bfloat16>);
struct other_queue {};
static_assert(!detail::attention_with_extras_runs_on<other_queue, float>);

namespace {

constexpr key_band full{}, causal{.after = 0};
constexpr key_band window(std::size_t n) { return {.before = n - 1, .after = 0}; }
constexpr ops::dropout_rate a_third{.threshold = 0x55555555, .scale = 1.5};

template <class T>
std::vector<T> normal(std::size_t count, std::uint64_t stream) {
  std::vector<T> out(count);
  ops::fill_normal(std::span<T>(out), types::random_key{.seed = stream});
  return out;
}
template <class T>
std::vector<T> unwritten(std::size_t count) {
  return std::vector<T>(count, std::numeric_limits<T>::quiet_NaN());
}

// Which extras a call has.
struct given {
  bool lengths = false, added = false, dropped = false;
  bool added_by_sample = true, added_by_head = true;
};

// One call whose rows are queries, keys and values side by side, and its results.
template <class T>
struct one_call {
  attention_extents of;
  given has;
  std::size_t stride = (of.heads + 2 * of.key_heads) * of.width;
  std::vector<T> rows = normal<T>(of.samples * of.keys * stride, 1);
  std::vector<T> output_gradient = normal<T>(of.samples * of.queries * of.heads * of.width, 3);
  std::vector<T> output = unwritten<T>(output_gradient.size()), log_sums = unwritten<T>(of.samples * of.heads * of.queries);
  std::vector<T> gradients = unwritten<T>(rows.size());
  std::vector<std::int32_t> lengths = std::vector<std::int32_t>(of.samples);
  std::vector<T> added = normal<T>(of.samples * of.heads * of.queries * of.keys, 4);

  one_call(const attention_extents& extents, given which) : of(extents), has(which) {
    for (std::size_t s = 0; s < of.samples; ++s) lengths[s] = static_cast<std::int32_t>((of.keys * (s + 1) + 1) / (s + 2));
    for (std::size_t i = 0; i < added.size(); i += 5) added[i] = -std::numeric_limits<T>::infinity();
  }

  template <class U>
  attention_operands<U> operands(U* first) const {
    return {first, first + of.heads * of.width, first + (of.heads + of.key_heads) * of.width, stride, stride};
  }
  attention_extras<T> extras() const {
    attention_extras<T> out{.random = {.seed = 5, .step = 6, .position = 7}};
    if (has.lengths) out.key_lengths = lengths.data();
    if (has.added) out.added = added.data();
    if (has.added_by_sample) out.added_sample_stride = of.heads * of.queries * of.keys;
    if (has.added_by_head) out.added_head_stride = of.queries * of.keys;
    if (has.dropped) out.rate = a_third;
    return out;
  }

  one_call& run(std::size_t threads = 1) {
    cpu device({.threads = threads});
    const attention_operands<const T> in = operands(std::as_const(rows).data());
    attention_forward(device.compute(), of, output.data(), log_sums.data(), in, extras());
    attention_backward(device.compute(), of, operands(gradients.data()), std::as_const(output_gradient).data(),
                       std::as_const(output).data(), std::as_const(log_sums).data(), in, extras());
    return *this;
  }
  one_call& run_plain() {
    std::vector<double> room(std::max(of.keys, 2 * of.width));
    const attention_operands<const T> in = operands(std::as_const(rows).data());
    for (std::size_t s = 0; s < of.samples; ++s)
      for (std::size_t h = 0; h < of.key_heads; ++h) {
        detail::attention_forward_plain<T>(of, s, h, room.data(), output.data(), log_sums.data(), in, extras());
        detail::attention_backward_plain<T>(of, s, h, room.data(), operands(gradients.data()), output_gradient.data(),
                                            output.data(), log_sums.data(), in, extras());
      }
    return *this;
  }
};

template <class T>
double difference(const std::vector<T>& a, const std::vector<T>& b) {
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;
    const double off = std::fabs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    most = std::isnan(off) ? 1e30 : std::max(most, off);
  }
  return most;
}
template <class T>
double difference(const one_call<T>& a, const one_call<T>& b) {
  return std::max({difference(a.output, b.output), difference(a.log_sums, b.log_sums), difference(a.gradients, b.gradients)});
}
template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}
template <class T>
bool same_bits(const one_call<T>& a, const one_call<T>& b) {
  return same_bits(a.output, b.output) && same_bits(a.log_sums, b.log_sums) && same_bits(a.gradients, b.gradients);
}

attention_extents of_text(std::size_t tokens, std::size_t heads, std::size_t key_heads, std::size_t width, key_band band) {
  return {.samples = 3, .queries = tokens, .keys = tokens, .heads = heads, .key_heads = key_heads, .width = width, .band = band};
}
constexpr given all{.lengths = true, .added = true, .dropped = true};

} // namespace

TEST_CASE_TEMPLATE("attention: extras in strips are the formula, each alone and all together", T, float, double) {
  const double most = sizeof(T) == 4 ? 2e-5 : 2e-13;
  for (const std::size_t tokens : {1U, 2U, 31U, 33U, 70U, 129U})
    for (const key_band band : {full, causal, window(6), key_band{3, 2}})
      for (const std::size_t key_heads : {4U, 2U, 1U})
        for (const given& has : {given{.lengths = true}, given{.added = true}, given{.dropped = true},
                                 given{.added = true, .added_by_sample = false}, given{.added = true, .added_by_head = false},
                                 given{.added = true, .added_by_sample = false, .added_by_head = false}, all}) {
          CAPTURE(tokens);
          CAPTURE(key_heads);
          const attention_extents of = of_text(tokens, 4, key_heads, 5, band);
          CHECK(difference(one_call<T>(of, has).run(), one_call<T>(of, has).run_plain()) < most);
        }
}

TEST_CASE("attention: extras for more keys than a piece of factors or a reduction has") {
  for (const key_band band : {full, causal, key_band{130, 140}}) {
    attention_extents of = of_text(1101, 2, 1, 8, band);
    of.samples = 1;
    CHECK(difference(one_call<double>(of, all).run(), one_call<double>(of, all).run_plain()) < 2e-13);
  }
}

TEST_CASE_TEMPLATE("attention: extras that are not given change no bit", T, float, double) {
  const attention_extents of = of_text(70, 4, 2, 8, causal);
  one_call<T> plain(of, {});
  cpu device;
  const attention_operands<const T> in = plain.operands(std::as_const(plain.rows).data());
  attention_forward(device.compute(), of, plain.output.data(), plain.log_sums.data(), in);
  attention_backward(device.compute(), of, plain.operands(plain.gradients.data()), std::as_const(plain.output_gradient).data(),
                     std::as_const(plain.output).data(), std::as_const(plain.log_sums).data(), in);
  CHECK(same_bits(one_call<T>(of, {}).run(), plain));
}

TEST_CASE_TEMPLATE("attention: one, two and three threads give the same bits with extras", T, float, double) {
  for (const std::size_t samples : {1U, 3U}) // with one there are fewer heads than threads
    for (const key_band band : {full, causal, window(40)}) {
      attention_extents of = of_text(150, 2, 1, 16, band);
      of.samples = samples;
      const one_call<T> one = one_call<T>(of, all).run();
      for (const std::size_t threads : {2U, 3U, 8U}) CHECK(same_bits(one_call<T>(of, all).run(threads), one));
    }
}

TEST_CASE_TEMPLATE("attention: a sample of some keys has the bits of one that has no others, whatever lies there", T, float,
                   double) {
  for (const key_band band : {full, causal, window(5)})
    for (const std::size_t length : {0U, 1U, 40U, 128U, 129U}) {
      attention_extents of = of_text(150, 2, 1, 8, band);
      one_call<T> padded(of, {.lengths = true});
      padded.lengths.assign(3, static_cast<std::int32_t>(length));
      const std::size_t row = padded.stride;
      for (std::size_t s = 0; s < 3; ++s)
        for (std::size_t j = length; j < 150; ++j)
          for (std::size_t c = 16; c < row; ++c) padded.rows[(s * 150 + j) * row + c] = std::numeric_limits<T>::quiet_NaN();
      padded.run();
      CHECK(same_bits(one_call<T>(padded).run(8), padded)); // in two passes
      for (std::size_t s = 0; s < 3; ++s) {                 // one sample at a time, as their keys are further apart
        const auto at = [&](std::size_t rows, std::size_t width) { return static_cast<std::ptrdiff_t>(s * rows * width); };
        attention_extents alone = of;
        alone.samples = 1;
        one_call<T> own(alone, {});
        own.rows.assign(padded.rows.begin() + at(150, row), padded.rows.begin() + at(150, row) + std::ptrdiff_t(150 * row));
        own.output_gradient.assign(padded.output_gradient.begin() + at(150, 16),
                                   padded.output_gradient.begin() + at(150, 16) + 150 * 16);
        own.of.keys = length;
        own.run();
        CHECK(std::memcmp(own.output.data(), padded.output.data() + at(150, 16), 150 * 16 * sizeof(T)) == 0);
        for (std::size_t i = 0; i < 150; ++i)
          for (std::size_t c = 0; c < row; ++c) {
            const T found = padded.gradients[(s * 150 + i) * row + c];
            // A key after the last one has a gradient of zero.
            CHECK(found == (c >= 16 && i >= length ? T{0} : own.gradients[i * row + c]));
          }
      }
    }
}

TEST_CASE_TEMPLATE("attention: a query whose keys are all forbidden has an output and a gradient of zero", T, float, double) {
  const attention_extents of = of_text(40, 2, 2, 4, causal);
  one_call<T> masked(of, {.added = true, .dropped = true});
  const auto forbidden = [](std::size_t i) { return i == 0 || i == 35; };
  for (std::size_t s = 0; s < 6; ++s) // of each sample and head
    for (std::size_t i = 0; i < 40; ++i)
      for (std::size_t j = 0; j < 40; ++j)
        masked.added[(s * 40 + i) * 40 + j] = forbidden(i) ? -std::numeric_limits<T>::infinity() : T{0};
  const one_call<T> plain = one_call<T>(masked).run_plain();
  masked.run();
  for (const one_call<T>* const made : {&std::as_const(masked), &plain})
    for (std::size_t i = 0; i < 40; ++i)
      for (std::size_t c = 0; c < 8; ++c) {
        if (forbidden(i)) CHECK((made->output[i * 8 + c] == 0 && made->gradients[i * made->stride + c] == 0));
        if (c == 0 && i > 1) CHECK(std::isinf(made->log_sums[i]) == forbidden(i));
      }
  CHECK(difference(masked, plain) < 1e-5);
}

TEST_CASE("attention: the most negative number forbids a key unless all have it") {
  const attention_extents of = of_text(8, 1, 1, 16, full);
  one_call<float> masked(of, {.added = true, .added_by_sample = false});
  std::fill(masked.added.begin(), masked.added.end(), std::numeric_limits<float>::lowest());
  masked.added[3] = 0; // query 0 looks at key 3
  masked.run();
  for (std::size_t c = 0; c < 16; ++c) {
    CHECK(masked.output[c] == masked.rows[3 * masked.stride + 32 + c]);
    double mean = 0;
    for (std::size_t j = 0; j < 8; ++j) mean += static_cast<double>(masked.rows[j * masked.stride + 32 + c]) / 8;
    CHECK(std::fabs(static_cast<double>(masked.output[16 + c]) - mean) < 1e-6);
  }
}

// Queries of zero have equal probabilities, and values of a one and zeros show them.
TEST_CASE_TEMPLATE("attention: dropout drops the elements that ops::dropout drops, with its factor", T, float, double) {
  for (const std::size_t tokens : {1U, 7U, 64U, 66U, 150U}) {
    attention_extents of = of_text(tokens, 2, 2, tokens, full);
    one_call<T> c(of, {.dropped = true});
    const std::size_t count = 3 * 2 * tokens * tokens;
    for (std::size_t r = 0; r < 3 * tokens; ++r)
      for (std::size_t k = 0; k < c.stride; ++k) c.rows[r * c.stride + k] = k % tokens == r % tokens && k >= 4 * tokens ? 1 : 0;
    c.run();
    const std::vector<T> ones(count, 1);
    std::vector<T> wanted(count);
    cpu device;
    dropout(device.compute(), count, wanted.data(), ones.data(), c.extras().random, a_third);
    std::size_t dropped = 0;
    for (std::size_t s = 0; s < 3; ++s)
      for (std::size_t h = 0; h < 2; ++h)
        for (std::size_t i = 0; i < tokens; ++i)
          for (std::size_t j = 0; j < tokens; ++j) {
            const T want = wanted[((s * 2 + h) * tokens + i) * tokens + j] / static_cast<T>(tokens);
            const T found = c.output[((s * tokens + i) * 2 + h) * tokens + j];
            CHECK(std::fabs(found - want) < T(1e-6));
            dropped += found == 0 ? 1 : 0;
          }
    const double mean = static_cast<double>(count) / 3, deviation = std::sqrt(mean * 2 / 3);
    CHECK(std::fabs(static_cast<double>(dropped) - mean) < 5 * deviation);
  }
}

TEST_CASE("attention: dropout of everything leaves zeros, and probabilities keep their mean") {
  attention_extents of = of_text(33, 2, 1, 4, causal);
  one_call<float> c(of, {});
  attention_extras<float> extras{.rate = {.threshold = std::uint64_t{1} << 32, .scale = 0}};
  cpu device;
  const attention_operands<const float> in = c.operands(std::as_const(c.rows).data());
  attention_forward(device.compute(), of, c.output.data(), c.log_sums.data(), in, extras);
  attention_backward(device.compute(), of, c.operands(c.gradients.data()), std::as_const(c.output_gradient).data(),
                     std::as_const(c.output).data(), std::as_const(c.log_sums).data(), in, extras);
  CHECK(std::all_of(c.output.begin(), c.output.end(), [](float y) { return y == 0; }));
  CHECK(std::all_of(c.gradients.begin(), c.gradients.end(), [](float g) { return g == 0; }));
  const one_call<float> plain = one_call<float>(of, {}).run();
  std::vector<double> mean(c.output.size());
  constexpr int draws = 400;
  extras.rate = a_third;
  for (int k = 0; k < draws; ++k) {
    extras.random.step = static_cast<std::uint64_t>(k);
    attention_forward(device.compute(), of, c.output.data(), c.log_sums.data(), in, extras);
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += static_cast<double>(c.output[i]) / draws;
    CHECK(same_bits(c.log_sums, plain.log_sums));
  }
  double squares = 0;
  for (std::size_t i = 0; i < mean.size(); ++i) squares += std::pow(mean[i] - static_cast<double>(plain.output[i]), 2);
  // A draw's deviation is below sqrt(0.5) of a value's size, 1, as probabilities add up to 1.
  CHECK(std::sqrt(squares / static_cast<double>(mean.size())) < std::sqrt(0.5 / draws));
}

TEST_CASE_TEMPLATE("attention: extras of 16-bit elements are those of float, rounded once", T, bfloat16, float16) {
  cpu device({.threads = 2});
  auto& queue = device.compute();
  const attention_extents of = of_text(37, 4, 2, 8, causal);
  const std::vector<std::int32_t> lengths{20, 37, 1};
  constexpr std::size_t stride = 8 * 8;
  const auto rows = narrow::normal<T>(3 * 37 * stride, 1), dy = narrow::normal<T>(3 * 37 * 4 * 8, 2);
  const auto added = narrow::normal<T>(4 * 37 * 37, 3);
  const auto in = []<class U>(U* first) { return attention_operands<U>{first, first + 32, first + 48, stride, stride}; };
  const auto extras = [&]<class U>(const U* mask) {
    return attention_extras<U>{
        .key_lengths = lengths.data(), .added = mask, .added_head_stride = 37 * 37, .rate = a_third, .random = {.seed = 5}};
  };
  std::vector<T> own(dy.own.size()), own_dx(rows.own.size());
  std::vector<float> wide(own.size()), wide_dx(own_dx.size()), own_sums(3 * 4 * 37), wide_sums(own_sums.size());
  attention_forward(queue, of, own.data(), own_sums.data(), in(rows.own.data()), extras(added.own.data()));
  attention_forward(queue, of, wide.data(), wide_sums.data(), in(rows.wide.data()), extras(added.wide.data()));
  CHECK(narrow::wrong(own, wide, 2e-6F) == 0);
  CHECK(difference(own_sums, wide_sums) < 1e-5);
  for (std::size_t i = 0; i < wide.size(); ++i) wide[i] = static_cast<float>(own[i]);
  const float* const sums = wide_sums.data();
  attention_backward(queue, of, in(own_dx.data()), dy.own.data(), std::as_const(own).data(), sums, in(rows.own.data()),
                     extras(added.own.data()));
  attention_backward(queue, of, in(wide_dx.data()), dy.wide.data(), std::as_const(wide).data(), sums, in(rows.wide.data()),
                     extras(added.wide.data()));
  CHECK(narrow::wrong(own_dx, wide_dx, 1e-5F) == 0);
}

TEST_CASE_TEMPLATE("attention: a key length that does not fit is an error that names it, before anything is written", T, float,
                   bfloat16) {
  cpu device;
  const auto text = [&](const std::vector<std::int32_t>& lengths) -> std::string {
    std::vector<T> rows(2 * 4 * 3), y(2 * 4, T(7.0F));
    const attention_operands<const T> in{rows.data(), rows.data() + 1, rows.data() + 2, 3, 3};
    try {
      attention_forward(device.compute(), {.samples = 2, .queries = 4, .keys = 4, .width = 1}, y.data(),
                        static_cast<float*>(nullptr), in, attention_extras<T>{.key_lengths = lengths.data()});
    } catch (const error& thrown) {
      CHECK(std::all_of(y.begin(), y.end(), [](T v) { return static_cast<float>(v) == 7; }));
      return thrown.what();
    }
    return {};
  };
  CHECK(text({0, 4}) == "");
  CHECK(text({4, 5}) == "attention: the key length of sample 1 is 5, but there are 0 to 4 keys");
  CHECK(text({-1, 4}) == "attention: the key length of sample 0 is -1, but there are 0 to 4 keys");
}

} // namespace attention_extras_tests
