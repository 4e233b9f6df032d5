// SPDX-License-Identifier: MIT
#include <cairn/train/fit/monitored.hpp>

#include <cmath>
#include <vector>

#include <doctest/doctest.h>

namespace monitored_tests {

using namespace cairn;
using detail::monitored;

TEST_CASE("monitored: the best so far, smaller or larger, and never a NaN") {
  const auto improved = [](monitored& m, double value) {
    return m.improves(std::vector<types::metric_value>{{"other", -9.0}, {"val_loss", value}});
  };
  monitored smaller{{.name = "val_loss"}};
  CHECK_FALSE(improved(smaller, NAN));
  CHECK(improved(smaller, 3));
  CHECK_FALSE(improved(smaller, 3));
  CHECK_FALSE(improved(smaller, NAN));
  CHECK(improved(smaller, 2));
  CHECK(smaller.best() == 2);
  CHECK(improved(smaller, -INFINITY));

  monitored larger{{.name = "val_loss", .mode = metrics::best_is::largest, .min_delta = 0.5}};
  CHECK(improved(larger, 1));
  CHECK_FALSE(improved(larger, 1.5));
  CHECK(improved(larger, 1.75));

  monitored nothing{{}};
  CHECK_FALSE(improved(nothing, 1));
  CHECK_FALSE(nothing.improves(std::vector<types::metric_value>{{"", 1.0}}));

  types::state_notes notes;
  larger.write("keeper", notes);
  CHECK(notes == types::state_notes{{"keeper.best of val_loss", 1.75}});
  monitored taken_up{{.name = "val_loss", .mode = metrics::best_is::largest}};
  taken_up.read("keeper", notes);
  CHECK_FALSE(improved(taken_up, 1.5));
  CHECK(improved(taken_up, 2));
}

} // namespace monitored_tests
