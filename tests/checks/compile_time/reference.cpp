// SPDX-License-Identifier: MIT
// What all times are compared with: an ordinary file of an ordinary program, without a line of Cairn.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

std::map<std::string, std::vector<int>> count(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  std::map<std::string, std::vector<int>> found;
  for (const auto& name : names) found[name].push_back(1);
  return found;
}
