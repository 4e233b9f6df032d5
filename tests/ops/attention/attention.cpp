// SPDX-License-Identifier: MIT
#include <cairn/ops/attention/attention.hpp>
#include <cairn/ops/attention/cpu.hpp>
#include <cairn/ops/attention/cuts_of_backward.hpp>
#include <cairn/ops/attention/reference.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "../../reference/differences.hpp"
#include "../narrow.hpp"

namespace attention_tests {

using namespace cairn;
using ops::attention_extents;
using ops::attention_operands;
using ops::key_band;

static_assert(detail::attention_runs_on<cpu::queue, float> && detail::attention_runs_on<cpu::queue, double>);
static_assert(detail::attention_runs_on<cpu::queue, bfloat16> && detail::attention_runs_on<cpu::queue, float16>);

namespace {

constexpr key_band full{}, causal{.after = 0};
constexpr key_band window(std::size_t n) { return {.before = n - 1, .after = 0}; }

template <class T>
std::vector<T> normal(std::size_t count, std::uint64_t stream) {
  std::vector<T> out(count);
  ops::fill_normal(std::span<T>(out), types::random_key{.seed = stream});
  return out;
}

// The operands of one call, in rows of queries, keys and values with a gap after them, and its results.
template <class T>
struct one_call {
  attention_extents of;
  std::size_t query_stride = of.heads * of.width + 3, key_stride = 2 * of.key_heads * of.width + 5;
  std::vector<T> query = normal<T>(of.samples * of.queries * query_stride, 1);
  std::vector<T> keys = normal<T>(of.samples * of.keys * key_stride, 2);
  std::vector<T> output_gradient = normal<T>(of.samples * of.queries * of.heads * of.width, 3);
  std::vector<T> output = unwritten(output_gradient.size()), log_sums = unwritten(of.samples * of.heads * of.queries);
  std::vector<T> dq = unwritten(query.size()), dk = unwritten(keys.size());

  explicit one_call(const attention_extents& extents) : of(extents) {}

  static std::vector<T> unwritten(std::size_t count) { return std::vector<T>(count, std::numeric_limits<T>::quiet_NaN()); }
  template <class U>
  attention_operands<U> operands(U* q, U* k) const {
    return {q, k, k + of.key_heads * of.width, query_stride, key_stride};
  }
  attention_operands<const T> in() const { return operands(query.data(), keys.data()); }
  attention_operands<T> gradients() { return operands(dq.data(), dk.data()); }
  const T* sums() const { return log_sums.data(); }

  one_call& run(std::size_t threads = 1) {
    cpu device({.threads = threads});
    attention_forward(device.compute(), of, output.data(), log_sums.data(), in());
    attention_backward(device.compute(), of, gradients(), std::as_const(output_gradient).data(), std::as_const(output).data(),
                       sums(), in());
    return *this;
  }
  one_call& run_plain() {
    std::vector<double> room(std::max(of.keys, 2 * of.width));
    for (std::size_t s = 0; s < of.samples; ++s)
      for (std::size_t h = 0; h < of.key_heads; ++h) {
        detail::attention_forward_plain<T>(of, s, h, room.data(), output.data(), log_sums.data(), in());
        detail::attention_backward_plain<T>(of, s, h, room.data(), gradients(), output_gradient.data(), output.data(), sums(),
                                            in());
      }
    return *this;
  }
  T output_at(std::size_t i, std::size_t c) const { return output[i * of.heads * of.width + c]; }
};

// The largest difference where both are written. Where one is not, the other must not be either.
template <class T>
double difference(const std::vector<T>& a, const std::vector<T>& b) {
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool same = a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]));
    if (!same) most = std::isnan(a[i]) || std::isnan(b[i]) ? 1e30 : std::max(most, std::fabs(double(a[i]) - double(b[i])));
  }
  return most;
}
template <class T>
double difference(const one_call<T>& a, const one_call<T>& b) {
  return std::max(
      {difference(a.output, b.output), difference(a.log_sums, b.log_sums), difference(a.dq, b.dq), difference(a.dk, b.dk)});
}
template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

