// SPDX-License-Identifier: MIT
// A program with a trained network inside: moons.hpp has the network's type and its weights as constants, so there is no file to
// read, and a fixed_session answers without the heap, locks or exceptions, in memory whose size is a constant. It draws what the
// network says of each point of the plane, and measures its answers. moons_to_header.cpp has written moons.hpp.
//
// long to compile
// test:
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

#include "moons.hpp"
#include "two_moons.hpp"

namespace mine {

using namespace cairn;

namespace {

// Nothing but the header: about 400 weights, an arena, and the scratch memory of kernels.
fixed_session net{moons::trained<1>};
static_assert(sizeof(net) < 5_MiB);

int answer(float x, float y) noexcept {
  const auto scores = net.evaluate(std::array{x, y});
  return scores.data()[1] > scores.data()[0] ? 1 : 0;
}

void draw_answers() {
  for (int row = 0; row < 20; ++row) {
    std::string line;
    for (int column = 0; column < 64; ++column)
      line +=
          answer(-1.5F + 4.0F * static_cast<float>(column) / 63, 1.25F - 2.0F * static_cast<float>(row) / 19) == 1 ? '#' : '.';
    std::printf("%s\n", line.c_str());
  }
}

void measure() {
  const moon_points unseen(1000, 2);
  std::vector<double> nanoseconds;
  std::size_t right = 0;
  for (std::size_t round = 0; round < 100; ++round)
    for (std::size_t i = 0; i < unseen.classes.size(); ++i) {
      const auto start = std::chrono::steady_clock::now();
      const int found = answer(unseen.points[2 * i], unseen.points[2 * i + 1]);
      nanoseconds.push_back(std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count());
      right += found == unseen.classes[i] ? 1U : 0U;
    }
  std::sort(nanoseconds.begin(), nanoseconds.end());
  const auto at = [&](double share) {
    return nanoseconds[static_cast<std::size_t>(share * static_cast<double>(nanoseconds.size() - 1))];
  };
  std::printf("\n%.1f %% of 1000 unseen points are right; an answer takes %.0f ns, the median, and %.0f ns at 99.9 %%, of which "
              "the clock takes about 40\n",
              static_cast<double>(right) / 1000, at(0.5), at(0.999));
}

} // namespace

} // namespace mine

int main() {
  mine::draw_answers();
  mine::measure();
}
