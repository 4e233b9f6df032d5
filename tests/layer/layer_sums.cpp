// SPDX-License-Identifier: MIT
#include <cairn/layer/layer_sums.hpp>

#include <cstddef>
#include <span>
#include <vector>

#include <cairn/comm/threads/threads.hpp>
#include <cairn/layer/batch_norm.hpp>
#include <doctest/doctest.h>

#include "../reference/differences.hpp"
#include "alone.hpp"

namespace layer_sums_tests {

using namespace cairn;

namespace {

using Layer = BatchNorm2d<5>;
const tensor_list pictures{{1, 3, 5}};
constexpr std::size_t rows = 12, sample = 15;

// The results of one layer on some of the samples: outputs, gradients and running statistics.
template <class T>
struct seen {
  std::vector<T> y, again, dx, dw, db, mean, variance;
  bool operator==(const seen&) const = default;
};
template <class T>
std::vector<T> part(const std::vector<T>& all, std::size_t first, std::size_t last) {
  return {all.begin() + static_cast<std::ptrdiff_t>(first * sample), all.begin() + static_cast<std::ptrdiff_t>(last * sample)};
}

// Runs the layer on samples `first` to `last`; sums() is called before each pass.
template <class T, class Sums>
seen<T> run(std::size_t first, std::size_t last, const Sums& sums) {
  alone<Layer, T> whole(pictures, rows), own(pictures, last - first);
  auto x = own.some_inputs();
  auto dy = own.some_outputs();
  std::vector<T> far = whole.some_inputs().values();
  for (T& number : far) number += 3;
  x.assign(0, part(far, first, last));
  dy.assign(0, part(whole.some_outputs().values(), first, last));
  const auto y = own.forward(x, {.over_ranks = sums()});
  const std::vector<T> mean = own.buffers.values(0), variance = own.buffers.values(1);
  const auto again = own.forward(x, {.why = pass::recompute, .over_ranks = sums()});
  CHECK(own.buffers.values(0) == mean);
  const auto dx = own.backward(x, y, dy, {.over_ranks = sums()});
  CHECK(own.fault() == "");
  return {y.values(), again.values(), dx.values(), own.gradients.values(0), own.gradients.values(1), mean, variance};
}

// The sums over ranks of one rank, as a trainer has them.
struct rank_of_threads {
  threads::rank& comm;
  cpu device{};
  std::vector<double> numbers = std::vector<double>(11);
  std::size_t calls = 0;

  detail::layer_sums lent{};

  const detail::layer_sums* lend() {
    lent = {.numbers = numbers.data(), .are_made = calls > 0, .all_reduce = &sum, .self = this, .layer = 7};
    return &lent;
  }
  static void sum(void* self, std::size_t layer, std::size_t count) {
    auto& me = *static_cast<rank_of_threads*>(self);
    CHECK(layer == 7);
    CHECK(count == (me.calls++ == 0 ? 11U : 10U));
    auto sent = me.comm.all_reduce(me.device.compute(), std::span{me.numbers.data(), count});
    sent.wait(me.device.compute());
  }
};

template <class T>
void append(std::vector<T>& to, const std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

} // namespace

TEST_CASE_TEMPLATE("layer_sums: BatchNorm over three ranks of different numbers of rows is one over all rows", T, float, double) {
  const double tolerance = sizeof(T) == 4 ? 1e-5 : 1e-13;
  const seen<T> whole = run<T>(0, rows, []() -> const detail::layer_sums* { return nullptr; });
  const std::vector<std::size_t> cuts{0, 7, 8, rows};
  std::vector<seen<T>> of_rank(3);
  threads{3}.run([&](threads::rank& comm) {
    rank_of_threads sums{comm};
    const auto r = static_cast<std::size_t>(comm.rank());
    of_rank[r] = run<T>(cuts[r], cuts[r + 1], [&] { return sums.lend(); });
    CHECK(sums.calls == 2); // none in the recompute
  });
  seen<T> together = of_rank[0];
  for (std::size_t r = 1; r < 3; ++r) {
    append(together.y, of_rank[r].y);
    append(together.dx, of_rank[r].dx);
    for (std::size_t j = 0; j < 5; ++j) together.dw[j] += of_rank[r].dw[j], together.db[j] += of_rank[r].db[j];
    CHECK(of_rank[r].mean == of_rank[0].mean);
    CHECK(of_rank[r].variance == of_rank[0].variance);
  }
  for (const seen<T>& rank : of_rank) CHECK(rank.y == rank.again);
  const auto close = [&](const std::vector<T>& a, const std::vector<T>& b) {
    return a.size() == b.size() && largest_difference(a, std::vector<double>(b.begin(), b.end())) < tolerance;
  };
  CHECK(close(together.y, whole.y));
  CHECK(close(together.dx, whole.dx));
  CHECK(close(together.dw, whole.dw));
  CHECK(close(together.db, whole.db));
  CHECK(close(together.mean, whole.mean));
  CHECK(close(together.variance, whole.variance));
}

} // namespace layer_sums_tests
