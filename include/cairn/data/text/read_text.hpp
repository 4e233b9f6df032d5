// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include <cairn/core/error.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/data/file.hpp>

namespace cairn::text {

// The whole contents of a file, byte for byte: nothing is converted, no byte order mark or carriage return is left out. Throws
// file_error, which names the file, if it cannot be read.
inline std::string read_text(const std::string& path) {
  detail::open_file file(path, O_RDONLY);
  const std::uint64_t size = file.size();
  if (size == file.no_size) throw file_error(path + ": expected a text, found " + file.fault() + "; check the path");
  std::string out;
  if (size > std::numeric_limits<std::ptrdiff_t>::max())
    throw file_error(path + ": expected a text that fits into memory, found " + std::to_string(size) + " bytes");
  out.resize(static_cast<std::size_t>(size));
  if (!file.read(out.data(), out.size(), 0))
    detail::wrong_bytes(path, 0, std::to_string(size) + " readable bytes", "an error of the file system, or a shorter file",
                        "check the permissions and the disk");
  return out;
}

} // namespace cairn::text