std::string name(const attention_extents& of) {
  return std::to_string(of.queries) + " queries, " + std::to_string(of.keys) + " keys, " + std::to_string(of.heads) + " heads, " +
         std::to_string(of.key_heads) + " key heads of " + std::to_string(of.width) + ", band " + std::to_string(of.band.before) +
         ", " + std::to_string(of.band.after);
}
attention_extents of_text(std::size_t tokens, std::size_t heads, std::size_t key_heads, std::size_t width, key_band band) {
  return {.samples = 2, .queries = tokens, .keys = tokens, .heads = heads, .key_heads = key_heads, .width = width, .band = band};
}

} // namespace

TEST_CASE_TEMPLATE("attention: in strips it is the formula, at every number of tokens and under every mask", T, float, double) {
  const double most = sizeof(T) == 4 ? 2e-5 : 2e-13;
  for (const std::size_t tokens : {1U, 2U, 31U, 32U, 33U, 70U})
    for (const key_band band : {full, causal, window(1), window(6), key_band{3, 2}, key_band{0, 40}})
      for (const std::size_t width : {1U, 5U, 16U, 37U})
        for (const std::size_t key_heads : {4U, 2U, 1U}) {
          const attention_extents of = of_text(tokens, 4, key_heads, width, band);
          CHECK_MESSAGE(difference(one_call<T>(of).run(), one_call<T>(of).run_plain()) < most, name(of));
        }
}

TEST_CASE("attention: windows that begin after whole chains, and more keys than one reduction has") {
  for (const key_band band : {full, causal, window(200), key_band{130, 140}}) {
    attention_extents of = of_text(1100, 2, 1, 8, band);
    of.samples = 1;
    CHECK_MESSAGE(difference(one_call<double>(of).run(), one_call<double>(of).run_plain()) < 2e-13, name(of));
  }
}

TEST_CASE("attention: so many keys that a strip has fewer queries") {
  const attention_extents of{
      .samples = 1, .queries = 21, .keys = 40'000, .width = 2, .band = {.before = 39'990, .after = 7}, .first_place = 39'980};
  REQUIRE(detail::attention_in_strips<double>::queries_of_strip(of) == 2);
  REQUIRE(detail::attention_in_strips<float>::queries_of_strip(of) == 4);
  CHECK(difference(one_call<double>(of).run(), one_call<double>(of).run_plain()) < 1e-12);
}

TEST_CASE("attention: fewer queries than keys, and more") {
  for (const key_band band : {full, causal, window(9), key_band{3, 2}})
    for (const std::size_t first : {0U, 5U, 40U}) {
      attention_extents of = of_text(50, 2, 2, 8, band);
      of.queries = 10;
      of.first_place = first;
      CHECK_MESSAGE(difference(one_call<double>(of).run(), one_call<double>(of).run_plain()) < 2e-13, name(of));
      of.queries = 90;
      CHECK_MESSAGE(difference(one_call<double>(of).run(), one_call<double>(of).run_plain()) < 2e-13, name(of));
    }
}

TEST_CASE_TEMPLATE("attention: a query that may look at no key has an output and a gradient of zero", T, float, double) {
  attention_extents of = of_text(3, 2, 2, 4, window(2));
  of.queries = 6; // those at places 4 and 5 look at places 3 to 5
  const one_call<T> made = one_call<T>(of).run();
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK((made.output_at(i, 0) == 0) == (i > 3));
    if (i > 3) CHECK(made.dq[i * made.query_stride] == 0);
    CHECK(std::isinf(made.log_sums[i]) == (i > 3));
  }
  of.keys = 0;
  const one_call<T> none = one_call<T>(of).run();
  CHECK(std::all_of(none.output.begin(), none.output.end(), [](T y) { return y == 0; }));
}

