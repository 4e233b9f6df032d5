// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <array>

#include <cairn/ops/mean_factor/cpu.hpp>

namespace mean_factor_mean_factor_tests {

TEST_CASE_TEMPLATE("mean_factor: counts the words that are not 0, whichever of their numbers it is", T, float, double) {
  cairn::cpu device;
  std::array<T, 24> words{}; // four words, six elements apart
  const auto factor = [&](double times) {
    double found = 0;
    cairn::ops::mean_factor(device.compute(), &found, times, 4, words.data(), 6);
    return found;
  };
  words[4] = words[17] = 9; // between two words
  words[6 + 3] = 1;
  CHECK(factor(1) == 1);
  CHECK(factor(3) == 1.0 / 3);
  words[0] = 65535;
  words[18 + 1] = 2;
  words[18 + 2] = 1;
  CHECK(factor(1) == 1.0 / 3);
  CHECK(factor(5) == 1.0 / 15);
}

} // namespace mean_factor_mean_factor_tests
