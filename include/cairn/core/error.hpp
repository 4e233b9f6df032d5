// SPDX-License-Identifier: MIT
#pragma once

#include <stdexcept>
#include <string>

namespace cairn {

// Everything Cairn throws. The text says what was expected, what was found, where, and what to do.
class error : public std::runtime_error {
public:
  explicit error(const std::string& text) : std::runtime_error(text) {}
};

} // namespace cairn