TEST_CASE("attention: a key that no query looks at has a gradient of zero") {
  attention_extents of = of_text(100, 2, 1, 4, window(3));
  of.queries = 40;
  of.first_place = 30;
  const one_call<double> made = one_call<double>(of).run();
  for (std::size_t j = 0; j < 100; ++j) CHECK((made.dk[j * made.key_stride] == 0) == (j < 28 || j >= 70));
}

// With one sample and few key heads, strips and blocks of keys are parts too, in passes of their own.
TEST_CASE_TEMPLATE("attention: one to five threads give the same bits", T, float, double) {
  for (const std::size_t tokens : {1U, 31U, 210U})
    for (const std::size_t samples : {1U, 2U})
      for (const key_band band : {full, causal, window(40), key_band{3, 70}}) {
        attention_extents of = of_text(tokens, 2, 1, 16, band);
        of.samples = samples;
        const one_call<T> one = one_call<T>(of).run();
        for (const std::size_t threads : {2U, 3U, 4U, 5U}) {
          CAPTURE(name(of));
          const one_call<T> several = one_call<T>(of).run(threads);
          CHECK(same_bits(several.output, one.output));
          CHECK(same_bits(several.log_sums, one.log_sums));
          CHECK(same_bits(several.dq, one.dq));
          CHECK(same_bits(several.dk, one.dk));
        }
      }
}

TEST_CASE("attention: in two passes, queries beside all keys, and keys that no query looks at") {
  for (const key_band band : {full, causal, window(9)})
    for (const std::size_t queries : {70U, 300U})
      for (const std::size_t first : {0U, 50U, 150U, 400U}) {
        attention_extents of = of_text(200, 1, 1, 8, band);
        of.samples = 1;
        of.queries = queries;
        of.first_place = first;
        REQUIRE(detail::cuts_of_backward(of, detail::attention_in_strips<float>::strips(of), 4).keys == 4);
        CHECK_MESSAGE(difference(one_call<float>(of).run(4), one_call<float>(of).run()) == 0, name(of));
      }
}

TEST_CASE("attention: backward has two passes where they pay, whose parts are all strips and all keys") {
  attention_extents of = of_text(1000, 3, 3, 8, full);
  of.samples = 1;
  const auto cuts = [&](std::size_t threads) { return detail::cuts_of_backward(of, 32, threads); };
  for (const std::size_t threads : {1U, 2U, 3U, 4U}) CHECK((cuts(threads).keys == 1 && cuts(threads).strips == 1));
  for (const std::size_t threads : {5U, 6U, 7U, 64U}) { // 3 / 5 heads a thread in 7 products: less than one head in 5
    const auto all = cuts(threads);
    CHECK((all.keys > 1 && all.strips > 1));
    std::size_t strip = 0, key = 0;
    for (std::size_t k = 0; k < all.strips; ++k) {
      CHECK((all.part_of_strips(k).begin == strip && all.part_of_strips(k).end > strip));
      strip = all.part_of_strips(k).end;
    }
    for (std::size_t k = 0; k < all.keys; ++k) {
      CHECK((all.part_of_keys(k).begin == key && all.part_of_keys(k).end > key));
      key = all.part_of_keys(k).end;
    }
    CHECK((strip == 32 && key == 1000));
  }
  of.keys = 64; // one block
  CHECK(cuts(64).keys == 1);
  of.keys = 1000;
  CHECK(detail::cuts_of_backward(of, 1, 64).keys == 1);
}

