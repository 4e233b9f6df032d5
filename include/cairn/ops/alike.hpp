// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>

#include <cairn/core/error.hpp>
#include <cairn/core/view.hpp>

namespace cairn::detail {

inline std::string extents(std::size_t rows, std::size_t columns) {
  std::string text = "("; // "(" + std::string makes g++ 12 warn of an overlap that does not exist
  return text.append(std::to_string(rows)).append(", ").append(std::to_string(columns)).append(")");
}

// Throws if a matrix that an op reads has other extents than the one that it writes.
template <class T>
void check_alike(const char* op, matrix<T> written, matrix<const T> read) {
  if (written.rows == read.rows && written.columns == read.columns) [[likely]]
    return;
  throw error(std::string(op) + ": the extents do not fit: expected " + extents(written.rows, written.columns) +
              " as that is what is written, found " + extents(read.rows, read.columns) + "; give matrices of the same extents");
}

} // namespace cairn::detail
