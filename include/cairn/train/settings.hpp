// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <charconv>
#include <concepts>
#include <limits>
#include <string>
#include <type_traits>

#include <cairn/core/error.hpp>
#include <cairn/core/explain.hpp>

namespace cairn::detail {

// Throws input_error if a number that was given to a trainer, an optimizer or a loss is not from `least` to `most`; NaN
// never is. The text says what was expected: "SGD: expected a momentum of 0 or more".
inline void check_number(const char* expected, double found, double least = 0, double most = std::numeric_limits<double>::max()) {
  if (!(found >= least && found <= most)) throw input_error(expected + std::string(", found ") + std::to_string(found));
}

// The shortest decimal text that identifies this number.
inline std::string shortest_text(double number) {
  std::array<char, 32> digits{};
  return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr};
}

// A loss or an optimizer whose settings() are a range of double. Ranks compare these numbers before they begin.
template <class X>
concept has_settings = requires(const X& x) {
  { *x.settings().begin() } -> std::convertible_to<double>;
  x.settings().end();
};

// The name of a type and its settings, such as "SGD(0.1, 0.9, 0, 0, 0)".
template <class X>
std::string with_numbers(const X& x) {
  std::string out{type_name<X>()};
  if constexpr (has_settings<X>) {
    out += '(';
    for (const double number : x.settings()) out += (out.back() == '(' ? "" : ", ") + shortest_text(number);
    out += ')';
  }
  return out;
}

// Names that a loss or an optimizer may have. In a class derived from it and from these, a name that both have is ambiguous.
// This shows whether the loss or optimizer has the name, in whatever form.
struct optional_names {
  int settings, is_special;
};
template <class X>
struct with_optional_names : X, optional_names {};

// A settings member of another form is an error. If it were ignored, ranks would not compare the numbers.
template <class X>
concept right_settings = has_settings<X> || std::is_final_v<X> || requires { &with_optional_names<X>::settings; };

} // namespace cairn::detail
