// SPDX-License-Identifier: MIT
#pragma once

#include <cstdlib>
#include <string_view>

#include <locale.h>

namespace cairn::detail {

// Parses a whole number or fraction, such as -1.5e3, whatever the program's locale; "nan" and "inf" too. A zero byte follows the
// text. False unless all of it is a number. Not std::from_chars, which libc++ does not have for double before version 20, and not
// strtod, which depends on the locale.
inline bool read_number(std::string_view text, double& value) {
  static const locale_t numbers = ::newlocale(LC_ALL_MASK, "C", nullptr);
  if (text.empty() || text[0] == ' ' || text[0] == '\t' || text[0] == '+') return false;
  char* end = nullptr;
  value = ::strtod_l(text.data(), &end, numbers);
  return end == text.data() + text.size();
}

} // namespace cairn::detail
