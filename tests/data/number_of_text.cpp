// SPDX-License-Identifier: MIT
#include <cairn/data/number_of_text.hpp>

#include <clocale>
#include <cmath>
#include <string>

#include <doctest/doctest.h>

namespace number_of_text_tests {

using cairn::detail::read_number;

TEST_CASE("read_number: all of a text, whatever the locale, or nothing") {
  const char* const was = std::setlocale(LC_NUMERIC, "de_DE.UTF-8"); // where it is there, it writes 1,5
  double value = 0;
  CHECK(read_number("1.5", value));
  CHECK(value == 1.5);
  CHECK(read_number("-2e-3", value));
  CHECK(value == -0.002);
  CHECK(read_number("nan", value));
  CHECK(std::isnan(value));
  for (const char* const text : {"", " 1", "+1", "1 ", "1,5", "1.5x", "one", "\t1", "0x"}) {
    CAPTURE(text);
    CHECK_FALSE(read_number(text, value));
  }
  if (was != nullptr) std::setlocale(LC_NUMERIC, "C");
}

} // namespace number_of_text_tests