// So a text that is made token by token, with the keys of earlier ones kept, is the text that is made as a whole.
TEST_CASE_TEMPLATE("attention: the bits of an output do not depend on later keys, nor on the queries beside it", T, float,
                   double) {
  cpu device;
  for (const key_band band : {causal, window(77), window(300), window(1571)}) {
    attention_extents of = of_text(2100, 2, 1, 8, band);
    of.samples = 1;
    one_call<T> whole(of);
    attention_forward(device.compute(), of, whole.output.data(), whole.log_sums.data(), whole.in());
    for (const std::size_t tokens : {1U, 40U, 128U, 129U, 1025U, 1100U, 1700U, 2049U}) {
      CAPTURE(tokens);
      of.keys = of.queries = tokens;
      one_call<T> first(of);
      attention_forward(device.compute(), of, first.output.data(), nullptr, first.in());
      first.output.resize(tokens * 16);
      CHECK(std::memcmp(first.output.data(), whole.output.data(), first.output.size() * sizeof(T)) == 0);
      of.queries = 1;
      of.first_place = tokens - 1;
      one_call<T> last(of);
      std::copy_n(whole.query.begin() + static_cast<std::ptrdiff_t>((tokens - 1) * whole.query_stride), last.query.size(),
                  last.query.begin());
      attention_forward(device.compute(), of, last.output.data(), nullptr, last.in());
      CHECK(std::memcmp(last.output.data(), whole.output.data() + (tokens - 1) * 16, 16 * sizeof(T)) == 0);
      of.first_place = 0;
    }
  }
}

TEST_CASE_TEMPLATE("attention: large scores are no infinity, and NaN stays where it is", T, float, double) {
  const attention_extents of = of_text(40, 1, 1, 16, causal);
  one_call<T> large(of), plain(of);
  for (one_call<T>* const c : {&large, &plain})
    for (T& x : c->query) x *= 60;
  CHECK(difference(large.run(), plain.run_plain()) < (sizeof(T) == 4 ? 2e-2 : 1e-9));
  one_call<T> with_nan(of);
  with_nan.query[35 * with_nan.query_stride] = std::numeric_limits<T>::quiet_NaN();
  with_nan.run();
  for (std::size_t i = 0; i < 40; ++i) CHECK(std::isnan(with_nan.output_at(i, 0)) == (i == 35));
}

TEST_CASE("attention: logarithms of sums are right to a few last places") {
  for (float x = 1; x < 200'000; x *= 1.001F) {
    const double exact = std::log(static_cast<double>(x));
    const double off = std::fabs(static_cast<double>(detail::logarithm_of_sum(x)) - exact);
    CHECK(off < 3e-7 * std::max(1.0, exact));
  }
  CHECK(detail::logarithm_of_sum(1.0F) == 0);
  CHECK((std::isinf(detail::logarithm_of_sum(0.0F)) && std::isinf(detail::logarithm_of_sum(0.0))));
  CHECK(std::isnan(detail::logarithm_of_sum(std::numeric_limits<float>::quiet_NaN())));
}

TEST_CASE("attention: extents that do not fit are an error that names them") {
  cpu device;
  const auto text = [&](const attention_extents& of) -> std::string {
    try {
      attention_forward(device.compute(), of, static_cast<float*>(nullptr), static_cast<float*>(nullptr), {});
    } catch (const error& thrown) {
      return thrown.what();
    }
    return {};
  };
  CHECK(text({.samples = 0, .queries = 1, .keys = ops::most_keys, .width = 1}) == "");
  CHECK(text({.samples = 0, .keys = 131073, .width = 1}) ==
        "attention: expected at most 131072 keys, found 131073; cut the sequence");
  CHECK(text({.samples = 0, .heads = 6, .key_heads = 4, .width = 1}) ==
        "attention: expected a number of heads that is a multiple of the number of key heads, found 6 and 4");
  CHECK(text({.samples = 0}) == "attention: expected heads of 1 to 65536 columns, found 0");
}

