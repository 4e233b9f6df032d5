// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <sys/stat.h>
#include <sys/types.h>

#include <cairn/core/error.hpp>
#include <cairn/data/file.hpp>

namespace cairn::detail {

// A file of an image below a folder of classes.
struct folder_image {
  std::string folder; // below the root: the class, and folders inside it
  std::string name;
  std::int32_t label = 0;
  std::uint64_t bytes = 0;

  std::string path() const { return folder + "/" + name; }
};
struct folder_images {
  std::vector<std::string> classes; // sorted
  std::vector<folder_image> images; // by class, then by folder, then by name
};

// Whether a name ends as those of PNG and JPEG files do, in letters of either case.
inline bool names_image(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  if (dot == name.npos) return false;
  std::string ending(name.substr(dot));
  for (char& c : ending)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  constexpr std::array<std::string_view, 3> known{".png", ".jpg", ".jpeg"};
  return std::find(known.begin(), known.end(), ending) != known.end();
}

// The names in a folder, sorted by their bytes, without hidden ones.
inline std::vector<std::string> visible_names(const std::string& folder) {
  std::vector<std::string> out;
  const int reason = for_each_name(folder, [&](std::string_view name) {
    if (!name.starts_with('.')) out.emplace_back(name);
  });
  if (reason != 0)
    throw file_error("image_folder: '" + folder + "': expected a folder, found " + std::strerror(reason) + "; check the path");
  std::sort(out.begin(), out.end());
  return out;
}

// Searches one class. Symbolic links are followed; one that leads back to a folder around it would have no end.
class class_search {
public:
  class_search(const std::string& root, std::int32_t label, std::vector<folder_image>& found)
      : root_(root), label_(label), found_(found) {}

  void look_into(const std::string& folder) {
    struct stat facts{};
    const std::string place = root_ + "/" + folder;
    if (::stat(place.c_str(), &facts) != 0) refuse(place, std::strerror(errno));
    const std::pair self{facts.st_dev, facts.st_ino};
    if (std::find(around_.begin(), around_.end(), self) != around_.end())
      refuse(place, "a link to a folder that it lies in; remove the link");
    around_.push_back(self);
    for (const std::string& name : visible_names(place)) {
      const std::string path = place + "/" + name;
      const bool wanted = names_image(name);
      if (::stat(path.c_str(), &facts) != 0) {
        if (wanted) refuse(path, std::strerror(errno));
      } else if (S_ISDIR(facts.st_mode)) {
        look_into(folder + "/" + name);
      } else if (wanted && !S_ISREG(facts.st_mode)) {
        refuse(path, "a pipe, a device or a socket");
      } else if (wanted) {
        found_.push_back({folder, name, label_, static_cast<std::uint64_t>(facts.st_size)});
      } else {
        ++others_;
      }
    }
    around_.pop_back();
  }
  std::size_t others() const { return others_; } // files of other endings

private:
  [[noreturn]] static void refuse(const std::string& path, const std::string& found) {
    throw file_error("image_folder: '" + path + "': expected a folder or an image, found " + found);
  }

  const std::string& root_;
  std::int32_t label_;
  std::vector<folder_image>& found_;
  std::vector<std::pair<dev_t, ino_t>> around_; // the folders that are being searched, from the class inwards
  std::size_t others_ = 0;
};

// The classes and files of a folder, in the order of torchvision's ImageFolder. Throws file_error if there is no class, if a
// class has no image, or if something cannot be read.
inline folder_images images_in(const std::string& root) {
  folder_images out;
  for (std::string& name : visible_names(root)) {
    struct stat facts{};
    if (::stat((root + "/" + name).c_str(), &facts) == 0 && S_ISDIR(facts.st_mode)) out.classes.push_back(std::move(name));
  }
  if (out.classes.empty())
    throw file_error("image_folder: '" + root + "': expected a folder for each class, with its images in it, found no folder");
  for (std::size_t k = 0; k < out.classes.size(); ++k) {
    const std::size_t before = out.images.size();
    class_search search(root, static_cast<std::int32_t>(k), out.images);
    search.look_into(out.classes[k]);
    if (out.images.size() == before)
      throw file_error("image_folder: '" + root + "/" + out.classes[k] +
                       "': expected at least one file whose name ends in .png, .jpg or .jpeg, found none among " +
                       std::to_string(search.others()) + " files; put images into it, or remove the folder");
    std::sort(
        out.images.begin() + static_cast<std::ptrdiff_t>(before), out.images.end(),
        [](const folder_image& a, const folder_image& b) { return std::tie(a.folder, a.name) < std::tie(b.folder, b.name); });
  }
  return out;
}

} // namespace cairn::detail
