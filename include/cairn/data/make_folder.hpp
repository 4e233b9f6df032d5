// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>

#include <sys/stat.h>

#include <cairn/core/error.hpp>
#include <cairn/data/file.hpp>

namespace cairn::detail {

// Makes a folder and its missing parents: "runs/a". The parent of each new folder is synced, so that the new one lasts.
// Throws file_error.
inline void make_folder(const std::string& path) {
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    // Another process may make the same folder at the same time, and an existing folder need not be writable.
    const bool is_name = !part.empty() && part.back() != '/';
    if (is_name && ::mkdir(part.c_str(), 0777) == 0) sync_folder(folder_of(part));
    else if (is_name) {
      const int reason = errno;
      struct stat facts{};
      const bool there = ::stat(part.c_str(), &facts) == 0;
      if (!there || !S_ISDIR(facts.st_mode))
        throw file_error("cannot make the folder '" + part + "'" + (part == path ? "" : " of '" + path + "'") + ": " +
                         (there ? "expected a folder, found a file of that name" : std::strerror(reason)) +
                         "; choose another place, or make it yourself");
    }
    if (end == path.npos) return;
  }
}

// Makes the folder of a file.
inline void make_folder_of(const std::string& file) {
  const std::size_t slash = file.find_last_of('/');
  if (slash != file.npos && slash > 0) make_folder(file.substr(0, slash));
}

} // namespace cairn::detail