TEST_CASE_TEMPLATE("attention: of 16-bit elements it is that of float, rounded once", T, bfloat16, float16) {
  cpu device({.threads = 2});
  auto& queue = device.compute();
  for (const key_band band : {full, causal, window(5)}) {
    const attention_extents of = of_text(37, 4, 2, 8, band);
    constexpr std::size_t stride = 8 * 8;
    const auto rows = narrow::normal<T>(2 * 37 * stride, 1);
    const auto dy = narrow::normal<T>(2 * 37 * 4 * 8, 2);
    const auto in = []<class U>(U* first) { return attention_operands<U>{first, first + 32, first + 48, stride, stride}; };
    std::vector<T> own(dy.own.size()), own_dx(rows.own.size());
    std::vector<float> wide(own.size()), wide_dx(own_dx.size()), own_sums(2 * 4 * 37), wide_sums(own_sums.size());
    attention_forward(queue, of, own.data(), own_sums.data(), in(rows.own.data()));
    attention_forward(queue, of, wide.data(), wide_sums.data(), in(rows.wide.data()));
    CHECK(narrow::wrong(own, wide, 2e-6F) == 0);
    CHECK(difference(own_sums, wide_sums) < 1e-5);
    for (std::size_t i = 0; i < wide.size(); ++i) wide[i] = static_cast<float>(own[i]);
    const float* const sums = wide_sums.data();
    attention_backward(queue, of, in(own_dx.data()), dy.own.data(), std::as_const(own).data(), sums, in(rows.own.data()));
    attention_backward(queue, of, in(wide_dx.data()), dy.wide.data(), std::as_const(wide).data(), sums, in(rows.wide.data()));
    CHECK(narrow::wrong(own_dx, wide_dx, 1e-5F) == 0);
  }
}

// Of 9000 keys there are no copies: forward widens them block by block, and backward takes so many at a time as there is room for.
TEST_CASE_TEMPLATE("attention: of 16-bit elements it is that of float for more keys than there is room for", T, bfloat16,
                   float16) {
  cpu device;
  auto& queue = device.compute();
  for (const std::size_t width : {64U, 600U}) { // a head of 600 columns is computed by the formulas
    const std::size_t queries = width == 64 ? 40 : 3, all = width == 64 ? 9000 : 20;
    const attention_extents of{.samples = 1, .queries = queries, .keys = all, .heads = 1, .key_heads = 1, .width = width};
    const auto q = narrow::normal<T>(queries * width, 1), k = narrow::normal<T>(2 * all * width, 2),
               dy = narrow::normal<T>(queries * width, 3);
    const auto in = [&]<class U>(U* first, U* keys) {
      return attention_operands<U>{first, keys, keys + width, width, 2 * width};
    };
    std::vector<T> own(queries * width), own_dq(own.size()), own_dk(k.own.size());
    std::vector<float> wide(own.size()), wide_dq(own.size()), wide_dk(k.own.size()), own_sums(queries), wide_sums(queries);
    attention_forward(queue, of, own.data(), own_sums.data(), in(q.own.data(), k.own.data()));
    attention_forward(queue, of, wide.data(), wide_sums.data(), in(q.wide.data(), k.wide.data()));
    CHECK(narrow::wrong(own, wide, 2e-6F) == 0);
    CHECK(difference(own_sums, wide_sums) < 1e-5);
    for (std::size_t i = 0; i < wide.size(); ++i) wide[i] = static_cast<float>(own[i]);
    attention_backward(queue, of, in(own_dq.data(), own_dk.data()), dy.own.data(), std::as_const(own).data(),
                       std::as_const(wide_sums).data(), in(q.own.data(), k.own.data()));
    attention_backward(queue, of, in(wide_dq.data(), wide_dk.data()), dy.wide.data(), std::as_const(wide).data(),
                       std::as_const(wide_sums).data(), in(q.wide.data(), k.wide.data()));
    CHECK(narrow::wrong(own_dq, wide_dq, 1e-5F) == 0);
    CHECK(narrow::wrong(own_dk, wide_dk, 1e-5F) == 0);
  }
}

} // namespace attention_tests
