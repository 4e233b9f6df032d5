// SPDX-License-Identifier: MIT
// long to compile
#include <cstddef>
#include <vector>

#include <doctest/doctest.h>

#include <cairn/ops/softmax_cross_entropy/cpu.hpp>

#include "../narrow.hpp"

namespace softmax_cross_entropy_narrow_tests {

using namespace cairn;

namespace {

template <class T>
void check(std::size_t rows, std::size_t classes) {
  cpu device({.threads = 2});
  auto& queue = device.compute();
  const auto x = narrow::normal<T>(rows * classes, 1);
  std::vector<int> targets(rows);
  for (std::size_t i = 0; i < rows; ++i) targets[i] = static_cast<int>(i * 7 % classes);
  std::vector<T> own(rows * classes);
  std::vector<float> wide(rows * classes), weights(classes);
  for (std::size_t c = 0; c < classes; ++c) weights[c] = 0.5F + static_cast<float>(c % 3);
  double of_own = 0, of_wide = 0, alone = 0;

  softmax_cross_entropy(queue, &of_own, own.data(), ops::matrix(x.own.data(), rows, classes), targets.data());
  softmax_cross_entropy(queue, &of_wide, wide.data(), ops::matrix(x.wide.data(), rows, classes), targets.data());
  softmax_cross_entropy(queue, &alone, static_cast<T*>(nullptr), ops::matrix(x.own.data(), rows, classes), targets.data());
  CHECK(of_own == doctest::Approx(of_wide).epsilon(1e-7));
  CHECK(alone == of_own);
  CHECK(narrow::wrong(own, wide, 1e-7F) == 0);
  own = x.own; // the gradient may overwrite the logits
  softmax_cross_entropy(queue, &of_own, own.data(), ops::matrix<const T>(own.data(), rows, classes), targets.data());
  CHECK(narrow::wrong(own, wide, 1e-7F) == 0);

  targets[1] = -100;
  for (const float* of_classes : {static_cast<const float*>(nullptr), static_cast<const float*>(weights.data())})
    for (const double smoothing : {0.0, 0.1}) {
      const ops::cross_entropy_options<T> options{.label_smoothing = smoothing, .class_weights = of_classes};
      const ops::cross_entropy_options<float> wide_options{.label_smoothing = smoothing, .class_weights = of_classes};
      softmax_cross_entropy(queue, &of_own, own.data(), ops::matrix(x.own.data(), rows, classes), targets.data(), options);
      softmax_cross_entropy(queue, &of_wide, wide.data(), ops::matrix(x.wide.data(), rows, classes), targets.data(),
                            wide_options);
      CHECK(of_own == doctest::Approx(of_wide).epsilon(1e-7));
      CHECK(narrow::wrong(own, wide, 1e-7F) == 0);
    }
}

} // namespace

TEST_CASE("softmax_cross_entropy: of 16-bit logits it is that of float, and its derivative that of float, rounded once") {
  check<bfloat16>(9, 10);
  check<float16>(9, 10);
  check<bfloat16>(5, 1500); // more classes than a piece has
}

} // namespace softmax_cross_entropy_narrow_tests
